"""The tags that a guard knows, and whether they can be used."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from patchkit.errors import CapabilityError, GuardUseError, OrderError
from patchkit.tms import imports
from patchkit.tms.capabilities import Capabilities, capabilities_of, check_environment
from patchkit.tms.claims import Claim
from patchkit.tms.growth import Counted, Growth, count_pools
from patchkit.tms.placement import Backup, initial_placement
from patchkit.tms.rules import (
    check_function,
    check_name,
    check_names,
    check_switch,
    other_contents,
    two_writers,
    unknown,
    unreadable,
    without_backup,
)
from patchkit.tms.states import GRADIENTS, State, Tag, call_site
from patchkit.tms.tags import entered_without_backup, undeclared
from patchkit.tms.views import Views


class Registry:
    """Tags by name, in the order of declaration. The part of OffloadGuard that neither pauses nor allocates."""

    def __init__(self, saver: Any = None, *, tracked: Callable[[], Counted] | None = None) -> None:
        self.saver = imports.saver() if saver is None else saver
        if not all(callable(getattr(self.saver, name, None)) for name in ("pause", "resume", "region")):
            raise GuardUseError(
                f"OffloadGuard() at {call_site()}: an object of {type(self.saver).__name__} has no pause, resume and"
                " region",
                hint="from torch_memory_saver import torch_memory_saver, or leave it out",
            )
        initial = initial_placement(os.environ)
        backup = initial is None or initial.backup is not Backup.NONE
        self._tags: dict[str, Tag] = {"default": Tag("default", backup)}
        self._growth = Growth(tracked or (lambda: count_pools(self.saver)))
        self._capabilities: Capabilities | None = None
        self._lock = threading.RLock()
        self._claim = Claim(self.saver, self, call_site())
        self.views = Views()

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy would have states of its own for the same memory."""
        raise GuardUseError(
            f"the guard made at {self._claim.site} cannot be pickled or copied: it belongs to the memory of process"
            f" {self._claim.process}",
            hint="make one in each process, and leave it out of what is sent (__getstate__)",
        )

    def add_tag(
        self,
        name: str,
        *,
        backup: bool,
        restore: Callable[[], object] | None = None,
        buffers: Callable[[], Iterable[Any]] | None = None,
        contents: str | None = None,
        later: bool = False,
    ) -> None:
        """Declare a tag, in the order in which restorers shall run.

        Without backup, ``restore`` writes the contents again after each resume, and ``contents`` is what it writes, by
        a name such as ``actor``; for the tag ``grad_buffer`` the tensors that ``buffers`` returns are zeroed instead.
        With ``later`` nobody restores, because an update writes it: a resume leaves it unrestored until
        `mark_restored`. ``buffers`` also serves to poison. A tag can be declared again while it is active. Raises
        OrderError while it is not, for a name that torch_memory_saver would take for another one, for ``later`` with a
        restorer, which would never run, and for what is no function.
        """
        with self.entered("add_tag()") as here:
            check_name("add_tag()", name, here)
            check_switch("add_tag()", name, backup, here)
            check_function("add_tag()", name, "restore is called after each resume", restore, here)
            check_function("add_tag()", name, "buffers is called for the tensors of the tag", buffers, here)
            if later and restore is not None:
                raise two_writers("add_tag()", name, here)
            known = self._tags.get(name)
            if known is not None and known.state is not State.ACTIVE:
                rule = f"it is {known.state.value}"
                raise OrderError("add_tag()", tag=name, rule=rule, here=here, earlier=known.site)
            zero = name == GRADIENTS and restore is None and not later
            tag = Tag(name, backup, restore, buffers, zero=zero, later=later, writes=contents)
            tag.epoch, tag.contents = (known.epoch, known.contents) if known else (0, None)
            tag.site = here
            self._tags[name] = tag

    @property
    def capabilities(self) -> Capabilities:
        """What this build can do; found out at the first use. Raises CapabilityError."""
        if self._capabilities is None:
            found = capabilities_of(self.saver)
            check_environment(found, os.environ)
            self._capabilities = found
        return self._capabilities

    @property
    def states(self) -> Mapping[str, State]:
        """The state of each known tag, in the order of declaration."""
        return {name: tag.state for name, tag in self._tags.items()}

    @property
    def asleep(self) -> bool:
        """Whether anything is paused."""
        return State.PAUSED in self.states.values()

    def has_backup(self, tag: str) -> bool:
        """Tell whether ``tag`` was declared with a backup."""
        return self._known(tag, "has_backup()", call_site()).backup

    def epoch(self, tag: str) -> int:
        """Return how many times ``tag`` was paused: whoever remembers what is in it has to remember this too."""
        return self._known(tag, "epoch()", call_site()).epoch

    def contents(self, tag: str) -> str | None:
        """Return what is in ``tag``, as its restorer or `mark_restored` said it; None when nobody did since a pause."""
        return self._known(tag, "contents()", call_site()).contents

    def describe(self) -> dict[str, tuple[str, ...]]:
        """Return by tag its state, backup, number of pauses, contents and restorer, in words, to be compared."""
        with self.entered("describe()"):
            return {name: tag.words for name, tag in self._tags.items()}

    def check_readable(self, *tags: str, call: str = "check_readable()") -> None:
        """Raise PausedError or UnrestoredError unless all of ``tags`` (none: every known one) hold their contents."""
        with self.entered(call) as here:
            for name in tags or tuple(self._tags):
                each = self._known(name, call, here)
                if each.state is not State.ACTIVE:
                    raise unreadable(call, each, here)

    def _check_contents(self, wanted: Mapping[str, str], call: str, here: str) -> None:
        for name, what in wanted.items():
            each = self._known(name, call, here)
            if each.contents != what:
                raise other_contents(call, each, what, here)

    def check_growth(self) -> None:
        """Raise TrackedGrowthError when memory was allocated under a paused tag; also done by most other calls.

        Call it after freeing while asleep: what is allocated after a free that nobody counted may replace it unnoticed.
        """
        with self.entered("check_growth()") as here:
            self._check_growth("check_growth()", here)

    def named_parameters(self, module: Any, *, tags: Iterable[str] = ()) -> Iterator[tuple[str, Any]]:
        """Yield parameters of ``module``, checking before each that ``tags`` (none: all but gradients) are there."""
        check_names("named_parameters()", "tags", tags, call_site())
        names = tuple(tags) or self._kept()
        for name, parameter in module.named_parameters():
            self.check_readable(*names, call="named_parameters()")
            yield name, parameter

    @contextmanager
    def entered(self, call: str) -> Iterator[str]:
        """Have the states for oneself; yields the place of the call. Raises GuardUseError in a forked process.

        For parts of this package that ask and act in one piece.
        """
        here = call_site()
        # Before the lock, which another thread of the parent may have had.
        self._claim.check_process(call, here)
        with self._lock:
            yield here

    def _kept(self) -> tuple[str, ...]:
        """What a checkpoint cannot do without."""
        return tuple(name for name, tag in self._tags.items() if name != GRADIENTS)

    def _known(self, name: str, call: str, here: str) -> Tag:
        check_name(call, name, here)
        if name not in self._tags:
            raise unknown(call, name, self._tags, here)
        return self._tags[name]

    def _discover(self, call: str, here: str) -> None:
        """Take up the tags of regions that were entered without the guard, and compare the others."""
        for name, backup in undeclared(self.saver, self._tags).items():
            self._tags[name] = Tag(name, backup, site=here)
        for name, tag in self._tags.items():
            if tag.backup and entered_without_backup(self.saver, name):
                raise without_backup(call, tag, here)

    def _check_growth(self, call: str, here: str) -> None:
        self._growth.check(self._tags.values(), call, here)

    def _need(self, what: str, call: str, here: str, *, there: bool) -> None:
        if not there:
            raise CapabilityError(
                f"{call} at {here}: this torch_memory_saver has no {what}",
                hint="install torch_memory_saver 0.0.10 or later",
            )
