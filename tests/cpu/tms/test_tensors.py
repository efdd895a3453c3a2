"""The parameters of a rank one by one; that their sum is right, test_estimate.py and test_shape_megatron.py say."""

from __future__ import annotations

import pytest

from patchkit.tms.layers import Layout, Shape
from patchkit.tms.runs import Run, flat
from patchkit.tms.tensors import Tensors, rank_tensors

from .test_estimate import DEEPSEEK, GPT2, HYBRID, LLAMA, QWEN_MOE

W = 768


def test_a_gpt_has_its_parameters_in_the_order_of_the_model() -> None:
    layer = [W, W, W * W, W, 3 * W * W, 3 * W, W, W, 4 * W * W, 4 * W, 4 * W * W, W]

    # The embedding goes out as it came in.
    assert rank_tensors(GPT2, Layout(), 0) == Tensors((Run((50257 * W,)), Run(tuple(layer), 12), Run((W, W))), ())


def test_every_expert_has_matrices_of_its_own() -> None:
    found = rank_tensors(QWEN_MOE, Layout(data=8, expert=8), 0)

    assert found.expert == (Run((2 * 2048 * 768, 2048 * 768), 128 // 8 * 48),)


@pytest.mark.parametrize("shape", [LLAMA, QWEN_MOE, DEEPSEEK, HYBRID])
def test_nothing_that_has_no_elements_is_a_tensor(shape: Shape) -> None:
    for each in rank_tensors(shape, Layout(), 0):
        assert all(size > 0 for size in flat(each))
