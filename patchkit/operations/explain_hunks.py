"""explain: both sides of a patch's hunks on a target, with the upstream commits between."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from patchkit import __version__
from patchkit.core.counterpart import counterpart
from patchkit.core.explained import Explained, HunkExplained, Proposal
from patchkit.core.gating.drift import fingerprint
from patchkit.core.lines import split_lines
from patchkit.core.merging.alignment import edits
from patchkit.core.panes import PaneRow, pane_rows, readable
from patchkit.core.rebasing.rebased import LEFT_OUT
from patchkit.core.scopes import LARGEST_SOURCE, MODULE
from patchkit.core.upstream_report import HunkAnswer, PatchAnswer
from patchkit.errors import UsageError
from patchkit.operations.rebase_carried import CarriedFile
from patchkit.operations.rebase_judge import consider
from patchkit.operations.rebase_session import Request, Session
from patchkit.operations.rebase_targets import Upstream
from patchkit.operations.sources import Workspace, load_workspace
from patchkit.operations.upstream_carried import patch_answer, with_upstream
from patchkit.operations.upstream_choice import as_carried, shipped_releases
from patchkit.operations.upstream_next import rebase_command
from patchkit.operations.upstream_recorded import differs
from patchkit.operations.upstream_targets import Asked, Wanted, named
from patchkit.progress import Reporter, silent
from patchkit.store.cache import default_cache
from patchkit.store.memory import load_resolutions
from patchkit.trees.git_program import GitProgram

AROUND = 6
"""Lines of the base shown on each side of a hunk."""
MOST = 40
"""Rows that are shown for one hunk: the scope of one line may have hundreds, the conflict of a file millions."""
_MADE = 2_000
"""Rows among which those are chosen."""


def explain_hunks(
    folder: Path,
    patch_name: str,
    hunk_id: str | None,
    onto: str,
    *,
    base: str | None = None,
    repository: Path | None = None,
    cache: Path | None = None,
    reporter: Reporter = silent,
) -> Explained:
    """Explain one hunk of a patch, or all of them. Raises UsageError, SourceError, TreeError."""
    workspace = load_workspace(folder)
    series = workspace.sources.series
    patch = series.patch(patch_name)
    clone = GitProgram(repository, download=False) if repository is not None else None
    upstream = Upstream(workspace.versions, clone, cache=cache or default_cache(), reporter=reporter)
    wanted = _wanted(workspace, upstream, onto)
    session = _session(workspace, upstream, wanted, onto, base)
    for below in series.patches[: series.patches.index(patch)]:
        reporter.step(f"carrying {below.name} to {session.target.title}")
        session.take(below, consider(session, below).after)
    reporter.step(f"carrying {patch.name} to {session.target.title}")
    considered, notes = with_upstream(session, consider(session, patch), every=True)
    answer = patch_answer(session, patch, considered)
    if considered.carried is None:
        raise UsageError(f"{patch.name} is not carried to {session.target.title}: {answer.reason or answer.verdict}")
    chosen = [hunk for hunk in answer.hunks if hunk_id in (None, hunk.id)]
    if not chosen:
        known = ", ".join(hunk.id for hunk in answer.hunks)
        raise UsageError(
            f"{patch.name} has no hunk {hunk_id!r} on {considered.carried.base.title}",
            hint=f"hunks: {known}; name another base with --from BASE",
        )
    files = {file.path: file for file in considered.carried.files}
    command = rebase_command(wanted, str(folder), Asked(base=base, repository=repository))
    following = _next(answer, session.target.title, command, there=considered.report.state == "already")
    chosen = [replace(hunk, next=following) if _is_without_text(hunk) else hunk for hunk in chosen]
    told = [_explained(hunk, files[hunk.path], session) for hunk in chosen]
    reasons = {path: _why_not_shown(files[path]) for path in dict.fromkeys(each.hunk.path for each in told)}
    notes += [f"{path}: no lines are shown, one of its texts is {why}" for path, why in reasons.items() if why]
    return Explained(
        tool=__version__,
        series=str(folder),
        patch=patch.name,
        base=considered.carried.base.title,
        target=session.target.title,
        verdict=answer.verdict,
        reason=answer.reason,
        variant=answer.variant,
        hunks=tuple(told),
        review=answer.review,
        notes=tuple(notes),
    )


def _is_without_text(hunk: HunkAnswer) -> bool:
    """Tell whether a hunk that belongs on the target has no text there."""
    return hunk.diff_of in ("", "base") and hunk.verdict not in LEFT_OUT


def _next(answer: PatchAnswer, title: str, command: str, *, there: bool) -> str:
    """Say what becomes of a hunk without a text: ``command`` asks for one, unless the series has its variant."""
    if there:
        return f"nothing to do: {answer.variant} is the variant for {title}, without this hunk, and a rebase keeps it"
    return f"`{command}` leaves an edit directory, to write it there"


def _wanted(workspace: Workspace, upstream: Upstream, onto: str) -> Wanted:
    """Return the target that ``onto`` names. Raises UsageError when it is out of reach."""
    series = workspace.sources.series
    found = named(workspace.versions, upstream.clone, [onto], shipped_releases(series.folder))
    with_clone = upstream.clone is not None
    wanted = as_carried(found, series.files, workspace.targets, workspace.versions.upstream, with_clone=with_clone)[0]
    if wanted.missing:
        raise UsageError(f"{onto}: {wanted.missing}", hint=wanted.hint or None)
    return wanted


def _session(workspace: Workspace, upstream: Upstream, wanted: Wanted, onto: str, base: str | None) -> Session:
    series = workspace.sources.series
    tree = upstream.tree(wanted.target)
    if tree is None:
        raise UsageError(f"the text of {wanted.target.title} is out of reach", hint="give a clone with --git REPO")
    moved = wanted.target.name if wanted.recorded is not None else None
    request = Request(onto=onto, base=base or moved)
    known = load_resolutions(series.folder)
    lock = workspace.sources.lock.targets.get(wanted.target.name)
    elsewhere = wanted.recorded is not None and lock is not None and bool(differs(lock, tree))
    at = wanted.target, tree
    return Session(series, upstream, request, known, workspace.sources.lock, at=at, moved=elsewhere)


def _explained(hunk: HunkAnswer, file: CarriedFile, session: Session) -> HunkExplained:
    texts = file.texts
    shown = _why_not_shown(file) is None
    base, changed, before = [_lines(text if shown else None) for text in (texts.base, texts.changed, texts.before)]
    scope = hunk.old.scope.split(", ")[0] if hunk.old is not None else MODULE
    signatures = [_signature(text, scope, file.path) for text in (texts.base, texts.before)]
    return HunkExplained(
        hunk=hunk,
        scope=scope,
        old_signature=signatures[0],
        new_signature=signatures[1],
        rows=_rows(hunk, file, base, changed, before),
        proposals=_proposals(hunk, file, session),
    )


def _rows(
    hunk: HunkAnswer, file: CarriedFile, base: Sequence[str], changed: Sequence[str], before: Sequence[str]
) -> tuple[PaneRow, ...]:
    first, last = _window(hunk, file)
    own = [run.old for run in file.texts.runs if hunk.id in run.ids] or [(first - 1, last)]
    begin = max(0, min(start for start, _ in own) - AROUND)
    end = min(len(base), max(stop for _, stop in own) + AROUND)
    met = [each.spot.target[0] for each in file.met if hunk.id in each.ids]
    theirs = edits(base, before)
    beside = counterpart(base, before, theirs, (begin, end), met[0] if met else None)
    if beside is not theirs or last - first > _MADE:
        first, last = begin + 1, end
    else:
        first, last = first - AROUND, last + AROUND
    return readable(pane_rows(base, changed, before, first, last, theirs=beside, most=_MADE), AROUND, MOST)


def _window(hunk: HunkAnswer, file: CarriedFile) -> tuple[int, int]:
    """Return first and last line of the base that matter to the hunk: its own, and those of its conflicts."""
    spans = [(met.spot.base[0] + 1, met.spot.base[1]) for met in file.met if hunk.id in met.ids]
    if hunk.old is not None:
        spans.append((hunk.old.first, hunk.old.last))
    if not spans:
        return 1, 0
    return min(first for first, _ in spans), max(last for _, last in spans)


def _proposals(hunk: HunkAnswer, file: CarriedFile, session: Session) -> tuple[Proposal, ...]:
    keys = [key for met in file.met if hunk.id in met.ids for key in met.offers]
    known = session.resolutions
    return tuple(
        Proposal(key=key, author=known[key].author, reason=known[key].reason, text=known[key].resolution)
        for key in dict.fromkeys(keys)
    )


def _signature(content: bytes | None, scope: str, path: str) -> str:
    if content is None or scope == MODULE or not path.endswith((".py", ".pyi")):
        return ""
    found = fingerprint(content, scope)
    return found.signature if found is not None else ""


def _why_not_shown(file: CarriedFile) -> str | None:
    """Return why no lines of a file are shown; None when they are."""
    texts = [text for text in (file.texts.base, file.texts.changed, file.texts.before) if text is not None]
    if any(len(text) > LARGEST_SOURCE for text in texts):
        return f"larger than {LARGEST_SOURCE >> 20} MiB"
    return "binary" if any(b"\0" in text for text in texts) else None


def _lines(content: bytes | None) -> Sequence[str]:
    # Other line breaks than these end no line: the numbers are those of git.
    return [line.rstrip(b"\r\n").decode("utf-8", "replace") for line in split_lines(content or b"")]
