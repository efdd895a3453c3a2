"""Where torch_memory_saver is: this environment's, a folder, a wheel, or one library."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from email.parser import Parser
from functools import cached_property
from pathlib import Path

from patchkit.errors import TmsFileError, TmsNotFoundError
from patchkit.reading import read_regular, sha256_of

NAME = "torch_memory_saver"

_LIBRARY = re.compile(r"torch_memory_saver_(?P<mode>cpp|hook_mode_preload|hook_mode_torch)(?:_\w+)?(?:\.[\w.-]+)?\.so")
_METADATA = re.compile(rf"{NAME}-[^/]+\.dist-info")
_MOST = 1 << 30
"""Bytes that a wheel may unpack to; a real one has a few million."""
_LARGEST_METADATA = 16 << 20
"""Bytes of a METADATA file, which is a page of text."""
_INSTALL = "pip install 'torch_memory_saver>=0.0.10'"


@dataclass(frozen=True)
class Package:
    """A torch_memory_saver that lies in a folder; nothing of it is imported or loaded."""

    label: str
    """How to name it in messages."""
    root: Path
    """The folder that holds the package: site-packages, or where a wheel was unpacked."""
    only: Path | None = None
    """The library, when it is all there is."""

    @cached_property
    def libraries(self) -> tuple[Path, ...]:
        """Every shared library that has a name of torch_memory_saver, sorted by name. Raises TmsFileError."""
        if self.only:
            return (self.only,)
        # Releases put them beside the package; its own look-up takes both places, the package first.
        folders = (self.root / NAME, self.root)
        try:
            found = [path for folder in folders if folder.is_dir() for path in folder.iterdir()]
        except OSError as error:
            raise TmsFileError(f"cannot read {error.filename}: {error.strerror}") from error
        return tuple(
            sorted((path for path in found if _LIBRARY.fullmatch(path.name) and path.is_file()), key=lambda p: p.name)
        )

    @cached_property
    def preload_libraries(self) -> tuple[Path, ...]:
        """Those for LD_PRELOAD; 0.0.8 called it torch_memory_saver_cpp."""
        return tuple(path for path in self.libraries if mode_of(path) == "preload")

    @cached_property
    def python_files(self) -> Mapping[str, str]:
        """SHA-256 of each Python file, by path below the root."""
        files = sorted((self.root / NAME).rglob("*.py")) if not self.only else []
        return {path.relative_to(self.root).as_posix(): sha256(content_of(path)) for path in files}

    @cached_property
    def metadata_folder(self) -> Path | None:
        """The dist-info folder; None when there is none, as in a checkout. Raises TmsFileError when there are two."""
        if self.only:
            return None
        found = sorted(path for path in self.root.iterdir() if _METADATA.fullmatch(path.name))
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            raise TmsFileError(f"{self.label} has two installations of torch_memory_saver: {names}", hint=INSTALL_ONCE)
        return found[0] if found else None

    @cached_property
    def version(self) -> str | None:
        """The distribution's version; None without metadata."""
        folder = self.metadata_folder
        if folder is None:
            return None
        try:
            text = read_regular(folder / "METADATA", _LARGEST_METADATA).decode("utf-8", "replace")
        except OSError as error:
            raise TmsFileError(
                f"cannot read {folder / 'METADATA'}: {error.strerror or error}", hint=INSTALL_ONCE
            ) from error
        return Parser().parsestr(text, headersonly=True).get("Version")


INSTALL_ONCE = "uninstall torch_memory_saver until pip knows none, then install it once"


def sha256(content: bytes) -> str:
    """Return the digest as hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def content_of(path: Path) -> bytes:
    """Read a file, of at most 256 MiB: a library has a few hundred KiB. Raises TmsFileError."""
    try:
        return read_regular(path)
    except OSError as error:
        raise TmsFileError(f"cannot read {path}: {error.strerror or error}") from error


def mode_of(library: Path) -> str | None:
    """Return ``preload`` or ``torch`` by the library's name; None for another name."""
    named = _LIBRARY.fullmatch(library.name)
    if named is None:
        return None
    return "torch" if named["mode"] == "hook_mode_torch" else "preload"


def installed_package() -> Package:
    """Return the one that this Python would import. Raises TmsNotFoundError."""
    spec = importlib.util.find_spec(NAME)
    if spec is None or not spec.submodule_search_locations:
        raise TmsNotFoundError("torch_memory_saver is not installed in this Python", hint=_INSTALL)
    folder = Path(next(iter(spec.submodule_search_locations)))
    return Package(str(folder), folder.parent)


def package_at(path: Path, *, cache: Path) -> Package:
    """Return the one at ``path``: a wheel, a library, site-packages, or the package's own folder.

    Wheels are unpacked below ``cache``, once for each digest. Raises TmsNotFoundError, TmsFileError.
    """
    if path.is_dir():
        root = path.parent if path.name == NAME and not (path / NAME).is_dir() else path
        found = Package(str(path), root.resolve())
        if not found.libraries and not (root / NAME).is_dir():
            raise TmsNotFoundError(f"{path} holds no torch_memory_saver", hint="name its site-packages folder")
        return found
    if not path.is_file():
        raise TmsNotFoundError(f"{path} is neither a file nor a folder" if path.exists() else f"{path} does not exist")
    if path.suffix == ".whl" or zipfile.is_zipfile(path):
        return Package(path.name, _unpacked(path, cache))
    return Package(str(path), path.resolve().parent, path.resolve())


def _unpacked(wheel: Path, cache: Path) -> Path:
    place = cache / "tms-wheels" / _digest(wheel)
    if place.is_dir():
        return place
    from patchkit.unfinished import unfinished  # noqa: PLC0415 - only wheels need it

    place.parent.mkdir(parents=True, exist_ok=True)
    with unfinished(place, folder=True) as building:
        _unpack(wheel, building)
        try:
            building.rename(place)
        except OSError as error:
            # Somebody else may have been faster; what they unpacked is the same.
            if not place.is_dir():
                raise TmsFileError(f"cannot write {place}: {error.strerror or error}") from error
    return place


def _digest(wheel: Path) -> str:
    try:
        size = wheel.stat().st_size
        if size > _MOST:
            raise TmsFileError(f"{wheel} is larger than {_MOST >> 20} MiB, which no wheel of torch_memory_saver is")
        return sha256_of(wheel)
    except OSError as error:
        raise TmsFileError(f"cannot read {wheel}: {error.strerror or error}") from error


def _unpack(wheel: Path, into: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            if not any(name.startswith((f"{NAME}/", NAME)) for name in archive.namelist()):
                raise TmsFileError(f"{wheel.name} is no wheel of torch_memory_saver")
            if sum(member.file_size for member in archive.infolist()) > _MOST:
                raise TmsFileError(f"{wheel.name} would unpack to more than {_MOST >> 20} MiB")
            # zipfile leaves no member outside the folder: it drops "..", drives and leading slashes.
            archive.extractall(into)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
        # RuntimeError: an encrypted member, or a compression that there is not.
        raise TmsFileError(f"{wheel.name} is damaged or no wheel: {error}") from error
