"""The version that a file gives its package, and which one stays when both sides set it.

A version number names a state of the package, so two numbers are no two changes that go together: the higher one holds
(PEP 440), and as a whole, where it is written down in parts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple

from packaging.version import Version

_END: Final = rb"[ \t]*(?:#.*)?\r?$"
_STRING: Final = rb"""(["'])([^"'\r\n]*)\1"""
_DUNDER: Final = re.compile(rb"^__version__[ \t]*(?::[ \t]*[\w.]+[ \t]*)?=[ \t]*" + _STRING + _END, re.MULTILINE)
_SETUP: Final = re.compile(rb"^[ \t]+version[ \t]*=[ \t]*" + _STRING + rb"[ \t]*," + _END, re.MULTILINE)
_CONFIG: Final = re.compile(rb"^version[ \t]*[=:][ \t]*()([^\s#;]+)" + _END, re.MULTILINE)
_TOML: Final = re.compile(rb"^version[ \t]*=[ \t]*" + _STRING + _END, re.MULTILINE)
_PARTS: Final = tuple(
    re.compile(rb"^" + name + rb"[ \t]*=[ \t]*()(\d+)" + _END, re.MULTILINE) for name in (b"MAJOR", b"MINOR", b"PATCH")
)
"""Numbers in variables of their own, as in Megatron-LM's package_info.py."""
_PRE_RELEASE: Final = re.compile(rb"^PRE_RELEASE[ \t]*=[ \t]*" + _STRING + _END, re.MULTILINE)
"""What comes behind these numbers."""
_HEADING: Final = re.compile(rb"^\[[ \t]*([^\[\]\r\n]+?)[ \t]*\]" + _END, re.MULTILINE)
_SECTIONS: Final = {"setup.cfg": (_CONFIG, (b"metadata",)), "pyproject.toml": (_TOML, (b"project", b"tool.poetry"))}


class Value(NamedTuple):
    """A value in a text: bytes ``[first, end)``."""

    first: int
    end: int
    text: str


class PackageVersion(NamedTuple):
    """The version that a text sets."""

    values: tuple[Value, ...]
    """One, or several that make up the version together, in the order of their meaning."""

    @property
    def texts(self) -> list[str]:
        """The values as they are written."""
        return [value.text for value in self.values]

    @property
    def text(self) -> str:
        """The version; parts are joined as Megatron-LM joins them: three numbers, and what comes behind them."""
        return ".".join(self.texts[:3]) + "".join(self.texts[3:])


class Winner(Enum):
    """Whose version holds."""

    CHANGED = "changed"
    TARGET = "target"


def package_version(path: str, text: bytes) -> PackageVersion | None:
    """Return the version that a file sets at one place: None when it does not, or at more than one.

    Known are ``__version__ = "..."`` and ``MAJOR``, ``MINOR``, ``PATCH`` (and ``PRE_RELEASE``) at the margin of a
    Python file, ``version="..."`` in setup.py, ``version`` of ``[metadata]`` in setup.cfg, and of ``[project]`` or
    ``[tool.poetry]`` in pyproject.toml.
    """
    name = path.rpartition("/")[2]
    if name in _SECTIONS:
        return _in_section(text, *_SECTIONS[name])
    if not name.endswith((".py", ".pyi")):
        return None
    # A search for a word is much quicker than one at the beginning of every line.
    found = [_once(pattern, text) for pattern in _PARTS] if b"MAJOR" in text else []
    if found and all(found):
        behind = _values(_PRE_RELEASE, text)
        return PackageVersion((*(value for value in found if value), *behind)) if len(behind) < 2 else None
    pattern, word = (_SETUP, b"version") if name == "setup.py" else (_DUNDER, b"__version__")
    value = _once(pattern, text) if word in text else None
    return None if value is None else PackageVersion((value,))


def holds(old: str, changed: str, target: str) -> Winner | str:
    """Return which of two versions holds that both sides gave the package in the place of ``old``.

    That is the higher one; both have to be valid. Otherwise the reason why nobody can tell: they are equal, a side goes
    back to an earlier release, or they differ in a local label (``+label``), which says something besides. From 1.2 to
    1.2.dev is no way back: the release is the same.
    """
    try:
        was, ours, theirs = (Version(text) for text in (old, changed, target))
    except ValueError:
        # InvalidVersion is one; so is a number of too many digits.
        return "both sides set the version, and not all of what they say is a version (PEP 440)"
    if len({version.local for version in (was, ours, theirs)}) > 1:
        return "both sides set the version, and one of them labels it"
    if any(Version(version.base_version) < Version(was.base_version) for version in (ours, theirs)):
        return "both sides set the version, and one of them goes back to an earlier release"
    if ours == theirs:
        return "both sides set the version, to equal ones that are written differently"
    return Winner.CHANGED if ours > theirs else Winner.TARGET


def with_values(text: bytes, version: PackageVersion, texts: Sequence[str]) -> bytes:
    """Return a text that sets ``version`` with other values in its place, one for each that it has."""
    parts: list[bytes] = []
    at = 0
    for value, new in sorted(zip(version.values, texts, strict=True)):
        parts += [text[at : value.first], new.encode()]
        at = value.end
    return b"".join([*parts, text[at:]])


def _in_section(text: bytes, pattern: re.Pattern[bytes], sections: Sequence[bytes]) -> PackageVersion | None:
    headings = list(_HEADING.finditer(text))
    ends = [*(heading.start() for heading in headings), len(text)][1:]
    found = [
        value
        for heading, end in zip(headings, ends, strict=True)
        if heading[1] in sections
        for value in _values(pattern, text, heading.end(), end)
    ]
    return PackageVersion((found[0],)) if len(found) == 1 else None


def _once(pattern: re.Pattern[bytes], text: bytes) -> Value | None:
    found = _values(pattern, text)
    return found[0] if len(found) == 1 else None


def _values(pattern: re.Pattern[bytes], text: bytes, first: int = 0, end: int | None = None) -> list[Value]:
    found = pattern.finditer(text, first, len(text) if end is None else end)
    return [Value(*match.span(2), match[2].decode()) for match in found if match[2].isascii()]
