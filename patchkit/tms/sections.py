"""Parts of a program that need memory to stay: while one is open, nothing that it needs can be paused."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from patchkit.errors import GuardUseError, HeldError
from patchkit.tms.registry import Registry
from patchkit.tms.rules import check_contents, check_names
from patchkit.tms.states import GRADIENTS, call_site


@dataclass(eq=False, slots=True)
class Hold:
    """A reason not to pause."""

    what: str
    """In words, such as ``process groups``."""
    tags: frozenset[str] | None
    """What it keeps from being paused; None is everything."""
    site: str
    """Where it was taken."""
    thread: int | None = None
    """The one thread that it does not bind."""


class Sections(Registry):
    """The part of OffloadGuard that says who needs what."""

    _holds: list[Hold]
    _dirty: str | None = None
    """Where gradients were made dirty."""

    def take_hold(self, what: str, *, tags: Iterable[str] | None = None) -> Hold:
        """Keep ``tags`` (None: everything) from being paused until `release`.

        For whatever holds addresses over a pause: process groups of NCCL, handles that were sent to other processes, a
        parameter gather that is under way in the gradient buffer.
        """
        with self.entered("take_hold()") as here:
            check_names("take_hold()", "tags", tags, here)
            names = None if tags is None else frozenset(tags)
            for name in names or ():
                self._known(name, "take_hold()", here)
            hold = Hold(what, names, here)
            self._holds.append(hold)
        return hold

    def release(self, hold: Hold) -> None:
        """Give a hold back; a second time changes nothing, nor does it in a process that was forked off.

        Raises GuardUseError for anything but a hold: the one that was meant would stay, and nothing could be paused.
        """
        if not isinstance(hold, Hold):
            raise GuardUseError(
                f"release() at {call_site()}: an object of {type(hold).__name__} is no hold",
                hint="pass what take_hold() returned; hold() is for a with statement, which releases",
            )
        # There, a thread of the parent may have had the lock.
        if self._claim.here:
            with self._lock:
                if hold in self._holds:
                    self._holds.remove(hold)

    @contextmanager
    def hold(self, what: str, *, tags: Iterable[str] | None = None) -> Iterator[Hold]:
        """`take_hold` for the time of a with statement."""
        taken = self.take_hold(what, tags=tags)
        try:
            yield taken
        finally:
            self.release(taken)

    @contextmanager
    def section(
        self, what: str, *, reads: Iterable[str] | None = None, contents: Mapping[str, str] | None = None
    ) -> Iterator[None]:
        """Declare that ``reads`` (None: everything but gradients) are read until the end of the with statement.

        ``contents`` says by tag what has to be in there, such as ``{"param_buffer": "actor"}``. Raises PausedError,
        UnrestoredError or ContentsError at its start when they do not hold that, and TrackedGrowthError at both ends
        when memory was allocated under a paused tag.
        """
        call = f"{what}()"
        # In one piece: another thread may not pause between the check and the hold.
        with self.entered(call) as here:
            check_names(call, "reads", reads, here)
            check_contents(call, contents, here)
            names = tuple(dict.fromkeys([*(self._kept() if reads is None else reads), *(contents or ())]))
            self._check_growth(call, here)
            if names:
                self.check_readable(*names, call=call)
            self._check_contents(contents or {}, call, here)
            taken = self.take_hold(what, tags=names)
        try:
            yield
        finally:
            self.release(taken)
        with self.entered(f"the end of {call}"):
            self._check_growth(f"the end of {call}", here)

    @contextmanager
    def save(self, *, reads: Iterable[str] | None = None, contents: Mapping[str, str] | None = None) -> Iterator[None]:
        """Declare that a checkpoint is written; see `section`."""
        with self.section("save", reads=reads, contents=contents):
            yield

    @contextmanager
    def export(
        self, *, reads: Iterable[str] | None = None, contents: Mapping[str, str] | None = None
    ) -> Iterator[None]:
        """Declare that weights are exported; see `section`."""
        with self.section("export", reads=reads, contents=contents):
            yield

    @contextmanager
    def update(
        self, *, reads: Iterable[str] | None = None, contents: Mapping[str, str] | None = None
    ) -> Iterator[None]:
        """Declare that weights are sent to an inference engine; see `section`.

        With ``reads=()`` for weights that come from a copy on the host while everything is paused.
        """
        with self.section("update", reads=reads, contents=contents):
            yield

    @contextmanager
    def step(self, *, contents: Mapping[str, str] | None = None) -> Iterator[None]:
        """Declare one optimizer step with its backward passes: it needs everything, and leaves clean gradients.

        An exception leaves them dirty. ``contents`` is as in `section`: what is trained has to be in there.
        """
        with self.section("step", reads=tuple(self._tags), contents=contents):
            self.mark_gradients_dirty()
            try:
                yield
            except BaseException:
                self.mark_gradients_dirty()  # A step inside of this one may have said otherwise.
                raise
            self.mark_gradients_clean()

    def mark_gradients_dirty(self) -> None:
        """Say that gradients are accumulated which no step has used yet."""
        self._dirty = call_site()

    def mark_gradients_clean(self) -> None:
        """Say that the gradients were used, or zeroed, or are not wanted."""
        self._dirty = None

    def _check_held(self, tag: str, here: str) -> None:
        for held in self._holds:
            if held.thread != threading.get_ident() and (held.tags is None or tag in held.tags):
                rule = f"it is needed until the end of: {held.what}"
                raise HeldError("pause()", tag=tag, rule=rule, here=here, earlier=held.site)

    def _gradients_dirty(self, tag: str) -> str | None:
        return self._dirty if tag == GRADIENTS else None
