from __future__ import annotations

import pytest

from patchkit.core.foreign.diffs import ForeignPatch
from patchkit.core.foreign.fitting import FittedPatch, Misfits, fit_patches, pre_images, touched_paths
from patchkit.core.foreign.lenient import read_foreign
from patchkit.core.kept_names import why_kept
from patchkit.core.placement import FilePlaced, place_file
from patchkit.errors import PatchFormatError

A = b"one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"
TREE = {"m/a.py": A, "m/b.py": b"x\n"}
EDIT = "@@ -1,2 +1,2 @@\n-one\n+1\n two\n"
NEXT = "@@ -1,2 +1,3 @@\n 1\n+one and a half\n two\n"


def foreign(*parts: str) -> ForeignPatch:
    return read_foreign("".join(parts).encode(), "p")


def head(old: str, new: str) -> str:
    return f"--- {old}\n+++ {new}\n"


def has(path: str) -> bool:
    return path in TREE


def mail(subject: str, diff: str) -> str:
    return (
        f"From {'0' * 39}1 Mon Sep 17 00:00:00 2001\nFrom: a <a@b>\nSubject: [PATCH] {subject}\n\n---\n{diff}"
        "-- \n2.39.5\n\n"
    )


# Paths.


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a/m/a.py", "b/m/a.py"),
        ("i/m/a.py", "w/m/a.py"),
        ("m/a.py", "m/a.py"),
        ("m/a.py.orig", "m/a.py"),
        ("Megatron-old/m/a.py", "Megatron/m/a.py"),
        ("x/y/m/a.py", "x/z/m/a.py"),
    ],
)
def test_leading_folders_are_taken_off_until_the_base_has_the_file(old: str, new: str) -> None:
    assert touched_paths(foreign(head(old, new), EDIT), has) == [("m/a.py", "m/a.py")]


def test_a_new_file_loses_as_many_folders_as_the_others() -> None:
    text = foreign(head("p/q/m/a.py", "p/r/m/a.py"), EDIT, head("/dev/null", "p/r/m/new.py"), "@@ -0,0 +1 @@\n+a\n")

    assert touched_paths(text, has) == [("m/a.py", "m/a.py"), (None, "m/new.py")]


def test_diff_u_creates_a_file_that_the_base_has_not() -> None:
    text = foreign(head("m/new.py", "m/new.py"), "@@ -0,0 +1 @@\n+a\n")

    assert touched_paths(text, has)[0][0] is None


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "a/../../etc/passwd", "a/m/../a.py", "C:/x", "a/m\\a.py", "b//x", "a/.git/hooks/x"]
)
def test_a_path_that_leads_out_of_the_tree_is_refused(path: str) -> None:
    with pytest.raises(PatchFormatError, match="leads"):
        touched_paths(foreign(head(path, path), EDIT), has)


@pytest.mark.parametrize(
    "path", ["b/.Git/hooks/x", "b/.patchkit/manifest.json", "b/.PatchKit/lock", "b/x.dist-info/RECORD"]
)
def test_a_path_that_git_or_patchkit_keep_for_themselves_is_refused_with_its_line(path: str) -> None:
    with pytest.raises(PatchFormatError) as caught:
        touched_paths(foreign(head("a/m/a.py", "b/m/a.py"), EDIT, head("/dev/null", path), "@@ -0,0 +1 @@\n+a\n"), has)

    (_, line), message = caught.value.message.split(": ", 1)[0].rsplit(":", 1), caught.value.message.split(": ", 1)[1]
    assert (message, int(line)) == (f"the path {path!r} {why_kept(path)}", 1 + (head("", "") + EDIT).count("\n"))


# Fitting all of it.


def test_every_file_is_fitted_and_the_base_is_kept_beside_the_result() -> None:
    fitted = fit_patches([foreign(head("a/m/a.py", "b/m/a.py"), EDIT)], TREE.get)
    assert isinstance(fitted, FittedPatch)

    assert fitted.base == {"m/a.py": A}
    assert fitted.contents == {"m/a.py": A.replace(b"one\n", b"1\n")}


def test_a_mail_stands_on_the_one_before_it_and_both_together_are_one_patch() -> None:
    text = mail("first", head("a/m/a.py", "b/m/a.py") + EDIT) + mail("second", head("a/m/a.py", "b/m/a.py") + NEXT)
    fitted = fit_patches([foreign(text)], TREE.get)
    assert isinstance(fitted, FittedPatch)

    assert [message.message.subject for message in fitted.messages] == ["first", "second"]
    assert fitted.contents == {"m/a.py": A.replace(b"one\n", b"1\none and a half\n")}
    (squashed,) = fitted.squashed()
    assert [len(hunk.old_lines) for hunk in squashed.hunks] == [4]


def test_a_file_that_a_pile_of_diffs_has_twice_is_one_file_patch() -> None:
    fitted = fit_patches([foreign(head("a/m/a.py", "b/m/a.py"), EDIT, head("a/m/a.py", "b/m/a.py"), NEXT)], TREE.get)
    assert isinstance(fitted, FittedPatch)

    assert [file.path for file in fitted.messages[0].files] == ["m/a.py"]
    assert fitted.contents == {"m/a.py": A.replace(b"one\n", b"1\none and a half\n")}


def test_every_file_that_does_not_fit_is_named() -> None:
    wrong = EDIT.replace("two", "zwei")
    misfits = fit_patches(
        [foreign(head("a/m/a.py", "b/m/a.py"), wrong, head("a/m/b.py", "b/m/b.py"), EDIT, head("a/n", "b/n"), EDIT)],
        TREE.get,
    )
    assert isinstance(misfits, Misfits)

    assert [(one.path, one.line, one.hunk) for one in misfits.problems] == [
        ("m/a.py", 3, 1),
        ("m/b.py", 9, 1),
        ("n", 13, None),
    ]


# What the base must be.


def test_pre_images_are_the_ids_of_the_first_patch_of_each_file() -> None:
    git = "diff --git a/m/a.py b/m/a.py\nindex {} 100644\n"
    made = "diff --git a/m/new.py b/m/new.py\nnew file mode 100644\nindex 0000000..1111111\n"
    made += head("/dev/null", "b/m/new.py")
    text = (
        mail("first", git.format("1234567..89abcde") + head("a/m/a.py", "b/m/a.py") + EDIT)
        + mail("second", git.format("89abcde..7654321") + head("a/m/a.py", "b/m/a.py") + NEXT)
        + mail("third", made + "@@ -0,0 +1 @@\n+a\n" + head("a/m/b.py", "b/m/b.py") + "@@ -1 +1 @@\n-x\n+y\n")
    )

    assert pre_images([foreign(text)], has) == {"m/a.py": "1234567", "m/new.py": None}


def renamed(old: str, new: str, how: str = "rename", hunk: str = "") -> str:
    """A rename or copy as git writes it."""
    lines = f"diff --git a/{old} b/{new}\nsimilarity index 90%\n{how} from {old}\n{how} to {new}\n"
    return lines + (head(f"a/{old}", f"b/{new}") + hunk if hunk else "")


CHANGED = A.replace(b"one", b"1")


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (
            [renamed("m/a.py", "m/b.py"), renamed("m/b.py", "m/a.py")],
            {"m/a.py": b"x\n", "m/b.py": A},
        ),
        (
            [renamed("m/b.py", "m/a.py"), renamed("m/a.py", "m/b.py", hunk=EDIT)],
            {"m/a.py": b"x\n", "m/b.py": CHANGED},
        ),
        (
            [head("a/m/a.py", "b/m/a.py") + EDIT, renamed("m/a.py", "m/c.py", "copy")],
            {"m/a.py": CHANGED, "m/c.py": A},
        ),
        (
            [renamed("m/a.py", "m/c.py", hunk=EDIT), head("a/m/c.py", "b/m/c.py") + NEXT],
            {"m/a.py": None, "m/c.py": CHANGED.replace(b"1\n", b"1\none and a half\n")},
        ),
    ],
    ids=["two names exchanged", "exchanged and edited", "copied beside an edit", "edited under the new name"],
)
def test_a_rename_and_a_copy_are_of_the_file_as_it_was_before_the_patch(
    parts: list[str], expected: dict[str, bytes | None]
) -> None:
    fitted = fit_patches([foreign(*parts)], TREE.get)

    assert isinstance(fitted, FittedPatch)
    assert expected == fitted.contents
    squashed = {file.path: place_file(file, TREE.get(file.path), {}) for file in fitted.squashed()}
    assert expected == {path: placed.content for path, placed in squashed.items() if isinstance(placed, FilePlaced)}


def test_a_copy_in_a_later_mail_and_a_file_that_it_has_twice_are_of_what_the_mails_before_left() -> None:
    edit = head("a/m/a.py", "b/m/a.py") + EDIT
    more = head("a/m/a.py", "b/m/a.py") + NEXT
    last = head("a/m/a.py", "b/m/a.py") + "@@ -8,2 +8 @@\n seven\n-eight\n"
    text = mail("first", edit) + mail("second", more + last + renamed("m/a.py", "m/c.py", "copy"))
    fitted = fit_patches([foreign(text)], TREE.get)
    assert isinstance(fitted, FittedPatch)

    both = CHANGED.replace(b"1\n", b"1\none and a half\n").replace(b"eight\n", b"")
    assert fitted.contents == {"m/a.py": both, "m/c.py": CHANGED}
    twice = next(file for file in fitted.messages[1].files if file.path == "m/a.py")
    placed = place_file(twice, CHANGED, {})
    assert isinstance(placed, FilePlaced)
    assert placed.content == both
