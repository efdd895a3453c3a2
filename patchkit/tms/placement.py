"""Where buffers lie: in memory of which tag, with which backup, as far as this build can tell."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from patchkit.errors import PlacementError
from patchkit.tms import imports
from patchkit.tms.capabilities import has_pools, in_torch_mode, pools_of
from patchkit.tms.states import GRADIENTS

_TRUE = ("1", "true", "TRUE", "yes", "YES")
_DEFAULT_POOL = (0, 0)
"""The id of the pool that torch allocates from outside every region."""


class Backup(Enum):
    """What torch_memory_saver keeps of memory that it pauses."""

    HOST = "host"
    DISK = "disk"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Placement:
    """As what memory was allocated."""

    tag: str
    backup: Backup


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece that torch got from the device."""

    address: int
    size: int
    allocated: int
    """Bytes of it that are in use."""
    requested: int | None
    """Bytes that were asked for in it and are in use; None when torch does not say."""
    placement: Placement | None
    """None: nothing that torch_memory_saver tracks."""


class Placements:
    """Every segment of torch, by address."""

    def __init__(self, segments: Iterable[Segment]) -> None:
        self._segments = sorted(segments, key=lambda segment: segment.address)
        self._starts = [segment.address for segment in self._segments]

    def at(self, address: int, size: int) -> Placement | None:
        """Return as what ``size`` bytes at ``address`` were allocated; None when they are not tracked (or torch's)."""
        at = bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        segment = self._segments[at]
        return segment.placement if address + size <= segment.address + segment.size else None

    def tracked_bytes(self) -> tuple[int, int]:
        """Return (bytes that torch holds in tracked memory, those of them that a pause copies to the host)."""
        tracked = [segment for segment in self._segments if segment.placement is not None]
        copied = [each for each in tracked if each.placement is not None and each.placement.backup is Backup.HOST]
        return sum(segment.size for segment in tracked), sum(segment.size for segment in copied)

    def bytes_by_tag(self) -> dict[str | None, tuple[int, ...]]:
        """Return (bytes that torch holds, bytes of them in use) by tag."""
        found: dict[str | None, tuple[int, ...]] = {}
        for segment in self._segments:
            if segment.placement is not None:
                held, used = found.get(segment.placement.tag, (0, 0))
                found[segment.placement.tag] = (held + segment.size, used + segment.allocated)
        return found

    def by_backup(self, backup: Backup) -> dict[str, dict[int, int]]:
        """Return the segments with that backup by tag, as size by address: of HOST, what a pause copies."""
        found: dict[str, dict[int, int]] = {}
        for segment in self._segments:
            if segment.placement is not None and segment.placement.backup is backup:
                found.setdefault(segment.placement.tag, {})[segment.address] = segment.size
        return found

    def requested_bytes(self, tag: str) -> int | None:
        """Return the bytes that were asked for under ``tag`` and are in use; None when torch does not say."""
        found = [each.requested for each in self._segments if each.placement and each.placement.tag == tag]
        return None if None in found else sum(size for size in found if size is not None)

    def untracked_bytes(self) -> int:
        """Return the bytes that torch holds outside of what torch_memory_saver tracks: no pause frees them."""
        return sum(segment.size for segment in self._segments if segment.placement is None)


def placements_of(
    saver: Any,
    *,
    snapshot: Sequence[Mapping[str, Any]] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Placements | None:
    """Return where everything lies; None when this build has one pool for all tags, or torch does not number pools.

    ``snapshot`` is torch.cuda.memory_snapshot(), asked for when it is not given. A pool of torch_memory_saver is known
    by the tag and backup of its region; torch's own pool by the variables that the process was started with. Memory of
    other pools, such as that of ``disable()``, is not tracked.
    """
    if not has_pools(saver):
        return None
    if snapshot is None:
        snapshot = _snapshot()
    if snapshot is None or any("segment_pool_id" not in segment for segment in snapshot):
        return None
    by_pool = {tuple(pool.id): _of_key(key) for key, pool in pools_of(saver).items() if hasattr(pool, "id")}
    initial = initial_placement(environment)
    # In hook mode torch, nothing stands between torch's own pool and the driver, whatever the environment says.
    if initial is not None and not in_torch_mode(saver):
        by_pool[_DEFAULT_POOL] = initial
    return Placements(
        Segment(
            address=segment["address"],
            size=segment["total_size"],
            allocated=segment.get("allocated_size", 0),
            requested=_requested(segment),
            placement=by_pool.get(tuple(segment["segment_pool_id"])),
        )
        for segment in snapshot
    )


def _snapshot() -> Sequence[Mapping[str, Any]] | None:
    take = getattr(imports.torch().cuda, "memory_snapshot", None)
    return None if take is None else list(take())


def _requested(segment: Mapping[str, Any]) -> int | None:
    used = [block for block in segment.get("blocks", ()) if block.get("state") == "active_allocated"]
    known = "blocks" in segment and all("requested_size" in block for block in used)
    return sum(block["requested_size"] for block in used) if known else None


def _of_key(key: tuple[Any, ...]) -> Placement:
    """(tag, host backup), and in builds that have it the disk backup, then backend and device."""
    if key[1]:
        return Placement(key[0], Backup.HOST)
    on_disk = len(key) > 2 and key[2] is True
    return Placement(key[0], Backup.DISK if on_disk else Backup.NONE)


def initial_placement(environment: Mapping[str, str]) -> Placement | None:
    """Return as what a process with that environment allocates outside every region; None when that is untracked."""
    if environment.get("TMS_INIT_ENABLE") not in _TRUE:
        return None
    if environment.get("TMS_INIT_ENABLE_CPU_BACKUP") in _TRUE:
        return Placement("default", Backup.HOST)
    on_disk = environment.get("TMS_INIT_ENABLE_DISK_BACKUP") in _TRUE
    return Placement("default", Backup.DISK if on_disk else Backup.NONE)


@dataclass(frozen=True, slots=True)
class Buffer:
    """A tensor and where it should lie."""

    name: str
    tensor: Any
    tag: str
    backup: bool


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A buffer that lies elsewhere."""

    name: str
    expected: Placement
    found: Placement | None
    bytes: int


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of looking where buffers lie."""

    known: bool
    """False: this build cannot say, and nothing was checked."""
    checked: int
    misplaced: tuple[Misplaced, ...]

    def require(self) -> None:
        """Raise PlacementError unless every buffer is known to be where it should be."""
        if not self.known:
            raise PlacementError(
                "this torch_memory_saver cannot tell where buffers lie: it has one memory pool for all tags",
                (),
                hint="with torch_memory_saver 0.0.10 and torch's memory snapshot they can be checked",
            )
        if self.misplaced:
            lines = "; ".join(
                f"{item.name} ({item.bytes} bytes) should be {_words(item.expected)}, is {_words(item.found)}"
                for item in self.misplaced
            )
            raise PlacementError(
                lines,
                tuple(item.name for item in self.misplaced),
                hint="did the fields reach the config that DDP was built from? `patchkit verify` says whether the"
                " patches are in",
            )


def _words(placement: Placement | None) -> str:
    return "untracked" if placement is None else f"tag {placement.tag}, backup {placement.backup.value}"


def verify_buffers(buffers: Iterable[Buffer], saver: Any, *, placements: Placements | None = None) -> Verification:
    """Compare where ``buffers`` lie with where they should; tensors without bytes are left out."""
    found = placements if placements is not None else placements_of(saver)
    if found is None:
        return Verification(known=False, checked=0, misplaced=())
    checked = 0
    misplaced = []
    for buffer in buffers:
        size = buffer.tensor.numel() * buffer.tensor.element_size()
        if not size:
            continue
        checked += 1
        place = found.at(buffer.tensor.data_ptr(), size)
        backed = place is not None and place.backup is not Backup.NONE
        if place is None or place.tag != buffer.tag or backed is not buffer.backup:
            expected = Placement(buffer.tag, Backup.HOST if buffer.backup else Backup.NONE)
            misplaced.append(Misplaced(buffer.name, expected, place, size))
    return Verification(known=True, checked=checked, misplaced=tuple(misplaced))


def ddp_buffers(
    model_chunks: Iterable[Any], *, grad_backup: bool = False, param_backup: bool = False
) -> tuple[Buffer, ...]:
    """Return the buffers of Megatron's DistributedDataParallel objects with where they should lie.

    ``grad_backup`` and ``param_backup`` say whether they keep a backup, in which case their tag is ``default``. Main
    gradients outside grad_data (``extra_main_grads``) count as gradients. A buffer that holds both (MXFP8) is as the
    gradients are. Raises PlacementError where no buffer can be looked for: a module of torch has other ``buffers``.
    """
    found = []
    for at, chunk in enumerate(_chunks(model_chunks)):
        for group in ("buffers", "expert_parallel_buffers"):
            for number, buffer in enumerate(getattr(chunk, group, ())):
                place = f"chunk {at}: {group}[{number}]"
                grads = (GRADIENTS, False) if not grad_backup else ("default", True)
                params = ("param_buffer", False) if not param_backup else ("default", True)
                if getattr(buffer, "shared_buffer", None) is not None:
                    params = grads
                extra = getattr(buffer, "extra_main_grads", ())
                parts = [("param_data", getattr(buffer, "param_data", None), params)]
                parts += [("grad_data", getattr(buffer, "grad_data", None), grads)]
                parts += [(f"extra_main_grads[{index}]", tensor, grads) for index, tensor in enumerate(extra)]
                there = [part for part in parts if part[1] is not None]
                found += [Buffer(f"{place}.{name}", tensor, *where) for name, tensor, where in there]
    return tuple(found)


def _chunks(model_chunks: object) -> list[Any]:
    """Return them, of which each has a list of buffers: with none found, nothing would be checked, and nothing zeroed.

    Raises PlacementError.
    """
    problem = None
    if not isinstance(model_chunks, Iterable):
        problem = f"the model chunks are an object of {type(model_chunks).__name__}, not a list"
        chunks = []
    else:
        chunks = list(model_chunks)
        other = [at for at, chunk in enumerate(chunks) if not isinstance(getattr(chunk, "buffers", None), Sequence)]
        if other:
            kind = type(chunks[other[0]]).__name__
            problem = f"chunk {other[0]} is a {kind}, which has no list of buffers"
        elif not chunks:
            problem = "there is no model chunk"
    if problem is not None:
        hint = "pass the list of Megatron's DistributedDataParallel objects, without a wrapper"
        raise PlacementError(problem, (), hint=hint)
    return chunks


def optimizer_buffers(optimizer: Any, *, tag: str = "default", backup: bool = True) -> tuple[Buffer, ...]:
    """Return the state that an optimizer keeps on the device, with where it should lie.

    For optimizers of torch and Megatron (those inside of others too), after a checkpoint was loaded and after the
    first step: what was allocated elsewhere stays on the device at every pause.
    """
    found: dict[int, Buffer] = {}

    def add(name: str, tensor: Any) -> None:
        if hasattr(tensor, "data_ptr") and getattr(tensor, "is_cuda", True):
            found.setdefault(id(tensor), Buffer(name, tensor, tag, backup))

    for at, inner in enumerate(_innermost(optimizer)):
        for number, group in enumerate(inner.param_groups):
            for index, parameter in enumerate(group["params"]):
                place = f"optimizer {at}: group {number}, parameter {index}"
                for name, value in inner.state.get(parameter, {}).items():
                    add(f"{place}: {name}", value)
    return tuple(found.values())


def _innermost(optimizer: Any) -> Iterator[Any]:
    """Yield the optimizers of torch inside: Megatron has ``chained_optimizers``, and in each an ``optimizer``."""
    chained = getattr(optimizer, "chained_optimizers", None)
    if chained is not None:
        for each in chained:
            yield from _innermost(each)
    elif getattr(optimizer, "optimizer", None) is not None:
        yield from _innermost(optimizer.optimizer)
    elif hasattr(optimizer, "param_groups"):
        yield optimizer
