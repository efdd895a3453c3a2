"""What people call a revision of a clone: as git knows it, or as the release of which it has the tag."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from patchkit.core.upstream import Upstream
from patchkit.errors import RevisionNotFoundError

T = TypeVar("T")


def revision_called(asked: str, upstream: Upstream, find: Callable[[str], T]) -> T:
    """Return what ``find`` gives for the revision ``asked``, else for the tag of the release that is called so.

    ``v0.16.0`` and ``0.16.0`` are the tag ``core_v0.16.0`` where nothing has the name itself: so people call a release,
    and no list needs to know it. ``find`` raises RevisionNotFoundError where there is none, and so does this.
    """
    try:
        return find(asked)
    except RevisionNotFoundError as unknown:
        version = upstream.version_asked(asked)
        tag = None if version is None else upstream.tag_of(version)
        if tag is None or tag == asked:
            raise
        try:
            return find(tag)
        except RevisionNotFoundError:
            raise RevisionNotFoundError(f"{unknown.message}, and no tag {tag!r}", hint=unknown.hint) from unknown
