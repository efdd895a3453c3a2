"""Many cases in batches, with a report that a later run goes on with."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any, Final

from . import damaged, drift, edits, merges, trees
from .outcome import Outcome
from .texts import Maker

BATCH: Final = 500
"""Cases that are compared together, so that programs start once for many of them."""

Run = Callable[[Sequence[int], Mapping[int, Maker], Path], Iterator[Outcome]]
_SHARES: Final[Sequence[tuple[Run, int]]] = (
    (edits.run, 54),
    (drift.run, 20),
    (merges.run, 15),
    (damaged.run, 6),
    (trees.run, 5),
)
"""Of each hundred cases as many are of a family."""


def compare(seed: int, first: int, count: int, real: Sequence[bytes]) -> list[Outcome]:
    """Compare the cases ``[first, first + count)`` of a seed; ``real`` are texts to edit."""
    found: list[Outcome] = []
    room = Path(mkdtemp(prefix="differential-"))
    try:
        below = 0
        for run, share in _SHARES:
            numbers = [number for number in range(first, first + count) if below <= number % 100 < below + share]
            below += share
            if numbers:
                # Seeded by text, a generator gives the same numbers on every platform.
                makers = {number: Maker(Random(f"{seed}:{number}"), real) for number in numbers}  # noqa: S311
                found.extend(run(numbers, makers, room / str(below)))
    finally:
        shutil.rmtree(room)
    return found


class Report:
    """A file with a line for each batch: what was compared, by family and rule, and every disagreement."""

    def __init__(self, path: Path | None, texts: str) -> None:
        self._path, self._texts = path, texts
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        self._batches: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def has(self, seed: int, first: int, count: int) -> bool:
        """Tell whether a batch was compared by an earlier run."""
        wanted = self._texts, seed, first, count
        return any((one["texts"], one["seed"], one["first"], one["count"]) == wanted for one in self._batches)

    def add(self, seed: int, first: int, count: int, outcomes: Sequence[Outcome]) -> None:
        """Write down what came of a batch."""
        rules = Counter(f"{one.family} {one.rule or 'none'}" for one in outcomes)
        disagreements = [[one.family, one.number, one.disagreement] for one in outcomes if one.disagreement]
        batch = {
            "texts": self._texts,
            "seed": seed,
            "first": first,
            "count": count,
            "rules": rules,
            "kinds": Counter(kind for one in outcomes for kind in one.kinds),
            "disagreements": disagreements,
        }
        self._batches.append(batch)
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(json.dumps(batch) + "\n")

    def rules(self, seed: int) -> Counter[str]:
        """Return how many cases of a seed came to each ``family rule``."""
        counted: Counter[str] = Counter()
        for one in self._of(seed):
            counted.update(one["rules"])
        return counted

    def kinds(self, seed: int) -> Counter[str]:
        """Return in how many cases of a seed each odd thing was tried."""
        counted: Counter[str] = Counter()
        for one in self._of(seed):
            counted.update(one["kinds"])
        return counted

    def disagreements(self, seed: int) -> list[list[Any]]:
        """Return family, number and problem of each case of a seed that no rule covers."""
        return [each for one in self._of(seed) for each in one["disagreements"]]

    def _of(self, seed: int) -> list[dict[str, Any]]:
        return [one for one in self._batches if (one["texts"], one["seed"]) == (self._texts, seed)]
