"""All of a foreign patch, or a series of them, on one base."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec

from patchkit.core.difference import difference
from patchkit.core.foreign.diffs import ForeignFile, ForeignPatch, Message, Repair
from patchkit.core.foreign.repair import Unfit, fit_file
from patchkit.core.kept_names import why_kept
from patchkit.core.model import FilePatch
from patchkit.errors import PatchFormatError

Read = Callable[[str], "bytes | None"]
"""Text of the base by path; None where it has no such file."""

_DEEPEST = 4
"""As many leading folders are tried; ``diff -r old/Megatron-LM new/Megatron-LM`` has two."""


class FittedMessage(msgspec.Struct, frozen=True):
    """One message's changes, on top of those before it."""

    message: Message
    files: tuple[FilePatch, ...]
    """Each path once; hunks have no ids yet."""


class FittedPatch(msgspec.Struct, frozen=True):
    """Everything fits."""

    messages: tuple[FittedMessage, ...]
    base: Mapping[str, bytes | None]
    """The base's text of every file that is touched; None where it has none."""
    contents: Mapping[str, bytes | None]
    """The result, by path."""
    repairs: tuple[Repair, ...]
    notes: tuple[str, ...]

    def squashed(self) -> tuple[FilePatch, ...]:
        """Return all changes as one patch: the hunks as they were written where one message alone has a file."""
        if len(self.messages) == 1:
            return self.messages[0].files
        parts = (difference(self.base[path], self.contents[path], path) for path in sorted(self.base))
        return tuple(part for part in parts if part is not None)


class Misfits(msgspec.Struct, frozen=True):
    """At least one hunk does not fit; there is no result."""

    problems: tuple[Unfit, ...]
    """With every hunk that was looked at before its file was given up."""
    repairs: tuple[Repair, ...]


def pre_images(patches: Sequence[ForeignPatch], exists: Callable[[str], bool]) -> dict[str, str | None]:
    """Return what the base must be: abbreviated blob id by path, None for a file that must not exist.

    From the ``index`` lines; files without one are left out. The ids of later messages are those of results.
    """
    wanted: dict[str, str | None] = {}
    seen: set[str] = set()
    for foreign in patches:
        for file, (old, new) in zip(_files(foreign), touched_paths(foreign, exists), strict=True):
            path = old or new or ""
            if path not in seen and file.old_id is not None:
                wanted[path] = None if old is None else file.old_id
            seen.update(name for name in (old, new) if name is not None)
    return wanted


def fit_patches(patches: Sequence[ForeignPatch], read: Read) -> FittedPatch | Misfits:
    """Fit every message of ``patches`` onto the base, each on what the ones before it leave.

    Raises PatchFormatError for a path that leads out of the tree.
    """
    base: dict[str, bytes | None] = {}
    contents: dict[str, bytes | None] = {}
    repairs: list[Repair] = []
    notes: list[str] = []
    problems: list[Unfit] = []
    messages: list[FittedMessage] = []

    def current(path: str) -> bytes | None:
        if path not in contents:
            contents[path] = base[path] = read(path)
        return contents[path]

    for foreign in patches:
        repairs.extend(foreign.repairs)
        paths = iter(touched_paths(foreign, lambda path: current(path) is not None))
        for message in foreign.messages:
            parts: list[FilePatch] = []
            made: set[str] = set()
            named = [next(paths) for _ in message.files]
            # What it finds, of its own files alone: a series may have thousands of messages.
            before = {path: current(path) for pair in named for path in pair if path is not None}
            leaving = {
                old for file, (old, new) in zip(message.files, named, strict=True) if file.renamed or new is None
            }
            for file, (old, new) in zip(message.files, named, strict=True):
                text = None if old is None and new is None else contents[old or new or ""]
                if old is not None and (file.renamed or file.copied):
                    # Two files may have changed names with each other: a name stands for what it was before the patch.
                    text = before[old]
                    if new is not None and contents[new] is not None and new not in leaving:
                        how = "renamed" if file.renamed else "copied"
                        problems.append(
                            Unfit(new, file.line, None, f"{old} is to be {how} to it, and it is there already")
                        )
                        continue
                fitted = fit_file(file, old, new, text, foreign.name)
                if isinstance(fitted, Unfit):
                    problems.append(fitted)
                    continue
                # The old name may be that of a file that the patch made by then.
                kept = {new} if file.renamed and old in made else fitted.contents
                contents.update({path: fitted.contents[path] for path in kept if path is not None})
                parts.extend(fitted.files)
                if new is not None:
                    made.add(new)
                repairs.extend(fitted.repairs)
                notes.extend(fitted.notes)
            if message.files:
                messages.append(FittedMessage(message, _once(parts, before, contents)))
    if problems:
        return Misfits(tuple(problems), tuple(repairs))
    # Looking for a path's prefix reads files that nothing touches.
    used = {path for message in messages for file in message.files for path in (file.path,)}
    return FittedPatch(
        tuple(messages),
        {path: base[path] for path in sorted(used)},
        {path: contents[path] for path in sorted(used)},
        tuple(repairs),
        tuple(notes),
    )


def touched_paths(foreign: ForeignPatch, exists: Callable[[str], bool]) -> list[tuple[str | None, str | None]]:
    """Return old and new path of every file, as they are in the tree.

    Git's prefixes are taken off, and other leading folders if the base has the file without them. Raises
    PatchFormatError for a path that is absolute, leads upwards, or is one that git or patchkit keep for themselves.
    """
    files = _files(foreign)
    for file in files:
        for path in (file.old_path, file.new_path):
            _refuse_unsafe(path, foreign.name, file.line)
    depths = [_depth(file, exists) for file in files]
    known = Counter(depth for depth in depths if depth is not None)
    usual = known.most_common(1)[0][0] if known else None
    found: list[tuple[str | None, str | None]] = []
    for file, depth in zip(files, depths, strict=True):
        taken = depth if depth is not None else usual if usual is not None else _expected_depth(file)
        found.append(_stripped(file, taken, exists))
    return found


def _files(foreign: ForeignPatch) -> list[ForeignFile]:
    return [file for message in foreign.messages for file in message.files]


def _expected_depth(file: ForeignFile) -> int:
    path = file.old_path or file.new_path or ""
    # The prefixes of git-config(1): a and b, or those of diff.mnemonicPrefix.
    return int("/" in path and len(path.split("/", 1)[0]) == 1)


def _depth(file: ForeignFile, exists: Callable[[str], bool]) -> int | None:
    """Return how many leading folders to take off so that the base has the file; None when it never has."""
    expected = _expected_depth(file)
    for depth in (expected, *(other for other in range(_DEEPEST) if other != expected)):
        paths = (file.old_path, file.new_path if not file.git else None)
        if any(path is not None and exists(_cut(path, depth)) for path in paths if _cut(path or "", depth)):
            return depth
    return None


def _cut(path: str, depth: int) -> str:
    return "/".join(path.split("/")[depth:])


def _stripped(file: ForeignFile, depth: int, exists: Callable[[str], bool]) -> tuple[str | None, str | None]:
    old = None if file.old_path is None else _cut(file.old_path, depth) or file.old_path
    new = None if file.new_path is None else _cut(file.new_path, depth) or file.new_path
    if file.git and old is not None and new is not None and old != new and not (file.renamed or file.copied):
        # Only git's prefixes differ, and they are deeper than the folders that were taken off.
        return old.split("/", 1)[-1], new.split("/", 1)[-1]
    if file.git or old is None or new is None:
        return old, new
    # diff -u names two files on a disk, such as x.py.orig and x.py, and means one.
    path = new if exists(new) or not exists(old) else old
    creates = not exists(path) and all(hunk.old_count == 0 for hunk in file.hunks)
    return (None if creates else path), path


def _refuse_unsafe(path: str | None, name: str, line: int) -> None:
    if path is None:
        return
    parts = path.split("/")
    drive = len(parts[0]) == 2 and parts[0].endswith(":")
    if path.startswith("/") or drive or "\\" in path or "\0" in path or any(part in ("..", ".", "") for part in parts):
        hint = "make the diff with paths relative to the root of the tree"
        raise PatchFormatError(name, line, f"the path {path!r} leads out of the tree", hint=hint)
    try:
        path.encode()
    except UnicodeEncodeError:
        raise PatchFormatError(name, line, f"the path {path!r} is not UTF-8, as names in YAML must be") from None
    kept = why_kept(path)
    if kept:
        raise PatchFormatError(name, line, f"the path {path!r} {kept}")


def _once(
    parts: list[FilePatch], before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]
) -> tuple[FilePatch, ...]:
    """Return the parts with each path once: a variant has a file once, a pile of diffs may have it again."""
    counts = Counter(part.path for part in parts)
    kept: list[FilePatch] = []
    for part in parts:
        if counts[part.path] == 1:
            kept.append(part)
        elif all(other.path != part.path for other in kept):
            whole = difference(before.get(part.path), after[part.path], part.path)
            if whole is not None:
                kept.append(whole)
    return tuple(kept)
