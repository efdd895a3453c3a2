"""A statement as words and bracketed lists of entries: arguments, parameters, elements, imported names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from patchkit.core.merging.lexemes import NO_CALLEES, Lexeme

_CLOSER = {"(": ")", "[": "]", "{": "}"}


class Entry:
    """One entry of a list, with the comma behind it and the comments around it."""

    def __init__(self, items: list[Item], comma: Lexeme | None, comments: list[Lexeme]) -> None:
        self.items = items
        self.comma = comma
        self.comments = comments
        """Comments on the line behind the comma."""

    @cached_property
    def key(self) -> str:
        """The words without comments: equal for entries that say the same."""
        return " ".join(lexeme.key for lexeme in flat(self.items) if not lexeme.text.startswith("#"))

    @cached_property
    def name(self) -> str:
        """What identifies the entry in its list: a keyword, a parameter's name, a dict key, or the whole entry."""
        words = [item for item in self.items if not (isinstance(item, Lexeme) and item.text.startswith("#"))]
        for number, item in enumerate(words):
            if isinstance(item, Lexeme) and item.text in ("=", ":"):
                return " ".join(lexeme.key for lexeme in flat(words[:number]))
            if isinstance(item, Lexeme) and item.text in ("lambda", "for", "if"):
                break
        return self.key

    @property
    def is_keyword(self) -> bool:
        """Whether its place in the list has no meaning: ``name=value`` and ``**more``."""
        texts = [item.text for item in self.items if isinstance(item, Lexeme)]
        return texts[:1] == ["**"] or (len(texts) > 1 and "=" in texts)

    @property
    def lead(self) -> str:
        """The space before it."""
        return next((lexeme.space for lexeme in flat(self.items)), "")


class Group:
    """A bracketed list."""

    def __init__(
        self, opener: Lexeme, entries: list[Entry], closer: Lexeme, before: str, *, is_export: bool = False
    ) -> None:
        self.opener = opener
        self.entries = entries
        self.closer = closer
        self.before = before
        """The word before the bracket; empty when there is none."""
        self.is_export = is_export
        """Whether it is in a statement about ``__all__``, whose names are in no order that has a meaning."""

    @property
    def is_call(self) -> bool:
        """Whether it holds arguments or parameters."""
        return self.opener.key == "(" and self.follows

    @property
    def follows(self) -> bool:
        """Whether it stands right behind something that it belongs to: a call, parameters, a subscript."""
        last = self.before[-1:]
        return (last.isalnum() or last in ("_", ")", "]")) and self.before not in _NO_CALLEES

    @property
    def exploded(self) -> bool:
        """Whether each entry is on a line of its own."""
        return len(self.entries) > 0 and all("\n" in entry.lead for entry in self.entries)


# The names of an import are no arguments.
_NO_CALLEES = NO_CALLEES | {"import"}

Item = Lexeme | Group


class Hidden(Lexeme, gc=False, eq=False):
    """A bracket that is not written, around the names of an import: only its ``key`` is not empty."""


def form(old: Lexeme, ours: Lexeme, theirs: Lexeme) -> Lexeme:
    """Return a word that all sides have in the form of the side that changed it; the target's if both did."""
    space = ours.space if theirs.space == old.space else theirs.space
    text = ours.text if theirs.text == old.text else theirs.text
    return theirs if (space, text) == (theirs.space, theirs.text) else Lexeme(space, text, theirs.key)


def tree(lexemes: Sequence[Lexeme]) -> list[Item] | None:
    """Return a statement as words and groups, or None when its brackets do not match."""
    reader = _Reader(lexemes)
    items = reader.items("")
    return items if reader.at == len(lexemes) and not reader.broken else None


class _Reader:
    def __init__(self, lexemes: Sequence[Lexeme]) -> None:
        self.lexemes = lexemes
        self.at = 0
        self.broken = False

    def items(self, stop: str) -> list[Item]:
        """Read to a closing bracket, and inside of one to a comma as well."""
        found: list[Item] = []
        while self.at < len(self.lexemes):
            lexeme = self.lexemes[self.at]
            if lexeme.key in (")", "]", "}") or (stop and lexeme.key == ","):
                break
            self.at += 1
            if lexeme.key in _CLOSER:
                before = self.lexemes[self.at - 2].text if self.at > 1 else ""
                found.append(self._group(lexeme, before))
            else:
                found.append(lexeme)
        return found

    def _group(self, opener: Lexeme, before: str) -> Group:
        entries: list[Entry] = []
        closing = _CLOSER[opener.key]
        while self.at < len(self.lexemes):
            items = self.items(closing)
            if self.at >= len(self.lexemes):
                break
            lexeme = self.lexemes[self.at]
            self.at += 1
            if lexeme.key == ",":
                comments: list[Lexeme] = []
                while self.at < len(self.lexemes) and self._is_tail_comment(self.lexemes[self.at]):
                    comments.append(self.lexemes[self.at])
                    self.at += 1
                entries.append(Entry(items, lexeme, comments))
                continue
            if lexeme.key != closing:
                self.broken = True
            if items:
                entries.append(Entry(items, None, []))
            return Group(opener, entries, lexeme, before, is_export=self.lexemes[0].text == "__all__")
        self.broken = True
        return Group(opener, entries, Lexeme("", "", ""), before)

    @staticmethod
    def _is_tail_comment(lexeme: Lexeme) -> bool:
        return lexeme.text.startswith("#") and "\n" not in lexeme.space


def flat(items: Sequence[Item]) -> Iterator[Lexeme]:
    """Yield the lexemes of a tree in order."""
    for item in items:
        if isinstance(item, Lexeme):
            yield item
            continue
        yield item.opener
        for entry in item.entries:
            yield from flat(entry.items)
            if entry.comma is not None:
                yield entry.comma
            yield from entry.comments
        yield item.closer
