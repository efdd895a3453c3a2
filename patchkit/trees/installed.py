"""A tree that pip (or another installer) put into site-packages, with its RECORD kept true."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.core.kept_names import RECORD, STATE
from patchkit.core.record import update_record
from patchkit.core.upstream import MEGATRON, Upstream
from patchkit.errors import NotATreeError
from patchkit.trees.directory import FROM_THE_RELEASE, DirectoryTree
from patchkit.trees.interface import Edits, WritableTree
from patchkit.trees.paths import checked

if TYPE_CHECKING:
    from importlib.metadata import Distribution


class InstalledTree(DirectoryTree):
    """The distribution whose metadata folder in ``site_packages`` is ``dist_info``.

    patchkit's own record lies in that folder and has its row in RECORD, so that uninstalling takes it along.
    """

    def __init__(self, site_packages: Path, dist_info: str) -> None:
        super().__init__(site_packages)
        self.dist_info = checked(dist_info)

    @property
    def label(self) -> str:
        """Name and version as the metadata folder has them, and where it is."""
        return f"{self.dist_info.removesuffix('.dist-info')} in {self.root}"

    @property
    def manifest_path(self) -> str:
        """Path of patchkit's record of what it applied."""
        return f"{self.dist_info}/{RECORD}"

    @property
    def state_dir(self) -> Path:
        """Folder of the lock and of the journal."""
        return self.root / self.dist_info / STATE

    def how_to_restore(self, path: str) -> str:  # noqa: ARG002 - an installer brings all files
        """Return, for a hint, how a file gets back the text that it had before somebody changed it."""
        # Who unpacked a wheel by other means than an installer has no such file (PEP 376).
        if not (self.root / self.dist_info / "INSTALLER").exists():
            return FROM_THE_RELEASE
        return "restore the file: install the release again, with pip by --force-reinstall"

    def write(self, edits: Edits, *, operation: str) -> None:
        """Write all of ``edits`` and the RECORD that follows from them, or nothing. Raises ArchiveError as well."""
        record_path = f"{self.dist_info}/RECORD"
        record = self.read(record_path)
        # Some image builders strip RECORD; there is nothing to keep true then.
        if record is not None:
            changes = {path: content for path, content in edits.items() if path != record_path}
            edits = {**changes, record_path: update_record(record, changes, str(self.root / record_path))}
        super().write(edits, operation=operation)


def find_installed(upstream: Upstream = MEGATRON) -> WritableTree:
    """Return what this Python would import of ``upstream``; the checkout when it is an editable install.

    Raises NotATreeError.
    """
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - slow, and needed here alone

    name = upstream.distribution
    if not name:
        raise NotATreeError(
            f"{upstream.name} is no distribution that can be installed", hint="name its checkout: --in DIR"
        )
    try:
        found = distribution(name)
    except PackageNotFoundError as error:
        raise NotATreeError(
            f"{name} is not installed in this Python",
            hint="run patchkit with the Python that has it, or name its site-packages folder",
        ) from error
    checkout = _editable_checkout(found, name)
    if checkout is not None:
        # What an editable install leads to is not on sys.path itself, or behind what is: a copy left there is imported.
        _refuse_hidden(upstream, found.version, checkout)
        return _opened(checkout, upstream, f"{name} is installed in editable form from {checkout}")
    folder = Path(str(found.locate_file("")))
    _refuse_hidden(upstream, found.version, folder)
    return _opened(folder, upstream, f"{name} {found.version} is said to be installed in {folder}")


def _refuse_hidden(upstream: Upstream, version: str, folder: Path) -> None:
    """Raise NotATreeError when another tree is imported than the one that the metadata leads to."""
    imported = imported_from(upstream)
    # The packages of a checkout are imported from where it keeps them.
    if imported is not None and imported.resolve() not in (folder.resolve(), (folder / upstream.source).resolve()):
        module = upstream.shipped[0].replace("/", ".")
        raise NotATreeError(
            f"{upstream.distribution} {version} is installed in {folder}, but this Python imports {module} from "
            f"{imported}",
            hint="name the tree that you mean with --in DIR, or take the other off PYTHONPATH",
        )


def imported_from(upstream: Upstream) -> Path | None:
    """Return the first folder on ``sys.path`` with the first package: the one that an import takes; None without one.

    Asking importlib would import the package above it, and remember it.
    """
    folders = (Path(entry or ".") for entry in sys.path)
    return next((folder for folder in folders if (folder / upstream.shipped[0]).is_dir()), None)


def _opened(folder: Path, upstream: Upstream, said: str) -> WritableTree:
    from patchkit.trees.layout import holds, open_folder  # noqa: PLC0415 - it imports this module

    if not holds(folder, upstream):
        raise NotATreeError(f"{said}, but that folder has no {upstream.shipped[0]}", hint="install it again")
    return open_folder(folder, upstream)


def _editable_checkout(found: Distribution, name: str) -> Path | None:
    """Return the folder that ``direct_url.json`` of an editable install leads to (PEP 610)."""
    import json  # noqa: PLC0415 - needed here alone
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415

    text = found.read_text("direct_url.json")
    if text is None:
        return None
    try:
        origin = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotATreeError(f"direct_url.json of {name} cannot be read: {error}", hint="install it again") from error
    if not _is_editable(origin):
        return None
    url = urlsplit(str(origin.get("url")))
    if url.scheme != "file":
        raise NotATreeError(f"{name} is installed in editable form from {url.geturl()!r}, which is no folder here")
    return Path(unquote(url.path))


def _is_editable(origin: object) -> bool:
    if not isinstance(origin, Mapping):
        return False
    folder = origin.get("dir_info")
    return isinstance(folder, Mapping) and folder.get("editable") is True
