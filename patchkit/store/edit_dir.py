"""An unfinished rebase on disk: what is settled, and the files that a person is asked to edit.

```
<patches>/.rebase/
  .gitignore                everything here is nobody's history
  pending/                  a write of the series that was cut short
  open.yaml                 where the edit directory is; there is an unfinished rebase while this file exists
  <target>/                 the edit directory, unless --edit-dir names another place; target-<target> where the name
                            is one of those here or begins with a dot
    README.md               what to do
    state.yaml
    settled/<patch>.patch   text of the new variant of each patch that is done
    resolutions/            what is to be remembered once all is written
    <patch>/<path>          files to edit
    review/                 old and new scope side by side
    .draft/<patch>/<path>   the files as they were handed out
```
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec.structs import replace

from patchkit.core.rebasing.memory import Resolution
from patchkit.core.rebasing.rebased import PatchRebase
from patchkit.core.series import SCHEMA, Digest, Document
from patchkit.core.upstream import PinnedCommit
from patchkit.errors import PatchkitError, StoreError, TreeError, UsageError, WriteFailedError
from patchkit.folders import remove
from patchkit.reading import OddFileError, read_unlinked
from patchkit.store.documents import parse_document, read_unlinked_file
from patchkit.store.edit_place import free_place, unlisted, way_on
from patchkit.store.edit_room import (
    already_open,
    home_elsewhere,
    make_room,
    read_open,
    refuse_room_link,
    sweep_room,
    write_open,
)
from patchkit.store.files import entries, refuse_odd_files, write_files
from patchkit.store.location import series_option
from patchkit.store.memory import RESOLUTIONS, load_resolutions, print_resolution, resolution_file
from patchkit.unfinished import leftovers, remove_folder

STATE = "state.yaml"
README = "README.md"
SETTLED = "settled"
DRAFT = ".draft"
REVIEW = "review"

_FILES = (README, STATE, ".gitignore")
_FOLDERS = (SETTLED, RESOLUTIONS, REVIEW, DRAFT)
_COMMENT = "Written by `patchkit rebase`. Do not edit."


class Settled(Document, frozen=True, kw_only=True):
    """What was decided about one patch."""

    report: PatchRebase
    text: bool = False
    """Whether there is a new variant, in settled/."""
    existing: str | None = None
    """File name of a variant that serves the target as it is."""
    left_out: dict[str, str] = {}
    """Why the variant lacks a hunk, by id."""
    scopes: dict[str, str] = {}
    """New scope by id, where patch.yaml names another one."""


class State(Document, frozen=True, kw_only=True):
    """Where an unfinished rebase stands."""

    schema: Annotated[int, msgspec.Meta(ge=SCHEMA, le=SCHEMA)] = SCHEMA
    series: Digest
    """Of the sources with which it began."""
    target: str
    """As asked for."""
    name: str
    """Name of the target."""
    commit: str | None
    added: PinnedCommit | None
    """Entry that upstream_versions.yaml gets."""
    base: str | None
    """As asked for."""
    repository: str | None
    patches: tuple[str, ...]
    """Those asked for; empty: all."""
    accept: bool
    accept_resolutions: bool
    settled: tuple[Settled, ...] = ()
    current: str
    """The patch that a person has to look at."""
    home: str | None = None
    """Folder of the series where the edit directory lies elsewhere, without links; None where it lies in the room."""


class Stranger(msgspec.Struct, frozen=True):
    """A file in the edit directory that nobody reads."""

    file: Path
    settled: bool
    """Whether it is one of a patch that is settled, changed since; else it is one that was not handed out."""


class EditDir:
    """The edit directory of an unfinished rebase."""

    def __init__(self, series: Path, folder: Path) -> None:
        self._series = series
        self.folder = folder
        """Where it is."""
        self._home = home_elsewhere(series, folder)

    def state(self) -> State:
        """Read the state. Raises UsageError when the rebase was cut short before it had one, StoreError."""
        self._require_state()
        file = self.folder / STATE
        state = parse_document(State, read_unlinked_file(file), str(file))
        if state.home != self._home:
            # open.yaml may have come with the series, and can name the folder of another one's rebase.
            of = (
                f"this is a rebase of another series: {state.home}" if state.home else "it does not say of which series"
            )
            hint = f"drop it here with `patchkit rebase --abort{series_option(self._series)}`; {self.folder} stays"
            raise StoreError(str(self.folder / STATE), "home", of, hint=hint)
        return state

    def _require_state(self) -> None:
        if not os.path.lexists(self.folder / STATE):
            raise UsageError(
                f"{self.folder} has no {STATE}: the rebase was cut short, or somebody removed it",
                hint=f"drop what is left of it with `patchkit rebase --abort{series_option(self._series)}`; "
                "the series is as it was",
            )

    def settled_text(self, patch: str) -> bytes:
        """Return the variant of a patch that is done. Raises StoreError when it is gone."""
        return read_unlinked_file(self.folder / SETTLED / f"{patch}.patch")

    def draft(self, patch: str, path: str) -> bytes | None:
        """Return a file as it was handed out; None when none was."""
        file = self.folder / DRAFT / patch / path
        return read_unlinked_file(file) if file.is_file() else None

    def edited_file(self, patch: str, path: str) -> Path:
        """Return where a person edits a file."""
        return self.folder / patch / path

    def edited(self, patch: str, path: str) -> bytes | None:
        """Return a file as it is now; None when it is gone."""
        file = self.edited_file(patch, path)
        return read_unlinked_file(file) if file.is_file() else None

    def resolutions(self) -> dict[str, Resolution]:
        """Return what is to be remembered, by key. Raises StoreError."""
        return load_resolutions(self.folder)

    def write(
        self,
        state: State,
        *,
        texts: Mapping[str, bytes],
        files: Mapping[str, bytes],
        pages: Mapping[str, bytes],
        resolutions: Mapping[str, Resolution],
    ) -> None:
        """Write where the rebase stands; the state comes last, so that a write cut short leaves the old one.

        ``texts`` are variants by patch, ``files`` go out for editing, by path, ``pages`` are for reading, by name.
        Raises WriteFailedError.
        """
        wanted = {self.folder / SETTLED / f"{patch}.patch": text for patch, text in texts.items()}
        for path, content in files.items():
            wanted[self.edited_file(state.current, path)] = content
            wanted[self.folder / DRAFT / state.current / path] = content
        for settled in state.settled:
            wanted |= self._as_settled(settled.report.name)
        wanted |= {self.folder / name: page for name, page in {**pages, ".gitignore": b"*\n"}.items()}
        wanted |= {self.folder / resolution_file(key): print_resolution(each) for key, each in resolutions.items()}
        is_new = not os.path.lexists(self.folder / STATE)
        try:
            write_files(wanted)
            write_files({self.folder / STATE: _print(replace(state, home=self._home))})
        except WriteFailedError as error:
            error.hint = way_on(self._series, is_new=is_new)
            raise

    def _as_settled(self, patch: str) -> dict[Path, bytes]:
        """Return the drafts of a patch that is done as they were edited: a later edit is told by them."""
        place = self.folder / DRAFT / patch
        drafts = [file for file in entries(place) if file.is_file()]
        edited = {file: self.edited(patch, file.relative_to(place).as_posix()) for file in drafts}
        return {file: content for file, content in edited.items() if content is not None}

    def refuse_odd_files(self) -> None:
        """Refuse links, whose ends are not the edit directory's, and pipes and devices.

        Raises UsageError, also as ``state`` does.
        """
        # Without it the folder may be any: open.yaml can be old, or changed.
        self._require_state()
        refuse_odd_files(self.folder)

    def strangers(self, current: str) -> tuple[Stranger, ...]:
        """Return the files that going on with the patch ``current`` would not read, and that would be lost with it."""
        found: list[Stranger] = []
        for entry in entries(self.folder):
            parts = entry.relative_to(self.folder).parts
            own = parts[0] in _FOLDERS or (len(parts) == 1 and parts[0] in _FILES)
            if own or entry.is_dir():
                continue
            patch, path = parts[0], "/".join(parts[1:])
            draft = self.draft(patch, path) if path else None
            if draft is None:
                found.append(Stranger(entry, settled=False))
            elif patch != current and draft != read_unlinked_file(entry):
                found.append(Stranger(entry, settled=True))
        return tuple(found)

    def remove(self) -> tuple[Path, ...]:
        """Remove everything that belongs to the rebase; return the folders. Raises WriteFailedError, TreeError."""
        refuse_room_link(self._series)
        removed: tuple[Path, ...] = ()
        if self._home is not None:
            # Nothing but open.yaml speaks of it, so that one goes last. What an earlier removal left is there as well.
            try:
                self._remove_left()
                if self.folder.is_dir() and self._is_ours(self.folder):
                    remove_folder(self.folder, last=STATE)
                    removed = (self.folder,)
            except OSError as error:
                raise WriteFailedError(f"cannot remove {error.filename}: {error.strerror or error}") from error
        return (*sweep_room(self._series), *removed)

    def _remove_left(self) -> None:
        """Remove what a removal that was killed left of the folder: what says so is ours, and the last is empty."""
        try:
            found = leftovers(self.folder)
        except OSError as error:
            raise unlisted(error) from error
        for left in found:
            if not left.is_symlink() and self._is_ours(left):
                remove(left, last=STATE)
                continue
            try:
                left.rmdir()
            except OSError as error:
                # Somebody else's, or a link. What cannot be removed for another reason would be forgotten.
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    raise

    def _is_ours(self, folder: Path) -> bool:
        """Tell whether a folder elsewhere is of a rebase of this series: open.yaml may name any. Raises TreeError."""
        file = folder / STATE
        try:
            return parse_document(State, read_unlinked(file), str(file)).home == self._home
        except (FileNotFoundError, NotADirectoryError, OddFileError, PatchkitError):
            # No rebase leaves a link there, a pipe, or what else is no file of ours.
            return False
        except OSError as error:
            # It may be one all the same, and nothing would speak of it any more.
            raise TreeError(
                f"cannot read {file}: {error.strerror or error}",
                hint=f"make it readable, or put {folder} elsewhere if it is somebody else's, and run this again",
            ) from error


def find_open(series: Path) -> EditDir | None:
    """Return the edit directory of the series' unfinished rebase, or None. Raises StoreError."""
    place = read_open(series)
    return None if place is None else EditDir(series, place)


def claim(series: Path, folder: Path | None, name: str) -> EditDir:
    """Begin an unfinished rebase: its edit directory, still empty, is ``folder`` or below the series.

    Raises UsageError when there is one already or ``folder`` is not free or not fit for one, WriteFailedError.
    """
    place = free_place(series, folder, name)
    try:
        write_open(make_room(series), place)
    except FileExistsError:
        raise already_open(series, read_open(series)) from None
    return EditDir(series, place)


def _print(value: Document) -> bytes:
    from patchkit.store.yaml_text import print_yaml  # noqa: PLC0415 - only writing needs it

    return print_yaml(msgspec.to_builtins(value), _COMMENT, blocks=True)
