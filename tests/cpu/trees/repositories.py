"""Small real git repositories."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import zlib
from pathlib import Path

AUTHOR = {
    "GIT_AUTHOR_NAME": "A U Thor",
    "GIT_AUTHOR_EMAIL": "author@example.org",
    "GIT_AUTHOR_DATE": "2026-01-02T03:04:05+00:00",
    "GIT_COMMITTER_NAME": "C O Mitter",
    "GIT_COMMITTER_EMAIL": "committer@example.org",
    "GIT_COMMITTER_DATE": "2026-01-02T03:04:05+00:00",
}


def git(folder: Path, *command: str | Path) -> str:
    """Run git in ``folder`` and return what it prints, without the last line break."""
    done = subprocess.run(
        ["git", *command],  # noqa: S607 - whichever git the machine has
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **AUTHOR},
    )
    return done.stdout.rstrip("\n")


def record(folder: Path, message: str) -> str:
    """Commit everything in ``folder``; return the id."""
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def claim(git_folder: Path, size: int) -> str:
    """Put a loose blob into a repository that claims to have ``size`` bytes, and has three; return its id."""
    blob = "ab" * 20
    place = git_folder / "objects" / blob[:2] / blob[2:]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(zlib.compress(b"blob %d\0abc" % size))
    return blob


def put(repository: Path, kind: bytes, content: bytes, object_id: str | None = None) -> str:
    """Write a loose object into a checkout or a bare repository, under its own id or another one's; return that."""
    text = b"%b %d\0" % (kind, len(content)) + content
    name = object_id or hashlib.sha1(text, usedforsecurity=False).hexdigest()
    own = repository / ".git"
    place = (own if own.is_dir() else repository) / "objects" / name[:2] / name[2:]
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    place.write_bytes(zlib.compress(text))
    return name


def tree_of(repository: Path, name: str) -> bytes:
    """Return a folder as git keeps it, to be put in the place of another one; ``name`` is such as ``COMMIT:sub``."""
    command = ["git", "cat-file", "tree", name]
    return subprocess.run(command, cwd=repository, check=True, capture_output=True).stdout


def without_objects(clone: Path) -> str:
    """Take all objects from a bare clone; return what git will name as the culprit, nothing."""
    for folder in (clone / "objects").iterdir():
        shutil.rmtree(folder)
    return ""


def without_alternates(clone: Path) -> str:
    """Take all objects from a bare clone, which were in a folder that is gone; return that."""
    without_objects(clone)
    (clone / "objects" / "info").mkdir()
    (clone / "objects" / "info" / "alternates").write_text("/nowhere/objects\n")
    return "/nowhere/objects"


def with_a_cut(suffix: str, clone: Path) -> str:
    """Cut the pack of a bare clone, or its index, short; return its name."""
    (file,) = (clone / "objects" / "pack").glob(f"*{suffix}")
    file.chmod(0o644)
    os.truncate(file, 50)
    return file.name


def lose(repository: Path, name: str) -> None:
    """Take an object, named as git names it, from a checkout."""
    lost = git(repository, "rev-parse", name)
    (repository / ".git" / "objects" / lost[:2] / lost[2:]).unlink()


def damaged_tags(repository: Path) -> None:
    """Tag commits beside the branch of a checkout, one with an object of its own, and lose what the tags lead to."""
    for tag, options in (("lost", ()), ("lost-object", ("-a", "-m", "lost")), ("lost-commit", ("-a", "-m", "lost"))):
        tree = git(repository, "rev-parse", "HEAD^{tree}")
        git(repository, "tag", *options, tag, git(repository, "commit-tree", "-m", tag, tree))
        lose(repository, tag if tag != "lost-commit" else f"{tag}^{{commit}}")
