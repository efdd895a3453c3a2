"""What is here of upstream, and how much memory the container may use."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

from patchkit.core.doctor import Examined, Verdict
from patchkit.core.report import Report
from patchkit.errors import NotATreeError, TreeError
from patchkit.operations.answer import read_manifest
from patchkit.operations.sources import Workspace
from patchkit.operations.status import UNKNOWN_RELEASE, status
from patchkit.trees.interface import SourceTree

_STATES: dict[str, tuple[Verdict, str]] = {
    "applied": ("ok", "every patch that it needs is applied"),
    "not-needed": ("ok", "it needs no patch"),
    "not-carried": ("look", "nobody has carried the series there yet"),
    "clean": ("look", "no patch is applied"),
    "partly": ("bad", "some patches, or parts of them, are applied"),
    "modified": ("bad", "files were changed by somebody else"),
    "unknown-release": ("look", "its files are those of no target of the series"),
}
_UNLIMITED = 1 << 60
"""Version 1 of cgroups says no limit with the largest multiple of a page."""


def examine_megatron(
    workspace: Workspace, find: Callable[[], SourceTree], *, named: bool = False, live: bool = False
) -> Examined:
    """Say which tree of upstream ``find`` finds, and what of the series is in it; a ``named`` one has to be there.

    ``live`` is whether this process and those below patch it while they import it (docs/live.md).
    """
    try:
        tree = find()
        found = status(workspace, tree)
        record = read_manifest(tree)
    except NotATreeError as error:
        verdict: Verdict = "bad" if named else "absent"
        return Examined(
            subject=workspace.versions.upstream.name, verdict=verdict, text=error.message, facts={"megatron": "absent"}
        )
    except TreeError as error:
        return Examined(
            subject=workspace.versions.upstream.name,
            verdict="bad",
            text=error.message,
            facts={"megatron": "unreadable"},
        )
    verdict, meaning = _STATES.get(found.verdict, ("look", found.verdict))
    # Of an unknown release, the target is the one that it resembles.
    name = found.target if found.target and found.verdict != UNKNOWN_RELEASE else "unknown release"
    digest = _digest(found)
    states = [f"{patch.name}: {patch.state}" for patch in found.patches]
    details = [*states]
    if live:
        meaning += " in its files; it is patched while it is imported"
        details.insert(0, "PATCHKIT_LIVE is set; `python -m patchkit.live --dry-run` says what that comes to")
    details.append(
        f"files {digest}" + ("" if record is None else f", by patchkit {record.tool}, series {record.series}")
    )
    return Examined(
        subject=workspace.versions.upstream.name,
        verdict=verdict,
        text=f"{name} ({found.tree}): {meaning}",
        details=(*details, *found.notes, *(problem.message for problem in found.problems)),
        facts={
            "megatron": name,
            "megatron patches": ", ".join(states) or "none",
            "megatron files": digest,
            **({"megatron patched at import": "yes"} if live else {}),
        },
    )


def _digest(found: Report) -> str:
    """Return a digest of every file that the series touches."""
    files = sorted({(file.path, file.found or "") for patch in found.patches for file in patch.files})
    return hashlib.sha256(repr(files).encode()).hexdigest()[:16]


def examine_memory(proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> Examined:
    """Say how much memory this process' control group, or one above it, allows; version 1 and 2."""
    found = [(limit, used) for limit, used in _limits(proc, groups) if limit < _UNLIMITED]
    if not found:
        text = "no limit of a container"
        return Examined(subject="host memory", verdict="ok", text=text, facts={"memory limit": "none"})
    limit, used = min(found)
    return Examined(
        subject="host memory",
        verdict="ok" if used < limit * 0.9 else "look",
        text=f"limited to {_gib(limit)}, {_gib(used)} in use",
        details=("host copies of paused memory are pinned and count against it",),
        facts={"memory limit": str(limit)},
    )


def _gib(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB"


def _limits(proc: Path, groups: Path) -> Iterator[tuple[int, int]]:
    """Yield limit and use of the group and of those above it (cgroups(7))."""
    try:
        lines = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _number, controllers, path = line.split(":", 2)
        if not controllers:
            root, names = groups, ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            root, names = groups / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        folder = root / path.lstrip("/")
        # In a container the path is often that outside of it, and does not exist here; the root then is its own.
        while True:
            numbers = [_number_in(folder / name) for name in names]
            if numbers[0] is not None:
                yield numbers[0], numbers[1] or 0
            if folder == root or root not in folder.parents:
                break
            folder = folder.parent


def _number_in(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None
