"""How an imported patch becomes patches of a series: hunks numbered anew, with ids and scopes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath

import msgspec

from patchkit.core.foreign.enclosing import enclosing_scopes
from patchkit.core.foreign.fitting import FittedPatch
from patchkit.core.foreign.identifiers import slug
from patchkit.core.foreign.split import Proposal, ScopedHunk, hunk_ids, propose
from patchkit.core.lines import split_lines
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


class Laid(msgspec.Struct, frozen=True):
    """File patches laid on the text under them."""

    files: Sequence[FilePatch]
    current: Mapping[str, bytes | None]
    """The text under them, by path; of other files too."""
    hunks: tuple[ScopedHunk, ...]
    """All of them in the order of the files, each at its place in ``current``."""
    growth: tuple[int, ...]
    """By how many lines each makes its file longer."""
    at: Mapping[str, range]
    """Where the hunks of a file stand among all, by path."""


def lay(files: Sequence[FilePatch], current: Mapping[str, bytes | None]) -> Laid | NoPlace:
    """Find the place of every hunk in ``current``, and its scope."""
    found: list[ScopedHunk] = []
    at: dict[str, range] = {}
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
        at[file.path] = range(len(found), len(found) + len(starts))
        found.extend(ScopedHunk(file.path, scope, hunk) for hunk, scope in zip(starts, scopes, strict=True))
    growth = tuple(len(each.hunk.new_lines) - len(each.hunk.old_lines) for each in found)
    return Laid(files, current, tuple(found), growth, at)


def one_unit(
    laid: Laid,
    name: str,
    reason: str = "all of it",
    *,
    depends: tuple[str, ...] = (),
    taken_ids: Iterable[str] = (),
) -> Unit:
    """Return everything as one patch called ``name``; no hunk gets an id of ``taken_ids``."""
    whole = Proposal(name, tuple(range(len(laid.hunks))), _new_names(laid), reason, depends)
    return _as_laid(laid, [whole], taken_ids)[0]


def split_units(laid: Laid, taken: Iterable[str]) -> list[Unit]:
    """Return a patch for each proposed feature; none gets a name of ``taken``."""
    chosen = propose(laid.hunks, laid.current, taken)
    units: list[Unit] = []
    contents = dict(laid.current)
    for proposal, parts in _parts(laid, chosen, hunk_ids(laid.hunks, chosen)):
        inside: dict[str, ScopedHunk] = {}
        for part in parts:
            outcome = place_file(part, contents[part.path], {})
            if isinstance(outcome, FileRefused):
                raise RuntimeError(f"{proposal.name}: {outcome}")
            names = enclosing_scopes(part.path, contents[part.path], outcome.content, part.hunks)
            inside |= {
                hunk.id: ScopedHunk(part.path, scope, hunk) for hunk, scope in zip(part.hunks, names, strict=True)
            }
            contents[part.path] = outcome.content
        units.append(Unit(proposal, parts, inside))
    return units


def proposed_units(laid: Laid, taken: Iterable[str], result: Mapping[str, bytes | None]) -> list[Unit]:
    """Return what ``split_units`` does, but with each hunk's scope in the text under all of them. They give ``result``.

    What a hunk's scope is in the text that the units before it leave takes a reading of that text for each of them.
    """
    units = _as_laid(laid, propose(laid.hunks, laid.current, taken))
    lines = {path: split_lines(laid.current[path] or b"") for path in laid.at}
    for unit in units:
        for part in unit.files:
            _put(part, lines[part.path])
    if any(b"".join(text) != (result[path] or b"") for path, text in lines.items()):
        raise RuntimeError("the sum of the proposed patches differs from the patch")
    return units


def _as_laid(laid: Laid, chosen: Sequence[Proposal], taken_ids: Iterable[str] = ()) -> list[Unit]:
    """Return a unit for each proposal, its hunks with their scopes in the text under all of them."""
    units: list[Unit] = []
    for proposal, parts in _parts(laid, chosen, hunk_ids(laid.hunks, chosen, taken_ids)):
        scopes = iter(laid.hunks[at].scope for at in sorted(proposal.hunks))
        inside = {hunk.id: ScopedHunk(part.path, next(scopes), hunk) for part in parts for hunk in part.hunks}
        units.append(Unit(proposal, parts, inside))
    return units


def _put(part: FilePatch, lines: list[bytes]) -> None:
    """Put the hunks of ``part`` where they say they stand in ``lines``."""
    for hunk in reversed(part.hunks):
        old = hunk.old_lines
        start = hunk.old_start - 1 if old else hunk.old_start
        if lines[start : start + len(old)] != old:
            # Its number was just computed from this very text.
            raise RuntimeError(f"{part.path}: hunk {hunk.id} is not at line {hunk.old_start}")
        lines[start : start + len(old)] = hunk.new_lines


def message_units(fitted: FittedPatch, current: Mapping[str, bytes | None], taken: set[str]) -> list[Unit] | NoPlace:
    """Return a patch for each message, named by its subject, else by the file that it alone is in."""
    contents = dict(current)
    units: list[Unit] = []
    ids: set[str] = set()
    for position, message in enumerate(fitted.messages):
        called, reason = _called(fitted, position)
        name = _free(slug(called), taken)
        touched = {file.path for file in message.files}
        earlier = tuple(unit.proposal.name for unit in units if touched & {file.path for file in unit.files})
        laid = lay(message.files, contents)
        if isinstance(laid, NoPlace):
            return laid
        unit = one_unit(laid, name, reason, depends=earlier, taken_ids=ids)
        ids.update(unit.scoped)
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
    scopes = {key: hunk.scope for key, hunk in unit.scoped.items()}
    for file in unit.files:
        placed = place_file(file, current[file.path], scopes)
        if isinstance(placed, FileRefused):
            # Numbers and scopes were just computed from this very text.
            raise RuntimeError(f"{unit.proposal.name}: {placed}")
        found[file.path] = placed.content
    return found


def _new_names(laid: Laid) -> tuple[str, ...]:
    """Return the new names of everything, those of one feature after the other, which ids are made of."""
    features = sorted(propose(laid.hunks, laid.current), key=lambda feature: feature.hunks)
    return tuple(dict.fromkeys(name for feature in features for name in feature.names))


def _parts(
    laid: Laid, chosen: Sequence[Proposal], ids: Mapping[int, str]
) -> Iterator[tuple[Proposal, tuple[FilePatch, ...]]]:
    """Yield each proposal with its hunks as file patches, numbered for what the proposals before it leave."""
    done: set[int] = set()
    for number, proposal in enumerate(chosen):
        wanted = set(proposal.hunks)
        touched = {laid.hunks[at].path for at in wanted}
        # An empty file that is made or removed has no hunk by which it could be told apart: it goes first.
        mine = [file for file in laid.files if file.path in touched or (not file.hunks and number == 0)]
        parts = [msgspec.structs.replace(file, hunks=_numbered(laid, file.path, wanted, done, ids)) for file in mine]
        yield proposal, tuple(parts)
        done |= wanted


def _numbered(laid: Laid, path: str, wanted: set[int], done: set[int], ids: Mapping[int, str]) -> tuple[Hunk, ...]:
    """Return the wanted hunks of a file for the text in which those of ``done`` are applied already."""
    shift, own = 0, 0
    hunks: list[Hunk] = []
    for at in laid.at[path]:
        if at in wanted:
            hunk = laid.hunks[at].hunk
            start = hunk.old_start + shift
            new_start = _paired_start(hunk, start, own)
            hunks.append(msgspec.structs.replace(hunk, id=ids[at], old_start=start, new_start=new_start))
            own += laid.growth[at]
        elif at in done:
            shift += laid.growth[at]
    return tuple(hunks)


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
