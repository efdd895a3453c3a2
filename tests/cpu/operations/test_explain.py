"""A file that somebody changed is explained by the right hunk."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from patchkit.core.model import FilePatch, LineKind
from patchkit.core.placement import FilePlaced, place_file
from patchkit.operations.apply import apply_in
from patchkit.operations.explain import variant_of
from patchkit.store.series import SeriesPatch
from patchkit.trees.archive import WheelTree
from patchkit.trees.memory import MemoryTree

from .fixtures import fetch, load_built_in

# The first and the last, and one with the most patches to a file in between.
RELEASES = ("0.12.0", "0.16.1", "0.19.2")

pytestmark = pytest.mark.network


@cache
def upstream(version: str) -> dict[str, bytes]:
    """The files of a release that checks of the series look at or that it touches."""
    wheel = WheelTree(fetch(version))
    return {path: wheel.read(path) or b"" for path in load_built_in().sources.lock.targets[version].paths}


@cache
def patched(version: str) -> dict[str, bytes]:
    tree = MemoryTree(upstream(version))
    assert apply_in(load_built_in(), tree, asked=version).ok
    return {path: tree.files[path] for path in upstream(version)}


def files_of(version: str) -> Iterator[tuple[SeriesPatch, FilePatch]]:
    workspace = load_built_in()
    for patch in workspace.sources.series.patches:
        variant = variant_of(patch, workspace.sources.lock.targets[version])
        for file in variant.files if variant else ():
            yield patch, file


def told(version: str, files: dict[str, bytes]) -> set[tuple[str | None, str | None, str | None]]:
    report = apply_in(load_built_in(), MemoryTree(files), asked=version)
    assert not report.ok
    return {(problem.patch, problem.path, problem.hunk) for problem in report.problems}


def with_comment(content: bytes, line: bytes) -> bytes:
    return content.replace(line, line.rstrip(b"\n") + b"  # mine\n")


@pytest.mark.parametrize("version", RELEASES)
def test_a_changed_line_of_a_patched_file_is_told_by_the_hunk_that_added_it(version: str) -> None:
    wrong = []
    for patch, file in files_of(version):
        content = patched(version)[file.path]
        for hunk in file.hunks:
            added = [line.text for line in hunk.lines if line.kind is LineKind.ADDED and content.count(line.text) == 1]
            for line in added[:1]:
                found = told(version, {**patched(version), file.path: with_comment(content, line)})
                if found != {(patch.name, file.path, hunk.id)}:
                    wrong.append((patch.name, hunk.id, line, found))

    assert wrong == []


@pytest.mark.parametrize("version", RELEASES)
def test_a_hunk_of_the_topmost_patch_that_was_taken_out_is_told(version: str) -> None:
    locked = load_built_in().sources.lock.targets[version]
    wrong = []
    for patch, file in files_of(version):
        topmost = [name for name, lock in locked.patches.items() if file.path in lock.files][-1]
        if topmost != patch.name or len(file.hunks) == 1:
            continue
        for hunk in file.hunks:
            only = FilePatch(file.old_path, file.new_path, (hunk,))
            without = place_file(only.reversed(), patched(version)[file.path], patch.scopes)
            assert isinstance(without, FilePlaced)
            found = told(version, {**patched(version), file.path: without.content or b""})
            if found != {(patch.name, file.path, hunk.id)}:
                wrong.append((patch.name, hunk.id, found))

    assert wrong == []


@pytest.mark.parametrize("version", RELEASES)
def test_a_changed_line_of_upstream_is_told_by_the_hunk_that_removes_it(version: str) -> None:
    wrong = []
    for patch, file in files_of(version):
        content = upstream(version)[file.path]
        for hunk in file.hunks:
            removed = [line.text for line in hunk.lines if line.kind is LineKind.REMOVED]
            # What a patch removes of an earlier patch's lines is not upstream's.
            for line in [text for text in removed[:1] if content.count(text) == 1]:
                found = told(version, {**upstream(version), file.path: with_comment(content, line)})
                if found != {(patch.name, file.path, hunk.id)}:
                    wrong.append((patch.name, hunk.id, line, found))

    assert wrong == []
