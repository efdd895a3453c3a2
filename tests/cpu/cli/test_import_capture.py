"""A foreign patch from the command line into a series, an edit of the tree, and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from operations import made_up as texts
from operations.made_up import path_of
from trees.repositories import git
from trees.snapshots import contents, lay

from .conftest import Command


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    texts.repository(tmp_path / "repository")
    return tmp_path / "repository"


@pytest.fixture
def foreign(tmp_path: Path, repository: Path) -> Path:
    git(repository, "checkout", "-q", "main~1")
    lay(repository, {path_of("config"): texts.CONFIG.replace(b"size = 1\n", b"size = 1\n    keep_quiet = False\n")})
    lay(repository, {path_of("mode"): texts.MODE.replace(b'"torch"', b'keep_quiet or "torch"')})
    (tmp_path / "big.patch").write_text(git(repository, "diff") + "\n")
    git(repository, "checkout", "-q", "-f", "main")
    return tmp_path / "big.patch"


def test_a_patch_is_imported_applied_edited_and_captured(
    patchkit: Command, foreign: Path, repository: Path, tmp_path: Path
) -> None:
    series, tree = tmp_path / "series", tmp_path / "tree"
    # Neither file differs between 2.0 and the branch.
    oldest, commit = git(repository, "rev-parse", "main~1", "main").split()
    imported = patchkit("import", foreign, "--git", repository, "--patches", series)

    how = f"every index line names its text in the 2 commits {oldest[:9]}..{commit[:9]}"
    assert (imported.code, imported.out.splitlines()) == (
        0,
        [
            f"{foreign}: 2 hunks in 2 files",
            f"base: {commit[:8]} (commit {commit[:9]}), {how}; index lines that name its text: 2 of 2",
            f"note: {commit[:8]} is new in upstream_versions.yaml (as of 1.1)",
            "patch:",
            "  name  hunks  files      lines  why",
            "  big       2      2      +2/-1  all of it",
            f"{series}: 6 files written",
            f"next: patchkit lint --patches {series} names the texts that you have to write",
        ],
    )
    assert patchkit("apply", "--patches", series, "--git", repository, "--megatron", commit[:8], "--to", tree).code == 0
    arguments = ("--from", tree, "--megatron", commit[:8], "--git", repository, "--patches", series)
    before = contents(series)
    unchanged = patchkit("capture", *arguments)

    assert (unchanged.code, unchanged.out) == (0, f"{tree}: exactly {commit[:8]} with the series; nothing to capture\n")
    assert contents(series) == before
    config = tree / path_of("config")
    config.write_text(config.read_text().replace("keep_quiet = False", "keep_quiet = None"))
    captured = patchkit("capture", *arguments)

    assert (captured.code, captured.out.splitlines()) == (
        0,
        [
            f"big: {path_of('config')}, hunk config-keep-quiet: changed",
            f"big: variants/{commit[:8]}.patch for {commit[:8]}",
            f"{series}: 3 files written",
        ],
    )
    assert patchkit("regenerate", "--check", "--patches", series, "--git", repository).code == 0
    config.write_text(texts.CONFIG.decode())
    lost = patchkit("capture", *arguments)

    assert (lost.code, lost.out) == (1, "nothing was written\n")
    assert "error: big: hunk config-keep-quiet: the edits take this hunk out" in lost.err
    again = f"patchkit capture --from {tree} --megatron {commit[:8]} --patches {series} --git {repository}"
    assert f"{again} --drop-hunks" in lost.err


def test_answers_are_json_on_request(patchkit: Command, foreign: Path, repository: Path, tmp_path: Path) -> None:
    series = tmp_path / "series"
    ran = patchkit(
        "import", foreign, "--git", repository, "--patches", series, "--split", "--dry-run", "--format", "json"
    )
    answer = json.loads(ran.out)

    assert (ran.code, answer["schema"], answer["command"], answer["ok"], answer["verdict"]) == (
        0,
        1,
        "import",
        True,
        "would-import",
    )
    assert [patch["name"] for patch in answer["patches"]] == ["keep-quiet"]
    assert not series.exists()


def test_a_repair_is_told_with_its_line(patchkit: Command, foreign: Path, repository: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.patch"
    damaged.write_text(
        "".join("\n" if line == " \n" else line for line in foreign.read_text().splitlines(keepends=True))
    )
    ran = patchkit("import", damaged, "--git", repository, "--patches", tmp_path / "series", "--dry-run")
    lines = [number for number, line in enumerate(damaged.read_text().splitlines(), 1) if not line]
    first = [line for line in lines if line < damaged.read_text().splitlines().index(f"--- a/{path_of('mode')}")]

    assert ran.code == 0
    assert (
        f"  {damaged}:{','.join(map(str, first))}: {path_of('config')}, hunk 1: "
        "a blank context line had lost its leading space"
    ) in ran.out.splitlines()


def test_a_folder_of_mails_is_a_patch_each_in_their_order(
    patchkit: Command, foreign: Path, repository: Path, tmp_path: Path
) -> None:
    git(repository, "checkout", "-q", "-b", "work", "main~1")
    for number in (1, 2):
        lay(repository, {path_of("config"): texts.CONFIG + b"    more = %d\n" % number})
        git(repository, "commit", "-q", "-a", "-m", f"Step {number}")
    git(repository, "format-patch", "-q", "--cover-letter", "-o", str(tmp_path / "mails"), "main~1")
    git(repository, "checkout", "-q", "main")
    ran = patchkit("import", tmp_path / "mails", "--git", repository, "--patches", tmp_path / "series")

    assert (ran.code, ran.out.splitlines()[0]) == (0, f"{tmp_path / 'mails'}: 2 hunks in 1 file")
    assert "note: 0000-cover-letter.patch: a cover letter, and left out" in ran.out.splitlines()
    assert [line.split()[0] for line in ran.out.splitlines() if line.startswith("  step")] == ["step-1", "step-2"]


def test_a_bare_diff_without_index_lines_needs_the_name_of_its_base_and_no_git(
    patchkit: Command, foreign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = texts.lay_sources(tmp_path / "shipped")
    monkeypatch.setattr("patchkit.operations.known.default_patches", lambda: shipped)
    bare = tmp_path / "bare.patch"
    kept = [line for line in foreign.read_text().splitlines() if not line.startswith(("diff ", "index "))]
    bare.write_text("".join(f"{line}\n" for line in kept))
    asked = patchkit("import", bare, "--patches", tmp_path / "series")
    done = patchkit("import", bare, "--patches", tmp_path / "series", "--megatron", "v2.0")

    assert (asked.code, asked.err.splitlines()[0]) == (
        2,
        "error: the patch has no index lines, so that its base cannot be found out",
    )
    assert (done.code, done.out.splitlines()[:2]) == (
        0,
        [f"{bare}: 2 hunks in 2 files", "base: v2.0, --megatron v2.0"],
    )


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", 3, "is empty"),
        ("garbage\n", 3, "there is no unified diff in this file"),
        ("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", 3, "leads out of the tree"),
        (None, 4, "cannot read"),
    ],
)
def test_what_cannot_be_imported_has_a_code_and_a_reason(
    patchkit: Command,
    repository: Path,
    tmp_path: Path,
    *,
    text: str | None,
    code: int,
    message: str,
) -> None:
    path = tmp_path / "bad.patch"
    if text is not None:
        path.write_text(text)
    ran = patchkit("import", path, "--git", repository, "--base", "main", "--patches", tmp_path / "series")

    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err
    assert not (tmp_path / "series").exists()


def test_where_to_and_from_what_must_be_said(patchkit: Command, foreign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(foreign.parent)

    assert "into which series?" in patchkit("import", foreign).err
    assert patchkit("import").code == 2
    assert patchkit("capture", "--megatron", "2.0").code == 2
