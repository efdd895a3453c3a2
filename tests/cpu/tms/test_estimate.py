"""Parameters of published models, and the bytes of a rank in each phase."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from patchkit.cli.estimate import precision
from patchkit.errors import UsageError
from patchkit.tms.chart import as_svg
from patchkit.tms.estimate import Phase, Setting, estimate
from patchkit.tms.packing import Kept, reserved
from patchkit.tms.shape import Latent, Layout, Mamba, Shape, from_megatron, rank_parameters
from patchkit.tms.tensors import rank_tensors

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
DEEPSEEK = Shape(
    layers=61, hidden=7168, ffn=18432, heads=128, groups=128, channels=128, vocabulary=129280, qk_norm=True,
    experts=256, expert_ffn=2048, shared_expert_ffn=2048, dense_layers=3,
    latent=Latent(query_rank=1536, key_rank=512, channels=128, position_channels=64, value_channels=128),
)  # fmt: skip
HYBRID = Shape(
    layers=8, hidden=512, ffn=2048, heads=8, groups=2, channels=64, vocabulary=1024, vocabulary_multiple=1,
    gated=False, pattern="M-M*M-ME", experts=8, expert_ffn=512, mamba=Mamba(state=64, head=64, groups=4),
)  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "parameters"),
    [
        # As the cards of the models have them: Llama 3 8B, Qwen2.5 7B, Mixtral 8x7B, Qwen3 30B-A3B.
        (LLAMA, 8_030_261_248),
        (QWEN, 7_615_616_512),
        (MIXTRAL, 46_702_792_704),
        (QWEN_MOE, 30_532_122_624),
        # DeepSeek V3 without the biases of its routers' scores, which are no parameters in Megatron.
        (DEEPSEEK, 671_026_419_200 - 58 * 256),
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


@pytest.mark.parametrize("tensor", [1, 2, 4])
@pytest.mark.parametrize("pipeline", [1, 2, 4])
@pytest.mark.parametrize(
    ("shape", "whole"),
    [
        # A norm for each layer and one at the end; the router.
        (HYBRID, (8 + 1) * 512 + 512 * 8),
        # Two norms a layer, one at the end, and what goes down to a rank with its norms.
        (
            replace(DEEPSEEK, layers=8, dense_layers=0, experts=8, vocabulary_multiple=1),
            8 * (2 * 7168 + 7168 * (1536 + 512 + 64) + 1536 + 512 + 7168 * 8) + 7168,
        ),
    ],
    ids=["hybrid", "latent"],
)
def test_ranks_of_other_models_hold_them_together_too(tensor: int, pipeline: int, shape: Shape, whole: int) -> None:
    layout = Layout(tensor=tensor, pipeline=pipeline)
    together = sum(sum(rank_parameters(shape, layout, stage)) for stage in range(pipeline)) * tensor

    assert together == sum(rank_parameters(shape, Layout(), 0)) + (tensor - 1) * whole


def test_multi_token_prediction_is_on_the_last_stage_with_an_embedding_of_its_own() -> None:
    shape = replace(LLAMA, predictors=2)
    layer = 218_112_000
    more = [
        sum(rank_parameters(shape, Layout(pipeline=2), stage)) - sum(rank_parameters(LLAMA, Layout(pipeline=2), stage))
        for stage in (0, 1)
    ]

    assert more == [0, 2 * (layer + 2 * 4096**2 + 3 * 4096) + 128256 * 4096]
    assert sum(rank_parameters(shape, Layout(), 0)) - P == 2 * (layer + 2 * 4096**2 + 3 * 4096)


def test_a_pipeline_can_be_shorter_at_its_ends() -> None:
    layout = Layout(pipeline=4, first_layers=6, last_layers=6)

    assert [layout.stage(32, stage) for stage in range(4)] == [slice(0, 6), slice(6, 16), slice(16, 26), slice(26, 32)]
    assert [Layout(pipeline=2, first_layers=20).stage(32, stage) for stage in (0, 1)] == [slice(0, 20), slice(20, 32)]
    with pytest.raises(UsageError, match=r"layers over pipeline stages: 31 are not 6 \+ 6"):
        Layout(pipeline=2, first_layers=6, last_layers=6).stage(31, 0)


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
BUFFERS = {"parameters": (7659 << 21) - 2 * P, "gradients": (15317 << 21) - 4 * P}
"""What the buffers lack to a multiple of 2 MiB."""
PACKING = 592_545_792
"""Of one rank of eight; test_packing.py has what it is made of."""


ESTIMATE = (estimate(LLAMA, Layout(data=8), Setting()), "bytes of a rank by phase")


def phases(**changes: Any) -> dict[str, Phase]:
    return {each.name: each for each in estimate(LLAMA, Layout(data=8), Setting(**changes)).phases}


def test_the_phases_of_a_training_with_everything_backed_up() -> None:
    kept = {"parameters": 2 * P, "gradients": 4 * P, "optimizer": 12 * P // 8}
    kept["packing"] = PACKING
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

    assert before - phases(gradient_backup=False)["sleep"].host_bytes == 4 * P + BUFFERS["gradients"]
    both = phases(gradient_backup=False, parameter_backup=False)
    assert before - both["sleep"].host_bytes == 6 * P + sum(BUFFERS.values())
    with_copy = phases(parameter_backup=False, weight_copies=1)
    assert with_copy["sleep"].host_bytes == before - BUFFERS["parameters"]
    assert with_copy["train"].host == {"weight copies": 2 * P}


def test_a_backup_that_is_kept_is_there_in_every_phase() -> None:
    found = phases(backup_kept=True)

    assert found["train"].host == found["sleep"].host
    assert found["save"].host == {**found["sleep"].host, "checkpoint": 14 * P // 8}


@pytest.mark.parametrize("parameter_bytes", [2, 4])
@pytest.mark.parametrize("distributed", [True, False])
def test_the_device_has_whole_segments_and_all_of_them_on_the_host(parameter_bytes: int, *, distributed: bool) -> None:
    found = phases(parameter_bytes=parameter_bytes, distributed_optimizer=distributed)
    train = found["train"]

    assert train.device_bytes % (2 << 20) == 0
    assert found["sleep"].host_bytes == train.device_bytes
    assert 0 < train.device["packing"] < 0.03 * train.device_bytes


def test_without_the_distributed_optimizer_the_flag_of_parameters_does_nothing(command: Command, config: Path) -> None:
    plain = phases(distributed_optimizer=False)
    assert phases(distributed_optimizer=False, parameter_backup=False) == plain
    words = ("tms", "estimate", config, "--set", "use_distributed_optimizer=false", "--format", "json")
    code, out, err = command(*words, "--no-param-backup")

    assert (code, err) == (0, "note: --no-param-backup does nothing without use_distributed_optimizer\n")
    assert (code, out, "") == command(*words)


def test_without_the_distributed_optimizer_every_rank_has_its_whole_state() -> None:
    assert phases(distributed_optimizer=False)["train"].device["optimizer"] == 12 * P
    fp32 = dict(phases(parameter_bytes=4)["train"].device)
    assert fp32.pop("packing") > 0
    assert fp32 == {"parameters": 4 * P, "gradients": 4 * P, "optimizer": P}


def test_a_share_of_the_optimizer_is_rounded_up_and_that_of_experts_is_over_their_own_ranks() -> None:
    layout = Layout(data=7)
    (train, *_) = estimate(LLAMA, layout, Setting()).phases
    assert train.device["optimizer"] == 12 * P // 7 + 1
    layout = Layout(data=8, tensor=2, expert=8, expert_tensor=1)
    dense, expert = rank_parameters(QWEN_MOE, layout, 0)
    (train, *_) = estimate(QWEN_MOE, layout, Setting()).phases

    assert (layout.data, layout.expert_data) == (8, 2)
    assert train.device["optimizer"] == 12 * dense // 8 + 12 * expert // 2


def test_shares_of_experts_are_rounded_up_and_packed_over_their_own_ranks() -> None:
    layout, shape = Layout(data=14, expert=2), replace(QWEN_MOE, layers=2)
    dense, expert = rank_parameters(shape, layout, 0)
    (train, *_) = estimate(shape, layout, Setting()).phases
    kept = Kept(parameter_bytes=2, gradient_bytes=4, main_bytes=4, moments=(4, 4), shares=(14, 7))
    found = reserved(rank_tensors(shape, layout, 0), kept)

    assert layout.expert_data == 7
    assert 12 * expert % 7
    assert train.device["optimizer"] == -(-12 * dense // 14) + -(-12 * expert // 7)
    assert train.device_bytes == found.parameters + found.gradients + found.rest


def test_learned_positions_are_where_words_come_in_and_not_where_they_go_out() -> None:
    with_positions = replace(LLAMA, positions=1024)

    assert [
        sum(rank_parameters(with_positions, Layout(pipeline=2), stage))
        - sum(rank_parameters(LLAMA, Layout(pipeline=2), stage))
        for stage in (0, 1)
    ] == [1024 * 4096, 0]


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


def test_other_kinds_of_models_are_read_by_name() -> None:
    latent = {
        "multi_latent_attention": True,
        "q_lora_rank": 1536,
        "kv_lora_rank": 512,
        "qk_head_dim": 128,
        "qk_pos_emb_head_dim": 64,
        "v_head_dim": 128,
        "qk_layernorm": True,
    }
    assert from_megatron({**MEGATRON, **latent, "mtp_num_layers": 2})[0] == replace(
        LLAMA, latent=DEEPSEEK.latent, qk_norm=True, predictors=2
    )
    assert from_megatron({**MEGATRON, "mtp_num_layers": 2, "mtp_use_repeated_layer": True})[0].predictors == 1
    padded = from_megatron({**MEGATRON, "padded_vocab_size": 128257})[0]
    assert (padded.vocabulary, padded.vocabulary_multiple) == (128257, 1)
    assert from_megatron({**MEGATRON, "mtp_use_repeated_layer": True})[0].predictors == 0
    assert from_megatron({**MEGATRON, "num_experts": 8, "moe_layer_freq": 3})[0].kinds == "edd" * 10 + "ed"
    assert from_megatron({**MEGATRON, "num_experts": 8})[0].kinds == "e" * 32
    assert LLAMA.kinds == "d" * 32
    hybrid = {"hybrid_override_pattern": "M*-", "mamba_state_dim": 64, "mamba_head_dim": 32, "mamba_num_groups": 4}
    assert from_megatron({**MEGATRON, **hybrid})[0] == replace(
        LLAMA, layers=3, pattern="M*-", mamba=Mamba(state=64, head=32, groups=4)
    )
    assert from_megatron({**MEGATRON, **hybrid, "mamba_num_heads": 8})[0].mamba.heads == 8
    assert from_megatron({**MEGATRON, "decoder_first_pipeline_num_layers": 6})[1] == Layout()
    uneven = {"pipeline_model_parallel_size": 4, "decoder_first_pipeline_num_layers": 6}
    assert from_megatron({**MEGATRON, **uneven, "decoder_last_pipeline_num_layers": 6})[1] == Layout(
        pipeline=4, first_layers=6, last_layers=6
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_layers": None}, "num_layers is needed, as a positive number; it is not given"),
        # Each that is missing, at once.
        (
            {"hidden_size": None, "num_attention_heads": None, "vocab_size": None},
            "hidden_size, num_attention_heads, padded_vocab_size or vocab_size are needed, and not given",
        ),
        ({"vocab_size": "many"}, "padded_vocab_size or vocab_size is needed, as a positive number; it is 'many'"),
        ({"pipeline_model_parallel_size": 3}, "layers over pipeline stages: 32 cannot be divided by 3"),
        ({"tensor_model_parallel_size": 3}, "attention heads over tensor parallelism: 32 cannot be divided by 3"),
        ({"num_experts": 8, "moe_layer_freq": "2"}, "moe_layer_freq '2' is no positive number, and no list of 0 and 1"),
        ({"num_experts": 8, "moe_layer_freq": [0, 1]}, r"moe_layer_freq \[0, 1\] is no positive number, and no list"),
        ({"num_experts": 8, "moe_layer_freq": -1}, "moe_layer_freq -1 is no positive number"),
        ({"hybrid_override_pattern": "MMG"}, r"a hybrid pattern with G is not known here: only \*-M"),
        ({"hybrid_layer_pattern": "M|M/*E"}, r"a hybrid pattern with /, E, \| is not known here"),
        ({"moe_latent_size": 64}, "moe_latent_size 64 is not known here"),
        ({"pipeline_model_parallel_layout": "Et|tL"}, "pipeline_model_parallel_layout 'Et|tL' is not known here"),
        ({"multi_latent_attention": True}, "kv_lora_rank is needed"),
        ({"position_embedding_type": "learned_absolute"}, "max_position_embeddings is needed"),
        (
            {
                "num_experts": 8,
                "moe_layer_freq": 2,
                "pipeline_model_parallel_size": 2,
                "virtual_pipeline_model_parallel_size": 2,
            },
            "virtual pipeline stages with layers of several kinds are not known here",
        ),
        (
            {"pipeline_model_parallel_size": 2, "decoder_first_pipeline_num_layers": 33},
            "layers over pipeline stages",
        ),
        ({"num_experts": 8, "expert_model_parallel_size": 3}, "cannot be divided by 3"),
        # Sizes that would make something of nothing, or less than nothing.
        ({"world_size": 0}, "world_size is no positive number: 0"),
        ({"num_layers": True}, "num_layers is needed, as a positive number; it is True"),
        ({"num_experts": -2}, "num_experts is no number: -2"),
        ({"context_parallel_size": -1}, "context_parallel_size is no positive number: -1"),
        ({"num_query_groups": 0}, "num_query_groups is no positive number: 0"),
        ({"hidden_size": 4097}, "hidden_size over attention heads: 4097 cannot be divided by 32"),
        ({"num_layers": 10**11}, "num_layers 100000000000 is more than 1000000"),
        ({"num_query_groups": 7}, "attention heads over query groups: 32 cannot be divided by 7"),
        ({"use_distributed_optimizer": "no"}, "use_distributed_optimizer is neither true nor false: 'no'"),
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
        "host": {
            "backup of parameters": 2 * P,
            "backup of optimizer": 12 * P // 8,
            "backup of packing": PACKING - BUFFERS["gradients"],
        },
    }


def test_the_command_draws_bars(command: Command, config: Path) -> None:
    code, out, _ = command("tms", "estimate", config, "--set", "tensor_model_parallel_size=2", "--no-param-backup")
    rows = [line.split("GB")[0].split() for line in out.splitlines() if "GB" in line and ", " in line.split("GB")[0]]

    assert code == 0
    assert out.startswith("a rank of pipeline stage 0 has 4,015,263,744 parameters\n")
    assert ["train,", "device", "36.74"] in rows
    assert ["sleep,", "host", "36.74"] in rows
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


def test_the_picture_is_a_png_where_the_name_says_so(command: Command, config: Path, tmp_path: Path) -> None:
    image: Any = pytest.importorskip("PIL.Image")
    picture = tmp_path / "bars.png"
    assert command("tms", "estimate", config, "--png", picture)[0] == 0
    with image.open(picture) as opened:
        pixels = opened.convert("RGB")
    svg = ET.fromstring(as_svg(*ESTIMATE)).get("viewBox", "").split()[2:]  # noqa: S314 - our own text

    assert (opened.format, pixels.size) == ("PNG", tuple(2 * int(side) for side in svg))
    # In the middle of the first row: parameters, gradients, optimizer, packing, and before them nothing.
    row = [pixels.getpixel((2 * x, 2 * (34 + 9))) for x in (110, 110 + 639, 110 + 628, 110 + 165, 110 + 172, 107)]
    assert row == [
        *((0x4E, 0x79, 0xA7), (0xBA, 0xB0, 0xAC), (0x59, 0xA1, 0x4F), (0x4E, 0x79, 0xA7), (0xF2, 0x8E, 0x2B)),
        (255, 255, 255),
    ]
    assert any(pixels.getpixel((x, 2 * 8)) != (255, 255, 255) for x in range(200))


def test_without_pillow_a_png_is_refused_with_what_to_do(
    command: Command, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PIL", "PIL.Image", "PIL.ImageDraw", "PIL.ImageFont"):
        monkeypatch.setitem(sys.modules, name, None)
    code, out, err = command("tms", "estimate", config, "--png", tmp_path / "bars.png")

    assert (code, out, list(tmp_path.glob("*.png"))) == (2, "", [])
    assert "hint: pip install pillow, or write an SVG" in err


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ([], 0),
        (["--tms", "0.0.10"], 0),
        (["--tms", "0.0.9.post1"], 6 * P + 12 * P // 8 + PACKING),
        (["--tms", "0.0.10", "--retain-backups"], 6 * P + 12 * P // 8 + PACKING),
        (["--retain-backups", "--no-grad-backup"], 2 * P + 12 * P // 8 + PACKING - BUFFERS["gradients"]),
    ],
)
def test_what_is_kept_of_backups_is_on_the_host_while_it_trains(
    command: Command, config: Path, words: list[str], kept: int
) -> None:
    _, out, _ = command("tms", "estimate", config, *words, "--format", "json")
    assert sum(json.loads(out)["phases"][0]["host"].values()) == kept
    _, out, _ = command("tms", "estimate", config, *words)
    assert ("kept backups take" in out) is bool(kept)


def test_in_hook_mode_torch_the_pool_keeps_what_the_step_had(command: Command, config: Path) -> None:
    def packing(*words: str) -> int:
        _, out, _ = command("tms", "estimate", config, *words, "--format", "json")
        size: int = json.loads(out)["phases"][0]["device"]["packing"]
        return size

    plain = packing()
    assert plain == PACKING
    kept, with_step = packing("--hook-mode", "torch"), packing("--hook-mode", "torch", "--step-bytes", "4")
    assert plain < kept < with_step


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tms", "0.0.8"], "--tms 0.0.8: it has no backups, so that a pause loses everything"),
        (["--tms", "main"], "--tms main: a release is expected, such as 0.0.10"),
        (["--set", "layers"], "--set layers: NAME=VALUE is expected"),
        (["--set", "num_layers=2"], "hidden_size, num_attention_heads, padded_vocab_size or vocab_size are needed"),
        (["--step-bytes", "4"], "--step-bytes is about --hook-mode torch"),
        (["--set", "bf16=no"], "bf16 is neither true nor false: 'no'"),
        ([Path(__file__)], "test_estimate.py: "),
    ],
)
def test_a_question_that_makes_no_sense_is_code_2(command: Command, words: list[Any], message: str) -> None:
    code, out, err = command("tms", "estimate", *words)

    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize("name", ["nothing.json", "."])
def test_a_file_that_cannot_be_read_is_code_4_as_everywhere(command: Command, tmp_path: Path, name: str) -> None:
    code, out, err = command("tms", "estimate", tmp_path / name)

    assert (code, out) == (4, "")
    assert err.startswith(f"error: cannot read {tmp_path / name}: ")


def test_a_file_that_is_no_text_is_named(command: Command, tmp_path: Path) -> None:
    (tmp_path / "bars.png").write_bytes(b"\x89PNG")

    code, out, err = command("tms", "estimate", tmp_path / "bars.png")

    assert (code, out) == (2, "")
    assert err == f"error: {tmp_path / 'bars.png'}: a JSON object is expected: it is no text in UTF-8\n"


def test_both_pictures_are_written_where_both_are_asked_for(command: Command, config: Path, tmp_path: Path) -> None:
    code, _, err = command("tms", "estimate", config, "--svg", tmp_path / "a.svg", "--png", tmp_path / "a.png")

    assert (code, err) == (0, "")
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<svg ")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_the_example_of_the_page_is_what_comes_of_it(command: Command, tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "estimate.md").read_text(encoding="utf-8")
    config = tmp_path / "llama3-8b.json"
    config.write_text(page.split("```json\n")[1].partition("```")[0])
    (asked, said) = page.split("```console\n$ patchkit ")[1].partition("\n```")[0].split("\n")
    words = [{config.name: config, "bars.svg": tmp_path / "bars.svg"}.get(word, word) for word in asked.split()]
    code, out, err = command(*words[: words.index("|")])

    assert (code, out.split("\n")[0], err) == (0, said, "")


def test_a_name_that_nothing_depends_on_is_noted(command: Command, config: Path) -> None:
    code, _, err = command("tms", "estimate", config, "--set", "disable-bias-linear=true", "--set", "--num-layers=16")

    assert code == 0
    assert err == ("note: nothing here depends on disable_bias_linear; is that its name in Megatron's namespace?\n")


def test_a_name_that_is_noted_is_no_line_of_its_own(command: Command, config: Path) -> None:
    code, _, err = command("tms", "estimate", config, "--set", "a\x1b[31m\nb=true")

    assert code == 0
    assert err == "note: nothing here depends on a\\x1b[31m\\nb; is that its name in Megatron's namespace?\n"


@pytest.mark.parametrize(
    ("word", "parameter_bytes"), [("true", 2), ("True", 2), ("false", 4), ("False", 4), ("None", 4), ("null", 4)]
)
def test_a_switch_is_written_as_in_json_or_as_in_python(
    command: Command, config: Path, word: str, parameter_bytes: int
) -> None:
    _, out, _ = command("tms", "estimate", config, "--set", f"bf16={word}", "--format", "json")

    assert json.loads(out)["phases"][0]["device"]["parameters"] == parameter_bytes * P


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"optimizer": "sgd"}, "optimizer 'sgd' is not known here: only adam"),
        ({"use_precision_aware_optimizer": True}, "use_precision_aware_optimizer True is not known here"),
        ({"use_torch_fsdp2": True}, "use_torch_fsdp2 True is not known here"),
        ({"nccl_ub": True, "fp8_param_gather": True}, "nccl_ub True is not known here"),
    ],
)
def test_what_makes_another_number_of_bytes_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        precision(arguments)
    assert precision({**dict.fromkeys(arguments), "optimizer": "adam"}) == precision({})
