"""Train one Megatron tree on a GPU with the real torch_memory_saver: one rank of one case, in a process of its own.

The one argument is a file with a JSON object: the fields of cycle.Job, and `tree` (folder that holds megatron/),
`hook` (`none`, `preload`, `torch`), `task` (key of gpu_tasks.TASKS), `store` (file by which ranks find each other) and
`out` (file for the answer). Started as `patchkit tms env` says, with patchkit and torch_memory_saver on the path of
imports. It imports, prints `ready`, waits for a line, and answers.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

CONTEXT = "megatron.core.inference.contexts.dynamic_context"
"""Where Megatron sets the hook mode; 0.12 and 0.13 have it elsewhere or not at all."""

MULTICAST = "NCCL_NVLS_ENABLE"


def main(file: Path) -> None:
    """Import, wait, answer."""
    job = json.loads(file.read_text(encoding="utf-8"))
    warnings.simplefilter("ignore")
    child: Any = importlib.import_module("child")
    tasks: Any = importlib.import_module("gpu_tasks")
    answer: dict[str, Any]
    try:
        prepare(Path(job["tree"]))
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        answer = tasks.TASKS[job["task"]](job)
    except Exception as error:  # a tree or a build that raises is an answer
        answer = child.described(error)
    answer["process"] = about_process()
    Path(job["out"]).write_text(json.dumps(answer), encoding="utf-8")
    # The threads of process groups may not be joined in time, and in hook mode torch the library ends a process with an
    # error when its pools go away outside of a region; the answer is on disk.
    sys.stdout.flush()
    os._exit(0)


def prepare(tree: Path) -> None:
    """Import torch, and Megatron from ``tree`` and from nowhere else."""
    machine: Any = importlib.import_module("machine")
    child: Any = importlib.import_module("child")
    machine.put_packages(tree, stand_ins=False)
    torch: Any = importlib.import_module("torch")
    machine.skip_compilation()
    # The same sums in the same order in every process, where that can be had. The public function would load the
    # compiler as well, which takes seconds.
    torch._C._set_deterministic_algorithms(True, warn_only=True)  # noqa: FBT003 - the signature of the function
    torch.utils.deterministic.fill_uninitialized_memory = False
    for name in child.IMPORTS:
        importlib.import_module(name)
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module(CONTEXT)
    with contextlib.suppress(ModuleNotFoundError):
        leave_multicast_alone(importlib.import_module("megatron.core.nccl_allocator"))


def leave_multicast_alone(allocator: Any) -> None:
    """Megatron turns NVLink multicast on when it makes its NCCL pool, also on machines where it has been turned off."""
    if not hasattr(allocator, "init"):
        return
    init = allocator.init

    def init_as_started() -> None:
        before = os.environ.get(MULTICAST)
        init()
        if before is not None:
            os.environ[MULTICAST] = before

    allocator.init = init_as_started


def about_process() -> dict[str, Any]:
    """What really ran: versions, the device, and the libraries of torch_memory_saver in this process, by digest."""
    torch: Any = importlib.import_module("torch")
    maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape").split("\n")
    paths = sorted({line.split(maxsplit=5)[5] for line in maps if "/torch_memory_saver_" in line})
    there = torch.cuda.is_available()
    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "torch": torch.__version__,
        "nccl": ".".join(map(str, torch.cuda.nccl.version())) if there else None,
        "gpu": torch.cuda.get_device_name() if there else None,
        "libraries": {Path(path).name: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in paths},
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
