"""Tracked memory may not grow while it is paused: a resume meets what was never paused, and ends the process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from patchkit.errors import TrackedGrowthError
from patchkit.tms.placement import placements_of
from patchkit.tms.states import State, Tag

Counted = Mapping[str | None, tuple[int, ...]]
"""Bytes by tag that may not grow while the tag is paused, one or more figures; under None, of all tags together."""


def count_pools(saver: Any) -> Counted:
    """Return what torch holds, and what of it is in use, by tag; nothing where the build has one pool for all tags."""
    found = placements_of(saver)
    return {} if found is None else found.bytes_by_tag()


class Growth:
    """Compares what is tracked now with the least that was tracked since each tag was paused."""

    def __init__(self, count: Callable[[], Counted]) -> None:
        self._count = count

    def check(self, tags: Collection[Tag], call: str, here: str) -> None:
        """Raise TrackedGrowthError when memory of a paused tag was allocated."""
        for tag, now in self._now(tags):
            least = now if tag.tracked is None else tag.tracked
            grown = max(new - old for new, old in zip(now, least, strict=True))
            if grown > 0:
                raise TrackedGrowthError(
                    call,
                    tag=tag.name,
                    rule=f"{grown} bytes were allocated under it while it was paused; a resume would end the process",
                    here=here,
                    earlier=tag.site,
                    hint="allocate in disable() while asleep; free these and empty the cache before the resume",
                )
            tag.tracked = tuple(map(min, now, least))

    def begin(self, tags: Collection[Tag]) -> None:
        """Count for those of ``tags`` that were paused just now, and judge nothing."""
        for tag, now in self._now(tags):
            if tag.tracked is None:
                tag.tracked = now

    def _now(self, tags: Collection[Tag]) -> list[tuple[Tag, tuple[int, ...]]]:
        """Return what is tracked now under each paused tag, as far as the count can tell."""
        paused = [tag for tag in tags if tag.state is State.PAUSED]
        counted = self._count() if paused else {}
        together = counted.get(None) if len(paused) == len(tags) else None
        found = []
        for tag in paused:
            # A tag that the count does not have holds nothing, if the count tells tags apart.
            now = counted.get(tag.name, together)
            if now is None and counted and None not in counted:
                now = (0,) * len(next(iter(counted.values())))
            if now is not None:
                found.append((tag, now))
        return found
