"""What the series does to Megatron: nothing with its flags off, and exactly what it says with them on.

Real Megatron of every release trains on the CPU, one process per tree; a stand-in for
torch_memory_saver logs the regions. See worker.py for the scenarios that the tests name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from releases import HAS_OWN_REGIONS, crossed, first_of_each_text, having

pytestmark = pytest.mark.behaviour

Answer = dict[str, Any]
Ask = Callable[[str, str], Answer]

GRADS = "disable_grad_buffers_cpu_backup"
PARAMS = "disable_param_buffers_cpu_backup"
GRAD_TAG = "grad_buffer"
PARAM_TAG = "param_buffer"

# The parameters of the model in the order in which a buffer lays them out.
DENSE_GRADS = [
    f"{name}.main_grad"
    for name in (
        "output_layer.weight",
        "decoder.final_layernorm.bias",
        "decoder.final_layernorm.weight",
        "decoder.layers.0.mlp.linear_fc1.bias",
        "decoder.layers.0.mlp.linear_fc1.weight",
        "decoder.layers.0.pre_mlp_layernorm.bias",
        "decoder.layers.0.pre_mlp_layernorm.weight",
        "decoder.layers.0.self_attention.linear_qkv.bias",
        "decoder.layers.0.self_attention.linear_qkv.weight",
        "decoder.layers.0.self_attention.linear_proj.bias",
        "decoder.layers.0.self_attention.linear_proj.weight",
        "decoder.layers.0.input_layernorm.bias",
        "decoder.layers.0.input_layernorm.weight",
        "embedding.position_embeddings.weight",
        "embedding.word_embeddings.weight",
    )
]
EXPERT_GRADS = [f"decoder.layers.0.mlp.linear_fc2.{name}.main_grad" for name in ("bias", "weight")]


def allocated(*regions: tuple[str, str], outside: Sequence[str] = ()) -> Answer:
    """One region without backup around each of these allocations, and these outside of all regions."""
    entered = [{"tag": tag, "enable_cpu_backup": False, "allocated": [name]} for tag, name in regions]
    return {"regions": entered, "outside": list(outside)}


GRAD_DATA = [(GRAD_TAG, "dense.grad_data"), (GRAD_TAG, "expert.grad_data")]
PARAM_DATA = [(PARAM_TAG, "dense.param_data"), (PARAM_TAG, "expert.param_data")]
BOTH_DATA = [PARAM_DATA[0], GRAD_DATA[0], PARAM_DATA[1], GRAD_DATA[1]]
SHARED = [(GRAD_TAG, "dense.shared_buffer"), (GRAD_TAG, "expert.shared_buffer")]


def names(regions: Sequence[tuple[str, str]]) -> list[str]:
    """The allocations without their tags."""
    return [name for _, name in regions]


# With the flags off.

TRAINED = ("all_reduce", "all_reduce_overlapped", "sharded", "sharded_overlapped", "sharded_bf16_gradients")
RELOADED = ("all_reduce_reloaded", "sharded_reloaded")


def trained(*variants: str) -> list[str]:
    """Their scenarios."""
    return [f"trained {variant}" for variant in variants]


@pytest.mark.parametrize(
    ("target", "scenario"),
    [
        *crossed(having(), trained(*TRAINED)),
        *crossed(having("reload"), trained(*RELOADED)),
        *crossed(having("extra_main_grads"), trained("extra_main_grads")),
    ],
)
def test_flags_off_train_bit_for_bit_as_unpatched(unpatched: Ask, patched: Ask, target: str, scenario: str) -> None:
    assert patched(target, scenario) == unpatched(target, scenario)


@pytest.mark.parametrize(("target", "scenario"), crossed(having(), ["interface"]))
def test_interface_gains_the_two_fields_and_keywords_and_keeps_the_rest(
    unpatched: Ask, patched: Ask, target: str, scenario: str
) -> None:
    before = unpatched(target, scenario)
    new = [[GRADS, "False"], [PARAMS, "False"]]
    new_fields = [] if target == HAS_OWN_REGIONS else new
    place = [name for name, _ in before["config"]].index("use_distributed_optimizer") + 1

    assert patched(target, scenario) == {
        "config": before["config"][:place] + new_fields + before["config"][place:],
        "ddp": before["ddp"] + new,
        "buffer": before["buffer"] + new,
    }


@pytest.mark.parametrize(("target", "scenario"), crossed(having(), ["imports"]))
def test_flags_off_load_the_same_modules_as_unpatched(unpatched: Ask, patched: Ask, target: str, scenario: str) -> None:
    assert patched(target, scenario) == unpatched(target, scenario)


@pytest.mark.parametrize(("target", "scenario"), crossed(having(without=(HAS_OWN_REGIONS,)), ["imports"]))
def test_flags_off_do_not_import_the_saver(patched: Ask, target: str, scenario: str) -> None:
    modules = patched(target, scenario)["modules"]

    assert [module for module in modules if module.startswith("torch_memory_saver")] == []


FLAGS_OFF = {
    "no flag": allocated(outside=names(BOTH_DATA)),
    "flags false": allocated(outside=names(BOTH_DATA)),
    "no flag, buffer": allocated(outside=["buffer.param_data", "buffer.grad_data"]),
}


@pytest.mark.parametrize(("target", "scenario"), crossed(having(), FLAGS_OFF))
def test_flags_off_enter_no_region(patched: Ask, target: str, scenario: str) -> None:
    assert patched(target, scenario) == FLAGS_OFF[scenario]


# With the flags on.


@pytest.mark.parametrize(
    ("target", "scenario"),
    [
        *crossed(having(), ["all_reduce, on and off", "sharded, on and off"]),
        *crossed(having("reload"), ["sharded_reloaded, on and off"]),
        *crossed(having("extra_main_grads"), ["extra_main_grads, on and off"]),
    ],
)
def test_flags_on_train_bit_for_bit_as_flags_off(patched: Ask, target: str, scenario: str) -> None:
    answer = patched(target, scenario)

    assert answer["on"] == answer["off"]


BUFFER_BOTH = [(PARAM_TAG, "buffer.param_data"), (GRAD_TAG, "buffer.grad_data")]
FLAGS_ON = {
    "grads by config": allocated(*GRAD_DATA, outside=names(PARAM_DATA)),
    "grads by ddp keyword": allocated(*GRAD_DATA, outside=names(PARAM_DATA)),
    "grads by buffer config": allocated(BUFFER_BOTH[1], outside=["buffer.param_data"]),
    "grads by buffer keyword": allocated(BUFFER_BOTH[1], outside=["buffer.param_data"]),
    "params by config": allocated(*PARAM_DATA, outside=names(GRAD_DATA)),
    "params by ddp keyword": allocated(*PARAM_DATA, outside=names(GRAD_DATA)),
    "params by buffer config": allocated(BUFFER_BOTH[0], outside=["buffer.grad_data"]),
    "params by buffer keyword": allocated(BUFFER_BOTH[0], outside=["buffer.grad_data"]),
    "both by config": allocated(*BOTH_DATA),
    "both by ddp keyword": allocated(*BOTH_DATA),
    "both by buffer keyword": allocated(*BUFFER_BOTH),
    "grads by config, params by ddp keyword": allocated(*BOTH_DATA),
    "config true, ddp keyword false": allocated(*BOTH_DATA),
}


@pytest.mark.parametrize(("target", "scenario"), crossed(having(), FLAGS_ON))
def test_each_flag_puts_its_buffer_and_nothing_else_in_a_region_of_its_tag(
    patched: Ask, target: str, scenario: str
) -> None:
    assert patched(target, scenario) == FLAGS_ON[scenario]


UNSHARDED = {
    "grads, unsharded": allocated(*GRAD_DATA),
    "params, unsharded": allocated(outside=names(GRAD_DATA)),
    "both, unsharded": allocated(*GRAD_DATA),
}


@pytest.mark.parametrize(("target", "scenario"), crossed(having(), UNSHARDED))
def test_param_flag_does_nothing_without_the_distributed_optimizer(patched: Ask, target: str, scenario: str) -> None:
    assert patched(target, scenario) == UNSHARDED[scenario]


def _with_extra(dense: Sequence[str], expert: Sequence[str]) -> list[str]:
    """Per buffer, its own allocations and then one gradient per parameter."""
    return [
        *(f"dense.{name}" for name in dense),
        *DENSE_GRADS,
        *(f"expert.{name}" for name in expert),
        *EXPERT_GRADS,
    ]


EXTRA = {
    "extra main grads, no flag": allocated(
        outside=_with_extra(["param_data", "grad_data"], ["param_data", "grad_data"])
    ),
    "extra main grads, grads": allocated(
        *((GRAD_TAG, name) for name in _with_extra(["grad_data"], ["grad_data"])), outside=names(PARAM_DATA)
    ),
    "extra main grads, params": allocated(*PARAM_DATA, outside=_with_extra(["grad_data"], ["grad_data"])),
    "extra main grads, both": allocated(
        *(
            (PARAM_TAG if name.endswith("param_data") else GRAD_TAG, name)
            for name in _with_extra(["param_data", "grad_data"], ["param_data", "grad_data"])
        )
    ),
}


@pytest.mark.parametrize(("target", "scenario"), crossed(having("extra_main_grads"), EXTRA))
def test_extra_main_grads_are_gradients(patched: Ask, target: str, scenario: str) -> None:
    assert patched(target, scenario) == EXTRA[scenario]


MXFP8 = {
    "mxfp8, no flag": allocated(outside=names(SHARED)),
    "mxfp8, both": allocated(*SHARED),
    "mxfp8, both, bf16 gradients": allocated(*SHARED),
    "mxfp8, grads, unsharded": allocated(*GRAD_DATA),
}


@pytest.mark.parametrize(("target", "scenario"), crossed(having("mxfp8"), MXFP8))
def test_buffer_shared_by_params_and_grads_has_the_tag_of_the_gradients(
    patched: Ask, target: str, scenario: str
) -> None:
    assert patched(target, scenario) == MXFP8[scenario]


KEPT = {"parameters kept": True}
RELOAD = {
    "reload, no flag": {**allocated(outside=names(BOTH_DATA)), **KEPT},
    "reload, grads": {**allocated(*GRAD_DATA, outside=names(PARAM_DATA)), **KEPT},
    "reload, params": {**allocated(*PARAM_DATA, outside=names(GRAD_DATA)), **KEPT},
    "reload, both": {**allocated(*BOTH_DATA), **KEPT},
    "reload, mxfp8": allocated(*SHARED),
    "reload of parameters, mxfp8": allocated(*SHARED),
    "restore of gradients, no flag": allocated(outside=names(GRAD_DATA)),
    "restore of gradients, grads": allocated(*GRAD_DATA),
}


@pytest.mark.parametrize(("target", "scenario"), crossed(having("reload"), RELOAD))
def test_reload_allocates_in_the_same_region_again(patched: Ask, target: str, scenario: str) -> None:
    assert patched(target, scenario) == RELOAD[scenario]


# What is refused.


def refusal(answer: Answer, *mentioned: str) -> Answer:
    """The answer with the message reduced to those of the names that it mentions."""
    return {**answer, "message": [name for name in mentioned if name in answer["message"]]}


def error(raised: str, *mentioned: str) -> Answer:
    """An error that mentions all of these, raised before anything was allocated."""
    return {"raised": raised, "message": list(mentioned), "allocated": [], "regions": []}


NO_ERROR: Answer = {"raised": None, "message": "", "allocated": [], "regions": []}

WITH_NCCL_UB = {
    f"{flag} {how}": flag
    for flag in (GRADS, PARAMS)
    for how in (
        "with nccl_ub",
        "by ddp keyword with nccl_ub",
        "by config with nccl_ub as argument",
        "by keyword with nccl_ub as argument",
    )
}


@pytest.mark.parametrize(("target", "scenario"), crossed(having("nccl_ub"), WITH_NCCL_UB))
def test_nccl_ub_with_a_flag_is_a_value_error_naming_both(patched: Ask, target: str, scenario: str) -> None:
    flag = WITH_NCCL_UB[scenario]

    assert refusal(patched(target, scenario), flag, "nccl_ub") == error("ValueError", flag, "nccl_ub")


WITH_FSDP = {
    f"{flag} with {field}": (flag, field)
    for flag in (GRADS, PARAMS)
    for field in ("use_custom_fsdp", "use_megatron_fsdp")
}
WITH_CUSTOM_FSDP = {name: pair for name, pair in WITH_FSDP.items() if pair[1] == "use_custom_fsdp"}
WITH_MEGATRON_FSDP = {name: pair for name, pair in WITH_FSDP.items() if pair[1] == "use_megatron_fsdp"}


@pytest.mark.parametrize(
    ("target", "scenario"),
    [*crossed(having(), WITH_CUSTOM_FSDP), *crossed(having("use_megatron_fsdp"), WITH_MEGATRON_FSDP)],
)
def test_fsdp_with_a_flag_is_a_value_error_naming_both(patched: Ask, target: str, scenario: str) -> None:
    pair = WITH_FSDP[scenario]

    assert refusal(patched(target, scenario), *pair) == error("ValueError", *pair)


@pytest.mark.parametrize(
    ("target", "scenario"),
    [
        *crossed(having(), ["use_custom_fsdp alone"]),
        *crossed(having("use_megatron_fsdp"), ["use_megatron_fsdp alone"]),
        *crossed(having("nccl_ub"), ["nccl_ub alone"]),
    ],
)
def test_what_excludes_a_flag_is_accepted_without_it(patched: Ask, target: str, scenario: str) -> None:
    assert patched(target, scenario) == NO_ERROR


UNEQUAL = (
    "mxfp8, grads only",
    "mxfp8, params only",
    "mxfp8, grads only by keyword",
    "mxfp8, params only by keyword",
)


@pytest.mark.parametrize(("target", "scenario"), crossed(having("mxfp8"), UNEQUAL))
def test_unequal_flags_on_a_shared_buffer_are_a_value_error_naming_both(
    patched: Ask, target: str, scenario: str
) -> None:
    assert refusal(patched(target, scenario), GRADS, PARAMS) == error("ValueError", GRADS, PARAMS)


MISSING = {
    f"{flag} by {how}, saver missing": flag for flag in (GRADS, PARAMS) for how in ("config", "keyword", "ddp keyword")
}


@pytest.mark.parametrize(("target", "scenario"), crossed(having(), MISSING))
def test_missing_saver_is_an_import_error_naming_the_flag(patched: Ask, target: str, scenario: str) -> None:
    flag = MISSING[scenario]

    assert refusal(patched(target, scenario), flag) == error("ImportError", flag)


@pytest.mark.parametrize(
    ("target", "scenario"), crossed(having(), ["no flag, saver missing", "params, unsharded, saver missing"])
)
def test_missing_saver_is_no_error_where_no_region_is_needed(patched: Ask, target: str, scenario: str) -> None:
    answer = patched(target, scenario)

    assert {key: answer[key] for key in ("raised", "message", "regions")} == {
        "raised": None,
        "message": "",
        "regions": [],
    }


# The first patch without the second.

FIRST_PATCH_TARGETS = first_of_each_text(having("mxfp8", without=(HAS_OWN_REGIONS,)))
FIRST_ALONE = {
    "mxfp8, no flag": MXFP8["mxfp8, no flag"],
    "grads by config": FLAGS_ON["grads by config"],
}


@pytest.mark.parametrize(("target", "scenario"), crossed(FIRST_PATCH_TARGETS, ["mxfp8, grads only"]))
def test_first_patch_alone_refuses_a_shared_buffer_and_names_the_second(
    grads_only: Ask, target: str, scenario: str
) -> None:
    mentioned = (GRADS, PARAMS, "no-backup-param-buffers")

    assert refusal(grads_only(target, scenario), *mentioned) == error("ValueError", *mentioned)


@pytest.mark.parametrize(("target", "scenario"), crossed(FIRST_PATCH_TARGETS, FIRST_ALONE))
def test_first_patch_alone_works_on_the_gradients(grads_only: Ask, target: str, scenario: str) -> None:
    assert grads_only(target, scenario) == FIRST_ALONE[scenario]


# The hook mode.

HOOK_MODES = {
    "plain": {"set": ["torch"], "have": True},
    "other preload": {"set": ["torch"], "have": True},
    "preload": {"set": [], "have": True},
    "preload among others": {"set": [], "have": True},
    "initialised": {"set": [], "have": True},
    "missing": {"set": [], "have": False},
}


@pytest.mark.parametrize(
    ("target", "scenario"),
    [
        *crossed(having("context"), ["hook mode of the inference context"]),
        *crossed(having("training"), ["hook mode of training"]),
    ],
)
def test_hook_mode_is_set_to_torch_only_where_nothing_is_preloaded_or_initialised(
    patched: Ask, target: str, scenario: str
) -> None:
    assert patched(target, scenario) == HOOK_MODES
