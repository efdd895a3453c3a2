"""What the texts of a case have in them, so that a run can say how often each odd thing was tried."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

_LONG: Final = re.compile(rb"[^\n]{10000}")
_OF_TEXTS: Final[Mapping[str, Callable[[bytes], object]]] = {
    "CRLF": lambda text: b"\r\n" in text,
    "lone CR": re.compile(rb"\r(?!\n)").search,
    "form feed": lambda text: b"\x0c" in text,
    "BOM": lambda text: text.startswith(b"\xef\xbb\xbf"),
    "NUL": lambda text: b"\0" in text,
    "no last newline": lambda text: text and not text.endswith(b"\n"),
    "no UTF-8": lambda text: not _is_utf8(text),
    "line of 10,000 bytes": _LONG.search,
    "tab": lambda text: b"\t" in text,
    "empty file": lambda text: not text,
}


def kinds_of(texts: Iterable[bytes | None]) -> frozenset[str]:
    """Return what at least one of the texts has in it; None is no file."""
    there = {text for text in texts if text is not None}
    return frozenset(kind for kind, has in _OF_TEXTS.items() if any(has(text) for text in there))


def change_kinds(old: bytes | None, new: bytes | None) -> frozenset[str]:
    """Return the kinds of both texts, and whether a file is made or removed."""
    made = {"creation"} if old is None else {"removal"} if new is None else frozenset[str]()
    return kinds_of((old, new)) | made


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
