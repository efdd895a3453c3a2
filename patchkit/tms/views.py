"""Backups that somebody reads in place."""

from __future__ import annotations

import weakref
from typing import Any

from patchkit.errors import HeldError


class Views:
    """Live views by tag."""

    def __init__(self) -> None:
        self._known: dict[str, list[tuple[weakref.ref[Any], str]]] = {}

    def add(self, tag: str, block: object, site: str) -> None:
        """Remember ``block``, which everything that reads the backup keeps alive; ``site`` is who asked for it."""
        self._known.setdefault(tag, []).append((weakref.ref(block), site))

    def check(self, tag: str, here: str) -> None:
        """Raise HeldError when somebody could still read the backup of ``tag``."""
        alive = [(block, site) for block, site in self._known.pop(tag, ()) if block() is not None]
        if alive:
            self._known[tag] = alive
            raise HeldError(
                "resume()",
                tag=tag,
                rule="its backup is read in place, and a resume gives it back to the system",
                here=here,
                earlier=alive[0][1],
                hint="drop what cpu_backup() returned, or clone it, before the resume",
            )
