"""The contents of device memory on the host: in place where torch_memory_saver has them there, copied otherwise."""

from __future__ import annotations

import ctypes
from typing import Any

from patchkit.errors import CapabilityError
from patchkit.tms import imports
from patchkit.tms.capabilities import library_of
from patchkit.tms.guard import OffloadGuard
from patchkit.tms.placement import Backup, Placement, placements_of
from patchkit.tms.states import State


def cpu_backup(tensor: Any, guard: OffloadGuard, *, tag: str | None = None) -> Any:
    """Return a tensor on the host with the contents of ``tensor`` (same shape and dtype), or None.

    Paused with a backup on the host: a view of that backup with the same strides, without a copy. It is valid until its
    tag is resumed, and a resume raises HeldError while it, or anything that was made of it without a copy, is alive; of
    a negated tensor (is_neg) it is a copy. Active with such a backup, and untracked: a copy, because a backup that was
    kept from an earlier pause is out of date. None: memory without backup, or with a backup on disk.

    What ``tensor`` was allocated as is asked of the pools of torch_memory_saver; for builds that have one pool for all
    tags, ``tag`` says it (None: default), with the backup that the tag was declared with. Raises CapabilityError for
    paused memory in a build that hands no pointer out, UnrestoredError after a resume without a restore. Memory that
    was allocated in the default pool while somebody had switched tracking off by hand cannot be told apart; use
    ``guard.disable()``.
    """
    if not tensor.numel():
        return tensor.detach().to("cpu", copy=True)
    # Nobody resumes or pauses between the question and the answer.
    with guard.entered("cpu_backup()") as here:
        return _contents(tensor, guard, tag, here)


def _contents(tensor: Any, guard: OffloadGuard, tag: str | None, here: str) -> Any:
    storage = tensor.untyped_storage()
    place = _placement(storage.data_ptr(), storage.nbytes(), guard, tag)
    if place is not None and place.backup is not Backup.HOST:
        return None
    if place is None or guard.states.get(place.tag, State.ACTIVE) is not State.PAUSED:
        if place is not None and place.tag in guard.states:
            guard.check_readable(place.tag, call="cpu_backup()")
        return tensor.detach().to("cpu", copy=True)
    block: Any = backup_block(storage.data_ptr(), storage.nbytes(), guard, tag=place.tag, site=here)
    # When the memory is freed, its backup is given back too.
    block.of = storage
    flat = imports.torch().frombuffer(block, dtype=imports.torch().uint8)
    whole = flat[: storage.nbytes() // tensor.element_size() * tensor.element_size()].view(tensor.dtype)
    found = whole.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
    # These two are bits of the tensor, and not in the memory; to negate takes a copy.
    found = found.conj() if tensor.is_conj() else found
    return found.neg() if tensor.is_neg() else found


def backup_block(address: int, size: int, guard: OffloadGuard, *, tag: str, site: str) -> ctypes.Array[ctypes.c_char]:
    """Return the backup of ``size`` bytes at ``address`` in place, as long as ``tag`` stays paused.

    They have to be paused memory with a backup on the host: for anything else the library ends the process.
    """
    if not guard.capabilities.backup_pointer:
        raise CapabilityError(
            f"cpu_backup() at {site}: tag {tag}: it is paused, and this torch_memory_saver hands no pointer out",
            hint="ask before the pause, or install torch_memory_saver 0.0.10 or later",
        )
    find = library_of(guard.saver).tms_get_cpu_backup_pointer
    found = find(ctypes.cast(ctypes.c_void_p(address), ctypes.POINTER(ctypes.c_uint8)), ctypes.c_uint64(size))
    pointer = ctypes.cast(found, ctypes.c_void_p).value
    if pointer is None:
        raise CapabilityError(f"cpu_backup() at {site}: tag {tag}: torch_memory_saver has no backup of it")
    # A class of its own, because arrays of ctypes cannot be referred to weakly.
    kind: Any = type("Backup", (ctypes.c_char * size,), {})
    block: ctypes.Array[ctypes.c_char] = kind.from_address(pointer)
    guard.views.add(tag, block, site)
    return block


def _placement(address: int, size: int, guard: OffloadGuard, tag: str | None) -> Placement | None:
    found = placements_of(guard.saver)
    if found is not None:
        return found.at(address, size)
    name = tag or "default"
    return Placement(name, Backup.HOST if guard.has_backup(name) else Backup.NONE)
