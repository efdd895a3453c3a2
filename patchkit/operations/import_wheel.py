"""Whether the wheel of a release has what its tag has: a patch is held against git, a series is built on the wheel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from patchkit.core.foreign.diffs import ForeignPatch
from patchkit.core.foreign.fitting import touched_paths
from patchkit.core.report import Problem
from patchkit.operations.import_base import Base
from patchkit.operations.known import Known
from patchkit.operations.sources import fetch_release
from patchkit.progress import Reporter
from patchkit.trees.git import GitTree
from patchkit.trees.layout import seen


def unlike_wheel(
    patches: Sequence[ForeignPatch],
    touched: Iterable[str],
    base: Base,
    known: Known,
    *,
    cache: Path | None,
    reporter: Reporter,
) -> tuple[Problem, ...]:
    """Return a problem for each of the files ``touched`` of which the wheel of the base has another text than git.

    It has the first hunk of the file and its line in the patch. Raises the errors of the package index.
    """
    if base.target.release is None or not isinstance(base.tree, GitTree):
        return ()
    from patchkit.trees.archive import WheelTree  # noqa: PLC0415 - zipfile only where a wheel is read

    release = WheelTree(fetch_release(known.versions, base.target, cache=cache, reporter=reporter))
    wheel = seen(release, known.upstream)
    other = {path for path in touched if wheel.read(path) != base.tree.read(path)}
    problems: dict[str, Problem] = {}
    for foreign in patches if other else ():
        pairs = touched_paths(foreign, lambda path: base.tree.read(path) is not None)
        files = (file for message in foreign.messages for file in message.files)
        for file, pair in zip(files, pairs, strict=True):
            for path in pair:
                if path in other and path not in problems:
                    hunk, line = ("1", file.hunks[0].line) if file.hunks else (None, file.line)
                    why, hint = _told(base, lacks=wheel.read(path) is None)
                    problems[path] = Problem(why, path, hunk, line, hint=hint)
    return tuple(problems.values())


def _told(base: Base, *, lacks: bool) -> tuple[str, str]:
    title = base.target.title
    if lacks:
        return f"the wheel of {title} lacks it, and a release is patched as its wheel is", "take it out of the patch"
    return (
        f"the wheel of {title} has another text of it than {base.tree.label}, and a release is patched as its wheel is",
        "leave --git out to lay the patch on the wheel; find out who changed it, the tag or the wheel",
    )
