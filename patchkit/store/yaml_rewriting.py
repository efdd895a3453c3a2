"""YAML files that people edit, rewritten with their comments, quotes and order; the only importer of ruamel.yaml.

What a text says is read with PyYAML (`store/yaml_text`) by everybody: what is written here has to say the same there.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any

from patchkit.errors import StoreError
from patchkit.store.yaml_text import is_text, print_yaml, reads_as_itself, writable


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
    return text if reads_as_itself(text) else quoted(text)


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
            if type(value) is str and not node.style and not is_text(value):
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
        style = '"' if _BREAKS.search(writable(value)) else None if is_text(value) else "'"
        return representer.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Representer.add_representer(type(None), lambda self, _: self.represent_scalar("tag:yaml.org,2002:null", "null"))
    Representer.add_representer(str, text)
    return Constructor, Representer


_BREAKS = re.compile("[\x85\u2028\u2029]")
"""Line breaks of YAML 1.1 that are none in 1.2: they have to be escaped."""


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
