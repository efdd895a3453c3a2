"""Parameters of published models, and the bytes of a rank in each phase."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from patchkit.cli.estimate import precision
from patchkit.errors import UsageError
from patchkit.tms.estimate import Phase, Setting, estimate
from patchkit.tms.shape import Layout, Shape, from_megatron, rank_parameters

Command = Callable[..., tuple[int, str, str]]

LLAMA = Shape(layers=32, hidden=4096, ffn=14336, heads=32, groups=8, channels=128, vocabulary=128256)
QWEN = Shape(layers=28, hidden=3584, ffn=18944, heads=28, groups=4, channels=128, vocabulary=152064, qkv_bias=True)
MIXTRAL = replace(LLAMA, vocabulary=32000, experts=8, expert_ffn=14336)
QWEN_MOE = Shape(
    layers=48, hidden=2048, ffn=6144, heads=32, groups=4, channels=128, vocabulary=151936, qk_norm=True,
    experts=128, expert_ffn=768,
)  # fmt: skip
GPT2 = Shape(
    layers=12, hidden=768, ffn=3072, heads=12, groups=12, channels=64, vocabulary=50257, vocabulary_multiple=1,
    gated=False, tied=True, linear_bias=True, norm_parameters=2,
)  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "parameters"),
    [
        # As the cards of the models have them: Llama 3 8B, Qwen2.5 7B, Mixtral 8x7B, Qwen3 30B-A3B.
        (LLAMA, 8_030_261_248),
        (QWEN, 7_615_616_512),
        (MIXTRAL, 46_702_792_704),
        (QWEN_MOE, 30_532_122_624),
        # GPT-2 without its 1024 learned positions, which Megatron's rotary models do not have.
        (GPT2, 124_439_808 - 1024 * 768),
    ],
)
def test_published_models_have_their_number_of_parameters(shape: Shape, parameters: int) -> None:
    assert sum(rank_parameters(shape, Layout(), 0)) == parameters


@pytest.mark.parametrize("tensor", [1, 2, 4])
@pytest.mark.parametrize("pipeline", [1, 2, 4])
def test_ranks_together_hold_the_model_and_what_each_has_whole(tensor: int, pipeline: int) -> None:
    layout = Layout(tensor=tensor, pipeline=pipeline)
    shape = replace(LLAMA, vocabulary_multiple=1)
    together = sum(sum(rank_parameters(shape, layout, stage)) for stage in range(pipeline)) * tensor
    norms = (2 * 32 + 1) * 4096

    assert together == 8_030_261_248 + (tensor - 1) * norms


def test_a_tied_embedding_is_on_both_ends_of_a_pipeline() -> None:
    tied = replace(LLAMA, tied=True)
    ends = [sum(rank_parameters(tied, Layout(pipeline=2), stage)) for stage in (0, 1)]

    assert sum(ends) == 8_030_261_248
    assert sum(rank_parameters(tied, Layout(), 0)) == 8_030_261_248 - 128256 * 4096


def test_experts_are_shared_out_over_their_own_ranks() -> None:
    layout = Layout(data=8, tensor=2, expert=8, expert_tensor=1)

    assert (layout.expert_data, layout.data) == (2, 8)
    assert rank_parameters(QWEN_MOE, layout, 0)[1] == 48 * 128 * 3 * 2048 * 768 // 8


P = 8_030_261_248


def phases(**changes: Any) -> dict[str, Phase]:
    return {each.name: each for each in estimate(LLAMA, Layout(data=8), Setting(**changes)).phases}


def test_the_phases_of_a_training_with_everything_backed_up() -> None:
    kept = {"parameters": 2 * P, "gradients": 4 * P, "optimizer": 12 * P // 8}
    backup = {f"backup of {part}": size for part, size in kept.items()}
    found = phases(activations=5, untracked=3, update_buffer=7)

    assert found == {
        "train": Phase("train", {**kept, "activations": 5, "untracked": 3}, {}),
        "sleep": Phase("sleep", {"untracked": 3}, backup),
        "save": Phase("save", {**kept, "untracked": 3}, {"checkpoint": 14 * P // 8}),
        "update": Phase("update", {"untracked": 3, "update buffer": 7}, backup),
    }


def test_the_flags_save_four_and_two_bytes_a_parameter_and_a_restorer_takes_two() -> None:
    before = phases()["sleep"].host_bytes

    assert before - phases(gradient_backup=False)["sleep"].host_bytes == 4 * P
    assert before - phases(gradient_backup=False, parameter_backup=False)["sleep"].host_bytes == 6 * P
    with_copy = phases(parameter_backup=False, weight_copies=1)
    assert with_copy["sleep"].host_bytes == before
    assert with_copy["train"].host == {"weight copies": 2 * P}


def test_a_backup_that_is_kept_is_there_in_every_phase() -> None:
    found = phases(backup_kept=True)

    assert found["train"].host == found["sleep"].host
    assert found["save"].host == {**found["sleep"].host, "checkpoint": 14 * P // 8}


def test_without_the_distributed_optimizer_every_rank_has_its_whole_state() -> None:
    assert phases(distributed_optimizer=False)["train"].device["optimizer"] == 12 * P
    assert phases(parameter_bytes=4)["train"].device == {"parameters": 4 * P, "gradients": 4 * P, "optimizer": P}


def test_the_vocabulary_is_padded_for_tensor_parallelism() -> None:
    padded = replace(LLAMA, vocabulary=128512)

    assert rank_parameters(LLAMA, Layout(tensor=4), 0) == rank_parameters(padded, Layout(tensor=4), 0)


def test_the_rank_with_the_most_parameters_is_told() -> None:
    found = estimate(LLAMA, Layout(pipeline=4), Setting())

    assert (found.stage, found.parameters) == (3, 8 * 218_112_000 + 128256 * 4096 + 4096)


MEGATRON = {
    "num_layers": 32,
    "hidden_size": 4096,
    "ffn_hidden_size": 14336,
    "num_attention_heads": 32,
    "num_query_groups": 8,
    "vocab_size": 128256,
    "swiglu": True,
    "add_bias_linear": False,
    "normalization": "RMSNorm",
    "untie_embeddings_and_output_weights": True,
}


def test_arguments_of_megatron_are_read_by_name() -> None:
    assert from_megatron(MEGATRON) == (LLAMA, Layout())
    assert from_megatron(
        {**MEGATRON, "tensor_model_parallel_size": 2, "world_size": 16, "context_parallel_size": 2}
    ) == (
        LLAMA,
        Layout(data=8, tensor=2),
    )
    sized = {
        **MEGATRON,
        "data_parallel_size": 4,
        "context_parallel_size": 2,
        "num_experts": 8,
        "moe_layer_freq": [0, *[1] * 31],
    }
    assert from_megatron(sized) == (
        replace(LLAMA, experts=8, expert_ffn=14336, dense_layers=1),
        Layout(data=8),
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_layers": None}, "num_layers is needed, as a positive number; it is None"),
        ({"vocab_size": "many"}, "padded_vocab_size or vocab_size is needed, as a positive number; it is 'many'"),
        ({"pipeline_model_parallel_size": 3}, "layers over pipeline stages: 32 cannot be divided by 3"),
        ({"tensor_model_parallel_size": 3}, "attention over tensor parallelism: 41943040 cannot be divided by 3"),
        ({"num_experts": 8, "moe_layer_freq": 2}, "moe_layer_freq 2 is not known here"),
        ({"num_experts": 8, "expert_model_parallel_size": 3}, "cannot be divided by 3"),
    ],
)
def test_what_cannot_be_counted_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        estimate(*from_megatron({**MEGATRON, **changes}), Setting())


# --- the command


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**MEGATRON, "bf16": True, "use_distributed_optimizer": True, "world_size": 8}))
    return path


def test_the_command_answers_in_json(command: Command, config: Path) -> None:
    code, out, _ = command("tms", "estimate", config, "--no-grad-backup", "--format", "json")
    answer = json.loads(out)

    assert (code, answer["parameters"]) == (0, P)
    assert answer["phases"][1] == {
        "name": "sleep",
        "device": {},
        "host": {"backup of parameters": 2 * P, "backup of optimizer": 12 * P // 8},
    }


def test_the_command_draws_bars(command: Command, config: Path) -> None:
    code, out, _ = command("tms", "estimate", config, "--set", "tensor_model_parallel_size=2", "--no-param-backup")
    rows = [line.split("GB")[0].split() for line in out.splitlines() if "GB" in line and ", " in line.split("GB")[0]]

    assert code == 0
    assert out.startswith("a rank of pipeline stage 0 has 4,015,263,744 parameters\n")
    assert ["train,", "device", "36.14"] in rows
    assert ["sleep,", "host", "36.14"] in rows
    assert "█" in out


def test_the_picture_has_every_piece_with_its_name_and_size(command: Command, config: Path, tmp_path: Path) -> None:
    picture = tmp_path / "bars.svg"
    assert command("tms", "estimate", config, "--svg", picture)[0] == 0
    titles = [each.text for each in ET.parse(picture).iter("{http://www.w3.org/2000/svg}title")]  # noqa: S314 - our own file

    assert titles[:4] == [
        "bytes of a rank by phase",
        "parameters: 16.06 GB",
        "gradients: 32.12 GB",
        "optimizer: 12.05 GB",
    ]
    assert "backup of gradients: 32.12 GB" in titles
    assert "http" not in picture.read_text().replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "layers"], "--set layers: NAME=VALUE is expected"),
        (["--set", "num_layers=2"], "hidden_size is needed"),
        ([Path(__file__)], "test_estimate.py: "),
    ],
)
def test_a_question_that_makes_no_sense_is_code_2(command: Command, words: list[Any], message: str) -> None:
    code, out, err = command("tms", "estimate", *words)

    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, {"parameter_bytes": 4, "gradient_bytes": 4, "distributed_optimizer": False}),
        ({"bf16": True}, {"parameter_bytes": 2, "gradient_bytes": 4, "distributed_optimizer": False}),
        ({"fp16": True}, {"parameter_bytes": 2, "gradient_bytes": 2, "distributed_optimizer": False}),
        (
            {"bf16": True, "grad_reduce_in_fp32": False, "use_distributed_optimizer": True},
            {"parameter_bytes": 2, "gradient_bytes": 2, "distributed_optimizer": True},
        ),
    ],
)
def test_precision_is_that_of_the_arguments(arguments: dict[str, Any], expected: dict[str, Any]) -> None:
    assert precision(arguments) == expected
