"""The RECORD file of an installed distribution or a wheel: path, hash and size of each file, one CSV row each.

Rows that no change concerns keep their bytes, whatever wrote them, so that undoing a change gives back the old RECORD.
"""

from __future__ import annotations

import csv
import hashlib
import posixpath
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from patchkit.errors import ArchiveError

_ALGORITHMS = ("sha256", "sha384", "sha512")
"""Hashes a row may already use and that are kept; the RECORD rules forbid anything weaker than SHA-256."""

_SHOWN = 200
"""Characters of a malformed row that a message has."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One row as it is written."""

    path: str
    """The path without quoting, as it is looked up: ``./a.py`` and ``b/../a.py`` are rows of ``a.py`` too."""
    written_path: str
    written_hash: str
    written_size: str
    ending: str
    """``\\r\\n``, ``\\n``, or nothing when the file stops without one."""

    def text(self) -> str:
        return f"{self.written_path},{self.written_hash},{self.written_size}{self.ending}"


def update_record(record: bytes, changes: Mapping[str, bytes | None], name: str = "RECORD") -> bytes:
    """Return ``record`` with the rows of ``changes``, by path as a tree has it, brought up to date.

    A row stays where it is; a removed file (None) loses its row; a new file gets a row at the end, in the order of
    ``changes``. All rows of a file are treated alike, also ``./a.py`` beside ``a.py``. A row that records no hash or no
    size (as rows of byte code and of RECORD itself do) goes on recording
    none. Raises ArchiveError with the number of a malformed row, counted from 1, in what is called ``name``.
    """
    rows = list(_rows(record, name))
    ends_open = bool(rows) and rows[-1].ending == ""
    kept = [_changed(row, changes) for row in rows]
    known = {row.path for row in rows}
    ending = next((row.ending for row in rows if row.ending), "\n")
    added = [
        _new_row(path, content, ending)
        for path, content in changes.items()
        if path not in known and content is not None
    ]
    return _joined([row for row in kept if row is not None] + added, ending, ends_open=ends_open)


def rename_folder(record: bytes, old: str, new: str) -> bytes:
    """Return ``record`` with the top folder ``old`` called ``new``; rows keep their place and everything else."""
    rows = list(_rows(record))
    renamed = [
        replace(row, written_path=_quoted(new + row.path[len(old) :])) if row.path.startswith(f"{old}/") else row
        for row in rows
    ]
    return _encoded(renamed)


def _rows(record: bytes, name: str = "RECORD") -> Iterator[_Row]:
    for number, text in enumerate(_row_texts(record.decode("utf-8", "surrogateescape")), start=1):
        body = text.rstrip("\r\n")
        try:
            fields = next(csv.reader([body], strict=True), [])
        except csv.Error as error:
            raise ArchiveError(f"{name} row {number}: {error}") from error
        if len(fields) != 3 or not fields[0] or "," in fields[1] + fields[2]:
            raise ArchiveError(f"{name} row {number}: expected path, hash and size, found {_shown(body)}")
        written_path, written_hash, written_size = body.rsplit(",", 2)
        yield _Row(posixpath.normpath(fields[0]), written_path, written_hash, written_size, text[len(body) :])


def _row_texts(text: str) -> Iterator[str]:
    """Yield rows with their line endings; a quoted path may hold a line break."""
    start = end = 0
    within = False  # quotes, as far as the lines since ``start`` say
    while end < len(text):
        line = end
        # Not str.splitlines, which also breaks at characters that a file name may hold, such as U+2028.
        end = text.find("\n", end) + 1 or len(text)
        within ^= text.count('"', line, end) % 2 == 1
        if not within:
            yield text[start:end]
            start = end
    if start < end:
        yield text[start:end]


def _shown(body: str) -> str:
    """Return a row as a message has it."""
    return repr(body if len(body) <= _SHOWN else f"{body[:_SHOWN]}...")


def _changed(row: _Row, changes: Mapping[str, bytes | None]) -> _Row | None:
    if row.path not in changes:
        return row
    content = changes[row.path]
    if content is None:
        return None
    written_hash = row.written_hash.strip('"')
    if written_hash:
        row = replace(row, written_hash=row.written_hash.replace(written_hash, _hash(content, written_hash)))
    written_size = row.written_size.strip('"')
    if written_size:
        row = replace(row, written_size=row.written_size.replace(written_size, str(len(content))))
    return row


def _new_row(path: str, content: bytes, ending: str) -> _Row:
    return _Row(path, _quoted(path), _hash(content, "sha256="), str(len(content)), ending)


def _hash(content: bytes, like: str) -> str:
    """Return ``algorithm=digest`` with the algorithm of ``like`` where it is one of ours."""
    algorithm = like.partition("=")[0]
    if algorithm not in _ALGORITHMS:
        algorithm = "sha256"
    digest = urlsafe_b64encode(hashlib.new(algorithm, content).digest()).rstrip(b"=")
    return f"{algorithm}={digest.decode()}"


def _quoted(path: str) -> str:
    if any(character in path for character in ',"\r\n'):
        return '"' + path.replace('"', '""') + '"'
    return path


def _joined(rows: list[_Row], ending: str, *, ends_open: bool) -> bytes:
    # Whether the file closes with a line break belongs to the file, not to the row that happens to be last.
    inner = [replace(row, ending=row.ending or ending) for row in rows]
    if ends_open and inner:
        inner[-1] = replace(inner[-1], ending="")
    return _encoded(inner)


def _encoded(rows: list[_Row]) -> bytes:
    return "".join(row.text() for row in rows).encode("utf-8", "surrogateescape")
