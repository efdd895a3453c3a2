"""Real Megatron, patched, trains on memory that the real torch_memory_saver gives out, pauses and restores.

The driver is simulated (patchkit.tms.simulator), and the tensors are those of the CPU, so what is proved is the order
of calls, what is backed up, and every bit of the result; not a device.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from patchkit.tms.cycle.trainings import Trained, Training

from .trainings import NEWEST, RELEASES, Train, only

pytestmark = [pytest.mark.behaviour, pytest.mark.network]

WAYS = [(flags, sharded) for flags in (True, False) for sharded in (True, False)]
ALL = [(name, *way) for name in (RELEASES[0], NEWEST) for way in WAYS] + [(name, True, True) for name in RELEASES[1:-1]]


def plain(train: Train, megatron: str, *, sharded: bool, **changes: Any) -> list[dict[str, Any]]:
    """The steps of the same training without flags and without a pause."""
    steps: list[dict[str, Any]] = only(train(megatron, flags=False, sharded=sharded, cycles=0, **changes))["steps"]
    return steps


@pytest.mark.parametrize(("megatron", "flags", "sharded"), ALL)
def test_three_cycles_change_no_bit_of_gradients_parameters_and_optimizer(
    train: Train, megatron: str, flags: bool, sharded: bool
) -> None:
    found = only(train(megatron, flags=flags, sharded=sharded))

    assert found["steps"] == plain(train, megatron, sharded=sharded)
    assert len(found["steps"]) == 4
    assert found["misuses"] == 0


@pytest.mark.parametrize(("megatron", "flags", "sharded"), ALL)
def test_a_pause_frees_the_device_and_takes_the_host_memory_that_the_model_says(
    train: Train, megatron: str, flags: bool, sharded: bool
) -> None:
    found = only(train(megatron, flags=flags, sharded=sharded))

    assert found["paused"] == [{"device": 0, "host": found["live"] - found["unbacked"]}] * 3
    assert (found["unbacked"] > 0) is flags


@pytest.mark.parametrize("megatron", [RELEASES[0], NEWEST])
@pytest.mark.parametrize("sharded", [True, False])
def test_the_flags_save_exactly_the_buffers(train: Train, megatron: str, sharded: bool) -> None:
    with_flags, without = (only(train(megatron, flags=flags, sharded=sharded)) for flags in (True, False))

    assert without["paused"][0]["host"] - with_flags["paused"][0]["host"] == with_flags["unbacked"]


def test_without_a_restore_the_parameters_are_lost_so_the_equality_above_means_something(train: Train) -> None:
    lost = only(train(NEWEST, restore="none"))["steps"]
    kept = plain(train, NEWEST, sharded=True)

    assert lost[0] == kept[0]
    assert (lost[1]["losses"], "nan" in kept[1]["losses"]) == (["nan", "nan"], False)


@pytest.mark.parametrize("flags", [True, False])
def test_touching_a_paused_buffer_faults_and_is_told(train: Train, flags: bool) -> None:
    found = train(NEWEST, flags=flags, touch=True)

    assert (found.codes, found.answers) == ((-signal.SIGSEGV,), ({},))
    assert len(found.reports[0]) == 1
    assert found.reports[0][0].startswith("fault access: 0x")
    assert found.reports[0][0].endswith(" is reserved, but nothing is mapped there")


def test_two_ranks_train_on_the_same_bits(train: Train) -> None:
    found = train(NEWEST, world=2)
    without = train(NEWEST, world=2, flags=False, cycles=0)

    assert (found.codes, without.codes) == ((0, 0), (0, 0))
    assert [answer["steps"] for answer in found.answers] == [answer["steps"] for answer in without.answers]
    assert found.answers[0]["steps"][0]["losses"] != found.answers[1]["steps"][0]["losses"]
    for answer in found.answers:
        assert answer["paused"] == [{"device": 0, "host": answer["live"] - answer["unbacked"]}] * 3


# --- older builds of torch_memory_saver


@pytest.mark.parametrize("saver", ["0.0.9", "0.0.9.post1"])
def test_a_build_without_nested_regions_cannot_make_the_buffers(train: Train, saver: str) -> None:
    found = only(train(NEWEST, saver))

    assert found["raised"] == "AssertionError"
    assert "in _with_region_config" in found["traceback"]


@pytest.mark.parametrize("saver", ["0.0.9", "0.0.9.post1"])
def test_a_build_with_the_double_release_dies_when_memory_is_freed_while_paused(train: Train, saver: str) -> None:
    found = train(NEWEST, saver, flags=False)

    assert (found.codes, found.answers) == ((1,), ({},))
    assert "CUresult error: 1 (invalid argument)  file=csrc/core.cpp func=free line=65" in found.said[0]
    assert found.reports[0][0].startswith("misuse cuMemUnmap: nothing is mapped at 0x")


@pytest.mark.parametrize("saver", ["0.0.9", "0.0.9.post1"])
def test_the_same_build_goes_on_when_nothing_is_freed(train: Train, saver: str) -> None:
    found = only(train(NEWEST, saver, flags=False, free=False))

    assert found["steps"] == plain(train, NEWEST, sharded=True)


def test_a_build_without_backup_has_no_regions_of_that_kind(train: Train) -> None:
    found = only(train(NEWEST, "0.0.8"))

    assert found["raised"] == "TypeError"
    assert "enable_cpu_backup" in found["traceback"]


# --- other ways to train and to pause

WAYS_TO_TRAIN: dict[str, dict[str, Any]] = {
    "bf16 gradients": {"gradients": "bf16"},
    "overlapped": {"overlap": True},
    "overlapped, all-reduced": {"overlap": True, "sharded": False},
    "overlapped, two ranks": {"overlap": True, "world": 2},
    "bf16 gradients, two ranks": {"gradients": "bf16", "world": 2},
}
"""Of the training with pauses and of the one that it is compared with."""
WAYS_TO_PAUSE: dict[str, dict[str, Any]] = {
    "the gradients' flag alone": {"params": False},
    "through the guard": {"guard": True},
    "with backups retained": {"retain": True},
    "with backups retained, through the guard": {"retain": True, "guard": True},
}
MAIN: list[dict[str, Any]] = [{"restore": "main", "world": world} for world in (1, 2)]
WITHOUT: dict[str, Any] = {"flags": False, "cycles": 0}
REFUSED: dict[str, Any] = {"guard": True, "open_step": True}
UNGUARDED: dict[str, Any] = {"flags": False, "open_step": True}
SAVED: list[dict[str, Any]] = [{"checkpoint": True, "sharded": sharded} for sharded in (True, False)]
# One import of torch and Megatron does for all of them.
TOGETHER = [
    Training(**changes)
    for changes in (
        *(way for each in WAYS_TO_TRAIN.values() for way in (each, {**each, **WITHOUT})),
        *WAYS_TO_PAUSE.values(),
        *(way for each in MAIN for way in (each, {**WITHOUT, "world": each["world"]})),
        *SAVED,
        REFUSED,
        UNGUARDED,
    )
]


@pytest.fixture
def train_one(train: Train) -> Callable[..., Trained]:
    """Train the newest release in a way that is among TOGETHER."""
    return lambda **changes: train(NEWEST, others=TOGETHER, **changes)


@pytest.mark.parametrize("name", WAYS_TO_TRAIN)
def test_every_way_to_train_keeps_its_bits(train_one: Callable[..., Trained], name: str) -> None:
    paused, without = train_one(**WAYS_TO_TRAIN[name]), train_one(**WAYS_TO_TRAIN[name], **WITHOUT)

    assert [answer.get("steps", answer) for answer in paused.answers] == [a["steps"] for a in without.answers]
    assert [len(answer["cycles"]) for answer in paused.answers] == [3] * len(paused.answers)


@pytest.mark.parametrize("name", WAYS_TO_PAUSE)
def test_every_way_to_pause_keeps_the_bits(train_one: Callable[..., Trained], train: Train, name: str) -> None:
    found = only(train_one(**WAYS_TO_PAUSE[name]))

    assert found.get("steps", found) == plain(train, NEWEST, sharded=True)


@pytest.mark.parametrize("changes", MAIN, ids=["one rank", "two ranks"])
def test_parameters_come_back_from_the_main_parameters_of_the_optimizer(
    train_one: Callable[..., Trained], changes: dict[str, Any]
) -> None:
    found, without = train_one(**changes), train_one(**WITHOUT, world=changes["world"])

    assert [parameters(answer) for answer in found.answers] == [parameters(answer) for answer in without.answers]


def parameters(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The steps without the whole of the parameter buffers: the padding in them is nobody's."""
    return [
        {name: value for name, value in step.items() if not name.endswith(".param_data")} for step in answer["steps"]
    ]


def test_the_guard_refuses_a_pause_while_gradients_are_accumulated_and_training_goes_on(
    train_one: Callable[..., Trained], train: Train
) -> None:
    found = only(train_one(**REFUSED))

    assert found["refused"]["raised"] == "DirtyGradientsError"
    assert found["steps"] == plain(train, NEWEST, sharded=True)


def test_without_the_guard_nothing_refuses_it(train_one: Callable[..., Trained]) -> None:
    found = train_one(**UNGUARDED)

    assert found.codes == (-signal.SIGSEGV,)


@pytest.mark.parametrize("changes", SAVED, ids=["distributed optimizer", "plain optimizer"])
def test_a_checkpoint_between_cycles_is_gone_on_from_with_the_same_bits(
    train_one: Callable[..., Trained], train: Train, changes: dict[str, Any]
) -> None:
    found = only(train_one(**changes))

    assert found.get("steps", found) == plain(train, NEWEST, sharded=changes["sharded"])
    assert found["reloaded"] == found["steps"][2:]
