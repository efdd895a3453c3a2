"""The wheels that one package index or place of links has, asked as the user's pip would ask."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

from patchkit.trees.index_answers import ask
from patchkit.trees.index_client import Clients, failures, told_of
from patchkit.trees.index_folder import read_folder
from patchkit.trees.index_pages import IndexFile, Keeping, Pages
from patchkit.trees.index_places import bare_of, came_from, in_words, path_of, redacted
from patchkit.trees.index_reading import PageError, Reading, link_to, read_page


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
        self.left_out: tuple[str, ...] = ()
        """Links of its page that cannot be taken, and why."""

    def files(self, distribution: str) -> list[IndexFile]:
        """Return the wheels of ``distribution`` there; none where it has none, and where there was no answer."""
        try:
            found = self._read(distribution)
        except PageError as error:
            self.problem, self.left_out = in_words(error), ()
            return []
        self.problem, self.left_out = None, tuple(found.left_out)
        return found.files

    def _read(self, distribution: str) -> Reading:
        from packaging.utils import canonicalize_name  # noqa: PLC0415 - needed here alone

        place = self._place
        if place.startswith("file:"):
            return read_folder(path_of(place), self._kind, distribution)
        if not self._clients.is_secure(place):
            raise PageError("pip does not trust it (trusted-host), for it is no https")
        if self._kind == "index":
            place = urlsplit(place)._replace(fragment="").geturl().rstrip("/") + f"/{canonicalize_name(distribution)}/"
        elif urlsplit(place).path.endswith(".whl"):
            return link_to(place, distribution)
        return self._asked(place, distribution)

    def _asked(self, url: str, distribution: str) -> Reading:
        """Return what is read at ``url`` of a server, or was read of the same page before."""
        pages = Pages(self._keeping, distribution, _reader() if self._keeping is not None else "")
        known = pages.get(bare_of(self._place))
        try:
            client = self._clients.of(url)
        except OSError as error:
            # Certificates, or a proxy, that pip's settings name.
            raise PageError(in_words(error)) from error
        try:
            answer = ask(client, url, known)
        except failures() as error:
            raise PageError(told_of(error, url)) from error
        if answer is None:
            return Reading(list(known.files) if known is not None else [])
        if answer.status == 404 and self._kind == "index":
            # An answer: one index of several need not have everything.
            return Reading()
        if answer.status != 200:
            raise PageError(f"{came_from(answer.url, url)}HTTP {answer.status} {answer.words}".strip())
        new = answer.page()
        if known is not None and new == replace(known, files=[]):
            return Reading(list(known.files))
        found = read_page(answer.body, answer.url, distribution, is_json=answer.is_json)
        if not found.left_out:
            # What is left out is told each time.
            pages.put(bare_of(self._place), replace(new, files=found.files))
        return found


def _reader() -> str:
    """Return what tells who reads pages now from others: what is read of names and versions is not ours alone."""
    import packaging  # noqa: PLC0415 - as above

    return packaging.__version__
