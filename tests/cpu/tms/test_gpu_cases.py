"""The cases of the GPU tests: what is asked for, once each, and each with something to be compared with."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path

import pytest

from patchkit.errors import TrainerError
from patchkit.tms.cycle import matrix
from patchkit.tms.cycle.cases import Case
from patchkit.tms.cycle.gpus import Machine
from patchkit.tms.cycle.matrix import Plan
from patchkit.tms.cycle.on_gpu import Answered, Replay, Site, Turns, environment
from patchkit.tms.cycle.worker.gpu import leave_multicast_alone
from patchkit.tms.cycle.worker.sampling import Sampler

PLAN = Plan(megatrons=("0.12.0", "0.16.1", "0.19.2"), saver="0.0.10", hooks=("preload", "torch"), ranks=(1, 2))
KINDS: dict[str, Callable[[Plan], list[Case]]] = {
    name: getattr(matrix, name)
    for name in (
        "flags_off", "cycles", "allocations", "from_main", "unrestored", "guarded", "retained", "checkpoints",
        "hook_modes", "double_releases", "nested_regions", "refusals", "user_buffers", "dropped_pools",
    )
}  # fmt: skip
PLAIN = Case(megatron="0.19.2")
MACHINE = Machine(
    torch="2.11.0",
    cuda=13,
    gpus=1,
    gpu="GPU",
    driver="1",
    runtime=("/cuda",),
    nccl=("/site/nvidia/nccl/lib/libnccl.so.2",),
)
ALL = [case for kind in KINDS.values() for case in kind(PLAN)]


def test_every_case_is_there_once_and_its_name_is_its_own() -> None:
    assert len(set(ALL)) == len(ALL)
    assert len({case.id for case in ALL}) == len(ALL)
    compared = {matrix.unpatched(case) for case in ALL}
    assert len({case.id for case in compared | set(ALL)}) == len(compared | set(ALL))


def test_the_number_of_cases_is_that_of_the_matrix() -> None:
    # With flags and without: every way on one rank of the ends, and on two ranks of the newest.
    every, few = 8 + 8 + 4, 3 + 3 + 2

    assert {name: len(kind(PLAN)) for name, kind in KINDS.items()} == {
        "flags_off": (8 + 3 + 8) + (3 + 3 + 8),
        # Release by release, on one rank and on two, in each hook mode.
        "cycles": ((every + few + every) + (few + few + every)) * 2,
        "allocations": 6 + 4 + 6,
        "from_main": 2 * 2 * 2,
        "unrestored": 2 * 2 * 2,
        "guarded": 2 * 2 * 2,
        "retained": 2 * 2 * 2,
        "checkpoints": 2 * 2 * 2 * 2,
        "hook_modes": 3,
        "double_releases": 2,
        "nested_regions": 2,
        "refusals": 2,
        # 0.16 drops NCCL's pool, which hook mode torch cannot have.
        "user_buffers": 2 + 3,
        "dropped_pools": 2,
    }


@pytest.mark.parametrize(
    ("changes", "gone"),
    [
        ({"ranks": (1,)}, {"user_buffers", "dropped_pools"}),
        ({"ranks": (2,)}, {"allocations", "hook_modes", "double_releases", "nested_regions", "refusals"}),
        ({"hooks": ("torch",)}, {"hook_modes", "double_releases", "nested_regions"}),
        ({"megatrons": ("0.12.0",)}, {"refusals", "user_buffers", "dropped_pools"}),
        ({"hooks": ("preload",)}, {"dropped_pools"}),
        ({"megatrons": ("0.14.0", "0.18.2")}, {"dropped_pools"}),
    ],
)
def test_what_is_not_asked_for_is_not_there(changes: dict[str, tuple[str, ...]], gone: set[str]) -> None:
    plan = replace(PLAN, **changes)  # type: ignore[arg-type]

    assert {name for name, kind in KINDS.items() if not kind(plan)} == gone
    assert {
        (case.megatron in plan.megatrons, case.ranks in plan.ranks) for k in KINDS.values() for case in k(plan)
    } == {(True, True)}


def test_full_is_every_way_for_every_release() -> None:
    full = replace(PLAN, full=True)

    assert len(matrix.cycles(full)) == 3 * 20 * 2 * 2


def test_the_few_ways_have_each_value_at_least_once() -> None:
    for name in ("sharded", "gradients", "overlap"):
        assert {way[name] for way in matrix.FEW} == {way[name] for way in matrix.WAYS}


def test_what_a_case_is_compared_with_has_neither_patch_nor_pause_and_trains_the_same() -> None:
    for case in ALL:
        plain = matrix.unpatched(case)
        assert (plain.patched, plain.saver, plain.hook, plain.cycles, plain.grads) == (False, None, "none", 0, False)
        ways = ("megatron", "sharded", "gradients", "overlap", "ranks", "size", "digests", "user_buffers")
        assert [getattr(plain, name) for name in ways] == [getattr(case, name) for name in ways]


def test_the_worker_takes_every_field_that_it_is_told() -> None:
    worker = (files("patchkit.tms.cycle") / "worker" / "cycle.py").read_text(encoding="utf-8")
    gpu = "".join(
        (files("patchkit.tms.cycle") / "worker" / name).read_text(encoding="utf-8")
        for name in ("gpu.py", "gpu_tasks.py")
    )

    for name in ALL[0].job():
        assert f"\n    {name}:" in worker or f'job["{name}"]' in gpu, name


# --- who may use the device


def test_one_alone_waits_for_all_others_and_they_for_it() -> None:
    turns = Turns(2)
    order: list[str] = []
    inside = threading.Barrier(2)

    def share(name: str) -> None:
        with turns.take(alone=False):
            inside.wait(5)
            order.append(name)

    def alone() -> None:
        with turns.take(alone=True):
            order.append("alone")

    first = [threading.Thread(target=share, args=(name,)) for name in ("one", "two")]
    for thread in first:
        thread.start()
    for thread in first:
        thread.join(5)
    with turns.take(alone=False):
        last = threading.Thread(target=alone)
        last.start()
        last.join(0.2)
        order.append("three")
    last.join(5)

    assert (sorted(order[:2]), order[2:]) == (["one", "two"], ["three", "alone"])


# --- how a case failed


@pytest.mark.parametrize(
    ("codes", "answers", "said", "failure"),
    [
        ((0,), ({"steps": []},), ("noise",), None),
        ((0, 0), ({"steps": []}, {"raised": "E", "where": "f", "text": "why"}), ("", ""), "raises E in f: why"),
        ((1,), ({},), ("first\n[torch_memory_saver.cpp] why\nlast\n",), "ended with 1: [torch_memory_saver.cpp] why"),
        ((-11,), ({},), ("",), "ended with -11: it said nothing"),
        ((0,), ({},), ("only\n\n",), "ended with 0: only"),
    ],
)  # fmt: skip
def test_a_failure_is_told_by_the_first_rank_that_failed(
    codes: tuple[int, ...], answers: tuple[dict[str, object], ...], said: tuple[str, ...], failure: str | None
) -> None:
    assert Answered(codes, answers, said).failure == failure


# --- answers of before


def test_what_processes_left_is_an_answer_again(tmp_path: Path) -> None:
    case, other = PLAIN, replace(PLAIN, ranks=2)
    for file, text in {
        "machine.json": json.dumps({"date": "2026-11-30", **asdict(MACHINE)}),
        f"{case.id}/codes.json": "[0]",
        f"{case.id}/0.json": '{"steps": [1]}',
        f"{case.id}/0.said": "noise",
        f"{other.id}/0.json": '{"steps": [1]}',
    }.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    found = Replay(tmp_path)

    assert found.machine() == (MACHINE, "2026-11-30")
    assert found.answer(case) == Answered((0,), ({"steps": [1]},), ("noise",))
    # The other one was cut off.
    assert (found.has(case), found.has(other)) == (True, False)


def test_a_folder_without_answers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainerError, match="holds no answers of GPU tests"):
        Replay(tmp_path).machine()


# --- the environment


def test_a_process_without_the_library_has_nothing_of_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LD_PRELOAD", "other.so")
    monkeypatch.setenv("TMS_INIT_ENABLE", "1")
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    site = Site(machine=MACHINE, trees={}, savers={}, folder=tmp_path)
    found = environment(site, PLAIN)

    assert {"LD_PRELOAD", "TMS_INIT_ENABLE", "PYTORCH_CUDA_ALLOC_CONF"}.isdisjoint(found)
    assert found["NCCL_CUMEM_ENABLE"] == "0"
    assert Path(found["PYTHONPATH"].split(os.pathsep)[0], "patchkit").is_dir()


def test_user_buffers_get_the_nccl_that_torch_has_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CPATH", "before")
    monkeypatch.delenv("LIBRARY_PATH", raising=False)
    monkeypatch.delenv("NCCL_CUMEM_ENABLE", raising=False)
    site = Site(machine=MACHINE, trees={}, savers={}, folder=tmp_path)
    found = environment(site, replace(PLAIN, user_buffers=True))

    assert found["CPATH"] == f"/site/nvidia/nccl/include{os.pathsep}before"
    assert (Path(found["LIBRARY_PATH"]) / "libnccl.so").readlink() == Path("/site/nvidia/nccl/lib/libnccl.so.2")
    assert "NCCL_CUMEM_ENABLE" not in found


class Allocator:
    """What Megatron's module of that name does to the environment."""

    def init(self) -> None:
        os.environ["NCCL_NVLS_ENABLE"] = "1"


@pytest.mark.parametrize(("before", "after"), [("0", "0"), (None, "1")])
def test_multicast_that_was_turned_off_stays_off(
    monkeypatch: pytest.MonkeyPatch, before: str | None, after: str
) -> None:
    # Set first, so that it is put back whatever becomes of it.
    monkeypatch.setenv("NCCL_NVLS_ENABLE", "before")
    if before is None:
        del os.environ["NCCL_NVLS_ENABLE"]
    else:
        os.environ["NCCL_NVLS_ENABLE"] = before
    allocator = Allocator()
    leave_multicast_alone(allocator)
    allocator.init()

    assert os.environ["NCCL_NVLS_ENABLE"] == after


def test_a_release_without_such_an_allocator_is_left_alone() -> None:
    allocator = object()
    leave_multicast_alone(allocator)

    assert not hasattr(allocator, "init")


# --- memory over time


def test_a_sampler_reads_from_its_start_to_its_end() -> None:
    readings = iter(range(1, 1000))
    sampler = Sampler(lambda: {"device": next(readings), "host": 7}, period=0.001)
    time.sleep(0.02)
    taken = sampler.stop()

    assert len(taken) >= 2
    assert [each[1:] for each in taken] == [[at, 7] for at in range(1, len(taken) + 1)]
    assert [each[0] for each in taken] == sorted(each[0] for each in taken)
