"""A copy of a series to work on, so that nothing is written until everything is known to be right."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from patchkit.errors import PatchkitError, WriteFailedError
from patchkit.operations.series_files import (
    in_a_room,
    read_series_files,
    series_paths,
    undo_interrupted_write,
    write_series_files,
)
from patchkit.progress import Reporter
from patchkit.store.files import refuse_odd_files
from patchkit.store.location import VERSIONS, versions_file


class Stage:
    """A series' folder and, where it lies two levels up, its upstream_versions.yaml, copied."""

    def __init__(self, root: Path, real: Path, before: Mapping[Path, bytes]) -> None:
        self._real = real
        self._above = versions_file(real) == real.parent.parent / VERSIONS
        self._root = root
        self._before = before
        self.folder = root / "patches" / "series"
        """The copy."""

    def changes(self) -> tuple[dict[Path, bytes], list[Path]]:
        """Return the files that differ from the real ones as they were, by real path, and those that are gone."""
        pairs = {self._real / path.relative_to(self.folder): path for path in _files(self.folder)}
        if self._above:
            pairs[self._real.parent.parent / VERSIONS] = self._root / VERSIONS
        changed = {
            real: copy.read_bytes()
            for real, copy in sorted(pairs.items())
            if not real.is_file() or real.read_bytes() != copy.read_bytes()
        }
        gone = [path for path in _files(self._real) if path not in pairs] if self._real.is_dir() else []
        # What is there now and was not then is another process's.
        gone = [path for path in gone if path in self._before]
        return changed, gone

    def commit(self, operation: str) -> tuple[str, ...]:
        """Write every difference to the real place, all or nothing; return the paths.

        ``operation`` is what messages call the write. Raises as ``write_series_files`` does.
        """
        changed, gone = self.changes()
        write_series_files(self._real, changed, gone, operation=operation, expected=self._expected(changed))
        return tuple(str(path) for path in (*changed, *gone))

    def refuse_outdated(self) -> None:
        """Refuse a copy of something else than was read before. Raises WriteFailedError."""
        above = self._real.parent.parent / VERSIONS if self._above else None
        copies = {
            self._root / VERSIONS if real == above else self.folder / real.relative_to(self._real): real
            for real in self._before
        }
        self._refuse_others(copies)

    def refuse_overtaken(self) -> None:
        """Refuse to go on when the real files are no longer what was read. Raises WriteFailedError."""
        self._refuse_others({real: real for real in self._before})

    def _refuse_others(self, places: Mapping[Path, Path]) -> None:
        for place, real in places.items():
            if not place.is_file() or place.read_bytes() != self._before[real]:
                raise WriteFailedError(
                    f"{real} was changed by somebody else since it was read; nothing was changed",
                    hint="run this again",
                )

    def _expected(self, changed: Mapping[Path, bytes]) -> dict[Path, bytes | None]:
        """Return what the real files must still hold, and which must not be there."""
        new = {path: None for path in changed if path not in self._before and not path.is_symlink()}
        return {**self._before, **new}

    def named(self, text: str) -> str:
        """Return a message with the real folder in the place of the copy."""
        return text.replace(str(self.folder), str(self._real)).replace(str(self._root), str(self._real.parent.parent))


def ready(folder: Path, reporter: Reporter, *, dry_run: bool) -> Path:
    """Return a series' folder, ready to be staged: with its parents in its name, and no write of it cut short.

    ``series`` alone has ``.`` for a parent and a grandparent. With ``dry_run`` nothing is undone.
    """
    if not dry_run:
        undo_interrupted_write(folder, reporter)
    return folder.absolute() if folder.parent == folder.parent.parent else folder


@contextmanager
def staged(folder: Path, before: Mapping[Path, bytes] | None = None) -> Iterator[Stage]:
    """Copy the series in ``folder`` (which need not exist) for as long as the context lasts.

    ``before`` is what ``read_series_files`` told when the caller read it first. Errors of patchkit that pass through
    name the real folder. What patchkit keeps in the folder for itself is not copied. Raises WriteFailedError when it
    cannot be copied, or is something else by now, and UsageError for links, pipes and devices in it.
    """
    refuse_odd_files(folder)
    with tempfile.TemporaryDirectory(prefix="patchkit-") as root:
        stage = Stage(Path(root), folder, read_series_files(folder) if before is None else before)
        try:
            if folder.is_dir():
                # One that becomes a link meanwhile stays one.
                shutil.copytree(folder, stage.folder, symlinks=True, ignore=partial(_rooms, folder))
            else:
                stage.folder.mkdir(parents=True)
            if versions_file(folder) == folder.parent.parent / VERSIONS:
                shutil.copyfile(folder.parent.parent / VERSIONS, Path(root) / VERSIONS)
        except (OSError, shutil.Error) as error:
            raise WriteFailedError(f"cannot copy {folder}: {error}") from error
        stage.refuse_outdated()
        try:
            yield stage
        except PatchkitError as error:
            error.message = stage.named(error.message)
            error.hint = stage.named(error.hint) if error.hint else None
            error.args = (error.message,)
            raise


def _rooms(folder: Path, place: str, names: list[str]) -> list[str]:
    """Return those of ``names`` in ``place`` that are patchkit's own."""
    return [name for name in names if in_a_room(Path(place) / name, folder)]


def _files(folder: Path) -> list[Path]:
    return [path for path in series_paths(folder) if path.is_file()]
