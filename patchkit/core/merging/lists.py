"""The merge of one bracketed list that both sides have: arguments, parameters, elements, imported names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from patchkit.core.merging.alignment import Edit, edits, partners
from patchkit.core.merging.entries import Entry, Group, Hidden, Item, flat, form
from patchkit.core.merging.lexemes import Lexeme
from patchkit.core.merging.pairing import Pairing
from patchkit.core.merging.sweep import Side, Stretch, span, sweep

MergeItems = Callable[[Sequence[Item], Sequence[Item], Sequence[Item]], "list[Lexeme] | None"]
"""Merges the words of one entry: base, changed, target."""


def merge_lists(old: Group, ours: Group, theirs: Group, items: MergeItems) -> Group | None:
    """Return the target's list with the patch's change in it, or None where the two meet."""
    if len({_is_tuple(side) for side in (old, ours, theirs)}) > 1 or _both_resize_a_record(old, ours, theirs):
        return None
    found = _ListMerge(old, ours, theirs, items).run()
    if found is None or _doubled(found, (old, ours, theirs)):
        return None
    return _assembled(found, old, ours, theirs)


class _ListMerge:
    def __init__(self, old: Group, ours: Group, theirs: Group, items: MergeItems) -> None:
        self.old, self.ours, self.theirs = old, ours, theirs
        self.items = items
        self.mine, self.yours = _pair(old.entries, ours.entries), _pair(old.entries, theirs.entries)
        self.to_ours = _with_modified(self.mine, len(old.entries))
        self.to_theirs = _with_modified(self.yours, len(old.entries))

    def run(self) -> list[Entry] | None:
        found: list[Entry] = []
        for stretch in sweep(self.mine.edits, self.yours.edits, len(self.old.entries)):
            entries = self._stretch(stretch)
            if entries is None:
                return None
            found.extend(entries)
        return found

    def _stretch(self, stretch: Stretch) -> Sequence[Entry] | None:
        begin, end = stretch.begin, stretch.end
        if stretch.side is Side.NEITHER:
            return [
                _kept(old, self.ours.entries[self.to_ours[at]], self.theirs.entries[self.to_theirs[at]])
                for at, old in enumerate(self.old.entries[begin:end], start=begin)
            ]
        there = self.theirs.entries[slice(*span(stretch.theirs, begin, end))] if stretch.theirs else []
        if stretch.side is Side.THEIRS:
            edit = stretch.theirs[0]
            lost = not self.yours.is_modified(edit) and self._is_lost(edit, there, self.to_ours)
            return None if lost else there
        added = self.ours.entries[slice(*span(stretch.ours, begin, end))]
        if stretch.side is Side.OURS:
            return self._added(stretch.ours[0], added)
        return self._both(stretch, added, there)

    def _added(self, edit: Edit, added: Sequence[Entry]) -> list[Entry] | None:
        """Only the patch changes these entries."""
        if self.mine.is_modified(edit):
            entry = self._modified(edit.old, added[0], self.theirs.entries[self.to_theirs[edit.old]])
            return None if entry is None else [entry]
        if self._is_lost(edit, added, self.to_theirs):
            return None
        return [_fitted(entry, self.old, self.theirs) for entry in added]

    def _is_lost(self, edit: Edit, added: Sequence[Entry], to_other: Sequence[int]) -> bool:
        """Tell whether all that new entries stand beside is gone from the other side, and their place has a meaning."""
        near = [spot for spot in (edit.old - 1, edit.old_end) if 0 <= spot < len(self.old.entries)]
        alone = bool(near) and all(to_other[spot] < 0 for spot in near)
        return alone and not all(_is_placeless(entry, self.theirs) for entry in added)

    def _modified(self, at: int, ours: Entry, theirs: Entry) -> Entry | None:
        old = self.old.entries[at]
        woven = self.items(old.items, ours.items, theirs.items)
        return None if woven is None else Entry(list(woven), theirs.comma, _comments(old, ours, theirs))

    def _both(self, stretch: Stretch, added: Sequence[Entry], there: Sequence[Entry]) -> Sequence[Entry] | None:
        """Both sides change these entries."""
        if [entry.key for entry in added] == [entry.key for entry in there]:
            return there
        if len(stretch.ours) > 1 or len(stretch.theirs) > 1:
            return None
        one, two = stretch.ours[0], stretch.theirs[0]
        if self.mine.is_modified(one) and self.yours.is_modified(two) and one.old == two.old:
            entry = self._modified(one.old, added[0], there[0])
            return None if entry is None else [entry]
        if one.old == one.old_end == two.old == two.old_end:
            return self._both_added(added, there)
        return [] if not added and not there else None

    def _both_added(self, added: Sequence[Entry], there: Sequence[Entry]) -> list[Entry] | None:
        our_keys, their_keys = {entry.key for entry in added}, {entry.key for entry in there}
        fresh = [entry for entry in added if entry.key not in their_keys]
        left = [entry for entry in there if entry.key not in our_keys]
        names = {entry.name for entry in there}
        if any(entry.name in names for entry in fresh):
            return None
        if fresh and left:
            if any(_is_ruling(entry, self.theirs) for entry in (*fresh, *left)):
                return None
            if self.theirs.is_call and not all(_is_placeless(entry, self.theirs) for entry in (*fresh, *left)):
                return self._by_place_and_by_name(fresh, there)
        return [*there, *(_fitted(entry, self.old, self.theirs) for entry in fresh)]

    def _by_place_and_by_name(self, fresh: Sequence[Entry], there: Sequence[Entry]) -> list[Entry] | None:
        """Put entries that go by place before those of the other side that go by name, the only order there is."""
        ours = [_fitted(entry, self.old, self.theirs) for entry in fresh]
        ways = [{_is_placeless(entry, self.theirs) for entry in side} for side in (fresh, there)]
        if ways == [{True}, {False}]:
            return [*there, *ours]
        if ways == [{False}, {True}]:
            return [*ours, *there]
        return None


def _pair(old: Sequence[Entry], new: Sequence[Entry]) -> Pairing:
    """Pair the entries of two lists: equal ones, and those of one name."""
    found: list[Edit] = []
    modified: set[int] = set()
    for edit in edits([entry.key for entry in old], [entry.key for entry in new]):
        at, new_at = edit.old, edit.new
        for one in range(edit.old, edit.old_end):
            two = next((spot for spot in range(new_at, edit.new_end) if new[spot].name == old[one].name), None)
            if two is None and _reworded(edit, old, new):
                two = edit.new
            if two is None:
                continue
            if one > at or two > new_at:
                found.append(Edit(at, one, new_at, two))
            found.append(Edit(one, one + 1, two, two + 1))
            modified.add(one)
            at, new_at = one + 1, two + 1
        if edit.old_end > at or edit.new_end > new_at:
            found.append(Edit(at, edit.old_end, new_at, edit.new_end))
    return Pairing(found, modified)


def _reworded(edit: Edit, old: Sequence[Entry], new: Sequence[Entry]) -> bool:
    """Tell whether an edit is one positional entry in another wording."""
    alone = edit.old_end - edit.old == edit.new_end - edit.new == 1
    return alone and not (old[edit.old].is_keyword or new[edit.new].is_keyword)


def _with_modified(pairing: Pairing, length: int) -> list[int]:
    to_new = partners(pairing.edits, length)
    for edit in pairing.edits:
        if pairing.is_modified(edit):
            to_new[edit.old] = edit.new
    return to_new


def _kept(old: Entry, ours: Entry, theirs: Entry) -> Entry:
    """An entry that says the same on all sides."""
    words = list(flat(old.items)), list(flat(ours.items)), list(flat(theirs.items))
    if len(words[0]) == len(words[1]) == len(words[2]):
        formed: list[Item] = [form(one, two, three) for one, two, three in zip(*words, strict=True)]
        return Entry(formed, theirs.comma, _comments(old, ours, theirs))
    if _texts(words[0]) == _texts(words[2]):
        return Entry(list(ours.items), theirs.comma, ours.comments)
    return theirs


def _comments(old: Entry, ours: Entry, theirs: Entry) -> list[Lexeme]:
    return ours.comments if _texts(theirs.comments) == _texts(old.comments) else theirs.comments


def _texts(lexemes: Sequence[Lexeme]) -> list[str]:
    return [lexeme.text for lexeme in lexemes]


def _is_tuple(group: Group) -> bool:
    """Tell whether the comma behind the only entry makes a tuple of it."""
    if len(group.entries) != 1 or group.entries[0].comma is None or group.before == "import":
        return False
    return (group.opener.key == "(" and not group.is_call) or (group.opener.key == "[" and group.follows)


def _both_resize_a_record(old: Group, ours: Group, theirs: Group) -> bool:
    """Tell whether both sides give a list another length in which each place has a meaning, and not the same list."""
    sizes = len(ours.entries), len(theirs.entries)
    if len(old.entries) in sizes or not any(map(_is_record, (old, ours, theirs))):
        return False
    return [entry.key for entry in ours.entries] != [entry.key for entry in theirs.entries]


_NO_TUPLES = frozenset({"import", "in", "except", "with"})
"""Words before brackets that hold no tuple, or one whose order has no meaning."""


def _is_record(group: Group) -> bool:
    """Tell whether a place in a list has a meaning of its own: in a subscript, and in a tuple.

    A tuple of strings, one that something is looked for in, and one of exceptions are sets of choices.
    """
    if group.opener.key == "[":
        return group.follows
    if group.opener.key != "(" or group.is_call or group.before in _NO_TUPLES:
        return False
    return len(group.entries) > 1 and not all(entry.key[-1:] in ("'", '"') for entry in group.entries)


def _doubled(found: Sequence[Entry], sides: Sequence[Group]) -> bool:
    """Tell whether an entry stands there more often than on any side: both brought it, at places that do not meet."""
    counts = Counter(entry.key for entry in found)
    known = [Counter(entry.key for entry in side.entries) for side in sides]
    return any(count > 1 and count > max(side[key] for side in known) for key, count in counts.items())


def _is_ruling(entry: Entry, group: Group) -> bool:
    """Tell whether an entry decides about those around it: ``*``, ``/``, ``*args``; in a dict ``**more`` as well."""
    is_mapping = entry.key.startswith("**")
    return entry.key[:1] in ("*", "/") and (not is_mapping or group.opener.key == "{")


def _is_placeless(entry: Entry, group: Group) -> bool:
    """Tell whether the place of an entry in its list has no meaning: keywords, names im- or exported, sets, dicts."""
    return entry.is_keyword or group.before == "import" or group.opener.key == "{" or group.is_export


def _fitted(entry: Entry, old: Group, theirs: Group) -> Entry:
    """Return an entry of the patch in the target's manner of breaking lines."""
    if old.exploded == theirs.exploded or not theirs.entries or "#" in entry.lead:
        return entry
    lead = theirs.entries[-1].lead if theirs.exploded else " "
    first, *rest = flat(entry.items)
    return Entry([Lexeme(lead, first.text, first.key), *rest], entry.comma, entry.comments)


def _assembled(entries: Sequence[Entry], old: Group, ours: Group, theirs: Group) -> Group:
    """Return a group with commas between its entries, and one behind the last as the side has it that changed it."""
    hidden = isinstance(theirs.opener, Hidden)
    opener, closer = theirs.opener, theirs.closer
    if not any(isinstance(side.closer, Hidden) for side in (old, ours, theirs)):
        closer = form(old.closer, ours.closer, theirs.closer)
    elif hidden and not isinstance(ours.opener, Hidden) and isinstance(old.opener, Hidden):
        opener, closer, hidden = ours.opener, ours.closer, False
    last_comma = _has_last_comma(old, ours, theirs) and not hidden
    finished: list[Entry] = []
    for number, entry in enumerate(entries):
        comma = entry.comma or Lexeme("", ",", ",")
        is_last = number == len(entries) - 1
        items = _spaced(list(flat(entry.items)), number, theirs, hidden=hidden)
        finished.append(Entry(list(items), None if is_last and not last_comma else comma, entry.comments))
    return Group(opener, finished, closer, theirs.before, is_export=theirs.is_export)


def _has_last_comma(old: Group, ours: Group, theirs: Group) -> bool:
    lasts = [bool(side.entries) and side.entries[-1].comma is not None for side in (old, ours, theirs)]
    return lasts[1] if lasts[2] == lasts[0] else lasts[2]


def _spaced(items: list[Lexeme], number: int, theirs: Group, *, hidden: bool) -> list[Lexeme]:
    """Return the words of the entry ``number`` with the space that belongs before it."""
    if not items:
        return items
    first = items[0]
    lead = first.space
    if number == 0 and not first.text.startswith("#") and "\n" not in lead:
        lead = " " if hidden else ""
        if theirs.entries and "\n" not in theirs.entries[0].lead:
            lead = theirs.entries[0].lead
    elif number and lead == "":
        lead = " "
    return [Lexeme(lead, first.text, first.key), *items[1:]]
