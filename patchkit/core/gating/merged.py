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
        vouched = functions_of(self._since_target.there) | functions_of(self._beside_changed.there)
        return [chunk.alone(vouched) for chunk in self.chunks]

    @cached_property
    def trees(self) -> list[Tree]:
        """The chunks as trees; all of the result where they cannot be read by themselves, nothing where it cannot."""
        found = list(map(parse, self.texts))
        trees = [tree for tree in found if tree is not None]
        if len(trees) < len(found):
            whole = parse(self.result)
            return [Tree(whole, 0)] if whole is not None else []
        return [Tree(tree, self._above(chunk)) for tree, chunk in zip(trees, self.chunks, strict=True)]

    @cached_property
    def sides(self) -> tuple[list[ast.Module], list[ast.Module]]:
        """What the changed text and the target have where the result has its own, by the names of the chunks."""
        return self._of_side(self._beside_changed, self.changed), self._of_side(self._since_target, self.target)

    def _of_side(self, side: Sides, content: bytes) -> list[ast.Module]:
        known = functions_of(self._since_target.here)
        names = {chunk.name for chunk in self.chunks}
        wanted = [chunk for chunk in side.there if chunk.name in names]
        found = list(map(parse, (chunk.alone(known) for chunk in wanted)))
        trees = [tree for tree in found if tree is not None]
        if len(trees) == len(found) and names <= {chunk.name for chunk in wanted}:
            return trees
        whole = parse(content)
        return [whole] if whole is not None else []

    def _above(self, wanted: Chunk) -> int:
        lines = 0
        for chunk in layout(self.result).chunks:
            if chunk is wanted:
                break
            lines += chunk.text.count(b"\n")
        return lines
