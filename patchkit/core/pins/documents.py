"""Files that list requirements to pins: requirements files, pyproject.toml, conda environments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from patchkit.core.pins.installs import conda_pin
from patchkit.core.pins.model import Pin, Word, literal
from patchkit.core.pins.requirement import canonical, requirement_pin, revision_pin, version_pin

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib  # type: ignore[import-not-found, no-redef, unused-ignore]

Scalar = tuple[tuple[str | int, ...], str, int, bool]
"""A text in a YAML document: its path, its value, its 0-based place, whether it stands there as it is."""

Read = tuple[list[Pin], list[tuple[int, str]]]
"""Pins, and places that could not be understood with the reason."""

_INCLUDE = re.compile(r"(?:-r|-c|--requirement|--constraint)[ =]?\s*(\S+)")
_POETRY = ("tool", "poetry", "dependencies")


def read_requirements(text: str) -> Read:
    """Read a requirements or constraints file as pip does: continuation lines, comments, options."""
    pins: list[Pin] = []
    problems: list[tuple[int, str]] = []
    for line, at in _logical_lines(text):
        shown = re.sub(r"(?:^|\s)#.*", "", line)
        start = len(shown) - len(shown.lstrip())
        bare = shown.strip()
        if include := _INCLUDE.match(bare):
            problems.append((at + start, f"it includes {include[1]}, which was not read: give it as well"))
            continue
        editable = re.match(r"(?:-e|--editable)[ =]\s*", bare)
        start += editable.end() if editable else 0
        bare = bare[editable.end() :] if editable else bare
        if bare and not bare.startswith("-"):
            bare = re.split(r"\s+--?\w", bare)[0]
            pin = requirement_pin(literal(bare, at + start))
            if pin:
                pins.append(pin)
    return pins, problems


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
    document = tomllib.loads(text)
    finder = _Finder(text)
    pins = [pin for value in _requirements(document) if (pin := requirement_pin(finder.word(value)))]
    for name, source in _sources(document):
        # An entry of another kind (a path, another index) leaves the version to the dependency.
        if sources := _source_pin(name, source, finder):
            pins = [pin for pin in pins if pin.package != _package(name)] + sources
    return pins, []


def _package(name: str) -> str | None:
    pin = requirement_pin(literal(name, 0))
    return pin.package if pin else None


def _requirements(document: Mapping[str, Any]) -> Iterator[str]:
    project = _table(document, "project")
    lists = [
        project.get("dependencies"),
        *_table(project, "optional-dependencies").values(),
        *_table(document, "dependency-groups").values(),
        _table(document, "tool", "uv").get("override-dependencies"),
        _table(document, "tool", "uv").get("constraint-dependencies"),
        _table(document, "build-system").get("requires"),
    ]
    for entries in lists:
        yield from (entry for entry in entries or () if isinstance(entry, str))


def _sources(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what stands by name: uv's sources, poetry's dependencies."""
    for name, value in (*_table(document, "tool", "uv", "sources").items(), *_table(document, *_POETRY).items()):
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
    if isinstance(source, str):
        word = finder.word(source)
        exact = re.fullmatch(r"\d[\w.]*", source)
        # A bare version is a caret range in poetry.
        text = Word(f"^{source}", (-1, *word.origins), source, word.at) if exact else word
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
    for path, value, at, exact in scalars:
        if not path or path[0] != "dependencies":
            continue
        word = literal(value, at) if exact else Word(value, (-1,) * len(value), value, at)
        pin = requirement_pin(word) if "pip" in path else conda_pin(word)
        if pin:
            pins.append(pin)
    return pins, []
