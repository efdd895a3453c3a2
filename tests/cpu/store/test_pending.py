from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from socket import AF_UNIX, socket

import pytest
from trees.faults import full_disk, killed_at, tripped
from trees.snapshots import contents, lay, snapshot

from patchkit.errors import StoreError, TreeBusyError, UsageError, WriteFailedError
from patchkit.reading import kind_of
from patchkit.store.edit_room import clear_room
from patchkit.store.pending import drop, finish, is_pending, write_all

from .test_versions import ONE, TEXT, TWO

WHEEL = "a" * 64
VERSIONS = TEXT.replace("111111\n", '"111111"\n').replace("files: {}", f"files: {{w.whl: {WHEEL}}}", 1).encode()
WITH_MORE = VERSIONS.replace(b"blobs: {}", b"blobs: {m/c.py: '%s'}" % TWO.encode())
LOCK, PATCH, STALE, KEPT = "lock.yaml", "one/patch.yaml", "generated/old.patch", "resolutions/new.yaml"
OLD = {LOCK: b"old a", PATCH: b"old b", STALE: b"old c"}
NEW = {LOCK: b"new a", KEPT: b"new e"}
WRITTEN = {LOCK: b"new a", PATCH: b"old b", KEPT: b"new e"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return lay(tmp_path / "folder", OLD)


def series_files(folder: Path) -> dict[str, bytes]:
    """All but what is in the room."""
    return {path: text for path, text in contents(folder).items() if not path.startswith(".rebase/")}


def write(folder: Path) -> None:
    write_all(folder, {folder / name: text for name, text in NEW.items()}, [folder / STALE])
    clear_room(folder)


def test_everything_is_written_and_nothing_is_kept(folder: Path) -> None:
    write(folder)

    assert contents(folder.parent) == {f"folder/{path}": text for path, text in WRITTEN.items()}


@pytest.mark.parametrize("ask", [is_pending, finish, drop])
def test_what_another_process_is_writing_was_not_cut_short(folder: Path, ask: Callable[[Path], object]) -> None:
    (folder / ".rebase" / "pending").mkdir(parents=True)
    descriptor = os.open(folder / ".rebase", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    for work in (ask, write):
        with pytest.raises(TreeBusyError) as caught:
            work(folder)
        expected = f"another patchkit process is writing to {folder}"
        assert (caught.value.message, caught.value.hint) == (expected, "wait until it has ended, then run this again")
    assert series_files(folder) == OLD
    os.close(descriptor)

    assert is_pending(folder)


def test_killed_at_any_point_it_can_be_finished_or_dropped(folder: Path) -> None:
    at = 0
    while True:
        at += 1
        lay(folder, OLD)
        (folder / KEPT).unlink(missing_ok=True)
        if not killed_at(at, lambda: write(folder)):
            break
        if is_pending(folder):
            now = {path: text for path, text in series_files(folder).items() if "/." not in f"/{path}"}
            if now == OLD and at % 2:
                assert drop(folder)
                assert series_files(folder) == OLD
            else:
                assert drop(folder) == (now == OLD)
                if now != OLD:
                    finish(folder)
                    assert series_files(folder) == WRITTEN
        else:
            assert series_files(folder) in (OLD, WRITTEN)
        assert not is_pending(folder)
    assert at > 10


def test_a_write_that_fails_before_it_began_keeps_nothing(folder: Path) -> None:
    at = 0
    failed = True
    while failed:
        at += 1
        lay(folder, OLD)
        (folder / KEPT).unlink(missing_ok=True)
        failed = False
        with tripped(at.__eq__, full_disk):
            try:
                write(folder)
            except WriteFailedError:
                failed = True
        if is_pending(folder):
            finish(folder)
            assert series_files(folder) == WRITTEN
        else:
            assert series_files(folder) in (OLD, WRITTEN)


def planted(folder: Path, files: Sequence[str], removed: Sequence[str] = (), *, schema: int = 2) -> Path:
    """A write as a stranger would leave it in a series that he hands on."""
    listed = {"schema": schema, "files": [*files], "removed": [*removed]}
    texts = {str(number): b"planted" for number in range(len(files))}
    return lay(folder / ".rebase" / "pending", {"list.yaml": json.dumps(listed).encode(), **texts})


LEADS_OUT = {
    "{outside}/bashrc": "it is absolute",
    "../bashrc": "a part of it is '.' or '..'",
    "a/../../bashrc": "a part of it is '.' or '..'",
    "../../upstream_versions.yaml": "a part of it is '.' or '..'",
    "{folder}/../bashrc": "a part of it is '.' or '..'",
    "{folder}bashrc": "it is absolute",
    "./a": "a part of it is '.' or '..'",
    "": "a part of it is empty",
    "a\\b": "it has a backslash",
    "a\0b": "it has a NUL",
    "C:/a": "it begins with a drive letter",
    "x/.git/hooks/post-checkout": "it leads into a git repository",
    ".patchkit/journal/journal.json": "is where patchkit keeps its own files",
    ".rebase/open.yaml": "it lies in the folder of unfinished rebases",
    ".Rebase/open.yaml": "it lies in the folder of unfinished rebases",
    f"generated/{'x' * 250}.patch": "no system has such names",
}


@pytest.mark.parametrize("work", [finish, drop])
@pytest.mark.parametrize("key", ["files", "removed"])
@pytest.mark.parametrize(("path", "reason"), LEADS_OUT.items())
def test_a_planted_write_leads_to_no_file_that_a_rebase_does_not_write(
    folder: Path, path: str, reason: str, key: str, work: Callable[[Path], object]
) -> None:
    lay(folder.parent, {"bashrc": b"precious", ".bashrc.patchkit-00000000": b"mine"})
    named = path.format(outside=folder.parent, folder=folder)
    place = planted(folder, [LOCK, named] if key == "files" else [LOCK], [named] if key == "removed" else [])
    before = snapshot(folder.parent)
    with pytest.raises(StoreError) as caught:
        work(folder)

    told = f"{named!r} is no file that a rebase of this series writes: {reason}"
    at = "files[1]" if key == "files" else "removed[0]"
    assert caught.value.message == f"{place / 'list.yaml'}: {at} (line 1): {told}"
    hint = f"remove {place}: it was not made here, or the series was moved in the middle of a write"
    assert caught.value.hint == hint
    assert snapshot(folder.parent) == before


WRITES = (
    "a rebase writes lock.yaml, upstream_versions.yaml, generated/*.patch and resolutions/*.yaml, and of each patch "
    "patch.yaml and variants/*.patch"
)
REMOVES = "a rebase removes generated/*.patch alone"
NO_PATCH = "the series has no patch 'two'"
NOT_A_REBASES = [
    *(("files", path, WRITES) for path in ("README.md", ".gitignore", "series.yaml", "one/setup.py", "LOCK.YAML")),
    *(
        ("files", path, WRITES)
        for path in ("generated", "generated/x.py", "generated/a/b.patch", "one/variants/a/b.patch")
    ),
    *(("files", path, WRITES) for path in ("resolutions/patch.yaml/x", "generated/patch.yaml", "review/patch.yaml")),
    *(("files", path, NO_PATCH) for path in ("two/patch.yaml", "two/variants/1.0.patch")),
    *(("removed", path, REMOVES) for path in (LOCK, PATCH, "one/variants/1.0.patch", "series.yaml", "README.md", KEPT)),
]
"""A file of the series, whether it is written or removed, and why no rebase does that."""


@pytest.mark.parametrize(("key", "path", "reason"), NOT_A_REBASES)
def test_no_write_of_a_rebase_is_one_of_what_a_person_wrote(folder: Path, key: str, path: str, reason: str) -> None:
    """The writer itself is held to it, and so is a list that came with a series."""
    lay(folder, {"README.md": b"mine", ".gitignore": b"mine", "series.yaml": b"mine", "one/setup.py": b"mine"})
    files, removed = ([path], []) if key == "files" else ([], [path])
    told = f"{path!r} is no file that a rebase of this series writes: {reason}"
    before = snapshot(folder)
    with pytest.raises(StoreError, match=f": {re.escape(told)}$"):
        write_all(folder, {folder / path: b"" for path in files}, [folder / path for path in removed])
    assert snapshot(folder) == before

    place = planted(folder, files, removed)
    before = snapshot(folder)
    for work in (finish, drop):
        with pytest.raises(StoreError) as caught:
            work(folder)
        at = "files[0]" if key == "files" else "removed[0]"
        assert caught.value.message == f"{place / 'list.yaml'}: {at} (line 1): {told}"
        assert snapshot(folder) == before


@pytest.mark.parametrize("kind", ["a named pipe", "a socket"])
@pytest.mark.parametrize("key", ["files", "removed"])
def test_a_planted_write_takes_the_place_of_no_pipe_and_no_socket(
    folder: Path, monkeypatch: pytest.MonkeyPatch, key: str, kind: str
) -> None:
    odd = folder / "generated" / "odd.patch"
    if kind == "a socket":
        # The path of a socket may have about a hundred characters.
        monkeypatch.chdir(odd.parent)
        with socket(AF_UNIX) as made:
            made.bind(odd.name)
    else:
        os.mkfifo(odd)
    named = "generated/odd.patch"
    place = planted(folder, [LOCK, named] if key == "files" else [LOCK], [named] if key == "removed" else [])
    for work in (finish, drop):
        with pytest.raises(StoreError) as caught:
            work(folder)
        at = "files[1]" if key == "files" else "removed[0]"
        told = f"{named!r} is no file that a rebase of this series writes: {kind} is in its place"
        assert caught.value.message == f"{place / 'list.yaml'}: {at} (line 1): {told}"
    assert (kind_of(odd.lstat().st_mode), (folder / LOCK).read_bytes()) == (kind, OLD[LOCK])


def test_all_that_a_rebase_writes_is_written(folder: Path) -> None:
    paths = [LOCK, "upstream_versions.yaml", "generated/a.patch", KEPT, PATCH, "one/variants/1.0.patch"]
    planted(folder, paths, [STALE])

    assert finish(folder) == (tuple(folder / path for path in paths), (folder / STALE,))
    assert series_files(folder) == dict.fromkeys(paths, b"planted")


SUB = "generated/sub.patch"
UNLIKE_FILES = {
    "folder": ([PATCH], [STALE, SUB], "removed[1] (line 6)", SUB, "a folder is in its place"),
    "folder to write": ([PATCH, SUB], [], "files[1] (line 4)", SUB, "a folder is in its place"),
    "below a file": (
        [PATCH, "one/variants/1.0.patch"],
        [],
        "files[1] (line 4)",
        "one/variants/1.0.patch",
        "one/variants above it is no folder",
    ),
    "twice": ([PATCH, LOCK, LOCK], [], "files[2] (line 5)", LOCK, "the list has it twice"),
    "written and gone": ([PATCH, STALE], [STALE], "removed[0] (line 6)", STALE, "the list has it twice"),
}


@pytest.mark.parametrize("work", [finish, drop])
@pytest.mark.parametrize("case", UNLIKE_FILES)
def test_a_planted_write_of_what_can_be_no_file_is_refused_before_anything_is_written(
    folder: Path, case: str, work: Callable[[Path], object]
) -> None:
    files, removed, where, path, reason = UNLIKE_FILES[case]
    lay(folder, {f"{SUB}/file": b"precious", "one/variants": b"precious"})
    place = planted(folder, files, removed)
    lines = ["schema: 2", "files:", *(f"- {each}" for each in files), "removed:", *(f"- {each}" for each in removed)]
    (place / "list.yaml").write_text("\n".join(lines if removed else [*lines[:-1], "removed: []"]))
    before = snapshot(folder)
    with pytest.raises(StoreError) as caught:
        work(folder)

    assert caught.value.message == (
        f"{place / 'list.yaml'}: {where}: {path!r} is no file that a rebase of this series writes: {reason}"
    )
    assert caught.value.hint == (
        f"remove {place}: it was not made here, or the series was moved in the middle of a write"
    )
    assert snapshot(folder) == before


@pytest.mark.parametrize(
    "name", [LOCK, "one/variants", "one/variants/c.patch", ".rebase/pending/0", ".rebase/pending/list.yaml"]
)
def test_a_planted_write_goes_through_no_link(folder: Path, tmp_path: Path, name: str) -> None:
    outside = lay(tmp_path / "outside", {"c.patch": b"precious", "list.yaml": b"schema: 1\nfiles: []\nremoved: []\n"})
    planted(folder, ["one/variants/c.patch" if name.startswith("one/") else LOCK])
    place = folder / name
    place.unlink(missing_ok=True)
    place.parent.mkdir(exist_ok=True)
    ends = {"one/variants": outside, ".rebase/pending/list.yaml": outside / "list.yaml"}
    place.symlink_to(ends.get(name, outside / "c.patch"))
    before = snapshot(tmp_path)
    with pytest.raises(UsageError) as caught:
        finish(folder)

    assert caught.value.message == f"{place} is a link, and links are not followed"
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", [".rebase", ".rebase/pending"])
@pytest.mark.parametrize("ask", [is_pending, finish])
def test_a_link_in_the_place_of_what_was_kept_is_not_followed(
    folder: Path, tmp_path: Path, name: str, ask: Callable[[Path], object]
) -> None:
    planted(folder, [LOCK])
    (folder / name).rename(tmp_path / "theirs")
    (folder / name).symlink_to(tmp_path / "theirs")
    before = snapshot(tmp_path)
    with pytest.raises(UsageError, match=f"/{name} is a link, and links are not followed$"):
        ask(folder)

    assert snapshot(tmp_path) == before


def test_the_versions_above_are_written_where_they_are_the_series_own(tmp_path: Path) -> None:
    """That is where rebase writes its target; beside a list of the series itself it is somebody else's."""
    folder = lay(tmp_path / "patches" / "mine", OLD)
    versions = lay(tmp_path, {"upstream_versions.yaml": VERSIONS}) / "upstream_versions.yaml"
    for named, schema in (("../../upstream_versions.yaml", 2), (str(versions), 1)):
        versions.write_bytes(VERSIONS)
        lay(planted(folder, [named], schema=schema), {"0": WITH_MORE})
        assert finish(folder) == ((versions,), ())
        assert versions.read_bytes() == WITH_MORE
    planted(folder, [], ["../../upstream_versions.yaml"])
    with pytest.raises(StoreError, match="is no file that a rebase of this series writes"):
        finish(folder)
    lay(folder, {"upstream_versions.yaml": b"its own"})
    planted(folder, ["../../upstream_versions.yaml"])
    with pytest.raises(StoreError, match="is no file that a rebase of this series writes"):
        finish(folder)


@pytest.mark.parametrize(
    "text", [b"planted", VERSIONS.replace(WHEEL.encode(), b"0" * 64), WITH_MORE.replace(ONE.encode(), b"3" * 39 + b"c")]
)
def test_a_planted_write_gives_the_versions_above_no_other_digests(tmp_path: Path, text: bytes) -> None:
    """By them all else is judged, and they are no part of a series that a stranger hands on."""
    assert text not in (VERSIONS, WITH_MORE)
    folder = lay(tmp_path / "patches" / "mine", OLD)
    versions = lay(tmp_path, {"upstream_versions.yaml": VERSIONS}) / "upstream_versions.yaml"
    place = lay(planted(folder, ["../../upstream_versions.yaml"]), {"0": text})
    with pytest.raises(StoreError) as caught:
        finish(folder)

    told = f"{place / 'list.yaml'}: it would change in {versions} what no rebase of a series changes"
    hint = f"that file was changed since: see whether the series is as it should be, then remove {place}"
    assert (caught.value.message, caught.value.hint) == (told, f"it was not made here, or {hint}")
    assert versions.read_bytes() == VERSIONS


def test_what_an_older_patchkit_kept_has_absolute_paths_and_is_finished(folder: Path) -> None:
    planted(folder, [str(folder / LOCK), str(folder / KEPT)], [str(folder / STALE)], schema=1)

    assert finish(folder) == ((folder / LOCK, folder / KEPT), (folder / STALE,))
    assert series_files(folder) == {LOCK: b"planted", PATCH: b"old b", KEPT: b"planted"}


def test_a_series_that_is_moved_in_the_middle_of_a_write_is_finished_where_it_is(folder: Path, tmp_path: Path) -> None:
    planted(folder, [LOCK], [STALE])
    moved = folder.rename(tmp_path / "moved")

    assert finish(moved) == ((moved / LOCK,), (moved / STALE,))
    assert series_files(moved) == {LOCK: b"planted", PATCH: b"old b"}


@pytest.mark.parametrize(
    ("missing", "said"),
    [("list.yaml", "No such file or directory"), ("0", "No such file or directory"), ("cut", "")],
)
def test_a_write_that_is_not_whole_is_told_with_what_to_do(folder: Path, missing: str, said: str) -> None:
    place = planted(folder, [LOCK])
    if missing == "cut":
        (place / "list.yaml").write_bytes(b"schema: 2\n")
        missing, said = "list.yaml: the document (line 1)", "Object missing required field `files`"
    else:
        (place / missing).unlink()
    for act in (finish, drop):
        with pytest.raises(StoreError) as caught:
            act(folder)
        assert caught.value.message == f"{place}/{missing}: {said}"
        assert caught.value.hint == (
            "it cannot be finished, and a part of it may be written: see whether the series is as it should be, "
            f"then remove {place}"
        )
    assert series_files(folder) == OLD


@pytest.mark.parametrize("name", ["", "pending", "pending.new", "pending.old", "removed"])
def test_what_is_no_folder_where_a_rebase_has_one_is_named(folder: Path, name: str) -> None:
    place = folder / ".rebase" / name
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(b"")
    with pytest.raises(UsageError) as caught:
        is_pending(folder)

    assert caught.value.message == f"{place} is a file, and `patchkit rebase` has a folder there"
    assert caught.value.hint == "remove it"


@pytest.mark.parametrize(("kind", "make"), [("a folder", Path.mkdir), ("a named pipe", os.mkfifo)])
def test_what_is_no_file_where_a_rebase_has_one_is_named(folder: Path, kind: str, make: Callable[[Path], None]) -> None:
    place = folder / ".rebase" / "open.yaml"
    place.parent.mkdir()
    make(place)
    with pytest.raises(UsageError) as caught:
        is_pending(folder)

    assert caught.value.message == f"{place} is {kind}, and `patchkit rebase` has a file there"
    assert caught.value.hint == "remove it"


@pytest.mark.parametrize("name", ["pending", "pending.new", "pending.old"])
def test_a_link_where_a_rebase_has_a_folder_is_named(folder: Path, name: str) -> None:
    place = folder / ".rebase" / name
    place.parent.mkdir()
    place.symlink_to(folder)
    with pytest.raises(UsageError) as caught:
        is_pending(folder)

    assert (caught.value.message, caught.value.hint) == (f"{place} is a link, and links are not followed", "remove it")
