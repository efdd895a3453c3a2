"""A clone whose references, alternates or packs name a pipe: git opens what is named, wherever it is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from operations import made_up as texts
from operations.carried_world import NOTES, NOTES_1, World
from trees.repositories import git
from trees.snapshots import lay

from patchkit.errors import TreeError
from patchkit.trees.git_program import GitProgram

from .conftest import Command

REFERENCES = {
    "HEAD behind a reference": ({"HEAD": "ref: refs/heads/odd", "refs/heads/odd": "ref: odd"}, "odd"),
    "a tag": ({"refs/tags/core_v9.9": "ref: odd"}, "odd"),
    "a remote branch": ({"refs/remotes/origin/odd": "ref:\t odd \n"}, "odd"),
    "in a folder": ({"refs/tags/core_v9.9": "ref: hooks/odd"}, "hooks/odd"),
    "of several, the last": ({"refs/tags/core_v9.9": "ref: a", "a": "ref: b", "b": "ref: hooks/odd"}, "hooks/odd"),
    "of the main worktree": ({"refs/tags/core_v9.9": "ref: main-worktree/odd"}, "odd"),
    "of a worktree": ({"refs/tags/core_v9.9": "ref: worktrees/one/odd"}, "worktrees/one/odd"),
    "cut by a NUL": ({"refs/tags/core_v9.9": "ref: odd\0.txt"}, "odd"),
    "merged": ({"refs/tags/core_v9.9": "ref: MERGE_HEAD"}, "MERGE_HEAD"),
    "what a question names": ({}, "main"),
    "an id": ({}, "{main}"),
}
"""What stands in references, and the place of the pipe to which it leads git."""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    texts.repository(tmp_path / "repository")
    return tmp_path / "repository"


@pytest.mark.parametrize("name", REFERENCES)
def test_no_command_waits_for_a_pipe_to_which_a_reference_leads(
    made_up: Command, tmp_path: Path, repository: Path, name: str
) -> None:
    files, place = REFERENCES[name]
    pipe = repository / ".git" / place.format(main=git(repository, "rev-parse", "main"))
    lay(repository / ".git", {path: text.encode() for path, text in files.items()})
    pipe.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(pipe)
    commands = [
        made_up("check-upstream", "--offline", "--git", repository),
        made_up("apply", "--git", repository, "--megatron", "main", "--to", tmp_path / "new"),
        made_up("regenerate", "--git", repository, "--check"),
    ]

    # Only what is opened has to be a file.
    said = f"error: git cannot read {repository}: {pipe} is no regular file but a named pipe"
    refused = {done.err.splitlines()[-1] for done in commands if done.code == 4}
    assert refused == (set() if name == "an id" else {said})


def test_a_reference_may_lead_to_another_one_outside_of_refs(
    made_up: Command, tmp_path: Path, repository: Path
) -> None:
    lay(repository / ".git", {"refs/heads/same": b"ref: HEAD\n", "refs/heads/loop": b"ref: refs/heads/loop\n"})
    done = made_up("apply", "--git", repository, "--megatron", "1.1", "--to", tmp_path / "new")

    assert (done.code, (tmp_path / "new").is_dir()) == (0, True)


ALTERNATES: dict[str, Callable[[Path], bytes]] = {
    "plain": lambda lender: b"%s\n" % os.fsencode(lender),
    "in quotes": lambda lender: b'"%s"\n' % os.fsencode(lender),
    "with escapes": lambda lender: b'"%s"' % b"".join(b"\\%03o" % byte for byte in os.fsencode(lender)),
    "behind quotes in the same line": lambda lender: b'"/nowhere"x%s\n' % os.fsencode(lender),
    "behind a comment and a line that is empty": lambda lender: b'# "\n\n%s\n' % os.fsencode(lender),
    "with quotes that do not end": lambda _lender: b'"nowhere\n../../../lender/objects\n',
    "cut by a NUL": lambda lender: b'"%s\\000.txt"\n' % os.fsencode(lender),
    "relative and in quotes": lambda _lender: b'"../../../lender/objects"\n',
}


@pytest.mark.parametrize("form", ALTERNATES)
def test_borrowed_objects_are_found_as_git_finds_them(
    made_up: Command, tmp_path: Path, repository: Path, form: str
) -> None:
    pipe = tmp_path / "lender" / "objects" / "pack" / "pack-1.idx"
    lay(pipe.parent, {"pack-1.pack": b"PACK"})
    os.mkfifo(pipe)
    lay(repository, {".git/objects/info/alternates": ALTERNATES[form](tmp_path / "lender" / "objects")})
    done = made_up("check-upstream", "--offline", "--git", repository)

    assert (done.code, done.err.splitlines()[-1]) == (
        4,
        f"error: git cannot read {repository}: {pipe} is no regular file but a named pipe",
    )


def test_a_long_way_to_a_lender_does_not_hide_a_short_one(made_up: Command, tmp_path: Path, repository: Path) -> None:
    def lender(number: int) -> Path:
        return tmp_path / str(number) / "objects"

    # By the long way the fifth is too far for its list to be read.
    for number in range(7):
        lay(lender(number), {"info/alternates": b"%s\n" % os.fsencode(lender(number + 1))})
    lay(lender(8), {"info/alternates": b"%s\n" % os.fsencode(lender(4))})
    lay(lender(7), {"pack/pack-1.pack": b"PACK"})
    os.mkfifo(lender(7) / "pack" / "pack-1.idx")
    lines = b"%s\n%s\n" % (os.fsencode(lender(8)), os.fsencode(lender(0)))
    lay(repository, {".git/objects/info/alternates": lines})
    done = made_up("check-upstream", "--offline", "--git", repository)

    assert (done.code, f"{lender(7)}/pack/pack-1.idx is no regular file but a named pipe" in done.err) == (4, True)


def test_a_pack_that_an_index_of_several_names_elsewhere_is_looked_at(made_up: Command, repository: Path) -> None:
    git(repository, "repack", "-adq")
    git(repository, "multi-pack-index", "write")
    folder = repository / ".git" / "objects" / "pack"
    (pack,) = folder.glob("*.pack")
    place = repository / "odd.idx"
    # As long as the name that it takes the place of; git looks at no checksum here.
    name, other = (os.fsencode(path) for path in (os.path.relpath(place, folder), pack.with_suffix(".idx").name))
    index = folder / "multi-pack-index"
    index.chmod(0o600)
    index.write_bytes(index.read_bytes().replace(other, name.ljust(len(other), b"\0")))
    os.mkfifo(place)
    pack.rename(place.with_suffix(".pack"))
    pack.with_suffix(".idx").unlink()
    done = made_up("check-upstream", "--offline", "--git", repository)

    assert (done.code, done.err.splitlines()[-1]) == (
        4,
        f"error: git cannot read {repository}: {folder / os.fsdecode(name)} is no regular file but a named pipe",
    )


@pytest.mark.parametrize("name", [b"a" * 5000, b"/a" * 5000, b"nowhere", b'"\\377"'])
def test_a_lender_that_is_no_folder_is_passed_over(
    made_up: Command, tmp_path: Path, repository: Path, name: bytes
) -> None:
    lay(repository, {".git/objects/info/alternates": name + b"\n"})
    done = made_up("apply", "--git", repository, "--megatron", "1.1", "--to", tmp_path / "new")

    assert (done.code, (tmp_path / "new").is_dir()) == (0, True)


@pytest.mark.parametrize("names", [b"/\0../..\0a/.\0./.idx\0", b"", b"a/" * 5000 + b".idx\0"])
def test_an_index_of_several_packs_may_name_anything(
    made_up: Command, tmp_path: Path, repository: Path, names: bytes
) -> None:
    end = (36 + len(names)).to_bytes(8, "big")
    chunks = b"PNAM" + (36).to_bytes(8, "big") + b"\0\0\0\0" + end
    lay(repository, {".git/objects/pack/multi-pack-index": b"MIDX\1\1\1\0\0\0\0\1" + chunks + names})
    done = made_up("apply", "--git", repository, "--megatron", "1.1", "--to", tmp_path / "new")

    assert (done.code, (tmp_path / "new").is_dir()) == (0, True)


@pytest.mark.parametrize("name", ["HEAD", "commondir"])
def test_looking_for_a_repository_waits_for_nothing(
    made_up: Command, tmp_path: Path, repository: Path, name: str
) -> None:
    bare = tmp_path / "bare"
    git(tmp_path, "clone", "-q", "--bare", repository, bare)
    lay(bare, {".git/HEAD": b"ref: refs/heads/main\n"})
    (bare / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(bare / ".git" / name)
    done = made_up("check-upstream", "--offline", "--git", bare)

    assert (done.code, done.err.splitlines()[-1]) == (
        4,
        f"error: git cannot read {bare}: {bare / '.git' / name} is no regular file but a named pipe",
    )


@pytest.mark.parametrize("form", ["folder", "file"])
def test_a_repository_in_a_tree_is_looked_at_before_git_is(
    made_up: Command, tmp_path: Path, repository: Path, form: str
) -> None:
    tree = tmp_path / "tree"
    lay(tree, texts.PATCHED["2.0"])
    inner = tree / "megatron" / "inner"
    inner.mkdir()
    if form == "file":
        lay(inner, {".git": b"gitdir: ../../../elsewhere\n"})
    pipe = (inner / "../../../elsewhere" if form == "file" else inner / ".git") / "HEAD"
    pipe.parent.resolve().mkdir()
    os.mkfifo(pipe)
    done = made_up("capture", "--from", tree, "--megatron", "2.0", "--git", repository)

    assert (done.code, done.err.splitlines()[-1]) == (
        4,
        f"error: git cannot read {tree}: {pipe} is no regular file but a named pipe",
    )


@pytest.mark.parametrize("value", ["{folder}/odd", "odd", "../odd"])
def test_a_list_of_ignored_files_that_a_setting_names_has_an_end(
    made_up: Command, tmp_path: Path, repository: Path, value: str
) -> None:
    lay(tmp_path / "tree", texts.PATCHED["2.0"])
    for folder in (tmp_path, repository):
        os.mkfifo(folder / "odd")
    git(repository, "config", "core.excludesFile", value.format(folder=tmp_path))
    done = made_up("capture", "--from", tmp_path / "tree", "--megatron", "2.0", "--git", repository)

    assert (done.code, done.err.splitlines()[-1].endswith("odd is no regular file but a named pipe")) == (4, True)


@pytest.mark.parametrize("place", [".mailmap", "mailmap.file", "mailmap.blob"])
def test_names_of_authors_are_not_waited_for(
    patchkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    world = World(tmp_path / "world", {NOTES: NOTES_1.replace(b"colour: red", b"colour: blue")})
    clone = world.repository()
    monkeypatch.setenv("PATCHKIT_CACHE", str(world.cache))
    pipe = clone / (place if place == ".mailmap" else ".git/odd")
    os.mkfifo(pipe)
    if place != ".mailmap":
        git(clone, "config", place, "odd" if place == "mailmap.blob" else str(pipe))
    asked = ("--patches", world.series, "--git", clone, "--onto", "v2.0", "--from", "v1.0")
    done = patchkit("explain", "first/notes-colour", *asked)

    # Of a checkout whose own list cannot be read no commit is named; the others are not asked for theirs.
    assert ("#27" in done.out, "git gave no answer" in done.out + done.err) == (
        place != ".mailmap",
        place == ".mailmap",
    )


@pytest.mark.parametrize("leads", ["straight", "through another"])
def test_no_log_is_written_where_a_link_of_the_clone_leads(
    made_up: Command, tmp_path: Path, repository: Path, leads: str
) -> None:
    folder = repository / ".git"
    lay(tmp_path, {"victim.txt": b"mine\n"})
    if leads == "straight":
        lay(folder, {"HEAD": b"ref: refs/heads/patched\n"})
        link, said = folder / "logs" / "HEAD", "is a link, and git would write where it leads"
    else:
        lay(folder, {"refs/heads/patched": b"ref: refs/heads/other\n"})
        link, said = folder / "logs" / "refs" / "heads" / "other", "is there, and names another reference"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(tmp_path / "victim.txt")
    done = made_up("apply", "--git", repository, "--megatron", "1.1", "--branch", "patched")

    assert (done.code, said in done.err, (tmp_path / "victim.txt").read_bytes()) == (4, True, b"mine\n")


def test_no_object_is_written_where_a_link_of_the_clone_leads(
    made_up: Command, tmp_path: Path, repository: Path
) -> None:
    (tmp_path / "victim").mkdir()
    link = next(
        place for place in (repository / ".git" / "objects" / f"{n:02x}" for n in range(256)) if not place.exists()
    )
    link.symlink_to(tmp_path / "victim")
    done = made_up("apply", "--git", repository, "--megatron", "1.1", "--branch", "patched")

    assert (done.code, done.err.splitlines()[-1]) == (
        4,
        f"error: git cannot read {repository}: {link} is a link to a folder",
    )


@pytest.mark.parametrize("revision", ["odd", "odd~1", "odd^{commit}", "hooks/odd", "main@{1}", "worktrees/one/HEAD"])
def test_no_revision_is_waited_for(repository: Path, revision: str) -> None:
    for place in ("odd", "hooks/odd", "logs/refs/heads/main", "worktrees/one/HEAD"):
        pipe = repository / ".git" / place
        pipe.unlink(missing_ok=True)
        if place.startswith("worktrees") != revision.startswith("worktrees"):
            continue
        pipe.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(pipe)
    with pytest.raises(TreeError, match="is no regular file but a named pipe"):
        GitProgram(repository).commit(revision)
