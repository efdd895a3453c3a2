from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from patchkit.core.memory_saver import MemorySaver
from patchkit.core.upstream import Branch, Megatron, PinnedCommit, Release, VersionsDocument
from patchkit.errors import StoreError
from patchkit.store.location import default_patches, versions_file
from patchkit.store.versions import add_blobs, add_releases, load_versions

ONE, TWO = "1" * 39 + "a", "2" * 40

TEXT = f"""\
# Kept by hand.
schema: 1

megatron:
  distribution: d
  repository: r
  releases:
    # The first.
    - version: 0.1.0
      tag: null
      commit: null
      date: 2026-11-29
      python: ""  # none given
      ships: [m.core]
      blobs:  # two files
        m/b.py: {ONE}

      files: {{}}
    - version: 0.2.0
      tag: v0.2.0
      commit: {ONE}
      date: 2026-11-30
      python: ">=3.10"
      ships: [m.core]
      blobs: {{}}
      files: {{}}
  branches:
    - name: main
      commit: {ONE}
      date: 2026-11-30
      as-of: 0.3.0
      blobs:
        m/b.py: {ONE}  # of that day

  # What others pin.
  commits:
    - name: 111111
      commit: {ONE}
      date: 2026-11-30
      branch: dev
      as-of: 0.2.1
      blobs:
        m/b.py: {ONE}
torch-memory-saver: {{distribution: d, repository: r, releases: []}}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "upstream_versions.yaml"
    path.write_text(TEXT.replace("111111\n", '"111111"\n'))
    return path


def test_the_file_is_read_as_a_document(path: Path) -> None:
    releases = (
        Release(
            version="0.1.0",
            tag=None,
            commit=None,
            date="2026-11-29",
            python="",
            ships=("m.core",),
            blobs={"m/b.py": ONE},
            files={},
        ),
        Release(
            version="0.2.0",
            tag="v0.2.0",
            commit=ONE,
            date="2026-11-30",
            python=">=3.10",
            ships=("m.core",),
            blobs={},
            files={},
        ),
    )
    branch = Branch(name="main", commit=ONE, date="2026-11-30", as_of="0.3.0", blobs={"m/b.py": ONE})
    commit = PinnedCommit(
        name="111111", commit=ONE, date="2026-11-30", branch="dev", as_of="0.2.1", blobs={"m/b.py": ONE}
    )
    assert VersionsDocument(
        1, Megatron("d", "r", releases, (branch,), (commit,)), MemorySaver("d", "r", ())
    ) == load_versions(path)


@pytest.mark.parametrize(
    ("old", "new", "key", "name"),
    [
        ("version: 0.2.0", "version: 0.1.0", "megatron.releases[1].version", "0.1.0"),
        ("name: main", "name: 0.1.0", "megatron.branches[0].name", "0.1.0"),
        ('name: "111111"', "name: main", "megatron.commits[0].name", "main"),
    ],
    ids=["release", "branch named as a release", "commit named as a branch"],
)
def test_a_target_that_is_there_twice_is_named_with_its_key(
    path: Path, old: str, new: str, key: str, name: str
) -> None:
    path.write_text(path.read_text().replace(old, new))

    with pytest.raises(StoreError) as caught:
        load_versions(path)

    assert (key, f"{path}: {key}: {name!r} is there twice") == (caught.value.key, caught.value.message)


@pytest.mark.parametrize("name", ["v0.2.0", "core_v0.1.0"])
def test_a_commit_that_is_called_like_the_tag_of_a_release_is_refused(path: Path, name: str) -> None:
    path.write_text(path.read_text().replace('name: "111111"', f"name: {name}"))
    with pytest.raises(StoreError, match=rf"would both have generated/{name}\.patch") as caught:
        load_versions(path)

    assert caught.value.hint == f"give {name} another name, here and in patch.yaml"


@pytest.mark.parametrize(
    ("old", "new", "where", "problem"),
    [
        (
            "date: 2026-11-29",
            "date: 29.11.2026",
            "megatron.releases[0].date (line 12)",
            r"Expected `str` matching regex '^\\d{4}-\\d{2}-\\d{2}$'",
        ),
        ("version: 0.2.0", "version: 0.2", "megatron.releases[1].version (line 19)", "Expected `str`, got `float`"),
        (
            "blobs: {}",
            "blobs: {a: b}",
            "megatron.releases[1].blobs[...] (line 25)",
            "Expected `str` matching regex '^[0-9a-f]{40}$'",
        ),
        ("as-of: 0.3.0", "as_of: 0.3.0", "megatron.branches[0] (line 28)", "Object contains unknown field `as_of`"),
    ],
    ids=["date", "version that is a number", "blob id", "underscore"],
)
def test_a_wrong_entry_is_named_with_key_and_line(path: Path, old: str, new: str, where: str, problem: str) -> None:
    path.write_text(path.read_text().replace(old, new))

    with pytest.raises(StoreError) as caught:
        load_versions(path)

    assert f"{path}: {where}: {problem}" == caught.value.message


def test_blobs_are_added_and_nothing_else_is_touched(path: Path) -> None:
    text = path.read_text()
    more = {"m/b.py": TWO, "m/a.py": TWO}

    added = add_blobs(
        path, {"0.1.0": more, "0.2.0": {"m/c.py": ONE, "m/a.py": ONE}, "main": more, "111111": more, "0.9.9": more}
    )

    line = f"        m/a.py: '{TWO}'\n"
    first, main, pinned = (
        f"m/b.py: {ONE}\n\n      files",
        f"m/b.py: {ONE}  # of that day\n",
        f"m/b.py: {ONE}\ntorch",
    )
    expected = (
        text.replace(first, first.replace("\n", f"\n{line}", 1))
        .replace(main, f"{main}{line}")
        .replace(pinned, pinned.replace("\n", f"\n{line}"))
        .replace("blobs: {}\n", f"blobs:\n        m/a.py: {ONE}\n        m/c.py: {ONE}\n")
    )
    assert expected == added.decode()
    assert text == path.read_text()


def test_adding_no_blobs_gives_the_same_bytes(path: Path) -> None:
    assert path.read_bytes() == add_blobs(path, {})


def test_a_file_without_branches_and_commits_takes_blobs_too(path: Path) -> None:
    text = path.read_text()
    path.write_text(text[: text.index("  branches:")] + text[text.index("torch-memory") :])

    assert f"m/c.py: {ONE}" in add_blobs(path, {"0.2.0": {"m/c.py": ONE}, "main": {"m/c.py": ONE}}).decode()


def test_the_file_of_this_project_is_rewritten_byte_for_byte() -> None:
    path = versions_file(default_patches())

    assert path.read_bytes() == add_blobs(path, {})


def new(version: str, **told: object) -> Release:
    release = Release(
        version=version,
        tag=None,
        commit=None,
        date="2026-12-01",
        python="",
        ships=("m.core", "m.training"),
        blobs={"m/b.py": TWO, "m/a.py": ONE},
        files={"m-w.whl": "3" * 64},
    )
    return replace(release, **told)


def test_releases_are_added_by_version_and_comments_stay_with_what_they_are_about(path: Path) -> None:
    path.write_text(path.read_text().replace("    - version: 0.2.0\n", "\n    # The second.\n    - version: 0.2.0\n"))
    remarks = {"0.10.0": {"tag": "none yet", "blobs": "as before"}}
    releases = (
        new("0.10.0", yanked="[bad: very"),
        new("0.1.1", tag="v0.1.1", commit="4" * 40, python=">=3.10", blobs={}, files={}),
    )
    middle = """\
    - version: 0.1.1
      tag: v0.1.1
      commit: "4444444444444444444444444444444444444444"
      date: 2026-12-01
      python: ">=3.10"
      ships: [m.core, m.training]
      blobs: {}
      files: {}
"""
    end = f"""\
    - version: 0.10.0
      tag: null  # none yet
      commit: null
      date: 2026-12-01
      python: ""
      yanked: "[bad: very"
      ships: [m.core, m.training]
      blobs:  # as before
        m/a.py: {ONE}
        m/b.py: "{TWO}"
      files:
        m-w.whl: "{"3" * 64}"
"""
    old = path.read_text()
    expected = old.replace("\n    # The second.\n", f"{middle}\n    # The second.\n").replace(
        "  branches:\n", f"{end}  branches:\n"
    )
    made = add_releases(path, releases, remarks)

    assert made.decode() == expected
    path.write_bytes(made)
    assert [release.version for release in load_versions(path).upstream.releases] == [
        "0.1.0",
        "0.1.1",
        "0.2.0",
        "0.10.0",
    ]
    assert add_releases(path, (*releases, new("0.2")), {}) == made


def test_a_file_without_a_release_gets_its_first_and_a_version_like_a_number_stays_text(path: Path) -> None:
    head, _, rest = path.read_text().partition("  releases:\n")
    path.write_text(f"{head}  releases: []\n{rest[rest.index('  branches:') :]}")
    path.write_bytes(add_releases(path, [new("0.10")], {}))

    assert '  releases:\n    - version: "0.10"\n      tag: null\n' in path.read_text()
    assert load_versions(path).upstream.releases == (new("0.10"),)


@pytest.mark.parametrize("version", ["9" * 5000, "1." * 100 + "1", "1.0.dev" + "9" * 5000])
def test_a_version_of_more_than_two_hundred_characters_is_refused(path: Path, version: str) -> None:
    text = path.read_text()
    first = re.search(r"version: (\S+)", text)
    assert first is not None
    path.write_text(text.replace(first[0], f'version: "{version}"', 1))

    with pytest.raises(StoreError, match=r"version \(line \d+\): Expected `str` of length <= 200$"):
        load_versions(path)
