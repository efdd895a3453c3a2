"""What servers give when a page of an index is asked for, in pieces and no more than is read."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchkit.trees.index_client import several_times
from patchkit.trees.index_pages import Page, sendable
from patchkit.trees.index_places import bare_of, came_from
from patchkit.trees.index_reading import LARGEST_PAGE, PageError

if TYPE_CHECKING:
    from httpx2 import Client, Response

_JSON = "application/vnd.pypi.simple.v1+json"
_HTML = ("text/html", "application/vnd.pypi.simple.v1+html")
_ASKED = {
    "Accept": f"{_JSON}, {_HTML[1]}; q=0.1, {_HTML[0]}; q=0.01",
    # What comes is unpacked here, in pieces: a client unpacks whatever a server says that it packed, all at once.
    "Accept-Encoding": "gzip",
}
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server gave; a body only with 200."""

    status: int
    words: str
    """What the server says of its status."""
    url: str
    """Where it was in the end."""
    kind: str
    """Content-Type."""
    etag: str
    body: bytes

    @property
    def is_json(self) -> bool:
        """Tell whether the page is of the JSON form."""
        return self.kind.lower().startswith(_JSON)

    def page(self) -> Page:
        """Return what is kept of it beside its files."""
        told = f"{self.kind}\0".encode() + self.body
        return Page(bare_of(self.url), self.etag, hashlib.sha256(told).hexdigest(), [])


def ask(client: Client, url: str, known: Page | None) -> Answer | None:
    """Return what a server gives; None when it says that its page is the ``known`` one. Raises PageError."""
    headers = {**_ASKED, "If-None-Match": known.etag} if known is not None and known.etag else _ASKED
    answer = _given(client, url, headers)
    if answer.status == 304:
        if known is not None and known.etag and bare_of(answer.url) == known.url:
            return None
        # The same name for the state of another page.
        answer = _given(client, url, _ASKED)
    return answer


def _given(client: Client, url: str, headers: Mapping[str, str]) -> Answer:
    def once() -> Answer:
        with client.stream("GET", url, headers=headers) as response:
            kind = response.headers.get("Content-Type", "nothing")
            body = _body(response, kind, url) if response.status_code == 200 else b""
            return Answer(
                response.status_code,
                response.reason_phrase,
                str(response.url),
                kind,
                sendable(response.headers.get("ETag", "")),
                body,
            )

    return several_times(once, lambda answer: answer.status >= 500)


def _body(response: Response, kind: str, asked: str) -> bytes:
    """Return the page that comes, unpacked. Raises PageError."""
    where = came_from(str(response.url), asked)
    if not kind.lower().startswith((_JSON, *_HTML)):
        raise PageError(f"{where}it gives {kind}, which is no page of an index")
    packing = response.headers.get("Content-Encoding", "").strip().lower()
    if packing not in ("", "identity", "gzip", "x-gzip"):
        raise PageError(f"{where}it is packed as {packing}, which was not asked for")
    pieces: list[bytes] = []
    left = LARGEST_PAGE
    for piece in _unpacked(response.iter_raw(_PIECE), is_packed="gzip" in packing):
        left -= len(piece)
        if left < 0:
            raise PageError(f"{where}it is larger than {LARGEST_PAGE >> 20} MiB")
        pieces.append(piece)
    return b"".join(pieces)


def _unpacked(pieces: Iterator[bytes], *, is_packed: bool) -> Iterator[bytes]:
    """Yield pieces that are never much larger than what is kept in memory anyway."""
    if not is_packed:
        yield from pieces
        return
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        for piece in pieces:
            rest = piece
            while rest and not unpacker.eof:
                yield unpacker.decompress(rest, _PIECE)
                rest = unpacker.unconsumed_tail
        while not unpacker.eof and (more := unpacker.decompress(unpacker.unconsumed_tail, _PIECE)):
            yield more
    except zlib.error as error:
        raise PageError(f"its answer cannot be unpacked ({error})") from error
    if not unpacker.eof:
        raise PageError("its answer ends before its packing does")
