"""Which files git ignores in a folder."""

from __future__ import annotations

import os
from pathlib import Path

from patchkit.trees.git_folder import files_below, refuse_odd_files
from patchkit.trees.git_program import GitProgram


def ignored_files(repository: Path, folder: Path) -> frozenset[str]:
    """Return the files below ``folder`` that git ignores there by its rules, and those of ``repository``.

    The folder need not be a checkout; its own .gitignore files have their say. Raises TreeError.
    """
    refuse_odd_files(folder, files_below(folder))
    program = GitProgram(repository)
    program.refuse_odd_setting("core.excludesfile", folder)
    where = {"GIT_WORK_TREE": os.fspath(folder.resolve()), **program.with_files}
    command = ("ls-files", "--others", "--ignored", "--exclude-standard", "-z")
    listing = program.output(*command, environment=where)
    return frozenset(os.fsdecode(path) for path in listing.split(b"\0") if path)
