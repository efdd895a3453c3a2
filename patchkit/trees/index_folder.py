"""Wheels of a package index, or of links, that is a file or a folder of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from patchkit.reading import read_regular, sha256_of
from patchkit.trees.index_pages import LARGEST_WHEEL, IndexFile
from patchkit.trees.index_places import path_of
from patchkit.trees.index_reading import LARGEST_PAGE, PageError, Reading, link_to, read_page


def read_folder(path: Path, kind: str, distribution: str) -> Reading:
    """Return the wheels of ``distribution`` in an index (``kind`` ``index``) or a place of links (``links``).

    Raises PageError when it is no such place, or its page cannot be read.
    """
    if not path.exists():
        raise PageError("there is no such file or folder")
    found = Reading()
    try:
        for reading in _readings(path, kind, distribution):
            found.files += reading.files
            found.left_out += reading.left_out
    except OSError as error:
        raise PageError(f"{error.filename or path} cannot be read: {error.strerror}") from error
    return found


def _readings(path: Path, kind: str, distribution: str) -> Iterator[Reading]:
    from packaging.utils import canonicalize_name  # noqa: PLC0415 - needed here alone

    if kind == "index":
        page = path / canonicalize_name(distribution) / "index.html"
        # One index of several need not have everything.
        if page.exists():
            yield _page(page, distribution)
    elif not path.is_dir():
        yield _page(path, distribution) if _is_page(path) else _told(link_to(path.as_uri(), distribution))
    else:
        for child in sorted(path.iterdir()):
            if not _is_page(child):
                yield _told(link_to(child.as_uri(), distribution))
                continue
            try:
                yield _page(child, distribution)
            except (OSError, PageError) as error:
                # What else is in the folder counts as before.
                words = error.strerror if isinstance(error, OSError) else str(error)
                yield Reading(left_out=[f"{child} ({words})"])


def _is_page(path: Path) -> bool:
    return path.suffix.lower() in (".html", ".htm")


def _page(path: Path, distribution: str) -> Reading:
    content = read_regular(path, LARGEST_PAGE)
    return _told(read_page(content, path.as_uri(), distribution, is_json=False, local=True))


def _told(reading: Reading) -> Reading:
    """Return what was read with the digests of files of this machine where the page tells none."""
    told = Reading(left_out=reading.left_out)
    for file in reading.files:
        if file.sha256 or not file.url.startswith("file:"):
            told.files.append(file)
            continue
        try:
            told.files.append(replace(file, sha256=_digest(file)))
        except OSError as error:
            told.left_out.append(f"{path_of(file.url)} ({error.strerror})")
    return told


def _digest(file: IndexFile) -> str:
    path = path_of(file.url)
    if path.stat().st_size > LARGEST_WHEEL:
        raise OSError(0, f"it is larger than {LARGEST_WHEEL >> 20} MiB")
    return sha256_of(path)
