"""The authorities, run on many files at once."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

Files = Mapping[str, "bytes | None"]
"""Text by path; None where there is no file."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
GIT: Final = ("git", "-c", "core.quotePath=true", "-c", "diff.renameLimit=0")


def lay(folder: Path, files: Files) -> Path:
    """Write the files that there are into a new folder."""
    folder.mkdir(parents=True)
    for name, text in files.items():
        if text is not None:
            path = folder / name
            if "/" in name:
                path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
    return folder


def held(folder: Path) -> dict[str, bytes]:
    """Return what a folder holds."""
    found: dict[str, bytes] = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent) / name
            text = b"link to " + os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            found[path.relative_to(folder).as_posix()] = text
    return found


def run(folder: Path, command: Sequence[str], text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a program in a folder that belongs to no git repository, with nobody's settings."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": os.fspath(folder.parent),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": os.fspath(folder.parent),
        "LC_ALL": "C",
        "TZ": "UTC",
        "TMPDIR": os.fspath(folder.parent),
    }
    return subprocess.run(list(command), cwd=folder, input=text, check=False, capture_output=True, env=environment)


def at_once(call: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
    """Return what ``call`` returns for each item; while it waits for a program, others run."""
    with ThreadPoolExecutor(max_workers=8) as pool:
        return list(pool.map(call, items))


def git_apply(folder: Path, patch: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    """Apply a patch with git."""
    return run(folder, [*GIT, "apply", "--whitespace=nowarn", *options, "-"], patch)


def gnu_patch(folder: Path, patch: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    """Apply a patch with GNU patch, without fuzz and with its lines as they are.

    ``--force`` never takes a patch for a reversed one.
    """
    fixed = ["--strip=1", "--fuzz=0", "--force", "--binary", "--silent", "--no-backup-if-mismatch"]
    return run(folder, ["patch", *fixed, *options], patch)


def git_diff(folder: Path, old: str, new: str, *options: str) -> bytes:
    """Return git's diff from one folder below ``folder`` to another, without their names in the paths."""
    command = [*GIT, "diff", "--no-index", "--full-index", "--text", "--no-renames", "--no-color", *options, old, new]
    return run(folder, command).stdout


def gnu_diff(folder: Path, old: str, new: str, *options: str) -> bytes:
    """Return diff's diff from one folder below ``folder`` to another."""
    return run(folder, ["diff", "--recursive", "--text", "--new-file", *options, old, new]).stdout


def git_merge_files(folder: Path, sides: Sequence[tuple[bytes, bytes, bytes]]) -> list[bytes | None]:
    """Return what git merge-file makes of each (base, changed, target); None on a conflict or refusal.

    A shell runs many of them: starting it once is cheaper than starting Python's subprocess for each.
    """
    for number, texts in enumerate(sides):
        for name, text in zip("oct", texts, strict=True):
            (folder / f"{number}.{name}").write_bytes(text)
    script = "for n; do git merge-file -q -p $n.t $n.o $n.c >$n.m 2>/dev/null || rm $n.m; done"
    numbers = [str(number) for number in range(len(sides))]
    at_once(lambda first: run(folder, ["sh", "-c", script, "sh", *numbers[first::8]]), range(8))
    merged = (folder / f"{number}.m" for number in range(len(sides)))
    return [path.read_bytes() if path.exists() else None for path in merged]
