"""How an imported patch becomes patches of a series: hunks numbered anew, with ids and scopes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

import msgspec

from patchkit.core.foreign.enclosing import enclosing_scopes
from patchkit.core.foreign.fitting import FittedPatch
from patchkit.core.foreign.identifiers import slug
from patchkit.core.foreign.split import Proposal, ScopedHunk, hunk_ids, propose
from patchkit.core.model import FilePatch, Hunk
from patchkit.core.placement import FileRefused, NotPlaced, Placed, place_file


class Unit(msgspec.Struct, frozen=True):
    """One new patch."""

    proposal: Proposal
    """Name, reason and dependencies; ``hunks`` are positions in ``scoped``."""
    files: tuple[FilePatch, ...]
    """Numbered for the text that the patches before it leave; hunks have ids."""
    scoped: Mapping[str, ScopedHunk]
    """By hunk id."""
    message: int | None = None
    """Position of the message it was made of; None when it was made of all of them."""


class NoPlace(msgspec.Struct, frozen=True):
    """A hunk that fits upstream's text, and not what the series leaves of it."""

    path: str
    line: int
    reason: str


class _Numbered(msgspec.Struct, frozen=True):
    """A hunk of the whole, at its place in the text before all of it."""

    path: str
    hunk: Hunk


def one_unit(fitted: FittedPatch, name: str, current: Mapping[str, bytes | None]) -> list[Unit] | NoPlace:
    """Return everything as one patch called ``name``; ``current`` is the text under it, by path."""
    files = fitted.squashed()
    count = sum(len(file.hunks) for file in files)
    return _cut(files, current, [Proposal(name, tuple(range(count)), (), "all of it")])


def split_units(fitted: FittedPatch, current: Mapping[str, bytes | None], taken: set[str]) -> list[Unit] | NoPlace:
    """Return a patch for each proposed feature; none gets a name of ``taken``."""
    return _cut(fitted.squashed(), current, None, taken=taken)


def message_units(fitted: FittedPatch, current: Mapping[str, bytes | None], taken: set[str]) -> list[Unit] | NoPlace:
    """Return a patch for each message, named by its subject, else by the file that it alone is in."""
    contents = dict(current)
    units: list[Unit] = []
    ids: set[str] = set()
    for position, message in enumerate(fitted.messages):
        called, reason = _called(fitted, position)
        name = _free(slug(called), taken)
        count = sum(len(file.hunks) for file in message.files)
        touched = {file.path for file in message.files}
        earlier = tuple(unit.proposal.name for unit in units if touched & {file.path for file in unit.files})
        proposal = Proposal(name, tuple(range(count)), (), reason, earlier)
        made = _cut(message.files, contents, [proposal], taken_ids=ids)
        if isinstance(made, NoPlace):
            return made
        for unit in made:
            units.append(msgspec.structs.replace(unit, message=position))
            contents.update(unit_result(unit, contents))
    return units


def _called(fitted: FittedPatch, position: int) -> tuple[str, str]:
    """Return what to call a message's patch, and why it is one."""
    message = fitted.messages[position].message
    if message.subject:
        return message.subject, message.subject
    if sum(other.message.patch == message.patch for other in fitted.messages) == 1:
        return PurePath(message.patch).stem, "a file of its own"
    return f"part {position + 1}", "a mail of its own"


def unit_result(unit: Unit, current: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
    """Return what a unit leaves of each file it touches. Every hunk stands exactly where it says."""
    found: dict[str, bytes | None] = {}
    for file in unit.files:
        placed = place_file(file, current[file.path], {key: hunk.scope for key, hunk in unit.scoped.items()})
        if isinstance(placed, FileRefused):
            # Numbers and scopes were just computed from this very text.
            raise RuntimeError(f"{unit.proposal.name}: {placed}")
        found[file.path] = placed.content
    return found


def _cut(
    files: Sequence[FilePatch],
    current: Mapping[str, bytes | None],
    proposals: Sequence[Proposal] | None,
    *,
    taken: Iterable[str] = (),
    taken_ids: set[str] | None = None,
) -> list[Unit] | NoPlace:
    """Lay ``files`` on ``current`` and cut them as ``proposals`` say, or (None) as is proposed here."""
    whole: list[_Numbered] = []
    scoped: list[ScopedHunk] = []
    for file in files:
        text = current[file.path]
        placed = place_file(file, text, {})
        if isinstance(placed, FileRefused):
            bad = next(hunk for hunk in placed.hunks if isinstance(hunk, NotPlaced))
            hunk = next((hunk for hunk, spot in zip(file.hunks, placed.hunks, strict=False) if spot is bad), None)
            return NoPlace(file.path, hunk.old_start if hunk else 0, bad.refusal.value)
        at_place = [_moved(hunk, spot) for hunk, spot in zip(file.hunks, placed.hunks, strict=True)]
        starts = _new_starts(at_place)
        scopes = enclosing_scopes(file.path, text, placed.content, starts)
        for hunk, scope in zip(starts, scopes, strict=True):
            whole.append(_Numbered(file.path, hunk))
            scoped.append(ScopedHunk(file.path, scope, hunk))
    chosen = propose(scoped, current, taken) if proposals is None else _with_names(scoped, current, proposals)
    ids = hunk_ids(scoped, chosen, taken_ids or ())
    if taken_ids is not None:
        taken_ids.update(ids.values())
    units: list[Unit] = []
    done: set[int] = set()
    contents = dict(current)
    for proposal in chosen:
        parts = _numbered(files, whole, proposal.hunks, done, ids, first=not units)
        after = {part.path: place_file(part, contents[part.path], {}) for part in parts}
        inside: dict[str, ScopedHunk] = {}
        for part in parts:
            outcome = after[part.path]
            if isinstance(outcome, FileRefused):
                raise RuntimeError(f"{proposal.name}: {outcome}")
            names = enclosing_scopes(part.path, contents[part.path], outcome.content, part.hunks)
            inside |= {
                hunk.id: ScopedHunk(part.path, scope, hunk) for hunk, scope in zip(part.hunks, names, strict=True)
            }
            contents[part.path] = outcome.content
        units.append(Unit(proposal, parts, inside))
        done.update(proposal.hunks)
    return units


def _with_names(
    scoped: Sequence[ScopedHunk], base: Mapping[str, bytes | None], chosen: Sequence[Proposal]
) -> list[Proposal]:
    """Return ``chosen`` with the new names of each, which ids are made of."""
    by_hunk = {at: found.names for found in propose(scoped, base) for at in found.hunks}
    return [
        msgspec.structs.replace(
            proposal, names=tuple(dict.fromkeys(name for at in proposal.hunks for name in by_hunk[at]))
        )
        for proposal in chosen
    ]


def _numbered(
    files: Sequence[FilePatch],
    whole: Sequence[_Numbered],
    wanted: Sequence[int],
    done: set[int],
    ids: Mapping[int, str],
    *,
    first: bool,
) -> tuple[FilePatch, ...]:
    """Return the wanted hunks as file patches for the text in which those of ``done`` are applied already."""
    parts: list[FilePatch] = []
    for file in files:
        mine = [at for at in range(len(whole)) if whole[at].path == file.path]
        if not file.hunks:
            # An empty file that is made or removed has no hunk by which it could be told apart: it goes first.
            parts.extend([file] if first else [])
            continue
        shift, own = 0, 0
        hunks: list[Hunk] = []
        for at in mine:
            hunk = whole[at].hunk
            growth = len(hunk.new_lines) - len(hunk.old_lines)
            if at in wanted:
                start = hunk.old_start + shift
                new_start = _paired_start(hunk, start, own)
                hunks.append(msgspec.structs.replace(hunk, id=ids[at], old_start=start, new_start=new_start))
                own += growth
            elif at in done:
                shift += growth
        if hunks:
            parts.append(FilePatch(file.old_path, file.new_path, tuple(hunks)))
    return tuple(parts)


def _moved(hunk: Hunk, placed: Placed | NotPlaced) -> Hunk:
    line = placed.line if isinstance(placed, Placed) else 0
    return msgspec.structs.replace(hunk, old_start=line if hunk.old_lines else max(line - 1, 0))


def _new_starts(hunks: Sequence[Hunk]) -> tuple[Hunk, ...]:
    found: list[Hunk] = []
    growth = 0
    for hunk in hunks:
        found.append(msgspec.structs.replace(hunk, new_start=_paired_start(hunk, hunk.old_start, growth)))
        growth += len(hunk.new_lines) - len(hunk.old_lines)
    return tuple(found)


def _paired_start(hunk: Hunk, start: int, growth: int) -> int:
    """Return the new start that goes with an old one; an empty side is numbered by the line before it (diff(1))."""
    first = start - 1 if hunk.old_lines else start
    return first + growth + (1 if hunk.new_lines else 0)


def _free(name: str, taken: set[str]) -> str:
    made, number = name, 1
    while made in taken:
        number += 1
        made = f"{name}-{number}"
    taken.add(made)
    return made
