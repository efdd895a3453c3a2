"""The wheels that one package index or place of links has, asked as the user's pip would ask.

The only module that uses unearth, which reads the pages of an index: HTML and JSON, from a server (through httpx2) or a
folder.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from patchkit.reading import sha256_of
from patchkit.trees.pip_settings import PipSettings

if TYPE_CHECKING:
    from unearth import Package
    from unearth.fetchers import Response
    from unearth.fetchers.sync import PyPIClient

_TRIES = 3
"""How often a server is asked that breaks the connection or says that it is in trouble."""
_PAUSE = 0.25
"""Seconds between two tries."""
_NO_REASON = "no reason given"


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


class Source:
    """An index (``kind`` ``index``) or a page or folder of links (``links``).

    ``place`` is a URL or a path; None is the index that the library knows. ``problem`` tells, after the question, why
    there was no answer.
    """

    def __init__(self, settings: PipSettings, kind: str, place: str | None) -> None:
        from unearth import Link, PackageFinder  # noqa: PLC0415 - takes 150 ms, and only this needs it

        if place is None:
            place = PackageFinder().sources[0]["url"]
        self._settings = settings
        self._kind = kind
        # pip takes a folder by its path, the home folder's short form included.
        self._place = place if "://" in place else Path(place).expanduser().absolute().as_uri()
        self.label = Link(place).redacted if "://" in place else place
        """What to call it in messages: never with a password."""
        self.problem: str | None = None

    def files(self, distribution: str) -> list[IndexFile]:
        """Return the wheels of ``distribution`` there; none where it has none, and where there was no answer."""
        import httpx2  # noqa: PLC0415 - as above; unearth's own way to a server
        from unearth import Link, PackageFinder  # noqa: PLC0415 - as above

        if self._place.startswith("file:") and not Link(self._place).file_path.exists():
            self.problem = "there is no such file or folder"
            return []
        try:
            with _client(self._settings, self._place) as client:
                session = _Session(client, self._place, self._settings, kind=self._kind)
                finder = PackageFinder(
                    session,
                    index_urls=[self._place] if self._kind == "index" else [],
                    find_links=[self._place] if self._kind == "links" else [],
                    only_binary=[distribution],
                    # Nothing is installed here: wheels for other machines are as much a part of a release.
                    ignore_compatibility=True,
                )
                found = [_file(package) for package in finder.find_all_packages(distribution, allow_yanked=True)]
        except (httpx2.HTTPError, httpx2.InvalidURL, ImportError, OSError) as error:
            self.problem = " ".join(str(error).split()) or type(error).__name__
            return []
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            self.problem = f"its answer cannot be read ({type(error).__name__}: {' '.join(str(error).split())})"
            return []
        self.problem = session.problem
        return [] if session.problem else found


class _Session:
    """What the library asks: notes what it would pass over in silence."""

    def __init__(self, client: PyPIClient, place: str, settings: PipSettings, *, kind: str) -> None:
        self._client = client
        self._place = urlsplit(place)
        self._trusted = _is_trusted(place, settings)
        self._kind = kind
        self.problem: str | None = "pip does not trust it (trusted-host), for it is no https"
        if self._place.scheme == "file":
            self.problem = None

    def get(self, url: str, *, headers: Mapping[str, str] | None = None) -> Response:
        """Ask, several times where that may help."""
        response = self._asked(url, headers)
        self.problem = self._wrong_with(url, response)
        return cast("Response", response)

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

    def _asked(self, url: str, headers: Mapping[str, str] | None) -> Any:
        import httpx2  # noqa: PLC0415 - as above

        for left in reversed(range(_TRIES)):
            try:
                response = self._client.get(url, headers=headers)
            except (httpx2.NetworkError, httpx2.RemoteProtocolError):
                if not left:
                    raise
            else:
                if response.status_code < 500 or not left:
                    return response
            time.sleep(_PAUSE)
        raise AssertionError("the last try returns or raises")

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
    return IndexFile(link.filename, package.version or "0", digest, day, link.requires_python or "", reason)


def _reason(told: object) -> str:
    # The JSON form says true where there is no reason, the HTML form has an empty text (PEP 592, PEP 691).
    return (" ".join(told.split()) if isinstance(told, str) else "") or _NO_REASON


def _client(settings: PipSettings, place: str) -> PyPIClient:
    from unearth import auth  # noqa: PLC0415 - as above
    from unearth.fetchers.sync import PyPIClient  # noqa: PLC0415 - as above

    if not settings.keyring:
        auth.KEYRING_DISABLED = True
    proxy = settings.proxy
    client = PyPIClient(
        verify=_verification(settings, trusted=_is_trusted(place, settings)),
        timeout=settings.timeout,
        follow_redirects=True,
        # As for pip, which takes a proxy without scheme for one of http.
        proxy=proxy if proxy is None or "://" in proxy else f"http://{proxy}",
    )
    client.auth = auth.MultiDomainBasicAuth(prompting=False, index_urls=[place])
    return client


def _verification(settings: PipSettings, *, trusted: bool) -> ssl.SSLContext | bool:
    """Return what httpx2 takes as ``verify``."""
    if not trusted and not settings.cert and not settings.client_cert:
        return True
    if trusted or not settings.cert:
        context = ssl.create_default_context()
    elif Path(settings.cert).is_dir():
        context = ssl.create_default_context(capath=settings.cert)
    else:
        context = ssl.create_default_context(cafile=settings.cert)
    if trusted:
        # What pip's trusted-host means.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if settings.client_cert:
        context.load_cert_chain(settings.client_cert)
    return context


def _is_trusted(place: str, settings: PipSettings) -> bool:
    parts = urlsplit(place)
    return any(host in (parts.hostname, f"{parts.hostname}:{parts.port}") for host in settings.trusted_hosts)
