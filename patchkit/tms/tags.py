"""What is done to the tensors of tags, and which tags there are beside those that were declared."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from patchkit.tms import imports
from patchkit.tms.capabilities import pools_of
from patchkit.tms.placement import placements_of
from patchkit.tms.rules import check_tensors
from patchkit.tms.states import Tag, call_site


def zero(tag: Tag) -> None:
    """Fill the buffers of ``tag`` with zeros."""
    for tensor in _tensors(tag):
        tensor.zero_()


def poison(tags: Iterable[Tag]) -> None:
    """Fill the buffers of ``tags`` with NaN, those of integers with 0xFF in every byte."""
    for tag in tags:
        for tensor in _tensors(tag):
            if tensor.is_floating_point():
                tensor.fill_(float("nan"))
            else:
                tensor.view(imports.torch().uint8).fill_(0xFF)


def forgotten_bytes(tag: Tag, saver: Any) -> int:
    """Return how many bytes in use under ``tag`` are in none of its buffers; 0 when torch does not say what is in use.

    Of tensors without an address, nothing is known either.
    """
    found = placements_of(saver)
    used = None if found is None else found.requested_bytes(tag.name)
    if not used:
        return 0
    tensors = _tensors(tag)
    if not all(hasattr(tensor, "data_ptr") for tensor in tensors):
        return 0
    named: dict[int, int] = {}
    for tensor in tensors:
        address = tensor.data_ptr()
        named[address] = max(named.get(address, 0), tensor.numel() * tensor.element_size())
    return max(0, used - sum(named.values()))


def _tensors(tag: Tag) -> list[Any]:
    """The buffers that there are: without the distributed optimizer, some of Megatron's are None.

    Raises OrderError for anything but a list.
    """
    if tag.buffers is None:
        return []
    found = tag.buffers()
    check_tensors(tag, found, call_site())
    return [tensor for tensor in found if tensor is not None]


def undeclared(saver: Any, known: Collection[str]) -> dict[str, bool]:
    """Return the tags of regions that were entered and are not in ``known``, and whether all of each has a backup."""
    found: dict[str, bool] = {}
    for key in pools_of(saver):
        if key[0] not in known:
            found[key[0]] = found.get(key[0], True) and _backed(key)
    return found


def entered_without_backup(saver: Any, tag: str) -> bool:
    """Tell whether some region of ``tag`` was entered without backup, as far as the build can tell."""
    return any(key[0] == tag and not _backed(key) for key in pools_of(saver))


def _backed(key: tuple[Any, ...]) -> bool:
    """A key is (tag, host backup), and in builds that have it the disk backup, then backend and device."""
    return bool(key[1]) or (len(key) > 2 and key[2] is True)
