"""A patch of a series carried to a target, as values: its files with what is left to be decided in them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import msgspec

from patchkit.core.carry import Conflict
from patchkit.core.carry_report import AlarmReport
from patchkit.core.rebasing.lineage import Lineage, Run, Traced
from patchkit.core.rebasing.memory import Seen
from patchkit.core.rebasing.rebased import HunkRebase
from patchkit.core.rebasing.spots import Spot
from patchkit.core.upstream import Target
from patchkit.operations.layers import Layer


class Met(msgspec.Struct, frozen=True, dict=True):
    """A conflict that is left."""

    spot: Spot
    ids: tuple[str, ...]
    """Hunks in conflict."""
    look: Callable[[], Seen | None]
    """Finds out ``seen``, for which the files are read around the conflict: of a history nobody asks."""
    offers: tuple[str, ...] = ()
    """Keys of resolutions of the same conflict in other surroundings."""

    @cached_property
    def seen(self) -> Seen | None:
        """As it would be remembered; None when it cannot be."""
        return self.look()


class Texts(msgspec.Struct, frozen=True):
    """What is known of one file; None where there is no such file."""

    path: str
    base: bytes | None
    """With the patches below the one that is carried."""
    changed: bytes | None
    """With that patch too."""
    before: bytes | None
    """The target's, with the patches below."""
    runs: tuple[Run, ...]
    """What the patch changes from base to changed, with ids."""


class CarriedFile(msgspec.Struct, frozen=True):
    """One file of the patch on the target."""

    texts: Texts
    parts: tuple[bytes | Conflict, ...] | None
    """What it becomes, cut at the conflicts; None when the file is removed, or is not there."""
    traced: tuple[Traced, ...]
    met: tuple[Met, ...]
    hunks: tuple[HunkRebase, ...]
    alarms: tuple[AlarmReport, ...]
    """What the gates found outside of the hunks."""
    elsewhere: frozenset[str] = frozenset()
    """Ids of hunks that have no place in this file since what they change is in another one: a person's to decide."""

    obstructed: bool = False
    """Whether something stands in the way of the file, so that no variant that makes it can fit."""

    @property
    def path(self) -> str:
        """Path of the file."""
        return self.texts.path

    def lineage(self) -> Lineage:
        """Return the patch's hunks on its base."""
        return Lineage(self.texts.base or b"", self.texts.changed or b"", self.texts.runs)

    def after(self) -> bytes | None:
        """Return the text with the target's side of every conflict; None for no file."""
        if self.parts is None:
            return None
        return b"".join(part if isinstance(part, bytes) else part.target for part in self.parts)


class CarriedPatch(msgspec.Struct, frozen=True):
    """A whole patch on the target."""

    layer: Layer
    base: Target
    files: tuple[CarriedFile, ...]

    @property
    def hunks(self) -> tuple[HunkRebase, ...]:
        """All hunks, in the order of the variant."""
        return tuple(hunk for file in self.files for hunk in file.hunks)

    @property
    def in_conflict(self) -> bool:
        """Whether a person has to decide something."""
        return any(file.met or file.elsewhere for file in self.files)
