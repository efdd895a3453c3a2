"""Who works in a folder, as git knows them."""

from __future__ import annotations

import os
from pathlib import Path

from patchkit.errors import TreeError
from patchkit.trees.git_folder import files_read, files_tried, guessed, refuse_odd_files
from patchkit.trees.git_run import PLACES, run_git

_ASKED = {"GIT_AUTHOR_NAME": "user.name", "GIT_AUTHOR_EMAIL": "user.email"}
"""Variables, and the setting that holds where one is not given."""
_SOON_TOLD = 5
"""Seconds for who works here, which can be asked of the user instead."""


def identity(folder: Path) -> str | None:
    """Return name and address of whoever works in ``folder``, as git knows them, or None.

    What git would make up out of the names of user and machine does not count, nor does it matter whether the folder is
    in a repository. Of one with files that git would wait for, it is not asked.
    """
    found = [os.environ.get(variable) for variable in _ASKED]
    try:
        if not all(found):
            _refuse_odd_files(folder)
            found = [value or _told(folder, setting) for value, setting in zip(found, _ASKED.values(), strict=True)]
    except (TreeError, TimeoutError):
        return None
    name, address = (value.strip() if value else "" for value in found)
    return f"{name} <{address}>" if name and address else None


def _told(folder: Path, setting: str) -> str:
    """Return a setting as git has it for ``folder``, empty where it has none. Raises TreeError, TimeoutError."""
    # Inside a hook, git points at the hook's own repository.
    asked = dict.fromkeys(PLACES)
    _status, printed, _problem = run_git(["config", "--get", setting], folder, environment=asked, seconds=_SOON_TOLD)
    return os.fsdecode(printed)


def _refuse_odd_files(folder: Path) -> None:
    """Raise TreeError when git would wait for a file of a repository that ``folder`` is in, at whatever depth."""
    where = folder.resolve()
    # What seems to be a repository may be none to git, which goes on upwards.
    for place in (where, *where.parents):
        refuse_odd_files(place, files_tried(place))
        found = guessed(place)
        if found is not None:
            refuse_odd_files(place, files_read(found))
