"""Makers of small edits: each yields what of its kind can be done to a source, one edit for each place."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterator
from random import Random

from benchmarks.carry.small_edits import CUT, END, IN, OUT, PASTE, Change, SmallEdit, Source, fresh_name


def _docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def insert_statements(source: Source, random: Random) -> Iterator[SmallEdit]:
    """A new statement before or after one."""
    for body in source.bodies():
        for node in body:
            name, indent = fresh_name(), source.indent(node)
            text = random.choice(
                [
                    f"{indent}{name} = 1\n",
                    f"{indent}{name}()\n",
                    f"{indent}if {random.choice(source.names or ['x'])}:\n{indent}    {name}()\n",
                    f"{indent}{random.choice(source.names or ['x'])} = {name}\n",
                    f"{indent}# {name} is told\n{indent}{name}(1)\n",
                ]
            )
            begin, end = source.whole(node)
            if source.text[end - 1 : end] == "\n":
                yield SmallEdit(f"insert after line {node.end_lineno}: {text.strip()!r}", (Change(end, end, text),))
            if not _docstring(node):
                yield SmallEdit(f"insert before line {node.lineno}: {text.strip()!r}", (Change(begin, begin, text),))


def delete_statements(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """A statement is gone."""
    for body in source.bodies():
        if len(body) < 2:
            continue
        for node in body:
            begin, end = source.whole(node)
            yield SmallEdit(f"delete lines {node.lineno}-{node.end_lineno}", (Change(begin, end, ""),), removes=True)


def replace_words(source: Source, random: Random) -> Iterator[SmallEdit]:
    """A name or constant is another."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            begin, end = source.span(node)
            if source.text[begin:end] == node.id:
                yield SmallEdit(f"line {node.lineno}: {node.id} becomes another", (Change(begin, end, fresh_name()),))
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            begin, end = source.span(node)
            if source.text[begin:end] == repr(node.value):
                yield SmallEdit(
                    f"line {node.lineno}: {node.value} becomes another",
                    (Change(begin, end, str(random.randrange(10**6))),),
                )


def add_keywords(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """A keyword argument more, at the end or in front of another keyword."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call) or not (node.args or node.keywords):
            continue
        if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            continue
        parts: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        end = max(source.span(part)[1] for part in parts)
        yield SmallEdit(f"line {node.lineno}: a keyword at the end", (Change(end, end, f", {fresh_name()}=1"),))
        for keyword in node.keywords:
            if keyword.arg is not None:
                begin = source.span(keyword)[0]
                yield SmallEdit(
                    f"line {node.lineno}: a keyword before {keyword.arg}",
                    (Change(begin, begin, f"{fresh_name()}=2, "),),
                )


def add_parameters(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """A parameter with a default more."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        spec = node.args
        if spec.vararg or spec.kwarg or spec.kwonlyargs or not spec.args:
            continue
        parts: list[ast.arg | ast.expr] = [*spec.args, *spec.defaults]
        end = max(source.span(part)[1] for part in parts)
        if source.text[end : end + 1] in ",\n)":
            yield SmallEdit(
                f"line {node.lineno}: a parameter of {node.name}", (Change(end, end, f", {fresh_name()}=None"),)
            )


def wrap_statements(source: Source, random: Random) -> Iterator[SmallEdit]:
    """Statements go into a block."""
    for body in source.bodies():
        for begin in range(len(body)):
            for end in range(begin + 1, min(len(body), begin + 4) + 1):
                nodes = body[begin:end]
                if any(
                    _docstring(node) or not isinstance(node, ast.Assign | ast.Expr | ast.If | ast.For | ast.AugAssign)
                    for node in nodes
                ):
                    continue
                first, last = source.whole(nodes[0])[0], source.whole(nodes[-1])[1]
                inside = source.text[first:last]
                if '"""' in inside or "'''" in inside or not inside.endswith("\n"):
                    continue
                head = random.choice(["if {}:", "with {}:", "for _ in {}:"]).format(fresh_name())
                indent = source.indent(nodes[0])
                yield SmallEdit(
                    f"wrap lines {nodes[0].lineno}-{nodes[-1].end_lineno} in {head}",
                    (Change(first, first, f"{indent}{head}\n{IN}"), Change(last, last, OUT)),
                )


def break_lines(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """The arguments of a call on a line each, or all on one."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call) or not (node.args or node.keywords):
            continue
        begin, end = source.span(node)
        text = source.text[begin:end]
        arguments: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        parts = sorted(source.span(part) for part in arguments)
        if "#" in text or '"""' in text or not text.endswith(")"):
            continue
        opening = source.span(node.func)[1]
        gaps = list(zip([opening, *(part[1] for part in parts)], [*(part[0] for part in parts), end], strict=True))
        texts = [source.text[one:two] for one, two in gaps]
        if (
            not re.fullmatch(r"\(\s*", texts[0])
            or not all(re.fullmatch(r",\s*", gap) for gap in texts[1:-1])
            or not re.fullmatch(r",?\s*\)", texts[-1])
        ):
            continue
        line = source.text[source.at(node.lineno, 0) : begin]
        indent = line[: len(line) - len(line.lstrip())]
        if "\n" in text:
            fresh = ["(", *[", "] * (len(parts) - 1), ")"]
        else:
            fresh = [f"(\n{indent}    ", *[f",\n{indent}    "] * (len(parts) - 1), f",\n{indent})"]
        yield SmallEdit(
            f"line {node.lineno}: a call in another form",
            tuple(Change(one, two, new) for (one, two), new in zip(gaps, fresh, strict=True)),
        )


def swap_definitions(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """A function or class goes behind its next neighbour."""
    for body in source.bodies():
        for one, two in itertools.pairwise(body):
            if all(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in (one, two)):
                begin, _ = source.whole(one)
                middle, end = source.whole(two)
                if source.text[end - 1 : end] != "\n":
                    continue
                yield SmallEdit(
                    f"move line {one.lineno} behind line {two.end_lineno}",
                    (Change(begin, begin, CUT), Change(middle, middle, END), Change(end, end, "\n" + PASTE)),
                )


def add_members(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """A function or method more."""
    for body in source.bodies():
        for node in body:
            if isinstance(node, ast.FunctionDef):
                end = source.whole(node)[1]
                indent, name = source.indent(node), fresh_name()
                if source.text[end - 1 : end] == "\n":
                    yield SmallEdit(
                        f"a function after line {node.end_lineno}",
                        (Change(end, end, f"\n{indent}def {name}(self):\n{indent}    return {name}_value\n"),),
                    )
                    begin = source.whole(node)[0]
                    yield SmallEdit(f"a decorator at line {node.lineno}", (Change(begin, begin, f"{indent}@{name}\n"),))


def comment_edits(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """A comment above a statement, or behind one."""
    for body in source.bodies():
        for node in body:
            begin = source.whole(node)[0]
            yield SmallEdit(
                f"a comment above line {node.lineno}",
                (Change(begin, begin, f"{source.indent(node)}# {fresh_name()}\n"),),
            )
            end = source.span(node)[1]
            if source.text[end : end + 1] == "\n" and not hasattr(node, "body"):
                yield SmallEdit(f"a comment behind line {node.end_lineno}", (Change(end, end, f"  # {fresh_name()}"),))


def rename_locals(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """A local variable has another name."""
    for function in ast.walk(source.tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        stored = {
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        for name in sorted(stored):
            fresh = fresh_name()
            uses = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name]
            spans = [source.span(node) for node in uses]
            if all(source.text[begin:end] == name for begin, end in spans):
                yield SmallEdit(
                    f"rename {name} in {function.name}",
                    tuple(Change(begin, end, fresh) for begin, end in sorted(set(spans))),
                )


def move_statements(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """A statement goes behind one or two others."""
    for body in source.bodies():
        for number, node in enumerate(body):
            for later in body[number + 1 : number + 3]:
                begin, end = source.whole(node)
                last = source.whole(later)[1]
                if source.text[last - 1 : last] == "\n" and not _docstring(node):
                    yield SmallEdit(
                        f"move line {node.lineno} behind line {later.end_lineno}",
                        (Change(begin, begin, CUT), Change(end, end, END), Change(last, last, PASTE)),
                    )


def add_entries(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """An entry more in a list, set or dict, or an imported name more."""
    for node in ast.walk(source.tree):
        if (
            isinstance(node, ast.List | ast.Set | ast.Tuple)
            and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
            and node.elts
        ):
            for element in node.elts:
                end = source.span(element)[1]
                yield SmallEdit(f"line {element.lineno}: an entry", (Change(end, end, f", {fresh_name()}"),))
        elif isinstance(node, ast.Dict) and node.values:
            for value in node.values:
                end = source.span(value)[1]
                yield SmallEdit(f"line {value.lineno}: a dict entry", (Change(end, end, f', "{fresh_name()}": 1'),))
        elif isinstance(node, ast.ImportFrom) and node.names[0].name != "*":
            for alias in node.names:
                assert alias.end_lineno is not None
                assert alias.end_col_offset is not None
                end = source.at(alias.end_lineno, alias.end_col_offset)
                yield SmallEdit(f"line {alias.lineno}: an imported name", (Change(end, end, f", {fresh_name()}"),))


def replace_expressions(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """A call, list, dict or operation is a name."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call | ast.List | ast.Dict | ast.BinOp | ast.Subscript) and isinstance(
            getattr(node, "ctx", ast.Load()), ast.Load
        ):
            begin, end = source.span(node)
            what = f"line {node.lineno}: an expression becomes a name"
            yield SmallEdit(what, (Change(begin, end, fresh_name()),), removes=True)


def remove_entries(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """An argument, an entry of a list or an operand less."""
    for node in ast.walk(source.tree):
        parts: list[tuple[int, int]] = []
        if isinstance(node, ast.Call):
            arguments: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
            parts = sorted(source.span(part) for part in arguments)
        elif isinstance(node, ast.List | ast.Set) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            parts = [source.span(part) for part in node.elts]
        elif isinstance(node, ast.BoolOp):
            parts = [source.span(part) for part in node.values]
        for (_, before), (_, end) in itertools.pairwise(parts):
            if ")" not in source.text[before : before + 1]:
                yield SmallEdit(f"an entry less at {before}", (Change(before, end, ""),), removes=True)


MAKERS: tuple[Callable[[Source, Random], Iterator[SmallEdit]], ...] = (
    insert_statements,
    delete_statements,
    replace_words,
    add_keywords,
    add_parameters,
    wrap_statements,
    break_lines,
    swap_definitions,
    add_members,
    comment_edits,
    rename_locals,
    move_statements,
    add_entries,
    replace_expressions,
    remove_entries,
)
