"""The import hook (PEP 451): modules that the patches touch are loaded from their patched text.

What is to be patched is planned when the first module of a tree is imported: a process that imports nothing of upstream
pays for a class in ``sys.meta_path`` and nothing else.
"""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import decode_source, spec_from_file_location
from types import CodeType, ModuleType
from typing import TYPE_CHECKING

from patchkit.errors import LiveError, PatchkitError
from patchkit.importing.settings import Settings

if TYPE_CHECKING:
    from patchkit.importing.overlay import Overlay, PatchedModule


class PatchedLoader(SourceFileLoader):
    """Loads one module from its patched text. ``path`` is the module's own file, for what lies beside it.

    No byte code is read or written: that of the unpatched file lies under the same name.
    """

    def __init__(self, fullname: str, path: str, content: bytes, shown: str) -> None:
        super().__init__(fullname, path)
        self._content = content
        self._shown = shown

    def get_data(self, path: str) -> bytes:
        """Return the patched text for the module's file, and what the disk has for any other."""
        return self._content if path == self.path else super().get_data(path)

    def get_code(self, fullname: str) -> CodeType:
        """Compile the patched text."""
        self._show(fullname)
        code: CodeType = self.source_to_code(self._content, self._shown)
        return code

    def _show(self, fullname: str) -> None:
        """Let ``linecache``, and with it ``inspect``, have the patched lines for the module's file."""
        import linecache  # noqa: PLC0415 - needed with the first patched module

        lines = io.StringIO(decode_source(self._content)).readlines()
        # Without a time, the entry outlives linecache.checkcache(), which would look at the disk.
        linecache.cache[self.get_filename(fullname)] = len(self._content), None, lines, self.path


class LiveFinder:
    """Stands before the other finders, asks them, and replaces the loader of what the patches touch.

    It has no base: importing that of ``importlib.abc`` takes longer than all the rest. ``settings`` name packages.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.overlay: Overlay | None = None
        self.failure: PatchkitError | None = None
        self._tops = settings.tops
        self._lock = threading.RLock()
        self._moving = threading.Lock()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of upstream's packages; None for any other. Raises LiveError."""
        if sys.meta_path[0] is not self:
            self._come_first()
        if fullname.partition(".")[0] not in self._tops:
            return None
        spec = self._others(fullname, path, target)
        if self.overlay is None:
            root = tree_root(fullname, spec, self.settings.packages)
            if root is None:
                refuse_archive(fullname, spec, self.settings.packages)
                return spec
            self.plan(root)
        assert self.overlay is not None  # noqa: S101 - plan returned
        module = self.overlay.modules.get(fullname)
        return spec if module is None else _replaced(fullname, spec, module)

    def plan(self, root: str) -> None:
        """Plan for the tree in ``root``, once. Raises LiveError, also again when it failed before."""
        with self._lock:
            if self.overlay is not None:
                return
            if self.failure is None:
                # Imported here: the start of each process below a patched one should cost nothing.
                from pathlib import Path  # noqa: PLC0415

                from patchkit.importing.overlay import make_overlay  # noqa: PLC0415

                try:
                    overlay = make_overlay(Path(root), self.settings)
                    refuse_imported(overlay)
                except PatchkitError as error:
                    self.failure = error
                else:
                    self.overlay = overlay
                    return
            raise LiveError(str(self.failure), hint=None if isinstance(self.failure, LiveError) else self.failure.hint)

    def _come_first(self) -> None:
        """Go before a finder that was put before this one, which could load a module unpatched and unseen.

        Hooks that rewrite modules (of pytest, of type checkers) put themselves there, and take Python's own finder
        past this one. Raises LiveError when that has happened already.
        """
        # Never waits: whoever holds the lock does the same, and a thread that imports holds locks of modules.
        if not self._moving.acquire(blocking=False):
            return
        before = sys.meta_path[0]
        try:
            # In before out: another thread that imports right now must not miss it.
            sys.meta_path.insert(0, self)
            for place in reversed(range(1, len(sys.meta_path))):
                if sys.meta_path[place] is self:
                    del sys.meta_path[place]
        finally:
            self._moving.release()
        passed = [] if self.overlay is None else unpatched(self.overlay)
        if passed:
            raise LiveError(
                f"{', '.join(passed)} was loaded unpatched by {getattr(before, '__name__', type(before).__name__)}, "
                "which was put before patchkit.live",
                hint="do without that hook, or patch the files with `patchkit apply`",
            )

    def _others(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        for finder in sys.meta_path:
            # Some finders know distributions alone, and have no such method.
            find_spec = getattr(finder, "find_spec", None)
            if finder is not self and find_spec is not None:
                spec: ModuleSpec | None = find_spec(fullname, path, target)
                if spec is not None:
                    return spec
        return None


def tree_root(fullname: str, spec: ModuleSpec | None, packages: Sequence[str]) -> str | None:
    """Return the folder above the top package of a module that was found; None where it does not hold ``packages``.

    Other distributions may have modules in the same top package: ``megatron`` is a namespace (PEP 420).
    """
    if spec is None or spec.origin is None or not spec.has_location:
        return None
    root = spec.origin
    for _ in range(fullname.count(".") + 1 + (spec.submodule_search_locations is not None)):
        root = os.path.dirname(root)  # noqa: PTH120 - see settings
    return root if all(os.path.isdir(os.path.join(root, each)) for each in packages) else None  # noqa: PTH112, PTH118


def refuse_archive(fullname: str, spec: ModuleSpec | None, packages: Sequence[str]) -> None:
    """Raise LiveError when one of ``packages`` was found, and in no folder: in a zip archive, or frozen."""
    names = [package.replace("/", ".") for package in packages]
    if not any(fullname == name or fullname.startswith(f"{name}.") for name in names):
        return
    if spec is None or spec.origin is None or os.path.isfile(spec.origin):  # noqa: PTH113 - see settings
        return
    raise LiveError(
        f"{fullname} would be imported from {spec.origin}, which is in no folder that can be patched at import",
        hint="unpack it into a folder, and put that on the path of this Python",
    )


def _replaced(fullname: str, spec: ModuleSpec | None, module: PatchedModule) -> ModuleSpec:
    """Return the spec that loads the patched text. Raises LiveError, and ModuleNotFoundError for a removed module."""
    if module.content is None:
        raise ModuleNotFoundError(f"No module named {fullname!r} (the patches remove it)", name=fullname)
    is_package = module.origin.name == "__init__.py"
    if spec is not None:
        if spec.origin is None or os.path.realpath(spec.origin) != os.path.realpath(module.origin):
            raise LiveError(
                f"{fullname} would be imported from {spec.origin}, and the patches are for {module.origin}",
                hint="take one of the two trees off the path of this Python",
            )
        if type(spec.loader) is not SourceFileLoader and not isinstance(spec.loader, PatchedLoader):
            raise LiveError(
                f"{fullname} would be loaded by {type(spec.loader).__name__}, whose place patchkit would take",
                hint="patch the files with `patchkit apply`",
            )
    loader = PatchedLoader(fullname, str(module.origin), module.content, module.shown)
    made = spec_from_file_location(
        fullname,
        str(module.origin),
        loader=loader,
        submodule_search_locations=[str(module.origin.parent)] if is_package else None,
    )
    assert made is not None  # noqa: S101 - it has a loader
    return made


def unpatched(overlay: Overlay) -> list[str]:
    """Return the full names of the modules that the patches touch and that were imported from somewhere else."""
    return [name for name in overlay.modules if name in sys.modules and not is_patched(name)]


def refuse_imported(overlay: Overlay) -> None:
    """Raise LiveError when a module that the patches touch was imported as it is on the disk."""
    names = unpatched(overlay)
    if names:
        raise LiveError(
            f"{', '.join(names)} was imported before patchkit.live, unpatched",
            hint="make `import patchkit.live` the first line, or start with `python -m patchkit.live -- SCRIPT`",
        )


def is_patched(name: str) -> bool:
    """Tell whether the module called ``name`` was loaded from its patched text."""
    return isinstance(getattr(getattr(sys.modules[name], "__spec__", None), "loader", None), PatchedLoader)


def active() -> LiveFinder | None:
    """Return the finder of this process, or None."""
    return next((finder for finder in sys.meta_path if isinstance(finder, LiveFinder)), None)


def install(settings: Settings) -> LiveFinder:
    """Patch at import from here on. Raises LiveError when it is too late, or when other settings are in force.

    Settings without packages are asked of the series, which raises SourceError where it cannot be read.
    """
    if not settings.packages:
        from patchkit.importing.overlay import complete  # noqa: PLC0415 - only for settings that a person wrote

        settings = complete(settings)
    finder = active()
    if finder is not None and finder.settings == settings:
        return finder
    if finder is not None:
        if finder.overlay is not None:
            raise LiveError(
                f"{finder.overlay.root} is patched at import already, with other settings: {finder.settings}"
            )
        sys.meta_path.remove(finder)
    finder = LiveFinder(settings)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in settings.tops:
            root = tree_root(name, getattr(module, "__spec__", None), settings.packages)
            if root is not None:
                finder.plan(root)
                break
    sys.meta_path.insert(0, finder)
    return finder
