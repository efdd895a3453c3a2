"""Edits of patched trees of the made-up Megatron."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trees.faults import full_disk
from trees.snapshots import contents

from patchkit.core.blobs import blob_id
from patchkit.core.manifest import AppliedPatch, Manifest, print_manifest
from patchkit.core.upstream import MEGATRON
from patchkit.errors import UsageError, WriteFailedError
from patchkit.operations.capture import capture
from patchkit.operations.capture_report import Captured, CapturedHunk, CapturedVariant
from patchkit.operations.lint import lint
from patchkit.operations.make import apply_to
from patchkit.operations.sources import Workspace, load_workspace
from patchkit.store.lock import read_lock
from patchkit.store.series import load_series
from patchkit.trees.layout import open_folder
from patchkit.trees.memory import MemoryTree

from . import made_up
from .fixtures import ReleaseWheel
from .made_up import PATCHED, RELEASES, patched_tree, path_of

BUFFER, CONFIG, MODE, REGIONS = (path_of(name) for name in ("buffer", "config", "mode", "regions"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    made_up.repository(tmp_path / "repository")
    return tmp_path / "repository"


def take(tree: MemoryTree, series: Path, megatron: str = "2.0", **options: object) -> Captured:
    return capture(tree, series, megatron, today="2026-11-30", **options)  # type: ignore[arg-type]  # as named


def edited(name: str, old: bytes, new: bytes, version: str = "2.0") -> MemoryTree:
    """The patched tree of a release with one edit in one file."""
    text = PATCHED[version][path_of(name)]
    assert text.count(old) == 1
    return patched_tree(version, **{name: text.replace(old, new)})


def variant(series: Path, patch: str, file: str = "v1.patch") -> str:
    return (series / patch / "variants" / file).read_text()


def end(series: Path, path: str, target: str = "2.0") -> str | None:
    """Blob id that the series leaves."""
    lock = read_lock(series)
    assert lock is not None
    return lock.targets[target].chain(path)[-1]


def told(captured: Captured) -> list[tuple[str, str, str]]:
    return [(hunk.patch, hunk.id, hunk.action) for hunk in captured.hunks]


# Nothing to capture.


@pytest.mark.parametrize("version", RELEASES)
def test_a_tree_that_is_just_the_series_changes_no_byte(series: Path, version: str) -> None:
    before = contents(series.parents[1])
    captured = take(patched_tree(version), series, version)

    assert (captured.ok, captured.verdict, captured.hunks, captured.written) == (True, "unchanged", (), ())
    assert contents(series.parents[1]) == before


def test_a_real_release_with_the_built_in_series_changes_no_byte(
    tmp_path: Path, built_in: Workspace, release_wheel: ReleaseWheel
) -> None:
    wheel, place = release_wheel("0.16.1"), tmp_path / "patched"
    assert apply_to(built_in, wheel, place, asked="0.16.1", patches=(), dry_run=False).ok
    folder = built_in.sources.series.folder
    before = contents(folder)
    captured = capture(open_folder(place, MEGATRON), folder, "0.16.1", today="2026-11-30")

    assert (captured.ok, captured.verdict, captured.notes) == (True, "unchanged", ())
    assert contents(folder) == before


def test_what_tools_leave_behind_and_folders_that_upstream_has_not_are_not_compared(series: Path) -> None:
    more = {
        "megatron/core/buffer.py.orig": b"x",
        "megatron/core/notes.md": b"x",
        "megatron/own/thing.py": b"x",
        "elsewhere.py": b"x",
    }
    captured = take(MemoryTree({**PATCHED["2.0"], **more}), series)

    assert captured.verdict == "unchanged"
    assert captured.notes == (
        "outside megatron/, and not compared (without --git REPO): elsewhere.py",
        "left behind by a tool, and left out: megatron/core/buffer.py.orig",
        "no Python, which wheels leave out, and not compared (without --git REPO): megatron/core/notes.md",
        "not upstream's, and not compared (--include GLOB takes them): megatron/own/",
    )


# An edit inside a hunk.


def test_an_edit_of_a_line_that_a_patch_added_changes_that_hunk_alone(series: Path) -> None:
    before, text = contents(series), variant(series, "grads")
    tree = edited(
        "buffer",
        b"        size = self.size\n\n        with region():\n",
        b"        size = self.size\n\n        with region(  ):\n",
    )
    captured = take(tree, series)

    assert told(captured) == [("grads", "grads-reload", "changed")]
    assert captured.variants == (CapturedVariant("grads", "v1.patch", RELEASES),)
    first, second = text.split("@@ -18,6 +19,7 @@")
    assert variant(series, "grads") == first + "@@ -18,6 +19,7 @@" + second.replace(
        "+        with region():", "+        with region(  ):"
    )
    changed = {path for path, content in contents(series).items() if before.get(path) != content}
    assert changed == {
        "grads/variants/v1.patch",
        "lock.yaml",
        *(f"generated/core_v{version}.patch" for version in RELEASES),
    }
    assert end(series, BUFFER) == blob_id(tree.files[BUFFER])
    assert take(tree, series).verdict == "unchanged"
    assert load_workspace(series).sources.lock.targets.keys() == {*RELEASES, "main"}


def test_lines_added_at_a_hunk_move_the_new_lines_of_the_hunks_below_it(series: Path) -> None:
    tree = edited(
        "buffer",
        b"        with region():\n            self.grads = [0] * size\n\n        # Param",
        b"        with region():\n            self.grads = [0] * size\n            self.more = 1\n\n        # Param",
    )
    captured = take(tree, series)

    assert ("grads", "grads-init", "changed") in told(captured)
    assert "@@ -9,7 +9,9 @@ grads-init" in variant(series, "grads")
    assert "@@ -18,6 +20,7 @@ grads-reload" in variant(series, "grads")
    assert end(series, BUFFER) == blob_id(tree.files[BUFFER])


def test_a_hunk_that_stands_beside_an_edit_of_another_patch_follows_in_its_context(
    series: Path, repository: Path
) -> None:
    tree = edited("config", b"    no_backup = False\n", b"    no_backup = False  # off\n")
    captured = take(tree, series, repository=repository)

    assert told(captured) == [("grads", "grads-config", "changed"), ("loose", "loose-config", "context")]
    assert " \tno" not in variant(series, "loose", "v2.0.patch")
    assert "     no_backup = False  # off\n" in variant(series, "loose", "v2.0.patch")
    # On main, grads has another variant, which still adds the line as it was: there the old text of loose stays.
    assert captured.variants[1].file == "v2.0.patch"
    assert captured.variants[1].targets == RELEASES
    assert captured.variants[1].reason.startswith("main: ")
    assert end(series, CONFIG) == blob_id(tree.files[CONFIG])
    assert {finding.rule for finding in lint(series, repository=repository).findings} == set()


# Hunks that go.


def test_a_hunk_that_the_edits_take_out_is_named_and_nothing_is_written(series: Path) -> None:
    before = contents(series)
    captured = take(edited("config", b"    no_backup = False\n", b""), series)

    assert (captured.ok, captured.verdict) == (False, "refused")
    assert [(one.patch, one.hunk, one.message) for one in captured.problems] == [
        ("grads", "grads-config", "the edits take this hunk out")
    ]
    assert "--drop-hunks" in str(captured.problems[0].hint)
    assert contents(series) == before


def test_a_dropped_hunk_leaves_the_text_and_its_description(series: Path, repository: Path) -> None:
    tree = MemoryTree({path: text for path, text in PATCHED["2.0"].items() if path != REGIONS})
    captured = take(tree, series, drop_hunks=True, repository=repository)
    params = load_series(series).patch("params")

    assert told(captured) == [("params", "region-names", "dropped")]
    assert [hunk.id for hunk in params.document.hunks] == ["params-init"]
    assert "regions.py" not in variant(series, "params")
    assert take(tree, series, repository=repository).verdict == "unchanged"


@pytest.mark.parametrize("drop", [True, False])
def test_a_patch_that_is_not_in_the_tree_at_all_is_not_emptied(series: Path, drop: bool) -> None:
    captured = take(edited("config", b"    loose = None\n", b""), series, drop_hunks=drop)

    assert [(one.patch, one.hunk, one.message) for one in captured.problems] == [
        ("loose", None, "no hunk of the patch is in the tree")
    ]


def test_a_declared_check_that_the_edits_break_keeps_everything_as_it_was(series: Path) -> None:
    before = contents(series)
    captured = take(edited("config", b"    no_backup = False\n", b"    no_backup = True\n"), series)

    assert (captured.ok, captured.verdict) == (False, "refused")
    assert "check flag-is-off expects 1 matches and finds 0" in captured.problems[0].message
    assert contents(series) == before


# Edits that are nobody's, or more than one's.


def test_an_edit_near_no_patch_is_offered(series: Path) -> None:
    before = contents(series)
    captured = take(edited("version", b'"2.0"', b'"2.0+own"'), series)

    assert [(one.path, one.line, one.message) for one in captured.problems] == [
        ("megatron/core/version.py", 1, "an edit: no patch is near")
    ]
    assert "--patch NAME, or --new NAME" in str(captured.problems[0].hint)
    assert contents(series) == before


def test_an_edit_of_context_that_two_patches_share_is_offered_to_both(series: Path) -> None:
    captured = take(edited("config", b'    name = ""\n', b'    name = "x"\n'), series)

    assert [one.message for one in captured.problems] == ["an edit in Config: it may belong to grads or loose"]


def test_what_is_in_question_goes_to_the_patch_that_is_named(series: Path, repository: Path) -> None:
    tree = edited("version", b'"2.0"', b'"2.0+own"')
    captured = take(tree, series, patch="mode", repository=repository)
    mode = load_series(series).patch("mode").document

    assert captured.hunks == (CapturedHunk("mode", "version", "megatron/core/version.py", "new"),)
    # The line is another one in main, whose variant stays.
    assert [(one.file, one.releases, one.targets) for one in mode.variants][-1] == ("v2.0.patch", "", ("2.0",))
    assert mode.hunks[-1].scope == "<module>"
    assert end(series, "megatron/core/version.py") == blob_id(tree.files["megatron/core/version.py"])
    assert {finding.rule for finding in lint(series, repository=repository).findings} == {"unwritten"}


def test_a_new_patch_takes_new_files_and_edits_and_waits_for_a_person(series: Path, repository: Path) -> None:
    tree = edited("version", b'"2.0"', b'"2.0+own"')
    tree.files[path_of("extra")] = b"EXTRA = 1\n"
    captured = take(tree, series, new="own", repository=repository)
    loaded = load_series(series)

    assert told(captured) == [("own", "extra", "new"), ("own", "version", "new")]
    assert [patch.name for patch in loaded.patches][-1] == "own"
    assert loaded.patch("own").document.not_needed[0].targets == ("1.0", "1.1", "main")
    assert take(tree, series, repository=repository).verdict == "unchanged"
    assert {finding.rule for finding in lint(series, repository=repository).findings} == {"unwritten"}


def test_lines_between_those_of_two_patches_are_the_upper_one_s_or_nobody_s(series: Path) -> None:
    tree = edited("config", b"    no_backup = False\n    loose", b"    no_backup = False\n    new = 1\n    loose")
    asked, below, above = (take(tree, series, patch=name, dry_run=True) for name in (None, "grads", "loose"))

    assert [one.message for one in asked.problems] == ["an edit in Config: it may belong to grads or loose"]
    # Below, the line would come to stand behind what loose adds.
    assert [one.message for one in below.problems] == [
        "the edit stands at lines of a patch that is applied after grads (loose)"
    ]
    assert above.ok


# Targets.


def test_an_edit_that_other_targets_have_no_place_for_becomes_a_variant_of_its_own(
    series: Path, repository: Path
) -> None:
    tree = edited("buffer", b"LIMIT = sys.maxsize\n", b"LIMIT = 7\n")
    old = variant(series, "grads")
    captured = take(tree, series, patch="grads", repository=repository)
    grads = load_series(series).patch("grads").document

    assert captured.variants == (CapturedVariant("grads", "v2.0.patch", ("2.0",), captured.variants[0].reason),)
    assert "1.0: " in captured.variants[0].reason
    assert [(one.file, one.releases) for one in grads.variants] == [
        ("v1.patch", ">=1.0,<2.0"),
        ("main.patch", ""),
        ("v2.0.patch", ">=2.0"),
    ]
    assert variant(series, "grads") == old
    assert end(series, BUFFER) == blob_id(tree.files[BUFFER])
    assert end(series, BUFFER, "1.0") == blob_id(PATCHED["1.0"][BUFFER])
    assert {finding.rule for finding in lint(series, repository=repository).findings} == {"unwritten"}


def test_a_branch_out_of_reach_keeps_the_old_text(series: Path) -> None:
    tree = edited("mode", b"else None", b"else 0")
    captured = take(tree, series)

    assert (captured.ok, captured.variants[0].targets) == (True, ("2.0",))
    assert captured.variants[0].reason == "main: no source at hand"
    assert end(series, MODE) == blob_id(tree.files[MODE])


def test_a_branch_is_captured_with_git_and_refused_without(series: Path, repository: Path) -> None:
    with pytest.raises(UsageError, match="main is no release"):
        take(patched_tree("2.0"), series, "main")
    workspace = load_workspace(series)
    assert workspace.target("main").commit is not None


# Asking for what cannot be.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"patch": "grads", "new": "x"}, "exclude each other"),
        ({"patch": "nothing"}, "no patch 'nothing'"),
        ({"new": "grads"}, "has a patch 'grads' already"),
        ({"new": "No Name"}, "cannot be the name of a patch"),
        ({"new": "settled"}, "'settled' cannot be the name of a patch: patchkit has a folder of that name for itself"),
    ],
)
def test_requests_that_make_no_sense_are_usage(series: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        take(patched_tree("2.0"), series, **options)


def test_a_patch_that_the_target_does_not_need_takes_nothing(series: Path) -> None:
    with pytest.raises(UsageError, match=r"mode is not for v1\.0"):
        take(patched_tree("1.0"), series, "1.0", patch="mode")


def test_a_dry_run_says_the_same_and_writes_nothing(series: Path) -> None:
    before = contents(series)
    tree = edited("mode", b"else None", b"else 0")
    planned = take(tree, series, dry_run=True)
    assert contents(series) == before
    done = take(tree, series)

    assert (planned.verdict, done.verdict) == ("would-capture", "captured")
    assert (planned.hunks, planned.variants, planned.written) == (done.hunks, done.variants, done.written)


def test_a_full_disk_changes_nothing(series: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(series)
    monkeypatch.setattr("patchkit.trees.journal.sync_folder", lambda _folder: full_disk())
    with pytest.raises(WriteFailedError) as caught:
        take(edited("mode", b"else None", b"else 0"), series)

    top = series.parent.parent
    assert caught.value.message == f"cannot write to {top}: No space left on device; nothing was changed"
    assert contents(series) == before


# The law: what was captured is the tree, and capturing again changes nothing.


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10**6))
def test_whatever_was_edited_the_captured_series_gives_the_tree(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - a seed for edits
    files = dict(PATCHED["2.0"])
    for _ in range(random.randint(1, 4)):
        path = random.choice([BUFFER, CONFIG, MODE, REGIONS])
        lines = files[path].splitlines(keepends=True)
        at = random.randrange(len(lines) + 1)
        lines[at : at + random.randint(0, 2)] = [b"    # %d\n" % random.randrange(99)] * random.randint(0, 2)
        files[path] = b"".join(lines)
    with tempfile.TemporaryDirectory() as folder:
        series = made_up.lay_series(Path(folder))
        before = contents(series)
        captured = take(MemoryTree(files), series, new="own", drop_hunks=True)
        if not captured.ok:
            assert contents(series) == before
            return
        for path in (BUFFER, CONFIG, MODE, REGIONS):
            if files[path] != PATCHED["2.0"][path]:
                assert end(series, path) == blob_id(files[path])
        assert take(MemoryTree(files), series).verdict == "unchanged"


def test_a_tree_that_has_another_series_by_its_record_is_refused(series: Path) -> None:
    # All that the other series did would be taken for edits of this one.
    tree = edited("buffer", b"LIMIT = ", b"LIMIT = 2 * ")
    applied = tuple(AppliedPatch(name, "0", "v1.patch", {}) for name in ("grads", "other"))
    record = Manifest(1, "1.0", "2.0", None, "0" * 64, applied)
    tree.files[tree.manifest_path] = print_manifest(record)
    before = contents(series)

    with pytest.raises(UsageError, match=r"has another series applied, by its record: other$"):
        take(tree, series)

    assert contents(series) == before
