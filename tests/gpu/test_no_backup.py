"""On a GPU, with the real torch_memory_saver: what the series saves, and that it changes nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from .conftest import Ask
from .worker import EXTRA, FP32, GRADS, PARAMS, Answer, Case

pytestmark = pytest.mark.gpu

RELEASES = ("0.16.1", "0.19.2")
HOOK_MODES = ("preload", "torch")
CYCLES = 3
# The library takes whole pages of the GPU, and other memory of a process comes and goes.
NEAR = 0.05

# Without torch_memory_saver and without pauses. The second way to train came with 0.17.
UNPATCHED = [Case("0.16.1", "unpatched"), Case("0.19.2", "unpatched"), Case("0.19.2", "unpatched", variant=EXTRA)]
WITH_FLAGS = [
    Case(release, "patched", hook_mode=hook_mode, variant=variant, flags=flags, cycles=CYCLES)
    for hook_mode in HOOK_MODES
    for release, variant, flags in (
        *product(RELEASES, [FP32], [(GRADS, PARAMS), (GRADS,)]),
        ("0.19.2", EXTRA, (GRADS,)),
    )
]
WITHOUT_FLAGS = list(dict.fromkeys(replace(case, flags=()) for case in WITH_FLAGS))
PIN = Case("0.19.2", "unpatched", task="pin")


def of_last(cases: tuple[Case, ...]) -> str:
    """The name of a test: what its last case is about."""
    case = cases[-1]
    flags = [flag.split("_")[1] for flag in case.flags]
    return "-".join([case.release, case.hook_mode, case.variant.replace(" ", "_"), *flags])


def unpatched(case: Case) -> Case:
    """What the training of ``case`` is compared with."""
    return next(found for found in UNPATCHED if (found.release, found.variant) == (case.release, case.variant))


def each_pause(answer: Answer, value: Callable[[Answer], int]) -> list[int]:
    """The value of each pause."""
    return [value(cycle) for cycle in answer["cycles"]]


@pytest.mark.parametrize("cases", [(case, replace(case, tree="patched")) for case in UNPATCHED], ids=of_last)
def test_flags_off_train_bit_for_bit_as_unpatched(ask: Ask, cases: tuple[Case, Case]) -> None:
    as_released, patched = map(ask, cases)

    assert patched == as_released


@pytest.mark.parametrize("cases", [(unpatched(case), case) for case in WITHOUT_FLAGS + WITH_FLAGS], ids=of_last)
def test_training_with_pauses_is_bit_for_bit_the_one_without(ask: Ask, cases: tuple[Case, Case]) -> None:
    without, paused = map(ask, cases)

    assert paused["steps"] == without["steps"]


@pytest.mark.parametrize("cases", [(replace(case, flags=()), case) for case in WITH_FLAGS], ids=of_last)
def test_pause_frees_the_buffers_on_the_gpu_with_flags_as_without(ask: Ask, cases: tuple[Case, Case]) -> None:
    off, on = map(ask, cases)
    freed = [
        each_pause(answer, lambda cycle: cycle["paused"]["gpu free"] - cycle["before"]["gpu free"])
        for answer in (off, on)
    ]

    assert freed[1] == pytest.approx(freed[0], rel=NEAR)
    assert min(freed[1]) >= sum(on["bytes"].values())


@pytest.mark.parametrize("cases", [(case,) for case in WITHOUT_FLAGS + WITH_FLAGS], ids=of_last)
def test_resume_takes_what_the_pause_freed(ask: Ask, cases: tuple[Case]) -> None:
    answer = ask(cases[0])
    freed = each_pause(answer, lambda cycle: cycle["paused"]["gpu free"] - cycle["before"]["gpu free"])
    taken = each_pause(answer, lambda cycle: cycle["paused"]["gpu free"] - cycle["resumed"]["gpu free"])

    assert taken == pytest.approx(freed, rel=NEAR)


@pytest.mark.parametrize("cases", [(PIN,)], ids=["VmRSS"])
def test_reading_of_the_host_counts_what_cuda_pins(ask: Ask, cases: tuple[Case]) -> None:
    pin = ask(cases[0])

    assert pin["after"]["host"] - pin["before"]["host"] == pytest.approx(pin["size"], rel=0.01)


@pytest.mark.parametrize("cases", [(replace(case, flags=()), case) for case in WITH_FLAGS], ids=of_last)
def test_host_memory_at_pause_is_lower_by_the_buffers_of_the_flags(ask: Ask, cases: tuple[Case, Case]) -> None:
    off, on = map(ask, cases)
    buffers = on["bytes"]["gradients"] + (on["bytes"]["parameters"] if PARAMS in cases[-1].flags else 0)
    at_pause = [each_pause(answer, lambda cycle: cycle["paused"]["host"]) for answer in (off, on)]

    assert [without - with_flags for without, with_flags in zip(*at_pause, strict=True)] == pytest.approx(
        [buffers] * CYCLES, rel=NEAR
    )


ALL_COPIED = {
    "gradient buffers": [True],
    "gradients": [True],
    "parameter buffers": [True],
    "parameters": [True],
    "fp32 parameters of the optimizer": [True],
}
COPIED = {
    (): ALL_COPIED,
    (GRADS,): {**ALL_COPIED, "gradient buffers": [False], "gradients": [False]},
    (GRADS, PARAMS): {**{kind: [False] for kind in ALL_COPIED}, "fp32 parameters of the optimizer": [True]},
}


@pytest.mark.parametrize("cases", [(case,) for case in WITHOUT_FLAGS + WITH_FLAGS], ids=of_last)
def test_pause_copies_all_that_it_tracks_but_the_buffers_of_the_flags(ask: Ask, cases: tuple[Case]) -> None:
    assert ask(cases[0])["copied"] == COPIED[cases[0].flags]


@pytest.mark.parametrize(
    "cases", [(case,) for case in WITHOUT_FLAGS + WITH_FLAGS if PARAMS not in case.flags], ids=of_last
)
def test_parameters_survive_pauses_without_their_flag(ask: Ask, cases: tuple[Case]) -> None:
    assert each_pause(ask(cases[0]), lambda cycle: cycle["parameters kept"]) == [True] * CYCLES


HOOK = [
    tuple(Case(release, tree, task="hook mode", hook_mode="preload") for tree in ("unpatched", "patched"))
    for release in RELEASES
]


@pytest.mark.parametrize("cases", HOOK, ids=RELEASES)
def test_preload_process_keeps_its_hook_mode_only_in_the_patched_tree(ask: Ask, cases: tuple[Case, Case]) -> None:
    modes = {case.tree: ask(case)["mode"] for case in cases}

    assert modes == {"unpatched": "torch", "patched": "preload"}


@pytest.mark.parametrize("cases", [cases[-1:] for cases in HOOK], ids=RELEASES)
def test_pause_in_a_preload_process_frees_all_but_what_was_made_while_disabled(ask: Ask, cases: tuple[Case]) -> None:
    answer = ask(cases[0])

    assert answer["freed"] == pytest.approx(answer["allocated"][0], rel=NEAR)
