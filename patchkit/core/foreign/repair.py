"""A foreign patch held against its base: each hunk gets the one place where its old lines stand, or there is none.

What the text alone could not decide is decided here. No fuzz: a repair changes what a header says, or an ending that
was lost on the way; context lines must stand in the base as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from patchkit.core.blobs import blob_id
from patchkit.core.difference import difference
from patchkit.core.edges import edge_is_elsewhere
from patchkit.core.foreign.diffs import ForeignFile, ForeignHunk, Repair
from patchkit.core.lines import LineIndex, split_lines
from patchkit.core.model import FilePatch, Hunk, HunkLine, LineKind
from patchkit.core.placement import FileRefused, NotPlaced, Refusal, edge_refusal, place_file


class Fitted(msgspec.Struct, frozen=True):
    """A file patch that fits its base, every hunk exactly."""

    files: tuple[FilePatch, ...]
    """One; a rename is two, a removal and a creation. Hunks have no ids yet."""
    contents: Mapping[str, bytes | None]
    """Result by path; None where the patch removes the file."""
    repairs: tuple[Repair, ...]
    notes: tuple[str, ...]


class Unfit(msgspec.Struct, frozen=True):
    """Why a file patch does not fit its base."""

    path: str
    line: int
    """1-based line in the patch file."""
    hunk: int | None
    """1-based number in the file; None when the whole file is meant."""
    message: str


class _Body(msgspec.Struct, frozen=True):
    """One way to read the lines of a hunk."""

    lines: tuple[HunkLine, ...]
    repair: tuple[str, str] | None
    """Rule and message, when this is not what is written."""


class _Fit(msgspec.Struct, frozen=True):
    """A hunk that fits."""

    body: _Body
    at: int
    """0-based line of the base."""
    is_moved: bool = False
    """Whether that is not the line that its header names."""
    others: tuple[int, ...] = ()
    """0-based lines at which it would fit as well."""
    is_bare: bool = False
    """Whether nothing but its header says where it belongs: an insertion without context."""


def fit_file(
    file: ForeignFile, old_path: str | None, new_path: str | None, content: bytes | None, name: str
) -> Fitted | Unfit:
    """Fit a foreign file patch onto ``content``, the base's text at ``old_path`` (None: no such file).

    ``name`` is that of the patch file. Nothing is placed where the base leaves a choice.
    """
    path = new_path or old_path or ""
    if old_path is not None and content is None:
        return Unfit(path, file.line, None, f"the base has no {old_path}")
    if old_path is None and content is not None:
        return Unfit(path, file.line, None, "it is to be created, and the base has it already")
    fits = _fits(file, path, split_lines(content or b""), created=old_path is None)
    if isinstance(fits, Unfit):
        return fits
    hunks: list[Hunk] = []
    repairs: list[Repair] = []
    delta = 0
    for number, (foreign, fit) in enumerate(zip(file.hunks, fits, strict=True), 1):
        hunk = _hunk(fit.body.lines, fit.at, delta)
        repairs.extend(_repairs(foreign, fit.body, hunk, name=name, path=path, number=number))
        hunks.append(hunk)
        delta += len(hunk.new_lines) - len(hunk.old_lines)
    if not file.hunks and old_path == new_path:
        return Fitted((), {path: content}, (), _mode_notes(file, path))
    placed = place_file(FilePatch(old_path, new_path, tuple(hunks)), content, {})
    if isinstance(placed, FileRefused):
        refusal = next(hunk.refusal for hunk in placed.hunks if isinstance(hunk, NotPlaced))
        return Unfit(path, file.line, None, refusal.value)
    return _fitted(file, old_path, new_path, content, result=placed.content, hunks=tuple(hunks), repairs=tuple(repairs))


def _fitted(
    file: ForeignFile,
    old_path: str | None,
    new_path: str | None,
    content: bytes | None,
    *,
    result: bytes | None,
    hunks: tuple[Hunk, ...],
    repairs: tuple[Repair, ...],
) -> Fitted:
    path = new_path or old_path or ""
    notes = [*_mode_notes(file, path)]
    if file.new_id is not None and result is not None and not blob_id(result).startswith(file.new_id):
        made = blob_id(result)[: max(len(file.new_id), 7)]
        notes.append(f"{path}: the index line promises {file.new_id}, the hunks give {made}: edited since it was made")
    if not (file.renamed or file.copied):
        return Fitted((FilePatch(old_path, new_path, hunks),), {path: result}, repairs, tuple(notes))
    parts = [difference(content, None, old_path or "")] if file.renamed else []
    parts.append(difference(None, result, path))
    contents = {path: result} | ({old_path: None} if file.renamed and old_path else {})
    how = "a rename" if file.renamed else "a copy"
    notes.append(f"{old_path} -> {path}: {how} is carried as whole files")
    return Fitted(tuple(part for part in parts if part is not None), contents, repairs, tuple(notes))


def _mode_notes(file: ForeignFile, path: str) -> tuple[str, ...]:
    """Return what the headers say about modes beyond that a file is an ordinary one."""
    said = [mode for mode in file.modes if not mode.startswith(("deleted file", "old mode", "new file mode 100644"))]
    return tuple(f"{path}: {mode} is not carried" for mode in said)


def _fits(file: ForeignFile, path: str, lines: list[bytes], *, created: bool) -> list[_Fit] | Unfit:
    """Return where each hunk fits, or the first that does not."""
    fits: list[_Fit] = []
    free = 0
    text = LineIndex(lines)
    for number, foreign in enumerate(file.hunks, 1):
        is_last = number == len(file.hunks)
        fit = _fit_hunk(foreign, text, free, created=created, is_first=number == 1, is_last=is_last)
        if isinstance(fit, str):
            return Unfit(path, foreign.line, number, fit)
        fits.append(fit)
        free = fit.at + _count(fit.body.lines)[0]
    for at, fit in enumerate(fits):
        if (fit.others or fit.is_bare) and any(other.is_moved for other in fits[max(at - 1, 0) : at + 2]):
            return Unfit(path, file.hunks[at].line, at + 1, _doubt(fit))
    return fits


def _doubt(fit: _Fit) -> str:
    if fit.is_bare:
        return f"it has no context, so that nothing but its header says line {fit.at}, and a hunk beside it has moved"
    listed = ", ".join(str(at + 1) for at in fit.others)
    return f"its old lines stand at line {fit.at + 1}, and at {listed} too, and a hunk beside it has moved"


def _fit_hunk(
    foreign: ForeignHunk, text: LineIndex, free: int, *, created: bool, is_first: bool, is_last: bool
) -> _Fit | str:
    """Return the reading of a hunk that fits and its 0-based place at or behind ``free``, or why there is none.

    ``is_first`` and ``is_last`` are whether no other hunk of the file stands before it, and behind it.
    """
    lines = text.lines
    several: tuple[int, ...] = ()
    refusal: Refusal | None = None
    for body in _bodies(foreign):
        old = [line.text for line in body.lines if line.kind is not LineKind.ADDED]
        said = foreign.old_start - 1 if old else foreign.old_start
        if not old:
            # Nothing but the header says where an insertion without context belongs.
            place = 0 if created else said
            if created or (free <= said <= len(lines) and foreign.old_count == 0):
                refusal = edge_refusal(_as_said(foreign, body), place, len(lines))
                if refusal is None:
                    return _Fit(body, place, is_bare=True)
            continue
        found = [at for at in text.places(old) if at >= free]
        edges = [edge_refusal(_as_said(foreign, body), at, len(lines)) for at in found]
        places = [at for at, edge in zip(found, edges, strict=True) if edge is None]
        is_doubtful = said in places and edge_is_elsewhere(
            _as_said(foreign, body), said, places, len(lines), is_first=is_first, is_last=is_last
        )
        if said in places and not is_doubtful:
            return _Fit(body, said, others=tuple(at for at in places if at != said))
        is_contradicted = said in found and edges[found.index(said)] is Refusal.NOT_LAST
        if len(places) == 1 and not is_contradicted:
            return _Fit(body, places[0], is_moved=True)
        several = several or (() if is_contradicted else tuple(places))
        refusal = refusal or next((edge for edge in edges if edge is not None), None)
    counts = "" if foreign.counts_agree else f"{_disagreement(foreign)}; "
    if several:
        listed = ", ".join(str(at + 1) for at in several)
        if foreign.old_start - 1 in several:
            return (
                f"{counts}its old lines stand at lines {listed}, and its context says that an edge of the file is there"
            )
        return f"{counts}its old lines do not stand at line {foreign.old_start}, but at lines {listed}"
    return counts + (refusal.value if refusal is not None else _mismatch(foreign, lines))


def _as_said(foreign: ForeignHunk, body: _Body) -> Hunk:
    return Hunk("", foreign.old_start, foreign.new_start, body.lines)


def _bodies(foreign: ForeignHunk) -> Iterator[_Body]:
    """Yield the readings of a hunk's body, what is written first."""
    ends = range(foreign.spare + 1)
    counted = [end for end in ends if _count(foreign.lines[: len(foreign.lines) - end]) == _said(foreign)]
    for end in counted or ends:
        lines = foreign.lines[: len(foreign.lines) - end]
        yield _Body(lines, None)
        if any(line.text.endswith(b"\r\n") for line in lines):
            bare = tuple(HunkLine(line.kind, line.text.replace(b"\r\n", b"\n")) for line in lines)
            yield _Body(bare, ("crlf", "its lines ended in CRLF, those of the base end in LF"))
        else:
            wide = tuple(HunkLine(line.kind, line.text.replace(b"\n", b"\r\n")) for line in lines)
            yield _Body(wide, ("crlf", "its lines ended in LF, those of the base end in CRLF"))
        cut = _last_newline_cut(lines)
        if cut is not None:
            yield _Body(cut, ("end-of-file", "the base ends without a newline, which the hunk did not say"))


def _last_newline_cut(lines: tuple[HunkLine, ...]) -> tuple[HunkLine, ...] | None:
    """Return the lines with a context line at the end that has no newline, if the last one is context."""
    if not lines or lines[-1].kind is not LineKind.CONTEXT or not lines[-1].text.endswith(b"\n"):
        return None
    return (*lines[:-1], HunkLine(LineKind.CONTEXT, lines[-1].text.removesuffix(b"\n")))


def _count(lines: tuple[HunkLine, ...]) -> tuple[int, int]:
    old = sum(line.kind is not LineKind.ADDED for line in lines)
    return old, sum(line.kind is not LineKind.REMOVED for line in lines)


def _said(foreign: ForeignHunk) -> tuple[int, int]:
    return foreign.old_count, foreign.new_count


def _hunk(lines: tuple[HunkLine, ...], at: int, delta: int) -> Hunk:
    old, new = _count(lines)
    # An empty side is numbered by the line before it (the unified format of diff(1)).
    return Hunk("", at + 1 if old else at, at + delta + 1 if new else at + delta, lines)


def _repairs(foreign: ForeignHunk, body: _Body, hunk: Hunk, *, name: str, path: str, number: int) -> Iterator[Repair]:
    if _count(body.lines) != _said(foreign):
        message = f"{_disagreement(foreign)}; its old lines stand in the base at line {hunk.old_start}: counted anew"
        yield Repair("counts", name, foreign.line, message, path, number)
    if hunk.old_start != foreign.old_start and hunk.old_lines:
        message = (
            f"its old lines stand at line {hunk.old_start} of the base and nowhere else, not at {foreign.old_start}"
        )
        yield Repair("start", name, foreign.line, message, path, number)
    if body.repair is not None:
        yield Repair(body.repair[0], name, foreign.line, body.repair[1], path, number)


def _disagreement(foreign: ForeignHunk) -> str:
    old, new = foreign.found
    return f"its header says {foreign.old_count} old and {foreign.new_count} new lines, its body has {old} and {new}"


def _mismatch(foreign: ForeignHunk, lines: Sequence[bytes]) -> str:
    """Say at which line the old side and the base part."""
    at = foreign.old_start - 1
    for offset, line in enumerate(foreign.lines):
        if line.kind is LineKind.ADDED:
            continue
        if not 0 <= at < len(lines):
            return f"its old lines are nowhere in the base, which has {len(lines)} lines and not {at + 1}"
        if lines[at] != line.text:
            expected, found = (text.decode("utf-8", "replace").strip()[:60] for text in (line.text, lines[at]))
            where = f"line {foreign.line + 1 + offset} of the patch, line {at + 1} of the base"
            return f"its old lines are nowhere in the base ({where}: {expected!r} against {found!r})"
        at += 1
    return "its old lines overlap those of the hunk above it"
