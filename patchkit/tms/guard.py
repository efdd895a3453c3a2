"""A guard around torch_memory_saver: wrong orders are exceptions that name both calls, not a process that is gone.

torch_memory_saver pauses and resumes what it is told to, and ends the process when that does not fit. It does not know
who still reads memory without backup, or that a checkpoint is being written. The guard does: see docs/guard.md.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from patchkit.errors import DirtyGradientsError, GuardUseError
from patchkit.tms.capabilities import retain_backups as keep_backups
from patchkit.tms.capabilities import retains_backups
from patchkit.tms.growth import Counted
from patchkit.tms.host import check_device, check_room
from patchkit.tms.regions import Regions
from patchkit.tms.rules import already, forgotten, no_restorer, restoring, unreadable
from patchkit.tms.sections import Hold
from patchkit.tms.states import GRADIENTS, State, Tag, call_site
from patchkit.tms.tags import forgotten_bytes, poison, undeclared, zero
from patchkit.tms.watching import plain_functions, watch


class OffloadGuard(Regions):
    """Pause and resume by tag, with a state for each.

    ``saver`` is the object of the package, imported when it is not given. ``poison`` fills the buffers of memory
    without backup with NaN after each resume, so that whoever reads them before they are restored is found out.
    ``strict`` makes a second pause or resume of a tag by its name, which changes nothing otherwise, an OrderError.
    ``tracked`` counts tracked memory (see `growth.Counted`); by default it is torch's snapshot by memory pool, where
    the build has a pool for each tag. ``free_while_paused`` says what the build survives when its symbols do not.
    ``retain_backups`` keeps the host copies over a resume: from the second pause on nothing is pinned, which is nearly
    all of a pause, and the host has their bytes while training too.
    ``host_memory`` returns how many bytes the host has left (`patchkit.tms.host.available_bytes`); with it, a pause
    whose backups do not fit is refused, where the build has a pool for each tag. ``device_memory`` does the same for
    the device (``lambda: torch.cuda.mem_get_info()[0]``) and a resume. Unchecked without them.

    The tag ``default`` is known from the start, with the backup that the process was started with. Calls from several
    threads wait for each other; while restorers run, only pause, resume and restore wait. An object has one guard:
    a second one, and any use in a process that was forked off, raises GuardUseError. Who calls pause and resume of the
    package's object itself goes around the guard, which takes note of it.
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
        host_memory: Callable[[], int] | None = None,
        device_memory: Callable[[], int] | None = None,
    ) -> None:
        asked = {"tracked": tracked, "host_memory": host_memory, "device_memory": device_memory}
        for name, given in asked.items():
            if given is not None and not callable(given):
                raise GuardUseError(
                    f"OffloadGuard() at {call_site()}: {name} is called at each pause or resume, and an object of"
                    f" {type(given).__name__} cannot be",
                    hint="pass the function itself, without calling it",
                )
        super().__init__(saver, tracked=tracked)
        self._plain = plain_functions(self.saver)
        self._free_while_paused = free_while_paused
        self._host_memory = host_memory
        self._device_memory = device_memory
        self._poison = poison
        self._strict = strict
        self._retain = retain_backups
        self._holds: list[Hold] = []
        # Taken by what changes states, around the lock: restorers run without that, so that threads of theirs can
        # allocate and ask.
        self._changing = threading.RLock()
        self._restoring: dict[str, str] = {}
        watch(self.saver, self._plain, self)

    def pause(self, tag: str | None = None, *, discard_gradients: bool = False) -> tuple[str, ...]:
        """Pause ``tag``, or everything that is not paused yet, and return the tags that this changed.

        Everything is checked before the first byte is given up. Raises HeldError while a section needs it,
        MissingRestorerError, DirtyGradientsError unless ``discard_gradients``, TrackedGrowthError; CapabilityError when
        backups shall be retained and cannot.
        """
        with self._alone("pause()"), self.entered("pause()") as here:
            _ = self.capabilities
            self._discover("pause()", here)
            self._check_growth("pause()", here)
            todo = self._chosen("pause()", tag, here, {State.ACTIVE, State.UNRESTORED})
            for each in todo:
                self._check_pause(each, here, discard_gradients=discard_gradients)
            if self._host_memory is not None:
                check_room(self.saver, todo, self._host_memory, here)
            if self._retain and todo:
                keep_backups(self.saver)
            for each in todo:
                with _noted(partial(self._paused, each, here)):
                    self._plain["pause"](each.name)
            self._check_growth("pause()", here)
            return tuple(each.name for each in todo)

    def resume(self, tag: str | None = None, *, restore: bool = True) -> tuple[str, ...]:
        """Resume ``tag``, or exactly what is paused, and return the tags that this changed.

        What has no backup is then poisoned, if wanted, and restored, unless ``restore`` is False: then `restore` or
        `mark_restored` has to follow before it can be read. An exception of a restorer leaves its tag, and those after
        it, unrestored. Raises TrackedGrowthError, DeviceMemoryError, and HeldError while somebody reads a backup in
        place.
        """
        with self._alone("resume()"):
            with self.entered("resume()") as here:
                self._check_growth("resume()", here)
                todo = self._chosen("resume()", tag, here, {State.PAUSED})
                for each in todo:
                    self.views.check(each.name, here)
                if self._device_memory is not None:
                    check_device(self.saver, todo, self._device_memory, here)
                for each in todo:
                    with _noted(partial(self._resumed, each, here)):
                        self._plain["resume"](each.name)
            unrestored = [each for each in todo if each.state is State.UNRESTORED]
            if self._poison:
                poison(unrestored)
            if restore:
                self._restore(unrestored, here)
            return tuple(each.name for each in todo)

    def restore(self, tag: str | None = None) -> tuple[str, ...]:
        """Run the restorers of what was resumed and not restored, in the order of declaration; return those tags.

        Of tags that are written later it returns none. Raises OrderError inside of the restorer of such a tag.
        """
        with self._alone("restore()"):
            with self.entered("restore()") as here:
                todo = self._chosen("restore()", tag, here, {State.UNRESTORED})
            return self._restore(todo, here)

    def mark_restored(self, tag: str, *, contents: str | None = None) -> None:
        """Say that ``tag`` was written by other means, and by which name its ``contents`` go, such as ``ref``.

        Also of a tag that holds its contents, when others are written there. Raises PausedError while it is paused.
        """
        with self.entered("mark_restored()") as here:
            each = self._known(tag, "mark_restored()", here)
            if each.state is State.PAUSED:
                raise unreadable("mark_restored()", each, here)
            each.state, each.site, each.contents = State.ACTIVE, here, contents
            self._keep()

    def around(self, name: str, plain: Callable[[str | None], Any], tag: str | None) -> Any:
        """Call the package's own pause or resume for somebody who goes around the guard, and take note of it.

        Nothing is checked or restored: what this ends the process with, it ends it with. For `watching.Watcher`.
        """
        with (
            self._alone(f"{name}()"),
            self.entered(f"{name}()") as here,
            _noted(partial(self._went_around, name, tag, here)),
        ):
            return plain(tag)

    def _went_around(self, name: str, tag: str | None, here: str) -> None:
        for found, backup in undeclared(self.saver, self._tags).items():
            self._tags[found] = Tag(found, backup, site=here)
        for each in [each for each in self._tags.values() if not tag or each.name == tag]:
            if name == "pause" and each.state is not State.PAUSED:
                self._paused(each, here)
            elif name == "resume" and each.state is State.PAUSED:
                self._resumed(each, here)
        self._growth.begin(self._tags.values())

    def install(self) -> None:
        """Let everybody who calls pause, resume, region or disable of the package's object go through the guard."""
        for name, plain in self._plain.items():
            if plain is not None:
                setattr(self.saver, name, getattr(self, name))

    def uninstall(self) -> None:
        """Undo `install`."""
        for name in self._plain:
            vars(self.saver).pop(name, None)
        watch(self.saver, self._plain, self)

    @contextmanager
    def _alone(self, call: str) -> Iterator[None]:
        """Be the only one who changes states. Raises GuardUseError in a process that was forked off."""
        # Before the lock, as in `entered`: a thread of the parent that restores has it for long.
        self._claim.check_process(call, call_site())
        with self._changing:
            yield

    def _paused(self, tag: Tag, here: str) -> None:
        tag.state, tag.site, tag.tracked = State.PAUSED, here, None
        tag.epoch += 1
        if not tag.backup:
            tag.contents = None
            if tag.name == GRADIENTS:
                self._dirty = None
        self._keep()

    def _resumed(self, tag: Tag, here: str) -> None:
        tag.state, tag.site = State.ACTIVE if tag.backup else State.UNRESTORED, here
        tag.retained = tag.copied if tag.copied and retains_backups(self.saver) else {}
        self._keep()

    def _keep(self) -> None:
        """See to it that whoever drops the guard while memory is away does not lose what it knows."""
        self._claim.keep(asleep=any(tag.state is not State.ACTIVE for tag in self._tags.values()))

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
        if tag.zero and not tag.backup and (size := forgotten_bytes(tag, self.saver)):
            raise forgotten("pause()", tag, size, here)
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

    def _restore(self, tags: Iterable[Tag], here: str) -> tuple[str, ...]:
        """Restore one after the other, and return those that this changed."""
        done = []
        # Whoever restores may not pause: what was written would be lost again.
        with self.hold("restoring"):
            for each in tags:
                if each.later:
                    continue
                if not each.restorable:
                    raise no_restorer("restore()", each, here)
                if each.name in self._restoring:
                    raise restoring("restore()", each, here, self._restoring[each.name])
                self._restoring[each.name] = here
                try:
                    if each.restore is not None:
                        each.restore()
                    else:
                        zero(each)
                finally:
                    del self._restoring[each.name]
                with self._lock:
                    each.state, each.site, each.contents = State.ACTIVE, here, each.writes
                    self._keep()
                done.append(each.name)
        return tuple(done)


@contextmanager
def _noted(note: Callable[[], None]) -> Iterator[None]:
    """Call ``note`` after a call of the package that did what it should, and not after one that raised an error.

    A pause takes seconds in the library, and a Ctrl-C in that time is raised when it returns: then it was done as well.
    """
    try:
        yield
    except Exception:
        raise
    except BaseException:
        note()
        raise
    note()
