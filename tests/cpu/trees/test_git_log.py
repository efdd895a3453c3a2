from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from patchkit.core.blobs import blob_id
from patchkit.core.history.graph import Commit
from patchkit.errors import TreeError, UnsafePathError
from patchkit.trees.git import GitTree
from patchkit.trees.git_log import read_everything, read_graph, tags

from .histories import BEGIN, DAY, Histories
from .repositories import git, put, tree_of

ODD = "sub dir/[a]*é.py"


@pytest.fixture
def clone(tmp_path: Path) -> Histories:
    return Histories(tmp_path / "clone")


def tree(clone: Histories, revision: str) -> GitTree:
    return GitTree(clone.folder, revision, download=False)


def test_a_range_is_read_with_every_commit_and_what_each_has(clone: Histories) -> None:
    base = clone.commit("Base", {"a.py": b"1", ODD: b"1", "other": b"1"})
    one = clone.commit("One", {"a.py": b"2", ODD: b"1", "other": b"1"}, base)
    two = clone.commit("Two", {"a.py": b"2", ODD: b"1", "other": b"2"}, one)
    side = clone.commit("Side", {"a.py": b"1", "other": b"1"}, base)
    merge = clone.commit("Merge", {"a.py": b"2", "other": b"2"}, two, side)
    found = read_graph(tree(clone, merge), base, ["a.py", ODD])

    one_blob, two_blob = blob_id(b"1"), blob_id(b"2")
    assert {commit.id: commit for commit in found} == {
        one: Commit(one, (base,), BEGIN + 2 * DAY, "One", {"a.py": two_blob}),
        two: Commit(two, (one,), BEGIN + 3 * DAY, "Two", {}),
        side: Commit(side, (base,), BEGIN + 4 * DAY, "Side", {ODD: None}),
        merge: Commit(merge, (two, side), BEGIN + 5 * DAY, "Merge", {ODD: None}),
    }
    assert next(commit.id for commit in found) == merge
    assert {name: (found.blob(name, "a.py"), found.blob(name, ODD)) for name in (base, one, two, side, merge)} == {
        base: (one_blob, one_blob),
        one: (two_blob, one_blob),
        two: (two_blob, one_blob),
        side: (one_blob, None),
        merge: (two_blob, None),
    }


def test_a_path_is_a_path_and_no_pattern(clone: Histories) -> None:
    base = clone.commit("Base", {"[a].py": b"1", "a.py": b"1"})
    tip = clone.commit("Tip", {"[a].py": b"1", "a.py": b"2"}, base)

    assert [commit.changes for commit in read_graph(tree(clone, tip), base, ["[a].py"])] == [{}]


def test_a_root_begins_with_all_that_it_has(clone: Histories) -> None:
    root = clone.commit("Root", {"a.py": b"1"})
    (found,) = read_graph(tree(clone, root), None, ["a.py", "b.py"])

    assert (found.parents, found.changes) == ((), {"a.py": blob_id(b"1")})


@pytest.mark.parametrize("subject", ["", "a\n\nbody: not the subject", ":100644 000000 M", "Gr\u00fc\u00dfe \x1b[1m"])
def test_a_subject_may_be_anything(clone: Histories, subject: str) -> None:
    base = clone.commit("Base", {"a.py": b"1"})
    tip = clone.commit(subject, {"a.py": b"2"}, base)
    found = list(read_graph(tree(clone, clone.commit("Last", {"a.py": b"2"}, tip)), base, ["a.py"]))

    assert [commit.subject for commit in found] == ["Last", subject.partition("\n")[0]]
    assert [commit.changes for commit in found] == [{}, {"a.py": blob_id(b"2")}]


@pytest.mark.parametrize(("written", "told"), [("é" * 1001, "é" * 1000), ("\U0001f600" * 999, "\U0001f600" * 999)])
def test_of_a_subject_without_end_the_beginning_is_told(clone: Histories, written: str, told: str) -> None:
    base = clone.commit("Base", {"a.py": b"1"})
    tip = clone.commit(written, {"a.py": b"2"}, base)

    assert [commit.subject for commit in read_graph(tree(clone, tip), base, ["a.py"])] == [told]


def test_settings_of_the_user_change_nothing(clone: Histories) -> None:
    base = clone.commit("Base", {"a.py": b"1\n" * 9, "b.py": b"2"})
    tip = clone.commit("Tip", {"b.py": b"1\n" * 9}, base)
    expected = list(read_graph(tree(clone, tip), base, ["a.py", "b.py"]))
    settings = {
        "log.showRoot": "false",
        "log.showSignature": "true",
        "log.diffMerges": "combined",
        "log.follow": "true",
        "diff.renames": "copies",
        "color.ui": "always",
        "i18n.logOutputEncoding": "UTF-16",
        "core.quotePath": "true",
    }
    for name, value in settings.items():
        git(clone.folder, "config", name, value)

    assert list(read_graph(tree(clone, tip), base, ["a.py", "b.py"])) == expected
    assert expected[0].changes == {"a.py": None, "b.py": blob_id(b"1\n" * 9)}
    assert read_graph(tree(clone, base), None, ["a.py"]).blob(base, "a.py") == blob_id(b"1\n" * 9)


def test_a_link_is_not_followed(clone: Histories) -> None:
    base = clone.commit("Base", {"a.py": b"1"})
    blob = git(clone.folder, "rev-parse", f"{base}:a.py")
    index = clone.folder / "links.tmp"
    clone._git("update-index", "--add", "--cacheinfo", f"120000,{blob},a.py", more={"GIT_INDEX_FILE": str(index)})
    linked = clone._git("write-tree", more={"GIT_INDEX_FILE": str(index)})
    tip = clone._git("commit-tree", linked, "-p", base, stdin=b"Link")

    with pytest.raises(UnsafePathError, match=r"a\.py is a link or a submodule at some time"):
        read_graph(tree(clone, tip), base, ["a.py"])


def graph_says(clone: Histories, commit: str, other: str) -> None:
    """Write a commit-graph in which ``commit`` has the folder of ``other``."""
    clone.name("heads/main", commit)
    git(clone.folder, "commit-graph", "write", "--reachable")
    file = clone.folder / "objects" / "info" / "commit-graph"
    own, another = (bytes.fromhex(git(clone.folder, "rev-parse", f"{each}^{{tree}}")) for each in (commit, other))
    content = file.read_bytes()[:-20].replace(own, another)
    file.chmod(0o644)
    file.write_bytes(content + hashlib.sha1(content, usedforsecurity=False).digest())


@pytest.mark.parametrize("end", ["tip", "root", "removed"])
def test_what_the_log_says_of_an_end_is_held_against_its_own_folders(clone: Histories, end: str) -> None:
    base = clone.commit("Base", {"sub/a.py": b"1", "b.py": b"1"})
    tip = clone.commit("Tip", {"b.py": b"1"} if end == "removed" else {"sub/a.py": b"2", "b.py": b"1"}, base)
    first, last = (None, base) if end == "root" else (base, tip)
    other = tip if end == "root" else base
    expected = list(read_graph(tree(clone, last), first, ["b.py", "sub/a.py"]))
    graph_says(clone, last, other)
    of = tree(clone, last)

    with pytest.raises(TreeError) as caught:
        read_graph(of, first, ["b.py", "sub/a.py"])
    one, two = f"blob {blob_id(b'1')}", f"blob {blob_id(b'2')}"
    told, held = {"tip": (one, two), "root": (two, one), "removed": (one, "no file")}[end]
    assert caught.value.message == (
        f"git's log of {clone.folder} contradicts the commit's own folders: by it sub/a.py of {last} is {told}, "
        f"by them {held}"
    )
    assert caught.value.hint == (
        "the repository is damaged, or its commit-graph is that of another one: "
        f"git -C {clone.folder} fsck and git -C {clone.folder} commit-graph verify say what is wrong"
    )
    # Of files that are as the log says there is nothing to refuse, nor without the graph.
    assert [commit.id for commit in read_graph(of, first, ["b.py"])] == [last]
    (clone.folder / "objects" / "info" / "commit-graph").unlink()
    assert list(read_graph(of, first, ["b.py", "sub/a.py"])) == expected


@pytest.mark.parametrize("folder", ["", "sub"])
def test_no_folder_of_the_last_commit_is_another_one(clone: Histories, folder: str) -> None:
    base = clone.commit("Base", {"sub/a.py": b"1"})
    tip = clone.commit("Tip", {"sub/a.py": b"2"}, base)
    real = git(clone.folder, "rev-parse", f"{tip}:{folder}")
    put(clone.folder, b"tree", tree_of(clone.folder, f"{base}:{folder}"), real)

    # To git's log it has what the folder in its place has.
    why = f"error: hash mismatch {real}" if not folder else "its content is not the one that its id stands for"
    with pytest.raises(TreeError, match=rf"^git cannot read {tip}:{folder} \(.*\) of {clone.folder}: {why}"):
        read_graph(tree(clone, tip), base, ["sub/a.py"])


def test_what_git_cannot_read_is_told_with_the_command_that_was_asked(clone: Histories) -> None:
    base = clone.commit("Base", {"sub/a.py": b"1"})
    tip = clone.commit("Tip", {"sub/a.py": b"2"}, base)
    of = tree(clone, tip)
    lost = git(clone.folder, "rev-parse", f"{tip}:sub")
    (clone.folder / "objects" / lost[:2] / lost[2:]).unlink()

    with pytest.raises(TreeError) as caught:
        read_graph(of, base, ["sub/a.py"])
    assert (caught.value.message, caught.value.hint) == (
        f"git log failed in {clone.folder}: fatal: unable to read tree {lost}",
        f"git -C {clone.folder} fsck says what is damaged; a new clone mends it",
    )


def test_a_tag_stands_for_its_commit_in_whatever_way_it_was_made(clone: Histories) -> None:
    one = clone.commit("One", {"a.py": b"1"})
    clone.name("tags/light", one)
    git(clone.folder, "tag", "-a", "-m", "Heavy.", "heavy", one)

    found = {tag.name: (tag.commit, tag.time) for tag in tags(tree(clone, one))}

    # What ``git`` makes here is always of one time.
    assert found == {"light": (one, BEGIN + DAY), "heavy": (one, 1_767_323_045)}


def test_everything_is_every_branch_and_tag_once(clone: Histories) -> None:
    one = clone.commit("One", {"a.py": b"1"})
    two = clone.commit("Two", {"a.py": b"2"}, one)
    clone.name("heads/main", clone.commit("Back", {"a.py": b"1"}, two))
    clone.name("remotes/origin/x", clone.commit("Remote", {"a.py": b"3"}, one))
    clone.name("tags/t", clone.commit("Tagged", {"b.py": b"1"}, one))
    clone.name("pull/7/head", clone.commit("Pull", {"a.py": b"4"}, one))
    found = read_everything(tree(clone, one), ["a.py"])

    assert [(each.path, each.blob, each.commit.subject) for each in found] == [
        ("a.py", blob_id(b"1"), "One"),
        ("a.py", blob_id(b"2"), "Two"),
        ("a.py", blob_id(b"3"), "Remote"),
        ("a.py", None, "Tagged"),
    ]
