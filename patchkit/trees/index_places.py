"""Places of an index as URLs and paths: what may be asked, what may be shown, and which folder one is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from patchkit.errors import UsageError

_LONGEST_HOST = 253
_LONGEST_LABEL = 63
"""Characters of the name of a host, and of one part of it (RFC 1035)."""
_HOST = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(:\d*)?")
_SOME = 3
CORRECT = "correct what `pip config list` says"
"""The hint for a setting that cannot be taken."""


def place_of(setting: str, place: str) -> str:
    """Return the URL of a place that pip's ``setting`` names. Raises UsageError for one that cannot be any."""
    if "://" not in place and not place.startswith("file:"):
        try:
            # pip takes a folder by its path, the home folder's short form included.
            place = Path(place).expanduser().absolute().as_uri()
        except (RuntimeError, ValueError) as error:
            raise UsageError(f"pip's {setting} {redacted(place)!r} is no folder: {error}", hint=CORRECT) from error
    wrong = wrong_with(place, local=True)
    if wrong is not None:
        raise UsageError(f"pip's {setting} {redacted(place)!r} cannot be asked: {wrong}", hint=CORRECT)
    return place


def wrong_with(url: str, *, local: bool = False, proxy: bool = False) -> str | None:
    """Return why no server, or ``proxy``, is asked for ``url``, which with ``local`` may be a file; None: it may be."""
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in url):
        return "it has control characters"
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return "it is no URL"
    if parts.scheme == "file" and local:
        if host not in ("", "localhost"):
            return f"it is a file of another machine, {host}"
        return "it has a NUL" if "\0" in unquote(parts.path) else None
    if parts.scheme not in ("http", "https", *(("socks5", "socks5h") if proxy else ())):
        return "it is neither http nor https"
    return _wrong_with_host(parts, host)


def _wrong_with_host(parts: SplitResult, host: str) -> str | None:
    try:
        parts.port  # noqa: B018 - looks at the port, and has no other way to say that it is none
    except ValueError:
        return "its port is none"
    if not host:
        return "it names no host"
    if len(host) > _LONGEST_HOST or any(len(label) > _LONGEST_LABEL for label in host.split(".")):
        return "its host has a longer name than there can be"
    return None


def path_of(url: str) -> Path:
    """Return the file or folder that a ``file:`` URL names, one that `wrong_with` finds nothing wrong with."""
    return Path(unquote(urlsplit(url).path))


def redacted(place: str) -> str:
    """Return a URL, or what was meant as one, or a path, without a password and what is behind the path."""
    scheme, mark, rest = place.partition("://")
    if not mark:
        return re.sub(r"[^/\s:]+:[^/\s]*@", "***@", place)
    end = re.search(r"[/?#]", rest)
    host, path = (rest[: end.start()], rest[end.start() :]) if end else (rest, "")
    if "@" not in host and "@" in path and not _HOST.fullmatch(host):
        # A password with a slash in it, which nobody can read as one.
        host, path = rest.rpartition("@")[0] + "@", rest.rpartition("@")[2]
    _, has_user, host = host.rpartition("@")
    return f"{scheme}://{'***@' if has_user else ''}{host}{re.split('[?#]', path)[0]}"


def bare_of(url: str) -> str:
    """Return a URL without a password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def came_from(place: str, asked: str) -> str:
    """Return the beginning of what is said of an answer, where it came from another place than was ``asked``."""
    shown = redacted(place)
    # A client writes some letters in another way.
    return "" if _plain(shown) == _plain(redacted(asked)) else f"{shown}, where it leads to: "


def _plain(shown: str) -> str:
    return unquote(shown.replace("***@", ""))


def in_words(error: Exception) -> str:
    """Return what an error says in one line, or else its kind."""
    return " ".join(str(error).split()) or type(error).__name__


def some_of(told: Sequence[str]) -> str:
    """Return the first few of what is told, and how many more there are."""
    more = f" and {len(told) - _SOME} more" if len(told) > _SOME else ""
    return ", ".join(told[:_SOME]) + more
