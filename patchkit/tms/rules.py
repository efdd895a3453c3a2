"""The rules of the guard as exceptions: what was asked, what holds, and what to do."""

from __future__ import annotations

from collections.abc import Iterable

from patchkit.errors import MissingRestorerError, OrderError, PausedError, UnrestoredError
from patchkit.tms.states import GRADIENTS, State, Tag


def unknown(call: str, name: str, known: Iterable[str], here: str) -> OrderError:
    """A tag that nobody declared: a slip of the pen would pause nothing."""
    rule = f"nobody declared it, known are {', '.join(known)}"
    return OrderError(call, tag=name, rule=rule, here=here, hint=f"add_tag({name!r}, ...) first")


def already(call: str, tag: Tag, here: str) -> OrderError:
    """The state is what was asked for."""
    return OrderError(call, tag=tag.name, rule=f"it is {tag.state.value} already", here=here, earlier=tag.site)


def unreadable(call: str, tag: Tag, here: str) -> OrderError:
    """The contents of a tag are asked for and not there."""
    if tag.state is State.PAUSED:
        rule = "it is paused; touching it is an illegal access"
        return PausedError(call, tag=tag.name, rule=rule, here=here, earlier=tag.site, hint="resume() first")
    rule = "it was resumed without its contents, and nobody restored them"
    return UnrestoredError(call, tag=tag.name, rule=rule, here=here, earlier=tag.site, hint="restore() first")


def no_restorer(call: str, tag: Tag, here: str) -> MissingRestorerError:
    """A tag without backup would be paused, or restored, and there is no way to."""
    needed = "buffers to zero, or a restorer" if tag.name == GRADIENTS else "a restorer"
    return MissingRestorerError(
        call,
        tag=tag.name,
        rule=f"it has no backup, so a pause loses its contents; it needs {needed}",
        here=here,
        hint=f"add_tag({tag.name!r}, backup=False, ...) with {needed}, before the first pause",
    )


def without_backup(call: str, tag: Tag, here: str) -> OrderError:
    """A region gives up the backup that a tag was declared with."""
    return OrderError(
        call,
        tag=tag.name,
        rule="it counts as backed up, and a region of it has no backup: a pause would lose what is in there unnoticed",
        here=here,
        hint=f"add_tag({tag.name!r}, backup=False, restore=...), or enable_cpu_backup=True in the region",
    )
