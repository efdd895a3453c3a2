"""Files that list requirements to pins: requirements files, pyproject.toml, conda environments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from patchkit.core.pins.installs import conda_pin
from patchkit.core.pins.model import Include, Pin, Word, literal
from patchkit.core.pins.requirement import canonical, requirement_pin, revision_pin, version_pin
from patchkit.core.toml_text import parse_toml

Scalar = tuple[tuple[str | int, ...], str, int, bool]
"""A text in a YAML document: its path, its value, its 0-based place, whether it stands there as it is."""

Read = tuple[list[Pin], list[Include]]
"""Pins, and the files that are read as well."""

_INCLUDE = re.compile(r"(?:-r|(?P<constraint>-c|--constraint)|--requirement)[ =]?\s*(?P<name>\S+)")
_POETRY = ("tool", "poetry")


def read_requirements(text: str) -> Read:
    """Read a requirements or constraints file as pip does: continuation lines, comments, options."""
    pins: list[Pin] = []
    includes: list[Include] = []
    for line, at in _logical_lines(text):
        shown = re.sub(r"(?:^|\s)#.*", "", line)
        start = len(shown) - len(shown.lstrip())
        bare = shown.strip()
        if include := included(bare, at + start):
            includes.append(include)
            continue
        editable = re.match(r"(?:-e|--editable)[ =]\s*", bare)
        start += editable.end() if editable else 0
        bare = bare[editable.end() :] if editable else bare
        if bare and not bare.startswith("-"):
            bare = re.split(r"\s+--?\w", bare)[0]
            pin = requirement_pin(literal(bare, at + start))
            if pin:
                pins.append(pin)
    return pins, includes


def included(text: str, at: int) -> Include | None:
    """Return the file that a line of a requirements file has read; None for another line."""
    found = _INCLUDE.match(text)
    return Include(found["name"].strip("\"'"), at, constraint=bool(found["constraint"])) if found else None


def _logical_lines(text: str) -> Iterator[tuple[str, int]]:
    """Yield lines joined at a backslash, as long as in the file, with their place."""
    at = 0
    for match in re.finditer(r"(?:[^\n]*\\\r?\n)*[^\n]*(?:\n|$)", text):
        line = match[0]
        if line:
            joined = re.sub(r"\\(\r?)\n", lambda found: " " * len(found[0]), line).rstrip("\r\n")
            yield joined, at
        at += len(line)


def read_pyproject(text: str) -> Read:
    """Read pyproject.toml. Raises ValueError, with the place in its words, when it is no TOML."""
    document = parse_toml(text)
    finder = _Finder(text)
    pins = [
        replace(pin, stage=stage or 0, conditional=pin.conditional or stage is None)
        for value, stage in _requirements(document)
        if (pin := requirement_pin(finder.word(value)))
    ]
    found: dict[str | None, list[Pin]] = {}
    for name, source in _sources(document):
        # An entry of another kind (a path, another index) leaves the version to the dependency.
        if sources := _source_pin(name, source, finder):
            found.setdefault(_package(name), []).extend(sources)
    return [pin for pin in pins if pin.package not in found] + [pin for each in found.values() for pin in each], []


def _package(name: str) -> str | None:
    pin = requirement_pin(literal(name, 0))
    return pin.package if pin else None


def _requirements(document: Mapping[str, Any]) -> Iterator[tuple[str, int | None]]:
    """Yield requirements with a stage: 0 for those of every installation, another for each extra or group.

    None for what is asked for beside no other: overrides, constraints, what a build needs.
    """
    project, uv = _table(document, "project"), _table(document, "tool", "uv")
    lists = [
        project.get("dependencies"),
        *_table(project, "optional-dependencies").values(),
        *_table(document, "dependency-groups").values(),
        uv.get("dev-dependencies"),
        *_table(document, "tool", "pdm", "dev-dependencies").values(),
        *(_table(each).get("dependencies") for each in _table(document, "tool", "hatch", "envs").values()),
    ]
    aside = (
        uv.get("override-dependencies"),
        uv.get("constraint-dependencies"),
        _table(document, "build-system").get("requires"),
    )
    for stage, entries in (*enumerate(lists), *((None, each) for each in aside)):
        if isinstance(entries, list):
            yield from ((entry, stage) for entry in entries if isinstance(entry, str))


def _sources(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what stands by name: uv's sources, poetry's dependencies and those of its groups."""
    poetry = _table(document, *_POETRY)
    tables = [
        _table(document, "tool", "uv", "sources"),
        _table(poetry, "dependencies"),
        _table(poetry, "dev-dependencies"),
        *(_table(each, "dependencies") for each in _table(poetry, "group").values()),
    ]
    for table in tables:
        for name, value in table.items():
            if canonical(name) in ("torch-memory-saver", "megatron-core"):
                yield name, value


def _source_pin(name: str, source: Any, finder: _Finder) -> list[Pin]:
    if isinstance(source, list):
        # uv takes one of several by its marker.
        return [replace(pin, conditional=True) for each in source for pin in _source_pin(name, each, finder)]
    at = finder.word(name).at
    named = requirement_pin(literal(name, at))
    if named is None:
        return []
    if isinstance(source, Mapping) and isinstance(source.get("version"), str) and "git" not in source:
        return _source_pin(name, source["version"], finder)
    if isinstance(source, str):
        word = finder.word(source)
        # A bare version is that version in poetry, not a range from it on.
        bare = re.fullmatch(r"\d[\w.]*", source)
        text = Word(f"=={source}", (-1, -1, *word.origins), source, word.at) if bare else word
        return [version_pin(named.package, text, 0, len(text.text), word.at)]
    if not isinstance(source, Mapping) or "git" not in source:
        return []
    key = next((each for each in ("rev", "tag", "branch") if each in source), None)
    word = finder.word(str(source[key])) if key else Word("", (), "", at)
    span = word.span(0, len(word.text))
    url = str(source["git"])
    return [revision_pin(named.package, word.text, span, at, repository=url, written=word.text)]


def _table(document: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    found: Any = document
    for part in path:
        found = found.get(part, {}) if isinstance(found, Mapping) else {}
    return found if isinstance(found, Mapping) else {}


class _Finder:
    """Where values stand in TOML text, which its parser does not tell: each the next time that it is quoted."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._reached: dict[str, int] = {}

    def word(self, value: str) -> Word:
        """Return ``value`` with its place; of one that is written with escapes the place is not known."""
        pattern = re.compile(rf"(?<=[\"']){re.escape(value)}(?=[\"'])|(?m:^){re.escape(value)}(?=\s*[=.])")
        found = pattern.search(self._text, self._reached.get(value, 0))
        if found is None:
            return Word(value, (-1,) * len(value), value, 0)
        self._reached[value] = found.end()
        return literal(value, found.start())


def read_conda(scalars: Sequence[Scalar]) -> Read:
    """Read the texts of a conda environment: conda's own dependencies, and those of pip below them."""
    pins: list[Pin] = []
    includes: list[Include] = []
    for path, value, at, exact in scalars:
        if not path or path[0] != "dependencies":
            continue
        if "pip" in path and (include := included(value, at)):
            includes.append(include)
            continue
        word = literal(value, at) if exact else Word(value, (-1,) * len(value), value, at)
        pin = requirement_pin(word) if "pip" in path else conda_pin(word)
        if pin:
            pins.append(pin)
    return pins, includes
