"""Names that a Python source reads and nothing binds: pyflakes' opinion, by scope."""

from __future__ import annotations

import ast
from typing import Final

import msgspec

from patchkit.core.gating.loose import GIVEN
from patchkit.core.gating.parsing import ScopesByLine
from patchkit.core.scopes import MODULE

_UNBOUND: Final = frozenset({"UndefinedName", "UndefinedLocal", "UndefinedExport"})
# What the parser lets through and the compiler does not.
_MISPLACED: Final = frozenset(
    {
        "BreakOutsideLoop",
        "ContinueOutsideLoop",
        "DefaultExceptNotLast",
        "LateFutureImport",
        "ReturnOutsideFunction",
        "TwoStarredExpressions",
        "YieldOutsideFunction",
    }
)


class Finding(msgspec.Struct, frozen=True):
    """A name or a statement that the compiler or the interpreter will stumble over."""

    scope: str
    """Qualified name of the innermost class or function around it, or ``<module>``."""
    name: str
    """The unbound name; for a misplaced statement the kind of trouble."""
    line: int
    """1-based."""
    bound_nowhere: bool
    """True for a name, False for a statement where it may not stand (``return`` outside a function ...)."""


def findings(tree: ast.Module) -> tuple[Finding, ...]:
    """Return what pyflakes says of ``tree``, in order of line and name.

    Names under ``from x import *`` may come from there and are never reported. Raises RecursionError for trees that
    nest too deep.
    """
    from pyflakes.checker import Checker  # noqa: PLC0415 - 30 ms that who runs no gate does without

    class _Checker(Checker):  # type: ignore[misc] # pyflakes has no types, so Checker is Any
        builtIns = GIVEN  # noqa: N815 - pyflakes' name

    messages = _Checker(tree, filename="text.py", withDoctest=False).messages
    kept = [message for message in messages if type(message).__name__ in _UNBOUND | _MISPLACED]
    if not kept:
        return ()
    scopes = ScopesByLine(tree, MODULE)
    found: set[tuple[int, str, str, bool]] = set()
    for message in kept:
        kind = type(message).__name__
        name = str(message.message_args[0]) if kind in _UNBOUND else kind
        found.add((message.lineno, name, scopes.at(message.lineno), kind in _UNBOUND))
    return tuple(Finding(scope, name, line, unbound) for line, name, scope, unbound in sorted(found))
