"""Targets that only patchkit lists, and a series that lists no more than what it was made for."""

from __future__ import annotations

from pathlib import Path

import pytest
from trees.repositories import git
from trees.snapshots import contents, lay

from patchkit.core.rebasing.rebased import Rebased
from patchkit.core.upstream import PinnedCommit, targets
from patchkit.errors import StoreError, UsageError
from patchkit.operations.import_patch import import_patches
from patchkit.operations.known import Known, load_known
from patchkit.operations.lint import lint
from patchkit.operations.rebase import rebase
from patchkit.operations.rebase_run import Surroundings
from patchkit.operations.rebase_session import Request
from patchkit.operations.regenerate import regenerate
from patchkit.operations.upstream_check import Discovery, check_upstream
from patchkit.operations.upstream_targets import Asked
from patchkit.store.series import load_series
from patchkit.store.versions import load_versions

from . import made_up

PATH = made_up.path_of("config")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """With a file outside what the wheels of 1.0 and 1.1 ship."""
    place = tmp_path / "repository"
    made_up.repository(place)
    for tag in ("core_v1.0", "core_v1.1"):
        git(place, "checkout", "-q", tag)
        lay(place, {"megatron/training/run.py": b"RUN = 1\n"})
        git(place, "add", "-A")
        git(place, "commit", "-q", "-m", f"{tag} with more")
        git(place, "tag", "-f", tag)
    git(place, "checkout", "-q", "main")
    return place


@pytest.fixture(autouse=True)
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The list that patchkit ships is that of the made-up Megatron: 1.0, 1.1 (yanked), 2.0 and main."""
    patches = made_up.lay_sources(tmp_path / "shipped")
    versions = patches.parents[1] / "upstream_versions.yaml"
    text = versions.read_text().replace("  branches:\n", COMMIT + "  branches:\n")
    versions.write_text(text)
    monkeypatch.setattr("patchkit.operations.known.default_patches", lambda: patches)
    return versions


COMMIT = f"""\
  commits:
    - name: abcdef01
      commit: {"abcdef01" * 5}
      date: 2026-02-02
      branch: dev
      as-of: "1.5"
      blobs: {{}}
"""


def imported(tmp_path: Path, megatron: str, path: str, lines: bytes, repository: Path | None = None) -> Path:
    """A series of one patch that changes one line, made for one target alone."""
    diff = tmp_path / "own.patch"
    diff.write_bytes(b"--- a/%s\n+++ b/%s\n@@ -1 +1 @@\n%s" % (path.encode(), path.encode(), lines))
    done = import_patches([diff], tmp_path / "series", today="2026-11-30", megatron=megatron, repository=repository)
    assert done.ok
    return tmp_path / "series"


@pytest.fixture
def series(tmp_path: Path) -> Path:
    return imported(tmp_path, "1.0", PATH, b"-    size = 1\n+    size = 2\n")


def carried(series: Path, onto: str, repository: Path | None = None, base: str | None = None) -> Rebased:
    return rebase(series, Request(onto=onto, base=base, repository=repository), Surroundings(today="2026-11-30"))


def listed(series: Path) -> list[str]:
    megatron = load_versions(series / "upstream_versions.yaml").upstream
    return [target.title for target in targets(megatron)]


# What is known.


def test_a_series_lists_its_base_and_knows_the_releases_and_commits_that_patchkit_lists(series: Path) -> None:
    known = load_known(series)

    assert listed(series) == ["v1.0"]
    assert [target.title for target in known.unlisted] == ["v1.1", "v2.0", "abcdef01"]
    assert [target.title for target in known.targets] == ["v1.0", "v1.1", "v2.0", "main", "abcdef01"]
    entry = known.entry(known.unlisted[-1])
    assert isinstance(entry, PinnedCommit)
    assert entry.as_of == "1.5"


def test_a_series_without_a_list_has_that_of_patchkit_and_lacks_nothing(tmp_path: Path, shipped: Path) -> None:
    known = load_known(tmp_path / "elsewhere" / "a" / "b")

    assert (known.own, known.unlisted) == (None, ())
    assert known.built_in == load_versions(shipped)


def test_another_distribution_has_nothing_to_do_with_the_releases_of_this_one(series: Path, shipped: Path) -> None:
    file = series / "upstream_versions.yaml"
    file.write_text(file.read_text().replace("distribution: megatron-core", "distribution: megatron-fork"))

    assert Known(load_versions(file), load_versions(shipped)).unlisted == ()


# Carrying to them.


def test_a_release_that_only_patchkit_lists_is_a_target_by_its_name_and_joins_the_list(series: Path) -> None:
    newest, between = carried(series, "v2.0"), carried(series, "core_v1.1")

    assert [(one.ok, one.target) for one in (newest, between)] == [(True, "2.0"), (True, "1.1")]
    # In the order of versions: the last one is the latest.
    assert listed(series) == ["v1.0", "v1.1", "v2.0"]
    releases = load_versions(series / "upstream_versions.yaml").upstream.releases
    assert [list(release.blobs) for release in releases] == [[PATH]] * 3
    (variant,) = load_series(series).patches[0].document.variants
    assert variant.targets == ("1.0", "2.0", "1.1")
    assert regenerate(series, check=True).ok
    assert {finding.rule for finding in lint(series).findings} == {"unwritten"}


def test_with_a_repository_it_is_the_release_all_the_same(series: Path, repository: Path) -> None:
    assert carried(series, "core_v1.1", repository).target == "1.1"
    assert listed(series) == ["v1.0", "v1.1"]


def test_a_branch_moves_and_is_a_commit_of_the_repository(series: Path, repository: Path) -> None:
    commit = git(repository, "rev-parse", "main")

    assert carried(series, "main", repository, "1.0").target == commit[:8]
    with pytest.raises(UsageError, match="unknown release 'main'"):
        carried(series, "main")


def test_a_release_whose_wheel_lacks_a_file_of_the_series_is_the_commit_of_its_tag(
    tmp_path: Path, repository: Path
) -> None:
    series = imported(tmp_path, "core_v1.0", "megatron/training/run.py", b"-RUN = 1\n+RUN = 2\n", repository)
    before = contents(series)
    with pytest.raises(
        UsageError, match=r"the wheel of v1\.1 has no megatron/training/run\.py: it ships megatron\.core"
    ):
        carried(series, "1.1")
    assert contents(series) == before
    done = carried(series, "1.1", repository)
    commit = git(repository, "rev-parse", "core_v1.1")

    assert (done.ok, done.target) == (True, "core_v1.1")
    (_, entry) = load_versions(series / "upstream_versions.yaml").upstream.commits
    assert (entry.commit, entry.note) == (
        commit,
        "core_v1.1 as it is in git: its wheel has not all of the files",
    )


def test_a_commit_that_only_patchkit_lists_needs_a_repository(series: Path) -> None:
    with pytest.raises(UsageError, match="the text of abcdef01 is out of reach"):
        carried(series, "abcdef01")


def test_a_new_target_is_never_written_into_the_list_that_patchkit_ships(
    series: Path, repository: Path, shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (series / "upstream_versions.yaml").unlink()
    monkeypatch.setattr("patchkit.store.location._data_root", lambda: shipped.parent)
    before = shipped.read_bytes()
    with pytest.raises(StoreError, match=r"there is no upstream_versions\.yaml of its own to write") as caught:
        carried(series, "main~1", repository)

    assert caught.value.hint == f"copy {shipped} into {series}"
    assert shipped.read_bytes() == before


def test_check_upstream_looks_at_the_later_releases_that_patchkit_lists(series: Path) -> None:
    everything = check_upstream(series, Asked(), Discovery())
    named = check_upstream(series, Asked(onto=("v2.0",)), Discovery())

    assert [(target.name, target.state) for target in everything.targets] == [
        ("1.0", "fine"),
        ("1.1", "fine"),
        ("2.0", "fine"),
    ]
    assert [target.name for target in named.targets] == ["2.0"]


def test_check_upstream_says_nothing_of_earlier_releases_that_only_patchkit_lists(tmp_path: Path) -> None:
    series = imported(tmp_path, "2.0", PATH, b"-    size = 1\n+    size = 2\n")
    report = check_upstream(series, Asked(), Discovery())

    assert [target.title for target in load_known(series).unlisted] == ["v1.0", "v1.1", "abcdef01"]
    assert ([target.name for target in report.targets], report.notes) == (["2.0"], ())
