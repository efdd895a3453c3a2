"""What the guard knows of a tag, and where in the program a call stands."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

GRADIENTS = "grad_buffer"
"""The one tag whose contents may be replaced by zeros; every other one without backup needs a restorer."""

RESTORER = "a restorer"
"""What restores a tag whose own function writes its contents, in words."""

_OWN = f"{Path(__file__).parent}{os.sep}"


class State(Enum):
    """What can be done with the memory of a tag."""

    ACTIVE = "active"
    PAUSED = "paused"
    """Nothing is mapped; a touch is an illegal access."""
    UNRESTORED = "resumed, not restored"
    """Mapped, but without the contents that it had: it can be written, not read."""


@dataclass(slots=True)
class Tag:
    """The memory under one name. Changed by the guard only."""

    name: str
    backup: bool
    """Whether torch_memory_saver keeps the contents, on the host or on disk."""
    restore: Callable[[], object] | None = None
    """Writes the contents again after a resume."""
    buffers: Callable[[], Iterable[Any]] | None = None
    """The tensors in it, asked for anew each time."""
    zero: bool = False
    """Whether zeros in the buffers restore it."""
    later: bool = False
    """Whether its contents come later, with an update, so that a resume leaves it unrestored."""
    writes: str | None = None
    """What its restorer writes, by a name of the framework, such as ``actor``."""
    contents: str | None = None
    """What is in it, by such a name; None is not known."""
    state: State = State.ACTIVE
    epoch: int = 0
    """Counts pauses: what was known of the contents before another epoch does not hold any more."""
    site: str = ""
    """Where its state was changed last."""
    tracked: tuple[int, ...] | None = field(default=None, repr=False)
    """The least that was counted since it was paused."""
    copied: Mapping[int, int] = field(default_factory=dict, repr=False)
    """The segments (size by address) that its last pause copied to the host, where that is looked at."""
    retained: Mapping[int, int] = field(default_factory=dict, repr=False)
    """Those of them whose copies its last resume left on the host."""

    @property
    def restorable(self) -> bool:
        """Whether its contents are there again after a resume and a restore."""
        return self.backup or self.later or self.restore is not None or (self.zero and self.buffers is not None)

    @property
    def words(self) -> tuple[str, ...]:
        """What another rank would have to say of it too."""
        zeroed = self.zero and self.buffers is not None
        writer = "an update writes it" if self.later else "zeroed" if zeroed else "nobody restores it"
        return (
            self.state.value,
            "backup" if self.backup else "no backup",
            f"paused {self.epoch} times",
            f"contents {self.contents}",
            RESTORER if self.restore is not None else writer,
        )


def call_site() -> str:
    """Return file:line of the innermost caller outside this package (and outside contextlib)."""
    frame = sys._getframe(1)  # noqa: SLF001 - the only way without building a whole traceback
    while frame.f_back is not None and _is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _is_own(filename: str) -> bool:
    return filename.startswith(_OWN) or Path(filename).name == "contextlib.py"
