"""Whether all ranks are in the same state, asked before they do something together.

Ranks that differ (one restores from the host, another one from the device; groups are made in another order) do not
fail: they wait for each other. The question is one all-gather, after which no rank is behind: it is a barrier as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from patchkit.errors import GuardUseError, RanksDisagreeError
from patchkit.tms.guard import OffloadGuard
from patchkit.tms.states import RESTORER, call_site

Gather = Callable[[Any], Sequence[Any]]
"""Takes what this rank says, and returns what each said, in the order of ranks (torch's all_gather_object)."""


def require_same(what: str, value: Any, gather: Gather) -> None:
    """Raise RanksDisagreeError on every rank unless all say the same ``value``, which has to be comparable.

    Such as the names of the process groups in the order in which this rank is about to make them. Raises GuardUseError
    when ``gather`` returns no list of what each rank said.
    """
    call = f"{what} at {call_site()}"
    _compare(call, _gathered(gather, value, call))


def require_same_state(guard: OffloadGuard, gather: Gather) -> None:
    """Raise RanksDisagreeError on every rank unless their tags are in the same state, with the same contents.

    Compared are name, state, backup, number of pauses and contents of each tag, and what restores it: a function,
    zeros, an update, nothing. So is the order in which restorers run, because they may wait for those of other ranks.
    """
    call = f"require_same_state() at {call_site()}"
    said = _gathered(gather, guard.describe(), call)
    _compare(call, said)
    _compare(call, tuple([f"restores {name}" for name, words in tags.items() if RESTORER in words] for tags in said))


def _gathered(gather: Gather, value: Any, call: str) -> tuple[Any, ...]:
    """Return what each rank said. Raises GuardUseError for a gather that does not say it."""
    said: object = gather(value)
    if isinstance(said, (str, bytes)) or not isinstance(said, Sequence) or not said:
        raise GuardUseError(
            f"{call}: gather returned an object of {type(said).__name__}, not a list of what each rank said",
            hint="torch's all_gather_object fills a list and returns nothing: return that list",
        )
    return tuple(said)


def _compare(call: str, values: tuple[Any, ...]) -> None:
    first = values[0]
    others = [rank for rank, said in enumerate(values) if said != first]
    if not others:
        return
    if all(isinstance(said, dict) for said in values):
        keys = dict.fromkeys(key for said in values for key in said)
        different = next(key for key in keys if values[others[0]].get(key) != first.get(key))
        texts = [f"{different}: {said.get(different)}" for said in (first, values[others[0]])]
    else:
        texts = [str(first), str(values[others[0]])]
    more = f" ({len(others)} of {len(values)} ranks differ from rank 0)" if len(others) > 1 else ""
    raise RanksDisagreeError(
        f"{call}: rank 0 says {texts[0]}; rank {others[0]} says {texts[1]}{more}",
        values,
        hint="let every rank take the same branch: what one rank alone pauses, restores or makes, the others wait for",
    )
