"""Texts of a series that wait for a person: import and capture mark what they made up."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from patchkit.core.series import PatchDocument, SeriesDocument
from patchkit.core.unwritten import is_unwritten


def unwritten(document: PatchDocument | SeriesDocument) -> Iterator[tuple[str, str]]:
    """Yield key and text of every value that is marked as proposed or as to be written."""
    yield from _marked("", msgspec.to_builtins(document))


def _marked(key: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        if is_unwritten(value):
            yield key, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _marked(f"{key}.{name}" if key else str(name), item)
    elif isinstance(value, (list, tuple)):
        for position, item in enumerate(value):
            yield from _marked(f"{key}[{position}]", item)
