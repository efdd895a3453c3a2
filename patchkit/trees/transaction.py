"""The write that is all or nothing, for trees that are folders.

Order of events: lock; journal with all old and new bytes; a temporary file beside each target; each takes its target's
place; journal away; lock away. Until the journal is there nothing has changed; while it is there everything can be put
back. A full disk shows when the temporary files are written, before the first target changes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from patchkit.core.blobs import blob_id_if_any
from patchkit.errors import InterruptedWriteError, UnsafePathError, WriteFailedError
from patchkit.trees import journal as journals
from patchkit.trees.interface import Edits, Interrupted
from patchkit.trees.journal import Entry, Journal, Own, anywhere
from patchkit.trees.lock import exclusive, shared
from patchkit.trees.nofollow import in_the_way, missing_folders, parent_folder, read_file, remove_if_empty
from patchkit.trees.paths import checked

_NEW_FILE_MODE = 0o644


@dataclass(frozen=True, slots=True)
class _Change:
    """One file that really changes."""

    path: str
    before: bytes | None
    after: bytes | None
    mode: int


def write_all(
    root: Path, edits: Edits, *, operation: str, state_dir: Path, expected: Mapping[str, bytes | None] | None = None
) -> None:
    """Write all of ``edits`` below ``root`` or none; journal and lock live in ``state_dir``, a folder below ``root``.

    ``expected`` is what the caller read before it decided on the edits, of files that it edits or not: one that holds
    something else by now stops the write. Edits that change nothing write nothing. Raises TreeBusyError,
    UnsafePathError, WriteFailedError, and InterruptedWriteError when an earlier write has to be undone first.
    """
    for path in edits:
        _refuse_own_files(root, checked(path), state_dir)
    with _failing_clearly(root):
        _refuse_links_towards(root, state_dir)
        if journals.is_clean(state_dir) and not _changes(root, edits):
            return
        with exclusive(state_dir, str(root)):
            _refuse_interrupted(root, state_dir)
            journals.sweep(state_dir)
            _refuse_outdated(root, expected or {})
            changes = _changes(root, edits)
            if changes:
                _carry_out(root, changes, operation, state_dir)


def interrupted(root: Path, state_dir: Path) -> Interrupted | None:
    """Return how far a write that was cut short came, or None.

    Raises TreeBusyError while a write is under way, UnsafePathError where a link leads to ``state_dir``.
    """
    _refuse_links_towards(root, state_dir)
    if not journals.exists(state_dir):
        return None
    with shared(state_dir, str(root)):
        if not journals.exists(state_dir):
            return None
        return journals.progress(root, journals.load(state_dir))


def nothing_against(_entry: Entry, _old: bytes | None) -> None:
    """Have nothing against what a journal puts back."""


def undo_interrupted(
    root: Path, state_dir: Path, own: Own = anywhere, judge: Callable[[Entry, bytes | None], None] = nothing_against
) -> Interrupted | None:
    """Put back what files held before a write that was cut short; return what it was, or None when there is none.

    What a write left that was cut short before it changed anything is removed too. Raises InterruptedWriteError, with
    nothing changed, when a file holds neither its old nor its new content, and when one is not ``own``: where less than
    all below ``root`` is written, a journal that somebody planted must not say more. ``judge`` is asked about each
    entry that is put back, with its old bytes, before the first is, and raises InterruptedWriteError.
    """
    _refuse_links_towards(root, state_dir)
    if journals.is_clean(state_dir):
        # A write that was killed as its very last call was to come leaves an empty folder.
        with suppress(OSError):
            state_dir.rmdir()
        return None
    with _failing_clearly(root), exclusive(state_dir, str(root)):
        if not journals.exists(state_dir):
            journals.sweep(state_dir)
            return None
        journal = journals.load(state_dir, own)
        progress = journals.progress(root, journal)
        try:
            _put_back(root, journal, progress, state_dir, judge)
        except OSError as error:
            raise WriteFailedError(
                f"cannot put back the old files of {root}: {_reason(error)}",
                hint=f"the old content is kept in {state_dir}; run this again once the cause is gone",
            ) from error
        return progress


def _carry_out(root: Path, changes: list[_Change], operation: str, state_dir: Path) -> None:
    journal = _journal(root, changes, operation)
    contents = [content for change in changes for content in (change.before, change.after) if content is not None]
    try:
        journals.commit(journal, contents, state_dir)
        journals.sync_folder(state_dir)
        journals.sync_folder(state_dir.parent)
        _place(root, journal, list(zip(journal.entries, (change.after for change in changes), strict=True)))
        journals.retire(state_dir)
    except BaseException as error:
        # An interrupt from the keyboard is as much a reason to put everything back as a full disk is.
        if journals.exists(state_dir):
            _undo_after(error, root, journal, state_dir)
        raise


def _undo_after(error: BaseException, root: Path, journal: Journal, state_dir: Path) -> None:
    try:
        _put_back(root, journal, journals.progress(root, journal), state_dir)
    except (OSError, InterruptedWriteError, UnsafePathError) as second:
        raise WriteFailedError(
            f"cannot write to {root}: {_reason(error)}; putting the old files back failed as well: {_reason(second)}",
            hint=f"the old content is kept in {state_dir}; undo the interrupted write once the cause is gone",
        ) from error


def _put_back(
    root: Path,
    journal: Journal,
    progress: Interrupted,
    state_dir: Path,
    judge: Callable[[Entry, bytes | None], None] = nothing_against,
) -> None:
    if progress.damaged:
        raise InterruptedWriteError(
            f"an earlier {progress.operation} of {root} was cut short, and since then these files were changed: "
            + ", ".join(_now(root, path) for path in progress.damaged),
            hint=f"put these files right and remove {state_dir / 'journal'}, "
            "or give them back the content they had and run this again",
        )
    gone_ahead = frozenset(progress.written)
    written = [entry for entry in journal.entries if entry.path in gone_ahead]
    # All old bytes are looked at before the first file changes.
    old = [None if entry.before is None else journals.saved(state_dir, entry.before) for entry in written]
    for entry, content in zip(written, old, strict=True):
        judge(entry, content)
    _remove_temporaries(root, journal)
    _place(root, journal, list(zip(written, old, strict=True)))
    for folder in reversed(journal.folders):
        # A folder that holds something of somebody else's stays, and so does one behind a link: no write made it.
        with suppress(OSError, UnsafePathError):
            remove_if_empty(root, folder)
    journals.retire(state_dir)


def _place(root: Path, journal: Journal, contents: list[tuple[Entry, bytes | None]]) -> None:
    """Give each file its content (None: remove it), each in one step, and bring that onto the disk."""
    temporaries = journal.temporaries()
    for entry, content in contents:
        if content is not None:
            _write_beside(root, entry, content, temporaries[entry.path])
    for entry, content in contents:
        with parent_folder(root, entry.path) as folder:
            name = _name(entry.path)
            if content is None:
                os.unlink(name, dir_fd=folder)
            else:
                os.replace(_name(temporaries[entry.path]), name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)


def _write_beside(root: Path, entry: Entry, content: bytes, temporary: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with parent_folder(root, entry.path, make=True) as folder:
        owner = _owner(folder, _name(entry.path))
        with os.fdopen(os.open(_name(temporary), flags, 0o600, dir_fd=folder), "wb") as file:
            file.write(content)
            file.flush()
            if owner is not None:
                # Only root can give a file away; for anyone else it becomes their own.
                with suppress(OSError):
                    os.fchown(file.fileno(), *owner)
            # A journal may be a stranger's, and what is put back must not run as whoever puts it there.
            os.fchmod(file.fileno(), entry.mode & 0o777)
            os.fsync(file.fileno())


def _owner(folder: int, name: str) -> tuple[int, int] | None:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return status.st_uid, status.st_gid


def _remove_temporaries(root: Path, journal: Journal) -> None:
    for path in journal.temporaries().values():
        with suppress(FileNotFoundError, NotADirectoryError), parent_folder(root, path) as folder:
            os.unlink(_name(path), dir_fd=folder)


def _changes(root: Path, edits: Edits) -> list[_Change]:
    changes = []
    for path, after in edits.items():
        found = read_file(root, path)
        before = None if found is None else found.content
        if before != after:
            changes.append(_Change(path, before, after, _NEW_FILE_MODE if found is None else found.mode))
    return changes


def _journal(root: Path, changes: list[_Change], operation: str) -> Journal:
    entries = tuple(
        Entry(change.path, blob_id_if_any(change.before), blob_id_if_any(change.after), change.mode)
        for change in changes
    )
    made = [folder for change in changes if change.after is not None for folder in missing_folders(root, change.path)]
    return Journal(operation, os.urandom(4).hex(), entries, tuple(dict.fromkeys(made)))


def _now(root: Path, path: str) -> str:
    """Return a path, with what else than a file is there by now."""
    with suppress(OSError, UnsafePathError):
        hindrance = in_the_way(root, path)
        return f"{path} ({hindrance})" if hindrance else path
    return path


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _refuse_links_towards(root: Path, state_dir: Path) -> None:
    """Raise UnsafePathError for a link above ``state_dir``: the journal there, and the lock, are another tree's.

    The metadata folder of an installed tree holds it, and may be one. A link in its own place is the lock's to refuse.
    """
    with suppress(OSError), parent_folder(root, state_dir.relative_to(root).as_posix()):
        pass  # no link leads there


def _refuse_own_files(root: Path, path: str, state_dir: Path) -> None:
    own = f"{state_dir.relative_to(root).as_posix()}/"
    if path.startswith(own) and journals.is_reserved(path[len(own) :].partition("/")[0]):
        raise UnsafePathError(f"{path!r} belongs to patchkit's own journal")


def _refuse_interrupted(root: Path, state_dir: Path) -> None:
    if journals.exists(state_dir):
        raise InterruptedWriteError(
            f"an earlier {journals.load(state_dir).operation} of {root} was cut short",
            hint="undo it first",
        )


def _refuse_outdated(root: Path, expected: Mapping[str, bytes | None]) -> None:
    for path, before in expected.items():
        found = read_file(root, path)
        if before != (None if found is None else found.content):
            raise WriteFailedError(
                f"{path} in {root} was changed by somebody else since it was read; nothing was changed",
                hint="run this again",
            )


@contextmanager
def _failing_clearly(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WriteFailedError(f"cannot write to {root}: {_reason(error)}; nothing was changed") from error


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f" ({os.fsdecode(error.filename)})"
        return f"{error.strerror}{where}"
    return str(error) or type(error).__name__
