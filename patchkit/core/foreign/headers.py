"""Headers of a file in a diff: git's extended ones (git-diff(1), "Generating patch text"), or those of diff -u."""

from __future__ import annotations

import re

import msgspec

from patchkit.core.quoting import as_path, unquoted
from patchkit.errors import PatchFormatError

_INDEX = re.compile(rb"index ([0-9a-f]{4,40})\.\.([0-9a-f]{4,40})(?: (\d{6}))?\s*")
_QUOTED = rb'("(?:[^"\\]|\\.)*")'
_ONE_QUOTED = re.compile(_QUOTED + rb" (.+)|(.+?) " + _QUOTED)
_EPOCH = re.compile(rb"(1970-01-01|1969-12-31|1970-01-02)[ T]\d\d:\d\d|\w{3} \w{3}\s+\d+ \d\d:\d\d:\d\d (1970|1969)")
_STAMP = re.compile(rb" +(\d{4}-\d\d-\d\d +\d\d:\d\d:\d\d(?:\.\d+)?(?: +[+-]\d\d:?\d\d)?)$")
"""A time behind a name whose tab became blanks, as git takes it."""
_REGULAR = re.compile("100[0-7]{3}")
"""Of the permissions git keeps whether a file is executable; none are carried here."""


class FileHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What stands above the first hunk of a file."""

    old_path: str | None
    """As written, prefix included; None for /dev/null."""
    new_path: str | None
    git: bool
    old_id: str | None = None
    new_id: str | None = None
    modes: tuple[str, ...] = ()
    renamed: bool = False
    copied: bool = False


def is_git_header(line: bytes) -> bool:
    """Tell whether a line begins the headers that git writes."""
    return line.startswith(b"diff --git ")


def read_git_header(lines: list[bytes], at: int, name: str) -> tuple[FileHeader, int]:
    """Read git's headers from 0-based line ``at``; return them and the line behind.

    Raises PatchFormatError for binary files, links and submodules, which cannot be carried as hunks, and for two files
    without a rename, which git calls inconsistent.
    """
    start = at
    old, new = _git_paths(lines[at])
    fields: dict[str, str] = {}
    modes: list[str] = []
    ids: tuple[str | None, str | None] = (None, None)
    at += 1
    while at < len(lines):
        line = lines[at].rstrip(b"\r")
        word = _extended(line)
        if line.startswith((b"GIT binary patch", b"Binary files ")):
            hint = "take the file out of the diff; patchkit carries text"
            raise PatchFormatError(name, at + 1, f"{_shown(new or old)} is binary", hint=hint)
        if match := _INDEX.fullmatch(line):
            ids = match[1].decode(), match[2].decode()
            _refuse_kind((match[3] or b"").decode(), new or old, name, at)
        elif word is None:
            break
        elif word.endswith("mode"):
            mode = line[len(word) + 1 :].strip().decode("utf-8", "replace")
            _refuse_kind(mode or "(none)", new or old, name, at)
            modes.append(f"{word} {mode}")
        else:
            fields[word] = unquoted(line[len(word) + 1 :])
        at += 1
    if ("rename to" in fields or "copy to" in fields) and any(" file mode " in mode for mode in modes):
        raise PatchFormatError(
            name, start + 1, f"{_shown(new or old)} is renamed or copied, and made or removed as well"
        )
    named = old, new
    old = fields.get("rename from", fields.get("copy from", old))
    new = fields.get("rename to", fields.get("copy to", new))
    prefixed = "rename to" not in fields and "copy to" not in fields
    if at + 1 < len(lines) and lines[at].startswith(b"--- ") and lines[at + 1].startswith(b"+++ "):
        plain_old, plain_new = _path(lines[at][4:]), _path(lines[at + 1][4:])
        _refuse_other_names(named, (plain_old, plain_new), at, name)
        old, new, prefixed = plain_old, plain_new, True
        at += 2
    elif prefixed:
        old = None if any(mode.startswith("new file") for mode in modes) else old
        new = None if any(mode.startswith("deleted file") for mode in modes) else new
    else:
        old, new = f"a/{old}", f"b/{new}"
    if old is None and new is None:
        raise PatchFormatError(name, start + 1, "this header names no file")
    moved = "rename to" in fields or "copy to" in fields
    if old is not None and new is not None and not moved and old != new and _tail(old) != _tail(new):
        hint = "git says `rename from` and `rename to` between them; make the diff again"
        raise PatchFormatError(
            name, start + 1, f"this header names two files, {old} and {new}, and no rename", hint=hint
        )
    header = FileHeader(
        old_path=old,
        new_path=new,
        git=True,
        old_id=ids[0],
        new_id=ids[1],
        modes=tuple(modes),
        renamed="rename to" in fields,
        copied="copy to" in fields,
    )
    return header, at


def _refuse_other_names(
    named: tuple[str | None, str | None], again: tuple[str | None, str | None], at: int, name: str
) -> None:
    """Raise PatchFormatError where the lines ``---`` and ``+++``, the first at 0-based ``at``, contradict git's own."""
    for one, two, line in zip(named, again, (at, at + 1), strict=True):
        if one is not None and two not in (None, one):
            message = f"{two} is {one} in the line that begins this header"
            raise PatchFormatError(name, line + 1, message, hint="the header was edited by hand; make the diff again")


def read_plain_header(lines: list[bytes], at: int, name: str) -> tuple[FileHeader, int]:
    """Read the ``---`` and ``+++`` lines of diff -u at 0-based line ``at``; return them and the line behind.

    A side whose time stamp is the epoch does not exist (diff -N). Raises PatchFormatError.
    """
    old, new = _path(lines[at][4:]), _path(lines[at + 1][4:])
    if old is None and new is None:
        raise PatchFormatError(name, at + 1, "this header names no file")
    return FileHeader(old_path=old, new_path=new, git=False), at + 2


def _extended(line: bytes) -> str | None:
    """Return which of git's extended headers a line is."""
    for word in (
        "old mode",
        "new mode",
        "deleted file mode",
        "new file mode",
        "copy from",
        "copy to",
        "rename from",
        "rename to",
        "similarity index",
        "dissimilarity index",
    ):
        if line.startswith(word.encode() + b" "):
            return word
    return None


def _refuse_kind(mode: str, path: str | None, name: str, at: int) -> None:
    if mode and not _REGULAR.fullmatch(mode):
        kind = {"120000": "a symbolic link", "160000": "a submodule"}.get(mode, f"of mode {mode}")
        raise PatchFormatError(name, at + 1, f"{_shown(path)} is {kind}, and only regular files are carried")


def _tail(path: str) -> str:
    return path.split("/", 1)[-1]


def _shown(path: str | None) -> str:
    """Return a path as people say it: without git's prefix."""
    return (path[2:] if path[:2] in ("a/", "b/") else path) if path else "a file"


def _git_paths(line: bytes) -> tuple[str | None, str | None]:
    """Return the two names of a ``diff --git`` line, if they can be told apart."""
    rest = line[len(b"diff --git ") :].rstrip(b"\r")
    if match := _ONE_QUOTED.fullmatch(rest):
        return unquoted(match[1] or match[3]), unquoted(match[2] or match[4])
    # Names may have spaces; without a rename both are the same but for the prefix (git's own rule).
    middle = len(rest) // 2
    if rest[middle : middle + 1] == b" " and rest[:middle].split(b"/", 1)[-1] == rest[middle + 1 :].split(b"/", 1)[-1]:
        return as_path(rest[:middle]), as_path(rest[middle + 1 :])
    one, _, two = rest.partition(b" ")
    return (as_path(one), as_path(two)) if two and b" " not in two else (None, None)


def _path(field: bytes) -> str | None:
    """Return the path of a ``---`` or ``+++`` line; a time stamp stands behind a tab."""
    field = field.rstrip(b"\r")
    if field.startswith(b'"'):
        end = re.match(rb'"(?:[^"\\]|\\.)*"', field)
        return unquoted(end[0] if end else field)
    path, tab, stamp = field.partition(b"\t")
    if not tab:
        # Whitespace hooks and mailers put blanks there. A name with blanks is followed by a tab.
        path = path.rstrip()
        if cut := _STAMP.search(path):
            path, stamp = path[: cut.start()], cut[1]
    if path == b"/dev/null" or _EPOCH.match(stamp):
        return None
    return as_path(path)
