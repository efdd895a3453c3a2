"""A checkpoint of model and optimizer, written and read by each rank."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def save(path: Path, ddp: Any, optimizer: Any, *, sharded: bool) -> None:
    """Write what this rank has."""
    torch: Any = importlib.import_module("torch")
    path.parent.mkdir(exist_ok=True)
    state = _local_state(optimizer) if sharded else optimizer.state_dict()
    torch.save({"model": ddp.module.state_dict(), "optimizer": state}, path)


def load(path: Path, ddp: Any, optimizer: Any, *, sharded: bool) -> None:
    """Read it into a model and an optimizer that have not trained."""
    torch: Any = importlib.import_module("torch")
    saved = torch.load(path, weights_only=False)
    ddp.module.load_state_dict(saved["model"])
    if sharded:
        _load_local_state(optimizer, saved["optimizer"])
    else:
        optimizer.load_state_dict(saved["optimizer"])


def _local_state(optimizer: Any) -> list[dict[str, Any]]:
    """Each rank its own share: the format in one file wants an optimizer of Apex or Transformer Engine."""
    training: Any = importlib.import_module("training")
    return [
        {
            "adam": each.optimizer.state_dict(),
            "main": [parameter.data for group in each.optimizer.param_groups for parameter in group["params"]],
        }
        for each in training.chained(optimizer)
    ]


def _load_local_state(optimizer: Any, saved: Sequence[Mapping[str, Any]]) -> None:
    training: Any = importlib.import_module("training")
    for each, state in zip(training.chained(optimizer), saved, strict=True):
        each.optimizer.load_state_dict(state["adam"])
        parameters = [parameter for group in each.optimizer.param_groups for parameter in group["params"]]
        for parameter, main in zip(parameters, state["main"], strict=True):
            parameter.data.copy_(main)
