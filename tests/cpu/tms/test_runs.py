"""Runs are a way to write a list of sizes, and say the same as the list."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.tms.runs import Run, count, flat, from_end, repeats, run_of, total

RUNS = st.lists(st.builds(Run, st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple), st.integers(1, 5)))


@given(RUNS)
def test_what_runs_come_to_is_what_their_list_comes_to(runs: list[Run]) -> None:
    sizes = [size for run in runs for size in list(run.sizes) * run.times]

    assert (list(flat(runs)), total(runs), count(runs)) == (sizes, sum(sizes), len(sizes))


@given(RUNS, st.data())
def test_the_end_of_runs_is_the_end_of_their_list(runs: list[Run], data: st.DataObject) -> None:
    backwards = list(flat(runs))[::-1]
    elements = data.draw(st.integers(0, sum(backwards)))
    before = [0, *accumulate(backwards)]
    expected = [min(size, elements - at) for size, at in zip(backwards, before, strict=False) if at < elements]

    assert list(flat(from_end(runs, elements))) == expected


def test_nothing_is_no_run() -> None:
    assert (run_of([0, 0]), run_of([3], 0), run_of([0, 3, 0, 2], 2)) == ((), (), (Run((3, 2), 2),))


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ("", ()),
        ("ddeee", (("d", 2), ("e", 3))),
        ("d" * 100_000, (("d", 100_000),)),
        ("ed" * 500, (("ed", 500),)),
        ("M-M*E" * 40 + "M-M", (("M-M*E", 40), ("M", 1), ("-", 1), ("M", 1))),
    ],
)
def test_a_pattern_is_what_comes_and_how_often(kinds: str, expected: tuple[tuple[str, int], ...]) -> None:
    assert repeats(kinds) == expected


@given(st.text("de*", max_size=200))
def test_the_parts_of_a_pattern_are_the_pattern(kinds: str) -> None:
    assert "".join(part * times for part, times in repeats(kinds)) == kinds
