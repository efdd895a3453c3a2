"""YAML text to values and back; the only importer of PyYAML and ruamel.yaml.

PyYAML reads (its C parser takes milliseconds where a pure one takes a second); ruamel.yaml rewrites a file that people
edit, since it keeps their comments.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import groupby, islice
from typing import Any

import yaml

from patchkit.core.uncollected import uncollected
from patchkit.errors import StoreError

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
    """
    dumper = _BlockDumper if blocks else yaml.SafeDumper
    dumped = yaml.dump(value, Dumper=dumper, sort_keys=False, default_flow_style=False, width=1000)
    header = "".join(f"# {line}\n" for line in comment.splitlines())
    return (header + dumped).encode()


def print_rewritten(value: Mapping[str, Any], comment: str) -> bytes:
    """Print values as rewriting prints them, so that the first rewrite changes no more than it means to.

    Rewriting takes milliseconds an entry. Of a list of mappings the entries that have nothing but simple texts are
    printed without it.
    """
    parts = [b"".join(f"# {line}\n".encode() for line in comment.splitlines())]
    for is_list, keys in groupby(value, lambda key: _is_of_mappings(value[key])):
        if not is_list:
            parts.append(_rewritten({key: value[key] for key in keys}))
            continue
        for key in keys:
            parts.append(f"{key}:\n".encode())
            parts.extend(_simple_entry(entry) or _rewritten({key: [entry]}).partition(b"\n")[2] for entry in value[key])
    return b"".join(parts)


def _is_of_mappings(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)


def _rewritten(value: object) -> bytes:
    return rewrite_yaml(print_yaml(value, ""), "", lambda _: None)


def _simple_entry(entry: Mapping[str, Any]) -> bytes | None:
    """Return a mapping as an entry of a list, where each of its values is a text that is printed in one way only."""
    lines: list[str] = []
    for key, text in entry.items():
        if not isinstance(text, str) or len(text) > _LONGEST_SIMPLE:
            return None
        if _PLAIN.fullmatch(text) and text.lower() not in _NO_TEXTS:
            shown = text
        elif _QUOTED.fullmatch(text):
            shown = "'" + text.replace("'", "''") + "'"
        else:
            return None
        lines.append(f"    {key}: {shown}\n")
    return f"  - {''.join(lines)[4:]}".encode() if lines else None


_LONGEST_SIMPLE = 500
"""Characters; longer lines may be folded."""
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*|<module>")
_QUOTED = re.compile(r"[A-Z][!-~ ]*: [!-~ ]*[!-~]")
"""What would be a mapping without quotes."""
_NO_TEXTS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Plain words that are other values, in YAML 1.1 or 1.2."""


class _BlockDumper(yaml.SafeDumper):
    """Prints texts of several lines as literal blocks; where that would change one, PyYAML falls back to quotes."""


_BlockDumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)


def rewrite_yaml(text: bytes, file: str, change: Callable[[Any], None]) -> bytes:
    """Apply ``change`` to the document and print it again with its comments, quotes and order.

    ``change`` gets the document as ruamel's round-trip mapping and edits it in place.
    """
    from ruamel.yaml import YAML  # noqa: PLC0415 - only rewriting needs it
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - as above

    round_trip = YAML(typ="rt")
    round_trip.preserve_quotes = True
    round_trip.width = 1000
    round_trip.indent(mapping=2, sequence=4, offset=2)
    round_trip.Constructor, round_trip.Representer = _as_written()
    try:
        document = round_trip.load(text)
    except YAMLError as error:
        raise StoreError(file, None, f"not valid YAML: {error}") from error
    change(document)
    stream = io.BytesIO()
    round_trip.dump(document, stream)
    return stream.getvalue()


def add_entry(parent: Any, key: str, name: str, value: str) -> None:
    """Set ``name`` in the mapping ``parent[key]`` of a round-trip document, unless it is there.

    ruamel hangs the comments behind a mapping on its last entry; they have to stay behind it, not before the new one.
    """
    from ruamel.yaml.error import CommentMark  # noqa: PLC0415 - only rewriting needs it
    from ruamel.yaml.tokens import CommentToken  # noqa: PLC0415 - as above

    mapping = parent[key]
    if name in mapping:
        return
    owner, last = (mapping, next(reversed(mapping))) if mapping else (parent, key)
    mapping[name] = value
    comments = owner.ca.items.get(last)
    behind = comments[2] if comments else None
    if behind is None:
        return
    own, _, rest = behind.value.partition("\n")
    if rest:
        mapping.ca.items[name] = [None, None, CommentToken(f"\n{rest}", CommentMark(0), None), None]
        behind.value = f"{own}\n"


def quoted(text: str) -> str:
    """Return ``text`` as something that rewriting prints in double quotes, as people write version ranges."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString  # noqa: PLC0415 - only rewriting needs it

    made: str = DoubleQuotedScalarString(text)
    return made


def literal(text: str) -> str:
    """Return a text of several lines as something that rewriting prints as a block (``|``), where that reads alike."""
    if text[:1].isspace() or not text.replace("\n", "").replace("\t", "").isprintable():
        return quoted(text)
    from ruamel.yaml.scalarstring import LiteralScalarString  # noqa: PLC0415 - only rewriting needs it

    made: str = LiteralScalarString(text)
    return made


def flow(items: Iterable[str]) -> list[str]:
    """Return a list that rewriting prints on one line, in brackets."""
    from ruamel.yaml.comments import CommentedSeq  # noqa: PLC0415 - only rewriting needs it

    made: list[str] = CommentedSeq(items)
    made.fa.set_flow_style()  # type: ignore[attr-defined]  # ruamel's list has it
    return made


def insert_entry(parent: Any, key: str, at: int, value: Any) -> None:
    """Insert ``value`` into the list ``parent[key]`` of a round-trip document, before position ``at``.

    A comment on lines of its own behind the entry above belongs to what followed it, and is left in front of that.
    """
    items, value = parent[key], _round_trip(value)
    items.insert(at, value)
    if not at:
        return
    above, last, place = _end(items[at - 1])
    comments = above.ca.items.get(last) if above is not None else None
    behind = comments[place] if comments else None
    if behind is None:
        return
    own, _, rest = behind.value.partition("\n")
    if rest.strip():
        from ruamel.yaml.error import CommentMark  # noqa: PLC0415 - only rewriting needs it
        from ruamel.yaml.tokens import CommentToken  # noqa: PLC0415 - as above

        end, name, place = _end(value)
        kept = (end.ca.items.get(name) or [None] * 4)[place]
        first = kept.value.rstrip("\n") if kept else ""
        comments = [None] * 4
        comments[place] = CommentToken(f"{first}\n{rest}", CommentMark(0), None)
        end.ca.items[name] = comments
        behind.value = f"{own}\n"


def _round_trip(value: Any) -> Any:
    """Return ``value`` with mappings and lists that comments can hang on; those that can already are kept."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq  # noqa: PLC0415 - only rewriting needs it

    if hasattr(value, "ca"):
        return value
    if isinstance(value, Mapping):
        return CommentedMap({name: _round_trip(inner) for name, inner in value.items()})
    return CommentedSeq(map(_round_trip, value)) if isinstance(value, (list, tuple)) else value


def _end(value: Any) -> tuple[Any, Any, int]:
    """Return what a comment behind ``value`` hangs on: the innermost mapping or list, its last key, and the slot."""
    end: tuple[Any, Any, int] = (None, None, 0)
    while getattr(value, "ca", None) is not None and value and value.fa.flow_style() is not True:
        end = (value, len(value) - 1, 0) if isinstance(value, list) else (value, next(reversed(value)), 2)
        value = end[0][end[1]]
    return end


def remark(entry: Any, key: str, text: str) -> None:
    """Put a comment at the end of the line of ``key``, in a mapping of a round-trip document."""
    from ruamel.yaml.error import CommentMark  # noqa: PLC0415 - only rewriting needs it
    from ruamel.yaml.tokens import CommentToken  # noqa: PLC0415 - as above

    # ruamel puts one space in front of it.
    entry.ca.items[key] = [None, None, CommentToken(f" # {text}\n", CommentMark(0), None), None]


def plain(text: str) -> str:
    """Return ``text`` as something that rewriting prints without quotes where that reads as the same text."""
    try:
        same = yaml.load(text, Loader=_Loader) == text  # noqa: S506 - _Loader is a safe loader
    except yaml.YAMLError:
        same = False
    return text if same else quoted(text)


def mapping(items: Mapping[str, Any]) -> Any:
    """Return a mapping that can stand in a round-trip document."""
    from ruamel.yaml.comments import CommentedMap  # noqa: PLC0415 - only rewriting needs it

    return CommentedMap(items)


def _as_written() -> tuple[Any, Any]:
    """Return ruamel's constructor and representer, for texts that PyYAML reads.

    ``null`` stays ``null``: it would become nothing at all. ruamel knows the types of YAML 1.2, in which ``yes`` and
    ``12:30`` are strings, PyYAML those of 1.1: a string of ours gets quotes where it would be read as something else,
    and what somebody wrote without stays without.
    """
    from ruamel.yaml.constructor import RoundTripConstructor  # noqa: PLC0415 - only rewriting needs it
    from ruamel.yaml.representer import RoundTripRepresenter  # noqa: PLC0415 - as above
    from ruamel.yaml.scalarstring import PlainScalarString  # noqa: PLC0415 - as above

    class Constructor(RoundTripConstructor):
        def construct_scalar(self, node: Any) -> Any:
            value = super().construct_scalar(node)
            if type(value) is str and not node.style and not _is_text(value):
                return PlainScalarString(value, anchor=node.anchor)
            return value

    def number(construct: Any) -> Any:
        def constructed(constructor: Any, node: Any) -> Any:
            try:
                return construct(constructor, node)
            except (ValueError, IndexError):
                return PlainScalarString(
                    node.value, anchor=node.anchor
                )  # `._` and `-_` look like numbers to ruamel, and are none

        return constructed

    Constructor.add_constructor("tag:yaml.org,2002:int", number(RoundTripConstructor.construct_yaml_int))
    Constructor.add_constructor("tag:yaml.org,2002:float", number(RoundTripConstructor.construct_yaml_float))

    class Representer(RoundTripRepresenter):
        pass

    def text(representer: Any, value: str) -> Any:
        style = '"' if _BREAKS.search(value) else None if _is_text(value) else "'"
        return representer.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Representer.add_representer(type(None), lambda self, _: self.represent_scalar("tag:yaml.org,2002:null", "null"))
    Representer.add_representer(str, text)
    return Constructor, Representer


_BREAKS = re.compile("[\x85\u2028\u2029]")
"""Line breaks of YAML 1.1 that are none in 1.2: they have to be escaped."""


def _is_text(value: str) -> bool:
    """Tell whether PyYAML takes ``value`` for a string when it has no quotes, wherever it stands."""
    if value[:1] in (":", "?"):
        return False  # within brackets it is the mark of a value or key
    resolvers = _Base.yaml_implicit_resolvers
    patterns = (pattern for first in (value[:1], None) for _tag, pattern in resolvers.get(first, ()))
    return not any(pattern.match(value) for pattern in patterns)


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
