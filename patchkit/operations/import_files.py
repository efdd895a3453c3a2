"""The patch files that import is given, read in their order: files, or folders of them."""

from __future__ import annotations

import errno
import re
import stat
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

import msgspec
from msgspec.structs import replace

from patchkit.core.foreign.diffs import ForeignFile, ForeignPatch
from patchkit.core.foreign.lenient import read_foreign
from patchkit.core.foreign.mail import is_cover_letter, mail_number
from patchkit.core.foreign.quilt import Listed, read_quilt_series, stripped
from patchkit.core.foreign.transfer import MOST_LINES
from patchkit.core.paths import shown
from patchkit.errors import TreeError, UnsafePathError, UsageError
from patchkit.reading import LARGEST, kind_of, read_given, read_regular
from patchkit.trees.paths import checked

MAX_SIZE = LARGEST
"""Bytes; a series has no larger file either, and what is imported becomes one."""
_SUFFIXES = (".patch", ".diff", ".mbox", ".eml")
_NUMBER = re.compile(r"\d+")


class ReadFiles(msgspec.Struct, frozen=True):
    """What was read."""

    paths: tuple[Path, ...]
    patches: tuple[ForeignPatch, ...]
    notes: tuple[str, ...]


def read_files(given: Sequence[Path], directory: str = "") -> ReadFiles:
    """Read the files ``given``, and those of each folder among them; a cover letter beside patches is left out.

    With ``directory`` their paths are below that folder of the tree, as `git apply --directory` has it. Raises
    PatchFormatError, TreeError, UnsafePathError for a name in a folder that leads out of it, and UsageError for a
    folder that does not say in which order its files are. What quilt's series file says of the paths in a patch holds.
    """
    named = [one for one in given if not one.is_dir()]
    strips: dict[int, int] = {}
    paths: list[Path] = []
    for one in given:
        found: Sequence[tuple[Path, int | None]] = _folder_files(one) if one.is_dir() else [(one, None)]
        strips |= {len(paths) + at: strip for at, (_, strip) in enumerate(found) if strip is not None}
        paths += [path for path, _ in found]
    kept: list[Path] = []
    patches: list[ForeignPatch] = []
    notes: list[str] = []
    numbers: list[tuple[int, int]] = []
    for at, path in enumerate(paths):
        # A pipe that somebody names is wanted; what a folder has is its maker's choice.
        text = _read(path, read_given if path in named else read_regular)
        if len(paths) > 1 and is_cover_letter(text, str(path)):
            notes.append(f"{path.name}: a cover letter, and left out")
            continue
        kept.append(path)
        patch = read_foreign(text, str(path))
        patches.append(_below(stripped(patch, strips[at]) if at in strips else patch, directory.strip("/")))
        numbers.extend(number for message in text.split(b"\nFrom ") if (number := mail_number(message)) is not None)
    return ReadFiles(tuple(kept), tuple(patches), (*notes, *_numbering(numbers)))


def _below(patch: ForeignPatch, directory: str) -> ForeignPatch:
    """Return a patch with its paths below a folder, behind git's prefix if they have one."""
    if not directory:
        return patch

    def moved(path: str | None) -> str | None:
        if path is None:
            return None
        first, slash, rest = path.partition("/")
        return f"{first}/{directory}/{rest}" if slash and len(first) == 1 else f"{directory}/{path}"

    def placed(file: ForeignFile) -> ForeignFile:
        return replace(file, old_path=moved(file.old_path), new_path=moved(file.new_path))

    messages = (replace(message, files=tuple(map(placed, message.files))) for message in patch.messages)
    return replace(patch, messages=tuple(messages))


def _folder_files(folder: Path) -> list[tuple[Path, int | None]]:
    """Return the patches of a folder in their order: that of quilt's ``series`` file, or of the numbers in front.

    With each comes how many folders its paths are to lose, if the series file says so.
    """
    series = folder / "series"
    if series.is_file():
        listed = read_quilt_series(_read(_within(folder, series)), str(series))
        if not listed:
            raise UsageError(f"{series} names no patch")
        return [(_listed(folder, series, one), one.strip) for one in listed]
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise TreeError(f"cannot list {folder}: {error.strerror or error}") from error
    # git format-patch --numbered-files gives names without a suffix.
    found = [one for one in entries if one.is_file() and (one.suffix in _SUFFIXES or one.name.isdecimal())]
    found = [_within(folder, one) for one in found]
    if not found:
        raise UsageError(f"{folder} has no patches", hint=f"their names end in {', '.join(_SUFFIXES)}")
    numbers = [int(match[0]) if (match := _NUMBER.match(one.name)) else None for one in found]
    if len(found) > 1 and (None in numbers or len(set(numbers)) < len(numbers)):
        raise UsageError(
            f"{folder}: the names of its {len(found)} patches do not say in which order they are",
            hint="name the files themselves, in their order",
        )
    return [(one, None) for _, one in sorted(zip(numbers, found, strict=True), key=lambda pair: pair[0] or 0)]


def _listed(folder: Path, series: Path, one: Listed) -> Path:
    """Return the file that a line of quilt's series file names.

    Raises UnsafePathError for a name that leads elsewhere or is none, TreeError where there is no such file.
    """
    where = f"{series}:{one.line}"
    try:
        path = _within(folder, folder / checked(str(PurePosixPath(one.name))))
        mode = path.stat().st_mode
    except UnsafePathError as error:
        raise UnsafePathError(f"{where}: {error.message}", hint=error.hint) from error
    except OSError as error:
        raise TreeError(f"{where}: cannot read {shown(one.name)}: {error.strerror}") from error
    if not stat.S_ISREG(mode):
        raise TreeError(f"{where}: cannot read {shown(one.name)}: it is no regular file but {kind_of(mode)}")
    return path


def _within(folder: Path, path: Path) -> Path:
    """Return ``path``. Raises UnsafePathError where links lead out of ``folder``, which may be a stranger's."""
    try:
        place = path.resolve()
    except (OSError, RuntimeError) as error:
        raise UnsafePathError(f"{path} is a link that leads to itself") from error
    if not place.is_relative_to(folder.resolve()):
        hint = "name the file that is meant, or put a copy in its place"
        raise UnsafePathError(f"{path} is a link that leads out of its folder, to {place}", hint=hint)
    return path


def _numbering(numbers: Sequence[tuple[int, int]]) -> list[str]:
    """Return what is odd about the mails' own numbers, such as 2/4."""
    said = ", ".join(f"{number}/{of}" for number, of in numbers)
    if len({of for _, of in numbers}) != 1:
        return []
    order = [number for number, _ in numbers]
    missing = sorted(set(range(1, numbers[0][1] + 1)) - set(order))
    if missing:
        return [f"the mails say {said}: {', '.join(map(str, missing))} of {numbers[0][1]} is missing"]
    return [f"the mails say {said}: this is not their order"] if order != sorted(order) else []


def _read(path: Path, read: Callable[[Path, int], bytes] = read_regular) -> bytes:
    try:
        text = read(path, MAX_SIZE)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise _too_large(path) from error
        raise TreeError(f"cannot read {path}: {error.strerror or error}") from error
    if text.count(b"\n") > MOST_LINES:
        raise _too_large(path)
    return text


def _too_large(path: Path) -> UsageError:
    most = f"a patch of at most {MAX_SIZE // 2**20} MiB and {MOST_LINES:,} lines is imported"
    return UsageError(f"{path} is too large; {most}")
