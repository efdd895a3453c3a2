"""What was asked for on the command line, looked at before hours of a GPU are spent on it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from patchkit.errors import PatchkitError
from patchkit.operations.sources import Workspace
from patchkit.tms.cycle.on_gpu import MACHINE


def problems(asked: Mapping[str, Any], workspace: Workspace) -> Iterator[str]:
    """What cannot work, each with its option and value."""
    yield from filter(None, (_of_release(name, workspace) for name in asked["megatron"] or ()))
    savers = [each.version for each in workspace.versions.torch_memory_saver.releases]
    if asked["tms"] not in savers:
        yield f"--tms {asked['tms']}: no recorded release of torch_memory_saver; there is: {', '.join(savers)}"
    if asked["at_once"] < 1:
        yield f"--at-once {asked['at_once']}: at least one case at a time"
    if asked["wheels"] is not None and not asked["wheels"].is_dir():
        yield f"--wheels {asked['wheels']}: no folder"
    if asked["replay"] is not None and not (asked["replay"] / MACHINE).is_file():
        yield f"--replay {asked['replay']}: it holds no answers of GPU tests ({MACHINE} is missing)"
    if asked["answers"] is not None and asked["answers"].exists() and not _is_empty(asked["answers"]):
        yield f"--answers {asked['answers']}: it is there already, and a new folder is expected"
    if asked["report"] is not None and not _can_be_written(asked["report"]):
        yield f"--report {asked['report']}: it cannot be written there"


def _of_release(name: str, workspace: Workspace) -> str | None:
    try:
        target = workspace.target(name)
    except PatchkitError as error:
        return f"--megatron {name}: {error.message}; {error.hint}"
    return None if target.release else f"--megatron {name}: a release is expected: branches and commits have no wheel"


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def _can_be_written(file: Path) -> bool:
    """Whether a file can be made, with the folders above it."""
    if file.exists():
        return file.is_file() and os.access(file, os.W_OK)
    there = next(folder for folder in file.absolute().parents if folder.exists())
    return there.is_dir() and os.access(there, os.W_OK)
