"""Install files read from the disk, with the requirements and constraints files that they read themselves."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from patchkit.core.pins.documents import Scalar
from patchkit.core.pins.model import UNKNOWN, Include, PinKind
from patchkit.core.pins.patching import places
from patchkit.core.pins.reading import Kind, Reading, kind_of, read, unreadable
from patchkit.errors import StoreError, TreeError, UsageError
from patchkit.reading import read_given

_LARGEST = 4 << 20
"""Bytes of the largest file in which pins are looked for."""


def read_with_includes(files: Sequence[Path], kind: Kind | None, context: Path | None) -> list[tuple[Path, Reading]]:
    """Return the files as read, each followed by those that it reads and that were found, each file once.

    ``context`` is the folder that builds run in, when it is known. Raises TreeError and UsageError as
    read_install_file.
    """
    follower = _Follower(context)
    given = {path.resolve() for path in files}
    for path in files:
        follower.add(path, read_install_file(path, kind), given)
    return follower.found


class _Follower:
    """What was read so far."""

    def __init__(self, context: Path | None) -> None:
        self.found: list[tuple[Path, Reading]] = []
        self._context = context
        self._read: dict[Path, Reading] = {}

    def add(self, path: Path, reading: Reading, given: set[Path]) -> None:
        """Add a file and what it reads; ``given`` are the files that somebody else adds."""
        if path.resolve() in self._read:
            return
        self._read[path.resolve()] = reading
        place = len(self.found)
        self.found.append((path, reading))
        problems, constrained = list(reading.problems), set(reading.constrained)
        for include in reading.includes:
            other = self._file(path, reading, include)
            if other is None:
                shown = include.name.replace(UNKNOWN, "...")
                problems.append((include.at, f"it reads {shown}, which was not found: give it as well"))
                continue
            inner = self._read.get(other.resolve()) or read_install_file(other, Kind.REQUIREMENTS)
            if include.constraint:
                constrained.update(pin.package for pin in inner.pins if pin.kind is PinKind.RELEASE)
            if other.resolve() not in given:
                self.add(other, replace(inner, constraint=include.constraint), given)
        self.found[place] = path, replace(reading, problems=tuple(problems), constrained=frozenset(constrained))

    def _file(self, path: Path, reading: Reading, include: Include) -> Path | None:
        """Return the file that an include names: beside the file, or where a build or a script finds it."""
        if "://" in include.name or not include.name:
            return None
        if include.command is None:
            candidates = [] if UNKNOWN in include.name else [path.parent / include.name]
        else:
            folders = [self._context] if self._context is not None else contexts(path)
            names = [each for each in places(include.command, include.name, reading.script) if not each.startswith("/")]
            candidates = [folder / name for name in names for folder in folders]
        found = next((each for each in candidates if each.is_file()), None)
        return None if found is None else Path(_shown(found))


def _shown(path: Path) -> str:
    """Return a path without dots, seen from here when it lies below."""
    plain = os.path.normpath(path)
    here = os.getcwd() + os.sep  # noqa: PTH109 - compared as text, as the path is
    return plain.removeprefix(here)


def read_install_file(path: Path, kind: Kind | None = None) -> Reading:
    """Read one file. Raises TreeError when it cannot be read, UsageError when it is not known what it is."""
    try:
        content = read_given(path, _LARGEST)
    except OSError as error:
        raise TreeError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise TreeError(f"cannot read {path}: it is no UTF-8 text (byte {error.start})") from error
    found = kind or kind_of(str(path), text)
    if found is None:
        names = ", ".join(each.value for each in Kind)
        raise UsageError(f"what {path} is its name does not say", hint=f"say it with --as: {names}")
    scalars: Sequence[Scalar] = ()
    if found is Kind.CONDA:
        from patchkit.store.yaml_text import scalars as scalars_in  # noqa: PLC0415 - 30 ms that other files do without

        try:
            scalars = scalars_in(text, str(path))
        except StoreError as error:
            problem = f"this is no YAML: {error.message.removeprefix(f'{path}: ')}"
            return unreadable(str(path), found, text, 0, problem)
    return read(str(path), found, text, scalars)


def contexts(path: Path) -> list[Path]:
    """Return the folders that a build is likely run from: the file's own, and those above up to the repository's."""
    own = path.resolve().parent
    folders = [own]
    while not (folders[-1] / ".git").exists() and folders[-1].parent != folders[-1] and len(folders) < 6:
        folders.append(folders[-1].parent)
    return folders if (folders[-1] / ".git").exists() else folders[:2]
