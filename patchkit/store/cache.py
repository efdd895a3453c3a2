"""Results kept by content in the user's cache folder.

A key names everything that a result depends on, so that an entry is never wrong, only missing. A cache that cannot be
read or written costs time, and nothing else.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from patchkit.reading import read_regular
from patchkit.unfinished import unfinished

T = TypeVar("T")


def default_cache() -> Path:
    """Return ``$PATCHKIT_CACHE``, or the folder for caches that is usual on this machine."""
    named = os.environ.get("PATCHKIT_CACHE")
    if named:
        return Path(named)
    from platformdirs import user_cache_path  # noqa: PLC0415 - not needed where the environment says it

    return user_cache_path("patchkit")


class ContentCache:
    """Plain values by kind and key, each in a file of its own below ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, kind: str, key: str) -> object | None:
        """Return the value kept under ``key``, or None."""
        return self.get_as(kind, key, object)

    def get_as(self, kind: str, key: str, what: type[T]) -> T | None:
        """Return the value kept under ``key`` as a ``what``; None where there is none, or something else."""
        try:
            return msgspec.msgpack.decode(read_regular(self._folder / kind / key), type=what)
        except (OSError, msgspec.DecodeError):
            return None

    def put(self, kind: str, key: str, value: object) -> None:
        """Keep ``value``, which is not None; another process may do the same at the same time."""
        target = self._folder / kind / key
        try:
            content = msgspec.msgpack.encode(value)
        except (OverflowError, TypeError, ValueError, RecursionError):
            # YAML knows values that this format does not: numbers beyond 64 bits, lists that hold themselves.
            return

        with suppress(OSError):
            target.parent.mkdir(parents=True, exist_ok=True)
            # All of them in one folder, which has nothing else in it: looking for what is left of others takes no time.
            drafts = self._folder / ".unfinished"
            drafts.mkdir(exist_ok=True)
            with unfinished(drafts / "result") as building:
                building.write_bytes(content)
                building.replace(target)
