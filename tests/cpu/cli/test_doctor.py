"""`patchkit doctor`: one page, and many ranks."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import jsonschema  # type: ignore[import-untyped]
import pytest
from operations import made_up

import patchkit as package
from patchkit.cli.commands.doctor import fleet_lines
from patchkit.cli.output import print_json
from patchkit.core.doctor import RankFacts, compare, digest_of
from patchkit.operations.fleet import gather
from patchkit.trees.memory import MemoryTree

from .conftest import Command

ROOT = Path(__file__).parents[3]


def laid(tree: MemoryTree, folder: Path) -> Path:
    for path, content in tree.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of whoever runs the tests has a say."""
    for name in [name for name in os.environ if name.startswith(("TMS_", "PYTORCH_", "NCCL_", "LD_PRELOAD", "RANK"))]:
        monkeypatch.delenv(name)


def test_one_page(patchkit: Command, series: Path, tmp_path: Path) -> None:
    tree = laid(made_up.patched_tree("2.0"), tmp_path / "tree")
    ran = patchkit("doctor", "--patches", series, "--in", tree)
    lines = ran.out.splitlines()

    assert (ran.code, ran.err) == (0, "")
    assert lines[0] == f"ok     Megatron-LM: 2.0 ({tree}): every patch that it needs is applied"
    assert [line.split(":")[0].split(maxsplit=1)[1] for line in lines if not line.startswith(" ")][:-1] == [
        "Megatron-LM",
        "torch_memory_saver",
        "preload library",
        "torch",
        "variables",
        "host memory",
    ]


def test_something_bad_is_exit_code_1(patchkit: Command, series: Path, tmp_path: Path) -> None:
    tree = laid(made_up.patched_tree("2.0", buffer=b"other\n"), tmp_path / "tree")
    ran = patchkit("doctor", "--patches", series, "--in", tree, "--format", "json")
    answer = json.loads(ran.out)

    assert (ran.code, answer["ok"], answer["examined"][0]["verdict"]) == (1, False, "bad")
    assert problems("doctor", answer) == []
    assert len(answer["digest"]) == 16


def problems(name: str, answer: object) -> list[str]:
    """What the shipped schema has against an answer."""
    schema = json.loads((Path(package.__file__).parent / "schemas" / f"{name}_report.schema.json").read_text())
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(answer)]


def test_the_json_of_many_ranks_is_of_the_shipped_schema(capsys: pytest.CaptureFixture[str]) -> None:
    ranks = [RankFacts(number, "node", ("torch",), {"torch": f"2.{number}"}) for number in range(2)]

    print_json(compare(ranks, "1"))
    answer = json.loads(capsys.readouterr().out)
    assert (answer["command"], len(answer["ranks"]), problems("fleet", answer)) == ("doctor --fleet", 2, [])


def test_a_megatron_that_is_named_has_to_be_there(patchkit: Command, series: Path, tmp_path: Path) -> None:
    ran = patchkit("doctor", "--patches", series, "--in", tmp_path / "nowhere")

    assert (ran.code, ran.out.splitlines()[0]) == (
        1,
        f"bad    Megatron-LM: {tmp_path / 'nowhere'} does not exist",
    )


def test_what_bad_ranks_and_different_ones_look_like() -> None:
    ranks = [RankFacts(number, "node", ("torch",), {"torch": "2.11"}) for number in range(3)]
    odd = RankFacts(3, "node\x1b[31m", ("torch", "variables"), {"torch": "2.10"})

    assert list(fleet_lines(compare([*ranks, odd], "1"))) == [
        f"4 ranks, 3 with digest {digest_of({'torch': '2.11'})}",
        "\x1b[31m\x1b[1mbad\x1b[0m: every rank: torch",
        "\x1b[31m\x1b[1mbad\x1b[0m: rank 3 on node\\x1b[31m: variables",
        "\x1b[31m\x1b[1mdiffers\x1b[0m: rank 3 on node\\x1b[31m: torch: 2.10; most have 2.11",
        "1 differ",
    ]


def test_fleet_without_torchrun(patchkit: Command) -> None:
    ran = patchkit("doctor", "--fleet")

    assert (ran.code, ran.err.splitlines()) == (
        2,
        [
            "error: --fleet compares the ranks of a job, and RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT are not set",
            "  hint: start it with torchrun: torchrun --nproc-per-node 8 -m patchkit doctor --fleet",
        ],
    )


def test_fleet_with_a_world_that_is_no_number(patchkit: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "x", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    ran = patchkit("doctor", "--fleet")

    assert (ran.code, ran.err) == (2, "error: WORLD_SIZE is 'x', and has to be a number\n")


def test_no_rank_ends_before_rank_0_has_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def gathered(into: list[str], text: str) -> None:
        into[:] = [text] * len(into)

    stand_in = ModuleType("torch.distributed")
    stand_in.__dict__.update(
        init_process_group=lambda *_, **__: calls.append("init"),
        all_gather_object=gathered,
        barrier=lambda: calls.append("barrier"),
        destroy_process_group=lambda: calls.append("destroy"),
    )
    torch = ModuleType("torch")
    torch.__dict__["distributed"] = stand_in
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.distributed", stand_in)
    monkeypatch.setenv("WORLD_SIZE", "2")

    for rank in (0, 1):
        gather(RankFacts(rank, "node", (), {}), lambda _: calls.append("print"))

    assert calls == ["init", "print", "barrier", "destroy", "init", "barrier", "destroy"]


@pytest.mark.behaviour
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs the CPU build of torch")
@pytest.mark.parametrize("odd", [False, True], ids=["alike", "one differs"])
def test_two_ranks_over_gloo(series: Path, tmp_path: Path, odd: bool) -> None:
    tree = laid(made_up.patched_tree("2.0"), tmp_path / "tree")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "patchkit", "doctor", "--fleet", "--patches", str(series), "--in", str(tree)]
    children = []
    for rank in range(2):
        job = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        own = {"TMS_INIT_ENABLE_CPU_BACKUP": "0"} if odd and rank else {}
        environment = {**os.environ, **job, **own}
        children.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True))
    outputs = [child.communicate(timeout=120)[0].splitlines() for child in children]

    assert [child.returncode for child in children] == [int(odd), int(odd)]
    assert outputs[1] == []
    if odd:
        assert outputs[0][1:] == [
            f"differs: rank 1 on {socket.gethostname()}: TMS_INIT_ENABLE_CPU_BACKUP: 0; most have nothing",
            "1 differ",
        ]
    else:
        assert outputs[0][1:] == ["all ranks are alike"]
