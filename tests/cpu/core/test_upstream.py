from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from patchkit.core.upstream import (
    Branch,
    Megatron,
    PinnedCommit,
    Release,
    Target,
    Upstream,
    VersionsDocument,
    find_target,
    targets,
)
from patchkit.errors import UsageError


def release(version: str, digit: str, *, tag: str | None = "", yanked: str | None = None) -> Release:
    """A release whose commit is one hex digit, over and over."""
    named = f"core_v{version}" if tag == "" else tag
    return Release(
        version=version,
        tag=named,
        commit=digit * 40 if named else None,
        date="2026-01-01",
        python=">=3.10",
        yanked=yanked,
        ships=("megatron.core",),
        blobs={"a.py": digit * 40},
        files={},
    )


OLD = release("0.9.0", "1", tag="v0.9.0")
NEW = release("0.10.0", "2")
YANKED = release("0.11.0", "3", tag=None, yanked="wrong version")
MEGATRON = Megatron(
    distribution="megatron-core",
    repository="https://example.com/m",
    releases=(OLD, NEW, YANKED),
    branches=(
        Branch(name="main", commit="abcdef0" + "4" * 33, date="2026-01-01", as_of="0.12.0", blobs={"a.py": "4" * 40}),
    ),
    commits=(
        PinnedCommit(
            name="abcdef1", commit="abcdef1" + "5" * 33, date="2026-01-01", branch="dev", as_of="0.9.1", blobs={}
        ),
    ),
)
KNOWN = targets(MEGATRON)


def names(version: str) -> tuple[str, ...]:
    """What people call a release."""
    return f"core_v{version}", f"core_{version}", f"v{version}", version


def test_targets_are_the_releases_then_the_branches_then_the_commits() -> None:
    assert (
        Target("0.9.0", "0.9.0", "v0.9.0", "1" * 40, {"a.py": "1" * 40}, OLD, "core_v0.9.0", names("0.9.0")),
        Target("0.10.0", "0.10.0", "core_v0.10.0", "2" * 40, {"a.py": "2" * 40}, NEW, "core_v0.10.0", names("0.10.0")),
        Target("0.11.0", "0.11.0", None, None, {"a.py": "3" * 40}, YANKED, "core_v0.11.0", names("0.11.0")),
        Target("main", "0.12.0", None, "abcdef0" + "4" * 33, {"a.py": "4" * 40}, None),
        Target("abcdef1", "0.9.1", None, "abcdef1" + "5" * 33, {}, None),
    ) == KNOWN


def test_a_target_is_titled_as_people_write_it_and_its_patch_is_named_by_its_tag() -> None:
    assert [(target.title, target.generated_name) for target in KNOWN] == [
        ("v0.9.0", "v0.9.0.patch"),
        ("v0.10.0", "core_v0.10.0.patch"),
        ("v0.11.0", "core_v0.11.0.patch"),
        ("main", "main.patch"),
        ("abcdef1", "abcdef1.patch"),
    ]


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("0.10.0", "0.10.0"),
        ("v0.10.0", "0.10.0"),
        ("core_v0.10.0", "0.10.0"),
        ("core_0.10.0", "0.10.0"),
        ("v0.9.0", "0.9.0"),
        ("0.11.0", "0.11.0"),
        ("latest", "0.10.0"),
        ("main", "main"),
        ("abcdef1", "abcdef1"),
        ("2" * 40, "0.10.0"),
        ("2222222", "0.10.0"),
        ("abcdef0" + "4" * 33, "main"),
        ("ABCDEF15", "abcdef1"),
        ("abcdef0", "main"),
    ],
)
def test_a_target_is_found_by_version_tag_branch_or_commit(asked: str, name: str) -> None:
    assert name == find_target(KNOWN, asked).name


@pytest.mark.parametrize(
    "asked", ["0.10", "0.10.1", "vmain", "core_vmain", "dev", "222222", "", "vv0.10.0", "abcdef", "abcdef2", "v"]
)
def test_an_unknown_target_is_a_usage_error_that_lists_the_known_ones(asked: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_target(KNOWN, asked)

    expected = (f"unknown release {asked!r}", "supported: v0.9.0, v0.10.0, v0.11.0, main, abcdef1")
    assert expected == (caught.value.message, caught.value.hint)


@pytest.mark.parametrize("asked", names("0.12.1"))
def test_a_commit_that_has_the_name_of_a_release_s_tag_is_found_by_what_the_release_is_called(asked: str) -> None:
    pinned = PinnedCommit(name="core_v0.12.1", commit="7" * 40, date="2026-01-01", branch="", as_of="0.12.1", blobs={})
    known = targets(replace(MEGATRON, commits=(*MEGATRON.commits, pinned)))

    assert find_target(known, asked) == Target(
        "core_v0.12.1", "0.12.1", None, "7" * 40, {}, None, called=names("0.12.1")
    )


def test_a_release_goes_before_a_commit_that_is_called_by_its_tag() -> None:
    pinned = PinnedCommit(name="core_v0.10.0", commit="7" * 40, date="2026-01-01", branch="", as_of="0.10.0", blobs={})
    known = targets(replace(MEGATRON, commits=(pinned,)))

    assert {find_target(known, asked).name for asked in names("0.10.0")} == {"0.10.0"}


@pytest.mark.parametrize(
    ("asked", "version"),
    [
        ("0.16.0", "0.16.0"),
        ("v0.16.0rc0", "0.16.0rc0"),
        ("core_v1.0.dev3", "1.0.dev3"),
        ("core_0.16", "0.16"),
        ("main", None),
        ("vv1.0", None),
        ("core_v", None),
        ("0.16.0^", None),
        ("3714d81d", None),
        ("", None),
    ],
)
def test_a_release_is_called_by_its_version_or_its_tag(asked: str, version: str | None) -> None:
    assert MEGATRON.version_asked(asked) == version


def test_a_prefix_of_two_commits_is_unknown() -> None:
    twins = tuple(
        Target(name, "1.0", None, "abcdef0" + digit * 33, {}, None) for name, digit in (("x", "1"), ("y", "2"))
    )

    with pytest.raises(UsageError, match="unknown release 'abcdef0'"):
        find_target(twins, "abcdef0")


def test_a_prefix_of_one_commit_with_two_names_is_the_first_of_them() -> None:
    twins = tuple(Target(name, "1.0", None, "abcdef0" + "1" * 33, {}, None) for name in ("x", "y"))

    assert find_target(twins, "abcdef0") == twins[0]


@pytest.mark.parametrize("version", ["0.12.0a1", "0.12.0b2", "0.12.0rc0", "0.12.0.dev3", "0.12.0rc0.dev131719"])
def test_the_latest_release_is_no_pre_release(version: str) -> None:
    known = targets(replace(MEGATRON, releases=(*MEGATRON.releases, release(version, "6"))))

    assert find_target(known, "latest").name == "0.10.0"


def test_the_latest_release_may_be_a_post_release() -> None:
    known = targets(replace(MEGATRON, releases=(*MEGATRON.releases, release("0.12.0.post1", "6"))))

    assert find_target(known, "latest").name == "0.12.0.post1"


@pytest.mark.parametrize("known", [(), KNOWN[2:]], ids=["no target", "only a yanked release"])
def test_there_may_be_no_latest_release(known: tuple[Target, ...]) -> None:
    with pytest.raises(UsageError, match=r"^there is no release that was not yanked$"):
        find_target(known, "latest")


OTHER = Upstream(
    "sglang",
    "https://example.com/sglang",
    (release("0.5.9", "1", tag=None),),
    name="SGLang",
    packages=("python/sglang",),
    source="python",
    tag="release/v{version}",
)


def test_another_upstream_has_the_targets_that_its_data_says() -> None:
    (target,) = targets(OTHER)

    assert target.generated_name == "release-v0.5.9.patch"
    assert [find_target((target,), asked) for asked in ("0.5.9", "v0.5.9", "release/v0.5.9", "release/0.5.9")] == [
        target
    ] * 4
    with pytest.raises(UsageError):
        find_target((target,), "core_v0.5.9")


@pytest.mark.parametrize(
    ("tag", "version"),
    [("release/v0.5.9", "0.5.9"), ("release/vx", "x"), ("release/v", None), ("v0.5.9", None), ("core_v1", None)],
)
def test_a_tag_tells_the_version_in_the_place_where_upstream_puts_it(tag: str, version: str | None) -> None:
    assert OTHER.version_in(tag) == version


def test_a_wheel_has_its_packages_without_the_folder_that_is_its_top() -> None:
    (found,) = OTHER.releases
    shipped = replace(found, ships=("sglang",))

    assert OTHER.shipped == ("sglang",)
    assert [OTHER.ships(shipped, path) for path in ("python/sglang/a.py", "sglang/a.py", "python/b.py")] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"schema: 1\n", "must be one of the keys `upstream` and `megatron`"),
        (
            b"""{schema: 1, megatron: {distribution: d, repository: r},
            upstream: {distribution: d, repository: r, name: n, packages: [p]}}""",
            "and not both",
        ),
        (b"schema: 1\nupstream: {distribution: d, repository: r, name: n, packages: []}\n", "`$.upstream.packages`"),
        (b"schema: 1\nupstream: {distribution: d, repository: r, packages: [p]}\n", "field `name`"),
        (b"schema: 1\nupstream: {distribution: d, repository: r, name: n, packages: [p], tag: v}\n", "$.upstream.tag"),
        (
            b"schema: 1\nupstream: {distribution: d, repository: r, name: n, packages: [p], source: src}\n",
            "'p' is not below `source`",
        ),
    ],
)
def test_a_list_that_says_too_little_of_its_upstream_or_too_much_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.yaml.decode(text, type=VersionsDocument)

    assert problem in str(caught.value)


def test_what_was_written_for_megatron_before_there_were_others_says_the_same() -> None:
    text = b"schema: 1\nmegatron: {distribution: megatron-core, repository: r, releases: []}\n"
    found = msgspec.yaml.decode(
        text + b"torch-memory-saver: {distribution: t, repository: r, releases: []}\n", type=VersionsDocument
    )

    assert (found.upstream, found.section) == (Megatron("megatron-core", "r"), "megatron")
    assert (found.upstream.name, found.upstream.packages, found.upstream.tag) == (
        "Megatron-LM",
        ("megatron/core",),
        "core_v{version}",
    )
