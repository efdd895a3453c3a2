"""What a machine with GPUs has, found out without importing torch."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

from patchkit.errors import TrainerError

LIMIT = 240
"""Seconds that the question may take."""

_LOOK = """\
import json, re, sys
from pathlib import Path
import torch
found = {"torch": torch.__version__, "cuda": torch.version.cuda, "gpus": torch.cuda.device_count()}
if found["gpus"]:
    torch.zeros(1, device="cuda")
    found["gpu"] = torch.cuda.get_device_name(0)
    maps = Path("/proc/self/maps").read_text(errors="surrogateescape")
    found["runtime"] = sorted(set(re.findall(r"(/\\S*)/libcudart\\.so", maps)))
    found["nccl"] = sorted(set(re.findall(r"(/\\S*/libnccl\\.so\\S*)", maps)))
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """What this machine has."""

    torch: str
    cuda: int
    """The major that torch is built for."""
    gpus: int
    gpu: str
    driver: str
    runtime: tuple[str, ...]
    """Folders of the CUDA runtime that torch loads."""
    nccl: tuple[str, ...]
    """The library of NCCL that torch loads."""


def look_at_machine(python: str = sys.executable) -> Machine:
    """Ask the Python at ``python`` in a process of its own. Raises TrainerError when it sees no GPU."""
    done = subprocess.run([python, "-c", _LOOK], check=False, capture_output=True, text=True, timeout=LIMIT)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise TrainerError(f"{python} cannot use torch: {last[0]}")
    found = json.loads(done.stdout)
    if not found["gpus"]:
        raise TrainerError(f"torch {found['torch']} of {python} sees no GPU")
    return Machine(
        torch=found["torch"],
        cuda=int(str(found["cuda"]).partition(".")[0]),
        gpus=found["gpus"],
        gpu=found["gpu"],
        driver=_driver(),
        runtime=tuple(found["runtime"]),
        nccl=tuple(found["nccl"]),
    )


def _driver() -> str:
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(asked, check=False, capture_output=True, text=True, timeout=60)
    except OSError:
        return "unknown"
    return (done.stdout.strip().splitlines() or ["unknown"])[0]
