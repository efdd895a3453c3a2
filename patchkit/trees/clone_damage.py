"""Whether a revision that git does not find was never there, or a damaged clone lost it; and what mends one.

git says "missing" of both: of a branch that nobody fetched, and of one whose commit went with a pack or with the folder
of alternates. The first is mended by a fetch, the second is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from patchkit.core.printing import shell_word
from patchkit.errors import DamagedCloneError

Run = Callable[[Sequence[str]], tuple[int, bytes, str]]
"""Runs a git command: exit status, output, complaints."""

_STEPS = re.compile(r"[~^:]|@\{")
"""What begins a step from the name of a revision to another object (gitrevisions(7))."""

_OF_DAMAGE = re.compile(
    r"hash mismatch|malformed object|(?:bad|missing) object|corrupt|inflate|unable to (?:read|unpack)|could not read"
    r"|to a valid object|invalid object|broken ref",
    re.IGNORECASE,
)
"""What git says of an object or reference that it cannot read, and of nothing else that it is asked here."""


def damage(run: Run, revision: str) -> str | None:
    """Return what is wrong with the clone that hides ``revision``, in a few words; None when it just has no such one.

    To be asked about a revision that does not name a commit.
    """
    name = _STEPS.split(revision, maxsplit=1)[0] or "HEAD"
    status, out, complaints = run(["rev-parse", "--verify", "--quiet", "--end-of-options", name])
    named = out.decode("ascii", "replace").strip()
    if status == 0:
        gone, _out, said = run(["cat-file", "-e", named])
        if gone == 0:
            # What is there, and what it leads to, is held against its id.
            _status, _out, said = run(["rev-parse", "--verify", f"{named}^{{}}"])
        complaints = f"{complaints}\n{said}"
        # A whole id names itself, whether or not there is such an object.
        if gone != 0 and named != name.lower():
            return f"{name} is {named}, which is not there{_words(complaints)}"
    words = _words(complaints)
    return f"{name} cannot be read{words}" if words else None


def damaged(repository: Path, found: str) -> DamagedCloneError:
    """Return the error for a clone of which ``found``, a few words, is wrong."""
    return DamagedCloneError(f"{repository} is damaged: {found}", hint=where_to_ask(repository))


def how_to_fetch_the_rest(run: Run, repository: Path) -> str | None:
    """Return how a partial clone gets what it lacks; None when ``repository`` is no partial clone."""
    status, _out, _complaints = run(["config", "--get-regexp", r"^(remote\..*\.promisor|extensions\.partialclone)$"])
    if status != 0:
        return None
    return (
        f"{repository} is a partial clone, and lacks objects; fetch the rest with "
        f"git -C {shell_word(str(repository))} fetch --refetch --no-filter, or use a full clone"
    )


def how_to_mend(run: Run, repository: Path) -> str:
    """Return what to do about objects that git cannot read, and where to ask which they are."""
    return how_to_fetch_the_rest(run, repository) or where_to_ask(repository)


def where_to_ask(repository: Path) -> str:
    """Return where to ask what is damaged in a clone, which is no partial one, and what mends it."""
    return f"git -C {shell_word(str(repository))} fsck says what is damaged; a new clone mends it"


def hint_on(complaints: str, run: Run, repository: Path) -> str | None:
    """Return what to do about what git complains of, where that is an object or a reference; else None."""
    return how_to_mend(run, repository) if _OF_DAMAGE.search(complaints) else None


def _words(complaints: str) -> str:
    """Return the first complaint that is about the repository, not about the question."""
    for line in complaints.split("\n"):
        if line.startswith("error:") or "broken ref" in line:
            return f" (git: {line.strip()})"
    return ""
