"""The parameters of a rank one by one; that their sum is right, test_estimate.py and test_shape_megatron.py say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from patchkit.tms.layers import Layout, Shape
from patchkit.tms.runs import Run, flat
from patchkit.tms.tensors import Tensors, rank_tensors, stages

from .test_estimate import DEEPSEEK, GPT2, HYBRID, LLAMA, QWEN_MOE

W = 768


def test_a_gpt_has_its_parameters_in_the_order_of_the_model() -> None:
    layer = [W, W, W * W, W, 3 * W * W, 3 * W, W, W, 4 * W * W, 4 * W, 4 * W * W, W]

    # The embedding goes out as it came in.
    assert rank_tensors(GPT2, Layout(), 0) == Tensors((Run((50257 * W,)), Run(tuple(layer), 12), Run((W, W))), ())


def test_every_expert_has_matrices_of_its_own() -> None:
    found = rank_tensors(QWEN_MOE, Layout(data=8, expert=8), 0)

    assert found.expert == (Run((2 * 2048 * 768, 2048 * 768), 128 // 8 * 48),)


@pytest.mark.parametrize("shape", [LLAMA, HYBRID, replace(QWEN_MOE, dense_layers=1, predictors=1)])
@pytest.mark.parametrize("pipeline", [1, 2, 4])
def test_stages_one_after_the_other_are_those_that_are_asked_for(shape: Shape, pipeline: int) -> None:
    layout = Layout(pipeline=pipeline)

    assert list(stages(shape, layout)) == [rank_tensors(shape, layout, stage) for stage in range(pipeline)]


def test_stages_of_equal_layers_are_one_object() -> None:
    found = list(stages(replace(LLAMA, layers=1000), Layout(pipeline=1000)))

    assert len({id(each) for each in found}) == 3


def test_experts_are_in_layers_of_both_kinds_and_in_those_for_prediction() -> None:
    expert = (512 * 512, 512 * 512)
    assert rank_tensors(HYBRID, Layout(), 0).expert == (Run(expert, 8),)
    sparse = replace(HYBRID, pattern="", layers=4, dense_layers=1, predictors=2)

    assert rank_tensors(sparse, Layout(), 0).expert == (Run(expert, 8 * (3 + 2)),)
    assert rank_tensors(replace(sparse, experts=0), Layout(), 0).expert == ()


@pytest.mark.parametrize("shape", [LLAMA, QWEN_MOE, DEEPSEEK, HYBRID])
def test_nothing_that_has_no_elements_is_a_tensor(shape: Shape) -> None:
    for each in rank_tensors(shape, Layout(), 0):
        assert all(size > 0 for size in flat(each))
