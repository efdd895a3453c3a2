"""A wheel: read in place, unpacked with changes, or made into a new wheel with a local version."""

from __future__ import annotations

import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patchkit.core.kept_names import RECORD
from patchkit.core.record import rename_folder, update_record
from patchkit.errors import ArchiveError, TreeError, UsageError, WriteFailedError
from patchkit.trees.interface import Edits
from patchkit.trees.new_folder import new_folder
from patchkit.trees.paths import checked
from patchkit.trees.wheel_members import checked_members
from patchkit.unfinished import unfinished

_NEW_FILE_MODE = stat.S_IFREG | 0o644


class WheelTree:
    """The wheel file ``path``. Raises ArchiveError or UnsafePathError at once when it holds what no wheel may hold."""

    def __init__(self, path: Path) -> None:
        self._contents: dict[str, bytes] = {}
        self.path = path
        with _reading(path.name):
            self._zip = zipfile.ZipFile(path)
        try:
            self._members = checked_members(path.name, self._zip.infolist())
            self.dist_info = _dist_info(path.name, self._members)
        except TreeError:
            self._zip.close()
            raise

    @property
    def label(self) -> str:
        """The file name."""
        return self.path.name

    @property
    def manifest_path(self) -> str:
        """Path of patchkit's record of what it applied."""
        return f"{self.dist_info}/{RECORD}"

    @property
    def record_path(self) -> str:
        """Path of RECORD."""
        return f"{self.dist_info}/RECORD"

    def read(self, path: str) -> bytes | None:
        """Return the bytes of ``path``, or None. Raises ArchiveError when they are damaged."""
        member = self._members.get(checked(path))
        return None if member is None else self.content(member)

    def paths(self, under: str = "") -> Iterator[str]:
        """Yield the paths of the members below the folder ``under``, sorted."""
        start = f"{checked(under)}/" if under else ""
        return iter(sorted(path for path in self._members if path.startswith(start)))

    def executables(self, under: str = "") -> frozenset[str]:
        """Return the paths of members below the folder ``under`` that may be executed once unpacked."""
        return frozenset(path for path in self.paths(under) if _is_executable(self._members[path]))

    def entries(self) -> list[zipfile.ZipInfo]:
        """Return all members, folders too, in the order of the archive."""
        return self._zip.infolist()

    def content(self, member: zipfile.ZipInfo) -> bytes:
        """Return the bytes of ``member``. Raises ArchiveError when they are damaged.

        They are kept: checks look through most of a wheel before it is unpacked or written again.
        """
        if member.filename not in self._contents:
            with _reading(self.path.name, member.filename):
                self._contents[member.filename] = self._zip.read(member)
        return self._contents[member.filename]

    def record(self, edits: Edits) -> bytes:
        """Return RECORD as it is after ``edits``. Raises ArchiveError when it is missing or malformed."""
        for path in edits:
            checked(path)
        old = self.read(self.record_path)
        if old is None:
            raise ArchiveError(f"{self.path.name} has no {self.record_path}")
        # Sorted, so that the order in which somebody collected the edits does not show in the result.
        changes = {path: edits[path] for path in sorted(edits) if path != self.record_path}
        return update_record(old, changes, f"{self.path.name}: {self.record_path}")


def unpack(wheel: WheelTree, destination: Path, edits: Edits) -> None:
    """Unpack ``wheel`` with ``edits`` into the new folder ``destination``, with a RECORD that fits; all or nothing.

    Raises ArchiveError, UnsafePathError, TreeError when ``destination`` is not free, WriteFailedError.
    """
    edits = {**edits, wheel.record_path: wheel.record(edits)}
    with new_folder(destination) as folder:
        for member in wheel.entries():
            if member.is_dir():
                folder.folder(member.filename.rstrip("/"))
            elif member.filename not in edits:
                folder.write(member.filename, wheel.content(member), executable=_is_executable(member))
            else:
                content = edits[member.filename]
                if content is not None:
                    folder.write(member.filename, content, executable=_is_executable(member))
        known = {member.filename for member in wheel.entries()}
        for path, content in edits.items():
            if path not in known and content is not None:
                folder.write(path, content)


def copy_wheel(wheel: WheelTree, destination_folder: Path) -> Path:
    """Copy a wheel as it is into ``destination_folder``, whole or not at all. Raises WriteFailedError."""
    made = destination_folder / wheel.path.name
    if made.exists() and made.samefile(wheel.path):
        return made
    try:
        destination_folder.mkdir(parents=True, exist_ok=True)
        with unfinished(made) as building:
            building.write_bytes(wheel.path.read_bytes())
            building.chmod(_NEW_FILE_MODE)
            building.replace(made)
    except OSError as error:
        raise WriteFailedError(f"cannot write {made}: {error.strerror or error}") from error
    return made


def rewrite_wheel(wheel: WheelTree, destination_folder: Path, edits: Edits, local_version: str) -> Path:
    """Make a new wheel with ``edits`` and the version ``<version>+<local_version>``; return its path.

    Members keep order, time, mode and compression; new ones come before RECORD with its time, so that the same wheel
    and edits give the same bytes. Paths of edits in the metadata folder follow it to its new name. Raises ArchiveError,
    UnsafePathError, UsageError when ``local_version`` is none, WriteFailedError.
    """
    name, new_dist_info, version = _renamed(wheel, local_version)
    data = wheel.dist_info.removesuffix(".dist-info") + ".data"
    folders = {wheel.dist_info: new_dist_info, data: new_dist_info.removesuffix(".dist-info") + ".data"}
    metadata_path = f"{wheel.dist_info}/METADATA"
    metadata = edits[metadata_path] if metadata_path in edits else wheel.read(metadata_path)
    edits = {**edits, metadata_path: _with_version(wheel.label, metadata, version)}
    record = wheel.record(edits)
    for old, new in folders.items():
        record = rename_folder(record, old, new)
    edits[wheel.record_path] = record

    target = destination_folder / name
    try:
        destination_folder.mkdir(parents=True, exist_ok=True)
        with unfinished(target) as building:
            _write_wheel(wheel, building, edits, folders)
            building.chmod(_NEW_FILE_MODE)
            building.replace(target)
    except OSError as error:
        raise WriteFailedError(f"cannot write {target}: {error.strerror}") from error
    return target


def _write_wheel(wheel: WheelTree, path: Path, edits: Edits, folders: dict[str, str]) -> None:
    members = wheel.entries()
    known = {member.filename for member in members}
    added = [new for new in sorted(edits) if new not in known and edits[new] is not None]
    with zipfile.ZipFile(path, "w") as archive:
        for member in members:
            if member.filename == wheel.record_path:
                for new in added:
                    like = _member(new, member, folders)
                    like.external_attr = _NEW_FILE_MODE << 16
                    archive.writestr(like, edits[new] or b"")
            content = edits[member.filename] if member.filename in edits else wheel.content(member)
            if content is not None:
                archive.writestr(_member(member.filename, member, folders), content)


def _member(path: str, like: zipfile.ZipInfo, folders: dict[str, str]) -> zipfile.ZipInfo:
    top, slash, rest = path.partition("/")
    member = zipfile.ZipInfo(folders.get(top, top) + slash + rest, like.date_time)
    member.compress_type = like.compress_type
    member.external_attr = like.external_attr
    member.create_system = like.create_system
    return member


def _renamed(wheel: WheelTree, local_version: str) -> tuple[str, str, str]:
    """Return file name, metadata folder and version of the new wheel."""
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename  # noqa: PLC0415 - needed here alone
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415

    try:
        name, old, _build, _tags = parse_wheel_filename(wheel.path.name)
    except InvalidWheelFilename as error:
        raise ArchiveError(f"{wheel.path.name} is not the name of a wheel: {error}") from error
    try:
        version = str(Version(f"{old}{'.' if old.local else '+'}{local_version}"))
    except InvalidVersion as error:
        raise UsageError(f"{local_version!r} cannot be a local version (PEP 440)") from error
    start = f"{name.replace('-', '_')}-{version}"
    tags = wheel.path.name.split("-", 2)[2]
    return f"{start}-{tags}", f"{start}.dist-info", version


def _with_version(label: str, metadata: bytes | None, version: str) -> bytes:
    metadata = metadata or b""
    blank = re.search(rb"\n\r?\n", metadata)
    end = blank.start() if blank else len(metadata)
    head, count = re.subn(rb"(?im)^(Version:[ \t]*)[^\r\n]*", rb"\g<1>" + version.encode(), metadata[:end], count=1)
    if not count:
        raise ArchiveError(f"{label} has no Version in its METADATA")
    return head + metadata[end:]


def _dist_info(label: str, members: dict[str, zipfile.ZipInfo]) -> str:
    found = {
        path.partition("/")[0] for path in members if path.endswith(".dist-info/METADATA") and path.count("/") == 1
    }
    if len(found) != 1:
        raise ArchiveError(f"{label} is not a wheel: it has {len(found)} metadata folders")
    return found.pop()


def _is_executable(member: zipfile.ZipInfo) -> bool:
    return bool((member.external_attr >> 16) & 0o111)


@contextmanager
def _reading(label: str, member: str | None = None) -> Iterator[None]:
    """Translate what zipfile raises on bytes that are no zip archive."""
    where = label if member is None else f"{label}: {member}"
    try:
        yield
    except zipfile.BadZipFile as error:
        raise ArchiveError(f"{where} is damaged: {error}") from error
    except OSError as error:
        raise ArchiveError(f"cannot read {where}: {error.strerror or error}") from error
    # An encrypted member is a RuntimeError, an unknown compression a NotImplementedError.
    except (zlib.error, EOFError, RuntimeError, ValueError, OverflowError) as error:
        raise ArchiveError(f"{where} cannot be read: {error}") from error
