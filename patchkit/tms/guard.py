"""A guard around torch_memory_saver: wrong orders are exceptions that name both calls, not a process that is gone.

torch_memory_saver pauses and resumes what it is told to, and ends the process when that does not fit. It does not know
who still reads memory without backup, or that a checkpoint is being written. The guard does: see docs/guard.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from patchkit.errors import DirtyGradientsError
from patchkit.tms.capabilities import retain_backups as keep_backups
from patchkit.tms.growth import Counted
from patchkit.tms.regions import Regions
from patchkit.tms.rules import already, no_restorer, unreadable
from patchkit.tms.sections import Hold, Sections
from patchkit.tms.states import GRADIENTS, State, Tag, call_site
from patchkit.tms.tags import poison, zero


class OffloadGuard(Regions, Sections):
    """Pause and resume by tag, with a state for each.

    ``saver`` is the object of the package, imported when it is not given. ``poison`` fills the buffers of memory
    without backup with NaN after each resume, so that whoever reads them before they are restored is found out.
    ``strict`` makes a second pause or resume of a tag by its name, which changes nothing otherwise, an OrderError.
    ``tracked`` counts tracked memory (see `growth.Counted`); by default it is torch's snapshot by memory pool, where
    the build has a pool for each tag. ``free_while_paused`` says what the build survives when its symbols do not.
    ``retain_backups`` keeps the host copies over a resume: from the second pause on nothing is pinned, which is nearly
    all of a pause, and the host has their bytes while training too.

    The tag ``default`` is known from the start, with the backup that the process was started with. Calls from several
    threads wait for each other.
    """

    def __init__(
        self,
        saver: Any = None,
        *,
        poison: bool = False,
        strict: bool = False,
        tracked: Callable[[], Counted] | None = None,
        free_while_paused: bool | None = None,
        retain_backups: bool = False,
    ) -> None:
        super().__init__(saver, tracked=tracked)
        self._plain = {name: getattr(self.saver, name, None) for name in ("pause", "resume", "region", "disable")}
        self._free_while_paused = free_while_paused
        self._poison = poison
        self._strict = strict
        self._retain = retain_backups
        self._holds: list[Hold] = []

    def pause(self, tag: str | None = None, *, discard_gradients: bool = False) -> tuple[str, ...]:
        """Pause ``tag``, or everything that is not paused yet, and return the tags that this changed.

        Everything is checked before the first byte is given up. Raises HeldError while a section needs it,
        MissingRestorerError, DirtyGradientsError unless ``discard_gradients``, TrackedGrowthError; CapabilityError when
        backups shall be retained and cannot.
        """
        with self._lock:
            here = call_site()
            _ = self.capabilities
            self._discover("pause()", here)
            self._check_growth("pause()", here)
            todo = self._chosen("pause()", tag, here, {State.ACTIVE, State.UNRESTORED})
            for each in todo:
                self._check_pause(each, here, discard_gradients=discard_gradients)
            if self._retain and todo:
                keep_backups(self.saver)
            for each in todo:
                self._plain["pause"](each.name)
                each.state, each.site, each.tracked = State.PAUSED, here, None
                each.epoch += 1
                if each.name == GRADIENTS and not each.backup:
                    self._dirty = None
            self._check_growth("pause()", here)
            return tuple(each.name for each in todo)

    def resume(self, tag: str | None = None, *, restore: bool = True) -> tuple[str, ...]:
        """Resume ``tag``, or exactly what is paused, and return the tags that this changed.

        What has no backup is then poisoned, if wanted, and restored, unless ``restore`` is False: then `restore` or
        `mark_restored` has to follow before it can be read. An exception of a restorer leaves its tag, and those after
        it, unrestored. Raises TrackedGrowthError, and HeldError while somebody reads a backup in place.
        """
        with self._lock:
            here = call_site()
            self._check_growth("resume()", here)
            todo = self._chosen("resume()", tag, here, {State.PAUSED})
            for each in todo:
                self.views.check(each.name, here)
            for each in todo:
                self._plain["resume"](each.name)
                each.state, each.site = State.ACTIVE if each.backup else State.UNRESTORED, here
            if self._poison:
                poison(each for each in todo if each.state is State.UNRESTORED)
            if restore:
                self._restore([each for each in todo if each.state is State.UNRESTORED], here)
            return tuple(each.name for each in todo)

    def restore(self, tag: str | None = None) -> tuple[str, ...]:
        """Run the restorers of what was resumed and not restored, in the order of declaration; return those tags."""
        with self._lock:
            here = call_site()
            todo = self._chosen("restore()", tag, here, {State.UNRESTORED})
            self._restore(todo, here)
            return tuple(each.name for each in todo)

    def mark_restored(self, tag: str) -> None:
        """Say that the contents of ``tag`` were written by other means. Raises PausedError while it is paused."""
        with self._lock:
            here = call_site()
            each = self._known(tag, "mark_restored()", here)
            if each.state is State.PAUSED:
                raise unreadable("mark_restored()", each, here)
            each.state, each.site = State.ACTIVE, here

    def install(self) -> None:
        """Let everybody who calls pause, resume, region or disable of the package's object go through the guard."""
        for name, plain in self._plain.items():
            if plain is not None:
                setattr(self.saver, name, getattr(self, name))

    def uninstall(self) -> None:
        """Undo `install`."""
        for name in self._plain:
            vars(self.saver).pop(name, None)

    def _chosen(self, call: str, name: str | None, here: str, states: set[State]) -> list[Tag]:
        """Return the tags that a call is about and that are in one of ``states``."""
        if name is None:
            return [tag for tag in self._tags.values() if tag.state in states]
        tag = self._known(name, call, here)
        if tag.state in states:
            return [tag]
        if self._strict:
            raise already(call, tag, here)
        return []

    def _check_pause(self, tag: Tag, here: str, *, discard_gradients: bool) -> None:
        self._check_held(tag.name, here)
        if not tag.restorable:
            raise no_restorer("pause()", tag, here)
        dirty = self._gradients_dirty(tag.name)
        if dirty and not tag.backup and not discard_gradients:
            raise DirtyGradientsError(
                "pause()",
                tag=tag.name,
                rule="gradients of an open step would be lost",
                here=here,
                earlier=dirty,
                hint="step first, or pass discard_gradients=True",
            )

    def _restore(self, tags: Iterable[Tag], here: str) -> None:
        # Whoever restores may not pause: what was written would be lost again.
        with self.hold("restoring"):
            for each in tags:
                if not each.restorable:
                    raise no_restorer("restore()", each, here)
                if each.restore is not None:
                    each.restore()
                else:
                    zero(each)
                each.state, each.site = State.ACTIVE, here
