"""Git histories of any shape, merges of any content included."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from .repositories import AUTHOR, git

DAY = 86_400
BEGIN = 1_767_312_000
"""2026-01-02 in UTC."""


class Histories:
    """A bare repository in ``folder``; each commit has exactly the files it is given, and is a day younger."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        git(folder, "init", "-q", "--bare", "-b", "main")
        self.time = BEGIN
        """Of the last commit."""

    def commit(self, subject: str, files: Mapping[str, bytes], *parents: str) -> str:
        """Make a commit and return its id; no branch moves."""
        entries = {path: self._git("hash-object", "-w", "--stdin", stdin=content) for path, content in files.items()}
        listed = "".join(f"100644 {blob}\t{path}\n" for path, blob in entries.items())
        index = {"GIT_INDEX_FILE": str(self.folder / "index.tmp")}
        (self.folder / "index.tmp").unlink(missing_ok=True)
        self._git("update-index", "--add", "--index-info", stdin=listed.encode(), more=index)
        tree = self._git("write-tree", more=index)
        (self.folder / "index.tmp").unlink(missing_ok=True)
        self.time += DAY
        dates = {"GIT_AUTHOR_DATE": f"{self.time} +0000", "GIT_COMMITTER_DATE": f"{self.time} +0000"}
        options = [part for parent in parents for part in ("-p", parent)]
        return self._git("commit-tree", tree, *options, stdin=subject.encode(), more=dates)

    def chain(self, subjects: Sequence[str], texts: Sequence[Mapping[str, bytes]], parent: str) -> list[str]:
        """Make commits one on the other."""
        made: list[str] = []
        for subject, files in zip(subjects, texts, strict=True):
            parent = self.commit(subject, files, parent)
            made.append(parent)
        return made

    def name(self, ref: str, commit: str) -> None:
        """Make a branch or tag, such as ``heads/main``."""
        self._git("update-ref", f"refs/{ref}", commit)

    def _git(self, *command: str, stdin: bytes = b"", more: Mapping[str, str] | None = None) -> str:
        done = subprocess.run(
            ["git", *command],  # noqa: S607 - whichever git the machine has
            cwd=self.folder,
            check=True,
            input=stdin,
            capture_output=True,
            env={**os.environ, **AUTHOR, **(more or {})},
        )
        return done.stdout.decode().strip()
