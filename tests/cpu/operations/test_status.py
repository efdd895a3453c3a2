from __future__ import annotations

import json
from pathlib import Path

import pytest
from trees.snapshots import lay

from patchkit.core.blobs import blob_id
from patchkit.core.report import Problem, Report
from patchkit.errors import TreeError
from patchkit.operations.apply import apply_in
from patchkit.operations.revert import revert_in
from patchkit.operations.status import status, verify
from patchkit.trees.archive import WheelTree
from patchkit.trees.directory import DirectoryTree
from patchkit.trees.memory import MemoryTree

from . import made_up
from .fixtures import ReleaseWheel, load_built_in
from .made_up import PATCHED, RELEASES, UPSTREAM, path_of

MANIFEST = ".patchkit/manifest.json"


def applied(version: str, *patches: str) -> MemoryTree:
    """A tree that patchkit has patched."""
    tree = made_up.tree(version)
    assert apply_in(made_up.workspace(), tree, asked=version, patches=patches).ok
    return tree


def status_of(tree: MemoryTree, asked: str | None = None) -> Report:
    before = dict(tree.files)
    report = status(made_up.workspace(), tree, asked=asked)
    assert tree.files == before
    return report


def verify_of(tree: MemoryTree, *patches: str, asked: str | None = None) -> Report:
    before = dict(tree.files)
    report = verify(made_up.workspace(), tree, asked=asked, patches=patches)
    assert tree.files == before
    return report


def states(report: Report) -> dict[str, str]:
    return {patch.name: patch.state for patch in report.patches}


# The words of status.


@pytest.mark.parametrize(
    ("tree", "verdict", "ok", "expected"),
    [
        (made_up.tree("2.0"), "clean", True, ("clean", "clean", "clean", "clean")),
        (made_up.tree("1.1"), "clean", True, ("clean", "clean", "clean", "not-needed")),
        (made_up.patched_tree("2.0"), "applied", True, ("applied", "applied", "applied", "applied")),
        (made_up.patched_tree("1.0"), "applied", True, ("applied", "applied", "applied", "not-needed")),
        # Every patch is wholly in or wholly out: no doubt, and no single word for it either.
        (made_up.tree("2.0", mode=made_up.PATCHED_MODE), "partly", True, ("clean", "clean", "clean", "applied")),
        (made_up.tree("2.0", config=made_up.PATCHED_CONFIG), "partly", False, ("partly", "clean", "applied", "clean")),
        (made_up.tree("2.0", config=b"mine\n"), "modified", False, ("modified", "clean", "modified", "clean")),
        (made_up.patched_tree("2.0", mode=None), "modified", False, ("applied", "applied", "applied", "modified")),
    ],
)
def test_one_word_says_what_is_in_a_tree(
    tree: MemoryTree, verdict: str, ok: bool, expected: tuple[str, str, str, str]
) -> None:
    report = status_of(tree, asked="2.0" if path_of("mode") in tree.files else None)

    assert (report.verdict, report.ok) == (verdict, ok)
    assert states(report) == dict(zip(("grads", "params", "loose", "mode"), expected, strict=True))
    assert bool(report.problems) is not ok


def test_a_tree_that_is_no_release_of_the_series_is_an_unknown_release() -> None:
    report = status_of(MemoryTree({"megatron/core/__init__.py": b"", path_of("buffer"): b"other\n"}))

    assert (report.verdict, report.ok, report.recognised) == ("unknown-release", False, False)
    assert report.problems[0].path == path_of("buffer")
    assert report.problems[0].hint == "supported: 1.0, 1.1, 2.0, main"


def test_of_a_modified_file_each_hunk_is_told() -> None:
    changed = PATCHED["2.0"][path_of("buffer")].replace(
        b"        with region():\n            self.grads = [0] * size\n\n        self.params",
        b"        self.grads = [0] * size\n\n        self.params",
    )
    report = status_of(made_up.patched_tree("2.0", buffer=changed), asked="2.0")
    hunks = {
        (patch.name, hunk.id): hunk.state for patch in report.patches for file in patch.files for hunk in file.hunks
    }

    assert hunks == {
        ("grads", "grads-init"): "applied",
        ("grads", "grads-reload"): "clean",
        ("params", "params-init"): "applied",
    }
    assert report.problems == (
        Problem(
            f"the file is neither 2.0's nor a patched one (blob {blob_id(changed)}): "
            "hunk grads-init applied, hunk grads-reload not",
            path=path_of("buffer"),
            hunk="grads-reload",
            patch="grads",
            hint="use a tree in which it has the release's text",
        ),
    )


def test_a_tree_of_another_release_than_asked_is_said_to_be_that_one() -> None:
    report = status_of(made_up.tree("2.0"), asked="1.0")

    assert (report.ok, report.problems[0].message) == (False, "the tree is 2.0, not 1.0")


# verify.


@pytest.mark.parametrize("version", [*RELEASES, "main"])
def test_verify_says_yes_when_every_patch_is_in_and_every_check_holds(version: str) -> None:
    report = verify_of(applied(version))

    assert (report.ok, report.verdict, report.problems, report.notes) == (True, "verified", (), ())
    assert [check.ok for check in report.checks] == [True] * len(report.checks)
    assert {check.id for check in report.checks} == {
        *({"grads-in-region"} if version != "main" else ()),
        "flag-is-off",
        "params-in-region",
        *({"no-other-mode"} if version in ("2.0", "main") else ()),
    }


@pytest.mark.parametrize("asked", [None, "1.0", "1.1"])
def test_verify_says_yes_of_each_release_with_the_same_files(asked: str | None) -> None:
    assert verify_of(applied("1.0"), asked=asked).problems == ()
    assert verify_of(applied("1.1"), asked=asked).problems == ()


@pytest.mark.parametrize("name", ["grads", "params", "loose", "mode"])
def test_verify_says_no_and_names_the_patch_that_is_not_in(name: str) -> None:
    without = {"grads": ("mode",), "params": ("grads", "loose", "mode"), "loose": ("params", "mode")}
    report = verify_of(applied("2.0", *without.get(name, ("params", "loose"))))
    first = {"grads": "buffer", "params": "buffer", "loose": "config", "mode": "mode"}[name]

    assert (report.ok, report.verdict) == (False, "not-verified")
    assert (
        Problem(
            f"{name} is not applied",
            path=path_of(first),
            patch=name,
            hint=f"run `patchkit apply --patches {made_up.workspace().sources.series.folder}`",
        )
        in report.problems
    )


def test_verify_of_a_named_patch_asks_for_what_it_depends_on_and_no_more() -> None:
    assert verify_of(applied("2.0", "params"), "params").verdict == "verified"
    assert verify_of(applied("2.0", "mode"), "mode").verdict == "verified"
    assert set(states(verify_of(applied("2.0", "params"), "params"))) == {"grads", "params"}
    assert [problem.message for problem in verify_of(applied("2.0", "mode"), "params").problems] == [
        "grads is not applied",
        "params is not applied",
    ]


def test_verify_finds_in_an_untouched_file_what_a_check_forbids_and_names_file_and_line() -> None:
    tree = applied("2.0")
    tree.files[path_of("other")] = b'import sys\n\nif sys:\n    MODE = "torch"\n'
    report = verify_of(tree)

    assert (report.ok, report.verdict) == (False, "not-verified")
    assert report.problems == (
        Problem(
            f"check no-other-mode expects 0 matches and finds 1 ({path_of('other')}:4)",
            patch="mode",
            hint="Something else sets the mode.",
        ),
    )


@pytest.mark.network
def test_verify_finds_a_hook_mode_forced_in_a_file_that_the_series_does_not_touch(release_wheel: ReleaseWheel) -> None:
    wheel = WheelTree(release_wheel("0.19.2"))
    files = {path: wheel.read(path) or b"" for path in wheel.paths("megatron") if path.endswith(".py")}
    tree = MemoryTree(files)
    assert apply_in(load_built_in(), tree).ok
    assert verify(load_built_in(), tree).problems == ()

    untouched = "megatron/core/utils.py"
    tree.files[untouched] += b'\nimport torch_memory_saver\n\ntorch_memory_saver.hook_mode = "torch"\n'
    line = tree.files[untouched].count(b"\n")
    report = verify(load_built_in(), tree)

    assert report.ok is False
    assert [problem.message for problem in report.problems] == [
        f"check no-unguarded-hook-mode expects 0 matches and finds 1 ({untouched}:{line})"
    ]


@pytest.mark.network
def test_the_hook_mode_patch_goes_in_comes_out_and_is_verified_alone(release_wheel: ReleaseWheel) -> None:
    wheel = WheelTree(release_wheel("0.19.2"))
    files = {path: wheel.read(path) or b"" for path in wheel.paths("megatron") if path.endswith(".py")}
    tree, name = MemoryTree(files), "tms-hook-mode"
    locked = load_built_in().sources.lock.targets["0.19.2"].patches[name].files

    assert apply_in(load_built_in(), tree, patches=(name,)).ok
    assert {path for path in files if tree.files[path] != files[path]} == set(locked)
    assert {path: blob_id(tree.files[path]) for path in locked} == {path: pair.after for path, pair in locked.items()}
    assert verify(load_built_in(), tree, patches=(name,)).problems == ()
    assert verify(load_built_in(), tree).ok is False
    assert revert_in(load_built_in(), tree, patches=(name,)).ok
    assert tree.files == files


# The record in the tree.


def test_patches_that_other_means_applied_are_noted() -> None:
    note = "there is no patchkit record: the patches were applied by other means"

    assert status_of(made_up.patched_tree("2.0")).notes == (note,)
    assert verify_of(made_up.patched_tree("2.0")).notes == (note,)
    assert status_of(made_up.tree("2.0")).notes == ()


def test_a_record_of_another_edition_with_the_same_files_is_noted() -> None:
    tree = applied("2.0")
    record = json.loads(tree.files[MANIFEST])
    tree.files[MANIFEST] = json.dumps({**record, "series": "sha256:" + "0" * 64, "tool": "0.0.1"}).encode()
    note = "applied by patchkit 0.0.1 from another edition of the series (00000000), with the same resulting files"

    assert status_of(tree).notes == (note,)
    assert (verify_of(tree).ok, verify_of(tree).notes) == (True, (note,))


def test_a_record_of_another_series_with_the_same_files_is_noted_as_that() -> None:
    tree = applied("2.0")
    record = json.loads(tree.files[MANIFEST])
    patches = [{**patch, "name": f"their-{patch['name']}"} for patch in record["patches"]]
    told = {**record, "series": "sha256:" + "4" * 64, "tool": "0.0.1", "patches": patches}
    tree.files[MANIFEST] = json.dumps(told).encode()

    assert status_of(tree).notes == (
        "applied by patchkit 0.0.1 from another series (44444444), with the same resulting files",
    )


def test_a_record_that_the_files_contradict_is_reported() -> None:
    tree = applied("2.0")
    tree.files[path_of("mode")] = UPSTREAM["2.0"][path_of("mode")]
    report = verify_of(tree)

    assert report.ok is False
    assert (
        Problem(
            "the record in the tree says that mode was applied (to 2.0), the files say it is not",
            patch="mode",
            hint="something restored the files after patchkit wrote them",
        )
        in report.problems
    )


@pytest.mark.parametrize("version", ["1.1", "2.0"])
def test_a_record_for_another_target_than_the_files_are_is_reported(version: str) -> None:
    tree = applied(version)
    other = "2.0" if version == "1.1" else "1.1"
    tree.files[MANIFEST] = applied(other).files[MANIFEST]

    assert [problem.message for problem in verify_of(tree).problems] == [
        f"the record in the tree is for {other}, the files are those of {version}"
    ]


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (b"", "Input data was truncated"),
        (b"{}", "Object missing required field `schema`"),
        (b'{"schema": 2}', "Expected `int` <= 1 - at `$.schema`"),
    ],
)
def test_a_record_that_cannot_be_read_is_an_error_that_names_it(record: bytes, problem: str) -> None:
    tree = applied("2.0")
    tree.files[MANIFEST] = record

    for ask in (status_of, verify_of):
        with pytest.raises(TreeError) as caught:
            ask(tree)
        assert caught.value.message == f"memory: {MANIFEST}: not a patchkit record: {problem}"


def test_a_folder_in_the_place_of_a_file_is_told_as_one(tmp_path: Path) -> None:
    lay(tmp_path, dict(made_up.patched_tree("2.0").files))
    (tmp_path / path_of("mode")).unlink()
    (tmp_path / path_of("mode")).mkdir()

    report = status(made_up.workspace(), DirectoryTree(tmp_path), asked="2.0")

    assert report.problems == (
        Problem(
            "there is a folder in the place of the file",
            path=path_of("mode"),
            patch="mode",
            hint="restore the file: take it from the release, or make the folder anew",
        ),
    )


def test_the_hunks_of_a_file_that_is_far_too_large_are_not_looked_for() -> None:
    content = b"a = 1\n" * (2 << 20)
    report = status_of(made_up.patched_tree("2.0", mode=content), asked="2.0")

    assert [hunk for file in report.patches[-1].files for hunk in file.hunks] == []
    told = "it is larger than 8 MiB, and its hunks are not looked for"
    assert [problem.message for problem in report.problems] == [
        f"the file is neither 2.0's nor a patched one (blob {blob_id(content)}): {told}"
    ]
