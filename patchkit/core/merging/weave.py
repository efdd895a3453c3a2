"""Both sides changed one statement: the merge of its words, and of the entries of its lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from patchkit.core.merging.alignment import Edit, edits, partners
from patchkit.core.merging.conditions import merge_conditions
from patchkit.core.merging.entries import Group, Hidden, Item, flat, form, tree
from patchkit.core.merging.lexemes import Lexeme, LineKind, LogicalLine
from patchkit.core.merging.lists import merge_lists
from patchkit.core.merging.merge import Kind, combine


def weave(base: LogicalLine, changed: LogicalLine, target: LogicalLine) -> str | None:
    """Return the target's statement with the patch's change in it, or None where the two meet.

    Words meet when no common word stands between the changes; entries of a list (arguments, parameters, elements,
    imported names) only when both sides change the same entry. Where both add entries at the same place the target's
    come first, unless their place has a meaning (positional arguments): then the two meet.
    """
    if base.kind is not LineKind.CODE:
        return _prose(base, changed, target)
    sides = [tree(_import_list(line)) for line in (base, changed, target)]
    old, ours, theirs = sides
    if old is None or ours is None or theirs is None:
        return None
    if base.is_import and _other_module(old, ours, theirs):
        return None
    old, ours, theirs = _same_parentheses(old, ours, theirs)
    woven = _items(old, ours, theirs)
    if woven is None or _swallowed(woven):
        return None
    head = target.text[: len(target.text) - len(target.text.lstrip())]
    return head + "".join(lexeme.space + lexeme.text for lexeme in woven).lstrip()


def _swallowed(words: Sequence[Lexeme]) -> bool:
    """Tell whether a word stands behind a comment on its line: one side put it where the other has a comment now."""
    told = (word for word in words if word.text)
    return any(one.text.startswith("#") and "\n" not in two.space for one, two in pairwise(told))


def _other_module(old: Sequence[Item], ours: Sequence[Item], theirs: Sequence[Item]) -> bool:
    """Tell whether one side imports from another module while the other side changes the import."""
    modules = [[item.key for item in side if isinstance(item, Lexeme)] for side in (old, ours, theirs)]
    if modules[0] == modules[1] == modules[2]:
        return False
    return not (_same_text(old, ours) or _same_text(old, theirs) or _same_text(ours, theirs))


def _prose(base: LogicalLine, changed: LogicalLine, target: LogicalLine) -> str | None:
    """Comments and lines of docstrings, word by word."""
    old, ours, theirs = base.lexemes, changed.lexemes, target.lexemes
    woven = _words(
        old, ours, theirs, [word.key for word in old], [word.key for word in ours], [word.key for word in theirs]
    )
    return None if woven is None else "".join(word.space + word.text for word in flat(woven))


def _import_list(line: LogicalLine) -> list[Lexeme]:
    """Return the lexemes of a line; the names of a ``from`` import are always in brackets, hidden ones if need be."""
    lexemes = line.lexemes
    if not line.is_import or lexemes[0].text != "from":
        return lexemes
    at = next((number for number, lexeme in enumerate(lexemes) if lexeme.text == "import"), None)
    if at is None or at + 1 >= len(lexemes) or lexemes[at + 1].text in ("(", "*"):
        return lexemes
    names = lexemes[at + 1 :]
    comments: list[Lexeme] = []
    if names[-1].text.startswith("#"):
        comments.append(names.pop())
    return [*lexemes[: at + 1], Hidden("", "", "("), *names, Hidden("", "", ")"), *comments]


def _items(old: Sequence[Item], ours: Sequence[Item], theirs: Sequence[Item]) -> list[Lexeme] | None:
    keys = [[item.opener.key if isinstance(item, Group) else item.key for item in side] for side in (old, ours, theirs)]
    woven = _words(old, ours, theirs, *keys)
    return merge_conditions(old, ours, theirs, _items) if woven is None else list(flat(woven))


def _words(  # noqa: PLR0911 - one return a rule
    old: Sequence[Item], ours: Sequence[Item], theirs: Sequence[Item], *keys: list[str]
) -> list[Item] | None:
    """Merge words and groups; a group is one word here, and merged on its own where all three sides have it."""
    old_keys, our_keys, their_keys = keys
    mine, yours = edits(old_keys, our_keys), edits(old_keys, their_keys)
    to_ours, to_old = partners(mine, len(old)), partners([_flipped(edit) for edit in yours], len(theirs))
    if _bind_each_other(old, ours, theirs, mine, yours):
        return None
    to_theirs = partners(yours, len(old))
    for spot, item in enumerate(old):
        # A list that the target took out is one word here: what the patch changed in it would be lost unseen.
        if to_theirs[spot] < 0 <= to_ours[spot] and not _same_text([item], [ours[to_ours[spot]]]):
            return None
    found: list[Item] = []

    def keep(begin: int, end: int) -> bool:
        for spot in range(begin, end):
            former = to_old[spot]
            if former < 0 or to_ours[former] < 0:
                found.append(theirs[spot])
                continue
            merged = _one(old[former], ours[to_ours[former]], theirs[spot])
            if merged is None:
                return False
            found.extend(merged)
        return True

    at = 0
    for region in combine(mine, yours, our_keys, their_keys):
        if not keep(at, region.target):
            return None
        at = region.target_end
        added, there = ours[region.changed : region.changed_end], theirs[region.target : region.target_end]
        former = old[region.base : region.base_end]
        if region.kind is Kind.APPLIED:
            # The words may hold lists that the target has changed.
            if not _same_text(former, there):
                return None
            found.extend(added)
        elif _same_text(added, there):
            found.extend(there)
        else:
            return None
    if not keep(at, len(theirs)):
        return None
    return None if _doubled(found, (old, ours, theirs)) else found


_PARTING = frozenset(("=", ":=", "->", ":", "return", "+=", "-=", "*=", "/=", "|=", "&="))
"""Words between which an expression is on its own."""
_BINDING = frozenset(
    "+ - * / // % @ ** & | ^ ~ << >> < > <= >= == != . , and or not in is if else lambda await for yield from".split()  # noqa: SIM905 - as a list it fills a page
)
"""Words that decide how far an expression reaches."""


def _bind_each_other(
    old: Sequence[Item], ours: Sequence[Item], theirs: Sequence[Item], mine: Sequence[Edit], yours: Sequence[Edit]
) -> bool:
    """Tell whether both sides change one expression and an operator is among it: the other's words might be bound anew.

    ``scale * a`` and ``a + b`` made of ``a`` do not make ``scale * a + b``.
    """
    parts: list[int] = []
    for item in old:
        parts.append((parts[-1] if parts else 0) + (isinstance(item, Lexeme) and item.key in _PARTING))
    parts.append(parts[-1] if parts else 0)

    def reach(edit: Edit) -> tuple[int, int]:
        first = parts[max(0, edit.old - 1)]
        return first, max(first, parts[max(edit.old, edit.old_end - 1)] if edit.old_end > edit.old else first)

    def binds(edit: Edit, new: Sequence[Item]) -> bool:
        words = (*old[edit.old : edit.old_end], *new[edit.new : edit.new_end])
        return any(isinstance(item, Lexeme) and item.key in _BINDING for item in words)

    for one in mine:
        for two in yours:
            same = (one.old, one.old_end) == (two.old, two.old_end)
            if same and _same_text(ours[one.new : one.new_end], theirs[two.new : two.new_end]):
                continue
            if _both_join(one, ours, two, theirs, old):
                continue
            (first, last), (other_first, other_last) = reach(one), reach(two)
            if first <= other_last and other_first <= last and (binds(one, ours) or binds(two, theirs)):
                return True
    return False


def _both_join(one: Edit, ours: Sequence[Item], two: Edit, theirs: Sequence[Item], old: Sequence[Item]) -> bool:
    """Tell whether both sides add conditions to a row of them, all joined by ``and`` or all by ``or``."""
    if one.old != one.old_end or two.old != two.old_end:
        return False
    added = [
        [item.key for item in side[edit.new : edit.new_end] if isinstance(item, Lexeme)]
        for edit, side in ((one, ours), (two, theirs))
    ]
    for joint, others in (("and", _LOOSER | {"or"}), ("or", _LOOSER)):
        if all(words and joint in (words[0], words[-1]) for words in added):
            words = {item.key for side in (old[1:], ours[1:], theirs[1:]) for item in side if isinstance(item, Lexeme)}
            return not words & others
    return False


_LOOSER = frozenset(("if", "else", "lambda", ",", "for", "yield"))
"""Words that bind less than ``or``."""


def _doubled(found: Sequence[Item], sides: Sequence[Sequence[Item]]) -> bool:
    """Tell whether an element of a bare tuple stands there more often than on any side."""
    counts = Counter(_elements(found))
    known = [Counter(_elements(side)) for side in sides]
    return any(count > 1 and count > max(side[key] for side in known) for key, count in counts.items())


def _elements(items: Sequence[Item]) -> list[tuple[str, ...]]:
    """Return what stands between the commas of a statement that are in no brackets; nothing where there are none."""
    elements: list[list[str]] = [[]]
    for item in items:
        if isinstance(item, Lexeme) and item.key == ",":
            elements.append([])
        else:
            elements[-1].extend(lexeme.key for lexeme in flat([item]))
    return [tuple(element) for element in elements] if len(elements) > 1 else []


def _same_text(one: Sequence[Item], two: Sequence[Item]) -> bool:
    return [lexeme.key for lexeme in flat(one) if lexeme.key != ","] == [
        lexeme.key for lexeme in flat(two) if lexeme.key != ","
    ]


def _flipped(edit: Edit) -> Edit:
    return Edit(edit.new, edit.new_end, edit.old, edit.old_end)


def _one(old: Item, ours: Item, theirs: Item) -> list[Item] | None:
    """Merge one word or group that all three sides have."""
    if isinstance(old, Group) and isinstance(ours, Group) and isinstance(theirs, Group):
        merged = merge_lists(old, ours, theirs, _items)
        return None if merged is None else [merged]
    if isinstance(old, Lexeme) and isinstance(ours, Lexeme) and isinstance(theirs, Lexeme):
        return [form(old, ours, theirs)]
    return None


def _same_parentheses(
    old: list[Item], ours: list[Item], theirs: list[Item]
) -> tuple[list[Item], list[Item], list[Item]]:
    """Take the parentheses around a whole expression off the sides, where not all have them and they say nothing."""
    found = [_around(side) for side in (old, ours, theirs)]
    if len({place is None for place in found}) == 1:
        return old, ours, theirs
    bare = [
        side if place is None else _without(side, place) for side, place in zip((old, ours, theirs), found, strict=True)
    ]
    return bare[0], bare[1], bare[2]


def _around(items: Sequence[Item]) -> int | None:
    """Return the position of a group that holds all of the statement's expression, ``return (...)``, ``x = (...)``."""
    end = len(items)
    while end and _is_comment(items[end - 1]):
        end -= 1
    if end and isinstance(items[-1], Lexeme) and items[-1].text == ":":
        end -= 1
    if end < 2:
        return None
    group, before = items[end - 1], items[end - 2]
    if (
        not isinstance(group, Group)
        or group.opener.key != "("
        or not isinstance(before, Lexeme)
        or isinstance(group.opener, Hidden)
    ):
        return None
    if before.text not in ("return", "=", "if", "while", "assert", "in", "+=", "yield", "elif"):
        return None
    if (
        len(group.entries) == 1
        and group.entries[0].comma is None
        and any(isinstance(item, Lexeme) and item.text == "for" for item in group.entries[0].items)
    ):
        return None
    return end - 1 if len(group.entries) == 1 and group.entries[0].comma is None else None


def _is_comment(item: Item) -> bool:
    return isinstance(item, Lexeme) and item.text.startswith("#")


def _without(items: Sequence[Item], place: int) -> list[Item]:
    group = items[place]
    assert isinstance(group, Group)  # noqa: S101 - _around gives the place of a group
    inner = list(flat(group.entries[0].items))
    joined = [Lexeme(" " if "\n" in lexeme.space else lexeme.space, lexeme.text, lexeme.key) for lexeme in inner]
    if joined and not joined[0].space:
        joined[0] = Lexeme(" ", joined[0].text, joined[0].key)
    rebuilt = tree(joined)
    return [*items[:place], *(rebuilt or joined), *items[place + 1 :]]
