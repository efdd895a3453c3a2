"""Writing a rebase that is decided: variants, patch.yaml, resolutions, lock and generated files, all or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from patchkit.core.blobs import blob_id_if_any
from patchkit.core.model import Patch
from patchkit.core.rebasing.memory import Resolution
from patchkit.core.report import Problem
from patchkit.core.unified import parse_patch, print_patch
from patchkit.core.upstream import Target, VersionsDocument, targets
from patchkit.operations.coverage import variants_for
from patchkit.operations.rebase_edit import plan_edit, variant_file
from patchkit.operations.rebase_session import Session
from patchkit.operations.regenerate import regenerate
from patchkit.operations.staging import Stage, staged
from patchkit.progress import Reporter, silent
from patchkit.store.carried import edited_patch
from patchkit.store.edit_dir import Settled
from patchkit.store.edit_room import clear_room
from patchkit.store.location import versions_file
from patchkit.store.lock import read_lock
from patchkit.store.memory import print_resolution, resolution_file
from patchkit.store.new_patch import extended_versions
from patchkit.store.pending import write_all
from patchkit.store.series import SeriesPatch


class Decided(msgspec.Struct, frozen=True):
    """All that is to be written."""

    session: Session
    versions: VersionsDocument
    settled: Sequence[tuple[SeriesPatch, Settled, bytes]]
    """Each patch with its decision and the text of its new variant (empty without one)."""
    resolutions: Mapping[str, Resolution]


class Written(msgspec.Struct, frozen=True):
    """What was written, or would be."""

    files: tuple[str, ...]
    removed: tuple[str, ...]
    problems: tuple[Problem, ...] = ()
    """Why nothing was."""


def write_series(
    folder: Path,
    decided: Decided,
    *,
    today: str,
    dry_run: bool = False,
    cache: Path | None = None,
    reporter: Reporter = silent,
) -> Written:
    """Write the series in ``folder``, or nothing. Everything is made and proved in a copy first.

    Proved is that the series with its new variants gives, byte for byte, the texts that were carried, that every check
    holds, and that no other target has lost its variant. Raises WriteFailedError, StoreError.
    """
    session = decided.session
    with staged(folder) as stage:
        problems = _write_sources(stage, decided, today)
        if problems:
            return Written((), (), problems)
        outcome = regenerate(stage.folder, repository=session.upstream.clone, cache=cache, reporter=reporter)
        if not outcome.ok:
            return Written((), (), tuple(Problem(stage.named(problem)) for problem in outcome.problems))
        _prove(stage, session)
        changed, gone = stage.changes()
        if not dry_run:
            stage.refuse_overtaken()
            write_all(folder, changed, gone)
            clear_room(folder)
        return Written(tuple(map(str, changed)), tuple(map(str, gone)))


def _write_sources(stage: Stage, decided: Decided, today: str) -> tuple[Problem, ...]:
    session = decided.session
    target = session.target
    known = targets(decided.versions.upstream)
    lock = read_lock(stage.folder)
    for patch, settled, text in decided.settled:
        if not _changes(settled, patch, target):
            continue
        planned = plan_edit(patch, settled, target, known, lock, today=today)
        if isinstance(planned, Problem):
            return (planned,)
        place = stage.folder / patch.name
        file = place / "patch.yaml"
        file.write_bytes(edited_patch(file.read_bytes(), str(file), planned.edit))
        if settled.text:
            renamed = _renamed(parse_patch(text, f"{patch.name}.patch"), planned.renamed)
            (place / "variants" / variant_file(target)).write_bytes(print_patch(renamed))
    for key, resolution in decided.resolutions.items():
        place = stage.folder / resolution_file(key)
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(print_resolution(resolution))
    if session.upstream.added is not None:
        versions = versions_file(stage.folder)
        versions.write_bytes(extended_versions(versions.read_bytes(), str(versions), session.upstream.added))
    return ()


def _changes(settled: Settled, patch: SeriesPatch, target: Target) -> bool:
    """Tell whether a decision changes the sources of its patch."""
    if settled.report.state in ("kept", "not-needed"):
        return False
    if settled.existing is None:
        return True
    served = variants_for(patch.document, target)
    return bool(settled.left_out) or all(variant.file != settled.existing for variant in served)


def _renamed(patch: Patch, names: Mapping[str, str]) -> Patch:
    return replace(
        patch,
        files=tuple(
            replace(file, hunks=tuple(replace(hunk, id=names.get(hunk.id, hunk.id)) for hunk in file.hunks))
            for file in patch.files
        ),
    )


def _prove(stage: Stage, session: Session) -> None:
    """Raise RuntimeError when the written series gives another text than the one that was carried."""
    lock = read_lock(stage.folder)
    chains = lock.targets[session.target.name] if lock else None
    for path in chains.paths if chains else ():
        if chains is not None and chains.chain(path)[-1] != blob_id_if_any(session.read(path)):
            raise RuntimeError(f"{path}: the written series gives another text than the one that was carried")
