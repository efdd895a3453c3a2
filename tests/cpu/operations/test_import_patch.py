"""Foreign patches for the made-up Megatron, in every state that one gets them in."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from trees.repositories import git, record
from trees.snapshots import contents, lay

import patchkit.operations.import_patch as module
from patchkit.core.blobs import blob_id
from patchkit.core.report import Problem
from patchkit.errors import PatchFormatError, RevisionNotFoundError, StoreError, TreeError, UsageError
from patchkit.operations.apply import apply_in
from patchkit.operations.import_patch import import_patches
from patchkit.operations.import_report import Imported
from patchkit.operations.lint import lint
from patchkit.operations.make import apply_export
from patchkit.operations.sources import Workspace, load_workspace
from patchkit.operations.status import status, verify
from patchkit.store.lock import read_lock
from patchkit.store.series import load_series

from . import made_up
from .fixtures import ReleaseWheel
from .made_up import BUFFER_2, CONFIG, MODE, UPSTREAM, path_of

FLAGGED = CONFIG.replace(b'    name = ""\n', b'    name = ""\n    keep_quiet = False\n')
QUIET = MODE.replace(b'MODE = "torch"\n', b'MODE = "torch"\nkeep_quiet = "quiet"\n')
LIMITED = BUFFER_2.replace(b"        self.size = size\n", b"        self.size = min(size, LIMIT)\n")
NEW = b'"""New."""\n'
CHANGED = {"config": FLAGGED, "mode": QUIET, "buffer": LIMITED, "new": NEW}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    made_up.repository(tmp_path / "repository")
    return tmp_path / "repository"


@pytest.fixture
def diff(tmp_path: Path, repository: Path) -> Path:
    """What git says between 2.0 and a tree in which four files were changed, as a file."""
    return write(tmp_path / "big.patch", git_diff(repository, CHANGED))


def git_diff(repository: Path, changed: dict[str, bytes], *options: str) -> str:
    git(repository, "checkout", "-q", "main~1")
    lay(repository, {path_of(name): content for name, content in changed.items()})
    git(repository, "add", "-A")
    text = git(repository, "diff", "--cached", *options)
    git(repository, "reset", "-q", "--hard")
    git(repository, "checkout", "-q", "main")
    return text + "\n"


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def take(paths: Path | list[Path], folder: Path, **options: object) -> Imported:
    given = [paths] if isinstance(paths, Path) else paths
    return import_patches(given, folder, today="2026-11-30", **options)  # type: ignore[arg-type]  # as named


def after(folder: Path) -> dict[str, str | None]:
    """Blob id that the series leaves, by path, on its only target."""
    lock = read_lock(folder)
    assert lock is not None
    (target,) = lock.targets.values()
    return {path: target.chain(path)[-1] for path in target.paths}


CONFIG_TWO = CONFIG.replace(b"size = 1\n", b"size = 2\n")
CONFIG_THREE = CONFIG_TWO.replace(b"size = 2\n", b"size = 3\n")
EXPECTED = {path_of(name): blob_id(content) for name, content in CHANGED.items()}


# A bare diff of git.


def test_the_base_is_found_and_the_series_gives_what_git_apply_gives(
    tmp_path: Path, diff: Path, repository: Path
) -> None:
    imported = take(diff, tmp_path / "series", repository=repository)
    tree = lay(tmp_path / "tree", UPSTREAM["2.0"])
    subprocess.run(
        ["git", "apply", diff],  # noqa: S607 - whichever git the machine has
        cwd=tree,
        check=True,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)},
    )

    assert (imported.ok, imported.verdict, imported.repairs) == (True, "imported", ())
    assert (imported.base.matching, imported.base.of) == (4, 4)
    assert imported.base.how.startswith("every index line names its text in commit ")
    assert after(tmp_path / "series") == EXPECTED
    assert {path: blob_id(contents(tree)[path]) for path in EXPECTED} == EXPECTED


def test_the_series_can_be_applied_and_lint_names_only_what_a_person_must_write(
    tmp_path: Path, diff: Path, repository: Path
) -> None:
    imported = take(diff, tmp_path / "series", repository=repository, split=True)
    findings = lint(tmp_path / "series", repository=repository).findings
    workspace = load_workspace(tmp_path / "series")
    report = apply_export(
        workspace, repository, str(imported.base.commit), tmp_path / "out", asked=None, patches=(), dry_run=False
    )

    assert {finding.rule for finding in findings} == {"unwritten"}
    assert report.ok
    assert {path: blob_id(contents(tmp_path / "out")[path]) for path in EXPECTED} == EXPECTED


def test_the_package_of_a_new_series_is_what_releases_ship_whatever_the_patch_touches(
    tmp_path: Path, repository: Path
) -> None:
    top = "--- /dev/null\n+++ b/a_tool.py\n@@ -0,0 +1 @@\n+TOOL = 1\n"
    assert take(write(tmp_path / "top.patch", top), tmp_path / "series", repository=repository, revision="main").ok

    assert load_series(tmp_path / "series").document.package == "megatron"


def test_a_split_has_every_hunk_once_and_the_same_sum(tmp_path: Path, diff: Path, repository: Path) -> None:
    imported = take(diff, tmp_path / "series", repository=repository, split=True)
    series = load_series(tmp_path / "series")

    assert [(patch.name, len(patch.hunks), patch.files) for patch in imported.patches] == [
        ("buffer-init", 1, (path_of("buffer"),)),
        ("keep-quiet", 2, (path_of("config"), path_of("mode"))),
        ("new", 1, (path_of("new"),)),
    ]
    assert [hunk.scope for patch in series.patches for hunk in patch.document.hunks] == [
        "Buffer.__init__",
        "Config",
        "<module>",
        "<module>",
    ]
    assert after(tmp_path / "series") == EXPECTED


def test_without_split_the_proposal_is_told_and_one_patch_is_written(
    tmp_path: Path, diff: Path, repository: Path
) -> None:
    imported = take(diff, tmp_path / "series", repository=repository)

    assert [patch.name for patch in imported.patches] == ["big"]
    assert [patch.name for patch in imported.proposed] == ["buffer-init", "keep-quiet", "new"]
    assert [patch.name for patch in load_series(tmp_path / "series").patches] == ["big"]


def test_what_is_proposed_is_what_split_makes(tmp_path: Path, diff: Path, repository: Path) -> None:
    imported = take(diff, tmp_path / "series", repository=repository)
    split = take(diff, tmp_path / "split", repository=repository, split=True)

    assert len(split.patches) == 3
    assert imported.proposed == split.patches


def test_a_dry_run_says_the_same_and_writes_nothing(tmp_path: Path, diff: Path, repository: Path) -> None:
    told = take(diff, tmp_path / "series", repository=repository, dry_run=True)
    assert not (tmp_path / "series").exists()
    done = take(diff, tmp_path / "series", repository=repository)

    assert (told.verdict, told.patches, told.written) == ("would-import", done.patches, done.written)


def test_our_own_generated_patch_of_a_real_release_gives_the_files_of_our_lock(
    tmp_path: Path, built_in: Workspace, release_wheel: ReleaseWheel
) -> None:
    release_wheel("0.16.1")
    locked = built_in.sources.lock.targets["0.16.1"]
    generated = built_in.sources.series.folder / "generated" / "core_v0.16.1.patch"
    imported = take(generated, tmp_path / "series", split=True)

    assert (imported.base.target, imported.base.matching, imported.repairs) == ("v0.16.1", 4, ())
    assert after(tmp_path / "series") == {path: locked.chain(path)[-1] for path in locked.paths}
    assert [(patch.name, patch.depends) for patch in imported.patches] == [
        ("disable-buffers-cpu-backup", ()),
        ("buffer-region", ("disable-buffers-cpu-backup",)),
        ("dynamic-context", ()),
    ]


# What the base is.


def releases_alone(series: Path, folder: Path) -> None:
    """Lay down the versions of the made-up Megatron without its branch, for which git is needed."""
    text = (series.parents[1] / "upstream_versions.yaml").read_text()
    before, rest = text.split("  branches:\n")
    lay(folder, {"upstream_versions.yaml": (before + rest[rest.index("torch-memory-saver:") :]).encode()})


def test_a_release_that_is_named_comes_from_the_cache_and_needs_no_git(
    tmp_path: Path, diff: Path, series: Path
) -> None:
    releases_alone(series, tmp_path / "new")
    imported = take(diff, tmp_path / "new", megatron="2.0")

    assert (imported.ok, imported.base.target, imported.base.commit) == (True, "v2.0", None)
    assert load_series(tmp_path / "new").patches[0].document.variants[0].targets == ("2.0",)


def test_the_releases_at_hand_are_tried_when_nothing_is_named(tmp_path: Path, diff: Path, series: Path) -> None:
    releases_alone(series, tmp_path / "new")

    assert take(diff, tmp_path / "new").base.target == "v2.0"


def test_without_index_lines_somebody_must_name_the_base(tmp_path: Path, repository: Path) -> None:
    plain = write(
        tmp_path / "plain.patch",
        f'--- a/{path_of("mode")}\n+++ b/{path_of("mode")}\n@@ -5 +5 @@\n-MODE = "torch"\n+MODE = 1\n',
    )
    with pytest.raises(UsageError, match="no index lines"):
        take(plain, tmp_path / "series", repository=repository)
    with pytest.raises(UsageError, match="no index lines"):
        take(plain, tmp_path / "series")

    assert take(plain, tmp_path / "series", repository=repository, revision="main~1").ok
    assert not (tmp_path / "other").exists()


def test_ids_that_no_commit_has_are_told_with_the_nearest(tmp_path: Path, diff: Path, repository: Path) -> None:
    made_up_id = write(tmp_path / "odd.patch", diff.read_text().replace(blob_id(CONFIG)[:7], "fffffff"))
    with pytest.raises(UsageError, match="has 3 of 4") as caught:
        take(made_up_id, tmp_path / "series", repository=repository)

    near = git(repository, "rev-parse", "main~1")[:9]
    assert (near in caught.value.message, f"--base {near}" in str(caught.value.hint)) == (True, True)


@pytest.mark.parametrize("prefixes", [("a/", "b/"), ("", "")])
def test_a_patch_that_was_made_inside_of_a_package_says_so_and_is_put_there(
    tmp_path: Path, diff: Path, repository: Path, prefixes: tuple[str, str]
) -> None:
    old, new = prefixes
    text = diff.read_text().replace("a/megatron/core/", old).replace("b/megatron/core/", new)
    inside = write(tmp_path / "inside.patch", text if old else re.sub(r"^(diff|index|new).*\n", "", text, flags=re.M))
    refused = take(inside, tmp_path / "series", repository=repository, revision="main~1")
    taken = take(inside, tmp_path / "series", repository=repository, revision="main~1", directory="megatron/core/")

    assert not refused.ok
    assert {problem.hint for problem in refused.problems} == {
        "it has such a file in megatron/core: add --directory megatron/core"
    }
    assert taken.ok
    assert after(tmp_path / "series") == EXPECTED


def test_another_base_is_refused_hunk_by_hunk(tmp_path: Path, diff: Path, repository: Path) -> None:
    before = contents(tmp_path)
    imported = take(diff, tmp_path / "series", repository=repository, revision="main~2")

    assert (imported.ok, imported.verdict) == (False, "refused")
    assert [problem.path for problem in imported.problems] == [path_of("mode")]
    assert imported.problems[0].message == f"the base has no {path_of('mode')}"
    assert "2 of 4 index lines" in str(imported.problems[0].hint)
    assert contents(tmp_path) == before


def test_what_git_does_not_have_is_an_error_of_git(tmp_path: Path, diff: Path, repository: Path) -> None:
    with pytest.raises(RevisionNotFoundError):
        take(diff, tmp_path / "series", repository=repository, revision="nothing")
    with pytest.raises(UsageError, match="--base needs --git"):
        take(diff, tmp_path / "series", revision="main")


# What was done to the text on its way.


def stripped(text: str) -> str:
    return "".join("\n" if line == " \n" else line for line in text.splitlines(keepends=True))


@pytest.mark.parametrize(
    ("damage", "rules"),
    [
        (stripped, {"stripped-blank"}),
        (lambda text: text.replace("\n", "\r\n"), {"crlf"}),
        (lambda text: text[:-1], {"last-newline"}),
        (
            lambda text: (
                text.replace("-5,3 +5,4", "-5,3 +5,9")
                if "-5,3 +5,4" in text
                else text.replace("@@ -6,3 +6,4 @@", "@@ -6,3 +6,9 @@")
            ),
            {"counts"},
        ),
        (lambda text: text.replace("@@ -6,3 +6,4 @@", "@@ -1,3 +1,4 @@"), {"start"}),
    ],
)
def test_a_damaged_patch_gives_the_same_series_and_every_repair_is_told(
    tmp_path: Path, diff: Path, repository: Path, damage: object, rules: set[str]
) -> None:
    assert callable(damage)
    damaged = write(tmp_path / "damaged.patch", damage(diff.read_text()))
    assert damaged.read_bytes() != diff.read_bytes()
    imported = take(damaged, tmp_path / "series", repository=repository)

    assert {repair.rule for repair in imported.repairs} == rules
    assert after(tmp_path / "series") == EXPECTED


def test_a_body_that_was_edited_is_told_from_the_index_line(tmp_path: Path, diff: Path, repository: Path) -> None:
    edited = write(
        tmp_path / "edited.patch", diff.read_text().replace("+    keep_quiet = False\n", "+    keep_quiet = True\n")
    )
    imported = take(edited, tmp_path / "series", repository=repository)

    made = blob_id(FLAGGED.replace(b"False", b"True"))[:7]
    promised = f"{path_of('config')}: the index line promises {blob_id(FLAGGED)[:7]}, the hunks give {made}"
    assert imported.notes[0] == f"{promised}: edited since it was made"


# Mails.


def mails(repository: Path, *steps: dict[str, bytes]) -> str:
    git(repository, "checkout", "-q", "-b", "work", "main~1")
    for number, files in enumerate(steps):
        lay(repository, {path_of(name): content for name, content in files.items()})
        git(repository, "add", "-A")
        git(repository, "commit", "-q", "-m", f"Step {number}\n\nBecause of {number}.")
    text = git(repository, "format-patch", "--stdout", "main~1")
    git(repository, "checkout", "-q", "main")
    return text + "\n"


def test_mails_become_a_patch_each_with_what_they_say(tmp_path: Path, repository: Path) -> None:
    again = FLAGGED.replace(b"False", b"None")
    text = mails(repository, {"config": FLAGGED}, {"config": again, "mode": QUIET})
    imported = take(write(tmp_path / "x.mbox", text), tmp_path / "series", repository=repository)
    documents = [patch.document for patch in load_series(tmp_path / "series").patches]

    assert [(patch.name, patch.depends) for patch in imported.patches] == [("step-0", ()), ("step-1", ("step-0",))]
    assert [document.author for document in documents] == ["A U Thor <author@example.org>"] * 2
    assert [document.description for document in documents] == ["PROPOSED: Step 0", "PROPOSED: Step 1"]
    assert [document.why for document in documents] == ["PROPOSED: Because of 0.", "PROPOSED: Because of 1."]
    assert [document.last_update for document in documents] == ["2026-01-02"] * 2
    assert documents[0].origin.startswith(f"Commit {git(repository, 'rev-parse', 'work~1')}")
    assert after(tmp_path / "series") == {path_of("config"): blob_id(again), path_of("mode"): blob_id(QUIET)}


def test_headers_of_which_git_makes_no_author_or_date_are_left_out_and_told(tmp_path: Path, repository: Path) -> None:
    text = mails(repository, {"config": FLAGGED})
    text = re.sub("^From: .*", "From: .,;:<>", text, flags=re.MULTILINE)
    text = re.sub("^Date: .*", "Date: Tue, 1 Dec 9999 23:59:59 -0800", text, flags=re.MULTILINE)
    imported = take(write(tmp_path / "x.mbox", text), tmp_path / "series", repository=repository)
    (patch,) = load_series(tmp_path / "series").patches

    assert [(repair.rule, repair.line, repair.message) for repair in imported.repairs] == [
        ("header", 2, "From: '.,;:<>' names nobody, and is left out"),
        ("header", 3, "Date: 'Tue, 1 Dec 9999 23:59:59 -0800' is no day that git knows, and is left out"),
    ]
    assert (patch.document.author, patch.document.last_update) == ("TODO: who wrote it", "2026-11-30")


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("Because of 0.", "Because:\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n", "its message"),
        ("From: A U Thor", f"From: {'A' * 1100} <<<<<<< B", "its From"),
        ("Step 0", f"{'A' * 1100} ||||||| B", "its Subject"),
    ],
)
def test_a_mail_whose_words_mark_a_conflict_is_refused_and_named(
    tmp_path: Path, repository: Path, old: str, new: str, what: str
) -> None:
    first = mails(repository, {"mode": QUIET}).replace("Step 0", "Step 1")
    git(repository, "branch", "-q", "-D", "work")
    text = first + mails(repository, {"config": FLAGGED}).replace(old, new)
    with pytest.raises(PatchFormatError) as caught:
        take(write(tmp_path / "x.mbox", text), tmp_path / "series", repository=repository)

    line = first.count("\n") + 1
    assert caught.value.message == f"{tmp_path / 'x.mbox'}:{line}: a conflict is marked in {what}"
    assert not (tmp_path / "series").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"author": "\udcff"}, "--author '\\udcff' is not UTF-8"),
        ({"forwarded": "\udcff"}, "--forwarded '\\udcff' is not UTF-8"),
        ({"author": "<>"}, "--author '<>' names nobody"),
        ({"forwarded": "<<<<<<< a"}, "--forwarded '<<<<<<< a' has the marks of a conflict"),
    ],
)
def test_options_that_no_document_can_hold_are_refused_by_their_names(
    tmp_path: Path, diff: Path, repository: Path, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        take(diff, tmp_path / "series", repository=repository, **options)

    assert caught.value.message == message


def test_mails_in_several_files_are_one_series_and_a_name_makes_them_one_patch(
    tmp_path: Path, repository: Path
) -> None:
    text = mails(repository, {"config": FLAGGED}, {"config": FLAGGED.replace(b"False", b"None"), "mode": QUIET})
    first, second = text.split("\nFrom ", 1)
    paths = [write(tmp_path / "0001.patch", first + "\n"), write(tmp_path / "0002.patch", f"From {second}")]
    several = take(paths, tmp_path / "several", repository=repository)
    one = take(paths, tmp_path / "one", repository=repository, name="whole")

    assert [patch.name for patch in several.patches] == ["step-0", "step-1"]
    assert [patch.name for patch in one.patches] == ["whole"]
    assert after(tmp_path / "one") == after(tmp_path / "several")


# Into a series that there is.


def test_a_patch_joins_a_series_behind_the_others_and_is_not_carried_to_other_targets(
    series: Path, repository: Path, tmp_path: Path
) -> None:
    quiet = write(tmp_path / "quiet.patch", git_diff(repository, {"new": NEW, "buffer": LIMITED}))
    imported = take(quiet, series, megatron="2.0", repository=repository)
    patches = load_series(series).patches

    assert imported.ok
    assert [patch.name for patch in patches] == ["grads", "params", "loose", "mode", "quiet"]
    assert patches[-1].document.not_needed[0].targets == ("1.0", "1.1", "main")
    assert "not carried to v1.0, v1.1, main yet" in imported.notes[0]
    # That nobody has carried it there is no reason to be silent about it.
    workspace = load_workspace(series)
    tree = made_up.tree("1.0")
    hint = f"carry it there: `patchkit rebase --onto v1.0 --patches {series}`"
    assert apply_in(workspace, tree, asked="1.0").problems == (
        Problem("it is not carried to v1.0 yet", patch="quiet", hint=hint),
    )
    assert tree.files == UPSTREAM["1.0"]
    # Nor is it a patch that is not needed, whatever its patch.yaml tells its author to write there.
    reports = [
        status(workspace, tree, asked="1.0"),
        verify(workspace, tree, asked="1.0"),
        apply_in(workspace, tree, asked="1.0"),
    ]
    why = "carry it there, or say in patch.yaml, below not-needed, why it needs none"
    assert [(patch.state, patch.reason) for report in reports for patch in report.patches if patch.name == "quiet"] == [
        ("not-carried", why)
    ] * 3
    assert (reports[0].verdict, reports[0].ok) == ("not-carried", True)
    assert apply_in(workspace, tree, asked="1.0", patches=("grads",)).ok
    assert status(workspace, tree, asked="1.0").verdict == "partly"
    checked = verify(workspace, tree, asked="1.0")
    assert [problem.message for problem in checked.problems if problem.patch == "quiet"] == [
        "it is not carried to v1.0 yet"
    ]
    lock = read_lock(series)
    assert lock is not None
    assert lock.targets["2.0"].chain(path_of("buffer"))[-1] == blob_id(
        made_up.PATCHED["2.0"][path_of("buffer")].replace(b"self.size = size\n", b"self.size = min(size, LIMIT)\n", 1)
    )
    rules = {finding.rule for finding in lint(series, offline=True).findings}
    assert rules == {"unwritten"}


def test_a_patch_that_stands_on_the_series_is_laid_on_what_the_series_leaves(
    series: Path, repository: Path, tmp_path: Path
) -> None:
    patched = made_up.PATCHED["2.0"][path_of("config")]
    lay(repository, {path_of("config"): patched})
    git(repository, "commit", "-q", "-a", "-m", "patched")
    lay(repository, {path_of("config"): patched.replace(b"loose = None", b"loose = 1")})
    on_top = write(tmp_path / "top.patch", git(repository, "diff") + "\n")
    git(repository, "reset", "-q", "--hard", "HEAD~1")
    imported = take(on_top, series, repository=repository)
    lock = read_lock(series)
    assert lock is not None

    assert (imported.ok, imported.base.target, imported.base.matching) == (True, "v2.0", 1)
    assert imported.base.how == "what the series leaves of it, which the index lines name"
    assert load_series(series).patches[-1].depends == ("grads", "loose")
    assert lock.targets["2.0"].chain(path_of("config"))[-1] == blob_id(patched.replace(b"loose = None", b"loose = 1"))


def test_a_patch_that_stands_on_the_series_in_one_file_of_two_is_laid_on_it(
    series: Path, repository: Path, tmp_path: Path
) -> None:
    # The config is the same in every release, with the series and without; the version tells them apart.
    patched = made_up.PATCHED["1.0"][path_of("config")]
    git(repository, "checkout", "-q", "core_v1.0")
    lay(repository, {path_of("config"): patched})
    git(repository, "commit", "-q", "-a", "-m", "patched")
    both = {path_of("config"): patched.replace(b"loose = None", b"loose = 1"), path_of("version"): b'VERSION = "1"\n'}
    lay(repository, both)
    on_top = write(tmp_path / "top.patch", git(repository, "diff") + "\n")
    git(repository, "reset", "-q", "--hard")
    git(repository, "checkout", "-q", "main")
    imported = take(on_top, series, repository=repository)
    lock = read_lock(series)
    assert lock is not None

    assert (imported.ok, imported.base.target, imported.base.matching, imported.base.of) == (True, "v1.0", 2, 2)
    assert {path: lock.targets["1.0"].chain(path)[-1] for path in both} == {
        path: blob_id(text) for path, text in both.items()
    }


def test_patches_of_several_files_lie_on_each_other_and_are_called_after_them(tmp_path: Path, repository: Path) -> None:
    git(repository, "checkout", "-q", "main~1")
    lay(repository, {path_of("config"): CONFIG_TWO})
    first = write(tmp_path / "01 Common.patch", git(repository, "diff") + "\n")
    git(repository, "commit", "-q", "-a", "-m", "first")
    lay(repository, {path_of("config"): CONFIG_THREE})
    second = write(tmp_path / "ours.diff", git(repository, "diff") + "\n")
    git(repository, "reset", "-q", "--hard")
    git(repository, "checkout", "-q", "main")
    imported = take([first, second], tmp_path / "series", repository=repository)

    assert [(patch.name, patch.reason, patch.depends) for patch in imported.patches] == [
        ("01-common", "a file of its own", ()),
        ("ours", "a file of its own", ("01-common",)),
    ]
    assert after(tmp_path / "series") == {path_of("config"): blob_id(CONFIG_THREE)}


def test_a_file_that_the_wheel_of_a_release_has_not_as_its_tag_is_refused_before_anything_is_made(
    series: Path, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repository, "checkout", "-q", "core_v1.1")
    readme, version = "megatron/core/README.md", path_of("version")
    lay(repository, {readme: b"one\n", version: b"VERSION = 1\n"})
    record(repository, "Not in the wheel")
    git(repository, "tag", "-f", "core_v1.1")
    lay(repository, {readme: b"two\n", version: b"VERSION = 2\n", path_of("__init__"): b"two\n"})
    given = write(tmp_path / "three.patch", git(repository, "diff") + "\n")
    git(repository, "reset", "-q", "--hard")
    lines = given.read_text().splitlines()
    at = {name: lines.index(f"+++ b/{name}") + 2 for name in (readme, version)}
    before = contents(series)
    # It is refused before a copy of the series is made.
    monkeypatch.delattr(module, "staged")
    imported = take(given, series, megatron="1.1", repository=repository)

    why = "and a release is patched as its wheel is"
    assert (imported.ok, imported.verdict) == (False, "refused")
    assert imported.problems == (
        Problem(f"the wheel of v1.1 lacks it, {why}", readme, "1", at[readme], hint="take it out of the patch"),
        Problem(
            f"the wheel of v1.1 has another text of it than {repository}@core_v1.1, {why}",
            version,
            "1",
            at[version],
            hint="leave --git out to lay the patch on the wheel; find out who changed it, the tag or the wheel",
        ),
    )
    assert contents(series) == before


def test_lines_that_the_series_changes_already_are_refused(series: Path, repository: Path, tmp_path: Path) -> None:
    before = contents(series)
    clash = write(
        tmp_path / "clash.patch",
        git_diff(repository, {"mode": MODE.replace(b'"torch"', b'"other"')}),
    )
    imported = take(clash, series, megatron="2.0")

    assert (imported.ok, [problem.path for problem in imported.problems]) == (False, [path_of("mode")])
    assert "it fits v2.0, not what the series leaves of it" in imported.problems[0].message
    assert contents(series) == before


def test_a_series_without_versions_of_its_own_is_refused(series: Path, diff: Path) -> None:
    (series.parents[1] / "upstream_versions.yaml").unlink()
    with pytest.raises(StoreError, match="of its own to write the base into"):
        take(diff, series, megatron="0.16.1")


def test_an_empty_file_comes_along_with_the_first_patch(tmp_path: Path, repository: Path) -> None:
    text = git_diff(repository, {**CHANGED, "empty": b""})
    imported = take(write(tmp_path / "x.patch", text), tmp_path / "series", repository=repository, split=True)

    assert path_of("empty") in imported.patches[0].files
    assert after(tmp_path / "series") == {**EXPECTED, path_of("empty"): blob_id(b"")}


def test_a_name_that_the_series_has_is_refused(series: Path, diff: Path) -> None:
    with pytest.raises(UsageError, match="has a patch 'grads' already"):
        take(diff, series, megatron="2.0", name="grads")


# What cannot be imported leaves nothing behind.


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", PatchFormatError),
        ("no diff\n", PatchFormatError),
        ("\0\1\2", PatchFormatError),
        ("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", PatchFormatError),
        ("--- /x\n+++ /x\n@@ -1 +1 @@\n-a\n+b\n", PatchFormatError),
        ("diff --git a/x b/x\nindex 1234567..7654321\nGIT binary patch\n", PatchFormatError),
        (f"diff --git a/{path_of('mode')} b/{path_of('mode')}\nold mode 100644\nnew mode 100755\n", PatchFormatError),
        ("diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n", PatchFormatError),
        ('--- "a/\\377"\n+++ "b/\\377"\n@@ -1 +1 @@\n-a\n+b\n', PatchFormatError),
    ],
)
def test_what_is_no_patch_is_refused_and_nothing_is_written(
    tmp_path: Path, repository: Path, text: str, error: type[Exception]
) -> None:
    path = write(tmp_path / "bad.patch", text)
    with pytest.raises(error):
        take(path, tmp_path / "series", repository=repository, revision="main")

    assert not (tmp_path / "series").exists()


def test_a_file_that_cannot_be_read_or_is_huge_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="cannot read"):
        take(tmp_path / "nothing.patch", tmp_path / "series")
    huge = tmp_path / "huge.patch"
    with huge.open("wb") as stream:
        stream.truncate(257 * 2**20)
    with pytest.raises(UsageError) as error:
        take(huge, tmp_path / "series")
    assert str(error.value) == f"{huge} is too large; a patch of at most 256 MiB and 8,000,000 lines is imported"


@pytest.mark.parametrize("name", ["Big", "a b", "-x", "a/b", ""])
def test_a_name_that_no_patch_can_have_is_usage(tmp_path: Path, diff: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a patch"):
        take(diff, tmp_path / "series", name=name)


ROOM = "'{}' cannot be the name of a patch: patchkit has a folder of that name for itself"


@pytest.mark.parametrize("name", ["generated", "resolutions", "review", "settled"])
def test_no_patch_is_called_like_a_folder_of_a_series_or_of_a_rebase(
    tmp_path: Path, repository: Path, diff: Path, name: str
) -> None:
    named = write(tmp_path / f"{name}.patch", diff.read_text())
    with pytest.raises(UsageError) as asked:
        take(diff, tmp_path / "series", repository=repository, name=name)
    with pytest.raises(UsageError) as of_the_file:
        take(named, tmp_path / "series", repository=repository)

    assert (asked.value.message, asked.value.hint) == (ROOM.format(name), "give it another name")
    assert (of_the_file.value.message, of_the_file.value.hint) == (
        ROOM.format(name),
        "give it another one with --name",
    )
    assert not (tmp_path / "series").exists()


def test_of_several_mails_one_with_such_a_subject_gets_a_number(tmp_path: Path, repository: Path) -> None:
    text = mails(repository, {"config": FLAGGED}, {"mode": QUIET}).replace("Step 0", "Review")
    imported = take(write(tmp_path / "x.mbox", text), tmp_path / "series", repository=repository)

    assert [patch.name for patch in imported.patches] == ["review-2", "step-1"]


def test_name_and_split_exclude_each_other(tmp_path: Path, diff: Path) -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        take(diff, tmp_path / "series", name="x", split=True)
