from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest
from msgspec.structs import replace
from trees.repositories import git
from trees.snapshots import contents, lay

from patchkit import __version__
from patchkit.core.blobs import blob_id
from patchkit.core.report import FileReport, HunkReport, PatchReport, Problem, Report
from patchkit.core.series import BlobPair, PatchLock, TargetLock
from patchkit.errors import StoreError, TreeBusyError, TreeError, UsageError, WriteFailedError
from patchkit.operations.apply import Ready, apply_in, prepare
from patchkit.operations.locked import Sources
from patchkit.operations.make import apply_branch
from patchkit.operations.plan import plan_backward, plan_forward
from patchkit.operations.revert import revert_in
from patchkit.operations.sources import Workspace
from patchkit.operations.status import status, verify
from patchkit.operations.survey import survey
from patchkit.trees.directory import DirectoryTree
from patchkit.trees.memory import MemoryTree

from . import made_up
from .made_up import PATCHED, PATCHED_CONFIG, RELEASES, TOUCHED, UPSTREAM, path_of

MANIFEST = ".patchkit/manifest.json"
MAIN_STEPS = (
    # What a person would write by hand for the branch, whose reload is covered upstream.
    made_up.BUFFER_MAIN.replace(
        b"come first.\n        self.grads = [0] * size\n",
        b"come first.\n        with region():\n            self.grads = [0] * size\n",
    ).replace(
        b"after them.\n        self.params = [1] * size\n",
        b"after them.\n        with region():\n            self.params = [1] * size\n",
    )
)


def apply(tree: MemoryTree, *patches: str, asked: str | None = None, dry_run: bool = False) -> Report:
    return apply_in(made_up.workspace(), tree, asked=asked, patches=patches, dry_run=dry_run)


def actions(report: Report) -> dict[str, str]:
    return {patch.name: patch.action for patch in report.patches}


def without_record(tree: MemoryTree) -> dict[str, bytes]:
    return {path: content for path, content in tree.files.items() if path != MANIFEST}


@pytest.mark.parametrize("version", RELEASES)
def test_a_release_becomes_what_was_written_by_hand(version: str) -> None:
    tree = made_up.tree(version)
    report = apply(tree)

    assert (report.ok, report.verdict, report.problems) == (True, "applied", ())
    assert without_record(tree) == PATCHED[version]


def test_a_branch_keeps_what_upstream_has_and_the_report_says_what_that_is() -> None:
    tree = made_up.tree("main")
    report = apply(tree)

    assert (report.ok, report.target) == (True, "main")
    assert tree.files[path_of("buffer")] == MAIN_STEPS
    assert {patch.name: patch.upstream for patch in report.patches} == {
        "grads": {"regions": "its own region in reload"},
        "params": {},
        "loose": {},
        "mode": {},
    }


def test_the_report_says_of_each_patch_file_and_hunk_what_was_done() -> None:
    tree = made_up.tree("2.0")
    report = apply(tree)
    blobs = {path: blob_id(content) for path, content in {**UPSTREAM["2.0"], **PATCHED["2.0"]}.items()}
    buffer, config = path_of("buffer"), path_of("config")
    lock = made_up.workspace().sources.lock.targets["2.0"]
    between = {path: lock.patches["grads"].files[path].after for path in (buffer, config)}

    assert report.patches == (
        PatchReport(
            "grads",
            "clean",
            "apply",
            "v1.patch",
            files=(
                FileReport(
                    buffer,
                    "clean",
                    blob_id(UPSTREAM["2.0"][buffer]),
                    between[buffer],
                    blob_id(UPSTREAM["2.0"][buffer]),
                    (HunkReport("grads-init", "moved", 13, 4), HunkReport("grads-reload", "moved", 22, 4)),
                ),
                FileReport(
                    config,
                    "clean",
                    blob_id(UPSTREAM["2.0"][config]),
                    between[config],
                    blob_id(UPSTREAM["2.0"][config]),
                    (HunkReport("grads-config", "exact", 6, 0),),
                ),
            ),
        ),
        PatchReport(
            "params",
            "clean",
            "apply",
            "v1.patch",
            files=(
                FileReport(
                    buffer,
                    "clean",
                    between[buffer],
                    blobs[buffer],
                    blob_id(UPSTREAM["2.0"][buffer]),
                    (HunkReport("params-init", "moved", 17, 4),),
                ),
                FileReport(
                    path_of("regions"),
                    "clean",
                    None,
                    blobs[path_of("regions")],
                    None,
                    (HunkReport("region-names", "exact", 0, 0),),
                ),
            ),
        ),
        PatchReport(
            "loose",
            "clean",
            "apply",
            "v1.patch",
            files=(
                FileReport(
                    config,
                    "clean",
                    between[config],
                    blobs[config],
                    blob_id(UPSTREAM["2.0"][config]),
                    (HunkReport("loose-config", "exact", 7, 0),),
                ),
            ),
        ),
        PatchReport(
            "mode",
            "clean",
            "apply",
            "v2.patch",
            files=(
                FileReport(
                    path_of("mode"),
                    "clean",
                    blob_id(UPSTREAM["2.0"][path_of("mode")]),
                    blobs[path_of("mode")],
                    blob_id(UPSTREAM["2.0"][path_of("mode")]),
                    (HunkReport("mode-guard", "exact", 2, 0),),
                ),
            ),
        ),
    )
    assert report.written == (MANIFEST, *TOUCHED)
    assert [(check.id, check.ok, check.expected, check.found) for check in report.checks] == [
        ("grads-in-region", True, 2, 2),
        ("flag-is-off", True, 1, 1),
        ("params-in-region", True, 1, 1),
        ("no-other-mode", True, 0, 0),
    ]
    assert (report.tool, report.command, report.tree) == (__version__, "apply", "memory")
    assert (report.target, report.recognised, report.same_as) == ("2.0", True, ())


def test_the_record_names_target_editions_variants_and_the_blob_ids_of_each_file() -> None:
    tree = made_up.tree("1.1")
    apply(tree, "grads")
    series = made_up.workspace().sources.series
    upstream, between = UPSTREAM["1.1"], without_record(tree)

    assert json.loads(tree.files[MANIFEST]) == {
        "schema": 1,
        "tool": __version__,
        "target": "1.1",
        "commit": None,  # 1.0 has the same files: the tree could be either
        "series": series.digest,
        "patches": [
            {
                "name": "grads",
                "digest": series.patch("grads").digest,
                "variant": "v1.patch",
                "files": {
                    path: {"before": blob_id(upstream[path]), "after": blob_id(between[path])}
                    for path in (path_of("buffer"), path_of("config"))
                },
            }
        ],
    }


def test_the_record_is_that_of_all_patches_whether_they_come_at_once_or_one_by_one() -> None:
    at_once, one_by_one = made_up.tree("2.0"), made_up.tree("2.0")
    apply(at_once)
    for name in ("mode", "grads", "loose", "params"):
        apply(one_by_one, name)

    assert one_by_one.files == at_once.files


def test_applying_twice_says_so_and_writes_nothing() -> None:
    tree = made_up.tree("2.0")
    apply(tree)
    before = dict(tree.files)
    report = apply(tree)

    assert (report.ok, report.verdict, report.written) == (True, "already-applied", ())
    assert tree.files == before


def test_a_tree_patched_by_other_means_is_taken_as_it_is() -> None:
    tree = made_up.patched_tree("2.0")
    report = apply(tree)

    assert (report.ok, report.verdict) == (True, "already-applied")
    assert tree.files == PATCHED["2.0"]


def test_releases_with_the_same_files_are_named_together_and_the_one_asked_for_is_recorded() -> None:
    tree, asked = made_up.tree("1.0"), made_up.tree("1.0")

    assert (apply(tree).target, apply(tree).same_as) == ("1.1", ("1.0",))
    assert apply(asked, asked="1.0").target == "1.0"
    record = json.loads(asked.files[MANIFEST])
    assert (record["target"], record["commit"]) == ("1.0", made_up.workspace().named("1.0").commit)


@pytest.mark.parametrize(
    ("told", "target", "same"),
    [("1.0", "1.0", ("1.1",)), ("1.0+patchkit.ab", "1.0", ("1.1",)), ("3.0", "1.1", ("1.0",))],
)
def test_of_releases_with_the_same_files_the_metadata_beside_the_tree_decides(
    told: str, target: str, same: tuple[str, ...]
) -> None:
    tree = MemoryTree(UPSTREAM["1.0"], manifest_path=f"megatron_core-{told}.dist-info/patchkit.json")
    found = survey(made_up.workspace().sources, tree, None)

    assert (found.target, found.same, found.problems) == (target, same, ())


def test_a_tree_that_another_edition_patched_is_told_by_its_record() -> None:
    tree = made_up.tree("2.0", buffer=b"another edition\n")
    record = {
        "schema": 1,
        "tool": "0.0.9",
        "target": "2.0",
        "commit": None,
        "series": "sha256:" + "0" * 64,
        "patches": [
            {
                "name": "grads",
                "digest": "sha256:" + "0" * 64,
                "variant": "v2.patch",
                "files": {path_of("buffer"): {"before": "0" * 40, "after": blob_id(b"another edition\n")}},
            }
        ],
    }
    tree.write({MANIFEST: json.dumps(record).encode()}, operation="test")

    assert refusal(tree) == (
        Problem(
            "another edition of the series is applied (grads, for 2.0, by patchkit 0.0.9)",
            path=path_of("buffer"),
            hint="revert it with the patchkit that applied it, or begin with a tree of the release; then apply",
        ),
    )


def test_a_tree_that_another_series_patched_is_told_with_the_names_of_both() -> None:
    tree = made_up.tree("2.0", buffer=b"another series\n")
    pair = {"before": "0" * 40, "after": blob_id(b"another series\n")}
    patch = {"name": "theirs", "digest": "sha256:1", "variant": "v.patch", "files": {path_of("buffer"): pair}}
    record = {"schema": 1, "tool": "0.9", "target": "2.0", "commit": None, "series": "sha256:" + "4" * 64}
    tree.write({MANIFEST: json.dumps({**record, "patches": [patch]}).encode()}, operation="test")
    series = made_up.workspace().sources.series
    ours = f"{series.folder} ({series.digest.removeprefix('sha256:')[:8]})"

    assert refusal(tree) == (
        Problem(
            f"another series is applied (theirs, for 2.0, by patchkit 0.9): 44444444, not {ours}",
            path=path_of("buffer"),
            hint="one tree takes one series: take that one out first, `patchkit revert --patches` with its folder",
        ),
    )


def test_a_changed_file_beside_a_part_of_the_series_is_not_taken_for_another_edition() -> None:
    tree = made_up.tree("2.0")
    apply(tree, "mode")
    tree.files[path_of("buffer")] = UPSTREAM["2.0"][path_of("buffer")] + b"# mine\n"

    assert [(problem.path, problem.message.split(" (blob")[0]) for problem in refusal(tree)] == [
        (path_of("buffer"), "the file is neither 2.0's nor a patched one")
    ]


@pytest.mark.parametrize("version", [*RELEASES, "main"])
def test_a_dry_run_reports_what_the_run_does_and_writes_nothing(version: str) -> None:
    dry, wet = made_up.tree(version), made_up.tree(version)
    planned, done = apply(dry, dry_run=True), apply(wet)

    assert (planned.verdict, done.verdict) == ("would-apply", "applied")
    assert dry.files == UPSTREAM[version]
    assert (planned.patches, planned.checks, planned.written) == (done.patches, done.checks, done.written)


# Which patches.


def test_a_named_patch_takes_along_what_it_depends_on_and_nothing_else() -> None:
    tree = made_up.tree("2.0")
    report = apply(tree, "params")

    assert actions(report) == {"grads": "apply", "params": "apply", "loose": "none", "mode": "none"}
    assert without_record(tree) == {
        **PATCHED["2.0"],
        path_of("config"): PATCHED_CONFIG.replace(b"    loose = None\n", b""),
        path_of("mode"): UPSTREAM["2.0"][path_of("mode")],
    }


def test_a_patch_that_depends_on_nothing_goes_in_alone() -> None:
    tree = made_up.tree("2.0")
    report = apply(tree, "mode")

    assert actions(report) == {"grads": "none", "params": "none", "loose": "none", "mode": "apply"}
    assert without_record(tree) == {**UPSTREAM["2.0"], path_of("mode"): made_up.PATCHED_MODE}
    assert [check.id for check in report.checks] == ["no-other-mode"]


def test_a_patch_that_stands_on_one_that_was_not_selected_is_refused_and_both_are_named() -> None:
    tree = made_up.tree("2.0")
    report = apply(tree, "loose")

    assert (report.ok, report.verdict) == (False, "refused")
    assert report.problems == (
        Problem(
            "loose is locked on top of grads, which is not applied to this file",
            path=path_of("config"),
            patch="loose",
            hint="select grads as well",
        ),
    )
    assert tree.files == UPSTREAM["2.0"]


def test_a_release_that_needs_none_of_the_named_patches_is_no_failure_and_no_write() -> None:
    tree = made_up.tree("1.1")
    report = apply(tree, "mode")

    assert (report.ok, report.verdict, report.written) == (True, "not-needed", ())
    assert {patch.name: (patch.state, patch.reason) for patch in report.patches}["mode"] == (
        "not-needed",
        "No module sets a mode.",
    )
    assert tree.files == UPSTREAM["1.1"]


# Which trees. Every refusal leaves the tree as it was.


def refusal(tree: MemoryTree, *patches: str, asked: str | None = None) -> tuple[Problem, ...]:
    before = dict(tree.files)
    report = apply(tree, *patches, asked=asked)
    assert (report.ok, report.verdict, report.written) == (False, "refused", ())
    assert tree.files == before
    return report.problems


def test_another_release_than_the_one_asked_for_is_named() -> None:
    assert refusal(made_up.tree("2.0"), asked="1.0") == (
        Problem(
            "the tree is 2.0, not 1.0",
            path=path_of("buffer"),
            hint="use --megatron 2.0, or leave --megatron out",
        ),
    )


def test_a_release_that_the_series_does_not_know_is_refused_with_those_it_knows() -> None:
    tree = made_up.tree("1.0", buffer=b"", config=b"", regions=b"", version=b'VERSION = "0.9"\n')

    assert refusal(tree) == (
        Problem(
            "memory is no release that this series knows",
            path=path_of("buffer"),
            hint="supported: 1.0, 1.1, 2.0, main",
        ),
    )


def test_a_release_that_is_a_bit_like_a_known_one_is_refused_with_that_one() -> None:
    assert refusal(made_up.tree("1.0", buffer=b"", regions=b"")) == (
        Problem(
            "memory is no release that this series knows; it resembles 2.0 most",
            path=path_of("buffer"),
            hint="supported: 1.0, 1.1, 2.0, main",
        ),
    )


def twins() -> Workspace:
    """The series with a target more, which has the files of 1.1 and another variant of a patch."""
    workspace = made_up.workspace()
    lock = workspace.sources.lock
    one = lock.targets["1.1"]
    twin = replace(one, patches={**one.patches, "grads": replace(one.patches["grads"], variant="main.patch")})
    locked = replace(lock, targets={"1.1": one, "main": twin})
    return Workspace(Sources(workspace.sources.series, locked), workspace.versions, workspace.targets)


def test_a_tree_that_could_be_several_targets_has_to_be_named() -> None:
    tree = made_up.tree("1.1")
    report = apply_in(twins(), tree)

    assert (report.ok, report.target, report.recognised) == (False, None, False)
    assert report.problems == (Problem("the tree could be any of 1.1, main", hint="say which one with --megatron"),)
    assert tree.files == UPSTREAM["1.1"]
    assert apply_in(twins(), tree, asked="1.1").verdict == "applied"


@pytest.mark.parametrize("name", ["buffer", "config", "mode"])
def test_a_file_that_somebody_changed_is_named_whichever_it_is(name: str) -> None:
    tree = made_up.tree("2.0")
    tree.files[path_of(name)] += b"# mine\n"
    blob = blob_id(tree.files[path_of(name)])

    assert refusal(tree, asked="2.0") == (
        Problem(
            f"the file is neither 2.0's nor a patched one (blob {blob}): "
            "it was changed outside the hunks of the series",
            path=path_of(name),
            hint="use a tree in which it has the release's text",
        ),
    )


@pytest.mark.parametrize("name", ["buffer", "config", "mode"])
def test_a_file_that_is_missing_is_named_whichever_it_is(name: str) -> None:
    problems = refusal(made_up.tree("2.0", **{name: None}))
    patches = {"buffer": ("grads", "params"), "config": ("grads", "loose"), "mode": ("mode",)}[name]

    assert problems == tuple(
        Problem(
            "the file is missing",
            path=path_of(name),
            patch=patch,
            hint="use a tree in which it has the release's text",
        )
        for patch in patches
    )


def test_a_file_that_is_there_although_the_series_would_create_it_is_named() -> None:
    tree = made_up.tree("2.0", regions=b"mine = 1\n")

    assert [(problem.path, problem.patch, problem.hunk) for problem in refusal(tree)] == [
        (path_of("regions"), "params", "region-names")
    ]


@pytest.mark.parametrize(
    ("old", "new", "patch", "hunk", "detail"),
    [
        (
            b"        with region():\n            self.grads = [0] * size\n\n        # Parameters",
            b"        with other():\n            self.grads = [0] * size\n\n        # Parameters",
            "grads",
            "grads-init",
            "the text of hunk grads-init is neither the release's nor the patch's",
        ),
        (
            b"        with region():\n            self.grads = [0] * size\n\n        self.params",
            b"        self.grads = [0] * size\n\n        self.params",
            "grads",
            "grads-reload",
            "hunk grads-init applied, hunk grads-reload not",
        ),
        (
            b"        with region():\n            self.params",
            b"        with other():\n            self.params",
            "params",
            "params-init",
            "the text of hunk params-init is neither the release's nor the patch's",
        ),
    ],
)
def test_a_hunk_that_somebody_changed_in_a_patched_file_is_named(
    old: bytes, new: bytes, patch: str, hunk: str, detail: str
) -> None:
    tree = made_up.patched_tree("1.1")
    assert tree.files[path_of("buffer")].count(old) == 1
    tree.files[path_of("buffer")] = tree.files[path_of("buffer")].replace(old, new)
    blob = blob_id(tree.files[path_of("buffer")])

    assert refusal(tree, asked="1.1") == (
        Problem(
            f"the file is neither 1.1's nor a patched one (blob {blob}): {detail}",
            path=path_of("buffer"),
            hunk=hunk,
            patch=patch,
            hint="use a tree in which it has the release's text",
        ),
    )


FILES_OF = {
    "grads": (path_of("buffer"), path_of("config")),
    "params": (path_of("buffer"), path_of("regions")),
    "loose": (path_of("config"),),
    "mode": (path_of("mode"),),
}
SPLITS = [split for count in range(len(TOUCHED) + 1) for split in combinations(TOUCHED, count)]


@pytest.mark.parametrize("split", SPLITS, ids=lambda split: "+".join(path.split("/")[-1] for path in split) or "none")
def test_a_tree_in_which_some_files_are_patched_is_refused_unless_each_patch_is_whole(split: tuple[str, ...]) -> None:
    """Each of the ways in which the files of a release can be patched and not."""
    mixed = {**UPSTREAM["2.0"], **{path: PATCHED["2.0"][path] for path in split}}
    tree = MemoryTree(mixed)
    halves = {
        (name, path)
        for name, files in FILES_OF.items()
        for path in files
        if path not in split and set(files) & set(split)
    }
    if not halves:
        assert apply(tree).ok
        assert without_record(tree) == PATCHED["2.0"]
        return

    problems = refusal(tree)
    assert {(problem.patch, problem.path) for problem in problems} == halves
    assert all(problem.message.startswith("half patched: hunk") and problem.hunk for problem in problems)


def test_a_half_patched_tree_is_told_with_hunk_and_the_file_that_has_the_patch() -> None:
    tree = made_up.tree("2.0", config=PATCHED_CONFIG)

    assert refusal(tree, "grads") == (
        Problem(
            f"half patched: hunks grads-init, grads-reload not applied here, while {path_of('config')} has the patch",
            path=path_of("buffer"),
            hunk="grads-init",
            patch="grads",
            hint="restore the files of this patch, then apply",
        ),
    )


def test_of_patches_that_cannot_go_in_only_the_reason_is_told_and_not_what_follows_from_it() -> None:
    tree = made_up.tree("2.0", config=b"other = 1\n")
    report = apply(tree, asked="2.0")

    assert [problem.path for problem in report.problems] == [path_of("config")]
    assert {patch.name: (patch.state, patch.action) for patch in report.patches} == {
        "grads": ("modified", "none"),
        "params": ("clean", "none"),
        "loose": ("modified", "none"),
        "mode": ("clean", "none"),
    }


class Moving(MemoryTree):
    """A tree in which somebody else is at work: a file is another one when it is read again."""

    def read(self, path: str) -> bytes | None:
        content = super().read(path)
        if path == path_of("config"):
            self.files[path] = PATCHED["2.0"][path]
        return content


def test_what_looks_wrong_because_somebody_is_writing_is_busy_and_no_refusal() -> None:
    half = {**UPSTREAM["2.0"], path_of("buffer"): PATCHED["2.0"][path_of("buffer")]}

    for operation in (apply_in, revert_in, status, verify):
        with pytest.raises(TreeBusyError) as caught:
            operation(made_up.workspace(), Moving(half))
        assert caught.value.message == f"memory: {path_of('config')} changed while it was read"


# What is planned has to be right before it is written.


def test_a_plan_that_breaks_an_invariant_is_not_written_and_the_place_is_named() -> None:
    tree = made_up.tree("2.0", other=b'import sys\n\nMODE = "torch"\n')

    assert refusal(tree) == (
        Problem(
            f"check no-other-mode expects 0 matches and finds 1 ({path_of('other')}:3)",
            patch="mode",
            hint="Something else sets the mode.",
        ),
    )
    # The check belongs to a patch that the others do without.
    assert apply(tree, "grads").verdict == "applied"


def test_a_result_that_is_not_the_locked_one_is_not_written() -> None:
    workspace = made_up.workspace()
    lock = workspace.sources.lock
    one = lock.targets["2.0"]
    pair = one.patches["mode"].files[path_of("mode")]
    wrong = replace(one.patches["mode"], files={path_of("mode"): replace(pair, after="0" * 40)})
    locked = replace(lock, targets={"2.0": replace(one, patches={**one.patches, "mode": wrong})})
    tree = made_up.tree("2.0")
    report = apply_in(Workspace(Sources(workspace.sources.series, locked), workspace.versions, workspace.targets), tree)

    assert report.problems == (
        Problem(
            f"the result would be blob {blob_id(made_up.PATCHED_MODE)}, the lock says {'0' * 40}",
            path=path_of("mode"),
            patch="mode",
            hint="the installed patchkit is damaged, or its series was edited: run `patchkit regenerate --patches "
            f"{workspace.sources.series.folder}`",
        ),
    )
    assert (report.verdict, tree.files) == ("refused", UPSTREAM["2.0"])


def test_a_hunk_whose_lines_stand_at_its_line_in_another_scope_goes_into_its_own() -> None:
    """As when upstream put another function with the same lines before the one that is meant."""
    path = path_of("mode")
    upstream = b"def first():\n    x = 1\n    y = 2\n\n\ndef second():\n    x = 1\n    y = 2\n"
    wanted = b"def first():\n    x = 1\n    y = 2\n\n\ndef second():\n    x = 3\n    y = 2\n"
    text = f"--- a/{path}\n+++ b/{path}\n@@ -2,2 +2,2 @@ mode-guard\n-    x = 1\n+    x = 3\n     y = 2\n".encode()
    series = made_up.workspace().sources.series
    mode = series.patch("mode")
    document = replace(mode.document, hunks=(replace(mode.document.hunks[0], scope="second"),))
    patch = replace(mode, document=document, texts={"v2.patch": text})
    lock = made_up.workspace().sources.lock
    files = {path: BlobPair(blob_id(upstream), blob_id(wanted))}
    target = TargetLock(generated=lock.series, patches={"mode": PatchLock("v2.patch", None, files)})
    sources = Sources(replace(series, patches=(patch,)), replace(lock, targets={"2.0": target}))
    tree = MemoryTree({path: upstream})

    forward = plan_forward(sources, survey(sources, tree, None), "2.0", (patch,))
    assert (forward.problems, forward.edits) == ([], {path: wanted})
    assert [hunk for file in forward.patches[0].files for hunk in file.hunks] == [
        HunkReport("mode-guard", "moved", 7, 5)
    ]
    tree = MemoryTree({path: wanted})
    assert plan_backward(sources, survey(sources, tree, None), "2.0", (patch,)).edits == {path: upstream}


def test_an_unknown_patch_is_a_usage_error_with_those_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        apply(made_up.tree("2.0"), "nothing")

    assert (caught.value.message, caught.value.hint) == (
        "the series has no patch 'nothing'",
        "patches: grads, params, loose, mode",
    )


def test_a_lock_that_leaves_out_the_files_of_a_variant_is_refused_whatever_is_asked() -> None:
    workspace = made_up.workspace()
    sources = workspace.sources
    entry = sources.lock.targets["2.0"]
    cut = replace(entry, patches={**entry.patches, "mode": replace(entry.patches["mode"], files={})})
    lock = replace(sources.lock, targets={**sources.lock.targets, "2.0": cut})
    short = Workspace(Sources(sources.series, lock), workspace.versions, workspace.targets)
    tree = made_up.tree("2.0")

    for command in (apply_in, revert_in, status, verify):
        with pytest.raises(StoreError) as caught:
            command(short, tree, asked="2.0")
        assert caught.value.key == "targets.2.0.patches.mode.files"


def test_a_record_that_another_apply_wrote_meanwhile_is_not_lost(tmp_path: Path) -> None:
    lay(tmp_path, UPSTREAM["2.0"])
    tree = DirectoryTree(tmp_path)
    ready = prepare(made_up.workspace(), tree, asked=None, patches=("mode",))
    assert isinstance(ready, Ready)
    apply_in(made_up.workspace(), DirectoryTree(tmp_path), patches=("grads",))
    before = contents(tmp_path)

    with pytest.raises(WriteFailedError):
        tree.write(ready.edits, operation="apply")
    assert contents(tmp_path) == before


@pytest.mark.parametrize("dry_run", [False, True])
def test_the_record_of_another_series_is_not_written_over_while_its_patches_are_in(*, dry_run: bool) -> None:
    tree = made_up.patched_by_another("2.0")
    before = dict(tree.files)
    report = apply_in(made_up.workspace(), tree, dry_run=dry_run)

    assert (report.ok, report.verdict, report.written) == (False, "refused", ())
    assert report.problems == (made_up.another_series("2.0"),)
    assert tree.files == before


def test_what_is_patched_without_a_record_takes_none_away() -> None:
    ready = prepare(made_up.workspace(), made_up.patched_by_another("2.0"), asked=None, recorded=False)
    assert isinstance(ready, Ready)
    changed = {path: text for path, text in PATCHED["2.0"].items() if UPSTREAM["2.0"].get(path) != text}
    assert ready.edits == changed


def test_a_record_of_another_series_of_which_nothing_is_in_the_tree_is_written_over() -> None:
    tree = made_up.patched_by_another("2.0")
    for path in made_up.THEIRS:
        del tree.files[path]
    assert apply_in(made_up.workspace(), tree).ok
    clean = made_up.tree("2.0")
    apply_in(made_up.workspace(), clean)
    assert tree.files == clean.files


def test_a_series_that_is_in_already_leaves_the_record_of_another_as_it_is() -> None:
    tree = made_up.patched_by_another("2.0")
    clean = made_up.tree("2.0")
    apply_in(made_up.workspace(), clean)
    tree.files = {**clean.files, **{path: tree.files[path] for path in (tree.manifest_path, *made_up.THEIRS)}}
    before = dict(tree.files)
    report = apply_in(made_up.workspace(), tree)
    assert (report.ok, report.verdict) == (True, "already-applied")
    assert tree.files == before


def test_what_is_no_record_is_not_written_over() -> None:
    tree = made_up.tree("2.0")
    tree.files[MANIFEST] = b"{}"
    with pytest.raises(TreeError, match=r"not a patchkit record: Object missing required field `schema`$"):
        apply_in(made_up.workspace(), tree, asked="2.0")

    assert tree.files == {**UPSTREAM["2.0"], MANIFEST: b"{}"}


def test_a_nul_in_a_header_of_a_patch_is_a_blank_in_its_commit(tmp_path: Path) -> None:
    workspace = made_up.workspace()
    series = workspace.sources.series
    patches = tuple(
        replace(patch, document=replace(patch.document, author="A\0B", why="a\0b")) for patch in series.patches
    )
    odd = replace(workspace, sources=replace(workspace.sources, series=replace(series, patches=patches)))
    commit = made_up.repository(tmp_path / "repository")

    assert apply_branch(odd, tmp_path / "repository", commit, "patched", asked="main", patches=["mode"]).ok
    assert git(tmp_path / "repository", "log", "-1", "--format=%an|%b", "patched").split("\n")[0] == "A B|a b"


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        (
            {"author": ".,;:<>"},
            "author: no author of a commit: '.,;:<>'",
            "git takes signs from both ends of a name, and nothing is left; say who wrote the patch",
        ),
        (
            {"last_update": "9999-12-01"},
            "last-update: no date of a commit: 9999-12-01",
            "git reads days of the years 1970 to 2099",
        ),
    ],
)
@pytest.mark.parametrize("dry_run", [True, False])
def test_what_no_commit_can_say_is_named_with_patch_and_key(
    tmp_path: Path, words: dict[str, str], said: str, hint: str, *, dry_run: bool
) -> None:
    workspace = made_up.workspace()
    series = workspace.sources.series
    patches = tuple(replace(patch, document=replace(patch.document, **words)) for patch in series.patches)
    odd = replace(workspace, sources=replace(workspace.sources, series=replace(series, patches=patches)))
    repository = tmp_path / "repository"
    commit = made_up.repository(repository)
    with pytest.raises(StoreError) as caught:
        apply_branch(odd, repository, commit, "patched", asked="main", patches=["mode"], dry_run=dry_run)

    assert caught.value.message == f"{series.folder / 'mode' / 'patch.yaml'}: {said}"
    assert caught.value.hint == hint
    assert git(repository, "branch", "--list", "patched") == ""


def test_what_does_not_print_is_an_escape_in_the_commit_of_a_patch(tmp_path: Path) -> None:
    workspace = made_up.workspace()
    series = workspace.sources.series
    words = {"author": "A\u202eB\n", "description": "a\u2066b", "why": "naïve\x1b[2J\n\n\tand 漢字", "origin": "\udc80"}
    patches = tuple(replace(patch, document=replace(patch.document, **words)) for patch in series.patches)
    odd = replace(workspace, sources=replace(workspace.sources, series=replace(series, patches=patches)))
    commit = made_up.repository(tmp_path / "repository")

    assert apply_branch(odd, tmp_path / "repository", commit, "patched", asked="main", patches=["mode"]).ok
    said = git(tmp_path / "repository", "log", "-1", "--format=%an|%B", "patched").split("\nForwarded")[0]
    assert said == r"A\u202eB|mode: a\u2066b" + "\n\nnaïve\\x1b[2J\n\n\tand 漢字\n\nOrigin: \\udc80"
