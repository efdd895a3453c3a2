"""The parts of a planned result that nobody has word for word, and what the two sides have in their place.

Most results are the target with some classes and functions as the patch has them, and those are right if the two sides
are. Where both had a hand in one, it may hold what neither has.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import NamedTuple

from patchkit.core.gating.layout import Chunk, Sides, functions_of, layout
from patchkit.core.gating.parsing import parse
from patchkit.core.merging.alignment import edited_lines


class Tree(NamedTuple):
    """A part of a text."""

    tree: ast.Module
    text: bytes
    above: int
    """How many lines of the text stand before it."""


class Merged:
    """The result of carrying a patch, as far as both sides had a hand in it."""

    def __init__(self, base: bytes, changed: bytes, target: bytes, result: bytes) -> None:
        self.changed, self.target, self.result = changed, target, result
        self._base = base
        self._since_target = Sides(layout(result), layout(target))
        self._beside_changed = Sides(layout(result), layout(changed))

    @cached_property
    def edits(self) -> tuple[tuple[bytes, bytes], tuple[bytes, bytes]]:
        """The lines that the patch took out and that it brought, and those of the target."""
        return edited_lines(self._base, self.changed), edited_lines(self._base, self.target)

    def both_edit(self, pattern: re.Pattern[bytes]) -> bool:
        """Tell whether either side brings or takes out something that ``pattern`` finds."""
        return all(any(map(pattern.search, side)) for side in self.edits)

    def one_brings(self, pattern: re.Pattern[bytes]) -> bool:
        """Tell whether one of the sides brings something that ``pattern`` finds."""
        return any(pattern.search(brought) for _, brought in self.edits)

    @cached_property
    def chunks(self) -> list[Chunk]:
        """The chunks that neither side has."""
        known = layout(self.changed).texts
        return [chunk for chunk in self._since_target.here if chunk.text not in known]

    @cached_property
    def texts(self) -> list[bytes]:
        """The chunks, to be read by themselves, with stubs for the functions that a side has word for word."""
        return [chunk.alone(self._vouched) for chunk in self.chunks]

    @cached_property
    def texts_of_sides(self) -> tuple[list[bytes], list[bytes]]:
        """What the changed text and the target have in the place of those, with no other functions in full."""
        return self._texts_of(self._beside_changed), self._texts_of(self._since_target)

    @cached_property
    def _vouched(self) -> frozenset[bytes]:
        return functions_of(self._since_target.there) | functions_of(self._beside_changed.there)

    def _texts_of(self, side: Sides) -> list[bytes]:
        names = {chunk.name for chunk in self.chunks}
        theirs = {each[0] for chunk in self.chunks for each in chunk.functions}
        inner = {each["name"] for chunk in self.chunks for each in chunk.functions if each[0] not in self._vouched}
        wanted = [chunk for chunk in side.there if chunk.name in names]
        functions = (each for chunk in wanted for each in chunk.functions)
        known = frozenset(each[0] for each in functions if each["name"] not in inner or each[0] in theirs)
        return [chunk.alone(known) for chunk in wanted]

    @cached_property
    def trees(self) -> list[Tree]:
        """The chunks as trees; all of the result where they cannot be read by themselves, nothing where it cannot."""
        found = list(map(parse, self.texts))
        trees = [tree for tree in found if tree is not None]
        if len(trees) < len(found):
            whole = parse(self.result)
            return [Tree(whole, self.result, 0)] if whole is not None else []
        three = zip(trees, self.texts, self.chunks, strict=True)
        return [Tree(tree, text, self._above(chunk)) for tree, text, chunk in three]

    @cached_property
    def sides(self) -> tuple[list[Tree], list[Tree]]:
        """The trees of ``texts_of_sides``; that of a whole text where it has not the same names."""
        ours, theirs = self.texts_of_sides
        return self._read(ours, self._beside_changed, self.changed), self._read(theirs, self._since_target, self.target)

    def _read(self, texts: list[bytes], side: Sides, content: bytes) -> list[Tree]:
        if not {chunk.name for chunk in self.chunks} <= {chunk.name for chunk in side.there}:
            texts = [content]
        trees = [Tree(tree, text, 0) for text in texts if (tree := parse(text)) is not None]
        if len(trees) < len(texts) and (whole := parse(content)) is not None:
            return [Tree(whole, content, 0)]
        return trees

    def _above(self, wanted: Chunk) -> int:
        lines = 0
        for chunk in layout(self.result).chunks:
            if chunk is wanted:
                break
            lines += chunk.text.count(b"\n")
        return lines
