"""Train one Megatron tree with the real torch_memory_saver under the simulator, pausing between steps.

Started by patchkit.tms.cycle.trainings with the library preloaded and the simulator on LD_LIBRARY_PATH; of patchkit its
guard alone is imported, and that only where a training asks for it. The one argument is a JSON object: `tree` (folder
that holds megatron/), `saver` (folder that holds torch_memory_saver/), `patchkit` (its folder), `folder` (for results),
`major` (of CUDA), `at_once` (trainings at a time) and `trainings`, each with the fields of
patchkit.tms.cycle.trainings.Training and a `name`.

Torch and Megatron are imported once. Each rank of each training is a process that is forked off before any memory was
used. In `folder`, NAME.RANK.json gets its answer, unless it dies first; NAME.RANK.report what the simulator saw;
NAME.RANK.said its standard error; ended.json the exit codes of the ranks by NAME; prepared.json why an import failed.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import json
import os
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

IMPORTS = (
    "megatron.core.distributed",
    "megatron.core.fp8_utils",
    "megatron.core.models.gpt.gpt_layer_specs",
    "megatron.core.optimizer",
    "megatron.core.parallel_state",
    "megatron.core.tensor_parallel.random",
)


def main(job: dict[str, Any]) -> None:
    """Answer the job; what goes wrong in Python is part of the answer."""
    warnings.simplefilter("ignore")
    machine: Any = importlib.import_module("machine")
    folder = Path(job["folder"])
    try:
        machine.put_packages(Path(job["tree"]))
        machine.put_package("patchkit", Path(job["patchkit"]))
        machine.pretend_cuda()
        # Megatron imports the one that this Python has, and its submodules would then be taken for those of another.
        sys.modules["torch_memory_saver"] = None  # type: ignore[assignment]
        with machine.cuda_means_cpu():
            for name in IMPORTS:
                importlib.import_module(name)
    except Exception as error:  # whatever a tree does at its import is the answer
        (folder / "prepared.json").write_text(json.dumps(described(error)), encoding="utf-8")
        return
    ended = run_all(job, folder)
    (folder / "ended.json").write_text(json.dumps(ended), encoding="utf-8")


def described(error: BaseException) -> dict[str, Any]:
    """An exception as data: its type, text, the function that raised it, and the traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    return {
        "raised": type(error).__name__,
        "text": str(error),
        "where": frames[-1].name if frames else "",
        "missing": error.name if isinstance(error, ModuleNotFoundError) else None,
        "traceback": "".join(traceback.format_exception(error)),
    }


def run_all(job: dict[str, Any], folder: Path) -> dict[str, list[int]]:
    """Run every training, as many at a time as the job says; its ranks always run together."""
    codes: dict[str, list[int]] = {training["name"]: [0] * training["world"] for training in job["trainings"]}
    running: dict[int, tuple[str, int]] = {}
    for training in job["trainings"]:
        while running and len(running) + training["world"] > job["at_once"]:
            wait_for_one(running, codes)
        for rank in range(training["world"]):
            running[fork_rank(job, training, rank, folder)] = (training["name"], rank)
    while running:
        wait_for_one(running, codes)
    return codes


def wait_for_one(running: dict[int, tuple[str, int]], codes: dict[str, list[int]]) -> None:
    """Note how the next one ended: its exit code, or minus the signal."""
    process, status = os.wait()
    name, rank = running.pop(process)
    codes[name][rank] = os.waitstatus_to_exitcode(status)


def fork_rank(job: dict[str, Any], training: dict[str, Any], rank: int, folder: Path) -> int:
    """Start one rank; returns its process id."""
    process = os.fork()
    if process:
        return process
    stem = f"{training['name']}.{rank}"
    with (folder / f"{stem}.said").open("wb") as said:
        os.dup2(said.fileno(), 2)
    os.environ["PATCHKIT_SIMULATOR_REPORT"] = str(folder / f"{stem}.report")
    ctypes.CDLL("libcuda.so.1").patchkit_sim_configure()
    try:
        store = str(folder / f"{training['name']}.store")
        checkpoint = str(folder / f"{training['name']}.checkpoint")
        where = {"rank": rank, "store": store, "saver": job["saver"], "major": job["major"], "folder": checkpoint}
        answer = run({**training, **where})
    except Exception as error:  # a build that raises is an answer
        answer = described(error)
    (folder / f"{stem}.json").write_text(json.dumps(answer), encoding="utf-8")
    # The threads of the process group may not be joined in time; the result is on disk.
    os._exit(0)


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Prepare the process of one rank, then train."""
    machine: Any = importlib.import_module("machine")
    device: Any = importlib.import_module("device")
    cycle: Any = importlib.import_module("cycle")
    load_saver(Path(job["saver"]))
    allocator = device.CachingAllocator(job["major"])
    pretend_pools(allocator)
    with machine.cuda_means_cpu():
        start_ranks(machine, job)
        saver: Any = importlib.import_module("torch_memory_saver").torch_memory_saver
        simulated = device.Simulated(allocator, saver)
        answer: dict[str, Any] = cycle.Cycle(cycle.Job.of(job), simulated).train()
    return answer


def load_saver(root: Path) -> None:
    """Import torch_memory_saver from ``root`` and nothing else from there: it may be a site-packages folder."""
    folder = root / "torch_memory_saver"
    spec = importlib.util.spec_from_file_location(
        "torch_memory_saver", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder} is no package")
    package = importlib.util.module_from_spec(spec)
    sys.modules["torch_memory_saver"] = package
    spec.loader.exec_module(package)


def pretend_pools(allocator: Any) -> None:
    """What torch_memory_saver takes from torch beside its hooks."""
    torch: Any = importlib.import_module("torch")
    torch.cuda.MemPool = type("MemPool", (), {"__init__": lambda _pool, *_, **__: None})
    torch.cuda.use_mem_pool = allocator.use_mem_pool
    torch.cuda.empty_cache = allocator.empty_cache
    # It knows nothing of this memory; without one the guard leaves out what it would ask of it.
    torch.cuda.memory_snapshot = None
    torch.get_device_module = lambda *_: torch.cuda


def start_ranks(machine: Any, job: dict[str, Any]) -> None:
    """The process group of all ranks, which find each other by a file."""
    distributed: Any = importlib.import_module("torch.distributed")
    plain = distributed.init_process_group
    store = distributed.FileStore(job["store"], job["world"])
    distributed.init_process_group = lambda *_, **__: plain(
        "gloo", store=store, rank=job["rank"], world_size=job["world"]
    )
    machine.start_one_rank()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
