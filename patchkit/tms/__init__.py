"""torch_memory_saver: which library of it to load, what is really there, what its messages mean, and trying it out.

An island: nothing of the patch tool imports it but the command line, and of the package it imports the errors only.
Torch and torch_memory_saver are imported only when a training process asks for something of theirs.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from patchkit.tms.guard import OffloadGuard
    from patchkit.tms.identity import identify
    from patchkit.tms.library import Cuda, Rocm, preload_library
    from patchkit.tms.package import installed_package, package_at
    from patchkit.tms.start import start_environment

__all__ = [
    "Cuda",
    "OffloadGuard",
    "Rocm",
    "identify",
    "installed_package",
    "package_at",
    "preload_library",
    "start_environment",
]

_MODULES = {
    "Cuda": "library",
    "OffloadGuard": "guard",
    "Rocm": "library",
    "identify": "identity",
    "installed_package": "package",
    "package_at": "package",
    "preload_library": "library",
    "start_environment": "start",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: a launcher that wants a path does without the rest."""
    if name in _MODULES:
        from importlib import import_module  # noqa: PLC0415 - see above

        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
