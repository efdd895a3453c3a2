"""Parameters that come again and again: a model is few kinds of layers, many times, and is not written out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

_LONGEST = 64
"""Layers of a pattern that is looked for in a model whose layers alternate."""


@dataclass(frozen=True, slots=True)
class Run:
    """Sizes in their order, and how many times they come."""

    sizes: tuple[int, ...]
    """Elements of each parameter, all positive."""
    times: int = 1


def run_of(sizes: Iterable[int], times: int = 1) -> tuple[Run, ...]:
    """Return one run of what has elements, or none."""
    there = tuple(size for size in sizes if size)
    return (Run(there, times),) if there and times else ()


def total(runs: Iterable[Run]) -> int:
    """Return the elements of all."""
    return sum(sum(run.sizes) * run.times for run in runs)


def count(runs: Iterable[Run]) -> int:
    """Return how many parameters there are."""
    return sum(len(run.sizes) * run.times for run in runs)


def flat(runs: Iterable[Run]) -> Iterator[int]:
    """Yield every parameter."""
    for run in runs:
        for _ in range(run.times):
            yield from run.sizes


def from_end(runs: Sequence[Run], elements: int) -> tuple[Run, ...]:
    """Return what the last ``elements`` are made of, the last parameter first, and a piece of the one that is cut."""
    found: list[Run] = []
    left = elements
    for run in reversed(runs):
        backwards, each = tuple(reversed(run.sizes)), sum(run.sizes)
        whole = min(run.times, left // each)
        found += run_of(backwards, whole)
        left -= whole * each
        if whole < run.times:
            return (*found, *run_of(_first(backwards, left)))
    return tuple(found)


def _first(sizes: Iterable[int], elements: int) -> Iterator[int]:
    for size in sizes:
        yield min(size, elements)
        elements -= min(size, elements)


def repeats(kinds: str) -> tuple[tuple[str, int], ...]:
    """Return ``kinds``, one character a layer, as parts that come a number of times: ``ddeee`` as d twice, e 3 times.

    Where they alternate, the part is what they alternate in.
    """
    same = tuple((kind, len(list(layers))) for kind, layers in groupby(kinds))
    if len(same) <= _LONGEST:
        return same
    for length in range(2, _LONGEST + 1):
        if kinds.startswith(kinds[length:]):
            times, rest = divmod(len(kinds), length)
            return ((kinds[:length], times), *repeats(kinds[len(kinds) - rest :]))
    return same
