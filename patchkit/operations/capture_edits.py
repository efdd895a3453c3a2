"""Edited files as changes to the hunks of the patches that made them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from patchkit.core.difference import difference
from patchkit.core.foreign.enclosing import enclosing_scopes
from patchkit.core.lines import split_lines
from patchkit.core.model import FilePatch, Hunk, HunkLine, LineKind
from patchkit.core.placement import Placed, ScopeRanges, place_hunk
from patchkit.core.printing import shell_word
from patchkit.core.refreshing.attribution import InQuestion, Owned, attribute, given
from patchkit.core.refreshing.layering import Edit, Layer, edited, edits, layer, raised_through
from patchkit.core.refreshing.refresh import refreshed
from patchkit.core.report import Problem
from patchkit.operations import layers as series_layers
from patchkit.operations.capture_tree import Changed


@dataclass(slots=True)
class PatchChange:
    """What becomes of one patch on the target."""

    replaced: dict[str, Hunk | None] = field(default_factory=dict)
    """By hunk id; numbered for the variant's text. None for a hunk that the edits took out."""
    added: dict[str, list[Hunk]] = field(default_factory=dict)
    """By path; without ids yet."""
    files: list[FilePatch] = field(default_factory=list)
    """Files that the patch did not have on this target; hunks without ids yet."""
    context: set[str] = field(default_factory=set)
    """Ids of replaced hunks of which only the context changed: the edits belong to patches below."""
    renumbered: dict[str, int] = field(default_factory=dict)
    """1-based old line that the variant's text must name now, by id of a hunk that could stand at several places."""
    texts: dict[str, tuple[bytes | None, bytes | None]] = field(default_factory=dict)
    """What the patch finds and leaves now, by path, of every file with a changed or new hunk."""


@dataclass(slots=True)
class Edits:
    """Everything that was found in a tree."""

    patches: dict[str, PatchChange] = field(default_factory=dict)
    questions: list[Problem] = field(default_factory=list)
    """Edits that belong to no patch or to more than one."""
    problems: list[Problem] = field(default_factory=list)
    """Edits that cannot be expressed."""

    def change(self, patch: str) -> PatchChange:
        """Return the change of a patch, to be filled."""
        return self.patches.setdefault(patch, PatchChange())


def collect(
    files: Sequence[Changed], found: Sequence[series_layers.Layer], order: Sequence[str], home: str | None
) -> Edits:
    """Attribute every edit in ``files``.

    ``found`` is the series on the target, ``order`` all its patches, ``home`` the patch (the last of ``order`` when it
    is new) that takes what is in question.
    """
    all_edits = Edits()
    for file in files:
        touching = [one for one in found if file.path in one.after]
        if file.expected is None or file.found is None:
            _whole_file(file, touching, home, all_edits)
        else:
            _edited_file(file, touching, order, home, all_edits)
    return all_edits


def _whole_file(file: Changed, touching: Sequence[series_layers.Layer], home: str | None, all_edits: Edits) -> None:
    """A file that was made or removed in the tree."""
    what = "is new" if file.expected is None else "is gone"
    if touching:
        makes = len(touching) == 1 and touching[0].before[file.path] is None and file.found is None
        owner = touching[-1].patch
        if not makes:
            names = ", ".join(one.patch.name for one in touching)
            all_edits.problems.append(Problem(f"the file {what}, and {names} change it", file.path))
            return
        change = all_edits.change(owner.name)
        part = touching[0].text.file(file.path)
        change.replaced |= {hunk.id: None for hunk in (part.hunks if part else ())}
        return
    if home is None:
        all_edits.questions.append(Problem(f"the file {what}, and no patch touches it", file.path))
        return
    part = difference(file.expected, file.found, file.path)
    if part is None or not part.hunks:
        hint = f"put a line into it, or leave it out with --exclude {shell_word(file.path)}"
        message = f"the file {what} and empty: a patch cannot say that by a hunk"
        all_edits.problems.append(Problem(message, file.path, hint=hint))
        return
    change = all_edits.change(home)
    change.files.append(part)
    change.texts[file.path] = (file.expected, file.found)


def _edited_file(
    file: Changed,
    touching: Sequence[series_layers.Layer],
    order: Sequence[str],
    home: str | None,
    all_edits: Edits,
) -> None:
    assert file.expected is not None and file.found is not None  # noqa: S101, PT018 - the caller looked
    expected, now = split_lines(file.expected), split_lines(file.found)
    stack, scopes = _stack(file, touching, order, home)
    owned: dict[int, list[Edit]] = {}
    failed = False
    for edit, scope in zip(edits(expected, now), _scopes(file, expected, now), strict=True):
        answer = attribute(stack, edit, scope, scopes)
        if isinstance(answer, InQuestion) and home is not None:
            level = next(at for at, one in enumerate(stack) if one.patch == home)
            forced = given(stack, edit, level)
            if forced is None:
                above = ", ".join(one.patch for one in stack[level + 1 :])
                text = f"the edit stands at lines of a patch that is applied after {home} ({above})"
                all_edits.problems.append(Problem(text, file.path, line=edit.start + 1))
                failed = True
                continue
            answer = forced
        if isinstance(answer, Owned):
            owned.setdefault(answer.level, []).append(answer.edit)
            continue
        failed = True
        near = f"it may belong to {' or '.join(answer.candidates)}" if answer.candidates else "no patch is near"
        where = "" if scope == "<module>" else f" in {scope}"
        all_edits.questions.append(Problem(f"an edit{where}: {near}", file.path, line=edit.start + 1))
    if failed:
        return
    carried: list[Edit] = []
    for level, one in enumerate(stack):
        mine = owned.get(level, [])
        written = _text_of(touching, one.patch)
        _refresh(file.path, one, carried, mine, written=written, change=all_edits.change(one.patch))
        carried = [*(raised_through(one, edit) for edit in carried), *mine]
    if stack and edited(stack[-1].after, carried) != now:
        raise RuntimeError(f"{file.path}: the edits do not give the tree's text")


def _stack(
    file: Changed, touching: Sequence[series_layers.Layer], order: Sequence[str], home: str | None
) -> tuple[list[Layer], list[Mapping[str, str]]]:
    """Return the patches of a file from the lowest up, with the one that takes what is in question among them."""
    stack: list[Layer] = []
    scopes: list[Mapping[str, str]] = []
    text = (
        tuple(split_lines(touching[0].before[file.path] or b""))
        if touching
        else tuple(split_lines(file.expected or b""))
    )
    by_name = {one.patch.name: one for one in touching}
    for name in order:
        one = by_name.get(name)
        if one is None:
            if name == home:
                stack.append(Layer(name, text, text, (), ()))
                scopes.append({})
            continue
        part = one.text.file(file.path)
        assert part is not None  # noqa: S101 - a layer has the files of its text
        places = [max(spot.line - 1, 0) for spot in one.placed[file.path]]
        after = tuple(split_lines(one.after[file.path] or b""))
        stack.append(layer(name, part, places, text, after))
        scopes.append(one.patch.scopes)
        text = after
    return stack, scopes


def _scopes(file: Changed, expected: Sequence[bytes], now: Sequence[bytes]) -> list[str]:
    """Return the scope of each edit."""
    hunks: list[Hunk] = []
    growth = 0
    for edit in edits(expected, now):
        removed = [HunkLine(LineKind.REMOVED, line) for line in expected[edit.start : edit.end]]
        added = [HunkLine(LineKind.ADDED, line) for line in edit.lines]
        start, new = edit.start, edit.start + growth
        hunks.append(Hunk("", start + 1 if removed else start, new + 1 if added else new, (*removed, *added)))
        growth += edit.growth
    return enclosing_scopes(file.path, file.expected, file.found, tuple(hunks))


def _text_of(touching: Sequence[series_layers.Layer], patch: str) -> series_layers.Layer | None:
    return next((one for one in touching if one.patch.name == patch), None)


def _refresh(
    path: str,
    one: Layer,
    below: Sequence[Edit],
    mine: Sequence[Edit],
    *,
    written: series_layers.Layer | None,
    change: PatchChange,
) -> None:
    """Put what becomes of one patch's hunks in one file into ``change``, numbered as the variant's text is."""
    outcome = refreshed(one, below, mine)
    before = edited(one.before, below)
    if written is not None and (below or mine):
        part = written.text.file(path)
        assert part is not None  # noqa: S101 - a layer has the files of its text
        change.renumbered |= _lost(part, before, written.patch.scopes, dict(outcome.stay))
    if not outcome.hunks:
        return
    after = edited(one.after, [*(raised_through(one, edit) for edit in below), *mine])
    change.texts[path] = (b"".join(before), b"".join(after))
    part = written.text.file(path) if written else None
    spots = written.placed[path] if written else ()
    # How far above its written line each hunk stands on this target, by its first line there.
    offsets = {
        spot.line: _first(hunk) - max(spot.line - 1, 0)
        for hunk, spot in zip(part.hunks if part else (), spots, strict=True)
    }
    for name, hunk in outcome.hunks:
        if hunk is None:
            change.replaced[name] = None
            continue
        line = _first(hunk) + 1
        nearest = max((spot for spot in offsets if spot <= line), default=min(offsets, default=0))
        own = next((spot.line for spot in spots if spot.hunk == name), nearest) if name else nearest
        numbered = _numbered(hunk, name, offsets.get(own, 0))
        if name:
            change.replaced[name] = numbered
            if not mine:
                change.context.add(name)
        elif part is None:
            _new_file(path, numbered, change)
        else:
            change.added.setdefault(path, []).append(numbered)


def _lost(
    part: FilePatch, before: Sequence[bytes], scopes: Mapping[str, str], stay: Mapping[str, int]
) -> dict[str, int]:
    """Return the 1-based line of each hunk that stays, and that is not found where it stands unless its header says so.

    A hunk that fits at one place alone may keep the number it has; that of a hunk with two such places decides.
    """
    ranges = ScopeRanges(b"".join(before))
    found: dict[str, int] = {}
    for hunk in part.hunks:
        if hunk.id not in stay or not hunk.old_lines:
            continue
        placed = place_hunk(hunk, list(before), scopes.get(hunk.id), ranges.of)
        if not isinstance(placed, Placed) or placed.line != stay[hunk.id] + 1:
            found[hunk.id] = stay[hunk.id] + 1
    return found


def _new_file(path: str, hunk: Hunk, change: PatchChange) -> None:
    for at, file in enumerate(change.files):
        if file.path == path:
            change.files[at] = FilePatch(path, path, (*file.hunks, hunk))
            return
    change.files.append(FilePatch(path, path, (hunk,)))


def _first(hunk: Hunk) -> int:
    return hunk.old_start - 1 if hunk.old_lines else hunk.old_start


def _numbered(hunk: Hunk, name: str, offset: int) -> Hunk:
    return Hunk(name, max(hunk.old_start + offset, 0), hunk.new_start, hunk.lines)
