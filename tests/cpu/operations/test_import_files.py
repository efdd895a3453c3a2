from __future__ import annotations

import os
from pathlib import Path

import pytest
from trees.snapshots import lay

from patchkit.errors import PatchFormatError, TreeError, UnsafePathError, UsageError
from patchkit.operations.import_files import read_files

DIFF = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"


def mail(number: str) -> bytes:
    head = b"From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001\nFrom: a <a@example.org>\n"
    return b"%sSubject: [PATCH v2 %s] Do it\n\nWhy.\n---\n%s-- \n2.39.5\n\n" % (head, number.encode(), DIFF)


COVER = mail("0/2").replace(DIFF, b" x | 2 +-\n")


def names(*given: Path) -> list[str]:
    return [path.name for path in read_files(given).paths]


def test_files_are_read_in_the_order_in_which_they_are_given(tmp_path: Path) -> None:
    lay(tmp_path, {"b.txt": DIFF, "a.patch": DIFF})
    read = read_files([tmp_path / "b.txt", tmp_path / "a.patch"])

    assert read.paths == (tmp_path / "b.txt", tmp_path / "a.patch")
    assert [patch.name for patch in read.patches] == [str(path) for path in read.paths]
    assert read.notes == ()


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["0002-b.patch", "0001-z.patch", "README", "0003-a.diff"], ["0001-z.patch", "0002-b.patch", "0003-a.diff"]),
        (["10-a.patch", "9-b.patch", "1.eml", "2.mbox"], ["1.eml", "2.mbox", "9-b.patch", "10-a.patch"]),
        (["10", "9"], ["9", "10"]),
        (["only.patch", "notes.txt"], ["only.patch"]),
    ],
)
def test_a_folder_stands_for_its_patches_in_the_order_of_their_numbers(
    tmp_path: Path, files: list[str], expected: list[str]
) -> None:
    lay(tmp_path, dict.fromkeys(files, DIFF))

    assert names(tmp_path) == expected


def test_the_series_file_of_quilt_says_which_patches_count_and_in_which_order(tmp_path: Path) -> None:
    series = b"# ours\nb.patch -p1\n\na.patch # later\n"
    lay(tmp_path, {"series": series, "a.patch": DIFF, "b.patch": DIFF, "c.patch": DIFF})

    assert names(tmp_path) == ["b.patch", "a.patch"]


def test_a_sign_of_comments_within_a_name_is_part_of_the_name(tmp_path: Path) -> None:
    series = b"fix#12.patch\t# the first\r\n #no\nfix#"
    lay(tmp_path, {"series": series, "fix": DIFF, "fix#12.patch": DIFF, "fix#": DIFF})

    assert names(tmp_path) == ["fix#12.patch", "fix#"]


@pytest.mark.parametrize(
    ("options", "path", "expected"),
    [
        ("", "a/m/x.py", "a/m/x.py"),
        ("-p1", "a/m/x.py", "a/m/x.py"),
        ("-pab", "a/m/x.py", "a/m/x.py"),
        ("-p0", "m/x.py", "b/m/x.py"),
        ("-p 0", "m/x.py", "b/m/x.py"),
        ("-p2", "old/src/m/x.py", "b/m/x.py"),
    ],
)
def test_the_folders_that_quilt_takes_off_are_taken_off(tmp_path: Path, options: str, path: str, expected: str) -> None:
    diff = DIFF.replace(b"diff --git a/x b/x\n", b"").replace(b"a/x", path.encode()).replace(b"b/x", path.encode())
    lay(tmp_path, {"series": f"x.patch {options}\n".encode(), "x.patch": diff})
    (patch,) = read_files([tmp_path]).patches

    assert patch.messages[0].files[0].new_path == expected


@pytest.mark.parametrize(
    ("series", "message"),
    [
        ("x.patch -R\n", "series:1: x.patch is to be taken in reverse (-R), which import does not do"),
        ("# a\nx.patch -p1 -R # b\n", "series:2: x.patch is to be taken in reverse (-R), which import does not do"),
        ("x.patch -F0\n", "series:1: x.patch has options that import does not know: -F0"),
        ("x.patch -p9\n", "x.patch:1: a/x has no 9 folders that -p9 in the series file could take off"),
    ],
)
def test_what_a_series_file_asks_for_and_is_not_done_is_refused(tmp_path: Path, series: str, message: str) -> None:
    lay(tmp_path, {"series": series.encode(), "x.patch": DIFF})
    with pytest.raises(PatchFormatError) as caught:
        read_files([tmp_path])

    assert caught.value.message == f"{tmp_path}/{message}"


def test_a_series_file_without_a_patch_is_refused(tmp_path: Path) -> None:
    lay(tmp_path, {"series": b"# nothing\n", "x.patch": DIFF})
    with pytest.raises(UsageError) as caught:
        read_files([tmp_path])

    assert caught.value.message == f"{tmp_path / 'series'} names no patch"


@pytest.mark.parametrize("files", [["a.patch", "b.patch"], ["1-a.patch", "b.patch"], ["1-a.patch", "01-b.patch"]])
def test_a_folder_without_an_order_is_refused(tmp_path: Path, files: list[str]) -> None:
    lay(tmp_path, dict.fromkeys(files, DIFF))
    with pytest.raises(UsageError) as caught:
        read_files([tmp_path])

    assert caught.value.message == f"{tmp_path}: the names of its 2 patches do not say in which order they are"
    assert caught.value.hint == "name the files themselves, in their order"


def test_a_folder_without_patches_and_a_file_that_is_not_there_are_refused(tmp_path: Path) -> None:
    lay(tmp_path, {"empty/README": b""})
    with pytest.raises(UsageError, match="has no patches"):
        read_files([tmp_path / "empty"])
    with pytest.raises(TreeError, match="cannot read"):
        read_files([tmp_path / "missing.patch"])


def test_a_cover_letter_is_left_out_beside_patches_and_told(tmp_path: Path) -> None:
    lay(tmp_path, {"0000-cover-letter.patch": COVER, "0001-a.patch": mail("1/2"), "0002-b.patch": mail("2/2")})
    read = read_files([tmp_path])

    assert [path.name for path in read.paths] == ["0001-a.patch", "0002-b.patch"]
    assert read.notes == ("0000-cover-letter.patch: a cover letter, and left out",)
    with pytest.raises(PatchFormatError, match="there is no unified diff"):
        read_files([tmp_path / "0000-cover-letter.patch"])


@pytest.mark.parametrize(
    ("numbers", "notes"),
    [
        (["1/3", "2/3", "3/3"], ()),
        (["1/3", "3/3"], ("the mails say 1/3, 3/3: 2 of 3 is missing",)),
        (["2/4"], ("the mails say 2/4: 1, 3, 4 of 4 is missing",)),
        (["2/2", "1/2"], ("the mails say 2/2, 1/2: this is not their order",)),
        # Two series, and nothing is known about which belongs to which.
        (["1/3", "1/2"], ()),
    ],
)
@pytest.mark.parametrize("in_one_file", [True, False])
def test_mails_that_are_missing_or_in_another_order_are_told(
    tmp_path: Path, numbers: list[str], notes: tuple[str, ...], *, in_one_file: bool
) -> None:
    mails = [mail(number) for number in numbers]
    mails = [b"".join(mails)] if in_one_file else mails
    paths = [tmp_path / f"{at}.patch" for at in range(len(mails))]
    for path, text in zip(paths, mails, strict=True):
        path.write_bytes(text)

    assert read_files(paths).notes == notes


def test_of_what_has_no_size_no_more_is_read_than_a_patch_may_have() -> None:
    limits = "a patch of at most 256 MiB and 8,000,000 lines is imported"
    with pytest.raises(UsageError, match=f"/dev/zero is too large; {limits}"):
        read_files([Path("/dev/zero")])


def test_a_patch_of_more_lines_than_there_is_memory_for_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.patch"
    path.write_bytes(b"\n" * 8_000_001)

    with pytest.raises(UsageError) as error:
        read_files([path])
    assert str(error.value) == f"{path} is too large; a patch of at most 256 MiB and 8,000,000 lines is imported"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../outside.patch", "'../outside.patch' is not a path inside a tree: a part of it is '.' or '..'"),
        ("a/../../outside.patch", "'a/../../outside.patch' is not a path inside a tree: a part of it is '.' or '..'"),
        ("/etc/passwd", "'/etc/passwd' is not a path inside a tree: it is absolute"),
        ("link.patch", "{folder}/link.patch is a link that leads out of its folder, to {above}/outside.patch"),
        (
            "above/outside.patch",
            "{folder}/above/outside.patch is a link that leads out of its folder, to {above}/outside.patch",
        ),
    ],
)
def test_a_name_in_quilts_series_that_leads_out_of_the_folder_is_refused(
    tmp_path: Path, name: str, reason: str
) -> None:
    folder = tmp_path / "patches"
    lay(tmp_path, {"outside.patch": DIFF, "patches/series": name.encode() + b"\n", "patches/a/x": b""})
    (folder / "link.patch").symlink_to("../outside.patch")
    (folder / "above").symlink_to("..")

    with pytest.raises(UnsafePathError) as raised:
        read_files([folder])

    assert raised.value.message == f"{folder}/series:1: {reason.format(folder=folder, above=tmp_path)}"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (b"a\0.patch", "'a\\x00.patch' is not a path inside a tree: it has a NUL"),
        (b".", "'.' is not a path inside a tree: a part of it is '.' or '..'"),
        (b"./", "'.' is not a path inside a tree: a part of it is '.' or '..'"),
        (b"a\xff.patch", "cannot read 'a\\udcff.patch': No such file or directory"),
        (b"none.patch -p0", "cannot read 'none.patch': No such file or directory"),
        (b"x.patch/y", "cannot read 'x.patch/y': Not a directory"),
        (b"debian", "cannot read 'debian': it is no regular file but a folder"),
        (b"n" * 300, f"cannot read '{'n' * 300}': File name too long"),
    ],
)
def test_a_name_in_quilts_series_that_is_no_file_is_told_with_the_line(
    tmp_path: Path, name: bytes, reason: str
) -> None:
    lay(tmp_path, {"series": b"# first\nx.patch\n" + name + b"\n", "x.patch": DIFF, "debian/a": b""})

    with pytest.raises((UnsafePathError, TreeError)) as raised:
        read_files([tmp_path])

    assert raised.value.message == f"{tmp_path}/series:3: {reason}"


def test_quilts_series_may_name_a_file_whose_name_is_no_text(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"a\xff.patch")).write_bytes(DIFF)
    (tmp_path / "series").write_bytes(b"a\xff.patch\n")

    assert read_files([tmp_path]).paths == (tmp_path / os.fsdecode(b"a\xff.patch"),)


def test_quilts_series_may_name_files_below_the_folder_and_links_within_it(tmp_path: Path) -> None:
    lay(tmp_path, {"series": b"./debian/a.patch\nb.patch\n", "debian/a.patch": DIFF})
    (tmp_path / "b.patch").symlink_to("debian/a.patch")

    assert read_files([tmp_path]).paths == (tmp_path / "debian/a.patch", tmp_path / "b.patch")


@pytest.mark.parametrize("name", ["series", "1-a.patch"])
def test_a_file_of_a_folder_that_is_a_link_out_of_it_is_refused(tmp_path: Path, name: str) -> None:
    lay(tmp_path, {"outside": DIFF, "patches/b": b""})
    (tmp_path / "patches" / name).symlink_to("../outside")

    with pytest.raises(UnsafePathError) as raised:
        read_files([tmp_path / "patches"])

    place = tmp_path / "patches" / name
    assert raised.value.message == f"{place} is a link that leads out of its folder, to {tmp_path / 'outside'}"


def test_a_named_pipe_that_a_series_file_names_is_not_waited_for(tmp_path: Path) -> None:
    lay(tmp_path, {"series": b"a.patch\n"})
    os.mkfifo(tmp_path / "a.patch")

    with pytest.raises(TreeError) as raised:
        read_files([tmp_path])

    said = "cannot read 'a.patch': it is no regular file but a named pipe"
    assert raised.value.message == f"{tmp_path}/series:1: {said}"


def test_a_pipe_that_is_named_is_read(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    os.write(theirs, DIFF)
    os.close(theirs)

    assert names(Path(f"/dev/fd/{ours}")) == [str(ours)]
    os.close(ours)
