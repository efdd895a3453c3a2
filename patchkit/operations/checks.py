"""Running the series' invariants over a tree, as it is or as it is planned to be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from patchkit.core.invariants import CheckResult, PythonText, matching_lines, run_check
from patchkit.core.paths import glob_root, is_glob, matches
from patchkit.core.report import CheckReport
from patchkit.core.scopes import LARGEST_SOURCE
from patchkit.core.series import CheckSpec
from patchkit.core.upstream import Target
from patchkit.errors import StoreError
from patchkit.operations.coverage import applies
from patchkit.operations.engine import library_digest
from patchkit.store.cache import ContentCache, default_cache
from patchkit.store.series import SeriesPatch
from patchkit.trees.interface import Edits, SourceTree


def run_checks(
    patches: Iterable[SeriesPatch], target: Target, tree: SourceTree, planned: Edits
) -> tuple[CheckReport, ...]:
    """Run the checks of ``patches`` (those that are, or will be, applied) on ``tree`` with ``planned`` over it."""
    patches = tuple(patches)
    applied = {patch.name for patch in patches}
    files = _Files(tree, planned)
    reports: list[CheckReport] = []
    for patch in patches:
        known = _KnownLines(patch)
        for position, check in enumerate(patch.document.checks):
            if not applied.issuperset(check.requires) or not applies(check, target):
                continue
            try:
                result = run_check(patch.name, check, files.of(check), known.find)
            except ValueError as error:
                raise StoreError(str(patch.folder / "patch.yaml"), f"checks[{position}].rule", str(error)) from error
            reports.append(_report(result))
        known.save()
    return tuple(reports)


class _Files:
    """File contents for checks, each read and parsed once."""

    def __init__(self, tree: SourceTree, planned: Edits) -> None:
        self._tree = tree
        self._planned = planned
        self._texts: dict[str, PythonText | None] = {}
        self._listed: dict[str, list[str]] = {}

    def of(self, check: CheckSpec) -> Mapping[str, PythonText]:
        paths: set[str] = set()
        for pattern in check.files:
            paths.update(self._matching(pattern) if is_glob(pattern) else (pattern,))
        return {path: text for path in paths if (text := self._text(path)) is not None}

    def _matching(self, pattern: str) -> list[str]:
        if pattern not in self._listed:
            listed = {*self._tree.paths(glob_root(pattern)), *self._planned}
            self._listed[pattern] = [path for path in listed if matches(pattern, path)]
        return self._listed[pattern]

    def _text(self, path: str) -> PythonText | None:
        if path not in self._texts:
            content = self._planned[path] if path in self._planned else self._tree.read(path)
            self._texts[path] = None if content is None else PythonText(content)
        return self._texts[path]


class _KnownLines:
    """Where a patch's rules match, remembered by rule and content.

    A key holds all that the answer depends on: a number for our own code, the rule, the text, and the ast-grep at hand
    (told by its files, since asking for its version takes as long as the checks).
    """

    def __init__(self, patch: SeriesPatch) -> None:
        self._cache = ContentCache(default_cache())
        self._key = f"1-{patch.digest.removeprefix('sha256:')}-{library_digest('ast_grep_py')}"
        self._lines = self._kept()
        self._changed = False

    def find(self, check: CheckSpec, text: PythonText) -> list[int]:
        key = f"{check.id} {text.digest}"
        if key not in self._lines:
            self._lines[key] = matching_lines(check, text)
            self._changed = True
        return self._lines[key]

    def _kept(self) -> dict[str, list[int]]:
        return self._cache.get_as("checks", self._key, dict[str, list[int]]) or {}

    def save(self) -> None:
        if self._changed:
            # Another process may have found other lines meanwhile.
            self._cache.put("checks", self._key, {**self._kept(), **self._lines})


def _report(result: CheckResult) -> CheckReport:
    return CheckReport(
        result.patch,
        result.check,
        result.ok,
        result.expected,
        len(result.found),
        tuple(f"{match.path}:{match.line}" for match in result.found)
        + tuple(f"{path}: missing" for path in result.missing)
        + tuple(f"{path}: larger than {LARGEST_SOURCE >> 20} MiB, and not read" for path in result.unread),
        result.intent,
    )
