"""patchkit: carry, apply and prove patches against NVIDIA Megatron-LM."""

from __future__ import annotations

# typing takes longer to import than the rest of what stands before the command line can be interrupted in peace.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from patchkit.core.carry import CarryResult, Status, Verdict, carry_file, carry_patch

try:
    from patchkit._version import __version__ as _built
except ImportError:
    # A copy of the sources that nobody built or installed.
    _built = "0+unknown"
# With its type, which mypy does not know where nobody built anything.
__version__: str = _built

__all__ = ["CarryResult", "Status", "Verdict", "__version__", "carry_file", "carry_patch"]


def __getattr__(name: str) -> Any:
    """Import the carry engine when it is asked for: `patchkit --version` does without."""
    if name in ("CarryResult", "Status", "Verdict", "carry_file", "carry_patch"):
        from patchkit.core import carry  # noqa: PLC0415 - see above

        return getattr(carry, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
