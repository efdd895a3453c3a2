"""What a page of an index says: its links in the HTML form (PEP 503) and the JSON form (PEP 691).

Whoever wrote the page is not trusted: a link that cannot be taken is left out by itself, and told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

from patchkit.trees.index_pages import IndexFile
from patchkit.trees.index_places import in_words, redacted, wrong_with

LARGEST_PAGE = 64 << 20
"""Bytes of the largest page that is read, counted unpacked."""
MOST_FILES = 20_000
"""How many wheels of one distribution a page may name."""
MOST_MARKS = 500_000
"""How many tags a page in HTML may begin, and lists and objects one in JSON: reading them takes seconds by then."""
_LONGEST_NAME = 255
_NAME = re.compile(r"[A-Za-z0-9_.+!-]+")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NO_REASON = "no reason given"


class PageError(ValueError):
    """A page that cannot be taken; says why, of the page as ``it``."""


@dataclass(slots=True)
class Reading:
    """What was read."""

    files: list[IndexFile] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """Links that may be of the distribution and cannot be taken, and why; without passwords."""


@dataclass(frozen=True, slots=True)
class _Link:
    """One link as it is written."""

    url: str
    python: object = None
    yanked: object = None
    hashes: object = None
    uploaded: object = None
    wrong: str | None = None
    """Why it cannot be taken; the URL is then the name alone."""


def read_page(content: bytes, url: str, distribution: str, *, is_json: bool, local: bool = False) -> Reading:
    """Return the wheels of ``distribution`` in the page that came from ``url``, in its order.

    Links of a ``local`` page, which is itself a file, may lead to files. Raises PageError.
    """
    # What else a server says of the letters is not followed: some codecs of Python are not linear.
    text = content.decode("utf-8-sig", errors="replace")
    if sum(map(text.count, "[{" if is_json else "<")) > MOST_MARKS:
        raise PageError(f"it has more than {MOST_MARKS} {'lists and objects' if is_json else 'tags'}")
    base, links = (url, _json_links(text)) if is_json else _html_links(text, url)
    return files_of(links, base, distribution, local=local)


def link_to(url: str, distribution: str) -> Reading:
    """Return what a link says that stands in no page."""
    return files_of([_Link(url)], url, distribution, local=True)


def files_of(links: Iterable[_Link], base: str, distribution: str, *, local: bool) -> Reading:
    """Return the wheels of ``distribution`` among ``links``."""
    from packaging.utils import canonicalize_name  # noqa: PLC0415 - needed here alone

    start = f"{canonicalize_name(distribution)}-"
    reading = Reading()
    for link in links:
        # Cheap, for the thousands of links of a page of everything.
        name = unquote(re.split("[?#]", link.url, maxsplit=1)[0]).rpartition("/")[2]
        if not name.endswith(".whl") or not canonicalize_name(name).startswith(start):
            continue
        if len(reading.files) + len(reading.left_out) >= MOST_FILES:
            raise PageError(f"it names more than {MOST_FILES} wheels of {distribution}")
        try:
            file = _file(link, base, name, start[:-1], local=local)
        except (ValueError, OverflowError) as error:
            shown = redacted(re.split("[?#]", link.url, maxsplit=1)[0])
            reading.left_out.append(f"{shown[:_LONGEST_NAME]} ({in_words(error)})")
            continue
        if file is not None:
            reading.files.append(file)
    return reading


def _file(link: _Link, base: str, name: str, distribution: str, *, local: bool) -> IndexFile | None:
    """Return a wheel of ``distribution``, None for one of another; ValueError says what is wrong with the link."""
    from packaging.utils import parse_wheel_filename  # noqa: PLC0415 - as above

    if link.wrong is not None:
        raise ValueError(link.wrong)
    odd = "it has a name that no wheel has"
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise ValueError(odd)
    try:
        of, version, _, _ = parse_wheel_filename(name)
    except ValueError as error:
        raise ValueError(odd) from error
    if of != distribution:
        return None
    try:
        url = urljoin(base, link.url)
    except ValueError as error:
        raise ValueError("it is no URL") from error
    wrong = wrong_with(url, local=local)
    if wrong is not None:
        raise ValueError(wrong)
    return IndexFile(name, str(version), _sha256(link, url), _day(link), _text(link.python), _yanked(link), url)


def _sha256(link: _Link, url: str) -> str:
    told = link.hashes.get("sha256", "") if isinstance(link.hashes, dict) else ""
    if not link.hashes:
        match = re.search(r"(?:^|&)sha256=([^&]*)", urlsplit(url).fragment)
        told = match[1] if match else ""
    if not told:
        return ""
    if not isinstance(told, str) or not _SHA256.fullmatch(told.lower()):
        raise ValueError("its SHA-256 is none")
    return told.lower()


def _day(link: _Link) -> str:
    if not link.uploaded:
        return ""
    if not isinstance(link.uploaded, str):
        raise ValueError("its upload-time is none")
    try:
        moment = datetime.fromisoformat(link.uploaded.replace("Z", "+00:00"))
    except ValueError as error:
        raise ValueError("its upload-time is none") from error
    return moment.astimezone(timezone.utc).date().isoformat()


def _text(told: object) -> str:
    return told if isinstance(told, str) else ""


def _yanked(link: _Link) -> str | None:
    # The JSON form says true where there is no reason, the HTML form has an empty text (PEP 592, PEP 691).
    if link.yanked is None or link.yanked is False:
        return None
    return " ".join(_text(link.yanked).split()) or _NO_REASON


def _json_links(text: str) -> Iterator[_Link]:
    try:
        page = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PageError(f"its answer cannot be read ({type(error).__name__}: {in_words(error)})") from error
    files = page.get("files", []) if isinstance(page, dict) else None
    if not isinstance(files, list):
        raise PageError("its answer cannot be read (it has no list of files)")
    for file in files:
        if not isinstance(file, dict):
            raise PageError("its answer cannot be read (its list of files has something else)")
        if not isinstance(file.get("url"), str):
            yield _Link(_text(file.get("filename")), wrong="it has no URL")
            continue
        yield _Link(
            file["url"],
            python=file.get("requires-python"),
            # An empty text is none either.
            yanked=file.get("yanked") or None,
            hashes=file.get("hashes"),
            uploaded=file.get("upload-time"),
        )


def _html_links(text: str, url: str) -> tuple[str, list[_Link]]:
    """Return the URL that links are relative to, and the links."""
    parser = _Anchors()
    try:
        parser.feed(text)
    except (AssertionError, ValueError, RecursionError) as error:
        # Python's parser asserts that it knows all sections of a document.
        raise PageError(f"its answer cannot be read ({type(error).__name__}: {in_words(error)})") from error
    return parser.base or url, parser.links


class _Anchors(HTMLParser):
    """Notes links to wheels."""

    def __init__(self) -> None:
        super().__init__()
        self.base: str | None = None
        self.links: list[_Link] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("a", "base"):
            return
        told = dict(attrs)
        href = (told.get("href") or "").strip()
        if tag == "base":
            self.base = self.base or href
        elif ".whl" in href or "%" in href:
            yanked = "" if "data-yanked" in told and told["data-yanked"] is None else told.get("data-yanked")
            self.links.append(_Link(href, python=told.get("data-requires-python"), yanked=yanked))
