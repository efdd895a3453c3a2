"""Patches to import for ``benchmarks.load``: a git repository, a diff of git's against it, and the whole command."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

HUNKS = 100
"""Hunks of a file, each in a function of its own."""
LINES = 50
"""Lines of a function."""
NAMES = 100
"""New names that hunks share, as those of one feature do."""
BLOCK = 10_000
"""Lines that one large hunk takes out, and again that it adds: some 350 kB each."""


def imported(hunks: int, *, split: bool = False) -> Callable[[], object]:
    """Import a patch of so many small hunks, a hundred in a file, as one patch or (``split``) one for each new name."""
    old: dict[str, bytes] = {}
    new: dict[str, bytes] = {}
    for file in range(-(-hunks // HUNKS)):
        before, after = [], []
        for function in range(HUNKS):
            head = f"def function_{function}(value):\n"
            body = [f"    value_{line} = value + {(function * LINES + line) * 7919}\n" for line in range(LINES - 1)]
            before += [head, *body]
            if file * HUNKS + function < hunks:
                body[LINES // 2] = f"    value = feature_{(file + function) % NAMES}(value)\n"
            after += [head, *body]
        old[f"pkg/part_{file}.py"], new[f"pkg/part_{file}.py"] = "".join(before).encode(), "".join(after).encode()
    return _importing(old, new, split=split)


def imported_megabytes(megabytes: int) -> Callable[[], object]:
    """Import a patch of so many megabytes: a hunk of many lines in each file."""
    old: dict[str, bytes] = {}
    new: dict[str, bytes] = {}
    size = 0
    while size < megabytes * 10**6:
        path = f"pkg/table_{len(old)}.txt"
        old[path], new[path] = (
            b"".join(b"%s %d of the table, %d\n" % (word, line, line * 7919) for line in range(BLOCK))
            for word in (b"line", b"row")
        )
        size += len(old[path]) + len(new[path])
    return _importing(old, new)


def _importing(old: Mapping[str, bytes], new: Mapping[str, bytes], *, split: bool = False) -> Callable[[], object]:
    """Import git's diff from ``old`` to ``new`` into a new series, with the base in a repository of its own."""
    from patchkit.operations.import_patch import import_patches

    place = Path(tempfile.mkdtemp(prefix="load-"))
    # Nothing that an earlier size has left is remembered.
    os.environ["PATCHKIT_CACHE"] = str(place / "cache")
    repository = place / "repository"
    _git(place, "init", "-q", "-b", "main", str(repository))
    stream: list[bytes] = []
    for branch, files in (("main", old), ("changed", new)):
        stream.append(b"commit refs/heads/%s\n" % branch.encode())
        stream.append(b"committer A <a@example.org> 1767225600 +0000\ndata 1\nx\n")
        for path, text in files.items():
            stream.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(text), text))
    _git(repository, "fast-import", "--quiet", given=b"".join(stream))
    patch = place / "large.patch"
    _git(repository, "diff", "--no-color", f"--output={patch}", "main", "changed")

    def work() -> None:
        done = import_patches(
            [patch],
            place / "series",
            today="2026-01-01",
            repository=repository,
            revision="main",
            split=split,
            cache=place / "cache",
        )
        assert done.ok
        assert done.files == len(old)

    return work


def _git(folder: Path, *arguments: str, given: bytes | None = None) -> None:
    subprocess.run(["git", *arguments], cwd=folder, input=given, check=True)  # noqa: S607 - any git
