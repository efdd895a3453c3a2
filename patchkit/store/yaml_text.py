"""YAML text to values, and values to text; the only importer of PyYAML.

Its C parser takes milliseconds where a pure one takes a second. A file that people edit is rewritten in
`store/yaml_rewriting`, which keeps their comments.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from itertools import islice
from typing import Any

import yaml
from yaml.emitter import ScalarAnalysis

from patchkit.core.uncollected import uncollected
from patchkit.errors import StoreError, UsageError

_TEXT = "tag:yaml.org,2002:str"
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]  # the C loader exists only where libyaml does
    """Plain values only: a date stays text, and a key given twice is an error (PyYAML takes the last)."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in _Base.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - PyYAML's signature
        """Build a mapping; refuse a key that is given twice."""
        seen: set[str] = set()
        for key_node, _ in node.value:
            key = key_node.value
            if isinstance(key, str):
                if key in seen:
                    raise yaml.constructor.ConstructorError(
                        "while reading a mapping", node.start_mark, f"key {key!r} is given twice", key_node.start_mark
                    )
                seen.add(key)
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return mapping

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - as above
        """Build a value; where PyYAML fails at one with an error of Python's, say where it stands."""
        if type(node) is yaml.ScalarNode and node.tag == _TEXT:
            return node.value  # most values are, and PyYAML takes five times as long to come to that
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            problem = f"not a value of the tag {node.tag!r}"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from error


def parse_yaml(text: bytes, file: str) -> object:
    """Return the plain value of a YAML document. Raises StoreError with the 1-based line."""
    # Nodes are no cycles, and there are many: the collector would look at all of them again and again.
    with uncollected():
        return _parsed(text, file)


def _parsed(text: bytes, file: str) -> object:
    try:
        _refuse_many(text, file)
        loader = _Loader(text)
        try:
            root = loader.get_single_node()
            if b"*" in text:
                _refuse_growth(root, file)
            value: object = loader.construct_document(root) if root is not None else None
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else None
        raise StoreError(file, where, f"not valid YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise StoreError(file, None, f"not valid YAML: {error}") from error
    except RecursionError as error:
        raise StoreError(file, None, "not valid YAML: nested too deep") from error
    return value


def _refuse_many(text: bytes, file: str) -> None:
    """Raise StoreError for a text of more values than are read: each takes some ten microseconds."""
    if len(text) <= _MOST_VALUES:
        return  # none is written in less than a byte
    values = (event for event in yaml.parse(text, Loader=_Loader) if isinstance(event, yaml.NodeEvent))
    beyond = next(islice(values, _MOST_VALUES, None), None)
    if beyond is not None:
        where = f"line {beyond.start_mark.line + 1}" if beyond.start_mark else None
        raise StoreError(file, where, f"it has more than {_MOST_VALUES} values")


def _refuse_growth(root: yaml.Node | None, file: str) -> None:
    """Raise StoreError when aliases make far more values of a text than are written there, or an endless one."""
    sizes: dict[int, int] = {}
    todo: list[tuple[yaml.Node, bool]] = [(root, False)] if root is not None else []
    while todo:
        node, is_done = todo.pop()
        if not isinstance(node, yaml.CollectionNode):
            sizes[id(node)] = 1
            continue
        parts = [part for pair in node.value for part in (pair if isinstance(pair, tuple) else (pair,))]
        if is_done:
            sizes[id(node)] = 1 + sum(sizes[id(part)] for part in parts)
            if sizes[id(node)] > _MOST_VALUES:
                raise StoreError(
                    file, f"line {node.start_mark.line + 1}", f"aliases make {sizes[id(node)]} values of it"
                )
        elif id(node) not in sizes:
            sizes[id(node)] = _MOST_VALUES + 1  # until it is known: a value within itself has no size
            todo += [(node, True), *((part, False) for part in parts)]


_MOST_VALUES = 1_000_000
"""A thousand times as many as the largest file of the series for Megatron-LM has."""


def line_of(text: bytes, path: list[str | int]) -> int | None:
    """Return the 1-based line at which the value under ``path`` begins, or its nearest parent does."""
    try:
        with uncollected():
            node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError:
        return None
    line = node.start_mark.line + 1 if node else None
    for part in path:
        child = None
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(part):
                    child, line = value, key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            child = node.value[part]
            line = child.start_mark.line + 1
        if child is None:
            break
        node = child
    return line


def print_yaml(value: object, comment: str, *, blocks: bool = False) -> bytes:
    """Print plain values in block style, keys in their given order, below a comment.

    With ``blocks`` a text of several lines is printed as such (``|``) where YAML can, and not as one quoted line.
    Raises UsageError as ``writable`` does.
    """
    dumper = _BlockDumper if blocks else _Dumper
    dumped = yaml.dump(value, Dumper=dumper, sort_keys=False, default_flow_style=False, width=1000)
    header = "".join(f"# {line}\n" for line in comment.splitlines())
    return (header + dumped).encode()


def writable(text: str) -> str:
    """Return a text that YAML can have. Raises UsageError for one with bytes that are no UTF-8.

    PyYAML would print an escape for them that neither it nor any other program reads.
    """
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{text!r} is not UTF-8, as names and texts in YAML must be") from None
    return text


class _Dumper(yaml.SafeDumper):
    """Prints no text that nobody can read again."""


class _BlockDumper(_Dumper):
    """Prints texts of several lines as literal blocks; where that would change one, PyYAML falls back to quotes.

    PyYAML looks at each character, several times. A text of which one look tells that it is as plain as most goes the
    short way, to the same bytes: a conflict may be of a hundred thousand lines.
    """

    def analyze_scalar(self, scalar: str) -> ScalarAnalysis:
        """Return in which styles a text can be printed."""
        if not _is_plain(scalar):
            return super().analyze_scalar(scalar)
        # No style without marks can have a line break, and in quotes it would be another text.
        return ScalarAnalysis(scalar, False, True, False, False, False, True, True)  # noqa: FBT003 - the names are its own

    def write_literal(self, text: str) -> None:
        """Print a literal block."""
        if not _is_plain(text):
            super().write_literal(text)
            return
        hints = self.determine_block_hints(text)
        self.write_indicator(f"|{hints}", True)  # noqa: FBT003 - as above
        self.open_ended = self.open_ended or hints.endswith("+")
        self.write_line_break()
        block = _BEGIN.sub(" " * (self.indent or 0), text)
        block += "" if block.endswith("\n") else "\n"
        self.stream.write(block)
        self.line += block.count("\n")
        self.column, self.whitespace, self.indention = 0, True, True


_PLAIN = re.compile(r"[\n\x20-\x7e]+")
_BEGIN = re.compile(r"^(?=[^\n])", re.MULTILINE)


def _is_plain(text: str) -> bool:
    """Tell whether a text is of several lines, printable ASCII, and has no blank before the end of a line."""
    return "\n" in text and " \n" not in text and not text.endswith(" ") and _PLAIN.fullmatch(text) is not None


def _represented(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if isinstance(dumper, _BlockDumper) and "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", writable(text), style=style)


_Dumper.add_representer(str, _represented)


def is_text(value: str) -> bool:
    """Tell whether PyYAML takes ``value`` for a string when it has no quotes, wherever it stands."""
    if value[:1] in (":", "?"):
        return False  # within brackets it is the mark of a value or key
    resolvers = _Base.yaml_implicit_resolvers
    patterns = (pattern for first in (value[:1], None) for _tag, pattern in resolvers.get(first, ()))
    return not any(pattern.match(value) for pattern in patterns)


def reads_as_itself(text: str) -> bool:
    """Tell whether a document that has nothing but ``text``, without quotes, says that text."""
    try:
        return bool(yaml.load(text, Loader=_Loader) == text)  # noqa: S506 - _Loader is a safe loader
    except yaml.YAMLError:
        return False


def scalars(text: str, file: str) -> list[tuple[tuple[str | int, ...], str, int, bool]]:
    """Return every text of a YAML document: its path, its value, its 0-based place, and whether it stands there so.

    Raises StoreError with the 1-based line.
    """
    parse_yaml(text.encode(), file)
    root = yaml.compose(text, Loader=_Loader)
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: list[tuple[tuple[str | int, ...], str, int, bool]] = []

    def walk(node: yaml.Node, path: tuple[str | int, ...]) -> None:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                walk(value, (*path, str(key.value)))
        elif isinstance(node, yaml.SequenceNode):
            for position, value in enumerate(node.value):
                walk(value, (*path, position))
        else:
            at = starts[node.start_mark.line] + node.start_mark.column
            at += text[at : at + 1] in ("'", '"')
            found.append((path, node.value, at, text.startswith(node.value, at)))

    if root is not None:
        walk(root, ())
    return found
