"""What a loaded torch_memory_saver can do, asked of its object and its library and never of its version."""

from __future__ import annotations

import ctypes
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from patchkit.errors import CapabilityError

_START = "start the process with the environment of `patchkit tms env`"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What there is."""

    backup: bool
    """Regions can be told to keep a copy on the host, or not to."""
    disk_backup: bool
    disable: bool
    nested_regions: bool
    """A region can be entered in another one, and with TMS_INIT_ENABLE=1."""
    free_while_paused: bool
    """Known to survive it. The fix itself shows in no symbol, so that two commits with it count as without."""
    backup_pointer: bool
    """The host copy of paused memory can be read in place."""
    pools_by_tag: bool
    """It has a pool of torch for each tag and kind of backup, which tells of an address what it was allocated as."""


def library_of(saver: Any) -> Any:
    """Return the library behind ``saver`` (a ctypes.CDLL), None when it has none. Raises CapabilityError.

    Its package loads the library at the first use; this is one.
    """
    try:
        if hasattr(saver, "_ensure_initialized"):
            saver._ensure_initialized()  # noqa: SLF001 - there is no public way
    except Exception as error:
        raise CapabilityError(
            f"torch_memory_saver does not start: {error}",
            hint=_START,
        ) from error
    wrapper = getattr(getattr(saver, "_impl", None), "_binary_wrapper", None)
    if wrapper is not None:
        return wrapper.cdll
    # 0.0.8 keeps it in its module, and does nothing at all without it.
    known = getattr(sys.modules.get(type(saver).__module__), "_global_info", None)
    if known is None:
        return None
    if known.binary_info.cdll is None:
        raise CapabilityError(
            "torch_memory_saver is disabled in this process: LD_PRELOAD is not its library alone, and every pause would"
            " free nothing",
            hint=_START,
        )
    return known.binary_info.cdll


def pools_of(saver: Any) -> Mapping[tuple[Any, ...], Any]:
    """Return the memory pools by (tag, host backup, ...); empty where the build has one pool for all."""
    pools = _pools(saver) or {}
    return {key: pool for key, pool in pools.items() if isinstance(key, tuple) and len(key) > 1}


def has_pools(saver: Any) -> bool:
    """Tell whether the build has a pool for each tag; it has none of them before its first region."""
    return _pools(saver) is not None


def in_torch_mode(saver: Any) -> bool:
    """Tell whether only what is allocated in regions goes through the library."""
    return getattr(getattr(saver, "_impl", None), "_hook_mode", None) == "torch"


def _pools(saver: Any) -> Mapping[Any, Any] | None:
    pools = getattr(getattr(saver, "_impl", None), "_mem_pools", None)
    return pools if isinstance(pools, Mapping) else None


def capabilities_of(saver: Any) -> Capabilities:
    """Return what ``saver`` can do. Raises CapabilityError when it cannot be used in this process at all."""
    library = library_of(saver)

    def has(symbol: str) -> bool:
        return library is not None and hasattr(library, symbol)

    parameters = inspect.signature(saver.region).parameters
    return Capabilities(
        backup="enable_cpu_backup" in parameters,
        disk_backup="enable_disk_backup" in parameters or has("tms_get_enable_disk_backup"),
        disable=hasattr(saver, "disable"),
        nested_regions=has("tms_get_current_tag"),
        free_while_paused=has("tms_set_retain_cpu_backup") or has("tms_cuMemCreate"),
        backup_pointer=has("tms_get_cpu_backup_pointer"),
        pools_by_tag=has_pools(saver),
    )


def retain_backups(saver: Any) -> None:
    """Let host copies stay where they are after a resume, for the next pause. Raises CapabilityError.

    Builds from before they were freed at a resume (0.0.9 and 0.0.9.post1) do so by themselves, and need not be told.
    """
    library = library_of(saver)
    if hasattr(library, "tms_set_retain_cpu_backup"):
        library.tms_set_retain_cpu_backup(ctypes.c_bool(True))  # noqa: FBT003 - the signature of the function
    elif not _keeps_always(saver, library):
        raise CapabilityError(
            "this torch_memory_saver cannot retain backups on the host, or does not show that it does",
            hint="install torch_memory_saver 0.0.10 or later, or leave retain_backups out",
        )


def _keeps_always(saver: Any, library: Any) -> bool:
    """Tell whether this is known for a build that keeps every host copy until its memory is freed.

    Commit 7e9edbd frees them at a resume. No symbol shows that, but the one pool for all tags was gone before it, and
    the pointer to a copy came after it; what is in between (383bec3) keeps copies too, and cannot be told apart.
    """
    one_pool = hasattr(getattr(saver, "_impl", None), "_primary_mem_pool")
    copies = "enable_cpu_backup" in inspect.signature(saver.region).parameters
    return one_pool and copies and not hasattr(library, "tms_get_cpu_backup_pointer")


def retains_backups(saver: Any) -> bool:
    """Tell whether a resume now would leave host copies where they are, because somebody asked for it."""
    return bool(getattr(saver, "retain_cpu_backup", False))


def check_environment(capabilities: Capabilities, environment: Mapping[str, str]) -> None:
    """Raise CapabilityError for a setting that this build does not know: it would go unnoticed, and data be lost."""
    on_disk = environment.get("TMS_INIT_ENABLE_DISK_BACKUP", "0") not in ("0", "false", "FALSE", "no", "NO")
    if on_disk and not capabilities.disk_backup:
        raise CapabilityError(
            "TMS_INIT_ENABLE_DISK_BACKUP is set, and this torch_memory_saver does not know it: memory would be paused"
            " without any backup",
            hint="install torch_memory_saver 0.0.10 or later",
        )
