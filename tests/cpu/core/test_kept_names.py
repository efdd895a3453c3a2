from __future__ import annotations

from pathlib import Path

import pytest

from patchkit.core.kept_names import MANIFEST, why_kept
from patchkit.trees.directory import DirectoryTree
from patchkit.trees.git import GitTree
from patchkit.trees.installed import InstalledTree
from patchkit.trees.journal import Entry, Journal
from patchkit.trees.memory import MemoryTree
from patchkit.unfinished import unfinished

GIT = "leads into a git repository"
OURS = "is where patchkit keeps its own files"
PASSING = "is named like the files that patchkit makes beside others, and clears away"
LIST = "is a list that follows from the files of an installed tree"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (".git/hooks/x", GIT),
        ("a/.GIT", GIT),
        (".g\u200cit/config", GIT),
        ("git~1/config", GIT),
        (".patchkit", OURS),
        (".patchkit/manifest.json", OURS),
        (".patchkit/journal/1.json", OURS),
        (".patchkit/lock", OURS),
        ("a/b/.PatchKit/anything", OURS),
        (".patch\u200dkit/lock", OURS),
        (".patchkit /lock", OURS),
        (".patchkit./lock", OURS),
        (".patchkit::$INDEX_ALLOCATION/lock", OURS),
        ("PATCHK~1/lock", OURS),
        ("a/patchk~4 .", OURS),
        ("PAB3E5~1/lock", OURS),
        ("pab3e~12/lock", OURS),
        ("M~1.DIS/PATCHK~1.JSO", OURS),
        ("MEGATR~2.DIS/pa0ae7~3.jso", OURS),
        ("m-1.dist-info/patchk~2.jso", OURS),
        ("MEGATR~1.DIS/RECORD", LIST),
        ("m-1.dist-info/.patchkit/lock", OURS),
        ("m-1.dist-info/patchkit.json", OURS),
        ("src/M-1.DIST-INFO/Patchkit.JSON", OURS),
        ("a/.patchkit-1f-0", PASSING),
        ("a/.x.py.patchkit-1f00ab2c", PASSING),
        ("a/.X.py.PATCHKIT-1F00AB2C. ", PASSING),
        ("m-1.dist-info/RECORD", LIST),
        ("a/patchkit.json", None),
        ("a/patchk~1.jso", None),
        ("patchk~5/x", None),
        ("patchk~12/x", None),
        ("pab3e5~1x/y", None),
        ("a/.patchkit-notes", None),
        ("a/.x.py.patchkit-1f", None),
        ("a/.x.py.patchkit-1f00ab2c.txt", None),
        ("a/RECORD", None),
        ("a/patchkit/x.py", None),
        ("patchkit", None),
        ("a/my.patchkit-notes", None),
        (".patchkits/x", None),
        (".gitignore", None),
        ("a/b.py", None),
    ],
)
def test_names_of_git_and_of_patchkit_are_kept_in_every_spelling(path: str, why: str | None) -> None:
    assert why_kept(path) == why


def test_every_name_that_patchkit_uses_in_a_tree_is_kept(tmp_path: Path) -> None:
    folder, installed = DirectoryTree(tmp_path), InstalledTree(tmp_path, "m-1.dist-info")
    entry = Entry("a/x.py", None, None, 0o644)
    with unfinished(tmp_path / "x.py") as building:
        names = [
            folder.manifest_path,
            installed.manifest_path,
            MemoryTree({}).manifest_path,
            f"{folder.state_dir.relative_to(tmp_path)}/lock",
            f"{installed.state_dir.relative_to(tmp_path)}/journal/journal.json",
            Journal("apply", "1f", (entry,), ()).temporaries()[entry.path],
            building.name,
        ]

    assert [why_kept(name) for name in names] == [OURS] * (len(names) - 2) + [PASSING] * 2
    assert GitTree.manifest_path.fget(object()) == MANIFEST  # type: ignore[attr-defined]
