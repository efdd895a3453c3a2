"""Our side of every operation: the series and what follows from it."""

from __future__ import annotations

import msgspec

from patchkit.core.series import LockDocument
from patchkit.store.series import Series


class Sources(msgspec.Struct, frozen=True, eq=False):
    """A series and its lock. Equal to itself alone, so that results can be kept by it."""

    series: Series
    lock: LockDocument
