from __future__ import annotations

import os
from pathlib import Path

import pytest
from trees.repositories import git, record
from trees.snapshots import lay

from patchkit.operations.capture_tree import Changed, Choice, Compared, compare, whole_folder
from patchkit.trees.directory import DirectoryTree
from patchkit.trees.git import GitTree
from patchkit.trees.interface import SourceTree
from patchkit.trees.memory import MemoryTree

UPSTREAM = {"m/a.py": b"a\n", "m/b.py": b"b\n", "m/sub/c.py": b"c\n", "other/d.py": b"d\n"}
WHEEL = "m-1.dist-info/patchkit.json"
INCLUDE = "not upstream's, and not compared (--include GLOB takes them)"


def compared(files: dict[str, bytes], expected: dict[str, bytes | None] | None = None, *more: SourceTree) -> Compared:
    return compare(MemoryTree(files, "tree", WHEEL), [MemoryTree(UPSTREAM), *more], expected or {}, "m")


def test_of_a_wheel_every_file_below_the_package_is_compared_and_none_elsewhere() -> None:
    assert compared({**UPSTREAM, "m/b.py": b"B\n", "other/d.py": b"D\n"}) == Compared(
        (Changed("m/b.py", b"b\n", b"B\n"),), ()
    )


def test_what_the_series_touches_is_compared_with_what_it_leaves_wherever_it_is() -> None:
    files = {**UPSTREAM, "m/a.py": b"A\n", "other/d.py": b"x\n"}
    expected: dict[str, bytes | None] = {"m/a.py": b"A\n", "m/new.py": b"n\n", "m/b.py": None, "other/d.py": b"D\n"}

    assert compared(files, expected).files == (
        Changed("m/b.py", None, b"b\n"),
        Changed("m/new.py", b"n\n", None),
        Changed("other/d.py", b"D\n", b"x\n"),
    )


def test_new_and_missing_python_files_are_changes() -> None:
    files = {"m/a.py": b"a\n", "m/sub/c.py": b"c\n", "m/new.py": b"n\n"}

    assert compared(files).files == (Changed("m/b.py", b"b\n", None), Changed("m/new.py", None, b"n\n"))


def test_folders_of_one_side_alone_are_named_and_left_out() -> None:
    files = {"m/a.py": b"a\n", "m/b.py": b"b\n", "m/own/x.py": b"x\n"}

    assert compared(files) == Compared((), (f"{INCLUDE}: m/own/", "not in tree, and not compared: m/sub/"))


def test_a_new_text_that_is_no_python_is_a_change_like_a_new_python_file() -> None:
    new = {"m/a.yaml": b"x\n", "m/sub/t.jinja": b"t\n"}

    assert compared({**UPSTREAM, **new}) == Compared(
        (Changed("m/a.yaml", None, b"x\n"), Changed("m/sub/t.jinja", None, b"t\n")), ()
    )


def test_what_tools_leave_behind_is_named_and_left_out() -> None:
    names = ["a.py.orig", "a.py.rej", "a.py.bak", "a.py~", ".a.py.swp", "a.pyc"]
    told = ", ".join(f"m/{name}" for name in sorted(names)[:5])

    assert compared({**UPSTREAM, **{f"m/{name}": b"x" for name in names}}) == Compared(
        (), (f"left behind by a tool, and left out: {told} and 1 more",)
    )


def test_a_tree_of_which_only_the_wheel_is_known_is_told_what_that_leaves_open() -> None:
    tree = MemoryTree({**UPSTREAM, "m/new.md": b"x", "m/new.py": b"x\n", "top.py": b"x"}, "tree")

    assert compare(tree, [MemoryTree(UPSTREAM)], {}, "m") == Compared(
        (Changed("m/new.py", None, b"x\n"),),
        (
            "outside m/, and not compared (without --git REPO): other/, top.py",
            "no Python, which wheels leave out, and not compared (without --git REPO): m/new.md",
        ),
    )


def test_an_extension_module_of_upstreams_is_named_whatever_it_was_built_for() -> None:
    upstream = MemoryTree({**UPSTREAM, "m/lib.cpython-311-x86_64-linux-gnu.so": b"1", "m/sub/own.so": b"1"})
    tree = MemoryTree(
        {**UPSTREAM, "m/lib.cpython-312-x86_64-linux-gnu.so": b"2", "m/sub/own.so": b"2", "m/x.so": b"3"}, "tree", WHEEL
    )

    assert compare(tree, [upstream], {}, "m") == Compared(
        (Changed("m/x.so", None, b"3"),),
        (
            "not in tree, and not compared: m/lib.cpython-311-x86_64-linux-gnu.so",
            "compiled, and not compared: m/lib.cpython-312-x86_64-linux-gnu.so, m/sub/own.so",
        ),
    )


def test_a_file_that_is_as_any_source_has_it_is_unchanged() -> None:
    stamped = MemoryTree({**UPSTREAM, "m/a.py": b"a of the wheel\n", "m/more.py": b"m\n"})

    assert compared({**UPSTREAM, "m/a.py": b"a of the wheel\n", "m/more.py": b"m\n"}, None, stamped).files == ()
    assert (
        compared({**UPSTREAM, "m/a.py": b"edited\n"}, None, stamped).files
        == (
            Changed("m/a.py", b"a\n", b"edited\n"),
            Changed("m/more.py", b"m\n", None),
        )[:1]
    )


def test_a_repository_is_compared_by_blob_ids(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    lay(tmp_path, UPSTREAM)
    record(tmp_path, "all")

    class Unread(GitTree):
        def read(self, path: str) -> bytes | None:
            assert path == "m/b.py"
            return super().read(path)

    assert compare(MemoryTree({**UPSTREAM, "m/b.py": b"B\n"}), [Unread(tmp_path, "main")], {}, "m").files == (
        Changed("m/b.py", b"b\n", b"B\n"),
    )


# A whole checkout.

WHOLE = {**UPSTREAM, "top.py": b"t\n", "README.md": b"r\n", "run.sh": b"s\n"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Upstream's repository, with a script that may be executed."""
    place = tmp_path / "repository"
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    lay(place, WHOLE)
    (place / "run.sh").chmod(0o755)
    record(place, "all")
    return place


@pytest.fixture
def source(repository: Path) -> GitTree:
    return GitTree(repository, "main")


def whole(source: GitTree, files: dict[str, bytes], choice: Choice | None = None, *more: SourceTree) -> Compared:
    return compare(MemoryTree(files, "tree"), [*more, source], {}, "m", choice)


def test_in_a_whole_checkout_every_file_counts(source: GitTree) -> None:
    files = {**WHOLE, "top.py": b"T\n", "other/new.yaml": b"n\n", ".patchkit/manifest.json": b"{}"}
    del files["README.md"]

    assert whole(source, files) == Compared(
        (
            Changed("README.md", b"r\n", None),
            Changed("other/new.yaml", None, b"n\n"),
            Changed("top.py", b"t\n", b"T\n"),
        ),
        (),
    )


def test_files_of_gits_and_of_patchkits_are_never_captured(source: GitTree, tmp_path: Path) -> None:
    own = {
        ".PatchKit/lock": b"1\n",
        "m/.x.py.patchkit-1f00ab2c": b"x\n",
        ".patchkit-0-1": b"",
        ".git": b"gitdir: x\n",
    }
    tree = DirectoryTree(lay(tmp_path / "worktree", {**WHOLE, **own}))
    (tree.root / "run.sh").chmod(0o755)

    assert compare(tree, [source], {}, "m", Choice(("**",))) == Compared(
        (),
        ("patchkit's own, and left out: .PatchKit/lock, .patchkit-0-1, m/.x.py.patchkit-1f00ab2c",),
    )


def test_what_only_some_systems_take_for_gits_is_named_and_left_out(source: GitTree, tmp_path: Path) -> None:
    own = {"m/.GIT/y.py": b"y\n", "m/git~1": b"", "m/.git": b"gitdir: x\n"}
    tree = DirectoryTree(lay(tmp_path / "worktree", {**WHOLE, **own}))
    (tree.root / "run.sh").chmod(0o755)

    assert compare(tree, [source], {}, "m", Choice(("**",))) == Compared(
        (), ("git's own to some systems, and left out: m/.GIT/y.py, m/git~1",)
    )


LINKS = "links, which no diff of a series can carry, and left out"
PIPES = "pipes, sockets or devices, which no diff of a series can carry, and left out"


def lay_others(place: Path) -> Path:
    """A checkout with things that are neither a file nor a folder."""
    lay(place, {**WHOLE, "own/x.py": b"x\n"})
    (place / "run.sh").chmod(0o755)
    for path, leads in {
        "m/alias.py": "a.py",
        "m/root": "/",
        "m/.#a.py": "somebody@host:1",
        "m/lib.so": "/x/lib.so",
        "own/link": "x.py",
        "top": "m",
        "m/.git": "../.git",
    }.items():
        (place / path).symlink_to(leads)
    os.mkfifo(place / "m" / "pipe.py")
    return place


def test_what_is_no_file_is_named_and_left_out(source: GitTree, tmp_path: Path) -> None:
    place = lay_others(tmp_path / "tree")
    choice = Choice(ignored=frozenset({"m/lib.so"}))

    assert compare(DirectoryTree(place), [source], {}, "m", choice) == Compared(
        (),
        (
            f"{INCLUDE}: own/",
            "left behind by a tool, and left out: m/.#a.py",
            f"{LINKS}: m/alias.py, m/root, top",
            "ignored by git, and left out: m/lib.so",
            f"{PIPES}: m/pipe.py",
        ),
    )


def test_what_is_no_file_can_be_excluded(source: GitTree, tmp_path: Path) -> None:
    place = lay_others(tmp_path / "tree")
    choice = Choice(("own/**",), ("m/**", "own/x.py", "top"))
    named = "m/.#a.py, m/a.py, m/alias.py, m/b.py, m/lib.so and 5 more"

    assert compare(DirectoryTree(place), [source], {}, "m", choice) == Compared(
        (), (f"left out by --exclude: {named}", f"{LINKS}: own/link")
    )


def test_without_a_whole_checkout_what_is_no_file_is_named_below_the_package_and_by_its_top_elsewhere(
    tmp_path: Path,
) -> None:
    place = lay_others(tmp_path / "tree")

    assert compare(DirectoryTree(place), [MemoryTree(UPSTREAM)], {}, "m").notes == (
        "outside m/, and not compared (without --git REPO): README.md, other/, own/, run.sh, top and 1 more",
        "left behind by a tool, and left out: m/.#a.py",
        f"{LINKS}: m/alias.py",
        "no Python, which wheels leave out, and not compared (without --git REPO): m/lib.so, m/root",
        f"{PIPES}: m/pipe.py",
    )


def test_a_link_that_upstream_has_is_told_only_where_it_leads_elsewhere(repository: Path, tmp_path: Path) -> None:
    links = {"AGENTS.md": "README.md", ".tool/skills": "../m"}
    for place in (repository, lay(tmp_path / "tree", WHOLE)):
        (place / "run.sh").chmod(0o755)
        for path, leads in links.items():
            (place / path).parent.mkdir(exist_ok=True)
            (place / path).symlink_to(leads)
    record(repository, "links")
    source = GitTree(repository, "main")
    tree = DirectoryTree(tmp_path / "tree")

    assert compare(tree, [source], {}, "m").notes == ()
    (tree.root / "AGENTS.md").unlink()
    (tree.root / "AGENTS.md").symlink_to("top.py")
    assert compare(tree, [source], {}, "m").notes == (f"{LINKS}: AGENTS.md",)


def test_that_the_wheel_lacks_a_file_does_not_make_its_removal_from_a_checkout_unseen(source: GitTree) -> None:
    files = {path: text for path, text in WHOLE.items() if path != "m/b.py"}
    wheel = MemoryTree({"m/a.py": b"a\n"})

    assert whole(source, files, None, wheel).files == (Changed("m/b.py", b"b\n", None),)


def test_a_copy_of_the_package_alone_is_no_whole_checkout_and_told_so(source: GitTree) -> None:
    files = {**UPSTREAM, "m/a.py": b"A\n", "mine.py": b"x\n", "top.py": b"other\n"}

    assert whole(source, files) == Compared(
        (Changed("m/a.py", b"a\n", b"A\n"),),
        ("outside m/, and not compared (no whole checkout): mine.py, other/, top.py",),
    )


def test_paths_are_included_excluded_and_ignored_by_name(source: GitTree) -> None:
    new = {"tool/a.py": b"1\n", "tool/b.md": b"2\n", "top.py": b"T\n", "m/lib.so": b"3"}
    choice = Choice((whole_folder("tool/"),), ("top.py", "**/*.md"), frozenset({"m/lib.so"}))

    assert whole(source, {**WHOLE, **new}, choice) == Compared(
        (Changed("tool/a.py", None, b"1\n"),),
        (
            "left out by --exclude: README.md, tool/b.md, top.py",
            "ignored by git, and left out: m/lib.so",
        ),
    )


def test_what_upstream_has_is_compared_though_git_would_ignore_it(source: GitTree) -> None:
    choice = Choice(ignored=frozenset({"top.py"}))

    assert whole(source, {**WHOLE, "top.py": b"T\n"}, choice).files == (Changed("top.py", b"t\n", b"T\n"),)


MODES = "executable or not, which no diff of a series can say, and not captured"


def test_a_mode_is_told_and_not_captured(source: GitTree, tmp_path: Path) -> None:
    place = lay(tmp_path / "tree", {**WHOLE, "new.sh": b"n\n", "old.sh": b"n\n"})
    (place / "m" / "a.py").chmod(0o755)
    (place / "new.sh").chmod(0o755)

    assert compare(DirectoryTree(place), [source], {}, "m") == Compared(
        (Changed("new.sh", None, b"n\n"), Changed("old.sh", None, b"n\n")), (f"{MODES}: m/a.py, new.sh, run.sh",)
    )


def test_where_every_file_is_executable_that_says_nothing(source: GitTree, tmp_path: Path) -> None:
    place = lay(tmp_path / "tree", WHOLE, mode=0o755)

    assert compare(DirectoryTree(place), [source], {}, "m") == Compared((), ())


@pytest.mark.parametrize("count", [5, 7])
def test_long_lists_are_cut(count: int) -> None:
    files = {**UPSTREAM, **{f"m/{number}.rej": b"" for number in range(count)}}
    more = " and 2 more" if count == 7 else ""

    assert compared(files).notes == (
        f"left behind by a tool, and left out: m/0.rej, m/1.rej, m/2.rej, m/3.rej, m/4.rej{more}",
    )
