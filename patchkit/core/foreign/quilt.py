"""quilt's ``series`` file: which patches, in which order, and how each is taken (quilt(1), "The series file")."""

from __future__ import annotations

import re

import msgspec
from msgspec.structs import replace

from patchkit.core.foreign.diffs import ForeignFile, ForeignPatch
from patchkit.errors import PatchFormatError

_COMMENT = re.compile(r"(?:^|[ \t]+)#.*")
"""As quilt has it: a name may have a ``#`` in it."""
_STRIP = re.compile(r"-p ?(\d{1,3})")


class Listed(msgspec.Struct, frozen=True):
    """One line of a series file."""

    name: str
    """Path below the folder of the file."""
    line: int
    """1-based."""
    strip: int | None = None
    """How many folders `-p` takes off the paths in it; None when it is not said, or is quilt's usual 1."""


def read_quilt_series(text: bytes, name: str) -> tuple[Listed, ...]:
    """Read the series file ``name``. Raises PatchFormatError for a patch that is to be reversed, and other options."""
    found: list[Listed] = []
    for number, raw in enumerate(text.decode("utf-8", "surrogateescape").split("\n"), 1):
        words = re.findall(r"[^ \t\r]+", _COMMENT.sub("", raw.rstrip("\r"), count=1))
        if not words:
            continue
        patch, options = words[0], " ".join(words[1:])
        strip = _STRIP.fullmatch(options)
        if strip is None and options not in ("", "-pab", "-p ab"):
            if "-R" in words:
                message = f"{patch} is to be taken in reverse (-R), which import does not do"
                hint = "put the reverse of the patch in its place; interdiff -q PATCH /dev/null prints it"
                raise PatchFormatError(name, number, message, hint=hint)
            message = f"{patch} has options that import does not know: {options}"
            raise PatchFormatError(name, number, message, hint="it knows -p0, -p1 and so on, and -pab")
        folders = int(strip[1]) if strip else 1
        found.append(Listed(patch, number, None if folders == 1 else folders))
    return tuple(found)


def stripped(patch: ForeignPatch, folders: int) -> ForeignPatch:
    """Return a patch whose paths have lost ``folders`` folders and have git's prefix. Raises PatchFormatError."""

    def cut(path: str | None, prefix: str, line: int) -> str | None:
        if path is None:
            return None
        parts = path.split("/")
        if len(parts) <= folders:
            message = f"{path} has no {folders} folders that -p{folders} in the series file could take off"
            raise PatchFormatError(patch.name, line, message)
        return "/".join([prefix, *parts[folders:]])

    def placed(file: ForeignFile) -> ForeignFile:
        return replace(file, old_path=cut(file.old_path, "a", file.line), new_path=cut(file.new_path, "b", file.line))

    messages = (replace(message, files=tuple(map(placed, message.files))) for message in patch.messages)
    return replace(patch, messages=tuple(messages))
