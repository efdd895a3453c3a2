"""One guard for each object of torch_memory_saver, and none in a process that was forked off.

Two guards of one object would each believe their own states, and end the process in turn.
"""

from __future__ import annotations

import gc
import os
import weakref
from typing import Any

from patchkit.errors import GuardUseError

_NAME = "_patchkit_claim"
"""Where it is kept at the object, so that two copies of this module would see each other's."""


class Claim:
    """Says whose states hold for an object of torch_memory_saver."""

    def __init__(self, saver: Any, guard: object, site: str) -> None:
        """Raises GuardUseError when another guard of this process has the object."""
        self._guard = weakref.ref(guard)
        self._asleep: object = None
        self.site = site
        self.process = os.getpid()
        earlier = vars(saver).get(_NAME) if hasattr(saver, "__dict__") else None
        if earlier is not None and earlier.alive():
            raise GuardUseError(
                f"OffloadGuard() at {site}: torch_memory_saver has a guard already, made at {earlier.site}, and"
                " a second one would not know what the first one paused",
                hint="pass that guard on; one that nobody refers to, with nothing paused, makes room for another one",
            )
        if hasattr(saver, "__dict__"):
            setattr(saver, _NAME, self)

    @property
    def here(self) -> bool:
        """Whether this is the process that the guard was made in."""
        return self.process == os.getpid()

    def alive(self) -> bool:
        """Whether the guard could still be used in this process."""
        if not self.here:
            return False
        if self._guard() is not None:
            gc.collect()  # A restorer often refers to what refers to the guard.
        return self._guard() is not None

    def keep(self, *, asleep: bool) -> None:
        """Keep the guard in existence while memory is not as it should be: nobody else knows what has to be done."""
        self._asleep = self._guard() if asleep else None

    def check_process(self, call: str, here: str) -> None:
        """Raise GuardUseError in a process that was forked off: it has the states of its parent, and no memory."""
        if not self.here:
            raise GuardUseError(
                f"{call} at {here}: this guard was made in process {self.process}, at {self.site}; this is process"
                f" {os.getpid()}, which was forked off and has no device memory of its parent",
                hint="start workers with spawn or forkserver, or make the guard in the process that allocates",
            )
