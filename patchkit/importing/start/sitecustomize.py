"""Puts the import hook into this Python process; on PYTHONPATH of everything that a patched process starts.

Python imports the first module of this name at its start (the documentation of ``site``), so the next one on the path,
of a distribution or of another tool, is run behind this.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec


class _Refuser:
    """Lets nobody import what cannot be patched here. An exception at this place would be printed and forgotten."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.packages = _packages(os.environ.get("PATCHKIT_LIVE", ""))

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        """Raise RuntimeError for modules of the packages, and those beside them in the same namespace."""
        if any(fullname == each or fullname.startswith(each.partition(".")[0] + ".") for each in self.packages):
            raise RuntimeError(f"{fullname} was to be patched at import, and {sys.executable} cannot: {self.reason}")
        return None


def _packages(text: str) -> list[str]:
    """Return the packages of the settings by their dotted names: Megatron's where the settings name none.

    As in patchkit.importing.settings, which may be out of reach here.
    """
    import json  # noqa: PLC0415 - not for a process without the variable

    try:
        values = json.loads(text)
    except ValueError:
        values = None
    found = values.get("packages") if isinstance(values, dict) else None
    if isinstance(found, list) and found:
        return [str(package).replace("/", ".") for package in found]
    return ["megatron.core"]


def _install() -> None:
    try:
        from patchkit.importing.hook import install  # noqa: PLC0415 - this Python may have no patchkit
        from patchkit.importing.settings import VARIABLE, parsed  # noqa: PLC0415 - as above
    except ImportError as error:
        sys.meta_path.insert(0, _Refuser(f"it has no patchkit ({error})"))
        return
    try:
        install(parsed(os.environ[VARIABLE]))
    except Exception as error:
        # Told when it matters, see _Refuser; at once where a person named a series alone: nobody knows for what it is.
        text = os.environ["PATCHKIT_LIVE"]
        if '"patches"' in text and '"packages"' not in text:
            sys.stderr.write(f"patchkit: nothing can be patched at import: {error}\n")
        sys.meta_path.insert(0, _Refuser(str(error)))


def _run_next() -> None:
    # pathlib takes longer to import than all of this.
    own = os.path.dirname(__file__)  # noqa: PTH120
    sys.path[:] = [entry for entry in sys.path if entry != own]
    found = PathFinder.find_spec(__name__, sys.path)
    if found is None or found.loader is None:
        return
    module = module_from_spec(found)
    sys.modules[__name__] = module
    found.loader.exec_module(module)


if os.environ.get("PATCHKIT_LIVE"):
    _install()
_run_next()
