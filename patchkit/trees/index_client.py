"""Connections to package indexes, made as the user's pip would make them.

The only module that knows what servers are reached with (httpx2), and who has the passwords for them (unearth).
"""

from __future__ import annotations

import ipaddress
import logging
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from patchkit.errors import UsageError
from patchkit.trees.index_places import CORRECT, came_from, in_words, redacted, wrong_with
from patchkit.trees.pip_settings import PipSettings

if TYPE_CHECKING:
    from httpx2 import Client, Response

T = TypeVar("T")

TRIES = 3
"""How often a server is asked that breaks the connection or says that it is in trouble."""
_PAUSE = 0.25
"""Seconds between two tries."""


class Clients:
    """Clients for whatever is named in the pages of ``places`` (URLs); threads share them, and so connections."""

    def __init__(self, settings: PipSettings, places: Sequence[str]) -> None:
        self._settings = settings
        self._places = list(places)
        self._made: dict[bool, Client] = {}
        self._lock = threading.Lock()

    def of(self, url: str) -> Client:
        """Return the client for ``url``: whether a certificate is asked for depends on the host.

        Raises OSError for certificates, and UsageError for a proxy, that pip's settings name and nobody can take.
        """
        trusted = self.is_trusted(url)
        with self._lock:
            if trusted not in self._made:
                self._made[trusted] = self._client(trusted=trusted)
            return self._made[trusted]

    def is_trusted(self, url: str) -> bool:
        """Tell whether pip trusts the host (trusted-host), whatever it can prove."""
        parts = urlsplit(url)
        return any(host in (parts.hostname, f"{parts.hostname}:{parts.port}") for host in self._settings.trusted_hosts)

    def is_secure(self, url: str) -> bool:
        """Tell whether pip asks there: the host proves itself, is this machine, or is trusted."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        try:
            is_here = ipaddress.ip_address(host).is_loopback
        except ValueError:
            is_here = host == "localhost"
        return parts.scheme == "https" or is_here or self.is_trusted(url)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for client in self._made.values():
                client.close()

    def _client(self, *, trusted: bool) -> Client:
        import httpx2  # noqa: PLC0415 - takes 150 ms, and only who asks an index needs it
        from unearth import auth  # noqa: PLC0415 - as above

        # What the library says of a server has the server's words in it, as they are; all of it is told in ours.
        logging.getLogger("unearth").addHandler(logging.NullHandler())
        if not self._settings.keyring:
            auth.KEYRING_DISABLED = True
        proxy = self._settings.proxy
        # As for pip, which takes a proxy without scheme for one of http.
        proxy = proxy if proxy is None or "://" in proxy else f"http://{proxy}"
        wrong = wrong_with(proxy, proxy=True) if proxy is not None else None
        if proxy is not None and wrong is not None:
            raise UsageError(f"pip's proxy {redacted(proxy)!r} cannot be asked: {wrong}", hint=CORRECT)
        verify = _verification(self._settings, trusted=trusted)
        try:
            # unearth's own client gets files of this machine too, wherever a server leads to one.
            client = httpx2.Client(
                verify=verify,
                timeout=self._settings.timeout,
                follow_redirects=True,
                event_hooks={"response": [self._hold]},
                proxy=proxy,
            )
        except (ValueError, httpx2.InvalidURL) as error:
            told = f"a proxy of the environment (http_proxy, https_proxy, all_proxy) cannot be asked: {in_words(error)}"
            raise UsageError(told, hint="name one as http://HOST:PORT, or none") from error
        client.auth = auth.MultiDomainBasicAuth(prompting=False, index_urls=self._places)
        return client

    def _hold(self, response: Response) -> None:
        """Hold one answer on the way to what is asked for; raise httpx2.RequestError for a way that is not gone."""
        import httpx2  # noqa: PLC0415 - as above

        if response.has_redirect_location:
            told = self._wrong_way(response)
            if told is not None:
                raise httpx2.RequestError(told, request=response.request)
        if response.status_code not in _WITH_USE:
            # The client reads what comes with a redirect, or with a question for a password, whole: it may have no end.
            response.stream.close()  # type: ignore[union-attr] # not of a client that waits, which has another one
            response.stream = httpx2.ByteStream(b"")
            response.headers.pop("Content-Encoding", None)

    def _wrong_way(self, response: Response) -> str | None:
        """Return why a redirect is not followed."""
        location = response.headers["Location"]
        try:
            to = str(response.url.join(location))
        except Exception as error:
            if not isinstance(error, failures()):
                raise
            to = location
        wrong = wrong_with(to)
        if wrong is not None:
            return f"it leads to {redacted(location)}, which is not followed: {wrong}"
        parts = urlsplit(to)
        if response.url.scheme == "https" and parts.scheme == "http" and not self.is_trusted(to):
            return f"it leads from https to http://{parts.hostname}, which pip does not trust (trusted-host)"
        return None


_WITH_USE = (200, 204, 304)
"""Statuses of answers that are read, or end with their head."""


def told_of(error: Exception, asked: str) -> str:
    """Return what an error of a client says, with the place where it was when another one was ``asked``."""
    try:
        place = str(error.request.url)  # type: ignore[attr-defined] # what has none is caught
    except (AttributeError, RuntimeError):
        return in_words(error)
    return came_from(place, asked) + in_words(error)


def several_times(ask: Callable[[], T], in_trouble: Callable[[T], bool]) -> T:
    """Return what ``ask`` does, asked again where that may help; the last answer, or error of httpx2, counts."""
    import httpx2  # noqa: PLC0415 - as above

    for left in reversed(range(TRIES)):
        try:
            answer = ask()
        except (httpx2.NetworkError, httpx2.RemoteProtocolError):
            if not left:
                raise
        else:
            if not left or not in_trouble(answer):
                return answer
        time.sleep(_PAUSE)
    raise AssertionError("the last try returns or raises")


def failures() -> tuple[type[Exception], ...]:
    """Return the errors of a client that has no answer."""
    import httpx2  # noqa: PLC0415 - as above

    # A host whose name cannot be one comes as an error of Python's codec.
    return httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, UnicodeError


def default_index() -> str:
    """Return the URL of the index that is asked where pip is set up for none."""
    from unearth import PackageFinder  # noqa: PLC0415 - as above

    return str(PackageFinder().sources[0]["url"])


def get_ready() -> None:
    """Import what asking takes, a third of a second, while there is something to wait for."""
    import httpcore2  # noqa: F401, PLC0415 - as above; httpx2 imports it with the first client
    import unearth.auth  # noqa: F401, PLC0415 - as above


def _verification(settings: PipSettings, *, trusted: bool) -> ssl.SSLContext:
    """Return what a client proves servers with, made once: reading all certificates takes 30 ms."""
    import httpx2  # noqa: PLC0415 - as above

    if trusted:
        # What pip's trusted-host means.
        context = httpx2.create_ssl_context(verify=False)
    elif not settings.cert:
        context = httpx2.create_ssl_context()
    elif Path(settings.cert).is_dir():
        context = ssl.create_default_context(capath=settings.cert)
    else:
        context = ssl.create_default_context(cafile=settings.cert)
    if settings.client_cert:
        context.load_cert_chain(settings.client_cert)
    return context
