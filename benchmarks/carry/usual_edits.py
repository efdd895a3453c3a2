"""Makers of the edits that people usually make: parameters with calls, fields, options, exports, renames, formatting.

``edit_makers`` change any statement or expression; these know what they change.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from random import Random

from benchmarks.carry.small_edits import CUT, END, PASTE, Change, SmallEdit, Source, fresh_name


def add_parameters_with_calls(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """A parameter with a default more, and every call of the function in the text passes it by name."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        spec = node.args
        calls = [call for call in ast.walk(source.tree) if isinstance(call, ast.Call) and _called(call) == node.name]
        if spec.vararg or spec.kwarg or spec.kwonlyargs or not spec.args or not calls:
            continue
        if not all((call.args or call.keywords) and not _has_generator(call) for call in calls):
            continue
        name = fresh_name()
        parameters: list[ast.arg | ast.expr] = [*spec.args, *spec.defaults]
        ends = [max(source.span(part)[1] for part in parameters)]
        texts = [f", {name}=None"]
        for call in calls:
            ends.append(max(source.span(part)[1] for part in _arguments(call)))
            texts.append(f", {name}={name}_value")
        changes = {Change(end, end, text) for end, text in zip(ends, texts, strict=True)}
        if len({change.begin for change in changes}) == len(ends):
            yield SmallEdit(f"line {node.lineno}: a parameter of {node.name}, and its calls", tuple(sorted(changes)))


def _called(call: ast.Call) -> str:
    function = call.func
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )


def _arguments(call: ast.Call) -> list[ast.expr | ast.keyword]:
    return [*call.args, *call.keywords]


def _has_generator(call: ast.Call) -> bool:
    return any(isinstance(argument, ast.GeneratorExp) for argument in call.args)


def add_fields(source: Source, random: Random) -> Iterator[SmallEdit]:
    """A field with a default more, at times with a docstring, behind another one."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.ClassDef):
            continue
        for number, field in enumerate(node.body):
            if not isinstance(field, ast.AnnAssign) or field.value is None:
                continue
            below = node.body[number + 1 : number + 2]
            last = below[0] if below and _is_text(below[0]) else field
            end = source.whole(last)[1]
            if source.text[end - 1 : end] == "\n":
                name, indent = fresh_name(), source.indent(field)
                told = random.choice(["", f'{indent}"""What {name} is."""\n', f'\n{indent}"""About {name}."""\n'])
                yield SmallEdit(
                    f"a field after line {last.end_lineno}", (Change(end, end, f"{indent}{name}: int = 0\n{told}"),)
                )


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def add_options(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """A call of ``add_argument`` more, behind another one."""
    for body in source.bodies():
        for node in body:
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
                continue
            function, end = node.value.func, source.whole(node)[1]
            if isinstance(function, ast.Attribute) and function.attr == "add_argument" and source.text[end - 1] == "\n":
                name = fresh_name().replace("_", "-")
                call = source.text[slice(*source.span(function))]
                text = f'{source.indent(node)}{call}("--{name}", type=int, default=None)\n'
                yield SmallEdit(f"an option after line {node.end_lineno}", (Change(end, end, text),))


def add_exports(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """A name more in ``__all__``."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign | ast.AugAssign) and isinstance(node.value, ast.List | ast.Tuple):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
                for element in node.value.elts:
                    end = source.span(element)[1]
                    yield SmallEdit(f"line {element.lineno}: an export", (Change(end, end, f', "{fresh_name()}"'),))


def decorate(source: Source, random: Random) -> Iterator[SmallEdit]:
    """A decorator more, above or below those that are there."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            line = random.choice([node.lineno, source.first_line(node)])
            place = source.at(line, 0)
            text = f"{source.indent(node)}@{fresh_name()}\n"
            yield SmallEdit(f"a decorator at line {line}", (Change(place, place, text),))


def rename_definitions(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """A function, method or class has another name, wherever the text has it."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or len(node.name) < 6 or node.name.startswith("__"):
            continue
        places = [match.start() for match in re.finditer(rf"\b{node.name}\b", source.text)]
        heads = re.findall(rf"\b(?:def|class) {node.name}\b", source.text)
        if len(heads) == 1:
            fresh = f"{node.name}_{fresh_name()}"
            changes = tuple(Change(place, place + len(node.name), fresh) for place in places)
            yield SmallEdit(f"rename {node.name}, a definition", changes)


def requote(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """Strings of a statement have the other quotes, as a formatter gives them."""
    places: dict[int, list[Change]] = {}
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        text = token.string
        if token.type == tokenize.STRING and re.fullmatch(r"'[^'\"\\\n]*'|\"[^'\"\\\n]*\"", text):
            other = '"' if text[0] == "'" else "'"
            begin, end = source.at(*token.start), source.at(*token.end)
            places.setdefault(token.start[0], []).extend((Change(begin, begin + 1, other), Change(end - 1, end, other)))
    for line, changes in places.items():
        yield SmallEdit(f"line {line}: other quotes", tuple(changes))


def last_commas(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """A comma behind the last entry of a list, dict, call or signature, or none any more."""
    for node in ast.walk(source.tree):
        ends: list[int] = []
        if isinstance(node, ast.Call) and (node.args or node.keywords) and not _has_generator(node):
            ends = [source.span(part)[1] for part in _arguments(node)]
        elif isinstance(node, ast.List | ast.Set) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            ends = [source.span(part)[1] for part in node.elts]
        elif isinstance(node, ast.Dict):
            ends = [source.span(part)[1] for part in node.values]
        if ends and (match := re.compile(r"(,?)\s*[)\]}]").match(source.text, end := max(ends))):
            text = "" if match[1] else ","
            yield SmallEdit(f"at {end}: a last comma", (Change(end, end + len(match[1]), text),))


def edit_docstrings(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """A line more in a docstring, or another word in one."""
    for body in source.bodies():
        if not _is_text(body[0]):
            continue
        begin, end = source.span(body[0])
        text = source.text[begin:end]
        for match in re.finditer(r"\n", text):
            place, indent = begin + match.end(), source.indent(body[0])
            yield SmallEdit(
                f"a docstring line at {place}", (Change(place, place, f"{indent}More of {fresh_name()}.\n"),)
            )
        for match in re.finditer(r"(?<= )[a-z]{4,}(?= )", text):
            place = begin + match.start()
            yield SmallEdit(f"a docstring word at {place}", (Change(place, begin + match.end(), fresh_name()),))


def move_definitions_far(source: Source, _random: Random) -> Iterator[SmallEdit]:
    """A function or class goes behind the last of its neighbours, past two others at least."""
    for body in source.bodies():
        nodes = [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        for node in nodes[:-2]:
            begin, last = source.whole(node)[0], source.whole(nodes[-1])[1]
            follower = source.whole(body[body.index(node) + 1])[0]
            if source.text[last - 1 : last] == "\n":
                yield SmallEdit(
                    f"move line {node.lineno} far, behind line {nodes[-1].end_lineno}",
                    (Change(begin, begin, CUT), Change(follower, follower, END), Change(last, last, "\n" + PASTE)),
                )


MAKERS = (
    add_parameters_with_calls,
    add_fields,
    add_options,
    add_exports,
    decorate,
    rename_definitions,
    requote,
    last_commas,
    edit_docstrings,
    move_definitions_far,
)
