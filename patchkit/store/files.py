"""Writing our own files."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from patchkit.errors import UsageError, WriteFailedError


def entries(folder: Path) -> Iterator[Path]:
    """Yield everything below ``folder``, each folder before what is in it; what is behind a link is not below it."""
    for place, folders, files in os.walk(folder):
        folders.sort()
        yield from sorted(Path(place) / name for name in (*folders, *files))


def refuse_links(folder: Path) -> None:
    """Refuse links below ``folder``: what would be written there would end up elsewhere. Raises UsageError."""
    for entry in entries(folder):
        if entry.is_symlink():
            raise UsageError(f"{entry} is a link, and links are not followed", hint="put a copy in its place")


def write_files(files: Mapping[Path, bytes], removed: Iterable[Path] = ()) -> None:
    """Write each file whole, by renaming a finished copy over it, then remove ``removed``.

    All copies are made before the first rename, so that a full disk changes nothing. Raises WriteFailedError.
    """
    ready: list[tuple[Path, Path]] = []
    try:
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            ready.append((Path(name), path))
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            Path(name).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
        for temporary, path in ready:
            temporary.replace(path)
        for path in removed:
            path.unlink()
    except OSError as error:
        named = Path(error.filename or path)
        # Nobody knows the unfinished copy; what is meant is the file that it was to become.
        named = path if named.name.startswith(f".{path.name}.") else named
        raise WriteFailedError(f"cannot write {named}: {error.strerror or error}") from error
    finally:
        for temporary, _ in ready:
            with contextlib.suppress(OSError):
                temporary.unlink()
