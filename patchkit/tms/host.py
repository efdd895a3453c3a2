"""Whether the backups of a pause fit into what the host has left, and what a resume maps into that of the device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from patchkit.errors import DeviceMemoryError, HostMemoryError
from patchkit.tms.placement import Backup, placements_of
from patchkit.tms.states import Tag

_UNLIMITED = 1 << 60
"""Version 1 of cgroups says no limit with the largest multiple of a page."""


def available_bytes(proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return what can be allocated without swapping: MemAvailable of the kernel, or what a container has left.

    Pages of files that a control group could drop count as left. Raises OSError where /proc/meminfo does not
    say it.
    """
    lines = (proc / "meminfo").read_text().splitlines()
    kernel = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
    if kernel is None:
        raise OSError(f"{proc / 'meminfo'} has no line MemAvailable")
    return max(0, min([kernel, *_left(proc, groups)]))


def _left(proc: Path, groups: Path) -> Iterator[int]:
    """Yield what this process' control group, and each one above it, has left (cgroups(7))."""
    for line in (proc / "self" / "cgroup").read_text().splitlines() if (proc / "self" / "cgroup").exists() else ():
        _number, controllers, path = line.split(":", 2)
        if not controllers:
            root, limit, used, files = groups, "memory.max", "memory.current", "inactive_file "
        elif "memory" in controllers.split(","):
            root, limit, used = groups / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            files = "total_inactive_file "
        else:
            continue
        folder = root / path.lstrip("/")
        # In a container the path is often that outside of it, and does not exist here; the root then is its own.
        while folder == root or root in folder.parents:
            most, now = _text(folder / limit).strip(), _text(folder / used).strip()
            if most.isdecimal() and now.isdecimal() and int(most) < _UNLIMITED:
                pages = [line for line in _text(folder / "memory.stat").splitlines() if line.startswith(files)]
                yield int(most) - int(now) + sum(int(line.split()[1]) for line in pages)
            folder = folder.parent


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


def check_room(saver: Any, tags: Iterable[Tag], available: Callable[[], int], here: str) -> None:
    """Raise HostMemoryError when the host copies of ``tags`` are more than there is room for.

    What cannot be known passes: builds with one pool for all tags. Copies that a resume left where they are need no
    room, unless their memory was freed and what was allocated since is as large and in the same place.
    """
    found = placements_of(saver)
    if found is None:
        return
    by_tag = found.by_backup(Backup.HOST)
    needed = {}
    for tag in tags:
        tag.copied = by_tag.get(tag.name, {})
        needed[tag.name] = sum(size for at, size in tag.copied.items() if tag.retained.get(at) != size)
    room = available()
    if sum(needed.values()) > room:
        most = max(needed, key=lambda name: needed[name])
        raise HostMemoryError(
            "pause()",
            tag=most,
            rule=f"its {needed[most]} bytes, of {sum(needed.values())} to be copied to the host, do not fit into the"
            f" {room} that the host has left; torch_memory_saver would end the process",
            here=here,
            hint="leave gradients and parameters without backup, free host memory, or raise the container's limit",
        )


def check_device(saver: Any, tags: Iterable[Tag], free: Callable[[], int], here: str) -> None:
    """Raise DeviceMemoryError when the memory of ``tags`` is more than the device has room for, as far as is known."""
    found = placements_of(saver)
    if found is None:
        return
    sizes = found.bytes_by_tag()
    needed = {tag.name: sizes.get(tag.name, (0, 0))[0] for tag in tags}
    room = free()
    if sum(needed.values()) > room:
        most = max(needed, key=lambda name: needed[name])
        raise DeviceMemoryError(
            "resume()",
            tag=most,
            rule=f"its {needed[most]} bytes, of {sum(needed.values())} to be mapped again, do not fit into the {room}"
            " that the device has left; torch_memory_saver would end the process",
            here=here,
            hint="let the inference engine release its memory first, or resume tag by tag",
        )
