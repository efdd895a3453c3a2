"""The flags exclude NCCL's user buffers, which work as before without them (two GPUs)."""

from __future__ import annotations

import pytest

from patchkit.tms.cycle import matrix
from patchkit.tms.cycle.cases import Case

from .conftest import Ask, over
from .test_cycle import beside_unpatched, different, each, steps

ASSERTION = "captures_underway.empty() INTERNAL ASSERT FAILED"

pytestmark = pytest.mark.gpu

FLAGS = ("disable_grad_buffers_cpu_backup", "disable_param_buffers_cpu_backup")
REASON = "cannot be used with nccl_ub: memory from NCCL's pool is out of torch_memory_saver's reach."


@over(each(matrix.refusals))
def test_a_flag_with_nccl_ub_is_refused_by_the_config_and_by_the_buffer(ask: Ask, cases: tuple[Case]) -> None:
    answered = ask(cases[0])
    assert answered.failure is None, answered.failure
    found = {name: said for name, said in answered.answers[0].items() if name != "process"}

    assert found == {
        f"{flag}, {way}": {"raised": "ValueError", "text": f"{flag} {REASON}", "where": where}
        for flag in FLAGS
        for way, where in (("field", "__post_init__"), ("keyword", "__init__"))
    }


@over(beside_unpatched(matrix.user_buffers))
def test_nccl_ub_trains_as_unpatched_with_and_without_pauses(ask: Ask, cases: tuple[Case, Case]) -> None:
    unpatched, patched = map(ask, cases)

    assert different(steps(patched), steps(unpatched)) == []


@over(each(matrix.dropped_pools))
def test_an_nccl_pool_dropped_in_a_region_ends_the_process_with_and_without_the_series(
    ask: Ask, cases: tuple[Case]
) -> None:
    answered = ask(cases[0])

    assert (answered.codes, [ASSERTION in said for said in answered.said]) == ((-6, -6), [True, True])
