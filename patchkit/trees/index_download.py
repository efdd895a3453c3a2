"""One file of a package index, brought to a place of ours in pieces, and held against its SHA-256."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from patchkit.errors import DigestMismatchError, IndexUnavailableError
from patchkit.reading import pieces
from patchkit.trees.index_client import Clients, failures, several_times, told_of
from patchkit.trees.index_pages import LARGEST_WHEEL, IndexFile
from patchkit.trees.index_places import in_words, path_of, redacted

_PIECE = 1 << 16

Counted = Callable[[int], None]
"""Is told of each piece how many bytes it has; may raise to end a download."""


def download(clients: Clients, file: IndexFile, place: Path, sha256: str, *, counted: Counted) -> None:
    """Write what ``file`` leads to into the new file ``place``.

    Raises IndexUnavailableError when it cannot be had, DigestMismatchError when it is another file, and OSError when it
    cannot be written; whatever is in ``place`` then is to be thrown away.
    """
    with place.open("xb") as into:
        if urlsplit(file.url).scheme == "file":
            found = _copied(file, into, counted)
        else:
            found = _received(clients, file, into, counted)
    if found != sha256:
        raise mismatch(file.name, sha256, found)


def mismatch(name: str, wanted: str, found: str) -> DigestMismatchError:
    """Return the error for a file of other bytes than those that were recorded; both digests are SHA-256."""
    return DigestMismatchError(
        f"{name} from the package index is not the file that was recorded: expected SHA-256 {wanted}, got {found}",
        hint="do not use it before you know who changed it, the index or upstream",
    )


def _copied(file: IndexFile, into: BinaryIO, counted: Counted) -> str:
    digest = _Digest(into, counted)
    read = pieces(path_of(file.url))
    while True:
        try:
            piece = next(read, None)
        except OSError as error:
            # That it cannot be written is another error.
            raise _refused(file, f"{error.strerror or error}") from error
        if piece is None:
            return digest.hexdigest()
        digest.take(file, piece)


def _received(clients: Clients, file: IndexFile, into: BinaryIO, counted: Counted) -> str:
    def once() -> tuple[int, str, str]:
        """Return status, its words and the digest of what came."""
        into.seek(0)
        into.truncate()
        # The digest is that of the file: no server is to pack it once more for the way.
        with client.stream("GET", file.url, headers={"Accept-Encoding": "identity"}) as response:
            digest = _Digest(into, counted)
            if response.status_code == 200:
                claimed = response.headers.get("Content-Length", "")
                if claimed.isdecimal() and int(claimed) > LARGEST_WHEEL:
                    raise _too_large(file)
                for piece in response.iter_raw(_PIECE):
                    digest.take(file, piece)
            return response.status_code, response.reason_phrase, digest.hexdigest()

    try:
        client = clients.of(file.url)
    except OSError as error:
        # Certificates that pip's settings name, and nothing of ours.
        raise _refused(file, in_words(error)) from error
    try:
        status, words, found = several_times(once, lambda answer: answer[0] >= 500)
    except failures() as error:
        raise _refused(file, told_of(error, file.url)) from error
    if status != 200:
        raise _refused(file, f"HTTP {status} {words}".strip())
    return found


class _Digest:
    """Writes pieces, and knows the digest of all of them."""

    def __init__(self, into: BinaryIO, counted: Counted) -> None:
        self._into = into
        self._counted = counted
        self._left = LARGEST_WHEEL
        self._digest = hashlib.sha256()

    def take(self, file: IndexFile, piece: bytes) -> None:
        self._left -= len(piece)
        if self._left < 0:
            raise _too_large(file)
        self._into.write(piece)
        self._digest.update(piece)
        self._counted(len(piece))

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


def _too_large(file: IndexFile) -> IndexUnavailableError:
    return _refused(file, f"it is larger than {LARGEST_WHEEL >> 20} MiB")


def _refused(file: IndexFile, why: str) -> IndexUnavailableError:
    # What is behind the path may be a password too.
    return IndexUnavailableError(f"cannot download {redacted(file.url)}: {why}")
