"""What a partial clone downloads from, looked at before git is asked (gitrepository-layout(5), "promisor").

git begins `git fetch NAME` for an object that it lacks, with NAME as the clone's settings have it: one that looks like
an option is one, and `--upload-pack=PROGRAM` runs a program. From a repository on this machine git reads with a process
of its own, which waits for a pipe there as it would here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from patchkit.trees.git_folder import files_read, files_tried, guessed, refuse_odd_files

Ask = Callable[[Sequence[str]], tuple[int, bytes, str]]
"""Runs a git command: exit status, output, complaints. Raises TimeoutError."""

_MOST = 20
"""Remotes that are looked at; a clone has one of which it is a part."""
_NAMED = re.compile(r"remote\.(.*)\.promisor", re.DOTALL | re.IGNORECASE)
_SCHEME = re.compile(r"file://[^/]*", re.IGNORECASE)
_ELSEWHERE = re.compile(r"[^/]*:")
"""How what is no path of this machine begins: a scheme, or the name of another one (git-clone(1), "GIT URLS")."""


def may_download(ask: Ask, repository: Path) -> bool:
    """Tell whether git may download what ``repository`` lacks: that runs no program which its settings name.

    Raises TreeError when git would wait for a file of a repository on this machine that it downloads from.
    """
    try:
        names = _promisors(ask)
        if len(names) > _MOST or any(name.startswith("-") for name in names):
            return False
        for name in names:
            status, out, _problem = ask(["ls-remote", "--get-url", name])
            if status != 0:
                return False
            for place in _places(os.fsdecode(out).removesuffix("\n"), repository):
                refuse_odd_files(repository, files_tried(place))
                found = guessed(place)
                if found is not None:
                    refuse_odd_files(repository, files_read(found))
    except TimeoutError:
        return False
    return True


def _promisors(ask: Ask) -> list[str]:
    """Return the names of the remotes from which git downloads what is missing, as its settings have them."""
    _status, out, _problem = ask(["config", "-z", "--get-regexp", r"^(extensions\.partialclone|remote\..*\.promisor)$"])
    names: dict[str, None] = {}
    for setting in os.fsdecode(out).split("\0"):
        # One is called in the name of the setting, the other one in its value.
        key, _, value = setting.partition("\n")
        match = _NAMED.fullmatch(key)
        names |= {match[1]: None} if match else {value: None} if value else {}
    return list(names)


def _places(url: str, repository: Path) -> Iterator[Path]:
    """Yield where git looks for the repository of a URL on this machine (enter_repo in path.c)."""
    scheme = _SCHEME.match(url)
    path = url[scheme.end() :] if scheme else "" if _ELSEWHERE.match(url) else url
    if path and "\0" not in path:
        place = os.path.abspath(repository / os.path.expanduser(path))  # noqa: PTH100, PTH111 - strings: Path drops what git keeps
        yield from (Path(place), Path(f"{place}.git"))
