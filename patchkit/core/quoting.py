"""File names in diffs: unusual ones stand in quotes (git-config(1), core.quotePath)."""

from __future__ import annotations

import re
from typing import Final

_ESCAPE: Final = re.compile(rb"\\([abfnrtv\"\\]|[0-3][0-7]{2})")
_LETTERS: Final = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_NAMED: Final = {value: b"\\" + letter for letter, value in _LETTERS.items()} | {b'"': b'\\"', b"\\": b"\\\\"}
_UNUSUAL: Final = re.compile(rb'[\x00-\x1f\x7f"\\]')


def quoted(path: str) -> bytes:
    r"""Return ``path`` as it stands in the header of a diff.

    Control characters, quotes and backslashes need quotes; bytes beyond ASCII stand as they are, as with
    ``core.quotePath=false``, which ``git apply`` and GNU patch read as well.
    """
    name = path.encode("utf-8", "surrogateescape")
    # GNU patch drops a blank at the end of a name that stands without quotes.
    if not _UNUSUAL.search(name) and not name.endswith(b" "):
        return name
    return b'"' + _UNUSUAL.sub(lambda match: _NAMED.get(match[0]) or b"\\%03o" % ord(match[0]), name) + b'"'


def unquoted(field: bytes) -> str:
    """Return the path that a field of a header names, in quotes or not."""
    if not (len(field) >= 2 and field.startswith(b'"') and field.endswith(b'"')):
        return as_path(field)

    def plain(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return _LETTERS.get(code) or (bytes([int(code, 8)]) if code.isdigit() else code)

    return as_path(_ESCAPE.sub(plain, field[1:-1]))


def as_path(name: bytes) -> str:
    """Return the bytes of a name as text, from which ``os.fsencode`` makes the same bytes."""
    return name.decode("utf-8", "surrogateescape")
