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
BUILT_IN: Final = ("megatron/core",)
"""The packages of the built-in series' upstream; ``Upstream.shipped`` of Megatron-LM."""
INSTALLED: Final = "installed"
"""As release: what is installed of upstream in this Python, and no other tree."""
START: Final = os.path.join(os.path.dirname(__file__), "start")  # noqa: PTH118, PTH120 - see above
"""The folder with the sitecustomize.py that puts the hook into each Python process that has it on PYTHONPATH."""

_KEYS = frozenset({"megatron", "patches", "packages", "patch"})


class Settings(NamedTuple):
    """The options of ``patchkit apply`` that mean something at import."""

    megatron: str | None = None
    """Release that the tree must be, or ``installed``; None: whatever its files say."""
    patches: str | None = None
    """Absolute path of the series; None: the built-in one."""
    names: tuple[str, ...] = ()
    """Patches asked for; none: all."""
    packages: tuple[str, ...] = BUILT_IN
    """Folders of packages by which a tree of the series' upstream is known, as imports find them: ``Upstream.shipped``.

    None: what the series says (``patchkit.importing.overlay.complete``). They travel with the rest, so that a process
    knows what it is to look for without reading a series.
    """

    @property
    def tops(self) -> frozenset[str]:
        """Names of the top packages whose modules are asked for."""
        return frozenset(package.split("/", 1)[0] for package in self.packages)

    @property
    def described(self) -> str:
        """The packages in words, for messages."""
        return " and ".join(package.replace("/", ".") for package in self.packages)


def printed(settings: Settings) -> str:
    """Return the value of the variable for ``settings``."""
    values = {
        "megatron": settings.megatron,
        "patches": settings.patches,
        "packages": list(settings.packages) if settings.patches else None,
        "patch": list(settings.names),
    }
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
    megatron, patches = values.get("megatron"), values.get("patches")
    names, packages = values.get("patch", []), values.get("packages", [] if patches else list(BUILT_IN))
    if not isinstance(megatron, str | None) or not isinstance(patches, str | None):
        raise _malformed(text)
    if not all(isinstance(found, list) and all(isinstance(each, str) for each in found) for found in (names, packages)):
        raise _malformed(text)
    return Settings(megatron, patches, tuple(names), tuple(packages))


def _malformed(text: str) -> UsageError:
    return UsageError(
        f"{VARIABLE} is {text!r}, which is neither 1 nor what patchkit writes there",
        hint="let `python -m patchkit.live --print-environment` write it",
    )


def is_inherited(variables: Mapping[str, str], packages: tuple[str, ...] = BUILT_IN) -> bool:
    """Tell whether a Python process with these variables patches ``packages`` at import, or may: see ``complete``."""
    text = variables.get(VARIABLE)
    if not text or START not in variables.get("PYTHONPATH", "").split(os.pathsep):
        return False
    try:
        return parsed(text).packages in ((), packages)
    except UsageError:
        return True


def environment(settings: Settings, before: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which a Python process below ``before`` patches at import, and its children with it."""
    path = [entry for entry in before.get("PYTHONPATH", "").split(os.pathsep) if entry and entry != START]
    return {VARIABLE: printed(settings), "PYTHONPATH": os.pathsep.join([START, *path])}
