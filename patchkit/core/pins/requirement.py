"""One requirement, as pip takes it, to a pin: PEP 508, git and archive URLs, wheel names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from patchkit.core.pins.model import UNKNOWN, Package, Pin, PinKind, Word

_DISTRIBUTIONS: Final[Mapping[str, Package]] = {"megatron-core": "megatron", "torch-memory-saver": "tms"}
_REPOSITORIES: Final[Mapping[str, Package]] = {
    "megatron-lm": "megatron",
    "megatron-core": "megatron",
    "torch-memory-saver": "tms",
}
_NAMED = re.compile(r"\s*(?P<name>[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*(?P<rest>[^;]*)")
_URL = re.compile(r"(?:[\w.-]+\s*(?:\[[^\]]*\])?\s*@\s*)?(?P<url>(?:\w+\+)?(?:https?|ssh|git|file)://\S+|git@\S+)")
_COMMIT = re.compile(r"[0-9a-f]{7,40}", re.IGNORECASE)
_TAG = re.compile(r"(?:core_)?v?\d+(?:\.\w+)+")
_ARCHIVE = re.compile(
    r"/(?:archive|tarball|zipball)/(?:refs/(?:tags|heads)/)?(?P<ref>[^#?]+?)(?:\.tar\.gz|\.zip)?(?:[#?]|$)"
)
_WHEEL = re.compile(r"(?:^|/)(?P<name>torch_memory_saver|megatron_core)-(?P<version>[^-/]+)-[^/]+\.whl$")


def requirement_pin(word: Word, *, at: int | None = None) -> Pin | None:
    """Return what a requirement pins; None when it is about something else."""
    text = word.text
    place = word.at if at is None else at
    if wheel := _WHEEL.search(text):
        package = _DISTRIBUTIONS[wheel["name"].replace("_", "-")]
        return Pin(package, PinKind.RELEASE, wheel["version"], word.span(*wheel.span("version")), place)
    if url := _URL.match(text):
        return _from_url(word, url.start("url"), url["url"], place)
    named = _NAMED.match(text)
    package_ = _DISTRIBUTIONS.get(canonical(named["name"])) if named else None
    if named is None or package_ is None:
        return None
    start, end = named.span("rest")
    rest = text[start:end].rstrip()
    # One of several requirements with markers is taken, not the last.
    return replace(version_pin(package_, word, start, start + len(rest), place), conditional=";" in text)


def version_pin(package: Package, word: Word, start: int, end: int, at: int) -> Pin:
    """Return the pin that characters ``start`` to ``end`` of a word, a version specifier, are."""
    specifier = word.text[start:end]
    if at_version := re.match(r"\s*@\s*(?=[\d^~=<>!])", specifier):
        # How poetry writes it on its command line; of a bare version the place is that behind the @.
        start += at_version.end()
        specifier = specifier[at_version.end() :]
        if re.fullmatch(r"\d[\w.]*", specifier):
            return Pin(package, PinKind.RELEASE, specifier, word.span(start, end), at)
    if not specifier.strip() or specifier.strip() == "*":
        return Pin(package, PinKind.NOTHING, "", None, at)
    if UNKNOWN in specifier:
        return Pin(package, PinKind.UNKNOWN, word.written, None, at)
    exact = re.fullmatch(r"\s*\(?\s*={2,3}\s*([^,*()\s]+)\s*\)?\s*", specifier)
    if exact:
        span = word.span(start + exact.start(1), start + exact.end(1))
        return Pin(package, PinKind.RELEASE, exact[1], span, at)
    return Pin(package, PinKind.RANGE, specifier.strip(), word.span(start, end), at)


def repository_package(url: str) -> Package | None:
    """Return what a repository's URL holds, forks included; None for another."""
    name = re.split(r"[/:]", url.rstrip("/"))[-1].removesuffix(".git")
    return _REPOSITORIES.get(canonical(name))


def revision_pin(
    package: Package, value: str, span: tuple[int, int] | None, at: int, *, repository: str, written: str = ""
) -> Pin:
    """Return the pin that the name of a revision is."""
    if UNKNOWN in value:
        return Pin(package, PinKind.UNKNOWN, written, None, at, repository=repository)
    if not value or value == "HEAD":
        return Pin(package, PinKind.NOTHING, "", None, at, repository=repository)
    kind = PinKind.COMMIT if _COMMIT.fullmatch(value) else PinKind.TAG if _TAG.fullmatch(value) else PinKind.BRANCH
    return Pin(package, kind, value, span, at, repository=repository)


def canonical(name: str) -> str:
    """Return a distribution's name as PEP 503 normalises it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _from_url(word: Word, offset: int, url: str, at: int) -> Pin | None:
    archive = _ARCHIVE.search(url)
    if archive:
        package = repository_package(url[: archive.start()])
        span = word.span(offset + archive.start("ref"), offset + archive.end("ref"))
        repository = url[: archive.start()]
        return (
            None
            if package is None
            else revision_pin(package, archive["ref"], span, at, repository=repository, written=word.written)
        )
    bare = re.split(r"[#\s;]", url, maxsplit=1)[0]
    # The last @ behind the host and the path's first part: a user name has one, too.
    cut = bare.rfind("@")
    if cut <= max(bare.find("://"), bare.find("git@")) + 2 or "/" not in bare[:cut].partition("://")[2]:
        cut = len(bare)
    package = repository_package(bare[:cut])
    if package is None:
        return None
    span = word.span(offset + cut + 1, offset + len(bare))
    repository = bare[:cut].removeprefix("git+")
    return revision_pin(package, bare[cut + 1 :], span, at, repository=repository, written=word.written)
