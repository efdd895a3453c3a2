"""Training on a GPU with pauses is bit for bit the training without, in every way to train and to pause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from patchkit.tms.cycle import matrix
from patchkit.tms.cycle.cases import Case
from patchkit.tms.cycle.matrix import Plan
from patchkit.tms.cycle.on_gpu import Answered

from .conftest import Ask, over

pytestmark = pytest.mark.gpu

STEPS = 4


def beside_unpatched(cases: Callable[[Plan], list[Case]]) -> Callable[[Plan], list[tuple[Case, ...]]]:
    """Each case after the release as it is."""
    return lambda plan: [(matrix.unpatched(case), case) for case in cases(plan)]


def each(cases: Callable[[Plan], list[Case]]) -> Callable[[Plan], list[tuple[Case, ...]]]:
    """Each case alone."""
    return lambda plan: [(case,) for case in cases(plan)]


def steps(answered: Answered) -> list[list[dict[str, Any]]]:
    """The steps of every rank, which all ended well."""
    assert answered.failure is None, answered.failure
    found = [answer["steps"] for answer in answered.answers]
    assert [len(of_rank) for of_rank in found] == [STEPS] * len(found)
    return found


def different(one: list[list[dict[str, Any]]], other: list[list[dict[str, Any]]]) -> list[str]:
    """What is not the same, by rank, step and name."""
    return [
        f"rank {rank}, step {step}: {name}"
        for rank, (ours, theirs) in enumerate(zip(one, other, strict=True))
        for step, (our, their) in enumerate(zip(ours, theirs, strict=True))
        for name in sorted(our.keys() | their.keys())
        if our.get(name) != their.get(name)
    ]


def without_padding(found: list[list[dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    """The steps without the whole of the parameter buffers: the padding in them is nobody's."""
    return [
        [{name: value for name, value in step.items() if not name.endswith(".param_data")} for step in of_rank]
        for of_rank in found
    ]


@over(beside_unpatched(matrix.flags_off))
def test_flags_off_train_as_unpatched(ask: Ask, cases: tuple[Case, Case]) -> None:
    unpatched, patched = map(ask, cases)

    assert different(steps(patched), steps(unpatched)) == []


@over(beside_unpatched(matrix.cycles))
def test_three_cycles_change_no_bit(ask: Ask, cases: tuple[Case, Case]) -> None:
    without, paused = map(ask, cases)

    assert different(steps(paused), steps(without)) == []


@over(each(matrix.cycles))
def test_buffers_lie_in_memory_of_their_tag(ask: Ask, cases: tuple[Case]) -> None:
    answered = ask(cases[0])
    assert answered.failure is None, answered.failure
    found = answered.answers[0]["placement"]

    # Two buffers, one of them as for experts; with the distributed optimizer each has parameters too.
    assert found == {"known": True, "checked": 4 if cases[0].sharded else 2, "misplaced": []}


@over(each(lambda plan: [case for case in matrix.cycles(plan) if case.hook == "preload"]))
def test_memory_was_given_back_while_paused(ask: Ask, cases: tuple[Case]) -> None:
    answered = ask(cases[0])
    assert answered.failure is None, answered.failure
    freed = [cycle["freed while paused"] for answer in answered.answers for cycle in answer["cycles"]]

    assert min(freed) > 0


@over(beside_unpatched(matrix.from_main))
def test_parameters_come_back_from_the_main_parameters(ask: Ask, cases: tuple[Case, Case]) -> None:
    without, paused = map(ask, cases)

    assert different(without_padding(steps(paused)), without_padding(steps(without))) == []


@over(beside_unpatched(matrix.unrestored))
def test_without_a_restore_the_poison_is_read(ask: Ask, cases: tuple[Case, Case]) -> None:
    without, paused = map(ask, cases)
    of_first_rank = steps(paused)[0]

    assert of_first_rank[0] == steps(without)[0][0]
    assert of_first_rank[1]["losses"] == ["nan", "nan"]


@over(beside_unpatched(matrix.guarded))
def test_the_guard_changes_no_bit(ask: Ask, cases: tuple[Case, Case]) -> None:
    without, paused = map(ask, cases)

    assert different(steps(paused), steps(without)) == []


@over(each(matrix.guarded))
def test_a_pause_with_open_gradients_is_refused(ask: Ask, cases: tuple[Case]) -> None:
    answered = ask(cases[0])
    assert answered.failure is None, answered.failure

    assert [answer["refused"]["raised"] for answer in answered.answers] == ["DirtyGradientsError"] * cases[0].ranks


@over(beside_unpatched(matrix.retained))
def test_retained_backups_change_no_bit(ask: Ask, cases: tuple[Case, Case]) -> None:
    without, paused = map(ask, cases)

    assert different(steps(paused), steps(without)) == []


@over(each(matrix.checkpoints))
def test_a_checkpoint_between_cycles_loads_with_the_same_bits(ask: Ask, cases: tuple[Case]) -> None:
    answered = ask(cases[0])
    went_on = [of_rank[2:] for of_rank in steps(answered)]

    assert different([answer["reloaded"] for answer in answered.answers], went_on) == []
