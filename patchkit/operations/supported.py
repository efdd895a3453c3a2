"""supported: what the series can be applied to."""

from __future__ import annotations

from dataclasses import dataclass

from patchkit.operations.coverage import is_uncarried
from patchkit.operations.sources import Workspace


@dataclass(frozen=True, slots=True)
class Supported:
    """One target and what the series does on it."""

    target: str
    date: str
    """Upload to the index, or date of the commit (UTC)."""
    python: str
    """Requires-Python; empty when unknown."""
    ships: tuple[str, ...]
    """Importable packages in the wheel; empty for branches and commits."""
    tag: str | None
    commit: str | None
    yanked: str | None
    """The index' reason, when the release was yanked."""
    variants: dict[str, str | None]
    """Variant by patch name; None where the target does not need the patch, or nobody has carried it there yet."""
    uncarried: tuple[str, ...] = ()
    """Patches that nobody has carried there yet."""


def supported(workspace: Workspace) -> tuple[Supported, ...]:
    """Return a row for every target in the lock, in the order of upstream_versions.yaml."""
    upstream = workspace.versions.upstream
    dates = {branch.name: branch.date for branch in upstream.branches}
    dates |= {commit.name: commit.date for commit in upstream.commits}
    rows: list[Supported] = []
    for target in workspace.targets:
        locked = workspace.sources.lock.targets.get(target.name)
        if locked is None:
            continue
        release = target.release
        rows.append(
            Supported(
                target=target.name,
                date=release.date if release else dates[target.name],
                python=release.python if release else "",
                ships=release.ships if release else (),
                tag=target.tag,
                commit=target.commit,
                yanked=release.yanked if release else None,
                variants={name: lock.variant for name, lock in locked.patches.items()},
                uncarried=tuple(
                    patch.name for patch in workspace.sources.series.patches if is_uncarried(patch.document, target)
                ),
            )
        )
    return tuple(rows)
