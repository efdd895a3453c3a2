"""The wheels that one package index or place of links has, asked as the user's pip would ask.

With `index_client` the only module that uses unearth, which reads the pages of an index: HTML and JSON, from a server
or a folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from patchkit.reading import sha256_of
from patchkit.trees.index_client import Clients, failures, several_times
from patchkit.trees.index_pages import IndexFile, Keeping, Page, Pages

if TYPE_CHECKING:
    from unearth import Package
    from unearth.fetchers import Response
    from unearth.fetchers.sync import PyPIClient

_NO_REASON = "no reason given"


def place_of(place: str | None) -> str:
    """Return the URL of a place that pip is set up for; None is the index that the library knows."""
    from unearth import PackageFinder  # noqa: PLC0415 - takes 150 ms, and only this needs it

    if place is None:
        place = str(PackageFinder().sources[0]["url"])
    # pip takes a folder by its path, the home folder's short form included.
    return place if "://" in place else Path(place).expanduser().absolute().as_uri()


class Source:
    """An index (``kind`` ``index``) or a page or folder of links (``links``) at a URL.

    ``problem`` tells, after the question, why there was no answer.
    """

    def __init__(self, clients: Clients, kind: str, place: str, label: str, keeping: Keeping | None = None) -> None:
        self._clients = clients
        self._kind = kind
        self._place = place
        self._keeping = keeping
        self.label = redacted(label)
        """What to call it in messages: never with a password."""
        self.problem: str | None = None

    def files(self, distribution: str) -> list[IndexFile]:
        """Return the wheels of ``distribution`` there; none where it has none, and where there was no answer."""
        from unearth import PackageFinder  # noqa: PLC0415 - as above

        if self._place.startswith("file:") and not path_of(self._place).exists():
            self.problem = "there is no such file or folder"
            return []
        try:
            keeping = None if self._place.startswith("file:") else self._keeping
            pages = Pages(keeping, distribution, _reader() if keeping is not None else "")
            bare = bare_of(self._place)
            session = _Session(self._clients, self._place, kind=self._kind, known=pages.get(bare))
            finder = PackageFinder(
                session,
                index_urls=[self._place] if self._kind == "index" else [],
                find_links=[self._place] if self._kind == "links" else [],
                only_binary=[distribution],
                # Nothing is installed here: wheels for other machines are as much a part of a release.
                ignore_compatibility=True,
            )
            found = session.read(lambda: finder.find_all_packages(distribution, allow_yanked=True))
        except (ImportError, OSError) as error:
            self.problem = in_words(error)
            return []
        except failures() as error:
            self.problem = in_words(error)
            return []
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            self.problem = f"its answer cannot be read ({type(error).__name__}: {' '.join(str(error).split())})"
            return []
        self.problem = session.problem
        if session.problem is None and session.new is not None:
            pages.put(bare, replace(session.new, files=found))
        return [] if session.problem else found


def path_of(url: str) -> Path:
    """Return the file or folder that a ``file:`` URL names."""
    from unearth import Link  # noqa: PLC0415 - as above

    return Path(Link(url).file_path)


def redacted(place: str) -> str:
    """Return a URL or path without a password."""
    from unearth import Link  # noqa: PLC0415 - as above

    return Link(place).redacted if "://" in place else place


def in_words(error: Exception) -> str:
    """Return what an error says in one line, or else its kind."""
    return " ".join(str(error).split()) or type(error).__name__


def bare_of(url: str) -> str:
    """Return a URL without a password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _reader() -> str:
    """Return what tells the library that reads pages from another version of it, which it does not say itself."""
    import packaging  # noqa: PLC0415 - as above
    import unearth  # noqa: PLC0415 - as above

    files = sorted(Path(str(unearth.__file__)).parent.glob("*.py"))
    return repr([packaging.__version__, *((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files)])


class _Unchanged(Exception):  # noqa: N818 - the way out of a library, and no error
    """The page is the one that is known."""


class _Session:
    """What the library asks: notes what it would pass over in silence, and whether the page is ``known``."""

    def __init__(self, clients: Clients, place: str, *, kind: str, known: Page | None) -> None:
        self._client: PyPIClient = clients.of(place)
        self._place = urlsplit(place)
        self._trusted = clients.is_trusted(place)
        self._kind = kind
        self._known = known
        self.new: Page | None = None
        """The page that came, without its files, when it was not known."""
        self.problem: str | None = "pip does not trust it (trusted-host), for it is no https"
        if self._place.scheme == "file":
            self.problem = None

    def read(self, find: Callable[[], Iterable[Package]]) -> list[IndexFile]:
        """Return what ``find``, which asks this session, finds; what is known where the page is the same."""
        try:
            return [_file(package) for package in find()]
        except _Unchanged:
            return self._known.files if self._known is not None else []

    def get(self, url: str, *, headers: Mapping[str, str] | None = None) -> Response:
        """Ask, several times where that may help."""
        known = self._known
        asking = {**(headers or {}), "If-None-Match": known.etag} if known is not None and known.etag else headers
        response = self._asked(url, asking)
        if response.status_code == 304:
            if known is not None and bare_of(str(response.url)) == known.url:
                self.problem = None
                raise _Unchanged
            # The same name for the state of another page.
            response = self._asked(url, headers)
        self.problem = self._wrong_with(url, response)
        if self.problem is None and response.status_code == 200 and self._place.scheme != "file":
            self._note(response)
        return cast("Response", response)

    def _asked(self, url: str, headers: Mapping[str, str] | None) -> Any:
        return several_times(
            lambda: self._client.get(url, headers=headers), lambda response: response.status_code >= 500
        )

    def _note(self, response: Any) -> None:
        told = f"{response.headers.get('Content-Type')}\0{response.encoding}\0".encode() + response.content
        page = Page(
            bare_of(str(response.url)),
            response.headers.get("ETag", ""),
            hashlib.sha256(told).hexdigest(),
            [],
        )
        if self._known is not None and page == replace(self._known, files=[]):
            raise _Unchanged
        self.new = page

    def head(self, url: str, *, headers: Mapping[str, str] | None = None) -> Response:
        """Ask for the head of an answer."""
        # The library's own classes differ in what may be None.
        return cast("Response", self._client.head(url, headers=headers))

    def get_stream(self, url: str, *, headers: Mapping[str, str] | None = None) -> AbstractContextManager[Response]:
        """Ask for an answer in pieces."""
        return cast("AbstractContextManager[Response]", self._client.get_stream(url, headers=headers))

    def iter_secure_origins(self) -> Iterable[tuple[str, str, str]]:
        """Yield scheme, host and port of what may be asked, stars for any."""
        yield from self._client.iter_secure_origins()
        if self._trusted:
            yield "*", self._place.hostname or "", "*"

    def _wrong_with(self, url: str, response: Any) -> str | None:
        from unearth.collector import SUPPORTED_CONTENT_TYPES  # noqa: PLC0415 - as above

        if response.status_code == 404 and (self._kind == "index" or url.startswith("file:")):
            # An answer: one index of several need not have everything.
            return None
        if response.status_code >= 400:
            return f"HTTP {response.status_code} {response.reason_phrase}".strip()
        content_type = response.headers.get("Content-Type", "nothing")
        if not content_type.lower().startswith(SUPPORTED_CONTENT_TYPES):
            return f"it gives {content_type}, which is no page of an index"
        return None


def _file(package: Package) -> IndexFile:
    link = package.link
    digest = (link.hash_option or {}).get("sha256", [""])[0].lower()
    if not digest and link.is_file:
        digest = sha256_of(link.file_path)
    day = link.upload_time.astimezone(timezone.utc).date().isoformat() if link.upload_time else ""
    reason = None if link.yank_reason is None else _reason(link.yank_reason)
    return IndexFile(link.filename, package.version or "0", digest, day, link.requires_python or "", reason, link.url)


def _reason(told: object) -> str:
    # The JSON form says true where there is no reason, the HTML form has an empty text (PEP 592, PEP 691).
    return (" ".join(told.split()) if isinstance(told, str) else "") or _NO_REASON
