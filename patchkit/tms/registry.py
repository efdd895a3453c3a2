"""The tags that a guard knows, and whether they can be used."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from patchkit.errors import CapabilityError, OrderError
from patchkit.tms import imports
from patchkit.tms.capabilities import Capabilities, capabilities_of, check_environment
from patchkit.tms.growth import Counted, Growth, count_pools
from patchkit.tms.placement import Backup, initial_placement
from patchkit.tms.rules import unknown, unreadable, without_backup
from patchkit.tms.states import GRADIENTS, State, Tag, call_site
from patchkit.tms.tags import entered_without_backup, undeclared
from patchkit.tms.views import Views


class Registry:
    """Tags by name, in the order of declaration. The part of OffloadGuard that neither pauses nor allocates."""

    def __init__(self, saver: Any = None, *, tracked: Callable[[], Counted] | None = None) -> None:
        self.saver = imports.saver() if saver is None else saver
        initial = initial_placement(os.environ)
        backup = initial is None or initial.backup is not Backup.NONE
        self._tags: dict[str, Tag] = {"default": Tag("default", backup)}
        self._growth = Growth(tracked or (lambda: count_pools(self.saver)))
        self._capabilities: Capabilities | None = None
        self._lock = threading.RLock()
        self.views = Views()

    def add_tag(
        self,
        name: str,
        *,
        backup: bool,
        restore: Callable[[], object] | None = None,
        buffers: Callable[[], Iterable[Any]] | None = None,
    ) -> None:
        """Declare a tag, in the order in which restorers shall run.

        Without backup, ``restore`` writes the contents again after each resume; for the tag ``grad_buffer`` the tensors
        that ``buffers`` returns are zeroed instead. ``buffers`` also serves to poison. A tag can be declared again
        while it is active. Raises OrderError while it is not.
        """
        with self._lock:
            here = call_site()
            known = self._tags.get(name)
            if known is not None and known.state is not State.ACTIVE:
                rule = f"it is {known.state.value}"
                raise OrderError("add_tag()", tag=name, rule=rule, here=here, earlier=known.site)
            tag = Tag(name, backup, restore, buffers, zero=name == GRADIENTS and restore is None)
            tag.epoch = known.epoch if known else 0
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

    def check_readable(self, *tags: str, call: str = "check_readable()") -> None:
        """Raise PausedError or UnrestoredError unless all of ``tags`` (none: every known one) hold their contents."""
        with self._lock:
            here = call_site()
            for name in tags or tuple(self._tags):
                each = self._known(name, call, here)
                if each.state is not State.ACTIVE:
                    raise unreadable(call, each, here)

    def check_growth(self) -> None:
        """Raise TrackedGrowthError when memory was allocated under a paused tag; also done by most other calls.

        Call it after freeing while asleep: what is allocated after a free that nobody counted may replace it unnoticed.
        """
        with self._lock:
            self._check_growth("check_growth()", call_site())

    def named_parameters(self, module: Any, *, tags: Iterable[str] = ()) -> Iterator[tuple[str, Any]]:
        """Yield parameters of ``module``, checking before each that ``tags`` (none: all but gradients) are there."""
        names = tuple(tags) or self._kept()
        for name, parameter in module.named_parameters():
            self.check_readable(*names, call="named_parameters()")
            yield name, parameter

    def _kept(self) -> tuple[str, ...]:
        """What a checkpoint cannot do without."""
        return tuple(name for name, tag in self._tags.items() if name != GRADIENTS)

    def _known(self, name: str, call: str, here: str) -> Tag:
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
