"""Words of a shell, expanded as far as the file says what is in its variables, each character with its place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from patchkit.core.pins.model import UNKNOWN, Word

if TYPE_CHECKING:
    from ast_grep_py import SgNode

Variables = Mapping[str, Word]
"""What is known of variables; a name that is missing has an unknown value."""

_EXPANSION = re.compile(r"\$\{(\w+)(?:(:?[-+=?])(.*))?\}", re.DOTALL)
_LONGEST = 1 << 16
"""Characters that a word is expanded to; a variable made of itself again and again grows without end."""
_Part = tuple[str, tuple[int, ...]]

Arrays = Mapping[str, tuple[Word, ...]]
"""What is known of the arrays of bash."""

_ALL = re.compile(r"\"?\$\{(\w+)\[[@*]\]\}\"?")
_ONE = re.compile(r"\"?\$\{(\w+)\[(\d+)\]\}\"?")
_UNQUOTED = frozenset({"simple_expansion", "expansion"})


def parse_shell(text: str) -> SgNode:
    """Return the syntax tree of shell text; what cannot be understood is an ERROR node in it."""
    from ast_grep_py import SgRoot  # noqa: PLC0415 - 25 ms that a requirements file does without

    return SgRoot(text, "bash").root()


def word_of(node: SgNode, base: int, variables: Variables) -> Word:
    """Return the word at ``node``, whose text stands ``base`` characters further on in the file."""
    parts = [_expanded(node, base, variables)]
    text = "".join(part for part, _ in parts)
    origins = tuple(place for _, places in parts for place in places)
    return Word(text, origins, node.text(), base + node.range().start.index)


def words_of(node: SgNode, base: int, variables: Variables, arrays: Arrays) -> list[Word]:
    """Return the words that ``node`` is to a shell: the elements of an array, and what blanks in a value split."""
    whole = word_of(node, base, variables)
    if (every := _ALL.fullmatch(whole.written)) and every[1] in arrays:
        return [Word(each.text, each.origins, whole.written, whole.at) for each in arrays[every[1]]]
    if (one := _ONE.fullmatch(whole.written)) and one[1] in arrays:
        element = arrays[one[1]][int(one[2])] if int(one[2]) < len(arrays[one[1]]) else None
        return [] if element is None else [Word(element.text, element.origins, whole.written, whole.at)]
    parts = node.children() if node.kind() == "concatenation" else [node]
    if not any(part.kind() in _UNQUOTED for part in parts):
        return [whole]
    found: list[list[tuple[str, int]]] = []
    begun = False
    for part in parts:
        text, origins = _expanded(part, base, variables)
        for character, place in zip(text, origins, strict=True):
            if part.kind() in _UNQUOTED and character in " \t\n":
                begun = False
                continue
            if not begun:
                found.append([])
                begun = True
            found[-1].append((character, place))
    return [
        Word("".join(text for text, _ in each), tuple(place for _, place in each), whole.written, whole.at)
        for each in found
    ]


def word_in(text: str, at: int, variables: Variables) -> Word:
    """Return the word that ``text``, which stands at ``at`` in the file, is to a shell or to a Dockerfile."""
    node = next((each for each in parse_shell(f": {text}").children() if each.kind() == "command"), None)
    arguments = node.children()[1:] if node else []
    if len(arguments) != 1:
        return Word(text, tuple(range(at, at + len(text))), text, at)
    word = word_of(arguments[0], at - 2, variables)
    return Word(word.text, word.origins, text, at)


def _expanded(node: SgNode, base: int, variables: Variables) -> _Part:  # noqa: PLR0911 - a table by kind of node
    start = base + node.range().start.index
    text = node.text()
    match node.kind():
        case "raw_string":
            return _plain(text[1:-1], start + 1)
        case "string":
            return _string(node, base, variables)
        case "concatenation" | "command_name":
            return _joined([_expanded(child, base, variables) for child in node.children()])
        case "simple_expansion":
            return _value(text[1:], variables)
        case "expansion":
            return _braces(text, start, variables)
        case "command_substitution" | "process_substitution" | "arithmetic_expansion" | "ansi_c_string":
            return UNKNOWN, (-1,)
        case "string_content":
            return _unescaped(text, start, '$`"\\\n')
        case _:
            return _unescaped(text, start, None)


def _string(node: SgNode, base: int, variables: Variables) -> _Part:
    """Return what is between double quotes; blanks between two expansions are in no node of their own."""
    parts: list[_Part] = []
    first = node.range().start.index
    reached = first + 1
    for child in node.children():
        place = child.range()
        if child.kind() == '"':
            continue
        if place.start.index > reached:
            parts.append(_plain(node.text()[reached - first : place.start.index - first], base + reached))
        parts.append(_expanded(child, base, variables))
        reached = place.end.index
    return _joined(parts)


def _braces(text: str, start: int, variables: Variables) -> _Part:
    match = _EXPANSION.fullmatch(text)
    if not match:
        return UNKNOWN, (-1,)
    name, sign, other = match[1], match[2] or "", match[3] or ""
    known = variables.get(name)
    if sign.endswith("+"):
        return ("", ()) if known is None else _default(other, start + match.start(3), variables)
    # Both docker and sh take the other value when the variable is not set; with a colon also when it is empty.
    if sign.endswith(("-", "=")) and (known is None or (":" in sign and not known.text)):
        return _default(other, start + match.start(3), variables)
    return _value(name, variables)


def _default(text: str, at: int, variables: Variables) -> _Part:
    word = word_in(text, at, variables) if text else Word("", (), "", at)
    return word.text, word.origins


def _value(name: str, variables: Variables) -> _Part:
    known = variables.get(name)
    return (UNKNOWN, (-1,)) if known is None else (known.text, known.origins)


def _plain(text: str, start: int) -> _Part:
    return text, tuple(range(start, start + len(text)))


def _unescaped(text: str, start: int, special: str | None) -> _Part:
    """Take backslashes away: before any character, or before the ``special`` ones between double quotes."""
    kept: list[tuple[str, int]] = []
    at = 0
    while at < len(text):
        if text[at] == "\\" and at + 1 < len(text) and (special is None or text[at + 1] in special):
            at += 1
            if text[at] == "\n":
                at += 1
                continue
        kept.append((text[at], start + at))
        at += 1
    return "".join(character for character, _ in kept), tuple(place for _, place in kept)


def _joined(parts: list[_Part]) -> _Part:
    if sum(len(text) for text, _ in parts) > _LONGEST:
        return UNKNOWN, (-1,)
    return "".join(text for text, _ in parts), tuple(place for _, places in parts for place in places)
