"""Edits anywhere in a whole checkout, captured into a series that was made for a commit of its repository."""

from __future__ import annotations

from pathlib import Path

import pytest
from trees.repositories import git, record
from trees.snapshots import contents, lay

from patchkit.errors import UsageError
from patchkit.operations.capture import capture
from patchkit.operations.capture_report import Captured
from patchkit.operations.import_patch import import_patches
from patchkit.operations.make import apply_export
from patchkit.operations.sources import load_workspace
from patchkit.store.series import load_series
from patchkit.trees.directory import DirectoryTree

from . import made_up

FILES = {
    **made_up.UPSTREAM["2.0"],
    "README.md": b"Read me.\n",
    "pretrain.py": b"import megatron\n\n\ndef main():\n    pass\n",
    "tools/run.sh": b"run\n",
    "docs/logo.png": b"\x89PNG\0",
    ".gitignore": b"*.so\nwandb/\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "repository"
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    lay(place, FILES)
    record(place, "all")
    return place


@pytest.fixture
def series(tmp_path: Path, repository: Path) -> Path:
    """A series of one patch."""
    lay(repository, {made_up.path_of("config"): made_up.PATCHED_CONFIG})
    diff = tmp_path / "start.patch"
    diff.write_text(git(repository, "diff") + "\n")
    git(repository, "checkout", "-q", ".")
    assert import_patches([diff], tmp_path / "series", today="2026-11-30", repository=repository).ok
    return tmp_path / "series"


@pytest.fixture
def target(repository: Path) -> str:
    return git(repository, "rev-parse", "main")[:8]


@pytest.fixture
def tree(tmp_path: Path, repository: Path, series: Path) -> Path:
    """The commit with the series, as a folder."""
    place = tmp_path / "tree"
    workspace = load_workspace(series)
    assert apply_export(workspace, repository, "main", place, asked=None, patches=(), dry_run=False).ok
    return place


def take(tree: Path, series: Path, target: str, repository: Path, **options: object) -> Captured:
    return capture(
        DirectoryTree(tree),
        series,
        target,
        today="2026-11-30",
        repository=repository,
        place=tree,
        **options,  # type: ignore[arg-type]  # as named
    )


def test_what_was_not_edited_is_unchanged(tree: Path, series: Path, target: str, repository: Path) -> None:
    before = contents(series)
    captured = take(tree, series, target, repository)

    assert (captured.verdict, captured.notes, captured.written) == ("unchanged", (), ())
    assert contents(series) == before


def test_edits_and_new_texts_outside_the_package_are_offered_and_taken(
    tree: Path, series: Path, target: str, repository: Path, tmp_path: Path
) -> None:
    edits = {
        "pretrain.py": FILES["pretrain.py"].replace(b"pass", b"megatron.run()"),
        "megatron/core/default.yaml": b"size: 1\n",
        "tools/more/new.jinja": b"{{ it }}\n",
    }
    lay(tree, edits)
    asked = take(tree, series, target, repository)
    done = take(tree, series, target, repository, new="own", include=("tools/",))
    workspace = load_workspace(series)
    again = tmp_path / "again"
    assert apply_export(workspace, repository, "main", again, asked=None, patches=(), dry_run=False).ok

    assert [(one.path, one.line, one.message) for one in asked.problems] == [
        ("megatron/core/default.yaml", None, "the file is new, and no patch touches it"),
        ("pretrain.py", 5, "an edit in main: no patch is near"),
    ]
    assert asked.notes == ("not upstream's, and not compared (--include GLOB takes them): tools/more/",)
    assert [(hunk.patch, hunk.path, hunk.action) for hunk in done.hunks] == [
        ("own", "megatron/core/default.yaml", "new"),
        ("own", "pretrain.py", "new"),
        ("own", "tools/more/new.jinja", "new"),
    ]
    assert {path: contents(again)[path] for path in edits} == edits
    assert take(again, series, target, repository).verdict == "unchanged"


def test_files_that_are_gone_leave_with_a_patch(tree: Path, series: Path, target: str, repository: Path) -> None:
    (tree / "README.md").unlink()
    captured = take(tree, series, target, repository, new="own")

    assert [(hunk.path, hunk.action) for hunk in captured.hunks] == [("README.md", "new")]
    (file,) = load_series(series).patch("own").variant(f"{target}.patch").files
    assert (file.old_path, file.new_path) == ("README.md", None)


@pytest.mark.parametrize(
    ("path", "content", "line", "message"),
    [
        ("docs/logo.png", b"\x89PNG\0\0", None, "the file is edited, and binary"),
        ("pretrain.py", b"import megatron\0\n", None, "the file is edited, and binary"),
        ("tools/data.bin", b"\0", None, "the file is new, and binary"),
        ("pretrain.py", b"import megatron\n\ndef main(:\n", 3, "the edited file is no Python: invalid syntax"),
        (made_up.path_of("config"), b"class\n", 1, "the edited file is no Python: invalid syntax"),
    ],
)
def test_what_cannot_be_taken_is_refused_by_name_and_nothing_is_written(
    tree: Path,
    series: Path,
    target: str,
    repository: Path,
    *,
    path: str,
    content: bytes,
    line: int | None,
    message: str,
) -> None:
    before = contents(series)
    lay(tree, {path: content, "README.md": b"Read this.\n"})
    captured = take(tree, series, target, repository, new="own")
    without = take(tree, series, target, repository, new="own", exclude=(path,), dry_run=True)

    assert (captured.ok, [(one.path, one.line) for one in captured.problems]) == (False, [(path, line)])
    assert captured.problems[0].message.startswith(message)
    assert contents(series) == before
    assert [hunk.path for hunk in without.hunks] == ["README.md"]
    assert without.notes == (f"left out by --exclude: {path}",)


def test_an_empty_new_file_is_refused_with_what_to_do(tree: Path, series: Path, target: str, repository: Path) -> None:
    lay(tree, {"tools/empty.txt": b""})
    captured = take(tree, series, target, repository, new="own")

    assert [(one.path, one.message, one.hint) for one in captured.problems] == [
        (
            "tools/empty.txt",
            "the file is new and empty: a patch cannot say that by a hunk",
            "put a line into it, or leave it out with --exclude tools/empty.txt",
        )
    ]


def test_what_git_ignores_is_left_out_in_an_exported_tree_and_in_a_checkout(
    tree: Path, series: Path, target: str, repository: Path
) -> None:
    left = {"megatron/core/lib.so": b"\0", "wandb/run.py": b"run\n"}
    lay(tree, left)
    lay(repository, {**left, made_up.path_of("config"): made_up.PATCHED_CONFIG})
    notes = ("ignored by git, and left out: megatron/core/lib.so, wandb/run.py",)

    assert [take(place, series, target, repository).notes for place in (tree, repository)] == [notes, notes]


def test_a_checkout_is_its_own_repository_once_it_is_named(series: Path, target: str, repository: Path) -> None:
    edits = {made_up.path_of("config"): made_up.PATCHED_CONFIG, "README.md": b"Read this.\n"}
    lay(repository, edits)
    with pytest.raises(UsageError) as caught:
        capture(DirectoryTree(repository), series, target, today="2026-11-30", place=repository)

    assert caught.value.hint == f"add --git {repository}"
    assert [hunk.path for hunk in take(repository, series, target, repository, new="own").hunks] == ["README.md"]


def test_a_mode_that_was_changed_is_told(tree: Path, series: Path, target: str, repository: Path) -> None:
    (tree / "tools" / "run.sh").chmod(0o755)
    captured = take(tree, series, target, repository)

    assert captured.verdict == "unchanged"
    assert captured.notes == ("executable or not, which no diff of a series can say, and not captured: tools/run.sh",)


def test_a_release_says_what_its_wheel_has_not(tmp_path: Path) -> None:
    series = made_up.lay_series(tmp_path / "root")
    place = tmp_path / "repository"
    made_up.repository(place)
    git(place, "checkout", "-q", "core_v1.1")
    lay(place, {**made_up.PATCHED["1.1"], "setup.py": b"setup\n"})
    record(place, "a checkout with more than the package")
    git(place, "tag", "-f", "core_v1.1")
    lay(place, {"setup.py": b"setup = 1\n"})
    captured = capture(
        DirectoryTree(place), series, "1.1", today="2026-11-30", repository=place, place=place, new="own"
    )

    assert [(one.path, one.message) for one in captured.problems] == [
        ("setup.py", "the file is edited, and the wheel of v1.1 has no such file: it ships megatron.core")
    ]
