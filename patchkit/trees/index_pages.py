"""Pages of an index that were read before, and how it is found out that one is still the same.

An index is asked each time. What is kept saves reading the page again, a quarter of a second for thousands of files,
and where the server names a page's state (ETag, RFC 9110) its way here.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Protocol, TypeVar

from patchkit.trees.index_places import wrong_with

T = TypeVar("T")

_KIND = "pages"
_FORM = "2"
"""Counted up when what is kept of a page, or what is read in one, becomes something else."""
_ETAG = re.compile(r"[!-~]{1,512}")
"""Names that can be sent back as they came: a header holds no control characters, and letters of ASCII alone."""
_NAME = re.compile(r"[A-Za-z0-9_.+!-]{1,255}\.whl")
_VERSION = re.compile(
    r"(\d{1,9}!)?\d{1,30}(\.\d{1,30})*((a|b|rc)\d{1,30})?(\.post\d{1,30})?(\.dev\d{1,30})?(\+[a-z0-9.]+)?", re.ASCII
)
_SHA256 = re.compile(r"([0-9a-f]{64})?")
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)?", re.ASCII)


LARGEST_WHEEL = 1 << 30
"""Bytes of the largest wheel that is taken; `wheel_members` refuses one that unpacks to more."""


@dataclass(frozen=True, slots=True)
class IndexFile:
    """One wheel, and what an index tells of it; empty what it does not tell."""

    name: str
    version: str
    """PEP 440, normalised."""
    sha256: str
    date: str
    """UTC day of the upload."""
    python: str
    """Requires-Python."""
    yanked: str | None
    """The reason, when it was withdrawn."""
    url: str
    """Where it is; never to be shown, it may have a password."""


@dataclass(frozen=True, slots=True)
class Page:
    """What was read of a page."""

    url: str
    """Where it was in the end, without a password."""
    etag: str
    """By which the server knows this state of it; empty where it names none."""
    sha256: str
    """Of the answer."""
    files: list[IndexFile]


def sendable(etag: str) -> str:
    """Return an ETag that can be sent back, or else none."""
    return etag if _ETAG.fullmatch(etag) else ""


def _is_sound(page: Page) -> bool:
    """Tell whether a page is one that could have been read."""
    return sendable(page.etag) == page.etag and all(
        _NAME.fullmatch(file.name)
        and _VERSION.fullmatch(file.version)
        and _SHA256.fullmatch(file.sha256)
        and _DATE.fullmatch(file.date)
        and wrong_with(file.url) is None
        for file in page.files
    )


class Keeping(Protocol):
    """Where values are kept by kind and key; what is lost there costs time only."""

    def get_as(self, kind: str, key: str, what: type[T]) -> T | None:
        """Return the value kept under ``key`` as a ``what``; None where there is none, or something else."""

    def put(self, kind: str, key: str, value: object) -> None:
        """Keep ``value``."""


class Pages:
    """The pages of one distribution, read by ``reader``; ``keeping`` None keeps nothing."""

    def __init__(self, keeping: Keeping | None, distribution: str, reader: str) -> None:
        self._keeping = keeping
        self._distribution = distribution
        self._reader = reader

    def get(self, place: str) -> Page | None:
        """Return what was read at ``place``, a URL without a password."""
        page = self._keeping.get_as(_KIND, self._key(place), Page) if self._keeping else None
        # Whoever can write to the cache, or damages it, is not to say what a server is asked and what is downloaded.
        return page if page is not None and _is_sound(page) else None

    def put(self, place: str, page: Page) -> None:
        """Keep what was read at ``place``."""
        # A password in a link is nothing to be kept.
        if self._keeping and not any("@" in file.url.partition("://")[2].partition("/")[0] for file in page.files):
            self._keeping.put(_KIND, self._key(place), page)

    def _key(self, place: str) -> str:
        # What is read in a page follows from its bytes and from who reads them.
        told = "\0".join((_FORM, self._reader, self._distribution, place))
        return hashlib.sha256(told.encode()).hexdigest()
