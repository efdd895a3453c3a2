from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from patchkit.core.report import Problem, Report
from patchkit.errors import TreeError
from patchkit.operations.apply import apply_in
from patchkit.operations.revert import revert_in
from patchkit.trees.memory import MemoryTree

from . import made_up
from .made_up import PATCHED, RELEASES, TOUCHED, UPSTREAM, path_of

MANIFEST = ".patchkit/manifest.json"


def applied(version: str, *patches: str) -> MemoryTree:
    """A tree that patchkit has patched."""
    tree = made_up.tree(version)
    assert apply_in(made_up.workspace(), tree, asked=version, patches=patches).ok
    return tree


def revert(tree: MemoryTree, *patches: str, asked: str | None = None, dry_run: bool = False) -> Report:
    return revert_in(made_up.workspace(), tree, asked=asked, patches=patches, dry_run=dry_run)


def actions(report: Report) -> dict[str, str]:
    return {patch.name: patch.action for patch in report.patches}


def recorded(tree: MemoryTree) -> list[str]:
    return [patch["name"] for patch in json.loads(tree.files[MANIFEST])["patches"]]


@pytest.mark.parametrize("version", [*RELEASES, "main"])
def test_every_byte_comes_back_and_the_record_goes(version: str) -> None:
    tree = applied(version)
    report = revert(tree)

    assert (report.ok, report.verdict, report.problems) == (True, "reverted", ())
    assert tree.files == UPSTREAM[version]
    assert report.written == tuple(
        sorted({MANIFEST, *(path for path in TOUCHED if version not in ("1.0", "1.1") or path != path_of("mode"))})
    )


def test_what_other_means_applied_can_be_taken_out_too() -> None:
    tree = made_up.patched_tree("2.0")

    assert revert(tree).verdict == "reverted"
    assert tree.files == UPSTREAM["2.0"]


def test_a_named_patch_takes_along_what_depends_on_it_and_the_record_keeps_the_rest() -> None:
    tree = applied("2.0", "params", "mode")
    report = revert(tree, "grads")

    assert actions(report) == {"grads": "revert", "params": "revert", "loose": "none", "mode": "none"}
    assert recorded(tree) == ["mode"]
    del tree.files[MANIFEST]
    assert tree.files == {**UPSTREAM["2.0"], path_of("mode"): PATCHED["2.0"][path_of("mode")]}


def test_the_topmost_patch_comes_out_alone() -> None:
    tree, others = applied("2.0"), applied("2.0", "params", "loose")
    report = revert(tree, "mode")

    assert actions(report) == {"grads": "none", "params": "none", "loose": "none", "mode": "revert"}
    assert tree.files == others.files


def test_a_patch_under_one_that_was_not_selected_stays_and_both_are_named() -> None:
    tree = applied("2.0")
    before = dict(tree.files)
    report = revert(tree, "grads")

    assert (report.ok, report.verdict, report.written) == (False, "refused", ())
    assert report.problems == (
        Problem(
            "loose is applied on top of grads in this file",
            path=path_of("config"),
            patch="grads",
            hint="revert loose as well",
        ),
    )
    assert tree.files == before
    assert revert(tree, "grads", "loose").ok


def test_reverting_twice_says_that_there_is_nothing_and_writes_nothing() -> None:
    tree = applied("2.0")
    revert(tree)
    report = revert(tree)

    assert (report.ok, report.verdict, report.written) == (True, "nothing-to-revert", ())
    assert tree.files == UPSTREAM["2.0"]


def test_reverting_a_patch_that_is_not_in_leaves_the_record_of_the_others() -> None:
    tree = applied("2.0", "grads")
    before = dict(tree.files)

    assert revert(tree, "mode").verdict == "nothing-to-revert"
    assert tree.files == before


def test_a_record_whose_patches_are_gone_goes_as_well() -> None:
    tree = made_up.tree("2.0")
    tree.files[MANIFEST] = applied("2.0").files[MANIFEST]

    assert revert(tree).written == (MANIFEST,)
    assert tree.files == UPSTREAM["2.0"]


def test_a_dry_run_reports_what_the_run_does_and_writes_nothing() -> None:
    tree = applied("2.0")
    before = dict(tree.files)
    planned = revert(tree, dry_run=True)

    assert (planned.ok, planned.verdict, tree.files) == (True, "would-revert", before)
    done = revert(tree)
    assert (planned.patches, planned.written) == (done.patches, done.written)


def test_hunks_are_told_where_they_stand_in_the_patched_file() -> None:
    tree = applied("2.0")
    report = revert(tree)

    assert {
        hunk.id: (hunk.state, hunk.line, hunk.offset)
        for patch in report.patches
        for file in patch.files
        for hunk in file.hunks
    } == {
        "grads-init": ("moved", 13, 4),
        "grads-reload": ("moved", 23, 4),
        "grads-config": ("exact", 6, 0),
        "params-init": ("moved", 17, 4),
        "region-names": ("exact", 1, 0),
        "loose-config": ("exact", 7, 0),
        "mode-guard": ("exact", 2, 0),
    }


@pytest.mark.parametrize("name", ["buffer", "config", "mode", "regions"])
def test_a_file_that_somebody_changed_stops_it_whichever_it_is(name: str) -> None:
    tree = applied("2.0")
    tree.files[path_of(name)] += b"# mine\n"
    before = dict(tree.files)
    report = revert(tree, asked="2.0")

    assert (report.ok, report.verdict) == (False, "refused")
    assert {problem.path for problem in report.problems} == {path_of(name)}
    assert tree.files == before


def test_another_release_than_the_one_asked_for_is_refused() -> None:
    report = revert(applied("2.0"), asked="1.0")

    assert (report.ok, report.problems[0].message) == (False, "the tree is 2.0, not 1.0")


@pytest.mark.parametrize("record", [b"{}", b"", b"mine"])
def test_what_is_no_record_stops_it_and_stays(record: bytes) -> None:
    for tree in (applied("2.0"), made_up.tree("2.0")):
        tree.files[MANIFEST] = record
        before = dict(tree.files)
        with pytest.raises(TreeError, match=r"not a patchkit record") as caught:
            revert(tree)

        assert caught.value.hint == "move it away and run this again: the files themselves tell what is applied"
        assert tree.files == before


def test_the_record_of_another_series_is_not_taken_away_while_its_patches_are_in() -> None:
    tree = made_up.patched_by_another("2.0")
    before = dict(tree.files)
    report = revert(tree)

    assert (report.ok, report.verdict, report.written) == (False, "refused", ())
    assert report.problems == (made_up.another_series("2.0"),)
    assert tree.files == before
    # One of its two files is enough.
    del tree.files[made_up.THEIRS[0]]
    assert revert(tree).problems == (replace(made_up.another_series("2.0"), path=made_up.THEIRS[1]),)
    del tree.files[made_up.THEIRS[1]]
    assert revert(tree).written == (MANIFEST,)
