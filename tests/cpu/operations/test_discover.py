from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from trees.indexes import JSON, Index, anchor, html_page, json_file, json_page, lay_index, only_index, quick_settings
from trees.repositories import git, record
from trees.snapshots import lay, snapshot

from patchkit.core.blobs import blob_id
from patchkit.core.memory_saver import MemorySaver
from patchkit.core.report import Problem
from patchkit.core.upstream import Branch, Megatron, Release, VersionsDocument
from patchkit.core.upstream_report import FoundRelease
from patchkit.errors import NotATreeError, TreeError, UsageError
from patchkit.operations.discover import Discovered, discover
from patchkit.store.cache import ContentCache
from patchkit.trees.index_listing import ListedRelease
from patchkit.trees.package_indexes import PackageIndexes

A, B, C = "a" * 64, "b" * 64, "c" * 64
ONE, TWO = b"one\n", b"two\n"
FILE = "megatron/core/x.py"
DAY = "2026-01-02"


def wheel(version: str, tag: str = "py3-none-any") -> str:
    return f"megatron_core-{version}-{tag}.whl"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Tags of 1.0 (the file with ONE) and 1.1 (TWO)."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for version, content in (("1.0", ONE), ("1.1", TWO)):
        record(lay(folder, {FILE: content}), version)
        git(folder, "tag", f"core_v{version}")
    return folder


@pytest.fixture
def versions(repository: Path) -> VersionsDocument:
    """The releases 1.0 and 1.1."""
    releases = tuple(
        Release(
            version=version,
            tag=f"core_v{version}",
            commit=git(repository, "rev-parse", f"core_v{version}"),
            date=DAY,
            python="",
            ships=("megatron.core",),
            blobs={FILE: blob_id(content)},
            files={wheel(version): A},
        )
        for version, content in (("1.0", ONE), ("1.1", TWO))
    )
    return VersionsDocument(1, Megatron("megatron-core", "r", releases), MemorySaver("t", "r", ()))


def with_release(versions: VersionsDocument, version: str, **changes: object) -> VersionsDocument:
    """The same with one release changed."""
    releases = tuple(
        replace(release, **changes) if release.version == version else release for release in versions.upstream.releases
    )
    return replace(versions, megatron=replace(versions.upstream, releases=releases))


@pytest.fixture(autouse=True)
def quick_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """What pip would say of its environment, without the half second that it takes to say it."""

    monkeypatch.setattr("patchkit.trees.package_indexes.pip_settings", quick_settings)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """The one index that pip is set up for, with 1.0 and 1.1."""
    with only_index(monkeypatch) as made:
        serve(made, json_file(wheel("1.0"), A), json_file(wheel("1.1"), A))
        yield made


def serve(server: Index, *files: dict[str, object]) -> None:
    server.serve("/simple/megatron-core/", json_page(*files), kind=JSON)


BOTH = (json_file(wheel("1.0"), A), json_file(wheel("1.1"), A))


def listed(version: str, **told: object) -> ListedRelease:
    return ListedRelease(version=version, files={wheel(version): A}, **told)  # type: ignore[arg-type]


def messages(discovered: Discovered) -> tuple[list[str], tuple[str, ...]]:
    """What is wrong and what is noted."""
    return [problem.message for problem in discovered.problems], discovered.notes


@pytest.mark.usefixtures("server")
def test_an_upstream_that_is_as_the_file_says_is_no_news_and_is_left_as_it_is(
    versions: VersionsDocument, repository: Path
) -> None:
    before = snapshot(repository)

    assert discover(versions, repository=repository) == Discovered(
        found=(),
        problems=(),
        notes=(),
        releases={"1.0": listed("1.0"), "1.1": listed("1.1")},
        index=True,
        tags=True,
    )
    assert snapshot(repository) == before


def test_releases_and_tags_that_the_file_lacks_are_found_but_none_older_than_its_oldest(
    versions: VersionsDocument, repository: Path, server: Index
) -> None:
    head = record(lay(repository, {FILE: b"three\n"}), "more")
    for tag in ("core_v0.9", "core_v1.2", "core_v1.10.0", "core_v1.3rc1"):
        git(repository, "tag", tag)
    serve(
        server,
        *BOTH,
        json_file(wheel("0.9"), A),
        json_file(wheel("1.0rc1"), A),
        json_file(wheel("1.2.0"), A, upload_time="2026-02-03T00:00:00Z", yanked="wrong version"),
        json_file(wheel("1.4.dev2"), A),
    )
    final = (
        FoundRelease(
            version="1.2.0",
            where=("index", "tag"),
            date="2026-02-03",
            tag="core_v1.2",
            commit=head,
            yanked="wrong version",
        ),
        FoundRelease(version="1.10.0", where=("tag",), date=DAY, tag="core_v1.10.0", commit=head),
    )
    pre = (
        FoundRelease(version="1.3rc1", where=("tag",), date=DAY, tag="core_v1.3rc1", commit=head, pre_release=True),
        FoundRelease(version="1.4.dev2", where=("index",), pre_release=True),
    )

    assert discover(versions, repository=repository).found == final
    assert discover(versions, repository=repository, pre=True).found == (final[0], *pre, final[1])
    assert [release.where for release in discover(versions).found] == [("index",)]


def test_a_release_that_vanished_from_the_index_is_a_problem(versions: VersionsDocument, server: Index) -> None:
    serve(server, BOTH[0])

    assert discover(versions).problems == (
        Problem(
            "v1.1 is no longer on the package index",
            hint="its wheel, where the cache has it, can still be patched; nobody can fetch it",
        ),
    )
    # One that was entered for its tag alone was never there.
    assert discover(with_release(versions, "1.1", files={})).problems == ()


def test_what_an_index_that_gave_no_answer_may_have_has_not_vanished(
    versions: VersionsDocument, server: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(server, BOTH[0])
    server.serve("/more/megatron-core/", b"", status=403)
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{server.url}/more")

    assert messages(discover(versions)) == (
        [],
        (f"no answer from {server.url}/more: HTTP 403 Forbidden", "no package index that answered has v1.1"),
    )


def test_an_index_whose_etag_cannot_be_sent_back_is_asked_each_time_and_hides_no_problem(
    tmp_path: Path, versions: VersionsDocument, server: Index
) -> None:
    serve(server, BOTH[0])
    server.etags["/simple/megatron-core/"] = '"\xe9"'
    found = []
    for _ in range(2):
        with PackageIndexes(ContentCache(tmp_path / "cache")) as indexes:
            found.append(messages(discover(versions, indexes=indexes)))

    assert found == [(["v1.1 is no longer on the package index"], ())] * 2


def test_a_setting_that_cannot_be_asked_is_an_error_and_no_note(
    versions: VersionsDocument, server: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(server, BOTH[0])
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "file://elsewhere/simple")
    with pytest.raises(UsageError) as caught:
        discover(versions)

    assert caught.value.message == (
        "pip's extra-index-url 'file://elsewhere/simple' cannot be asked: it is a file of another machine, elsewhere"
    )


def test_no_network_is_a_note_and_the_tags_are_looked_at_all_the_same(
    versions: VersionsDocument, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repository, "tag", "core_v1.2")
    note = "no package index has megatron-core: pip is set up to ask none"
    found = discover(versions, repository=repository)

    assert ([release.version for release in found.found], found.problems, found.notes) == (["1.2"], (), (note,))
    assert (found.index, found.tags) == (False, True)
    assert discover(versions) == Discovered(found=(), problems=(), notes=(note,), index=False, tags=False)


def test_a_release_that_was_yanked_since_is_a_problem_and_one_that_is_no_longer_is_a_note(
    versions: VersionsDocument, server: Index
) -> None:
    serve(server, BOTH[0], json_file(wheel("1.1"), A, yanked="broken"))
    found = discover(with_release(versions, "1.0", yanked="too early"))

    assert found.problems == (
        Problem("v1.1 was yanked: broken", hint="enter `yanked: broken` for it in upstream_versions.yaml"),
    )
    assert found.notes == ("v1.0 is yanked (too early), and the package index does not say so",)
    # What the file says already is no news.
    assert discover(with_release(versions, "1.1", yanked="broken")).problems == ()


def test_other_bytes_under_a_recorded_name_and_lost_wheels_are_problems_and_more_wheels_a_note(
    versions: VersionsDocument, server: Index
) -> None:
    serve(server, json_file(wheel("1.0"), B), json_file(wheel("1.1", "cp314-cp314-win32"), C))
    found = discover(versions)

    assert found.problems == (
        Problem(
            f"{wheel('1.0')} on the package index is not the file that was recorded: SHA-256 {A} is recorded, the "
            f"index has {B}",
            hint="do not use it before you know who changed it, the index or upstream",
        ),
        Problem(f"v1.1 has lost {wheel('1.1')} on the package index"),
    )
    new = wheel("1.1", "cp314-cp314-win32")
    assert found.notes == (f"v1.1 has {new} on the package index that upstream_versions.yaml lacks",)


def test_problems_come_by_weight_and_releases_with_a_wheel_left_are_one(
    versions: VersionsDocument, repository: Path, server: Index
) -> None:
    """An index that keeps one wheel of each release would hide behind twenty lines that one has vanished."""
    other, third = (f"cp3{number}-cp3{number}-win32" for number in (12, 13))
    one = versions.upstream.releases[0]
    releases = tuple(
        replace(
            one,
            version=version,
            tag=None,
            commit=None,
            files={wheel(version): A, **{wheel(version, tag): A for tag in (other, third)}},
        )
        for version in ("0.7", "0.8", "0.9")
    )
    both = (*releases, *versions.upstream.releases)
    document = replace(versions, megatron=replace(versions.upstream, releases=both))
    new = record(lay(repository, {FILE: b"three\n"}), "again")
    git(repository, "tag", "-f", "core_v1.0")
    serve(
        server,
        *(json_file(wheel(version), A) for version in ("0.7", "0.8")),
        json_file(wheel("0.9", "py2-none-any"), A),
        json_file(wheel("1.0"), A, yanked="broken"),
    )
    found = discover(document, repository=repository)

    assert [problem.message.partition(": ")[0] for problem in found.problems] == [
        "v1.1 is no longer on the package index",
        "the tag core_v1.0 has moved",
        "another file at core_v1.0 than was recorded",
        "v1.0 was yanked",
        # Nothing that was recorded is left of it.
        f"v0.9 has lost 3 wheels ({wheel('0.9')} ...) on the package index",
        "2 releases have lost wheels on the package index",
    ]
    assert found.problems[1].message.endswith(f"has {new}")
    assert found.problems[-1] == Problem(
        "2 releases have lost wheels on the package index: v0.7 (2), v0.8 (2)",
        hint="a recorded wheel with the same text is left of each; it may be none for your Python or platform",
    )


def test_two_indexes_that_contradict_each_other_are_a_problem(
    versions: VersionsDocument, server: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels = [(wheel(version), A) for version in ("1.0", "1.1", "1.2")]
    serve(server, *(json_file(name, digest) for name, digest in wheels))
    extra = lay_index(tmp_path, html_page(anchor(wheel("1.2"), B)))
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", extra)
    found = discover(versions)

    assert found.problems == (
        Problem(
            f"{wheel('1.2')} has SHA-256 {B} at {extra}, and {A} at an index before it",
            hint="one of the two is not what was released: find out which, and take that index out of pip's settings",
        ),
    )


@pytest.mark.usefixtures("server")
def test_a_tag_that_moved_is_a_problem_with_both_commits_and_every_file_that_differs(
    versions: VersionsDocument, repository: Path
) -> None:
    old = git(repository, "rev-parse", "core_v1.0")
    new = record(lay(repository, {FILE: b"three\n"}), "again")
    git(repository, "tag", "-f", "-a", "-m", "again", "core_v1.0")
    hint = "do not use it before you know who changed it, the clone or upstream"

    assert discover(versions, repository=repository).problems == (
        Problem(f"the tag core_v1.0 has moved: commit {old} is recorded, {repository} has {new}", hint=hint),
        Problem(
            f"another file at core_v1.0 than was recorded: blob {blob_id(ONE)} is recorded, the tag has "
            f"{blob_id(b'three' + bytes([10]))}",
            path=FILE,
            hint=hint,
        ),
    )


@pytest.mark.usefixtures("server")
def test_files_are_compared_where_the_commit_is_the_recorded_one_too(
    versions: VersionsDocument, repository: Path
) -> None:
    other = with_release(versions, "1.1", blobs={FILE: blob_id(ONE), "megatron/core/y.py": blob_id(ONE)})

    said = f"another file at core_v1.1 than was recorded: blob {blob_id(ONE)} is recorded, the tag has"
    assert messages(discover(other, repository=repository))[0] == [
        f"{said} {blob_id(TWO)}",
        f"{said} no such file",
    ]


@pytest.mark.usefixtures("server")
def test_two_tags_of_one_commit_are_each_compared(versions: VersionsDocument, repository: Path) -> None:
    one = versions.upstream.releases[0]
    git(repository, "tag", "core_v1.1.1", "core_v1.0")
    second = replace(one, version="1.1.1", tag="core_v1.1.1", blobs={"megatron/core/y.py": blob_id(ONE)}, files={})
    releases = (*versions.upstream.releases, second)
    both = replace(versions, megatron=replace(versions.upstream, releases=releases))

    said = f"another file at core_v1.1.1 than was recorded: blob {blob_id(ONE)} is recorded, the tag has"
    assert messages(discover(both, repository=repository))[0] == [
        f"{said} no such file",
    ]


@pytest.mark.usefixtures("server")
def test_a_tag_that_the_clone_lacks_and_one_that_the_file_lacks_are_notes(
    versions: VersionsDocument, repository: Path
) -> None:
    commit = git(repository, "rev-parse", "core_v1.1")
    git(repository, "tag", "-d", "core_v1.0")
    untagged = with_release(versions, "1.1", tag=None, commit=None)

    assert messages(discover(untagged, repository=repository)) == (
        [],
        (
            f"v1.1 has the tag core_v1.1 now (commit {commit}); upstream_versions.yaml says that there is none",
            f"{repository} lacks core_v1.0: not fetched, or removed by upstream",
        ),
    )


@pytest.mark.usefixtures("server")
def test_a_clone_without_the_trees_of_a_tag_is_a_note_that_names_tag_and_commit(
    versions: VersionsDocument, repository: Path, tmp_path: Path
) -> None:
    git(repository, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=tree:0", "--no-checkout", repository.as_uri(), "treeless")
    before = snapshot(tmp_path / "treeless")
    lacking = [
        f"core_v{version} cannot be compared: {tmp_path / 'treeless'} lacks objects of commit "
        f"{git(repository, 'rev-parse', f'core_v{version}')}"
        for version in ("1.0", "1.1")
    ]

    assert messages(discover(versions, repository=tmp_path / "treeless")) == ([], tuple(lacking))
    assert snapshot(tmp_path / "treeless") == before


@pytest.mark.usefixtures("server")
def test_what_a_clone_has_lost_of_its_tags_is_a_fault_and_a_folder_that_is_none_an_error(
    versions: VersionsDocument, repository: Path, tmp_path: Path
) -> None:
    commit = git(repository, "rev-parse", "core_v1.0")
    (repository / ".git" / "objects" / commit[:2] / commit[2:]).unlink()
    found = discover(versions, repository=repository)

    assert (found.index, found.tags, found.problems, found.notes) == (True, False, (), ())
    said = f"its release tags cannot be read (git: fatal: missing object {commit} for refs/tags/core_v1.0)"
    assert found.faults == (damage_of(repository, said),)
    with pytest.raises(TreeError) as caught:
        discover(versions, repository=tmp_path)
    assert caught.value.message == f"{tmp_path} is not a git repository"


@pytest.mark.usefixtures("server")
def test_a_tag_whose_folders_are_lost_or_that_names_nothing_is_a_fault_and_the_others_are_compared(
    versions: VersionsDocument, repository: Path
) -> None:
    own = repository / ".git"
    commit, folder = (git(repository, "rev-parse", name) for name in ("core_v1.0", "core_v1.0^{tree}"))
    (own / "objects" / folder[:2] / folder[2:]).unlink()
    (own / "refs" / "tags" / "core_v1.1").write_text("nonsense\n")
    found = discover(versions, repository=repository)

    assert (found.tags, found.problems, found.notes) == (True, (), ())
    broken = "refs/tags/core_v1.1 cannot be read (git: warning: ignoring broken ref refs/tags/core_v1.1)"
    assert found.faults == (
        damage_of(repository, broken),
        damage_of(repository, f"folders of core_v1.0 (commit {commit}) cannot be read"),
    )


def damage_of(repository: Path, said: str) -> Problem:
    hint = f"git -C {repository} fsck says what is damaged; a new clone mends it"
    return Problem(f"{repository} is damaged: {said}", hint=hint)


# Whose repository it is.


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """A repository of something else, whose branch is called as one of upstream's."""
    folder = tmp_path / "stranger"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    record(lay(folder, {"src/x.py": ONE}), "x")
    git(folder, "tag", "core_v7.0")
    return folder


def test_a_repository_of_something_else_is_refused(versions: VersionsDocument, stranger: Path) -> None:
    with pytest.raises(NotATreeError) as caught:
        discover(versions, repository=stranger, offline=True)

    nothing = "none of the 2 tags and 2 commits that upstream_versions.yaml lists, and no megatron/core"
    assert (caught.value.message, caught.value.hint) == (
        f"{stranger} is no clone of Megatron-LM: it has {nothing}",
        f"--git names a clone of {versions.upstream.repository}",
    )
    nothing_listed = replace(versions, megatron=replace(versions.upstream, releases=()))
    assert discover(nothing_listed, repository=stranger, offline=True).tags


@pytest.mark.parametrize("known_by", ["a tag", "a commit", "its packages at HEAD", "its packages on a branch"])
def test_a_repository_is_known_by_any_of_what_is_listed_or_by_its_packages(
    versions: VersionsDocument, repository: Path, stranger: Path, known_by: str
) -> None:
    if known_by == "a tag":
        git(stranger, "tag", "core_v1.0")
    elif known_by == "a commit":
        git(stranger, "fetch", "-q", "--no-tags", str(repository), "refs/tags/core_v1.0:refs/heads/another")
    elif known_by == "its packages at HEAD":
        record(lay(stranger, {FILE: b"later"}), "later")
    else:
        record(lay(stranger, {FILE: b"later"}), "later")
        git(stranger, "checkout", "-q", "--orphan", "empty")
        git(stranger, "rm", "-rqf", ".")
        git(stranger, "commit", "-q", "--allow-empty", "-m", "empty")
        main = Branch(name="main", commit="1" * 40, date=DAY, as_of="1.2", blobs={})
        versions = replace(versions, megatron=replace(versions.upstream, branches=(main,)))

    assert discover(versions, repository=stranger, offline=True).tags
