from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from patchkit.core.blobs import blob_id
from patchkit.errors import DamagedCloneError, TreeError
from patchkit.trees.release_tags import ReleaseTag, blobs_at, release_tags

from .repositories import git, put, record, tree_of
from .snapshots import lay, snapshot

ONE, TWO = b"one\n", b"two\n"
DAY = "2026-01-02"
CORE = "core_v{version}"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits: the second changes a file and has one more."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "uploadpack.allowFilter", "true")
    git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    record(lay(folder, {"a/x.py": ONE}), "one")
    git(folder, "tag", "core_v1.0.0")
    record(lay(folder, {"a/x.py": TWO, "a/y.py": ONE}), "two")
    return folder


def commits(repository: Path) -> tuple[str, str]:
    return git(repository, "rev-parse", "main~1"), git(repository, "rev-parse", "main")


def test_release_tags_come_by_version_with_commit_and_day_whatever_kind_of_tag_they_are(repository: Path) -> None:
    one, two = commits(repository)
    git(repository, "tag", "-a", "-m", "annotated", "core_v0.10.0", one)
    git(repository, "tag", "core_v0.9.0rc1", two)
    for other in ("core_vnext", "core_r0.5.0", "v2.6", "other/core_v3.0"):
        git(repository, "tag", other)
    git(repository, "tag", "core_v4.0", f"{one}^{{tree}}")

    assert release_tags(repository, CORE) == (
        ReleaseTag("core_v0.9.0rc1", "0.9.0rc1", two, DAY, pre_release=True),
        ReleaseTag("core_v0.10.0", "0.10.0", one, DAY, pre_release=False),
        ReleaseTag("core_v1.0.0", "1.0.0", one, DAY, pre_release=False),
    )


@pytest.mark.parametrize("kind", ["tag", "commit"])
def test_a_tag_with_another_object_in_its_place_is_told(repository: Path, kind: str) -> None:
    one, two = commits(repository)
    git(repository, "tag", "-a", "-m", "annotated", "core_v2.0", two)
    tag = git(repository, "rev-parse", "core_v2.0")
    contents = {
        "tag": git(repository, "cat-file", "tag", tag).replace(two, one),
        "commit": git(repository, "cat-file", "commit", one),
    }
    name = put(repository, kind.encode(), f"{contents[kind]}\n".encode(), tag if kind == "tag" else two)

    with pytest.raises(TreeError) as caught:
        release_tags(repository, CORE)
    said, _, words = caught.value.message.partition(" (git: ")
    assert said == f"{repository} is damaged: refs/tags/core_v2.0 cannot be read"
    assert f"hash mismatch {name}" in words
    assert caught.value.hint == f"git -C {repository} fsck says what is damaged; a new clone mends it"


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("core_v{version}", ["core_v1.0.0"]),
        ("v{version}", ["v2.6"]),
        ("{version}", ["0.3", "v2.6"]),
        ("release-{version}-final", ["release-4.0-final"]),
    ],
)
def test_a_release_tag_is_written_as_upstream_says(repository: Path, pattern: str, names: list[str]) -> None:
    for other in ("v2.6", "0.3", "release-4.0-final", "release-4.0", "release--final", "release-5.0-later"):
        git(repository, "tag", other)

    assert [tag.name for tag in release_tags(repository, pattern)] == names


def test_the_day_of_a_commit_is_that_of_utc(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trees.repositories.AUTHOR", {"GIT_COMMITTER_DATE": "2026-01-02T23:30:00-01:00"})
    git(repository, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "late")
    git(repository, "tag", "core_v2.0.0")
    # Somewhere else it is the day before still.
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", "XXX+12")
        time.tzset()
        tags = release_tags(repository, CORE)
    time.tzset()

    assert tags[-1].date == "2026-01-03"


def test_a_tag_whose_numbers_have_no_end_is_no_release(repository: Path) -> None:
    commit = git(repository, "rev-parse", "main")
    lines = [f"{commit} refs/tags/core_v2.{'9' * digits}\n" for digits in (4, 5000)]
    (repository / ".git/packed-refs").write_text("".join(lines))

    assert [tag.version for tag in release_tags(repository, CORE)] == ["1.0.0", "2.9999"]


def test_a_repository_without_release_tags_and_without_a_commit_has_none(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")

    assert release_tags(tmp_path, CORE) == ()
    assert blobs_at(tmp_path, {}) == ({}, ())


def test_blob_ids_are_told_by_commit_and_path(repository: Path) -> None:
    one, two = commits(repository)

    assert blobs_at(repository, {one: ["a/x.py", "a/y.py"], two: ["a/y.py", "a/x.py", "a"]}) == (
        {
            one: {"a/x.py": blob_id(ONE), "a/y.py": None},
            two: {"a/y.py": blob_id(ONE), "a/x.py": blob_id(TWO), "a": None},
        },
        (),
    )


@pytest.mark.parametrize(
    "options", [("--bare",), ("--filter=blob:none", "--no-checkout"), ("--bare", "--filter=blob:none")]
)
def test_a_bare_clone_and_one_without_blobs_will_do_and_are_left_as_they_are(
    repository: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    one, two = commits(repository)
    git(tmp_path, "clone", "-q", *options, repository.as_uri(), "clone")
    before = snapshot(tmp_path / "clone")

    assert [tag.commit for tag in release_tags(tmp_path / "clone", CORE)] == [one]
    assert blobs_at(tmp_path / "clone", {one: ["a/x.py", "a/y.py"], two: ["a/x.py"]}) == (
        {one: {"a/x.py": blob_id(ONE), "a/y.py": None}, two: {"a/x.py": blob_id(TWO)}},
        (),
    )
    assert snapshot(tmp_path / "clone") == before


def test_a_shallow_clone_and_one_without_trees_name_the_commits_out_of_reach(repository: Path, tmp_path: Path) -> None:
    one, two = commits(repository)
    git(tmp_path, "clone", "-q", "--depth=1", repository.as_uri(), "shallow")
    git(tmp_path, "clone", "-q", "--filter=tree:0", "--no-checkout", repository.as_uri(), "treeless")
    before = snapshot(tmp_path / "treeless")
    wanted = {one: ["a/x.py"], two: ["a/x.py"]}

    assert blobs_at(tmp_path / "shallow", wanted) == ({two: {"a/x.py": blob_id(TWO)}}, (one,))
    assert blobs_at(tmp_path / "treeless", wanted) == ({}, (one, two))
    assert snapshot(tmp_path / "treeless") == before


@pytest.mark.parametrize("folder", ["", "a"])
def test_a_commit_with_another_folder_in_the_place_of_one_is_out_of_reach(repository: Path, folder: str) -> None:
    one, two = commits(repository)
    real = git(repository, "rev-parse", f"{two}:{folder}")
    put(repository, b"tree", tree_of(repository, f"{one}:{folder}"), real)

    assert blobs_at(repository, {one: ["a/x.py"], two: ["a/x.py"]}) == ({one: {"a/x.py": blob_id(ONE)}}, (two,))


def test_a_folder_that_is_no_clone_and_a_broken_one_are_errors(repository: Path, tmp_path: Path) -> None:
    one, _ = commits(repository)
    with pytest.raises(TreeError) as caught:
        release_tags(tmp_path, CORE)
    assert caught.value.message == f"{tmp_path} is not a git repository"

    shutil.rmtree(repository / ".git" / "objects")
    (repository / ".git" / "objects").mkdir()
    with pytest.raises(DamagedCloneError) as caught:
        release_tags(repository, CORE)
    assert caught.value.message == (
        f"{repository} is damaged: its release tags cannot be read (git: fatal: missing object {one} for "
        "refs/tags/core_v1.0.0)"
    )
    assert blobs_at(repository, {one: ["a/x.py"]}) == ({}, (one,))
