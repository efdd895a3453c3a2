"""rebase: carry the patches of a series, in order, to another target.

Everything is carried before anything is written. What is certain is written, all of it or nothing; else the rebase
stops at the first patch that a person has to decide, with an edit directory to go on from.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from patchkit import __version__
from patchkit.core.printing import shell_word
from patchkit.core.rebasing.rebased import Rebased
from patchkit.errors import PatchkitError, StoreError, UsageError
from patchkit.operations.coverage import refuse_bad_ranges, variants_for, why_not_needed
from patchkit.operations.known import Known, load_known
from patchkit.operations.rebase_run import Run, Surroundings
from patchkit.operations.rebase_session import Request, Session
from patchkit.operations.rebase_signed import Signed
from patchkit.operations.rebase_targets import Beyond, Upstream
from patchkit.operations.series_files import undo_interrupted_write
from patchkit.store.edit_dir import STATE, EditDir, State, find_open
from patchkit.store.edit_place import refuse_unfit
from patchkit.store.edit_room import already_open, clear_room, sweep_room
from patchkit.store.files import refuse_odd_files
from patchkit.store.location import VERSIONS, series_option, versions_file
from patchkit.store.lock import read_lock
from patchkit.store.memory import load_resolutions
from patchkit.store.pending import drop, finish, is_pending
from patchkit.store.series import Series, load_series
from patchkit.store.yaml_text import writable


def rebase(folder: Path, request: Request, around: Surroundings) -> Rebased:
    """Carry the patches of the series in ``folder``.

    Raises UsageError (also when a rebase is unfinished), SourceError, TreeError; nothing is written then.
    """
    if is_pending(folder):
        raise UsageError(
            f"a write of {folder} was cut short",
            hint=f"finish it with `patchkit rebase --continue{series_option(folder)}`, or drop it with --abort "
            "if it had not begun",
        )
    unfinished = find_open(folder)
    if unfinished is not None:
        raise already_open(folder, unfinished.folder)
    refuse_odd_files(folder)
    _refuse_odd_names(request, around)
    if around.edit_dir is not None:
        refuse_unfit(folder, around.edit_dir)
    if not around.dry_run:
        undo_interrupted_write(folder, around.reporter)
        clear_room(folder)
    series, known = _sources(folder)
    session = Session(
        series, _upstream(series, known, request, around), request, load_resolutions(folder), read_lock(folder)
    )
    _refuse_foreign_list(folder, known, session)
    _refuse_gaps(session)
    return Run(folder, session, known.versions, around).go(())


def resume(
    folder: Path,
    around: Surroundings,
    *,
    signed: Signed,
    skip: bool = False,
    accept: bool = False,
    accept_resolutions: bool = False,
) -> Rebased:
    """Go on with the unfinished rebase of the series in ``folder``, from the files that a person has edited.

    With ``skip`` the hunks of the current patch that are still in conflict are left out; ``accept`` takes what asks for
    review in the current patch, and in no later one. Raises UsageError when there is nothing to go on with, when the
    series has changed since, and when ``signed`` does not say who solved a conflict and why; SourceError, TreeError.
    The edit directory stays as it is then.
    """
    if is_pending(folder):
        return _finished(folder)
    edit_dir = _unfinished(folder)
    edit_dir.refuse_odd_files()
    refuse_odd_files(folder)
    state = edit_dir.state()
    series, listed = _sources(folder)
    if series.digest != state.series:
        raise UsageError(
            "the series has changed since this rebase began",
            hint=f"copy what you edited out of {edit_dir.folder}, and begin anew: "
            f"`patchkit rebase --abort{series_option(folder)}` removes that folder",
        )
    _refuse_foreign_state(edit_dir, state, series)
    request = Request(
        onto=state.target,
        base=state.base,
        patches=state.patches,
        repository=Path(state.repository) if state.repository else None,
        accept=state.accept or accept,
        accept_resolutions=state.accept_resolutions or accept_resolutions,
    )
    upstream = _upstream(series, listed, request, around)
    known = {**load_resolutions(folder), **edit_dir.resolutions()}
    session = Session(series, upstream, request, known, read_lock(folder))
    if session.target.commit != state.commit:
        raise UsageError(
            f"{state.target} is another commit now: {session.target.commit}, it was {state.commit}",
            hint=f"begin anew with `patchkit rebase --abort{series_option(folder)}`, "
            "or name the commit itself with --onto",
        )
    run = Run(folder, session, listed.versions, around, edit_dir)
    return run.resume(state, signed, skip=skip)


def abort(folder: Path) -> Rebased:
    """Drop the unfinished rebase of the series in ``folder``; the series stays as it is. Raises UsageError."""
    dropped = False
    if is_pending(folder):
        if not drop(folder):
            hint = f"finish it: `patchkit rebase --continue{series_option(folder)}`"
            raise UsageError(f"{folder} is written in part already", hint=hint)
        clear_room(folder)
        dropped = True
    try:
        edit_dir = find_open(folder)
    except StoreError as error:
        note = f"an edit directory outside of {folder} was left, if there was one: {error.message}"
        return _aborted(folder, "", sweep_room(folder), (note,))
    if edit_dir is None:
        # A process that was killed while it removed them leaves files, and nothing that says so.
        swept = sweep_room(folder)
        if not swept and not dropped:
            raise _no_rebase(folder)
        return _aborted(folder, "", swept)
    try:
        target = edit_dir.state().name
    except PatchkitError:
        # Whatever became of the state: this is how to get rid of it. Nothing else says what the target was.
        target = ""
    removed = edit_dir.remove()
    left = edit_dir.folder.is_dir()
    notes = (f"{edit_dir.folder} was left: it does not say that it is of a rebase of this series",) if left else ()
    return _aborted(folder, target, removed, notes)


def _aborted(folder: Path, target: str, removed: Sequence[Path], notes: tuple[str, ...] = ()) -> Rebased:
    return Rebased(
        tool=__version__,
        ok=True,
        verdict="aborted",
        series=str(folder),
        target=target,
        removed=tuple(map(str, removed)),
        notes=notes,
    )


def _finished(folder: Path) -> Rebased:
    """Finish a write that was cut short. What was carried was proved before it began."""
    edit_dir, target = None, ""
    with suppress(PatchkitError):
        # Whatever became of the edit directory: a series that is written in part is worse.
        edit_dir = find_open(folder)
        target = edit_dir.state().name if edit_dir else ""
    written, removed = finish(folder)
    if edit_dir is not None:
        edit_dir.remove()
    sweep_room(folder)
    return Rebased(
        tool=__version__,
        ok=True,
        verdict="written",
        series=str(folder),
        target=target,
        written=tuple(map(str, written)),
        removed=tuple(map(str, removed)),
        notes=("a write that was cut short is finished",),
    )


def _sources(folder: Path) -> tuple[Series, Known]:
    series = load_series(folder)
    refuse_bad_ranges(series)
    return series, load_known(folder)


def _upstream(series: Series, known: Known, request: Request, around: Surroundings) -> Upstream:
    return Upstream(
        known.versions,
        request.repository,
        beyond=Beyond(known, tuple(series.files)),
        cache=around.cache,
        reporter=around.reporter,
    )


def _refuse_foreign_list(folder: Path, known: Known, session: Session) -> None:
    """Raise StoreError when a new target would have to be written into the list that patchkit ships."""
    if known.own is None and session.upstream.added is not None:
        raise StoreError(
            str(folder),
            None,
            f"there is no {VERSIONS} of its own to write {session.target.title} into",
            hint=f"copy {versions_file(folder)} into {folder}",
        )


def _refuse_gaps(session: Session) -> None:
    """Raise UsageError when a patch that was not asked for is for no such target, so that nothing could be written."""
    target, asked = session.target, session.request.patches
    gaps = [
        patch.name
        for patch in session.series.patches
        if asked
        and patch.name not in asked
        and not variants_for(patch.document, target)
        and why_not_needed(patch.document.not_needed, target) is None
    ]
    if gaps:
        request = session.request
        option = f" --from {shell_word(request.base)}" if request.base is not None else ""
        option += f" --git {shell_word(str(request.repository))}" if request.repository is not None else ""
        option += series_option(session.series.folder)
        has = "has" if len(gaps) == 1 else "have"
        names = " ".join(patch.name for patch in session.series.patches if patch.name in (*asked, *gaps))
        command = f"patchkit rebase {names} --onto {shell_word(request.onto)}{option}"
        raise UsageError(
            f"{' and '.join(gaps)} {has} no variant for {target.title} either, and a target needs every patch",
            hint=f"carry them together: `{command}`, or name no patch for all",
        )


def _refuse_foreign_state(edit_dir: EditDir, state: State, series: Series) -> None:
    """Raise StoreError for a state that no rebase of the series has left: its names are those of files and folders.

    It may have come with a series of somebody else. Settled are the first patches of the series, each in its place, and
    the current one is next.
    """
    for key, name, right in _names_of_state(state, series):
        if name not in right:
            raise StoreError(
                str(edit_dir.folder / STATE),
                key,
                f"{name!r} is not what a rebase of this series has there",
                hint=f"begin anew: `patchkit rebase --abort{series_option(series.folder)}`",
            )


def _names_of_state(state: State, series: Series) -> Iterator[tuple[str, str, Container[str]]]:
    """Give each key of a state that names a patch or variant, the name, and those that it may be."""
    names = [patch.name for patch in series.patches]
    for at, settled in enumerate(state.settled):
        yield f"settled[{at}].report.name", settled.report.name, names[at : at + 1]
        if settled.existing is not None:
            yield f"settled[{at}].existing", settled.existing, series.patches[at].texts
    yield "current", state.current, names[len(state.settled) : len(state.settled) + 1]


def _unfinished(folder: Path) -> EditDir:
    edit_dir = find_open(folder)
    if edit_dir is None:
        raise _no_rebase(folder)
    return edit_dir


def _refuse_odd_names(request: Request, around: Surroundings) -> None:
    """Raise UsageError for a name that could not be written down when the rebase stops before its end."""
    folders = (folder.resolve() for folder in (request.repository, around.edit_dir) if folder is not None)
    for name in (request.onto, request.base or "", *map(str, folders)):
        writable(name)


def _no_rebase(folder: Path) -> UsageError:
    hint = f"begin one with `patchkit rebase --onto TARGET{series_option(folder)}`"
    return UsageError(f"{folder} has no unfinished rebase", hint=hint)
