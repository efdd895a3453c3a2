"""Parameters of real Megatron models, built on the CPU, against the formulas: equal to the last one."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import patchkit
from patchkit.operations.sources import fetch_release, load_workspace
from patchkit.tms.shape import from_megatron, rank_parameters
from patchkit.trees.archive import WheelTree, unpack

ROOT = Path(patchkit.__file__).parents[1]
RELEASES = ("0.16.1", "0.19.2")

BASE = {
    "num_layers": 4,
    "hidden_size": 64,
    "ffn_hidden_size": 96,
    "num_attention_heads": 4,
    "padded_vocab_size": 256,
    "swiglu": True,
    "add_bias_linear": False,
    "normalization": "RMSNorm",
    "untie_embeddings_and_output_weights": True,
    "position_embedding_type": "rope",
}
PLAIN = {"add_bias_linear": True, "swiglu": False, "normalization": "LayerNorm"}
LATENT = {
    "multi_latent_attention": True,
    "rope_type": "rope",
    "q_lora_rank": 24,
    "kv_lora_rank": 16,
    "qk_head_dim": 8,
    "qk_pos_emb_head_dim": 4,
    "v_head_dim": 12,
    "qk_layernorm": True,
}
EXPERTS = {"num_experts": 8, "moe_ffn_hidden_size": 32, "moe_router_topk": 2}
SHARED = {"moe_shared_expert_intermediate_size": 48}
HYBRID = {
    **BASE,
    "swiglu": False,
    "position_embedding_type": "none",
    "is_hybrid_model": True,
    "hybrid_override_pattern": "M*-M",
    "mamba_state_dim": 16,
    "mamba_head_dim": 16,
    "mamba_num_groups": 2,
}

CASES: dict[str, dict[str, Any]] = {
    "llama": BASE,
    "gpt2": {
        **BASE,
        **PLAIN,
        "position_embedding_type": "learned_absolute",
        "max_position_embeddings": 64,
        "untie_embeddings_and_output_weights": False,
    },
    "grouped queries": {
        **BASE,
        "group_query_attention": True,
        "num_query_groups": 2,
        "kv_channels": 24,
        "add_qkv_bias": True,
    },
    "norms of queries and keys": {**BASE, "qk_layernorm": True},
    "experts": {**BASE, **EXPERTS, **SHARED},
    "experts with biases": {**BASE, **EXPERTS, **PLAIN},
    "a bias of the router's scores": {
        **BASE,
        **EXPERTS,
        "moe_router_enable_expert_bias": True,
        "moe_router_score_function": "sigmoid",
    },
    "a gate of the shared expert": {**BASE, **EXPERTS, **SHARED, "moe_shared_expert_gate": True},
    "experts in every second layer": {**BASE, **EXPERTS, "moe_layer_freq": 2},
    "experts in the middle": {**BASE, **EXPERTS, "moe_layer_freq": [0, 1, 1, 0]},
    "latent attention": {**BASE, **LATENT},
    "latent attention without norms": {**BASE, **LATENT, "qk_layernorm": False},
    "latent attention with plain queries": {**BASE, **LATENT, "q_lora_rank": None, "qk_layernorm": False},
    "latent attention with biases": {**BASE, **LATENT, **PLAIN},
    "multi-token prediction": {**BASE, "mtp_num_layers": 1},
    "multi-token prediction with biases": {**BASE, **PLAIN, "mtp_num_layers": 2},
    "deepseek": {**BASE, **LATENT, **EXPERTS, **SHARED, "moe_layer_freq": [0, 1, 1, 1], "mtp_num_layers": 2},
    "mamba": {**HYBRID, "hybrid_override_pattern": "MMMM"},
    "hybrid": HYBRID,
    "hybrid with a number of heads": {**HYBRID, "mamba_num_heads": 6},
    "hybrid with biases": {**HYBRID, **PLAIN},
}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The (dense, expert) parameters of each case by release."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed; its CPU build is enough")
    workspace = load_workspace()
    found = {}
    for release in RELEASES:
        folder = tmp_path_factory.mktemp("megatron")
        unpack(WheelTree(fetch_release(workspace.versions, workspace.target(release))), folder / "tree", {})
        (folder / "cases.json").write_text(json.dumps(list(CASES.values())))
        subprocess.run(
            [
                *(sys.executable, "-B", Path(__file__).with_name("shapes_worker.py")),
                *(folder / name for name in ("tree", "cases.json", "out.json")),
            ],
            check=True,
            timeout=200,
            env={**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
        )
        found[release] = dict(zip(CASES, json.loads((folder / "out.json").read_text()), strict=True))
    return found


@pytest.mark.network
@pytest.mark.behaviour
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("case", CASES)
def test_the_formulas_have_every_parameter_of_the_model(
    built: dict[str, dict[str, Any]], release: str, case: str
) -> None:
    shape, layout = from_megatron(CASES[case])

    assert list(rank_parameters(shape, layout, 0)) == built[release][case]
