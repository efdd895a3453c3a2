"""Connections to package indexes, made as the user's pip would make them.

The only module that knows what unearth, which reads the pages of an index, reaches servers with (httpx2).
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from patchkit.trees.pip_settings import PipSettings

if TYPE_CHECKING:
    from httpx2 import Response
    from unearth.fetchers.sync import PyPIClient

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
        self._made: dict[bool, PyPIClient] = {}
        self._lock = threading.Lock()

    def of(self, url: str) -> PyPIClient:
        """Return the client for ``url``: whether a certificate is asked for depends on the host. Raises OSError."""
        trusted = self.is_trusted(url)
        with self._lock:
            if trusted not in self._made:
                self._made[trusted] = self._client(trusted=trusted)
            return self._made[trusted]

    def is_trusted(self, url: str) -> bool:
        """Tell whether pip trusts the host (trusted-host), whatever it can prove."""
        parts = urlsplit(url)
        return any(host in (parts.hostname, f"{parts.hostname}:{parts.port}") for host in self._settings.trusted_hosts)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for client in self._made.values():
                client.close()

    def _client(self, *, trusted: bool) -> PyPIClient:
        from unearth import auth  # noqa: PLC0415 - takes 150 ms, and only who asks an index needs it
        from unearth.fetchers.sync import PyPIClient  # noqa: PLC0415 - as above

        if not self._settings.keyring:
            auth.KEYRING_DISABLED = True
        proxy = self._settings.proxy
        client = PyPIClient(
            verify=_verification(self._settings, trusted=trusted),
            timeout=self._settings.timeout,
            follow_redirects=True,
            event_hooks={"response": [self._refuse_bare_redirect]},
            # As for pip, which takes a proxy without scheme for one of http.
            proxy=proxy if proxy is None or "://" in proxy else f"http://{proxy}",
        )
        client.auth = auth.MultiDomainBasicAuth(prompting=False, index_urls=self._places)
        return client

    def _refuse_bare_redirect(self, response: Response) -> None:
        """Raise httpx2.RequestError, before it is followed, for a way that leads out of https."""
        import httpx2  # noqa: PLC0415 - as above

        if not response.has_redirect_location or response.url.scheme != "https":
            return
        to = response.url.join(response.headers["Location"])
        if to.scheme == "http" and not self.is_trusted(str(to)):
            told = f"it leads from https to http://{to.host}, which pip does not trust (trusted-host)"
            raise httpx2.RequestError(told, request=response.request)


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

    return httpx2.HTTPError, httpx2.InvalidURL


def get_ready() -> None:
    """Import what asking takes, a third of a second, while there is something to wait for."""
    import httpcore2  # noqa: F401, PLC0415 - as above; httpx2 imports it with the first client
    import unearth  # noqa: F401, PLC0415 - as above


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
