"""What a person made of the files in the edit directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from patchkit.core.carry import Conflict, Verdict
from patchkit.core.carry_report import SKIPPED, AlarmReport, PlaceReport
from patchkit.core.endings import new_ending
from patchkit.core.gating.gates import Alarm, Rule, alarms
from patchkit.core.gating.parsing import parses
from patchkit.core.lines import split_lines
from patchkit.core.merging.alignment import edits, partners
from patchkit.core.merging.obsolete import OFFER
from patchkit.core.merging.surroundings import Outline
from patchkit.core.rebasing.losses import Loss
from patchkit.core.rebasing.markers import Marked, conflicts, left_marks, without_conflicts
from patchkit.core.rebasing.memory import Resolution, resolution
from patchkit.core.rebasing.rebased import SOLVED, HunkRebase, alarm_report
from patchkit.core.report import Problem
from patchkit.core.upstream import Target
from patchkit.errors import UsageError
from patchkit.operations.rebase_carried import CarriedFile, CarriedPatch
from patchkit.operations.rebase_carry import oldest_python
from patchkit.operations.rebase_judge import located
from patchkit.operations.rebase_losses import counted, lost_lines, problem_of
from patchkit.operations.rebase_signed import Signed
from patchkit.operations.rebase_variant import Variant
from patchkit.store.edit_dir import EditDir


class ByHand(msgspec.Struct, frozen=True):
    """The edited files of one patch."""

    after: Mapping[str, bytes | None]
    solved: frozenset[str]
    """Ids of the hunks whose conflicts are solved."""
    skipped: frozenset[str]
    """Ids of the hunks that are left out."""
    losses: tuple[Loss, ...]
    """What hunks without a conflict have lost, all of it meant."""
    reason: str
    """Why it was decided so; empty when nothing was."""
    alarms: tuple[AlarmReport, ...]
    """What the gates find in the edited texts, with the path before each message."""
    resolutions: Mapping[str, Resolution]
    notes: tuple[str, ...]

    def hunks(self, variant: Variant) -> list[HunkRebase]:
        """Return what became of each hunk, now that a person has decided."""
        return [self._hunk(hunk, variant) for hunk in variant.hunks]

    def _hunk(self, hunk: HunkRebase, variant: Variant) -> HunkRebase:
        # What the gates said of the text before it was edited is said anew of the whole file.
        said = {f"{alarm.rule}: line {alarm.line}: {alarm.message}" for alarm in hunk.alarms}
        hunk = replace(hunk, alarms=(), review=tuple(line for line in hunk.review if line not in said))
        if any(problem.path == hunk.path for problem in variant.problems):
            return hunk
        place = variant.places.get(hunk.id)
        lost = sum(len(loss.gone) + len(loss.back) for loss in self.losses if hunk.id in loss.ids)
        if hunk.id in self.skipped or ((hunk.id in self.solved or lost) and place is None):
            reason = f"left out {'by --skip' if hunk.id in self.skipped else 'by hand'}: {self.reason}"
            if hunk.verdict == Verdict.OBSOLETE.value:
                reason += f" ({hunk.verdict}: {hunk.reason.removesuffix(OFFER)})"
            elif hunk.verdict == Verdict.CONFLICT.value and hunk.new is None:
                # What it changes is in another file: whoever brings it there has to know where.
                reason += f" ({hunk.reason})"
            return replace(hunk, verdict=SKIPPED, reason=reason, new=None, review=())
        if lost:
            hunk = replace(hunk, reason=f"{hunk.reason}; {counted(lost)} taken out by hand: {self.reason}")
        if hunk.id not in self.solved or place is None:
            return hunk
        lines = split_lines(self.after[hunk.path] or b"")
        new = PlaceReport(Outline(lines).scope(place[0] - 1, place[1]), *place)
        reason = f"solved by hand; {counted(lost)} taken out: {self.reason}" if lost else "solved by hand"
        return replace(hunk, verdict=SOLVED, reason=reason, new=new, review=())


def read_by_hand(
    edit_dir: EditDir, carried: CarriedPatch, target: Target, signed: Signed, *, skip: bool
) -> ByHand | tuple[Problem, ...]:
    """Read the edited files of the patch in ``carried``; or say what is left to do in them.

    With ``skip`` conflicts that are left go to the target, and every hunk that is in one is left out whole. Raises
    UsageError when a conflict was solved and nobody says who did it and why so, when a hunk is left out or has lost
    lines and nobody says why, and when ``signed`` names a hunk that has lost none.
    """
    reading = _Reading(edit_dir, carried, target, skip=skip)
    reading.refuse_strangers()
    for file in carried.files:
        reading.file(file)
    reading.refuse_losses(signed.meant)
    if reading.problems:
        return tuple(reading.problems)
    return reading.result(signed)


class _Reading:
    def __init__(self, edit_dir: EditDir, carried: CarriedPatch, target: Target, *, skip: bool) -> None:
        self._edit_dir = edit_dir
        self._carried = carried
        self._target = target
        self._skip = skip
        self._patch = carried.layer.patch.name
        self.problems: list[Problem] = []
        self._after: dict[str, bytes | None] = {}
        self._solved: dict[str, None] = {}
        self._skipped: set[str] = set()
        self._losses: list[tuple[CarriedFile, Loss]] = []
        self._texts: list[tuple[CarriedFile, int, bytes | None]] = []
        """Each solved conflict by file and number, with what stands in its place; None when that cannot be told."""

    def refuse_strangers(self) -> None:
        """Refuse files that would not be read: what a person wrote there would be lost without a word."""
        for stranger in self._edit_dir.strangers(self._patch):
            message, hint = "this file is none of the patch", "take it away; `patchkit capture` adds files to a series"
            if stranger.settled:
                message = "the patch of this file is settled, and it was changed since"
                hint = "put it back, or begin anew with --abort"
            self.problems.append(Problem(message, str(stranger.file), patch=self._patch, hint=hint))

    def file(self, file: CarriedFile) -> None:
        """Read one file."""
        draft, edited = self._edit_dir.draft(self._patch, file.path), self._edit_dir.edited(self._patch, file.path)
        if draft is None or edited is None:
            where = str(self._edit_dir.edited_file(self._patch, file.path))
            if draft is not None and file.texts.changed is not None:
                self.problems.append(Problem("the file is gone", where, patch=self._patch, hint="put it back"))
            elif draft is None and file.parts is not None:
                # Without it nobody can tell a file that was removed from one that was never handed out.
                what = "what was handed out of this file is not in the edit directory any more"
                hint = "begin anew: --abort, and keep what you edited elsewhere"
                self.problems.append(Problem(what, where, patch=self._patch, hint=hint))
            self._after[file.path] = edited
            self._without_text(file)
            self._solved.update(dict.fromkeys(name for met in file.met for name in met.ids))
            return
        if self._refuse_endings(file, draft, edited):
            return
        blocks = conflicts(draft)
        told = len(blocks) == len(file.met) and all(
            _same(block.conflict, met.spot.conflict) for block, met in zip(blocks, file.met, strict=True)
        )
        if self._skip and not told:
            # The texts that were merged have such marks themselves.
            where = str(self._edit_dir.edited_file(self._patch, file.path))
            self.problems.append(Problem("the marks cannot be told apart: solve this file by hand", where))
            return
        left = self._left(file, draft, edited) if self._skip else {}
        after = without_conflicts(edited, lambda conflict: conflict.target) if self._skip else edited
        if self._refuse_marks(file, after):
            return
        ids = {name for number in left for name in file.met[number].ids}
        self._skipped |= ids
        self._losses += [(file, loss) for loss in lost_lines(file, after) if not ids.intersection(loss.ids)]
        self._after[file.path] = _without(file, after, ids) if ids else after
        for number, met in enumerate(file.met):
            if number not in left:
                self._solved.update(dict.fromkeys(met.ids))
                self._texts.append((file, number, _in_place_of(blocks[number], draft, edited) if told else None))

    def _without_text(self, file: CarriedFile) -> None:
        """Leave out what a file that was not handed out has in conflict, or say that there is no other way."""
        if self._skip:
            self._skipped |= file.elsewhere
            return
        for hunk in file.hunks:
            if hunk.id in file.elsewhere:
                hint = "leave it out with --skip, and bring it to its new place with `patchkit capture`"
                self.problems.append(Problem(hunk.reason, file.path, hunk=hunk.id, patch=self._patch, hint=hint))

    def refuse_losses(self, meant: Sequence[str]) -> None:
        """Refuse lines that hunks have lost, unless it is ``meant``. Raises UsageError where nothing was lost."""
        lost = {name for _, loss in self._losses for name in loss.ids}
        for name in meant:
            if name not in lost:
                hint = "it is for hunks of which lines without a conflict were taken out"
                raise UsageError(f"--accept-loss {name}: no such hunk of {self._patch} has lost a line", hint=hint)
        self.problems += [
            problem_of(loss, self._patch, self._edit_dir.edited_file(self._patch, file.path))
            for file, loss in self._losses
            if not {*loss.ids} <= {*meant}
        ]

    def result(self, signed: Signed) -> ByHand:
        """Return what was read; every file is in order."""
        resolutions: dict[str, Resolution] = {}
        notes: list[str] = []
        reason = ""
        if self._solved:
            reason = signed.why("why is it right so? A conflict was solved by hand")
        elif self._losses:
            reason = signed.why("why is it right so? Lines of a hunk were taken out")
        elif self._skipped:
            reason = signed.why(f"why are hunks left out? {', '.join(sorted(self._skipped))}")
        if self._solved:
            author = signed.who()
            for file, number, text in self._texts:
                met = file.met[number]
                kept = None
                if met.seen is not None and text is not None:
                    names = self._carried.base.title, self._target.title
                    kept = resolution(met.seen, text, author=author, reason=reason, base=names[0], target=names[1])
                if kept is None or met.seen is None:
                    notes.append(
                        f"{file.path}: what was done to {', '.join(met.ids)} cannot be used again: {_NOT_KEPT}"
                    )
                else:
                    resolutions[met.seen.key] = kept
        found = tuple(alarm for file in self._carried.files for alarm in self._alarms(file))
        solved = frozenset(self._solved) - self._skipped
        losses = tuple(loss for _, loss in self._losses)
        return ByHand(self._after, solved, frozenset(self._skipped), losses, reason, found, resolutions, tuple(notes))

    def _left(self, file: CarriedFile, draft: bytes, edited: bytes) -> dict[int, Marked]:
        """Return the conflicts of the draft that are still marked in the edited text, by number."""
        old, new = split_lines(draft), split_lines(edited)
        there = partners(edits(old, new), len(old))
        marked = {found.first - 1: found for found in conflicts(edited)}
        blocks = list(enumerate(conflicts(draft)))[: len(file.met)]
        return {number: marked[there[block.first - 1]] for number, block in blocks if there[block.first - 1] in marked}

    def _refuse_endings(self, file: CarriedFile, draft: bytes, edited: bytes) -> bool:
        """Refuse a file that an editor saved with other line endings: every line would belong to some hunk."""
        ending = new_ending(draft, edited)
        if ending:
            where = str(self._edit_dir.edited_file(self._patch, file.path))
            message, hint = (
                f"lines end with {ending}, which none did before",
                "save it with the line endings that it had",
            )
            self.problems.append(Problem(message, where, patch=self._patch, hint=hint))
        return bool(ending)

    def _refuse_marks(self, file: CarriedFile, after: bytes) -> bool:
        texts = file.texts
        known = [text for text in (texts.base, texts.changed, texts.before) if text is not None]
        marks = left_marks(after, known)
        if marks:
            where = str(self._edit_dir.edited_file(self._patch, file.path))
            hint = "solve the conflict and take the marks away, or leave its hunks out with --skip"
            self.problems.append(
                Problem("a mark of a conflict is left", where, line=marks[0], patch=self._patch, hint=hint)
            )
        return bool(marks)

    def _alarms(self, file: CarriedFile) -> list[AlarmReport]:
        texts, after = file.texts, self._after[file.path]
        if not file.path.endswith((".py", ".pyi")) or after is None:
            return []
        if texts.base is None or texts.changed is None or texts.before is None:
            if parses(after):
                return []
            # A new file has no other text to be compared with.
            syntax = Alarm(Rule.SYNTAX, 1, "", "the new file is no Python")
            return [located(file.path, alarm_report(syntax))]
        found = alarms(texts.base, texts.changed, texts.before, after, python=oldest_python(self._target))
        return [located(file.path, alarm_report(alarm)) for alarm in found]


def _same(one: Conflict, two: Conflict) -> bool:
    """Tell whether a marked conflict is the one that was marked, a last newline that the marks need aside."""
    sides = zip((one.base, one.changed, one.target), (two.base, two.changed, two.target), strict=True)
    return all(mine.removesuffix(b"\n") == other.removesuffix(b"\n") for mine, other in sides)


_NOT_KEPT = "more was edited than the conflict's lines, or they cannot be written down relative to it"


def _in_place_of(block: Marked, draft: bytes, edited: bytes) -> bytes | None:
    """Return what the edited text has in the place of a marked conflict; None when more was edited than that."""
    old, new = split_lines(draft), split_lines(edited)
    first, end = block.first - 1, block.last
    begin: int | None = None
    shift = 0
    for edit in [*edits(old, new), None]:
        if edit is None or edit.old >= end:
            break
        if edit.old_end <= first and not (edit.old == edit.old_end == first):
            shift = edit.new_end - edit.old_end
            continue
        if edit.old < first or edit.old_end > end:
            return None
        begin = first + shift if begin is None else begin
        shift = edit.new_end - edit.old_end
    return None if begin is None else b"".join(new[begin : end + shift])


def _without(file: CarriedFile, after: bytes, ids: set[str]) -> bytes:
    """Take every change of the hunks ``ids`` out of a text, so that none of them is there by half."""
    before = file.texts.before or b""
    old, new = split_lines(before), split_lines(after)
    out: list[bytes] = []
    at = 0
    for run in file.lineage().label(before, after):
        kept: Sequence[bytes] = new[slice(*run.new)]
        out += [*old[at : run.old[0]], *(old[slice(*run.old)] if ids.intersection(run.ids) else kept)]
        at = run.old[1]
    return b"".join([*out, *old[at:]])
