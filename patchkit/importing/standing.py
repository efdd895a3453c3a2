"""What is patched at import in this process."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from patchkit.importing.hook import active, is_patched

if TYPE_CHECKING:
    from patchkit.core.report import Report


class LiveStatus(NamedTuple):
    """The answer of :func:`patchkit.live.status`."""

    ok: bool
    """Whether the tree was planned, every check held, and nothing was imported unpatched."""
    verdict: str
    """patched-at-import; already-applied (in the files), not-needed; waiting (nothing imported yet), refused, off."""
    modules: Mapping[str, str]
    """Each module that the patches touch: patched, not-imported, unpatched, removed."""
    report: Report | None
    """What apply answered, with tree, target, patches and checks; None before a tree was planned."""
    problems: tuple[str, ...] = ()


def status() -> LiveStatus:
    """Return what is patched at import in this process."""
    finder = active()
    if finder is None:
        return LiveStatus(ok=False, verdict="off", modules={}, report=None, problems=("patchkit.live is not imported",))
    if finder.failure is not None:
        return LiveStatus(ok=False, verdict="refused", modules={}, report=None, problems=(str(finder.failure),))
    overlay = finder.overlay
    if overlay is None:
        problem = f"no module of a tree with {finder.settings.described} has been imported yet"
        return LiveStatus(ok=False, verdict="waiting", modules={}, report=None, problems=(problem,))
    modules = {
        name: "removed" if module.content is None else _standing(name) for name, module in overlay.modules.items()
    }
    problems = tuple(
        f"{name} is loaded, and not from its patched text" for name, told in modules.items() if told == "unpatched"
    )
    return LiveStatus(not problems, overlay.report.verdict, modules, overlay.report, problems)


def _standing(name: str) -> str:
    if name not in sys.modules:
        return "not-imported"
    return "patched" if is_patched(name) else "unpatched"
