"""The package indexes and places of links that the user's pip is set up for, each page and connection had once."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from patchkit.errors import IndexUnavailableError
from patchkit.trees.pip_settings import PipSettings, pip_settings

if TYPE_CHECKING:
    from patchkit.trees.index_client import Clients
    from patchkit.trees.index_pages import IndexFile, Keeping
    from patchkit.trees.index_session import Source


class PackageIndexes:
    """For several threads at once; connections end with the context, or with the process.

    pip is asked, and a server, when there is the first question. ``keeping`` is where pages are kept that were read.
    """

    def __init__(self, keeping: Keeping | None = None) -> None:
        self._keeping = keeping
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._set_up: tuple[PipSettings, Clients, list[Source]] | None = None
        self._files: dict[tuple[int, str], list[IndexFile]] = {}
        self._received = 0
        self._is_given_up = False

    def __enter__(self) -> PackageIndexes:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all connections."""
        if self._set_up is not None:
            self._set_up[1].close()

    def give_up(self) -> None:
        """End the downloads of other threads, with an error there."""
        self._is_given_up = True

    @property
    def received(self) -> int:
        """How many bytes of files have come so far."""
        return self._received

    def has_index(self) -> bool:
        """Tell whether there is an index among them, not places of links alone. Raises IndexUnavailableError."""
        with self._lock:
            return not self._ready()[0].no_index

    def sources(self) -> Sequence[Source]:
        """Return all of them, in pip's order.

        Raises IndexUnavailableError when pip cannot say which, UsageError when it says what cannot be asked.
        """
        with self._lock:
            return self._ready()[2]

    def files(self, source: Source, distribution: str) -> list[IndexFile]:
        """Return the wheels that one of ``sources`` has; asked once. ``source.problem`` says why it gave no answer."""
        with self._lock:
            key = id(source), distribution
            if key not in self._files:
                self._files[key] = source.files(distribution)
            return self._files[key]

    def download(self, file: IndexFile, place: Path, sha256: str) -> None:
        """Write a file of an answer into the new file ``place``; raises what ``index_download.download`` does."""
        from patchkit.trees.index_download import download  # noqa: PLC0415 - as below

        with self._lock:
            clients = self._ready()[1]
        download(clients, file, place, sha256, counted=self._count)

    def _count(self, length: int) -> None:
        if self._is_given_up:
            raise IndexUnavailableError("it was given up")
        with self._lock:
            self._received += length

    def _ready(self) -> tuple[PipSettings, Clients, list[Source]]:
        if self._process != os.getpid():
            # A process that was forked off: what it read of the connections would be missing here.
            self._set_up, self._process = None, os.getpid()
            self._files.clear()
        if self._set_up is None:
            from patchkit.trees import index_client  # noqa: PLC0415 - only who asks an index
            from patchkit.trees.index_places import place_of  # noqa: PLC0415 - as above
            from patchkit.trees.index_session import Source  # noqa: PLC0415 - as above

            settings = pip_settings(meanwhile=index_client.get_ready)
            named = [
                (
                    "links" if setting == "find-links" else "index",
                    index_client.default_index() if place is None else place_of(setting, place),
                    place,
                )
                for setting, place in _places(settings)
            ]
            clients = index_client.Clients(settings, [url for _, url, _ in named])
            sources = [Source(clients, kind, url, place or url, self._keeping) for kind, url, place in named]
            self._set_up = settings, clients, sources
        return self._set_up


def _places(settings: PipSettings) -> Iterator[tuple[str, str | None]]:
    """Yield pip's setting and the place of every source, in pip's order; no place: the index that the library knows."""
    if not settings.no_index:
        yield "index-url", settings.index_url
        yield from (("extra-index-url", url) for url in settings.extra_index_urls)
    yield from (("find-links", place) for place in settings.find_links)
