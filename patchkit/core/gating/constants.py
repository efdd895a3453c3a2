"""Values that tell the constants of a class apart: the members of an enumeration, and names for strings."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from typing import Final

_Value = int | str
_OPERATORS: Final[dict[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.BitOr: operator.or_,
    ast.LShift: operator.lshift,
}
_MOST_BITS: Final = 64
"""Bits up to which a shift is worth knowing."""


def constants(node: ast.ClassDef) -> Iterator[tuple[str, int]]:
    """Yield the value of each constant in a class body, as Python writes it, with the 1-based line.

    In an enumeration (a class with a base called ``...Enum`` or ``...Flag``) two members of one value are one member by
    two names. Elsewhere strings are constants where the name is in capitals; numbers there are seldom meant to differ.
    ``auto()`` counts from the highest value above it; a value that is no literal is passed over.
    """
    kinds = [_last_word(base) for base in node.bases]
    is_flag = any(kind.endswith("Flag") for kind in kinds)
    is_enum = is_flag or any(kind.endswith("Enum") for kind in kinds)
    highest = 0
    for statement in node.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=given) if not name.startswith("_"):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as given) if not is_enum:
                pass
            case _:
                continue
        value = _value(given)
        if is_enum and isinstance(given, ast.Call) and _last_word(given.func) == "auto" and "StrEnum" not in kinds:
            value = 1 << highest.bit_length() if is_flag else highest + 1
        if value is None or not (is_enum or (isinstance(value, str) and name.isupper())):
            continue
        if isinstance(value, int):
            highest = max(highest, value)
        yield repr(value), statement.lineno


def _last_word(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _value(node: ast.expr) -> _Value | None:
    """Return the string of a literal, or the int that a literal, or a sum or shift of literals, stands for."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return _number(node)


def _number(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _number(operand)
            return None if number is None else -number
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            one, two = _number(left), _number(right)
            if one is not None and two is not None and (type(op) is not ast.LShift or 0 <= two <= _MOST_BITS):
                return _OPERATORS[type(op)](one, two)
    return None
