"""What the rules share: what is known, and findings at a place of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from patchkit.core.memory_saver import MemorySaver
from patchkit.core.pins.findings import Finding, KnownDefect, Level
from patchkit.core.pins.known import History
from patchkit.core.pins.model import Pin, PinKind
from patchkit.core.pins.reading import Reading
from patchkit.core.upstream import Target, find_target
from patchkit.errors import UsageError


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What pins are held against."""

    saver: MemorySaver
    targets: tuple[Target, ...]
    minimum: str
    """Id of the defect that a torch_memory_saver for the series must not have."""
    history: History
    patches: Mapping[str, Mapping[str, bytes]]
    """For each file that is judged, the patch files that were found, by what the file calls them."""

    def target(self, pin: Pin) -> Target | None:
        """Return the supported target that a pin of Megatron-LM is; None when it is none, or not one thing."""
        if pin.kind not in (PinKind.RELEASE, PinKind.TAG, PinKind.COMMIT):
            return None
        try:
            return find_target(self.targets, pin.value)
        except UsageError:
            return None

    @property
    def newest_saver(self) -> str:
        """The newest recorded release of torch_memory_saver."""
        return self.saver.releases[-1].version

    def newest_megatron(self, *, tagged: bool) -> Target:
        """Return the newest release that was not yanked; with ``tagged`` the newest that has a tag."""
        usable = [each for each in self.targets if each.release and not each.release.yanked]
        return next(each for each in reversed(usable) if each.tag or not tagged)


def finding(
    reading: Reading,
    at: int,
    rule: str,
    level: Level,
    *,
    message: str,
    why: str,
    advice: str,
    defects: Sequence[KnownDefect] = (),
) -> Finding:
    """Return a finding at place ``at`` of a file."""
    return Finding(
        path=reading.path,
        line=reading.line(at),
        rule=rule,
        level=level,
        message=message,
        why=why,
        advice=advice,
        defects=tuple(defects),
    )
