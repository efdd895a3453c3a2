"""Where a model of 55 million parameters lies, and what a pause frees on the device and takes of the host."""

from __future__ import annotations

from typing import Any

import pytest

from patchkit.tms.cycle import matrix
from patchkit.tms.cycle.cases import SIZES, Case
from patchkit.tms.cycle.on_gpu import Answered
from patchkit.tms.estimate import Estimate, Setting, estimate
from patchkit.tms.shape import from_megatron

from .conftest import Ask, over
from .test_cycle import beside_unpatched, different, each, steps

pytestmark = pytest.mark.gpu

NEAR = 0.01
CACHED = 0.03
"""What the estimate does not count: segments in which there were activations when the optimizer made its state."""


def pauses(answered: Answered) -> list[dict[str, Any]]:
    """What each pause did, in a process that ended well."""
    assert answered.failure is None, answered.failure
    found: list[dict[str, Any]] = answered.answers[0]["cycles"]
    return found


def estimated(case: Case) -> Estimate:
    """What `patchkit tms estimate` says of the model of a case."""
    size = SIZES[case.size]
    arguments = {
        "num_layers": size["layers"],
        "hidden_size": size["width"],
        "num_attention_heads": size["heads"],
        "padded_vocab_size": size["vocabulary"],
        "untie_embeddings_and_output_weights": True,
        "position_embedding_type": "learned_absolute",
        "max_position_embeddings": size["sequence"],
    }
    setting = Setting(gradient_backup=not case.grads, parameter_backup=not case.params)
    return estimate(*from_megatron(arguments), setting)


@over(beside_unpatched(matrix.allocations))
def test_a_larger_model_trains_the_same(ask: Ask, cases: tuple[Case, Case]) -> None:
    without, paused = map(ask, cases)

    assert different(steps(paused), steps(without)) == []


@over(each(matrix.allocations))
def test_both_buffers_lie_in_memory_of_their_tag(ask: Ask, cases: tuple[Case]) -> None:
    answered = ask(cases[0])
    assert answered.failure is None, answered.failure

    assert answered.answers[0]["placement"] == {"known": True, "checked": 2, "misplaced": []}


@over(each(matrix.allocations))
def test_the_device_bytes_freed_are_those_predicted(ask: Ask, cases: tuple[Case]) -> None:
    found = pauses(ask(cases[0]))

    assert [each["before"]["device"] - each["paused"]["device"] for each in found] == pytest.approx(
        [each["tracked"]["device"] for each in found], rel=NEAR
    )


@over(each(matrix.allocations))
def test_the_host_bytes_taken_are_those_predicted(ask: Ask, cases: tuple[Case]) -> None:
    found = pauses(ask(cases[0]))

    assert [each["paused"]["host"] - each["before"]["host"] for each in found] == pytest.approx(
        [each["tracked"]["host"] for each in found], rel=NEAR
    )


@over(each(lambda plan: [case for case in matrix.allocations(plan) if case.hook == "preload"]))
def test_later_pauses_are_near_the_estimate_from_the_arguments(ask: Ask, cases: tuple[Case]) -> None:
    later = pauses(ask(cases[0]))[1:]
    phases = {phase.name: phase for phase in estimated(cases[0]).phases}
    spare = 32 << 20  # It is freed while paused, and not of the model.

    assert [each["paused"]["host"] - each["before"]["host"] for each in later] == pytest.approx(
        [phases["sleep"].host_bytes + spare] * len(later), rel=CACHED
    )
    assert [each["before"]["device"] - each["paused"]["device"] for each in later] == pytest.approx(
        [phases["train"].device_bytes + spare] * len(later), rel=CACHED
    )


@over(each(matrix.hook_modes))
def test_a_process_that_preloads_keeps_its_hook_mode(ask: Ask, cases: tuple[Case]) -> None:
    answered = ask(cases[0])
    assert answered.failure is None, answered.failure
    found = answered.answers[0]

    assert found["mode"] == "preload"
    assert found["freed"] == pytest.approx(found["allocated"][0], rel=NEAR)
