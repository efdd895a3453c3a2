"""Attributes that one side uses and the other side took away."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from patchkit.core.gating.bindings import imported
from patchkit.core.gating.line_sets import new_lines
from patchkit.core.gating.parsing import walk
from patchkit.core.merging.alignment import edited_lines
from patchkit.core.parts import of_part, parts_of

_WORD: Final = re.compile(rb"[^\W\d][\w\x80-\xff]{2,}")
_LONG: Final = 3
"""Characters of those."""
# Shorter names are mostly locals, and stand everywhere: of those only what is read from something counts.
_SHORT: Final = re.compile(rb"\.([^\W\d][\w\x80-\xff]?)(?![\w\x80-\xff])")
# Where a line binds an attribute: in a method, as a method, as a field.
_BINDING: Final = re.compile(
    rb"\.(\w+)[ \t]*(?::[^=\n]+)?=(?!=)"
    rb"|\b(?:def|class)[ \t]+(\w+)"
    rb"|^[ \t]+(\w+)[ \t]*(?::(?![ \t]*$)|=(?!=))",
    re.MULTILINE,
)
_ATTRIBUTE: Final = re.compile(rb"\.\s*(\w+)")

_FOLLOWING: Final = re.compile(rb"\.([^\W\d]\w*)")
_MANY: Final = 30
"""From so many words on, one pass over the text is quicker than a search for each."""


class Reference(msgspec.Struct, frozen=True):
    """A use of something that is not there."""

    line: int
    """1-based line in the result."""
    name: str
    message: str


def stale_attributes(
    base: bytes, changed: bytes, target: bytes, result: bytes, tree: Callable[[], ast.Module]
) -> Iterator[Reference]:
    """Yield attributes that lines of the patch read, that ``base`` had and that ``target`` mentions nowhere.

    ``base`` had what it binds, and what it reads from an object of the same name (``config.depth``, be it of ``config``
    or of ``self.config``). What is called, or read from something imported, may live on elsewhere when a file just
    stops using it: there the target has to read from that object something that is new to the file, as after a
    renaming. ``tree`` gives what the patch touched in ``result``. An attribute that the result binds anywhere is there.
    """
    doubtful = _doubtful(base, changed, target)
    if not doubtful:
        return
    words = {word for line in _added(base, changed) for word in _words(line)}
    doubtful &= words
    if len(words) > _MANY:
        # Of many words one counts as there behind a digit as well.
        for part in parts_of(target):
            if any(word in part.text for word in doubtful):
                doubtful -= _words_in(part)
    gone = {
        word.decode("utf-8", "replace"): _binds(base, word)
        for word in doubtful
        if has_word(result, word) and (_binds(base, word) or _uses(base, word))
    }
    if not gone:
        return
    reads = Reads(tree())
    present = bound_attributes(tree())
    seen: set[str] = set()
    for node in reads.attributes:
        if node.attr in gone.keys() - present - seen and (
            gone[node.attr] or (_reads_of(base, node) and (reads.is_field(node) or _has_new(base, target, node)))
        ):
            seen.add(node.attr)
            yield Reference(node.lineno, node.attr, f"{node.attr} is used here, and the target has it no more")


def _doubtful(base: bytes, changed: bytes, target: bytes) -> set[bytes]:
    """Return words in what the patch puts in that the base has, and that the target mentions nowhere."""
    # What of the base is nowhere in the target stands in lines that the target took out, which are few.
    gone, brought = edited_lines(base, target)[0], edited_lines(base, changed)[1]
    words = _words(brought) if gone else set[bytes]()
    if len(words) > _MANY:
        # One that is not read from anything where it is gone is a field of a class.
        words.intersection_update([*_WORD.findall(gone), *(word for word in words if len(word) < _LONG)])
    return {word for word in words if has_word(gone, word) and not _mentions(target, word)}


@of_part
def _words_in(text: bytes) -> frozenset[bytes]:
    return frozenset(_words(text))


def _words(text: bytes) -> set[bytes]:
    """Return the words that may be attributes."""
    return {*_WORD.findall(text), *_SHORT.findall(text)}


class Reads:
    """The attributes that a tree reads, in order of lines."""

    def __init__(self, tree: ast.AST) -> None:
        self.attributes = attributes_read(tree)
        nodes = list(walk(tree))
        self._called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        imports = (node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
        self._imported = {name for node in imports for name in imported(node)}

    def is_field(self, node: ast.Attribute) -> bool:
        """Tell whether an attribute is read and not called, from an object that is nothing imported."""
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        return id(node) not in self._called and not (isinstance(root, ast.Name) and root.id in self._imported)


def _owner(node: ast.Attribute) -> bytes:
    """Return the last word of what an attribute is read from; empty where that is no name."""
    owner = node.value
    return (owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")).encode()


def _reads_of(content: bytes, node: ast.Attribute) -> bool:
    """Tell whether ``content`` has the attribute of an object of the same name."""
    owner = _owner(node)
    return bool(owner) and has_word(content, owner + b"." + node.attr.encode())


def _has_new(base: bytes, target: bytes, node: ast.Attribute) -> bool:
    """Tell whether ``target`` reads from an object of that name what is no word of ``base``."""
    owner = _owner(node)
    found = (_FOLLOWING.match(target, at + len(owner)) for at in places(target, owner))
    return any(match is not None and not has_word(base, match[1]) for match in found)


def removed_attributes(
    changed: bytes, target: bytes, result: bytes, trees: Callable[[bytes], ast.Module]
) -> Iterator[Reference]:
    """Yield attributes of ``self`` that ``target`` binds, ``result`` does not bind and reads, and ``changed`` does not.

    An attribute that ``changed`` reads without binding it comes from elsewhere, such as a class that is inherited.
    """
    lost = {word for groups in _BINDING.findall(b"\n".join(_added(result, target))) for word in groups if word}
    if len(lost) > _MANY:
        lost.intersection_update(_ATTRIBUTE.findall(result))
    lost = {word for word in lost if b"." + word in result and not _binds(result, word) and not _uses(changed, word)}
    if not lost:
        return
    names = {word.decode("utf-8", "replace") for word in lost}
    tree = trees(result)
    names -= bound_attributes(tree)
    for node in attributes_read(tree):
        if node.attr in names and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
            names.discard(node.attr)
            yield Reference(node.lineno, node.attr, f"nothing binds {node.attr} any more, and the target uses it here")


def _mentions(content: bytes, word: bytes) -> bool:
    """Tell whether ``content`` has ``word``, or makes an attribute of that name of a command line option."""
    return has_word(content, word) or (b"_" in word and _is_option(content, word))


def _is_option(content: bytes, word: bytes) -> bool:
    """Tell whether an option is ``word`` with dashes; argparse writes underscores for them, but for a ``dest``."""
    option = b"--" + word.replace(b"_", b"-")
    at = content.find(option)
    while at >= 0 and not (
        _is_quote(content[at - 1 : at]) and _is_quote(content[at + len(option) : at + len(option) + 1])
    ):
        at = content.find(option, at + 1)
    if at < 0:
        return False
    rest = content[at + len(option) + 1 :]
    ends = (rest.find(mark) for mark in (b"add_argument", b"\n\n"))
    return b"dest=" not in rest[: min((end for end in ends if end >= 0), default=len(rest))]


def _is_quote(byte: bytes) -> bool:
    return byte in (b'"', b"'")


def has_word(content: bytes, word: bytes) -> bool:
    """Tell whether ``word`` stands in ``content`` with no other character of a name beside it."""
    return next(places(content, word), None) is not None


def places(content: bytes, word: bytes) -> Iterator[int]:
    """Yield where ``word`` stands; a pattern that looks behind would be tried at every byte, where find() jumps."""
    at = content.find(word)
    while at >= 0:
        end = at + len(word)
        if not _is_word(content[at - 1 : at]) and not _is_word(content[end : end + 1]):
            yield at
        at = content.find(word, end)


def _is_word(byte: bytes) -> bool:
    return byte.isalnum() or byte == b"_" or byte > b"\x7f"


def _uses(content: bytes, word: bytes) -> bool:
    """Tell whether ``content`` has ``word`` after a dot."""
    return any(content[at - 1 : at] == b"." for at in places(content, word))


def _binds(content: bytes, word: bytes) -> bool:
    """Tell whether a line of ``content`` looks as if it bound the attribute ``word``."""
    for at in places(content, word):
        start, end = content.rfind(b"\n", 0, at) + 1, content.find(b"\n", at)
        line = content[start : end if end >= 0 else len(content)]
        if any(word in groups for groups in _BINDING.findall(line)):
            return True
    return False


def bound_attributes(tree: ast.AST) -> frozenset[str]:
    """Return what could be an attribute of something: whatever is assigned, defined, or a parameter in ``tree``."""
    bound: set[str] = set()
    for node in walk(tree):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Name(id=name, ctx=ast.Store()):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.arg(arg=name):
                bound.add(name)
            case ast.alias():
                bound.add(node.asname or node.name)
    return frozenset(bound)


def attributes_read(tree: ast.AST) -> list[ast.Attribute]:
    """Return the attributes that ``tree`` reads, in order of lines."""
    found = [node for node in walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def _added(old: bytes, new: bytes) -> Iterable[bytes]:
    """Return the lines of ``new`` that ``old`` has nowhere, without comments."""
    return [line for line in new_lines(new, old) if not line.lstrip().startswith(b"#")]
