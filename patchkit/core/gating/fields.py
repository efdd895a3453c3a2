"""Fields of a dataclass, or of a named tuple, in an order that Python refuses when it makes the class."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from patchkit.core.gating.focus import only
from patchkit.core.gating.layout import layout
from patchkit.core.gating.merged import Merged
from patchkit.core.gating.parsing import definitions, parse

_FIELD: Final = re.compile(rb"^[ \t]+\w+[ \t]*:[ \t]*\S", re.MULTILINE)
_KIND: Final = re.compile(rb"\b(?:dataclass|kw_only|KW_ONLY|NamedTuple)\b")
_KIND_OR_FIELD: Final = re.compile(_KIND.pattern + rb"|" + _FIELD.pattern, re.MULTILINE)
_BY_NAME: Final = frozenset({("kw_only", True), ("init", False)})
"""Settings of a class or a field with which a field has no place among the parameters of the constructor."""


class Misplaced(NamedTuple):
    """A field without a default behind one that has a default."""

    line: int
    """1-based."""
    name: str
    scope: str
    """Qualified name of the class."""


def misplaced_fields(merged: Merged) -> Iterator[Misplaced]:
    """Yield for each class of the result the first such field, if neither side has the class with one."""
    names = _doubtful(merged)
    if not names:
        return
    found = list(_misplaced(merged.result, names))
    if not found:
        return
    known = {each.scope for text in (merged.changed, merged.target) for each in _misplaced(text, names)}
    yield from (each for each in found if each.scope not in known)


def _doubtful(merged: Merged) -> frozenset[bytes]:
    """Return the names of the classes and functions at module level in which there may be one."""
    if not any(word in merged.result for word in (b"dataclass", b"NamedTuple")):
        return frozenset()
    if merged.both_edit(_KIND_OR_FIELD) and any(_KIND.search(text) for side in merged.edits for text in side):
        # A decorator stands with what is above it; one of the sides may have all of the class.
        apart = (layout(merged.result).beside(layout(text)) for text in (merged.changed, merged.target))
        return frozenset(chunk.name for chunks in apart for chunk in chunks)
    if not merged.both_edit(_FIELD):
        return frozenset()
    return frozenset(chunk.name for chunk in merged.chunks if b"class " in chunk.block)


def _misplaced(content: bytes, names: frozenset[bytes]) -> Iterator[Misplaced]:
    tree = parse(only(content, names)) or parse(content)
    if tree is None:
        return
    for scope, node in definitions(tree):
        if isinstance(node, ast.ClassDef) and _is_ordered(node):
            default = False
            for field in _fields(node):
                if field.value is None and default:
                    yield Misplaced(field.line, field.name, scope)
                    break
                default = default or field.value is not None


def _is_ordered(node: ast.ClassDef) -> bool:
    """Tell whether the fields of a class are the parameters of its constructor, by position."""
    if any(_last_name(base) == "NamedTuple" for base in node.bases):
        return True
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        if _last_name(call.func if call else decorator) == "dataclass":
            return call is None or _BY_NAME.isdisjoint(_settings(call))
    return False


class _Field(NamedTuple):
    name: str
    line: int
    value: ast.expr | None
    """Its default."""


def _fields(node: ast.ClassDef) -> Iterator[_Field]:
    """Yield the fields that have a place, in order."""
    for each in node.body:
        match each:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                kind = _last_name(annotation)
                if kind == "KW_ONLY":
                    return
                if kind == "ClassVar":
                    continue
                if isinstance(value, ast.Call) and _last_name(value.func) == "field":
                    if not _BY_NAME.isdisjoint(_settings(value)) or any(word.arg is None for word in value.keywords):
                        continue
                    defaults = (word.value for word in value.keywords if word.arg in ("default", "default_factory"))
                    value = next(defaults, None)
                yield _Field(name, each.lineno, value)


def _settings(call: ast.Call) -> set[tuple[str | None, object]]:
    """Return the keywords of a call that are given constants, with these."""
    found = ((word.arg, word.value) for word in call.keywords)
    return {(name, value.value) for name, value in found if isinstance(value, ast.Constant)}


def _last_name(node: ast.expr) -> str:
    """Return the name, or the last of several with dots between; for ``a.B[c]``, and in a string too, it is ``B``."""
    match node:
        case ast.Subscript(value=inner):
            return _last_name(inner)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case ast.Constant(value=str(text)):
            return text.partition("[")[0].rpartition(".")[2].strip()
    return ""
