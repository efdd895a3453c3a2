"""What is to be patched at import, as it goes from a process to those that it starts.

Imported at the start of every Python process below a patched one, so the standard library alone, and little of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Final, NamedTuple

from patchkit.errors import UsageError

VARIABLE: Final = "PATCHKIT_LIVE"
"""The environment variable that holds the settings, as JSON; ``1`` stands for the defaults."""
PACKAGE: Final = "megatron"
"""The package whose modules are patched."""
INSTALLED: Final = "installed"
"""As release: the megatron-core that is installed in this Python, and no other tree."""
START: Final = os.path.join(os.path.dirname(__file__), "start")  # noqa: PTH118, PTH120 - see above
"""The folder with the sitecustomize.py that puts the hook into each Python process that has it on PYTHONPATH."""

_KEYS = frozenset({"megatron", "patches", "patch"})


class Settings(NamedTuple):
    """The options of ``patchkit apply`` that mean something at import."""

    megatron: str | None = None
    """Release that the tree must be, or ``installed``; None: whatever its files say."""
    patches: str | None = None
    """Absolute path of the series; None: the built-in one."""
    names: tuple[str, ...] = ()
    """Patches asked for; none: all."""


def printed(settings: Settings) -> str:
    """Return the value of the variable for ``settings``."""
    values = {"megatron": settings.megatron, "patches": settings.patches, "patch": list(settings.names)}
    return json.dumps({key: value for key, value in values.items() if value}, sort_keys=True)


def parsed(text: str) -> Settings:
    """Return the settings that a value of the variable stands for. Raises UsageError."""
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if values == 1:
        return Settings()
    if not isinstance(values, dict) or not values.keys() <= _KEYS:
        raise _malformed(text)
    megatron, patches, names = values.get("megatron"), values.get("patches"), values.get("patch", [])
    texts = isinstance(megatron, str | None) and isinstance(patches, str | None) and isinstance(names, list)
    if not texts or not all(isinstance(name, str) for name in names):
        raise _malformed(text)
    return Settings(megatron, patches, tuple(names))


def _malformed(text: str) -> UsageError:
    return UsageError(
        f"{VARIABLE} is {text!r}, which is neither 1 nor what patchkit writes there",
        hint="let `python -m patchkit.live --print-environment` write it",
    )


def is_inherited(variables: Mapping[str, str]) -> bool:
    """Tell whether a Python process with these variables patches at import."""
    return bool(variables.get(VARIABLE)) and START in variables.get("PYTHONPATH", "").split(os.pathsep)


def environment(settings: Settings, before: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which a Python process below ``before`` patches at import, and its children with it."""
    path = [entry for entry in before.get("PYTHONPATH", "").split(os.pathsep) if entry and entry != START]
    return {VARIABLE: printed(settings), "PYTHONPATH": os.pathsep.join([START, *path])}
