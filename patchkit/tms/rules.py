"""The rules of the guard as exceptions: what was asked, what holds, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from patchkit.errors import ContentsError, MissingRestorerError, OrderError, PausedError, UnrestoredError
from patchkit.tms.states import GRADIENTS, State, Tag


def unknown(call: str, name: str, known: Iterable[str], here: str) -> OrderError:
    """A tag that nobody declared: a slip of the pen would pause nothing."""
    rule = f"nobody declared it, known are {', '.join(known)}"
    return OrderError(call, tag=name, rule=rule, here=here, hint=f"add_tag({name!r}, ...) first")


def check_name(call: str, name: object, here: str) -> None:
    """Raise OrderError for what torch_memory_saver would take for another tag: "" is every tag, and NUL an end."""
    if not isinstance(name, str) or not name or not name.isprintable():
        rule = "the name of a tag is a text that is not empty and can be printed"
        raise OrderError(call, tag=repr(name), rule=rule, here=here)


def check_function(call: str, name: str, purpose: str, given: object, here: str) -> None:
    """Raise OrderError for what is no function: it would be found out when the memory of the tag is gone."""
    if given is not None and not callable(given):
        rule = f"{purpose}, and an object of {type(given).__name__} cannot be called"
        raise OrderError(call, tag=name, rule=rule, here=here, hint="pass a function, such as a lambda")


def check_switch(call: str, name: str, backup: object, here: str) -> None:
    """Raise OrderError for a text: the word no would count as a backup."""
    if isinstance(backup, (str, bytes)):
        raise OrderError(call, tag=name, rule=f"backup is True or False, not {backup!r}", here=here)


def check_names(call: str, what: str, names: Iterable[str] | None, here: str) -> None:
    """Raise OrderError for one text in the place of a list: its letters would be taken for tags."""
    if isinstance(names, str):
        rule = f"{what} is a list of tags, and this is one text"
        raise OrderError(call, tag=repr(names), rule=rule, here=here, hint=f"[{names!r}]")


def check_contents(call: str, contents: object, here: str) -> None:
    """Raise OrderError unless contents are said by tag."""
    if contents is not None and not isinstance(contents, Mapping):
        rule = "contents says by tag what has to be in there, such as {'param_buffer': 'actor'}"
        raise OrderError(call, tag=repr(contents), rule=rule, here=here)


def check_tensors(tag: Tag, found: object, here: str) -> None:
    """Raise OrderError when what ``tag.buffers`` returned is no list.

    A tensor can be iterated over, too: it would be zeroed number by number.
    """
    if isinstance(found, (str, Mapping)) or hasattr(found, "zero_") or not isinstance(found, Iterable):
        rule = f"it returned an object of {type(found).__name__}, not a list of tensors"
        raise OrderError("buffers()", tag=tag.name, rule=rule, here=here, earlier=tag.site)


def two_writers(call: str, name: str, here: str) -> OrderError:
    """A tag is declared with a restorer that nobody would call."""
    rule = "an update writes it (later=True), so that its restorer would never run"
    return OrderError(call, tag=name, rule=rule, here=here, hint="leave out one of the two")


def already(call: str, tag: Tag, here: str) -> OrderError:
    """The state is what was asked for."""
    return OrderError(call, tag=tag.name, rule=f"it is {tag.state.value} already", here=here, earlier=tag.site)


def unreadable(call: str, tag: Tag, here: str) -> OrderError:
    """The contents of a tag are asked for and not there."""
    if tag.state is State.PAUSED:
        rule = "it is paused; touching it is an illegal access"
        return PausedError(call, tag=tag.name, rule=rule, here=here, earlier=tag.site, hint="resume() first")
    rule = "it was resumed without its contents, and nobody restored them"
    hint = "mark_restored() after the update that writes them" if tag.later else "restore() first"
    return UnrestoredError(call, tag=tag.name, rule=rule, here=here, earlier=tag.site, hint=hint)


def other_contents(call: str, tag: Tag, wanted: str, here: str) -> ContentsError:
    """The contents of a tag are there, and not those that are asked for."""
    rule = f"it holds {tag.contents or 'nobody said what'}, and {wanted} is asked for"
    hint = f"write {wanted} into it, and mark_restored({tag.name!r}, contents={wanted!r})"
    return ContentsError(call, tag=tag.name, rule=rule, here=here, earlier=tag.site, hint=hint)


def restoring(call: str, tag: Tag, here: str, earlier: str) -> OrderError:
    """A restorer asks for what it is there for."""
    rule = "its restorer is running"
    return OrderError(call, tag=tag.name, rule=rule, here=here, earlier=earlier, hint="write the contents, and return")


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


def forgotten(call: str, tag: Tag, size: int, here: str) -> MissingRestorerError:
    """Buffers of a tag would not be zeroed, because nobody named them."""
    return MissingRestorerError(
        call,
        tag=tag.name,
        rule=f"{size} bytes of it are in none of its buffers, and would not be zeroed after a resume",
        here=here,
        hint="return all tensors from buffers=, those of expert_parallel_buffers and extra_main_grads too",
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
