"""Which places of a renamed name in a patch are the thing that the target renamed, and which are something else."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence, Set
from enum import Enum, auto
from functools import cache, cached_property
from itertools import accumulate
from typing import Final, NamedTuple

from patchkit.core.lines import split_lines
from patchkit.core.merging.alignment import line_edits
from patchkit.core.merging.renames import Rename
from patchkit.core.name_spots import NameSpots, Spot, Use, name_spots

_INLINE: Final = ("<comprehension>", "<lambda>")
"""Scopes whose names nobody outside knows: under which one they go there says nothing."""
_KEYS: Final = frozenset({"dict"})
"""Functions whose keywords are data."""


class Choice(Enum):
    """What becomes of a name at one place."""

    RENAMED = auto()
    KEPT = auto()
    DOUBTFUL = auto()


class CarriedNames(NamedTuple):
    """A patch's text with the target's names."""

    text: bytes
    is_renamed: bool
    """Whether what the patch puts in has the thing that the target renamed."""
    is_doubtful: bool
    """Whether what the patch puts in has the name for something of which nobody can tell."""
    kept: Set[bytes]
    """Lines, without space around, in which the old name stands for something else, as it should."""


def carried_names(base: bytes, changed: bytes, changes: Sequence[Rename]) -> CarriedNames | None:
    """Return ``changed`` with the new names for what the base has under the old ones.

    None where the running Python cannot read one of the texts.
    """
    added = [row for edit in line_edits(base, changed) for row in range(edit.new, edit.new_end)]
    lines = split_lines(changed)
    starts = list(accumulate(map(len, lines), initial=0))
    put: dict[int, Rename] = {}
    kept: set[int] = set()
    words: dict[str, NameSpots] = {}
    is_renamed = is_doubtful = False
    for change in changes:
        sides = name_spots(base, change.old), name_spots(changed, change.old)
        if sides[0] is None or sides[1] is None:
            return None
        choices = _Choices(sides[0], sides[1], (base, changed), set(added))
        words[change.old] = sides[1]
        for spot in sides[1].spots:
            if (spot.use is Use.ATTRIBUTE) is not change.is_attribute:
                continue
            choice, is_added = choices.of(spot), spot.row in choices.added
            is_renamed |= is_added and choice is Choice.RENAMED and not spot.owner.endswith(_INLINE)
            is_doubtful |= is_added and choice is Choice.DOUBTFUL
            if spot.at >= 0 and (choice is Choice.RENAMED or (choice is Choice.DOUBTFUL and not is_added)):
                put[spot.at] = change
        kept.update(_kept(sides[1], choices, changes, change, put))
    return CarriedNames(
        _with(changed, put), is_renamed, is_doubtful, _kept_lines(changed, starts, put, kept, list(words))
    )


def _kept(
    spots: NameSpots, choices: _Choices, changes: Sequence[Rename], change: Rename, put: dict[int, Rename]
) -> Iterator[int]:
    """Yield the places of a name, in code or text, where it stands for something that keeps it."""
    both = {other.is_attribute for other in changes if other.old == change.old}
    code = {spot.at: spot for spot in spots.spots}
    for at, row in spots.words():
        spot = code.get(at)
        if spot is None:
            # What a string or comment says of a name is of the one that the code around it has.
            owner = spots.binder_at(row)
            if owner and (False not in both or choices.of_scope(owner) is Choice.KEPT):
                yield at
        elif at not in put and ((spot.use is Use.ATTRIBUTE) not in both or choices.of(spot) is Choice.KEPT):
            yield at


def _with(text: bytes, put: dict[int, Rename]) -> bytes:
    parts: list[bytes] = []
    done = 0
    for at in sorted(put):
        parts += [text[done:at], put[at].new.encode()]
        done = at + len(put[at].old.encode())
    return b"".join([*parts, text[done:]])


def _kept_lines(
    text: bytes, starts: Sequence[int], put: dict[int, Rename], kept: Set[int], names: Sequence[str]
) -> frozenset[bytes]:
    """Return the lines in which each of the old names that is left is kept, with the new names in them."""
    pattern = re.compile(rb"\b(?:%b)\b" % b"|".join(name.encode() for name in names))
    by_row: dict[int, bool] = {}
    for match in pattern.finditer(text):
        if match.start() not in put:
            row = bisect_right(starts, match.start()) - 1
            by_row[row] = by_row.get(row, True) and match.start() in kept
    found: set[bytes] = set()
    places = sorted(put)
    for row, is_kept in by_row.items():
        if is_kept:
            first, end = starts[row], starts[row + 1]
            within = places[bisect_left(places, first) : bisect_left(places, end)]
            inside = {at - first: put[at] for at in within}
            found.add(_with(text[first:end], inside).strip())
    return frozenset(found)


class _Choices:
    """What becomes of each place of a name in a patch's text."""

    def __init__(self, base: NameSpots, changed: NameSpots, texts: tuple[bytes, bytes], added: Set[int]) -> None:
        self._base, self._changed = base, changed
        self._texts = texts
        self.added = added
        self._owners = {use: {spot.owner for spot in base.spots if spot.use is use} for use in Use}
        self._counts = base.counts(), changed.counts()
        self.of_scope = cache(self._of_scope)
        self._binder = cache(self._find_binder)
        self._is_known_object = cache(self._find_object)
        of_classes = [scope.name for scope in base.scopes if scope.is_class and scope.binds]
        self._owners[Use.ATTRIBUTE].update(
            owner for name in of_classes for owner in (name, f"{name}@self", f"{name}@cls")
        )

    def of(self, spot: Spot) -> Choice:
        """Return what becomes of one place."""
        match spot.use:
            case Use.NAME:
                return self.of_scope(spot.owner)
            case Use.KEYWORD:
                return self._of_keyword(spot)
            case Use.IMPORT if spot.owner in self._owners[Use.IMPORT]:
                return Choice.RENAMED
            case Use.IMPORT:
                # Another thing of that name: a question where it is put in the place of the renamed one.
                own = self.of_scope(spot.caller) if spot.is_new else Choice.KEPT
                return Choice.KEPT if own is Choice.KEPT else Choice.DOUBTFUL
        # A file that uses something else of another module has given nothing there another name.
        if spot.owner in self._owners[Use.ATTRIBUTE]:
            return Choice.RENAMED if self._is_known_object(spot.owner, spot.caller, spot.others) else Choice.DOUBTFUL
        return Choice.KEPT if spot.owner in self._of_new_classes else Choice.DOUBTFUL

    def _find_object(self, owner: str, caller: str, roots: Set[str]) -> bool:
        """Tell whether an attribute is of an object of which the base has it: the same variable, or ``self``."""
        if "@" in owner:
            return True
        known = {each.caller for each in self._base.spots if each.use is Use.ATTRIBUTE and each.owner == owner}
        if not roots:
            return caller in known
        return not roots & self._base.imported and all(
            self._binder(1, root, caller) in {self._binder(0, root, each) for each in known} - {None} for root in roots
        )

    def _find_binder(self, side: int, name: str, caller: str) -> str | None:
        """Return the scope that binds another name where ``caller`` uses it: 0 for the base, 1 for the patch's text."""
        spots = name_spots(self._texts[side], name)
        return spots.binder_in(caller) if spots is not None else None

    def _of_scope(self, owner: str) -> Choice:
        """Return what becomes of the name that a scope binds: the target's is what that scope of the base had."""
        mine = [spot for spot in self._changed.spots if spot.use is Use.NAME and spot.owner == owner]
        if owner in self._owners[Use.NAME] or (not owner and self._base.scopes[0].binds):
            return Choice.DOUBTFUL if self._is_unclear(owner) else Choice.RENAMED
        imports = [spot for spot in self._changed.spots if spot.use is Use.IMPORT and spot.is_new]
        if any(spot.caller == owner and spot.owner in self._owners[Use.IMPORT] for spot in imports):
            return Choice.RENAMED
        was_there = any(spot.row not in self.added for spot in mine)
        if owner in self._counts[0]:
            return Choice.DOUBTFUL if was_there else Choice.KEPT
        gone = [name for name in self._owners[Use.NAME] - self._counts[1].keys() if not name.endswith(_INLINE)]
        # A function that has lines of one that is gone is that one, under another name.
        return Choice.RENAMED if gone and was_there else Choice.KEPT

    def _is_unclear(self, owner: str) -> bool:
        """Tell whether it cannot be told which binding of the base it is, or whether it is one of the patch."""
        if owner.endswith(_INLINE):
            return False
        before, after = (
            sum(spot.is_new and owner in (spot.owner, spot.caller) for spot in side.spots)
            for side in (self._base, self._changed)
        )
        if after > before or (not owner and self._changed.scopes[0].binds and not self._base.scopes[0].binds):
            return True
        counts = self._counts[0][owner], self._counts[1][owner]
        if max(counts) == 1:
            return False
        return counts[0] != counts[1] or not all(scope.binds for scope in self._base.scopes if scope.name == owner)

    def _of_keyword(self, spot: Spot) -> Choice:
        """Return what becomes of a keyword: it follows the parameter of the very function that is called."""
        if spot.owner in self._owners[Use.KEYWORD]:
            return Choice.DOUBTFUL if spot.owner in _KEYS else Choice.RENAMED
        renamed = self._parameters
        own, _, path = spot.owner.rpartition("@")
        last = path.rpartition(".")[2]
        if own:
            names = {f"{own}.{last}"} if path in (f"self.{last}", f"cls.{last}") else set()
        else:
            around = spot.caller.split(".") if spot.caller else []
            outer = [".".join(around[:end]) for end in range(1, len(around) + 1)]
            names = {path, *(f"{name}.{path}" for name in outer if name not in self._classes)}
        called = [name for name in names if name in renamed or f"{name}.__init__" in renamed]
        if called:
            root = path.partition(".")[0]
            homes = {name.removesuffix(path).rstrip(".") for name in called}
            is_one = all(self._counts[1][name] == 1 for name in called) and (
                bool(own) or homes == {self._binder(1, root, spot.caller)}
            )
            return Choice.RENAMED if is_one else Choice.DOUBTFUL
        # Methods of other objects, and functions that are handed on, may be the renamed ones.
        simple = {_callable(name) for name in renamed}
        inits = {name for name in renamed if name.endswith(".__init__") and name != f"{own}.__init__"}
        if simple & ({last} | spot.others | self._ancestors(last)) or (last == "__init__" and inits):
            return Choice.DOUBTFUL
        return Choice.KEPT

    def _ancestors(self, name: str) -> set[str]:
        """Return the simple names of what a class of the patch's text is derived from, near and far."""
        found: set[str] = set()
        pending = {name}
        while pending:
            near = {base for each in pending for base in self._bases.get(each, ())} - found
            found |= near
            pending = near
        return found

    @cached_property
    def _bases(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for scope in self._changed.scopes:
            if scope.is_class:
                found.setdefault(scope.name.rpartition(".")[2], set()).update(scope.bases())
        return found

    @cached_property
    def _of_new_classes(self) -> frozenset[str]:
        """``self`` of classes that the patch brings, which give it the attribute themselves, as nothing above them."""
        mine = {spot.owner for spot in self._changed.spots if spot.use is Use.ATTRIBUTE and spot.is_new}
        known = {scope.name.rpartition(".")[2] for scope in self._base.scopes if scope.is_class}
        return frozenset(
            f"{scope.name}@self"
            for scope in self._changed.scopes
            if scope.is_class
            and scope.name not in self._counts[0]
            and f"{scope.name}@self" in mine
            and not known & self._ancestors(scope.name.rpartition(".")[2])
        )

    @cached_property
    def _classes(self) -> frozenset[str]:
        return frozenset(scope.name for scope in self._changed.scopes if scope.is_class)

    @cached_property
    def _parameters(self) -> frozenset[str]:
        """Functions of the patch with the name as a renamed parameter, and classes with it as a renamed field."""
        return frozenset(
            scope.name
            for scope in self._changed.scopes
            if scope.binds and (scope.is_parameter or scope.is_class) and self.of_scope(scope.name) is not Choice.KEPT
        )


def _callable(name: str) -> str:
    """Return by which name a function or class is called."""
    return name.removesuffix(".__init__").rpartition(".")[2]
