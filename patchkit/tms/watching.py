"""Calls of the package's own pause and resume that go around the guard: done as asked, and taken note of."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

NAMES = ("pause", "resume", "region", "disable")
"""The functions of the package's object that a guard has of its own."""


class Watcher:
    """Stands at the package's object in the place of a function, and tells the guard when it was called."""

    def __init__(self, name: str, plain: Callable[..., Any], guard: Any) -> None:
        self.name = name
        self.plain = plain
        # An object of the package lives as long as the process, a guard does not have to.
        self._guard = weakref.ref(guard)

    def __call__(self, tag: str | None = None) -> Any:
        """Do what the package does."""
        guard = self._guard()
        if guard is None:
            return self.plain(tag)
        return guard.around(self.name, self.plain, tag)


def plain_functions(saver: Any) -> dict[str, Any]:
    """Return the package's own functions by name, without what earlier guards put in their place; None if missing."""
    return {name: _plain(name, getattr(saver, name, None)) for name in NAMES}


def _plain(name: str, found: Any) -> Any:
    if isinstance(found, Watcher):
        return found.plain
    # Installed by the guard of a parent process.
    earlier = getattr(getattr(found, "__self__", None), "_plain", None)
    return found if earlier is None else earlier[name]


def watch(saver: Any, plain: dict[str, Any], guard: Any) -> None:
    """Put watchers in the place of pause and resume."""
    for name in ("pause", "resume"):
        if hasattr(saver, "__dict__") and plain[name] is not None:
            setattr(saver, name, Watcher(name, plain[name], guard))
