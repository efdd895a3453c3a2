"""JSON of any value of ours, also of one that holds a name that is no text."""

from __future__ import annotations

from typing import Any

import msgspec


def to_json(value: object) -> bytes:
    r"""Return a value as JSON in UTF-8.

    The name of a file may have bytes that are no UTF-8, which Python has as lone surrogates. JSON has no such
    character; each is written as Python escapes it (``\udcff``), as it is where text is printed.
    """
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_as_text(msgspec.to_builtins(value)))


def _as_text(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_as_text(key): _as_text(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_text(each) for each in value]
    return value
