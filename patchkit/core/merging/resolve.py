"""What the line merge left as conflict, taken up logical line by logical line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from patchkit.core.merging.alignment import Edit
from patchkit.core.merging.depths import Shift, depth, shift
from patchkit.core.merging.docstrings import ours_first
from patchkit.core.merging.forms import deeper, kept, worded, woven
from patchkit.core.merging.imports import merged_imports
from patchkit.core.merging.insertions import both, within
from patchkit.core.merging.lexemes import LineKind, LogicalLine
from patchkit.core.merging.logical import cut_lines
from patchkit.core.merging.moves import both_moved, import_went, moved
from patchkit.core.merging.renames import Rename, applied, is_everywhere, rename, same_things, stands
from patchkit.core.merging.resolved import Clash, Resolved, Span
from patchkit.core.merging.sides import Version
from patchkit.core.merging.sweep import Side, Stretch, span, sweep
from patchkit.core.merging.taken_out import taken_out
from patchkit.core.merging.words import key
from patchkit.core.remembered import remembered


@remembered(most=2_000_000)
def resolve(base: str, changed: str, target: str) -> Resolved:
    """Merge three versions of a Python source, or of a part of one. Nobody may change the answer."""
    return _Merge(Version.of(base, changed), Version.of(base, target)).run()


@remembered(most=2_000_000)
def resolve_all(base: str, changed: str, target: str, *, is_whole: bool = False) -> Resolved | None:
    """Merge three versions of a Python source; None as soon as something cannot be brought together.

    ``is_whole`` when the texts are whole files as they are, with nothing put elsewhere. Nobody may change the answer.
    """
    sides = Version.of(base, changed), Version.of(base, target)
    try:
        merge = _Merge(*sides, is_whole=is_whole, is_all=True)
        resolved = merge.run()
        if merge.renames:
            text = "".join(part for part in resolved.parts if isinstance(part, str))
            lines = cut_lines(text).lines
            if any(stands(change.old, lines, is_attribute=change.is_attribute) for change in merge.renames):
                # A name that has gone from one side is left in what the other side put in elsewhere.
                resolved = _Merge(*sides, is_all=True).run()
    except _ClashError:
        return None
    return None if any(isinstance(part, Clash) for part in resolved.parts) else resolved


_ELSEWHERE = "the lines stand in another class, function or block on the other side"
_FORM = "only the form of the lines changed"
_STRING = "both sides indented lines of a string anew, differently"
_NEARBY = "the target changed lines nearby"


class _ClashError(Exception):
    """Something could not be brought together, however the rest goes."""


class _Merge:
    def __init__(self, ours: Version, theirs: Version, *, is_whole: bool = False, is_all: bool = False) -> None:
        self.base = ours.base
        self.is_whole = is_whole
        self.is_all = is_all
        """Whether a merge with a clash in it is none."""
        self.renames: list[Rename] = []
        self.ours, self.theirs = ours, theirs
        self.parts: list[str | Clash] = []
        self.spans: list[Span] = []
        self.rows = 0

    def run(self) -> Resolved:
        """Return the merge. With ``is_all`` raises _ClashError at the first clash that is certain."""
        stretches = list(sweep(self.ours.pairing.edits, self.theirs.pairing.edits, len(self.base)))
        if self.is_all:
            # What becomes of a stretch depends on no other one. The patch changes few, and there most clashes are.
            for stretch in stretches:
                if stretch.ours:
                    self._settle(stretch)
            self.parts, self.spans, self.renames, self.rows = [], [], [], 0
        for stretch in stretches:
            self._settle(stretch)
        return Resolved(self.parts, self.spans)

    def _settle(self, stretch: Stretch) -> None:
        if stretch.side is Side.NEITHER:
            self._unchanged(stretch.begin, stretch.end)
        elif stretch.side is Side.BOTH:
            self._both(stretch)
        else:
            self._one(stretch)

    def _put(self, texts: Iterable[str]) -> None:
        for text in texts:
            last = self.parts[-1] if self.parts else None
            # What was the last line of a file without a final newline is followed by another now.
            broken = "\n" if isinstance(last, str) and last and not last.endswith("\n") else ""
            self.parts.append(broken + text)
            self.rows += text.count("\n") + len(broken)

    def _carried(self, edits: Sequence[Edit], texts: Iterable[str], reason: str) -> None:
        """Put lines of the patch and note what became of them."""
        first = self.rows
        self._put(texts)
        base = self.ours.in_base(edits[0].old, edits[-1].old_end)
        self.spans.append(Span(*base, first, self.rows, "restructured", reason))

    def _clash(
        self,
        begin: int,
        end: int,
        ours: tuple[int, int],
        theirs: tuple[int, int],
        reason: str,
        *,
        is_certain: bool = True,
    ) -> None:
        if self.is_all and is_certain:
            raise _ClashError
        changed, target = self.ours.lines, self.theirs.lines
        sides = (self.base[begin:end], changed[slice(*ours)], target[slice(*theirs)])
        self.parts.append(Clash(*("".join(line.full for line in side) for side in sides)))
        self.spans.append(Span(*self.ours.in_base(begin, end), *self.theirs.in_text(*theirs), "conflict", reason))

    def _unchanged(self, begin: int, end: int) -> None:
        """Put lines that say the same on all sides; the patch may have changed their form, indentation above all."""
        same: list[str] = []
        for at in range(begin, end):
            text = kept(at, self.ours, self.theirs)
            if text is not None and self.ours.partner(at).text == self.base[at].text:
                same.append(text)
                continue
            self._put(same)
            same.clear()
            here, there = self.ours.to_new[at], self.theirs.to_new[at]
            if text is None:
                self._clash(at, at + 1, (here, here + 1), (there, there + 1), _STRING)
            else:
                self._carried([Edit(at, at + 1, here, here + 1)], [text], _FORM)
        self._put(same)

    def _one(self, stretch: Stretch) -> None:
        """Only one side changes these lines."""
        is_ours = stretch.side is Side.OURS
        edit = (stretch.ours or stretch.theirs)[0]
        side, other = (self.ours, self.theirs) if is_ours else (self.theirs, self.ours)
        brought = other.brings(edit, side.lines[edit.new : edit.new_end])
        if brought:
            if is_ours:
                base = self.ours.in_base(edit.old, edit.old_end)
                self.spans.append(Span(*base, self.rows, self.rows, "upstreamed", "the target has the same lines"))
            return
        texts, reason = self._texts(edit, side, other, partly=brought is not None)
        if texts is None:
            begin, end = edit.old, edit.old_end
            ours = (edit.new, edit.new_end) if is_ours else self.ours.place(begin, end)
            theirs = self.theirs.place(begin, end) if is_ours else (edit.new, edit.new_end)
            self._clash(begin, end, ours, theirs, reason)
        elif is_ours:
            self._carried([edit], texts, reason)
        elif side.pairing.is_modified(edit) and self.ours.partner(edit.old).text != self.base[edit.old].text:
            here = self.ours.to_new[edit.old]
            self._carried([Edit(edit.old, edit.old_end, here, here + 1)], texts, _FORM)
        else:
            self._put(texts)

    def _texts(  # noqa: PLR0911 - one return a rule
        self, edit: Edit, side: Version, other: Version, *, partly: bool
    ) -> tuple[list[str] | None, str]:
        """Return the lines that ``side`` brings as they go into the result, or None, with the reason.

        ``partly`` says that ``other`` brings some of them too, right beside.
        """
        lines = side.lines[edit.new : edit.new_end]
        if side.pairing.is_modified(edit):
            if other.at_home(edit.old) or other.moved_out(edit, lines):
                text = worded(edit.old, lines[0], other.partner(edit.old), self.ours, self.theirs)
                return (None, _STRING) if text is None else ([text], _NEARBY)
            return None, _ELSEWHERE
        if self.ours.reorders(edit.old) and self.theirs.reorders(edit.old):
            return None, "both sides put the lines of this block in another order"
        if partly:
            return None, "the other side brings some of these lines too, beside this place"
        if moved(side, other, edit):
            return None, "one side inserts beside lines that the other side moved away"
        moves = shift(edit, side, other) if other.fits(edit, side.lines) else None
        if moves is None:
            return None, _ELSEWHERE
        return [deeper(line, moves) for line in lines], _NEARBY

    def _both(self, stretch: Stretch) -> None:
        """Both sides change these lines."""
        begin, end = stretch.begin, stretch.end
        ours, theirs = span(stretch.ours, begin, end), span(stretch.theirs, begin, end)
        mine, yours = self.ours.lines[slice(*ours)], self.theirs.lines[slice(*theirs)]
        if [line.key for line in mine] == [line.key for line in yours]:
            self._agreed(stretch, ours, theirs)
            return
        if self.is_whole and not any(edit.new < edit.new_end for edit in (*stretch.ours, *stretch.theirs)):
            # In a part of a file nobody sees whether a side took the lines out or put them elsewhere.
            self._both_took_out(stretch, ours, theirs)
            return
        reason = "both sides changed the same lines"
        if len(stretch.ours) == len(stretch.theirs) == 1:
            one, two = stretch.ours[0], stretch.theirs[0]
            text: list[str] | None = None
            if one.old == two.old and self.ours.pairing.is_modified(one) and self.theirs.pairing.is_modified(two):
                reason = "both sides changed the same words"
                if self.theirs.at_home(one.old) and self.ours.at_home(one.old):
                    text = woven(one.old, mine[0], yours[0], self.ours, self.theirs)
                    done = "both sides changed different words of a statement"
                else:
                    reason = _ELSEWHERE
            elif one.old == one.old_end == two.old == two.old_end:
                reason = "both sides insert here"
                text = self._both_inserted(one, two, mine, yours)
                done = reason
            elif two.old <= one.old and one.old_end <= two.old_end and one.new < one.new_end:
                added = [line.key for line in self.ours.lines[one.new : one.new_end]]
                if within(added, [line.key for line in self.theirs.lines[two.new : two.new_end]]) and self._outdone(
                    one, two
                ):
                    first = self.rows
                    self._put(line.full for line in yours)
                    base = self.ours.in_base(begin, end)
                    reason = "the target has the same lines, and more"
                    self.spans.append(Span(*base, first, self.rows, "upstreamed", reason))
                    return
            if text is not None:
                self._carried(stretch.ours, text, done)
                return
        self._renamed_or_clash(stretch, ours, theirs, reason)

    def _outdone(self, edit: Edit, other: Edit) -> bool:
        """Tell whether the target brings each line as often as the patch does, and takes out as many of each.

        A line that it has there is no proof by itself: the base may have it among the lines that the target rewrote,
        and where a string begins or ends elsewhere it may be text on one side and code on the other.
        """
        ours, theirs = (
            Counter(key(line.text) for line in side.lines[each.new : each.new_end])
            for side, each in ((self.ours, edit), (self.theirs, other))
        )
        ours.subtract(key(line.text) for line in self.base[edit.old : edit.old_end])
        theirs.subtract(key(line.text) for line in self.base[other.old : other.old_end])
        return all(theirs[each] >= count if count > 0 else theirs[each] <= count for each, count in ours.items())

    def _agreed(self, stretch: Stretch, ours: tuple[int, int], theirs: tuple[int, int]) -> None:
        """Both sides have the same lines there; either may have put something around them."""
        begin, end = stretch.begin, stretch.end
        mine, yours = self.ours.lines[slice(*ours)], self.theirs.lines[slice(*theirs)]
        one, two = stretch.ours[0], stretch.theirs[0]
        moves: Shift | None = Shift(0)
        if one.old == two.old and self.ours.pairing.is_modified(one) and self.theirs.pairing.is_modified(two):
            columns = depth(begin, self.ours, self.theirs)
            own = yours[0].indent - self.base[begin].indent
            moves = None if columns is None else Shift(columns - own, columns - own)
        elif [line.indent for line in mine] != [line.indent for line in yours]:
            moves = shift(two, self.theirs, self.ours) if len(stretch.theirs) == 1 else None
        if moves is None:
            self._clash(begin, end, ours, theirs, _ELSEWHERE)
            return
        first = self.rows
        self._put(deeper(line, moves) for line in yours)
        base = self.ours.in_base(begin, end)
        self.spans.append(Span(*base, first, self.rows, "upstreamed", "the target has the same change"))

    def _renamed_or_clash(self, stretch: Stretch, ours: tuple[int, int], theirs: tuple[int, int], reason: str) -> None:
        begin, end = stretch.begin, stretch.end
        if self.is_whole and taken_out(stretch, self.ours, self.theirs):
            self._carried(
                stretch.ours, [], "the target only gave calls more keywords in a block that the patch takes out"
            )
            return
        if self._only_comments(begin, end, theirs) and all(
            self.ours.at_home(at) for at in range(begin, end) if self.ours.to_new[at] >= 0
        ):
            reason = "the target changed comments among lines that the patch rewrote"
            self._carried(stretch.ours, (line.full for line in self.ours.lines[slice(*ours)]), reason)
            return
        text = self._renamed(begin, end, ours, theirs) if self.is_whole else None
        if text is not None:
            self._carried(stretch.ours, text, "one side rewrote these lines, the other one renamed what is in them")
            return
        text = None
        if not (import_went(self.ours, begin, end, ours) or import_went(self.theirs, begin, end, theirs)):
            # Of an import that stands elsewhere now the names belong there.
            text = merged_imports(
                self.base[begin:end], self.ours.lines[slice(*ours)], self.theirs.lines[slice(*theirs)]
            )
        if text is not None:
            self._carried(stretch.ours, text, "both sides changed other names of these imports")
        else:
            self._clash(begin, end, ours, theirs, reason)

    def _only_comments(self, begin: int, end: int, theirs: tuple[int, int]) -> bool:
        """Tell whether the target has the code of the base's lines, in the same blocks, with other comments."""
        sides = [
            [(line.kind, line.key, line.indent) for line in lines if line.kind is not LineKind.COMMENT]
            for lines in (self.base[begin:end], self.theirs.lines[slice(*theirs)])
        ]
        at_home = (self.theirs.at_home(at) for at in range(begin, end) if self.theirs.to_new[at] >= 0)
        return bool(sides[0]) and sides[0] == sides[1] and all(at_home)

    def _renamed(self, begin: int, end: int, ours: tuple[int, int], theirs: tuple[int, int]) -> list[str] | None:
        """Return the lines of the side that rewrote them with the name that the other side gave something in them."""
        sides = ((self.theirs, theirs, self.ours, ours), (self.ours, ours, self.theirs, theirs))
        for renaming, (first, last), rewriting, place in sides:
            change = rename(self.base[begin:end], renaming.lines[first:last])
            if (
                change is not None
                and is_everywhere(change, [*self.base[:begin], *self.base[end:]], self.base, renaming.lines)
                and all(renaming.to_new[at] == first + at - begin and renaming.at_home(at) for at in range(begin, end))
                and all(rewriting.at_home(at) for at in range(begin, end) if rewriting.to_new[at] >= 0)
                and same_things(change, rewriting.lines, place, self.base)
            ):
                self.renames.append(change)
                return [line.blank + applied(change, line) + line.end for line in rewriting.lines[slice(*place)]]
        return None

    def _both_took_out(self, stretch: Stretch, ours: tuple[int, int], theirs: tuple[int, int]) -> None:
        """Take all lines out: each goes on one of the sides at least, or the edits would not meet."""
        begin, end = stretch.begin, stretch.end
        gone = [at for edit in stretch.ours for at in range(edit.old, edit.old_end)]
        of_both = {at for at in gone if self.theirs.to_new[at] < 0}
        if of_both & (self.ours.moved_lines ^ self.theirs.moved_lines):
            # Taken for a part of a file, as where a name is left, these lines may be brought together.
            reason = "one side takes lines out that the other side moved away"
            self._clash(begin, end, ours, theirs, reason, is_certain=False)
        elif len(of_both) == len(gone):
            reason = "the target took out these lines and more"
            self.spans.append(Span(*self.ours.in_base(begin, end), self.rows, self.rows, "upstreamed", reason))
        else:
            self._carried(stretch.ours, [], "the target took out some of these lines already")

    def _returns(self, keys: Sequence[str], their_keys: Sequence[str]) -> bool:
        """Tell whether the longer one of two versions has lines that the other side took out of the base."""
        extra, their_extra = set(keys) - set(their_keys), set(their_keys) - set(keys)
        if not their_extra:
            return bool(extra & self.theirs.gone)
        return not extra and bool(their_extra & self.ours.gone)

    def _both_inserted(  # noqa: PLR0911 - one return a rule
        self, edit: Edit, other: Edit, mine: list[LogicalLine], yours: list[LogicalLine]
    ) -> list[str] | None:
        their_shift = shift(other, self.theirs, self.ours, first=mine[-1].opens)
        # What the target puts around the lines that follow is not around what the patch inserts before them.
        wraps = yours[-1].opens and not mine[-1].opens
        our_shift = shift(edit, self.ours, self.theirs, first=wraps)
        if their_shift is None or not self.ours.fits(other, self.theirs.lines):
            return None
        theirs = [deeper(line, their_shift) for line in yours]
        keys, their_keys = [line.key for line in mine], [line.key for line in yours]
        if self._returns(keys, their_keys):
            return None
        if not any(line.text for line in mine) or within(keys, their_keys):
            # Blank lines at the end of the file, or lines that the target has already.
            return theirs
        if our_shift is None or not self.theirs.fits(edit, self.ours.lines):
            return None
        if both_moved(self.ours, self.theirs, mine, yours):
            return None
        if within(their_keys, keys):
            return [deeper(line, our_shift) for line in mine]
        described = ours_first(edit.old, self.ours, self.theirs, mine, yours)
        if described is not None:
            ours = [deeper(line, our_shift) for line in mine]
            return ours + theirs if described else theirs + ours
        behind = self.theirs.place(edit.old, edit.old)[1] + len(yours)
        blank = edit.old >= len(self.base) or bool(self.base[edit.old].blank)
        below = self.ours.blank_before(edit.new_end), self.theirs.blank_before(behind)
        together = both(mine, yours, blank_below=below, blank_was=blank, wraps=wraps)
        if together is None:
            return None
        fresh, first = together
        ours = [deeper(line, our_shift) for line in fresh]
        return ours + theirs if first or wraps else theirs + ours
