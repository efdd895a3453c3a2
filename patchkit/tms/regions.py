"""Allocation through the guard."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from patchkit.errors import PausedError
from patchkit.tms import imports
from patchkit.tms.capabilities import in_torch_mode, library_of
from patchkit.tms.rules import check_name, without_backup
from patchkit.tms.sections import Hold, Sections
from patchkit.tms.states import State, Tag


class Regions(Sections):
    """The part of OffloadGuard that allocates."""

    _plain: dict[str, Any]
    """The package's own functions."""
    _free_while_paused: bool | None

    @contextmanager
    def region(
        self,
        tag: str = "default",
        enable_cpu_backup: bool = False,  # noqa: FBT001, FBT002 - the signature of the package
        **more: Any,
    ) -> Iterator[None]:
        """Allocate under ``tag``, as in the package's own region.

        Until its end no other thread can pause the tag. Raises PausedError while the tag is paused, OrderError when it
        gives up a declared backup, CapabilityError for what this build cannot do.
        """
        backup = enable_cpu_backup or bool(more.get("enable_disk_backup"))
        with self.entered("region()") as here:
            check_name("region()", tag, here)
            known = self._tags.get(tag, Tag(tag, backup, site=here))
            if known.state is State.PAUSED:
                rule = "what is allocated under a paused tag was never paused, and a resume would end the process"
                raise PausedError("region()", tag=tag, rule=rule, here=here, earlier=known.site)
            if known.backup and not backup:
                raise without_backup("region()", known, here)
            self._need("backup", "region()", here, there=self.capabilities.backup or not enable_cpu_backup)
            if self.capabilities.backup:
                more["enable_cpu_backup"] = enable_cpu_backup
            self._need("nested regions", "region()", here, there=self.capabilities.nested_regions or not self._inside())
            self._tags.setdefault(tag, known)
            hold = Hold("region()", frozenset({tag}), here, threading.get_ident())
            self._holds.append(hold)
        try:
            with self._plain["region"](tag, **more):
                yield
        finally:
            self.release(hold)

    def disable(self) -> AbstractContextManager[None]:
        """Return a context in which nothing is tracked that is allocated; for allocations while asleep.

        Where nothing is tracked anyway it changes nothing, and leaves it so: the package's own would turn tracking on
        at its end.
        """
        with self.entered("disable()") as here:
            # The library is asked, which loads it: before that it would track what is allocated here.
            if self._inside() is False:
                return nullcontext()
            self._need("disable()", "disable()", here, there=self.capabilities.disable)
        context: AbstractContextManager[None] = self._plain["disable"]()
        return context

    def empty_cache(self) -> None:
        """torch.cuda.empty_cache(), unless memory is paused and this build would release it a second time.

        In hook mode torch, the package's library ends the process at torch.cuda.empty_cache() itself when memory of a
        region was freed.
        """
        with self.entered("empty_cache()") as here:
            paused = next((tag for tag in self._tags.values() if tag.state is State.PAUSED), None)
            if paused and not self._can_free_while_paused():
                raise PausedError(
                    "empty_cache()",
                    tag=paused.name,
                    rule="this torch_memory_saver may release paused memory a second time, which ends the process",
                    here=here,
                    earlier=paused.site,
                    hint="empty the cache before the pause, or install torch_memory_saver 0.0.10 or later",
                )
            with self._freeing():
                imports.torch().cuda.empty_cache()
            self._check_growth("empty_cache()", here)

    @contextmanager
    def _freeing(self) -> Iterator[None]:
        """In hook mode torch, the library ends the process when memory of a region is freed outside of one."""
        library = library_of(self.saver)
        outside = self._inside() is False
        if not outside or not in_torch_mode(self.saver):
            yield
            return
        library.tms_set_interesting_region(ctypes.c_bool(True))  # noqa: FBT003 - a C function
        try:
            yield
        finally:
            library.tms_set_interesting_region(ctypes.c_bool(False))  # noqa: FBT003

    def _can_free_while_paused(self) -> bool:
        known = self._free_while_paused
        return self.capabilities.free_while_paused if known is None else known

    def _inside(self) -> bool | None:
        """Tell whether what this thread allocates is tracked; None when the library does not say."""
        library = library_of(self.saver)
        if library is None or not hasattr(library, "tms_get_interesting_region"):
            return None
        return bool(library.tms_get_interesting_region())
