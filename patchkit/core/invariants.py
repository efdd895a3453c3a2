"""Invariants of the patched text: ast-grep rules with expected counts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import msgspec

from patchkit.core.paths import is_glob, matches
from patchkit.core.scopes import LARGEST_SOURCE
from patchkit.core.series import CheckSpec

if TYPE_CHECKING:
    from ast_grep_py import Config, SgNode


class PythonText:
    """A Python source, parsed when a check first looks at it."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._root: SgNode | None = None
        self._mentions: dict[str, bool] = {}

    @property
    def content(self) -> bytes:
        """The bytes."""
        return self._content

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the bytes."""
        return hashlib.sha256(self._content).hexdigest()

    @property
    def root(self) -> SgNode:
        """The syntax tree."""
        if self._root is None:
            from ast_grep_py import SgRoot  # noqa: PLC0415 - 25 ms that a kept result does without

            self._root = SgRoot(self._content.decode("utf-8", "replace"), "python").root()
        return self._root

    def mentions(self, text: str) -> bool:
        """Tell whether the source contains ``text`` anywhere; an empty text is in every source."""
        if text not in self._mentions:
            self._mentions[text] = text.encode() in self._content
        return self._mentions[text]


class Match(msgspec.Struct, frozen=True):
    """Where a rule matched."""

    path: str
    line: int
    """1-based."""


class CheckResult(msgspec.Struct, frozen=True):
    """What a check found."""

    patch: str
    check: str
    expected: int
    found: tuple[Match, ...]
    intent: str
    missing: tuple[str, ...] = ()
    """Files that the check names and the tree does not have."""
    unread: tuple[str, ...] = ()
    """Files that are too large to be read as Python."""

    @property
    def ok(self) -> bool:
        """Whether the invariant holds."""
        return len(self.found) == self.expected and not self.missing and not self.unread


FindLines = Callable[[CheckSpec, PythonText], "list[int]"]
"""Returns the 1-based lines at which a check's rule matches."""


def run_check(
    patch: str, check: CheckSpec, files: Mapping[str, PythonText], find_lines: FindLines | None = None
) -> CheckResult:
    """Run one check over the files it names, out of ``files`` (by path).

    ``find_lines`` may answer from memory; by default the rule is run. Raises ValueError when ast-grep refuses the rule.
    """
    find = find_lines or matching_lines
    looked_at = [
        path
        for path in sorted(files)
        if any(matches(pattern, path) for pattern in check.files) and files[path].mentions(check.mentions)
    ]
    unread = tuple(path for path in looked_at if len(files[path].content) > LARGEST_SOURCE)
    found = [Match(path, line) for path in looked_at if path not in unread for line in find(check, files[path])]
    missing = tuple(pattern for pattern in check.files if not is_glob(pattern) and pattern not in files)
    return CheckResult(patch, check.id, check.count, tuple(found), check.intent, missing, unread)


def matching_lines(check: CheckSpec, text: PythonText) -> list[int]:
    """Run the rule of ``check`` on one source. Raises ValueError when ast-grep refuses the rule."""
    config: dict[str, Any] = {"rule": check.rule}
    if check.constraints:
        config["constraints"] = check.constraints
    try:
        nodes = text.root.find_all(cast("Config", config))
    except Exception as error:
        # What follows is a trace of native code, which helps nobody who writes rules.
        problem = "; ".join(line.strip() for line in str(error).partition("Stack backtrace")[0].splitlines() if line)
        raise ValueError(f"ast-grep refuses the rule of check {check.id}: {problem}") from error
    return [node.range().start.line + 1 for node in nodes]
