from __future__ import annotations

import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from trees.repositories import git, record
from trees.snapshots import contents, lay
from trees.wheels import make_wheel

from patchkit.core.blobs import blob_id
from patchkit.core.report import Problem
from patchkit.core.upstream import Target
from patchkit.core.upstream_report import FoundRelease
from patchkit.errors import DigestMismatchError, IndexUnavailableError, UsageError
from patchkit.operations import sources, update_versions
from patchkit.operations.discover import Discovered
from patchkit.operations.regenerate import regenerate
from patchkit.operations.sources import load_workspace
from patchkit.operations.status import status
from patchkit.operations.supported import supported
from patchkit.operations.update_versions import Updated, packages, update
from patchkit.store.versions import load_versions
from patchkit.trees.index_listing import ListedRelease

from . import made_up

BUFFER, CONFIG, MODE, VERSION = (f"megatron/core/{name}.py" for name in ("buffer", "config", "mode", "version"))
DAY = "2026-05-01"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache of wheels that no index is needed for."""
    return tmp_path / "cache"


def on_index(cache: Path, version: str, content: dict[str, bytes], /, **told: object) -> ListedRelease:
    """A release whose wheel is in the cache."""
    wheel = make_wheel(cache / "made", version, files=content)
    digest = made_up.sha256(wheel.read_bytes())
    lay(cache / "wheels" / digest, {wheel.name: wheel.read_bytes()})
    shutil.rmtree(cache / "made")
    listed = ListedRelease(version=version, date=DAY, python=">=3.10", files={wheel.name: digest})
    return replace(listed, **told)  # type: ignore[arg-type]


def discovered(*releases: ListedRelease, tags: dict[str, str] | None = None) -> Discovered:
    """What discover gives for releases on the index, some with a tag at a commit."""
    found = [
        FoundRelease(
            version=listed.version,
            where=("index",),
            date=listed.date,
            tag=f"core_v{listed.version}" if tags and listed.version in tags else None,
            commit=tags.get(listed.version) if tags else None,
            yanked=listed.yanked,
        )
        for listed in releases
    ]
    by_version = {listed.version: listed for listed in releases}
    return Discovered(found=tuple(found), problems=(), notes=(), releases=by_version, index=True, tags=tags is not None)


def versions_file(series: Path) -> Path:
    return series.parents[1] / "upstream_versions.yaml"


def entry(listed: ListedRelease, *lines: str) -> str:
    """The text of an entry: ``lines`` from the tag to ships or blobs, then the files."""
    files = [f"        {name}: {digest}" for name, digest in listed.files.items()]
    return "".join(f"{line}\n" for line in (f'    - version: "{listed.version}"', *lines, "      files:", *files))


def test_a_release_is_added_in_the_form_of_the_others_and_comments_stay_where_they_were(
    series: Path, cache: Path
) -> None:
    path = versions_file(series)
    path.write_text(path.read_text().replace("  branches:", "\n  # They move.\n  branches:"))
    old = path.read_text()
    newer = made_up.UPSTREAM["2.0"] | {"megatron/training/a.py": b"", "megatron/core/config.py": b"new\n"}
    last = on_index(cache, "2.1", newer, yanked="wrong version")
    between = on_index(cache, "1.2", made_up.UPSTREAM["1.1"], python="")

    done = update(series, discovered(between, last), cache=cache)
    assert done == Updated((str(path),), ("1.2", "2.1"))
    assert path.read_text() == old.replace(
        "    # The newest one has no tag.\n",
        entry(
            between,
            "      tag: null  # not known: no repository was looked at",
            "      commit: null",
            f"      date: {DAY}",
            '      python: ""  # the index gives no Requires-Python',
            "      ships: [megatron.core]",
            "      blobs:  # the same as in 1.1",
            f"        {BUFFER}: {blob_id(made_up.BUFFER)}",
            f"        {CONFIG}: {blob_id(made_up.CONFIG)}",
        )
        + "    # The newest one has no tag.\n",
    ).replace(
        "\n  # They move.\n",
        entry(
            last,
            "      tag: null  # not known: no repository was looked at",
            "      commit: null",
            f"      date: {DAY}",
            '      python: ">=3.10"',
            "      yanked: wrong version",
            "      ships: [megatron.core, megatron.training]",
            "      blobs:",
            f"        {BUFFER}: {blob_id(made_up.BUFFER_2)}",
            f"        {CONFIG}: {blob_id(newer[CONFIG])}",
            f"        {MODE}: {blob_id(made_up.MODE)}",
        )
        + "\n  # They move.\n",
    )


def test_recorded_are_the_files_that_the_series_touches_there_and_those_recorded_of_the_release_below(
    series: Path, cache: Path, tmp_path: Path
) -> None:
    news = discovered(on_index(cache, "2.1", made_up.UPSTREAM["2.0"]))
    # Nothing is recorded yet.
    bare = made_up.lay_sources(tmp_path / "bare")
    update(bare, news, cache=cache)
    more = versions_file(series)
    more.write_text(more.read_text().replace(f"        {MODE}:", f"        {VERSION}: {'a' * 40}\n        {MODE}:"))
    update(series, news, cache=cache)

    recorded = [list(load_versions(versions_file(folder)).upstream.releases[-1].blobs) for folder in (bare, series)]
    assert recorded == [[BUFFER, CONFIG, MODE], [BUFFER, CONFIG, MODE, VERSION]]


def test_a_second_update_and_one_without_news_change_no_byte_and_the_lock_is_never_touched(
    series: Path, cache: Path
) -> None:
    before = contents(series.parents[1])
    news = discovered(on_index(cache, "2.1", made_up.UPSTREAM["2.0"]))
    update(series, news, cache=cache)
    after = contents(series.parents[1])

    assert [path for path in after if after[path] != before[path]] == ["upstream_versions.yaml"]
    assert update(series, news, cache=cache) == Updated()
    assert update(series, discovered(), cache=cache) == Updated()
    assert contents(series.parents[1]) == after


def test_a_release_that_is_listed_and_not_in_the_lock_is_no_target_yet_and_disturbs_no_other(
    series: Path, cache: Path
) -> None:
    made_up.fill_cache(cache)
    before = [row.target for row in supported(load_workspace(series))]
    update(series, discovered(on_index(cache, "2.1", made_up.UPSTREAM["2.0"])), cache=cache)
    workspace = load_workspace(series)

    assert [row.target for row in supported(workspace)] == before
    assert workspace.target("2.0").name == "2.0"
    for asked in ("2.1", "latest"):
        with pytest.raises(UsageError) as caught:
            workspace.target(asked)
        assert caught.value.message == "v2.1 is known, but the series was not made for it"
    # Its files are those of 2.0, and so they are known.
    assert status(workspace, made_up.tree("2.0")).target == "2.0"


def test_regenerate_brings_a_listed_release_into_the_lock_where_a_variant_fits(series: Path, cache: Path) -> None:
    made_up.fill_cache(cache)
    update(series, discovered(on_index(cache, "2.1", made_up.UPSTREAM["2.0"])), cache=cache)
    listed = versions_file(series).read_bytes()
    files = (str(series / "generated" / "core_v2.1.patch"), str(series / "lock.yaml"))

    check = regenerate(series, check=True, cache=cache)
    assert (check.ok, check.written, check.problems) == (False, files, ())
    assert regenerate(series, cache=cache).written == files
    assert load_workspace(series).target("latest").name == "2.1"
    # What update recorded is what regenerate would.
    assert versions_file(series).read_bytes() == listed


def test_regenerate_says_what_is_wrong_with_a_listed_release_that_no_variant_fits(series: Path, cache: Path) -> None:
    made_up.fill_cache(cache)
    other = made_up.UPSTREAM["2.0"] | {BUFFER: b"other\n"}
    update(series, discovered(on_index(cache, "2.1", other)), cache=cache)
    before = contents(series)
    done = regenerate(series, check=True, cache=cache)

    assert (done.ok, [problem.partition(":")[0] for problem in done.problems]) == (False, ["v2.1"])
    assert contents(series) == before


def test_a_tag_is_recorded_when_it_has_the_files_of_the_wheel(series: Path, cache: Path, tmp_path: Path) -> None:
    made_up.repository(tmp_path / "repository")
    commit = git(tmp_path / "repository", "rev-parse", "core_v1.1")
    news = discovered(on_index(cache, "2.1", made_up.UPSTREAM["1.1"]), tags={"2.1": commit})

    assert update(series, news, repository=tmp_path / "repository", cache=cache).added == ("2.1",)
    assert f"      tag: core_v2.1\n      commit: {commit}\n" in versions_file(series).read_text()


def test_a_wheel_with_other_files_than_its_tag_is_not_added_and_the_others_are(
    series: Path, cache: Path, tmp_path: Path
) -> None:
    repository = tmp_path / "repository"
    made_up.repository(repository)
    commit = record(lay(repository, {BUFFER: b"other\n"}), "other")
    bad = on_index(cache, "2.1", made_up.UPSTREAM["main"])
    good = on_index(cache, "2.2", made_up.UPSTREAM["main"])
    done = update(series, discovered(bad, good, tags={"2.1": commit}), repository=repository, cache=cache)

    assert (done.added, done.problems) == (
        ("2.2",),
        (
            Problem(
                f"v2.1 is not added: {BUFFER} in its wheel is not that of the tag core_v2.1",
                path=BUFFER,
                hint="find out which one upstream means, and enter the release by hand",
            ),
        ),
    )
    assert "      tag: null  # the repository had none\n" in versions_file(series).read_text()


def test_a_tag_whose_files_are_out_of_reach_is_a_problem_and_not_taken_on_trust(
    series: Path, cache: Path, tmp_path: Path
) -> None:
    repository = tmp_path / "repository"
    made_up.repository(repository)
    before = contents(series.parents[1])
    news = discovered(on_index(cache, "2.1", made_up.UPSTREAM["2.0"]), tags={"2.1": "9" * 40})

    assert update(series, news, repository=repository, cache=cache) == Updated(
        problems=(
            Problem(
                f"v2.1 is not added: {repository} lacks objects of core_v2.1",
                hint=f"its wheel is compared with them: git -C {repository} fetch --tags",
            ),
        )
    )
    assert contents(series.parents[1]) == before


def test_what_cannot_be_an_entry_yet_is_left_with_the_reason(series: Path, cache: Path) -> None:
    before = contents(series.parents[1])
    without_digests = on_index(cache, "2.1", made_up.UPSTREAM["2.0"], files={})
    without_date = on_index(cache, "2.2", made_up.UPSTREAM["2.0"], date="")
    news = discovered(without_digests, without_date)
    tag = FoundRelease(version="2.3", where=("tag",), date=DAY, tag="core_v2.3", commit="1" * 40)

    day = "--git REPO gives the day of its tag's commit"
    assert update(series, replace(news, found=(*news.found, tag)), cache=cache) == Updated(
        notes=(
            "v2.1 is not added: the package index does not tell the SHA-256 of its wheels",
            f"v2.2 is not added: the package index does not tell when it was uploaded; {day}",
            "v2.3 is not added: tag core_v2.3 has no wheel on the package index that answered",
        )
    )
    assert contents(series.parents[1]) == before


def test_the_day_of_the_tag_stands_in_for_an_upload_that_the_index_does_not_date(
    series: Path, cache: Path, tmp_path: Path
) -> None:
    made_up.repository(tmp_path / "repository")
    commit = git(tmp_path / "repository", "rev-parse", "core_v1.1")
    news = discovered(on_index(cache, "2.1", made_up.UPSTREAM["1.1"], date=""), tags={"2.1": commit})
    dated = replace(news, found=tuple(structs.replace(found, date=DAY) for found in news.found))
    update(series, dated, repository=tmp_path / "repository", cache=cache)

    said = "of the tag's commit: the index gives none"
    assert f"      date: {DAY}  # {said}\n" in versions_file(series).read_text()


def test_one_wheel_that_cannot_be_had_keeps_all_from_being_written(series: Path, cache: Path) -> None:
    before = contents(series.parents[1])
    good = on_index(cache, "2.1", made_up.UPSTREAM["2.0"])
    absent = replace(good, version="2.2", files={"megatron_core-2.2-py3-none-any.whl": "0" * 64})

    with pytest.raises(IndexUnavailableError):
        update(series, discovered(good, absent), cache=cache)
    assert contents(series.parents[1]) == before


def test_releases_are_fetched_at_the_same_time_and_of_several_errors_the_first_release_has_its_own(
    series: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(series.parents[1])
    names = ("2.1", "2.2", "2.3")
    listed = [ListedRelease(version=name, date=DAY, files={f"{name}.whl": "0" * 64}) for name in names]
    errors = {name: IndexUnavailableError(name) for name in names[1:]}
    # Whoever is not there with the others breaks it.
    together = threading.Barrier(3, timeout=60)
    done = {name: threading.Event() for name in names}

    def fetch(_versions: object, target: Target, **_: object) -> Path:
        together.wait()
        if target.name == "2.2":
            done["2.3"].wait(60)
        done[target.name].set()
        if target.name in errors:
            raise errors[target.name]
        return cache

    monkeypatch.setattr(sources, "fetch_release", fetch)
    wheel = make_wheel(cache, "2.1", files=made_up.UPSTREAM["2.0"])
    monkeypatch.setattr(update_versions, "fetch_release", lambda *_, **__: wheel)
    with pytest.raises(IndexUnavailableError) as caught:
        update(series, discovered(*listed), cache=cache)
    assert caught.value is errors["2.2"]
    assert contents(series.parents[1]) == before


def test_a_wheel_that_is_not_what_the_index_said_keeps_all_from_being_written(
    series: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(series.parents[1])
    wheel = make_wheel(tmp_path / "links", "2.1", files=made_up.UPSTREAM["2.0"])
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    listed = ListedRelease(version="2.1", date=DAY, files={wheel.name: "0" * 64})

    with pytest.raises(DigestMismatchError):
        update(series, discovered(listed), cache=cache)
    assert contents(series.parents[1]) == before


def test_a_series_without_a_file_of_its_own_and_an_installed_one_are_refused(
    series: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    news = discovered(on_index(cache, "2.1", made_up.UPSTREAM["2.0"]))
    path = versions_file(series)
    monkeypatch.setattr("patchkit.store.location._PACKAGE", series.parents[1].parent)
    data = series.parents[1].parent / "data"
    shutil.copytree(series.parents[1], data)
    for folder, message in (
        (data / "patches" / "megatron", f"{data}/upstream_versions.yaml belongs to the installed patchkit"),
        (series, f"{series} has no upstream_versions.yaml of its own"),
    ):
        path.unlink(missing_ok=True)
        before = contents(data)
        with pytest.raises(UsageError) as caught:
            update(folder, news, cache=cache)
        assert caught.value.message.startswith(message)
        assert contents(data) == before


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["megatron/core/__init__.py", "megatron/training/deep/a.py", "megatron/training/b.py"], "core training"),
        (["megatron/core/a/b.py"], "core.a"),
        (["megatron/core/data.txt", "megatron/core/x.so"], ""),
    ],
)
def test_packages_are_the_first_folders_with_a_module(paths: list[str], found: str) -> None:
    info = ["megatron_core-1.dist-info/METADATA", "megatron_core-1.data/scripts/a.py", "top.py"]

    assert packages([*info, *paths]) == tuple(f"megatron.{name}" for name in found.split())
