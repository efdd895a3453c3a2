from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest

from patchkit.errors import ArchiveError, TreeError, UnsafePathError, UsageError, WriteFailedError
from patchkit.trees import wheel_members
from patchkit.trees.archive import WheelTree, rewrite_wheel, unpack
from patchkit.trees.interface import Edits

from .faults import full_disk, tripped
from .snapshots import contents, snapshot
from .wheels import FILES, TIME, add, make_wheel, metadata, record, wheel_files

DIST_INFO = "megatron_core-1.2.dist-info"
EDITS: Edits = {
    "megatron/core/__init__.py": b"answer = 2\n",
    "megatron/core/tool.sh": b"#!/bin/sh\ntrue\n",
    "megatron/core/extra.py": b"extra\n",
    f"{DIST_INFO}/patchkit.json": b"{}\n",
}


def a_wheel_with(path: Path, *members: tuple[str, int]) -> Path:
    """A wheel that holds other members (name, mode) beside what belongs into it."""
    make_wheel(path.parent, files={}).rename(path)
    with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # zipfile tells of duplicates
        for name, mode in members:
            add(archive, name, b"/etc/passwd", mode << 16)
    return path


def test_a_wheel_reads_as_a_tree(tmp_path: Path) -> None:
    tree = WheelTree(make_wheel(tmp_path))

    assert tree.label == "megatron_core-1.2-py3-none-any.whl"
    assert tree.manifest_path == f"{DIST_INFO}/patchkit.json"
    assert tree.read("megatron/core/__init__.py") == b"answer = 1\n"
    assert tree.read("megatron") is None
    assert tree.read("megatron/core/missing.py") is None
    assert list(tree.paths("megatron")) == ["megatron/core/__init__.py", "megatron/core/tool.sh"]
    assert list(tree.paths()) == [
        "megatron/core/__init__.py",
        "megatron/core/tool.sh",
        f"{DIST_INFO}/METADATA",
        f"{DIST_INFO}/RECORD",
        f"{DIST_INFO}/WHEEL",
    ]


def test_files_that_may_be_executed_are_told(tmp_path: Path) -> None:
    tree = WheelTree(make_wheel(tmp_path))

    assert (tree.executables("megatron"), tree.executables(DIST_INFO)) == (
        frozenset({"megatron/core/tool.sh"}),
        frozenset(),
    )


@pytest.mark.parametrize(
    ("name", "mode", "message"),
    [
        ("../evil.py", 0o100644, "'../evil.py' is not a path inside a tree: a part of it is '.' or '..'"),
        ("a/../../evil.py", 0o100644, "'a/../../evil.py' is not a path inside a tree: a part of it is '.' or '..'"),
        ("/evil.py", 0o100644, "'/evil.py' is not a path inside a tree: it is absolute"),
        ("a\\evil.py", 0o100644, "'a\\\\evil.py' is not a path inside a tree: it has a backslash"),
        ("C:evil.py", 0o100644, "'C:evil.py' is not a path inside a tree: it begins with a drive letter"),
        ("../", 0o40755, "'..' is not a path inside a tree: a part of it is '.' or '..'"),
        ("link.py", 0o120777, "link.py is a link"),
    ],
)
def test_a_member_that_could_leave_the_root_is_refused_at_once(
    tmp_path: Path, name: str, mode: int, message: str
) -> None:
    wheel = a_wheel_with(tmp_path / "x.whl", (name, mode))

    with pytest.raises(UnsafePathError) as caught:
        WheelTree(wheel)

    assert caught.value.message == f"x.whl: {message}"


def test_a_name_that_hides_its_end_behind_a_nul_is_refused(tmp_path: Path) -> None:
    wheel = a_wheel_with(tmp_path / "x.whl", ("megatron/core/aXb", 0o100644))
    wheel.write_bytes(wheel.read_bytes().replace(b"core/aXb", b"core/a\0b"))

    with pytest.raises(UnsafePathError, match="it has a NUL"):
        WheelTree(wheel)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (["a.py", "a.py"], "x.whl: a.py is there twice"),
        (["a/", "a/"], "x.whl: a is there twice"),
        (["a", "a/"], "x.whl: a is there twice"),
        (["a/", "a"], "x.whl: a is a file and a folder"),
        (["a", "a/b/c"], "x.whl: a is a file and a folder"),
        (["other-1.dist-info/METADATA"], "x.whl is not a wheel: it has 2 metadata folders"),
    ],
)
def test_members_that_contradict_each_other_are_refused_at_once(
    tmp_path: Path, members: list[str], message: str
) -> None:
    wheel = a_wheel_with(tmp_path / "x.whl", *[(name, 0o100644) for name in members])

    with pytest.raises(ArchiveError) as caught:
        WheelTree(wheel)

    assert caught.value.message == message


@pytest.mark.parametrize("name", [".patchkit/lock", f"{DIST_INFO}/.PatchKit/journal/journal.json"])
def test_a_wheel_that_comes_with_notes_of_ours_is_refused_at_once(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnsafePathError) as caught:
        WheelTree(a_wheel_with(tmp_path / "a.whl", (name, 0o644)))

    assert caught.value.message == f"a.whl: {name} is where patchkit keeps its own files"


@pytest.mark.parametrize(
    "name",
    [
        "megatron_core-1.2.data/purelib/megatron/core/__init__.py",
        "megatron_core-1.2.data/platlib/megatron/core/__init__.py",
        "megatron_core-1.2.data/purelib/other.py",
        "other.data/PureLib/Megatron/core/new.py",
        "megatron_core-1.2.DATA./platlib /megatron.py",
        "megatron_core-1.2.data/data/lib/python3.11/site-packages/megatron/core/__init__.py",
        "megatron_core-1.2.data/data/local/lib/python3/Dist-Packages/megatron/core/__init__.py",
        "megatron_core-1.2.data/data/lib64/pypy3.10/megatron/core/__init__.py",
        "megatron_core-1.2.data/data/Lib/python/megatron/core/__init__.py",
        "megatron_core-1.2.data/data/Lib/\u017fite-packages/megatron/core/__init__.py",
        "megatron_core-1.2.data/data/MEGATRON/core/__init__.py",
        f"megatron_core-1.2.data/data/{DIST_INFO}/patchkit.json",
    ],
)
def test_a_wheel_with_a_file_that_is_installed_among_the_packages_from_elsewhere_is_refused_at_once(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(UnsafePathError) as caught:
        WheelTree(a_wheel_with(tmp_path / "a.whl", (name, 0o644)))

    expected = f"a.whl: {name} is installed among the packages, where it may replace what is patched"
    assert expected == caught.value.message


@pytest.mark.parametrize(
    "name",
    [
        "megatron_core-1.2.data/scripts/megatron",
        "megatron_core-1.2.data/headers/megatron/core.h",
        "megatron_core-1.2.data/data/share/megatron/core/example.py",
        "megatron_core-1.2.data/data/lib/pythonic/purelib/x.py",
        "megatron/core.data/purelib/megatron/core.py",
    ],
)
def test_a_wheel_with_files_that_are_installed_elsewhere_is_read(tmp_path: Path, name: str) -> None:
    assert WheelTree(a_wheel_with(tmp_path / "a.whl", (name, 0o644))).read(name) == b"/etc/passwd"


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Megatron/core/__init__.py", "megatron/core/__init__.py"),
        ("megatron/core/tool.sh.", "megatron/core/tool.sh"),
        (f"{DIST_INFO}/record", f"{DIST_INFO}/RECORD"),
        ("megatron/core/Tool.sh/x.py", "megatron/core/tool.sh"),
    ],
)
def test_a_wheel_with_two_files_that_are_one_to_some_systems_is_refused_at_once(
    tmp_path: Path, name: str, other: str
) -> None:
    wheel = tmp_path / "a.whl"
    make_wheel(tmp_path).rename(wheel)
    with zipfile.ZipFile(wheel, "a") as archive:
        add(archive, name, b"")

    with pytest.raises(ArchiveError) as caught:
        WheelTree(wheel)

    clash = name.removesuffix("/x.py")
    assert caught.value.message == f"a.whl: {clash} and {other} are the same file to some systems"


def test_the_files_of_a_folder_may_spell_it_differently(tmp_path: Path) -> None:
    wheel = a_wheel_with(tmp_path / "a.whl", ("MEGATRON/other.py", 0o644), ("Megatron/", 0o40755))

    assert list(WheelTree(wheel).paths("MEGATRON")) == ["MEGATRON/other.py"]


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x05\x06" + b"\0" * 18, None])
def test_what_is_no_wheel_is_an_archive_error(tmp_path: Path, content: bytes | None) -> None:
    wheel = tmp_path / "x.whl"
    if content is not None:
        wheel.write_bytes(content)

    with pytest.raises(ArchiveError, match=r"x\.whl"):
        WheelTree(wheel)


def test_damage_anywhere_is_an_archive_error_or_goes_unread(tmp_path: Path) -> None:
    whole = make_wheel(tmp_path).read_bytes()
    good = {path: WheelTree(make_wheel(tmp_path)).read(path) for path in WheelTree(make_wheel(tmp_path)).paths()}
    refused = 0
    for place in range(0, len(whole), 3):
        for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]):
            (tmp_path / "x.whl").write_bytes(damaged)
            try:
                tree = WheelTree(tmp_path / "x.whl")
                found = {path: tree.read(path) for path in tree.paths()}
            except (ArchiveError, UnsafePathError):
                refused += 1
            else:
                assert {path: found[path] for path in found.keys() & good.keys()} == {
                    path: good[path] for path in found.keys() & good.keys()
                }
    assert refused > len(whole) / 3


def test_unpacking_puts_the_edits_in_place_of_the_members_and_fits_record(tmp_path: Path) -> None:
    wheel = WheelTree(make_wheel(tmp_path))
    before = os.umask(0o022)
    try:
        unpack(wheel, tmp_path / "new" / "tree", EDITS)
    finally:
        os.umask(before)

    members = wheel_files("1.2", "py3-none-any", FILES)
    changed = {**members, "megatron/core/__init__.py": b"answer = 2\n", "megatron/core/tool.sh": b"#!/bin/sh\ntrue\n"}
    del changed[f"{DIST_INFO}/RECORD"]
    added = {"megatron/core/extra.py": b"extra\n", f"{DIST_INFO}/patchkit.json": b"{}\n"}
    first, last = record(changed, DIST_INFO), record(added, "x")
    expected = {**changed, **added, f"{DIST_INFO}/RECORD": first + last.removesuffix(b"x/RECORD,,\n")}
    found = snapshot(tmp_path / "new" / "tree")
    assert contents(tmp_path / "new" / "tree") == expected
    assert found["megatron/core/tool.sh"] == (0o755, b"#!/bin/sh\ntrue\n")
    assert found["megatron/core/__init__.py"] == (0o644, b"answer = 2\n")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["tree"]


def test_unpacking_leaves_out_what_the_edits_remove(tmp_path: Path) -> None:
    wheel = WheelTree(make_wheel(tmp_path))
    unpack(wheel, tmp_path / "tree", {"megatron/core/tool.sh": None, "never-there.py": None})

    kept = {"megatron/core/__init__.py": FILES["megatron/core/__init__.py"]}
    assert contents(tmp_path / "tree") == wheel_files("1.2", "py3-none-any", kept)


def test_unpacking_without_edits_gives_what_unzipping_gives(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path)
    unpack(WheelTree(wheel), tmp_path / "ours", {})
    zipfile.ZipFile(wheel).extractall(tmp_path / "theirs")

    assert contents(tmp_path / "ours") == contents(tmp_path / "theirs")


def test_unpacking_into_an_empty_folder_is_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = WheelTree(make_wheel(tmp_path))
    (tmp_path / "tree").mkdir()
    monkeypatch.chdir(tmp_path / "tree")
    unpack(wheel, Path(), {})

    assert contents(tmp_path / "tree") == wheel_files("1.2", "py3-none-any", FILES)


@pytest.mark.parametrize("occupied", ["file", "full", "link"])
def test_unpacking_refuses_a_place_that_is_not_free(tmp_path: Path, occupied: str) -> None:
    wheel = WheelTree(make_wheel(tmp_path))
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "full" / "folder").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    before = snapshot(tmp_path)

    with pytest.raises(TreeError, match=f"{occupied} exists and is no"):
        unpack(wheel, tmp_path / occupied, {})

    assert snapshot(tmp_path) == before


def test_unpacking_that_fails_at_any_call_leaves_nothing(tmp_path: Path) -> None:
    wheel = WheelTree(make_wheel(tmp_path))
    before = snapshot(tmp_path)
    number = 0
    while True:
        number += 1
        with tripped(lambda calls, number=number: calls == number, full_disk) as count:  # type: ignore[misc]
            try:
                unpack(wheel, tmp_path / "deep" / "tree", EDITS)
                message = ""
            except WriteFailedError as error:
                message = error.message
        if count.calls < number:
            break
        assert message.startswith(f"cannot write {tmp_path}/deep/tree: No space left on device")
        assert snapshot(tmp_path) in (before, {**before, "deep": "folder"}), number
        shutil.rmtree(tmp_path / "deep", ignore_errors=True)
    assert number > 6


def test_unpacking_a_damaged_member_leaves_nothing(tmp_path: Path) -> None:
    path = make_wheel(tmp_path)
    wheel = WheelTree(path)
    start = path.read_bytes().index(b"tool.sh") + len(b"tool.sh")
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"damage")

    with pytest.raises(ArchiveError, match=r"megatron_core-1.2-py3-none-any.whl: megatron/core/tool.sh"):
        unpack(wheel, tmp_path / "tree", {})

    assert [found.name for found in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("path", ["../evil.py", "/evil.py", "a//b"])
def test_edits_cannot_leave_the_root(tmp_path: Path, path: str) -> None:
    wheel = WheelTree(make_wheel(tmp_path))

    for content in (b"", None):
        with pytest.raises(UnsafePathError):
            unpack(wheel, tmp_path / "tree", {path: content})
        with pytest.raises(UnsafePathError):
            rewrite_wheel(wheel, tmp_path / "new", {path: content}, "patchkit.1")
    assert not (tmp_path / "tree").exists()


def test_a_wheel_without_record_cannot_be_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a-1-py3-none-any.whl", "w") as archive:
        add(archive, "a-1.dist-info/METADATA", metadata("1"))

    with pytest.raises(ArchiveError) as caught:
        unpack(WheelTree(tmp_path / "a-1-py3-none-any.whl"), tmp_path / "tree", {})

    assert caught.value.message == "a-1-py3-none-any.whl has no a-1.dist-info/RECORD"


def test_a_malformed_record_is_named_with_its_wheel(tmp_path: Path) -> None:
    wheel = tmp_path / "a-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        add(archive, "a-1.dist-info/METADATA", metadata("1", name="a"))
        add(archive, "a-1.dist-info/RECORD", b"a,b\n")

    with pytest.raises(ArchiveError) as caught:
        rewrite_wheel(WheelTree(wheel), tmp_path / "out", {}, "x")

    expected = "a-1-py3-none-any.whl: a-1.dist-info/RECORD row 1: expected path, hash and size, found 'a,b'"
    assert expected == caught.value.message


def test_a_new_wheel_has_the_local_version_everywhere_and_a_record_that_fits(tmp_path: Path) -> None:
    made = rewrite_wheel(WheelTree(make_wheel(tmp_path)), tmp_path / "out", EDITS, "patchkit.ab12cd34")

    new = "megatron_core-1.2+patchkit.ab12cd34.dist-info"
    tag = b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {
        "megatron/core/__init__.py": b"answer = 2\n",
        "megatron/core/tool.sh": b"#!/bin/sh\ntrue\n",
        f"{new}/METADATA": metadata("1.2+patchkit.ab12cd34"),
        f"{new}/WHEEL": tag,
    }
    added = {"megatron/core/extra.py": b"extra\n", f"{new}/patchkit.json": b"{}\n"}
    new_record = record(files, new) + record(added, "x").removesuffix(b"x/RECORD,,\n")
    with zipfile.ZipFile(made) as archive:
        members = [
            (entry.filename, entry.date_time, oct(entry.external_attr >> 16), entry.compress_type, archive.read(entry))
            for entry in archive.infolist()
        ]
    assert made == tmp_path / "out" / "megatron_core-1.2+patchkit.ab12cd34-py3-none-any.whl"
    assert members == [
        ("megatron/", TIME, "0o40755", zipfile.ZIP_STORED, b""),
        ("megatron/core/__init__.py", TIME, "0o100644", zipfile.ZIP_DEFLATED, b"answer = 2\n"),
        ("megatron/core/tool.sh", TIME, "0o100755", zipfile.ZIP_DEFLATED, b"#!/bin/sh\ntrue\n"),
        (f"{new}/METADATA", TIME, "0o100644", zipfile.ZIP_DEFLATED, metadata("1.2+patchkit.ab12cd34")),
        (f"{new}/WHEEL", TIME, "0o100644", zipfile.ZIP_DEFLATED, tag),
        ("megatron/core/extra.py", TIME, "0o100644", zipfile.ZIP_DEFLATED, b"extra\n"),
        (f"{new}/patchkit.json", TIME, "0o100644", zipfile.ZIP_DEFLATED, b"{}\n"),
        (f"{new}/RECORD", TIME, "0o100664", zipfile.ZIP_DEFLATED, new_record),
    ]
    assert [path.name for path in (tmp_path / "out").iterdir()] == [made.name]


def test_the_same_wheel_and_edits_give_the_same_bytes(tmp_path: Path) -> None:
    made = [
        rewrite_wheel(WheelTree(make_wheel(tmp_path / place)), tmp_path / place / "out", edits, "patchkit.1")
        for place, edits in (("a", EDITS), ("b", dict(reversed(list(EDITS.items())))))
    ]

    assert made[0].read_bytes() == made[1].read_bytes()


@pytest.mark.parametrize(
    ("version", "local", "name"),
    [
        ("1.2", "patchkit.007", "megatron_core-1.2+patchkit.7-1-cp312-cp312-linux_x86_64.whl"),
        ("1.2", "Patchkit-AB", "megatron_core-1.2+patchkit.ab-1-cp312-cp312-linux_x86_64.whl"),
        ("1.2+cu12", "patchkit.1", "megatron_core-1.2+cu12.patchkit.1-1-cp312-cp312-linux_x86_64.whl"),
        ("1.2rc1", "patchkit.1", "megatron_core-1.2rc1+patchkit.1-1-cp312-cp312-linux_x86_64.whl"),
    ],
)
def test_the_name_of_a_new_wheel_is_normalised_and_keeps_build_and_tags(
    tmp_path: Path, version: str, local: str, name: str
) -> None:
    wheel = WheelTree(make_wheel(tmp_path, version, "1-cp312-cp312-linux_x86_64"))

    assert rewrite_wheel(wheel, tmp_path / "out", {}, local).name == name


@pytest.mark.parametrize("local", ["", "a b", "+x", "é", "a/b"])
def test_what_is_no_local_version_is_a_usage_error(tmp_path: Path, local: str) -> None:
    with pytest.raises(UsageError) as caught:
        rewrite_wheel(WheelTree(make_wheel(tmp_path)), tmp_path / "out", {}, local)

    assert caught.value.message == f"{local!r} cannot be a local version (PEP 440)"
    assert not (tmp_path / "out").exists()


def test_the_data_folder_of_a_wheel_is_renamed_too(tmp_path: Path) -> None:
    wheel = WheelTree(make_wheel(tmp_path, files={"megatron_core-1.2.data/scripts/run": b"run\n"}))
    made = WheelTree(rewrite_wheel(wheel, tmp_path / "out", {}, "x"))

    expected = "megatron_core-1.2+x.data/scripts/run"
    assert next(made.paths()) == expected
    assert (made.read(made.record_path) or b"").startswith(f"{expected},sha256=".encode())


def test_a_new_wheel_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = WheelTree(make_wheel(tmp_path))
    (tmp_path / "out").mkdir()
    before = snapshot(tmp_path)
    real = zipfile.ZipFile.writestr
    left = 0

    def writestr(*arguments: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            full_disk()
        real(*arguments)

    monkeypatch.setattr(zipfile.ZipFile, "writestr", writestr)
    for number in range(1, len(wheel.entries()) + 3):
        left = number
        with pytest.raises(WriteFailedError) as caught:
            rewrite_wheel(wheel, tmp_path / "out", EDITS, "x")
        said = f"cannot write {tmp_path}/out/megatron_core-1.2+x-py3-none-any.whl: No space left on device"
        assert caught.value.message == said
        assert snapshot(tmp_path) == before, number


def test_a_name_that_is_none_of_a_wheel_is_refused(tmp_path: Path) -> None:
    make_wheel(tmp_path).rename(tmp_path / "renamed.whl")

    with pytest.raises(ArchiveError, match=r"renamed.whl is not the name of a wheel"):
        rewrite_wheel(WheelTree(tmp_path / "renamed.whl"), tmp_path / "out", {}, "x")


def test_pip_installs_a_new_wheel_and_uninstalls_it_cleanly(tmp_path: Path) -> None:
    made = rewrite_wheel(WheelTree(make_wheel(tmp_path)), tmp_path / "out", EDITS, "patchkit.ab12cd34")
    venv.create(tmp_path / "venv", with_pip=False)
    site_packages = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))

    def pip(*arguments: str) -> str:
        python = tmp_path / "venv" / "bin" / "python"
        command = [sys.executable, "-m", "pip", "--python", str(python), "--isolated", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout

    pip("install", "--no-deps", "--no-index", "--no-compile", str(made))
    assert (site_packages / "megatron/core/__init__.py").read_bytes() == b"answer = 2\n"
    assert "megatron-core==1.2+patchkit.ab12cd34" in pip("list", "--format=freeze")
    assert "patchkit.json" in pip("show", "--files", "megatron-core")
    pip("uninstall", "--yes", "megatron-core")
    assert contents(site_packages) == {}


def test_a_bomb_is_refused_before_anything_is_unpacked(tmp_path: Path) -> None:
    path = make_wheel(tmp_path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("megatron/core/bomb.py", b"0" * 1000)
    # The size that the archive promises; no more than that is ever unpacked.
    text = path.read_bytes().replace((1000).to_bytes(4, "little"), (2**31).to_bytes(4, "little"))
    path.write_bytes(text)

    with pytest.raises(ArchiveError, match=r"unpacks to 21\d+ bytes, more than the 1073741824 that are read"):
        WheelTree(path)


def test_a_wheel_of_members_without_end_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_wheel(tmp_path)
    monkeypatch.setattr(wheel_members, "_MOST_MEMBERS", len(zipfile.ZipFile(path).infolist()) - 1)
    with pytest.raises(ArchiveError) as caught:
        WheelTree(path)

    assert caught.value.message == f"{path.name} has 6 members, more than the 5 that are read"
