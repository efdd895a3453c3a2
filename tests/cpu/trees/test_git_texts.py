from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from patchkit.core.blobs import blob_id
from patchkit.errors import TreeError
from patchkit.trees.git import GitTree
from patchkit.trees.git_objects import GitObjects
from patchkit.trees.git_texts import CommitFiles, blobs_at, blobs_in_batches, read_blobs

from .histories import Histories
from .repositories import claim, git, put, tree_of

MISMATCH = "error: hash mismatch {}; fatal: Not a valid object name {}"


@pytest.fixture
def clone(tmp_path: Path) -> Histories:
    return Histories(tmp_path / "clone")


def tree(clone: Histories, revision: str) -> GitTree:
    return GitTree(clone.folder, revision, download=False)


@pytest.mark.parametrize("path", ["a.py", "deep/er/a.py"])
def test_blobs_of_commits_are_read_from_trees(clone: Histories, path: str) -> None:
    with_it, without = clone.commit("One", {path: b"1", "b": b"2"}), clone.commit("Two", {"c": b"2"})

    assert blobs_at(tree(clone, with_it), [with_it, without], [path]) == {
        with_it: {path: blob_id(b"1")},
        without: {},
    }


def test_blobs_are_read_whatever_is_in_them(clone: Histories) -> None:
    texts = [b"", b"\n", b"a\0b\n\n", b"no line break", f"{'0' * 40} blob 3\n".encode()]
    tip = clone.commit("Tip", {f"{number}.py": text for number, text in enumerate(texts)})
    wanted = {blob_id(text): "x" for text in texts}

    assert read_blobs(tree(clone, tip), wanted) == {blob_id(text): text for text in texts}
    assert CommitFiles(tree(clone, tip)).read("2.py") == b"a\0b\n\n"
    assert CommitFiles(tree(clone, tip)).read("9.py") is None


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the objects that git is asked for, as they are."""
    names: list[str] = []
    read = GitObjects._read

    def told(self: GitObjects, wanted: Sequence[str], *how: Any) -> list[tuple[str, bytes]]:
        names.extend(wanted)
        return read(self, wanted, *how)

    monkeypatch.setattr(GitObjects, "_read", told)
    return names


def test_files_that_go_together_are_read_together_and_once(clone: Histories, asked: list[str]) -> None:
    tip = clone.commit("Tip", {"a.py": b"1", "b.py": b"2", "sub/c.py": b"3"})
    files = CommitFiles(tree(clone, tip), ["a.py", "sub/c.py", "gone.py"])
    sub = git(clone.folder, "rev-parse", f"{tip}:sub")
    folders, blobs = [f"{tip}^{{tree}}", sub], [blob_id(b"1"), blob_id(b"3")]

    assert [files.read(path) for path in ("a.py", "sub/c.py", "gone.py", "a.py")] == [b"1", b"3", None, b"1"]
    assert asked == [*folders, *blobs]
    assert (files.read("b.py"), asked) == (b"2", [*folders, *blobs, blob_id(b"2")])


def test_blobs_come_in_batches_that_memory_has_room_for(clone: Histories, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [b"1234", b"12345", b"", b"123456789012", b"1", b"12"]
    tip = clone.commit("Tip", {f"{number}.py": text for number, text in enumerate(texts)})
    wanted = {blob_id(text): "x" for text in texts}
    monkeypatch.setattr("patchkit.trees.git_texts._BATCH", 10)

    found = [list(batch.values()) for batch in blobs_in_batches(tree(clone, tip), wanted)]
    assert found == [[b"1234", b"12345", b""], [b"123456789012"], [b"1", b"12"]]


@pytest.mark.parametrize("together", [1, 2, 3, 50])
def test_however_many_are_asked_for_at_once_each_answer_is_that_of_its_question(
    clone: Histories, monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    texts = [b"%d\n" % number * (number * 7919 % 20_011) for number in range(17)]
    tip = clone.commit("Tip", {f"{number}.py": text for number, text in enumerate(texts)})
    wanted = {blob_id(text): "x" for text in texts}
    monkeypatch.setattr("patchkit.trees.git_objects._TOGETHER", together)
    monkeypatch.setattr("patchkit.trees.git_texts._BATCH", 50_000)
    batches = []
    of = tree(clone, tip)
    for batch in blobs_in_batches(of, wanted):
        # Whoever has a batch may ask the same process for something else.
        assert of.read("3.py") == texts[3]
        batches.append(batch)

    assert {blob: content for batch in batches for blob, content in batch.items()} == {
        blob_id(each): each for each in texts
    }
    assert [sum(map(len, batch.values())) <= 50_000 or len(batch) == 1 for batch in batches] == [True] * len(batches)
    assert len(batches) > 3


def test_blobs_that_are_too_large_together_are_not_read_at_once(
    clone: Histories, monkeypatch: pytest.MonkeyPatch
) -> None:
    tip = clone.commit("Tip", {"a.py": bytes(6 << 20), "b.py": bytes(5 << 20)})
    monkeypatch.setattr("patchkit.trees.git_texts.LARGEST", 10 << 20)

    with pytest.raises(TreeError) as caught:
        CommitFiles(tree(clone, tip), ["a.py", "b.py"]).read("a.py")
    assert caught.value.message == f"a.py, b.py of {clone.folder} are larger than 10 MiB together"


def test_a_blob_that_is_not_there_is_named_with_its_file(clone: Histories) -> None:
    tip = clone.commit("Tip", {"a.py": b"1"})
    lost = blob_id(b"lost")
    with pytest.raises(TreeError) as caught:
        read_blobs(tree(clone, tip), {blob_id(b"1"): "a.py", lost: "a/b.py"})
    assert (caught.value.message, caught.value.hint) == (
        f"git cannot read a/b.py ({lost}) of {clone.folder}: fatal: Not a valid object name {lost}",
        f"git -C {clone.folder} fsck says what is damaged; a new clone mends it",
    )


def test_a_blob_that_claims_to_be_larger_than_any_source_is_not_read(clone: Histories) -> None:
    commit = clone.commit("Base", {"a.py": b"1"})
    blob = claim(clone.folder, 99_999_999_999)

    with pytest.raises(TreeError) as caught:
        read_blobs(tree(clone, commit), {blob_id(b"1"): "a.py", blob: "b.py"})

    assert (caught.value.message, caught.value.hint) == (
        f"git cannot read b.py ({blob}) of {clone.folder}: it is larger than 256 MiB",
        None,
    )


def test_a_text_in_the_place_of_another_one_is_not_it(clone: Histories) -> None:
    tip = clone.commit("Tip", {"a.py": b"1", "sub/b.py": b"2"})
    blob = put(clone.folder, b"blob", b"evil", blob_id(b"2"))
    of = tree(clone, tip)

    assert CommitFiles(of).read("a.py") == b"1"
    for read in (
        lambda: CommitFiles(of).read("sub/b.py"),
        lambda: read_blobs(of, {blob_id(b"1"): "a.py", blob: "sub/b.py"}),
        lambda: list(blobs_in_batches(of, {blob_id(b"1"): "a.py", blob: "sub/b.py"})),
    ):
        with pytest.raises(TreeError) as caught:
            read()
        assert caught.value.message == (
            f"git cannot read sub/b.py ({blob}) of {clone.folder}: its content is not the one that its id stands for"
        )


@pytest.mark.parametrize("folder", ["", "sub", "sub/deep"])
def test_no_folder_on_the_way_to_a_file_is_another_one(clone: Histories, folder: str) -> None:
    tip = clone.commit("Tip", {"sub/deep/b.py": b"2"})
    evil = clone.commit("Evil", {"sub/deep/b.py": b"evil"})
    real = git(clone.folder, "rev-parse", f"{tip}:{folder}")
    put(clone.folder, b"tree", tree_of(clone.folder, f"{evil}:{folder}"), real)
    of, said = tree(clone, tip), []

    for asked in (
        lambda: blobs_at(of, [tip], ["sub/deep/b.py"]),
        lambda: of.read("sub/deep/b.py"),
        lambda: of.read("sub/deep/gone.py"),
        lambda: of.entries("sub/deep"),
        of.entries,
    ):
        with pytest.raises(TreeError) as caught:
            asked()
        said.append(caught.value.message)
    # That of a commit git itself holds against its id.
    name = real if folder else f"{tip}^{{tree}}"
    why = "its content is not the one that its id stands for" if folder else MISMATCH.format(real, name)
    assert said == [
        f"git cannot read {tip}:{folder} ({name}) of {clone.folder}: {why}",
        f"git cannot read {tip}:sub/deep/b.py ({name}) of {of.label}: {why}",
        f"git cannot read {tip}:sub/deep/gone.py ({name}) of {of.label}: {why}",
        f"git cannot read {tip}:sub/deep ({name}) of {of.label}: {why}",
        f"git cannot read {tip}: ({name}) of {of.label}: {why}",
    ]


def test_no_commit_is_another_one(clone: Histories) -> None:
    tip = clone.commit("Tip", {"a.py": b"2"})
    of = tree(clone, tip)
    about = git(clone.folder, "cat-file", "commit", clone.commit("Evil", {"a.py": b"evil"}))
    clone.name("heads/x", tip)
    put(clone.folder, b"commit", about.encode(), tip)
    top = f"{tip}^{{tree}}"

    said = []
    for asked in (
        lambda: blobs_at(of, [tip], ["a.py"]),
        lambda: of.told_by(tip),
        lambda: of.at(tip),
        lambda: of.at("x"),
    ):
        with pytest.raises(TreeError) as caught:
            asked()
        said.append(caught.value.message)
    why = f" (git: error: hash mismatch {tip}; fatal: Needed a single revision)"
    assert said == [
        f"git cannot read {tip}: ({top}) of {clone.folder}: {MISMATCH.format(tip, top)}",
        f"git cannot read {tip} of {of.label}: its content is not the one that its id stands for",
        f"{clone.folder} is damaged: {tip} cannot be read{why}",
        f"{clone.folder} is damaged: x cannot be read{why}",
    ]


def test_a_commit_of_which_the_folder_is_lost_is_not_one_without_files(clone: Histories) -> None:
    tip = clone.commit("Tip", {"sub/b.py": b"2"})
    lost = git(clone.folder, "rev-parse", f"{tip}:sub")
    (clone.folder / "objects" / lost[:2] / lost[2:]).unlink()

    with pytest.raises(TreeError, match=rf"git cannot read {tip}:sub \({lost}\) of "):
        blobs_at(tree(clone, tip), [tip], ["sub/b.py"])
