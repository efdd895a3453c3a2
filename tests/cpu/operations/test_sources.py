from __future__ import annotations

import threading
from pathlib import Path

import pytest
from msgspec.structs import replace
from trees.reporters import Told
from trees.repositories import git

from patchkit.core.upstream import Target
from patchkit.errors import IndexUnavailableError, RevisionNotFoundError, StoreError, TreeError, UsageError
from patchkit.operations import sources
from patchkit.operations.locked import Sources
from patchkit.operations.sources import Workspace, cached_release, fetch_release, find_revision, load_workspace
from patchkit.operations.supported import Supported, supported
from patchkit.store.cache import default_cache

from . import made_up


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clone") / "repository"
    made_up.repository(folder)
    return folder


# Targets by the names that people use.


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("1.0", "1.0"),
        ("v1.0", "1.0"),
        ("core_v1.0", "1.0"),
        ("v2.0", "2.0"),
        # The newest that was not yanked.
        ("latest", "2.0"),
        ("main", "main"),
        ("1100000000000000000000000000000000000000", "1.1"),
        ("11000000", "1.1"),
    ],
)
def test_a_target_has_several_names(asked: str, name: str) -> None:
    assert made_up.workspace().target(asked).name == name


@pytest.mark.parametrize("asked", ["", "v", "1", "1.2", "v1.0.0", "core_main", "vmain", "110000"])
def test_a_name_that_is_none_is_a_usage_error_with_those_there_are(asked: str) -> None:
    with pytest.raises(UsageError) as caught:
        made_up.workspace().target(asked)

    assert caught.value.message == f"unknown release {asked!r}"
    assert caught.value.hint == "supported: v1.0, v1.1, v2.0, main"


def test_a_release_that_the_series_was_not_made_for_is_a_usage_error() -> None:
    workspace = made_up.workspace()
    lock = workspace.sources.lock
    without = replace(lock, targets={name: target for name, target in lock.targets.items() if name != "2.0"})

    with pytest.raises(UsageError) as caught:
        Workspace(Sources(workspace.sources.series, without), workspace.versions, workspace.targets).target("2.0")
    assert caught.value.message == "v2.0 is known, but the series was not made for it"


def test_a_lock_that_is_older_than_the_sources_is_an_error_that_names_what_changed(series: Path) -> None:
    file = series / "mode" / "patch.yaml"
    file.write_text(file.read_text() + "# one more line\n")

    with pytest.raises(StoreError) as caught:
        load_workspace(series)
    assert caught.value.message == (
        f"{series}/lock.yaml: series: the lock does not belong to these sources (changed: mode)"
    )
    assert caught.value.hint == f"run `patchkit regenerate --patches {series}`"


def test_a_target_of_the_lock_that_nobody_knows_any_more_is_an_error_that_names_it(series: Path) -> None:
    versions = series.parents[1] / "upstream_versions.yaml"
    text = versions.read_text()
    versions.write_text(text[: text.index("  branches:\n")] + text[text.index("torch-memory-saver:\n") :])

    with pytest.raises(StoreError) as caught:
        load_workspace(series)
    assert caught.value.message == f"{series}/lock.yaml: targets.main: {versions} knows no such target"


# Where releases come from.


def test_a_release_in_the_cache_is_taken_from_there() -> None:
    workspace = made_up.workspace()
    name, content = made_up.wheels()["1.0"]
    wheel = fetch_release(workspace.versions, workspace.named("1.0"))

    assert (wheel.name, wheel.read_bytes()) == (name, content)
    assert cached_release(workspace.named("1.0")) == wheel
    assert cached_release(workspace.named("main")) is None


def test_one_release_that_cannot_be_fetched_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = made_up.workspace()
    out_of_reach = IndexUnavailableError("no answer")
    asked: list[str] = []

    def fetch(_versions: object, target: Target, **_: object) -> Path:
        asked.append(target.name)
        if target.name == "1.1":
            raise out_of_reach
        return tmp_path

    monkeypatch.setattr(sources, "fetch_release", fetch)
    told = Told()
    failed = sources.fetch_releases(workspace.versions, workspace.targets, cache=tmp_path, reporter=told)

    assert failed == {"1.1": out_of_reach}
    assert sorted(asked) == ["1.0", "1.1", "2.0"]  # main is no release
    counts = [f"count: {done} of 3: fetching 3 releases (0.0 MiB)" for done in (1, 2, 3)]
    assert told.lines == ["step: fetching 3 releases", "count: 0 of 3: fetching 3 releases", *counts]


def test_what_went_wrong_is_told_in_the_order_of_the_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = made_up.workspace()
    releases = [target for target in workspace.targets if target.release is not None]
    errors: dict[str, Exception] = {target.name: IndexUnavailableError(target.name) for target in releases}
    done = {target.name: threading.Event() for target in releases}

    def fetch(_versions: object, target: Target, **_: object) -> Path:
        later = releases[releases.index(target) + 1 :]
        if later:
            done[later[0].name].wait(60)
        done[target.name].set()
        raise errors[target.name]

    monkeypatch.setattr(sources, "fetch_release", fetch)
    failed = sources.fetch_releases(workspace.versions, workspace.targets, cache=tmp_path)
    assert list(failed.items()) == list(errors.items())
    errors |= {"1.1": UsageError("1.1"), "2.0": UsageError("2.0")}
    with pytest.raises(UsageError, match=r"1\.1"):
        sources.fetch_releases(workspace.versions, workspace.targets, cache=tmp_path)


def test_what_is_in_the_cache_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = made_up.workspace()
    monkeypatch.delattr(sources, "fetch_release")
    assert sources.fetch_releases(workspace.versions, workspace.targets, cache=default_cache()) == {}


def test_a_branch_is_not_on_the_package_index() -> None:
    workspace = made_up.workspace()
    with pytest.raises(UsageError) as caught:
        fetch_release(workspace.versions, workspace.named("main"))

    assert (caught.value.message, caught.value.hint) == (
        "main is no release on the package index",
        "use --git REPO",
    )


@pytest.mark.parametrize(("python", "fits"), [("3.9", False), ("3.10", True), ("3.12", True)])
def test_a_wheel_to_be_installed_is_only_given_for_a_python_that_the_release_supports(python: str, fits: bool) -> None:
    workspace = made_up.workspace()
    target = workspace.named("2.0")
    assert fetch_release(workspace.versions, target, python=python).is_file()

    if fits:
        assert fetch_release(workspace.versions, target, python=python, exact_platform=True).is_file()
        return
    with pytest.raises(UsageError) as caught:
        fetch_release(workspace.versions, target, python=python, exact_platform=True)
    assert caught.value.message == f"v2.0 needs Python >=3.10, the wheel would be for {python}"


@pytest.mark.parametrize(
    ("megatron", "found"),
    [
        ("1.0", ("core_v1.0", "1.0")),
        ("v1.1", ("core_v1.1", "1.1")),
        ("core_v1.0", ("core_v1.0", "1.0")),
        ("main", ("main", "main")),
        # What upstream_versions.yaml does not know is recognised by its files.
        ("HEAD~1", ("HEAD~1", None)),
    ],
)
def test_a_revision_is_found_by_the_name_that_the_clone_has(
    repository: Path, megatron: str, found: tuple[str, str | None]
) -> None:
    assert find_revision(made_up.workspace(), repository, megatron) == found


def test_a_branch_of_a_fresh_clone_is_found_at_its_origin(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--branch", "core_v1.0", repository, "clone")

    assert find_revision(made_up.workspace(), tmp_path / "clone", "main") == ("origin/main", "main")


def test_a_release_without_a_tag_and_one_that_was_not_fetched_are_told_apart(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--no-tags", repository, "clone")
    for folder, megatron, message in (
        (repository, "2.0", "v2.0 has no public tag"),
        (tmp_path / "clone", "1.0", "v1.0 is not in this clone"),
    ):
        with pytest.raises(RevisionNotFoundError) as caught:
            find_revision(made_up.workspace(), folder, megatron)
        assert caught.value.message == f"{folder}: {message}"


def test_a_folder_that_is_no_clone_and_a_revision_it_does_not_have_are_errors(repository: Path, tmp_path: Path) -> None:
    for folder, megatron in ((tmp_path, "1.0"), (tmp_path, "HEAD"), (repository, "no-such-thing")):
        with pytest.raises(TreeError):
            find_revision(made_up.workspace(), folder, megatron)


# What is supported.


def test_each_target_of_the_lock_is_listed_with_what_the_series_does_there() -> None:
    commit = made_up.workspace().named("main").commit
    variants = {"grads": "v1.patch", "params": "v1.patch", "loose": "v1.patch"}

    assert supported(made_up.workspace()) == (
        Supported(
            "1.0",
            "2026-01-01",
            "",
            ("megatron.core",),
            "core_v1.0",
            "10" + "0" * 38,
            None,
            {**variants, "mode": None},
        ),
        Supported(
            "1.1",
            "2026-02-01",
            ">=3.10",
            ("megatron.core",),
            "core_v1.1",
            "11" + "0" * 38,
            "too early",
            {**variants, "mode": None},
        ),
        Supported(
            "2.0",
            "2026-03-01",
            ">=3.10",
            ("megatron.core", "megatron.training"),
            None,
            None,
            None,
            {**variants, "mode": "v2.patch"},
        ),
        Supported(
            "main",
            "2026-04-01",
            "",
            (),
            None,
            commit,
            None,
            {**variants, "grads": "main.patch", "mode": "v2.patch"},
        ),
    )


def test_a_target_that_is_not_in_the_lock_is_not_listed() -> None:
    workspace = made_up.workspace()
    lock = workspace.sources.lock
    without = replace(lock, targets={"1.1": lock.targets["1.1"]})

    rows = supported(Workspace(Sources(workspace.sources.series, without), workspace.versions, workspace.targets))
    assert [row.target for row in rows] == ["1.1"]
