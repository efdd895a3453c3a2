"""What the modules of a tree are to be, by the plan that ``patchkit apply`` would write."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from patchkit.core.report import Report
from patchkit.core.upstream import Upstream
from patchkit.errors import InterruptedWriteError, LiveError, StoreError
from patchkit.importing.settings import INSTALLED, Settings
from patchkit.operations.apply import prepare
from patchkit.operations.sources import load_workspace
from patchkit.operations.undo import interrupted_problem
from patchkit.store.cache import default_cache
from patchkit.store.location import default_patches, versions_file
from patchkit.store.versions import load_versions
from patchkit.trees.beneath import WritableBeneath
from patchkit.trees.directory import DirectoryTree
from patchkit.trees.interface import WritableTree
from patchkit.trees.layout import open_folder, open_installed
from patchkit.unfinished import unfinished

PATCHED: Final = "patched-at-import"
"""The verdict where something is to be done at import."""


@dataclass(frozen=True, slots=True)
class PatchedModule:
    """One module that the patches change, add or remove."""

    origin: Path
    """Its file in the tree, whether it is there or not."""
    content: bytes | None
    """The patched text; None: the patches remove it."""
    shown: str
    """The file that compiled code names: one with the patched text, so that everything that shows lines shows those."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """A tree, and what is imported in place of its files."""

    root: Path
    report: Report
    """The answer of apply; its verdict says whether anything is to be done at import."""
    modules: Mapping[str, PatchedModule]
    """By full name."""


def plan_overlay(root: Path, settings: Settings) -> Overlay | Report:
    """Plan the patches of ``settings`` on the tree in ``root``; a Report is why apply would refuse.

    The ``written`` of an overlay's report are the files that are patched. Raises LiveError for what apply could write
    and an import cannot give, InterruptedWriteError, TreeError, SourceError.
    """
    workspace = load_workspace(None if settings.patches is None else Path(settings.patches))
    asked = None if settings.megatron in (None, INSTALLED) else workspace.target(str(settings.megatron)).name
    upstream = workspace.versions.upstream
    if upstream.shipped != settings.packages:
        raise LiveError(
            f"{settings.described} was to be patched at import, and this series is for {_dotted(upstream)} now",
            hint="start again: the packages of a series go from process to process",
        )
    tree = open_folder(root, upstream)
    if settings.megatron == INSTALLED:
        tree = open_installed(upstream)
        folder = folder_of(tree, upstream)
        if folder.resolve() != root.resolve():
            raise LiveError(
                f"{_dotted(upstream)} is imported from {root}, and the installed {upstream.short} is in {folder}",
                hint="leave --megatron installed out, or take the other off PYTHONPATH",
            )
    for written in (tree, *_repositories(root, upstream)):
        problem = interrupted_problem(written, workspace.sources.series.folder)
        if problem is not None:
            raise InterruptedWriteError(f"{written.label}: {problem.message}", hint=problem.hint)
    ready = prepare(workspace, tree, asked=asked, patches=settings.names, recorded=False)
    if isinstance(ready, Report):
        return ready
    modules = dict(_modules(root, ready.edits, upstream))
    return Overlay(root, ready.report(PATCHED if ready.edits else ready.idle_verdict), modules)


def complete(settings: Settings) -> Settings:
    """Return ``settings`` with the packages that their series is for. Raises SourceError."""
    folder = default_patches() if settings.patches is None else Path(settings.patches)
    if not folder.is_dir():
        raise StoreError(str(folder), None, "there is no such folder")
    return settings._replace(packages=load_versions(versions_file(folder)).upstream.shipped)


def folder_of(tree: WritableTree, upstream: Upstream) -> Path:
    """Return the folder that imports find a tree's packages in. Raises LiveError."""
    shipped = isinstance(tree, WritableBeneath)
    folder = tree.outer if isinstance(tree, WritableBeneath) else tree
    if not isinstance(folder, DirectoryTree):
        raise LiveError(f"{tree.label} is no folder that {_dotted(upstream)} is imported from")
    return folder.root if shipped else folder.root / upstream.source


def _repositories(root: Path, upstream: Upstream) -> Iterator[WritableTree]:
    """Yield the checkout whose ``source`` folder ``root`` is; its record of an unfinished write is at its own top."""
    parts = PurePosixPath(upstream.source).parts
    if parts and root.absolute().parts[-len(parts) :] == parts:
        yield open_folder(root.absolute().parents[len(parts) - 1], upstream)


def _dotted(upstream: Upstream) -> str:
    return Settings(packages=upstream.shipped).described


def make_overlay(root: Path, settings: Settings) -> Overlay:
    """Plan as :func:`plan_overlay` does. Raises LiveError when apply would refuse."""
    found = plan_overlay(root, settings)
    if isinstance(found, Overlay):
        return found
    told = "; ".join(
        ": ".join(part for part in (problem.patch, problem.path, problem.message) if part) for problem in found.problems
    )
    hint = next((problem.hint for problem in found.problems if problem.hint), None)
    raise LiveError(f"{found.tree} cannot be patched at import: {told}", hint=hint)


def _modules(root: Path, edits: Mapping[str, bytes | None], upstream: Upstream) -> Iterator[tuple[str, PatchedModule]]:
    kept = _Kept(default_cache() / "live")
    for path, content in edits.items():
        name = module_name(path, upstream)
        if name is None:
            tops = " or ".join(sorted(Settings(packages=upstream.shipped).tops))
            raise LiveError(
                f"{path} is no module of the package {tops}, so it cannot be patched at import",
                hint="patch the files with `patchkit apply`, or leave the patch out with --patch",
            )
        imported = _imported(path, upstream)
        origin = root / imported
        yield (
            name,
            PatchedModule(origin, content, str(origin) if content is None else kept.place(imported, content, origin)),
        )


def module_name(path: str, upstream: Upstream) -> str | None:
    """Return the full name of the module in a file of upstream's packages; None for other files.

    ``path`` is that of the repository.
    """
    if upstream.source and not path.startswith(f"{upstream.source}/"):
        return None
    parts = _imported(path, upstream).removesuffix(".py").split("/")
    if parts[-1] == "__init__":
        parts.pop()
    tops = Settings(packages=upstream.shipped).tops
    named = path.endswith(".py") and not tops.isdisjoint(parts[:1]) and all(part.isidentifier() for part in parts)
    return ".".join(parts) if named else None


def _imported(path: str, upstream: Upstream) -> str:
    """Return a path of the repository as the folder has it in which imports find the packages."""
    return path.removeprefix(f"{upstream.source}/") if upstream.source else path


class _Kept:
    """Patched texts as files, by digest, for people and programs that look at lines."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def place(self, path: str, content: bytes, otherwise: Path) -> str:
        """Return a file that holds ``content``; the path ``otherwise`` where none can be written."""
        file = self._folder / hashlib.sha256(content).hexdigest()[:16] / path
        with suppress(OSError):
            if file.read_bytes() == content:
                return str(file)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with unfinished(file) as building:
                building.write_bytes(content)
                building.replace(file)
        except OSError:
            return str(otherwise)
        return str(file)
