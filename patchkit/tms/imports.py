"""The packages that only a training process has, imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from patchkit.errors import CapabilityError


def torch() -> Any:
    """Return the package torch. Raises CapabilityError."""
    return _imported("torch")


def saver() -> Any:
    """Return the object of the package torch_memory_saver. Raises CapabilityError."""
    return _imported("torch_memory_saver").torch_memory_saver


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise CapabilityError(f"{name} cannot be imported: {error}") from error
