"""YAML files as checked documents."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from patchkit.core.marks import first_mark
from patchkit.errors import StoreError
from patchkit.reading import LARGEST, Together, read_regular, read_unlinked
from patchkit.store.cache import ContentCache, default_cache
from patchkit.store.unreadable import unreadable

T = TypeVar("T")

_AT = re.compile(r"^(?P<problem>.*?)(?: - at (?P<of_key>`key` in )?`\$(?P<key>.*)`)?$", re.DOTALL)
_PART = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[\.\.\.\]")


def read_file(path: Path, most: int = LARGEST) -> bytes:
    """Return the bytes of one of our files. Raises StoreError when it cannot be read, or is no regular file.

    One of more than ``most`` bytes cannot be read.
    """
    try:
        return read_regular(path, most)
    except OSError as error:
        raise unreadable(path, error) from error


def read_unlinked_file(path: Path) -> bytes:
    """As read_file, for what must lie where its name says: a link in its place cannot be read either."""
    try:
        return read_unlinked(path)
    except OSError as error:
        raise unreadable(path, error) from error


def read_files(paths: Iterable[Path], together: Together) -> dict[Path, bytes]:
    """Return the bytes of several of our files by path. Raises StoreError, also where they have too many."""
    try:
        return together.read(paths)
    except OSError as error:
        raise unreadable(Path(error.filename), error) from error


def load_document(kind: type[T], path: Path) -> T:
    """Read ``path`` as a document of type ``kind``. Raises StoreError that names the file, the key and the line."""
    return parse_document(kind, read_file(path), str(path))


def parse_document(kind: type[T], text: bytes, file: str) -> T:
    """As load_document, for text at hand."""
    refuse_marks(text, file)
    value = _plain_value(text, file)
    if value is None:
        hint = "get it back from its history, or remove it where it was not meant to be"
        raise StoreError(file, None, "there is nothing in it", hint=hint)
    try:
        return msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        problem, key = _located(str(error))
        from patchkit.store.yaml_text import line_of  # noqa: PLC0415 - as in _plain_value

        line = line_of(text, _parts(key))
        where = key.removeprefix(".") or "the document"
        raise StoreError(file, f"{where} (line {line})" if line else where, problem) from error


def refuse_marks(text: bytes, file: str) -> None:
    """Refuse a text in which a conflict is marked: within a text of several lines YAML takes it for words.

    Raises StoreError that names the line.
    """
    line = first_mark(text)
    if line is not None:
        raise StoreError(file, f"line {line}", "a conflict is marked here", hint="solve it and take the marks away")


def _plain_value(text: bytes, file: str) -> object:
    """Return what the YAML says, from the cache if these very bytes were read before.

    Reading YAML takes longer than all else that a command does. The number in the key is that of parse_yaml's rules.
    """
    cache = ContentCache(default_cache())
    key = f"1-{hashlib.sha256(text).hexdigest()}"
    kept = cache.get("yaml", key)
    if kept is not None:
        return kept
    from patchkit.store.yaml_text import parse_yaml  # noqa: PLC0415 - 30 ms that a kept value does without

    value = parse_yaml(text, file)
    if value is not None:
        cache.put("yaml", key, value)
    return value


def _located(message: str) -> tuple[str, str]:
    match = _AT.match(message)
    assert match is not None  # noqa: S101 - the pattern matches every text
    problem = f"in a key: {match['problem']}" if match["of_key"] else match["problem"]
    return problem, match["key"] or ""


def _parts(key: str) -> list[str | int]:
    parts: list[str | int] = []
    for match in _PART.finditer(key):
        if match[1] is not None:
            parts.append(match[1])
        elif match[2] is not None:
            parts.append(int(match[2]))
        else:
            break
    return parts
