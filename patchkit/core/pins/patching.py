"""Commands that apply patches, the copies that bring the patches there, and what their index lines name."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from patchkit.core.foreign.fitting import touched_paths
from patchkit.core.foreign.lenient import read_foreign
from patchkit.core.pins.commands import git_words, option, plain
from patchkit.core.pins.model import UNKNOWN, Applied, Command, Copy, Script, Word
from patchkit.core.pins.shell import joined
from patchkit.core.pins.wrappers import unwrapped
from patchkit.errors import PatchkitError

Texts = Mapping[str, tuple[str, str]]
"""Abbreviated blob ids by path, before and after a patch."""

_ONLY_LOOK = frozenset({"--check", "--stat", "--numstat", "--summary"})
_GIT_LOOSE = re.compile(
    r"--reject|--unidiff-zero|--recount|--inaccurate-eof|--ignore-whitespace|--ignore-space-change|-C[012]"
)
_PATCH_LOOSE = re.compile(r"--fuzz(=[1-9]\d*)?|-F([1-9]\d*)?|-l|--ignore-whitespace|-f|--force|-t|--batch")


def applied_by(script: Script) -> list[Applied]:
    """Return every command that applies a patch, in order; those that only look whether it would apply are none."""
    return [found for command in script.commands if (found := _with_git(command) or _with_patch(command))]


def _with_git(command: Command) -> Applied | None:
    found = git_words(command)
    if found is None or found[1][0].text not in ("apply", "am"):
        return None
    folder, words = found
    texts = [word.text for word in words]
    if _ONLY_LOOK.intersection(texts) and "--apply" not in texts:
        return None
    if inner := option(words, ("--directory",)):
        folder = joined(folder, inner.text)
    loose = tuple(text for text in texts if _GIT_LOOSE.fullmatch(text))
    files = [word for word in plain(words[1:]) if word != inner]
    return Applied(command, "git am" if texts[0] == "am" else "git apply", _or_stdin(files, command), folder, loose)


def _with_patch(command: Command) -> Applied | None:
    words = unwrapped(command)
    texts = [word.text for word in words]
    if posixpath.basename(texts[0]) != "patch" or "--dry-run" in texts or "--version" in texts:
        return None
    folder = command.folder
    if inner := option(words, ("-d", "--directory")):
        folder = joined(folder, inner.text)
    given = option(words, ("-i", "--input"))
    loose = tuple(text for text in texts[1:] if _PATCH_LOOSE.fullmatch(text))
    return Applied(command, "patch", _or_stdin([given] if given else [], command), folder, loose)


def _or_stdin(files: Sequence[Word], command: Command) -> tuple[Word, ...]:
    return tuple(files) or ((command.stdin,) if command.stdin else ())


def places(command: Command, file: str, script: Script) -> list[str]:
    """Return the paths, seen from the build context or the script, that a file of a command can have; globs stay globs.

    The newest copy that can have brought the file there comes first; the path as it is written comes last.
    """
    path = joined(command.folder, file) if not file.startswith(UNKNOWN) else file
    found: list[str] = []
    for copy in reversed(script.copies):
        if copy.stage in script.lineage(command.stage) and copy.at < command.at:
            found.extend(_before_copy(copy, path))
    # A script starts in a folder that it does not name, most often its own.
    found.append(path.removeprefix(f"{UNKNOWN}/"))
    found.append(file.rpartition(UNKNOWN)[2].lstrip("/") if UNKNOWN in file else file)
    return list(dict.fromkeys(place for place in found if place and UNKNOWN not in place))


def _before_copy(copy: Copy, path: str) -> Iterator[str]:
    """Yield what the build context calls the file that ``copy`` puts at ``path``."""
    for word in copy.sources:
        source = word.text.rstrip("/")
        into = posixpath.join(copy.destination.rstrip("/"), posixpath.basename(source))
        if path == copy.destination.rstrip("/"):
            yield source
        elif _is_glob(source) and posixpath.dirname(path) == copy.destination.rstrip("/"):
            if re.fullmatch(_pattern(posixpath.basename(source)), posixpath.basename(path)):
                yield posixpath.join(posixpath.dirname(source), posixpath.basename(path))
        elif path == into:
            yield source
        elif path.startswith(copy.destination.rstrip("/") + "/"):
            yield posixpath.normpath(posixpath.join(source, path[len(copy.destination.rstrip("/")) + 1 :]))


def _is_glob(path: str) -> bool:
    return any(mark in path for mark in "*?[")


def _pattern(glob: str) -> str:
    return re.escape(glob).replace(r"\*", ".*").replace(r"\?", ".")


def named_texts(text: bytes, name: str) -> Texts | None:
    """Return the abbreviated blob ids, before and after, that a patch's index lines name for each file it changes.

    None for a text that is no patch. Files that it makes or deletes, and those without an index line, are left out.
    """
    try:
        foreign = read_foreign(text, name)
        paths = touched_paths(foreign, lambda path: not path.startswith(("a/", "b/")))
    except PatchkitError:
        return None
    found: dict[str, tuple[str, str]] = {}
    files = [file for message in foreign.messages for file in message.files]
    for file, (old, new) in zip(files, paths, strict=True):
        if old and new and file.old_id and file.new_id:
            before = found[new][0] if new in found else file.old_id
            found[new] = before, file.new_id
    return found
