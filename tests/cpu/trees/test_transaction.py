from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import signal
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from patchkit.core.blobs import blob_id
from patchkit.errors import (
    InterruptedWriteError,
    PatchkitError,
    TreeBusyError,
    UnsafePathError,
    WriteFailedError,
)
from patchkit.trees.interface import Edits, Interrupted
from patchkit.trees.journal import Entry
from patchkit.trees.lock import exclusive
from patchkit.trees.transaction import interrupted, undo_interrupted, write_all

from .faults import control_c, full_disk, in_child, killed_at, tripped
from .snapshots import contents, lay, snapshot

pytestmark = pytest.mark.usefixtures("quick_disk")

OLD = {"a.py": b"old a\n", "sub/gone.py": b"old gone\n", "sub/run.sh": b"old run\n", "kept.py": b"kept\n"}
EDITS: Edits = {
    "a.py": b"new a\n",
    "sub/gone.py": None,
    "sub/run.sh": b"new run\n",
    "fresh/deep/c.py": b"new c\n",
    "kept.py": b"kept\n",
    ".patchkit/manifest.json": b"{}\n",
}
NEW = {
    "a.py": b"new a\n",
    "sub/run.sh": b"new run\n",
    "fresh/deep/c.py": b"new c\n",
    "kept.py": b"kept\n",
    ".patchkit/manifest.json": b"{}\n",
}
CHANGED = ("a.py", "sub/gone.py", "sub/run.sh", "fresh/deep/c.py", ".patchkit/manifest.json")


def tree(root: Path) -> Path:
    root.mkdir()
    lay(root, OLD)
    (root / "sub" / "run.sh").chmod(0o755)
    return root


def write(root: Path, edits: Edits = EDITS) -> None:
    write_all(root, edits, operation="apply", state_dir=root / ".patchkit")


def left_behind(root: Path) -> Interrupted | None:
    return interrupted(root, root / ".patchkit")


def undo(root: Path) -> Interrupted | None:
    return undo_interrupted(root, root / ".patchkit")


def swept(root: Path) -> Path:
    """The tree after another write, which clears away what earlier ones left of their own files."""
    write(root, {"kept.py": b"another\n"})
    write(root, {"kept.py": b"kept\n"})
    return root


def cut_short(root: Path, *, after: int) -> Path:
    """A tree whose write was killed when ``after`` files had been put in place."""
    tree(root)
    for number in range(1, 1000):
        assert killed_at(number, lambda: write(root))
        found = left_behind(root)
        if found is not None and len(found.written) == after:
            return root
        undo(root)
    raise AssertionError("no call of the write leaves the tree so")


def test_a_write_changes_creates_and_removes_and_leaves_nothing_else(tmp_path: Path) -> None:
    root = tree(tmp_path / "t")
    write(root)

    assert snapshot(root) == {
        ".patchkit": "folder",
        ".patchkit/manifest.json": (0o644, b"{}\n"),
        "a.py": (0o644, b"new a\n"),
        "fresh": "folder",
        "fresh/deep": "folder",
        "fresh/deep/c.py": (0o644, b"new c\n"),
        "kept.py": (0o644, b"kept\n"),
        "sub": "folder",
        "sub/run.sh": (0o755, b"new run\n"),
    }


def test_a_new_file_is_readable_whatever_the_umask(tmp_path: Path) -> None:
    root = tree(tmp_path / "t")
    before = os.umask(0o077)
    try:
        write(root, {"new.py": b""})
    finally:
        os.umask(before)

    assert stat.S_IMODE((root / "new.py").stat().st_mode) == 0o644


def test_the_state_folder_goes_away_when_no_manifest_is_in_it(tmp_path: Path) -> None:
    root = tree(tmp_path / "t")
    write(root)
    write(root, {".patchkit/manifest.json": None})

    assert not (root / ".patchkit").exists()


def test_edits_that_change_nothing_touch_nothing(tmp_path: Path) -> None:
    root = tree(tmp_path / "t")
    with tripped(lambda _number: False, full_disk) as count:
        write(root, {"kept.py": b"kept\n", "never-there.py": None})

    assert count.calls == 0


def test_a_hard_link_elsewhere_keeps_the_old_bytes(tmp_path: Path) -> None:
    root = tree(tmp_path / "t")
    os.link(root / "a.py", tmp_path / "installers-cache.py")
    write(root)

    assert (tmp_path / "installers-cache.py").read_bytes() == b"old a\n"


def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    root = tree(tmp_path / "t")
    (tmp_path / "link").symlink_to(root)
    write(tmp_path / "link")

    assert contents(root) == NEW


def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    root = tree(tmp_path / "t")
    try:
        os.chown(root / "a.py", 12345, 54321)
    except PermissionError:
        pytest.skip("only root can give a file away")
    write(root)

    assert ((root / "a.py").stat().st_uid, (root / "a.py").stat().st_gid) == (12345, 54321)


def test_killed_at_any_call_every_file_is_old_or_new_and_can_be_put_back(tmp_path: Path) -> None:
    number = 0
    outcomes = set()
    while True:
        number += 1
        root = tree(tmp_path / str(number))
        before = snapshot(root)
        if not killed_at(number, lambda root=root: write(root)):  # type: ignore[misc]
            break
        now = contents(root)
        for path in (*OLD, *NEW):
            assert now.get(path) in {OLD.get(path), NEW.get(path)}, (number, path)

        found = left_behind(root)
        assert undo(root) == found, number
        if found is not None:
            assert found.operation == "apply"
            assert sorted(found.written + found.pending) == sorted(CHANGED), number
            assert found.damaged == ()
            assert snapshot(root) == before, number
            assert left_behind(root) is None
        else:
            seen = {path: content for path, content in contents(root).items() if path in OLD or path in NEW}
            assert seen in (OLD, NEW), number
        outcomes.add("not begun" if found is None and "a.py" in now and now["a.py"] == OLD["a.py"] else found is None)

        # Whatever the kill left is no hindrance to the next write, which also clears it away.
        write(root)
        assert contents(root) == NEW, number
        assert [path.name for path in (root / ".patchkit").iterdir()] == ["manifest.json"], number

    assert contents(root) == NEW
    assert outcomes == {"not begun", False, True}
    assert number > 40


def test_killed_at_any_call_of_the_undo_the_undo_can_be_done_again(tmp_path: Path) -> None:
    before = snapshot(tree(tmp_path / "before"))
    template = cut_short(tmp_path / "template", after=3)
    number = 0
    more = True
    while more:
        number += 1
        root = shutil.copytree(template, tmp_path / str(number))
        more = killed_at(number, lambda root=root: undo(root))  # type: ignore[misc]
        undo(root)

        assert left_behind(root) is None, number
        assert snapshot(swept(root)) == before, number
    assert number > 10


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO], ids=errno.errorcode.get)
def test_a_failure_at_any_call_leaves_all_old(tmp_path: Path, code: int) -> None:
    def fail() -> None:
        raise OSError(code, os.strerror(code))

    number = 0
    failures = 0
    while True:
        number += 1
        root = tree(tmp_path / str(number))
        before = snapshot(root)
        with tripped(lambda calls, number=number: calls == number, fail) as count:  # type: ignore[misc]
            try:
                write(root)
                message = ""
            except WriteFailedError as error:
                message = error.message
        if count.calls < number:
            break
        if message:
            failures += 1
            assert message.startswith(f"cannot write to {root}: {os.strerror(code)}"), number
            assert message.endswith("; nothing was changed"), number
            assert snapshot(root) == before, number
        else:
            assert contents(swept(root)) == NEW, number
    assert failures > 40


def test_an_undo_that_fails_says_where_the_old_files_are_and_not_that_nothing_was_changed(tmp_path: Path) -> None:
    number, kept = 0, 0
    while True:
        number += 1
        root = tree(tmp_path / str(number))
        # Some files have their new content.
        assert killed_at(48, lambda root=root: write(root))  # type: ignore[misc]
        begun = left_behind(root)
        assert begun is not None
        assert len(begun.written) == 3
        with tripped(lambda calls, number=number: calls == number, full_disk) as count:  # type: ignore[misc]
            try:
                undo(root)
                told = None
            except WriteFailedError as error:
                told = (error.message.partition(":")[0], error.hint)
        if count.calls < number:
            break
        now = left_behind(root)
        if now is not None and now.written != begun.written:
            kept += 1
            place = f"the old content is kept in {root / '.patchkit'}; run this again once the cause is gone"
            assert told == (f"cannot put back the old files of {root}", place), number
        undo(root)
        assert contents(root) == OLD, number
    assert kept == 6


def test_a_failure_that_persists_keeps_the_journal_and_says_so(tmp_path: Path) -> None:
    number = 0
    kept = 0
    while True:
        number += 1
        root = tree(tmp_path / str(number))
        before = snapshot(root)
        with tripped(lambda calls, number=number: calls >= number, full_disk) as count:  # type: ignore[misc]
            try:
                write(root)
                message = ""
            except WriteFailedError as error:
                message = error.message
        if count.calls < number:
            break
        if "putting the old files back failed as well" in message:
            kept += 1
            assert left_behind(root) is not None
        undo(root)
        if message:
            assert snapshot(swept(root)) == before, number
        else:
            assert contents(swept(root)) == NEW, number
    assert kept > 5


def test_an_interrupt_from_the_keyboard_at_any_call_leaves_all_old_or_all_new(tmp_path: Path) -> None:
    number = 0
    while True:
        number += 1
        root = tree(tmp_path / str(number))
        before = snapshot(root)
        with tripped(lambda calls, number=number: calls == number, control_c) as count:  # type: ignore[misc]
            try:
                write(root)
                stopped = False
            except KeyboardInterrupt:
                stopped = True
        if count.calls < number:
            break
        assert stopped, number
        assert left_behind(root) is None, number
        assert snapshot(swept(root)) == before or contents(root) == NEW, number


def test_a_failure_names_the_file_and_the_reason(tmp_path: Path) -> None:
    root = tree(tmp_path / "t")
    (root / "fresh").write_bytes(b"a file where a folder is wanted")

    with pytest.raises(WriteFailedError) as caught:
        write(root)

    expected = f"cannot write to {root}: Not a directory ({root}/fresh/deep/c.py); nothing was changed"
    assert caught.value.message == expected
    assert left_behind(root) is None


def test_an_interrupted_write_tells_what_is_written_and_what_is_not(tmp_path: Path) -> None:
    root = cut_short(tmp_path / "t", after=2)

    expected = Interrupted("apply", written=CHANGED[:2], pending=CHANGED[2:], damaged=())
    assert left_behind(root) == expected


def test_a_write_is_refused_until_the_interrupted_one_is_undone(tmp_path: Path) -> None:
    root = cut_short(tmp_path / "t", after=2)
    before = snapshot(root)

    with pytest.raises(InterruptedWriteError) as caught:
        write(root, {"kept.py": b"more\n"})
    assert caught.value.message == f"an earlier apply of {root} was cut short"
    with pytest.raises(InterruptedWriteError):
        write(root, {"kept.py": b"kept\n"})
    assert {name: value for name, value in snapshot(root).items() if name != ".patchkit/lock"} == {
        name: value for name, value in before.items() if name != ".patchkit/lock"
    }


def test_undo_changes_nothing_when_a_file_is_neither_old_nor_new(tmp_path: Path) -> None:
    root = cut_short(tmp_path / "t", after=2)
    (root / "a.py").write_bytes(b"edited by hand\n")
    (root / "sub" / "run.sh").unlink()
    (root / "sub" / "run.sh").symlink_to("../kept.py")
    before = contents(root)

    found = left_behind(root)
    with pytest.raises(InterruptedWriteError) as caught:
        undo(root)

    assert found == Interrupted("apply", written=CHANGED[1:2], pending=CHANGED[3:], damaged=("a.py", "sub/run.sh"))
    assert caught.value.message == (
        f"an earlier apply of {root} was cut short, and since then these files were changed: a.py, sub/run.sh"
    )
    assert {**contents(root), ".patchkit/lock": b""} == {**before, ".patchkit/lock": b""}


def test_undo_changes_nothing_when_a_saved_content_is_damaged(tmp_path: Path) -> None:
    root = cut_short(tmp_path / "t", after=2)
    now = (root / "a.py").read_bytes()
    for saved in (root / ".patchkit" / "journal").iterdir():
        if saved.read_bytes() == OLD["sub/gone.py"]:
            saved.write_bytes(b"bit rot")

    with pytest.raises(InterruptedWriteError, match="is damaged"):
        undo(root)

    assert (root / "a.py").read_bytes() == now


@pytest.mark.parametrize(
    "text",
    [
        b"{",
        b"[]",
        b'{"schema": 2, "operation": "x", "token": "", "entries": [], "folders": []}',
        b'{"schema": 1, "operation": "x", "token": "", "entries": [{}], "folders": []}',
        b'{"schema": 1, "operation": ["x"], "token": "", "entries": [], "folders": []}',
        (
            b'{"schema": 1, "operation": "x", "token": "", "entries": '
            b'[{"path": "a.py", "before": 1, "after": null, "mode": 420}], "folders": []}'
        ),
        (
            b'{"schema": 1, "operation": "x", "token": "", "entries": '
            b'[{"path": "a.py", "before": "../a.py", "after": null, "mode": 420}], "folders": []}'
        ),
        (
            b'{"schema": 1, "operation": "x", "token": "", "entries": '
            b'[{"path": "a.py", "before": null, "after": null, "mode": 1e9}], "folders": []}'
        ),
        b"[" * 100_000,
    ],
)
def test_a_journal_that_cannot_be_read_is_reported(tmp_path: Path, text: bytes) -> None:
    root = lay(tree(tmp_path / "t"), {".patchkit/journal/journal.json": text})

    for look in (left_behind, undo, write):
        with pytest.raises(InterruptedWriteError, match="cannot be read"):
            look(root)


def test_a_journal_that_names_a_file_twice_is_refused(tmp_path: Path) -> None:
    entry = {"path": "a.py", "before": None, "after": blob_id(OLD["a.py"]), "mode": 420}
    planted = {"schema": 1, "operation": "x", "token": "", "folders": [], "entries": [entry, entry]}
    root = lay(tree(tmp_path / "t"), {".patchkit/journal/journal.json": json.dumps(planted).encode()})

    with pytest.raises(InterruptedWriteError) as caught:
        undo(root)

    journal = root / ".patchkit" / "journal"
    assert caught.value.message == (
        f"an earlier write was cut short and its journal {journal} cannot be read: it has 'a.py' twice"
    )
    assert contents(root)["a.py"] == OLD["a.py"]


@pytest.mark.parametrize("blob", [None, blob_id(OLD["a.py"])])
@pytest.mark.parametrize("path", ["a.py", "sub", "fresh"])
def test_a_journal_with_a_file_that_its_write_did_not_change_is_refused(
    tmp_path: Path, path: str, blob: str | None
) -> None:
    """There is nothing to undo about it, and no write has one; a folder there would be put down to a lack of rights."""
    entry = {"path": path, "before": blob, "after": blob, "mode": 420}
    planted = {"schema": 1, "operation": "x", "token": "", "folders": [], "entries": [entry]}
    root = lay(tree(tmp_path / "t"), {".patchkit/journal/journal.json": json.dumps(planted).encode()})
    before = snapshot(root)
    journal = root / ".patchkit" / "journal"
    for look in (left_behind, undo, write):
        with pytest.raises(InterruptedWriteError) as caught:
            look(root)
        assert caught.value.message == (
            f"an earlier write was cut short and its journal {journal} cannot be read: "
            f"it has {path!r} as a file that the write did not change"
        )
        assert caught.value.hint == (
            f"no write leaves that: see whether the files are as they should be, then remove {journal}"
        )
        assert snapshot(root) == before


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("sub", "sub (a folder is in its place)"),
        ("a.py/b/c", "a.py/b/c (a file is in the place of a folder above it)"),
    ],
)
def test_where_a_file_cannot_be_put_back_nothing_is(tmp_path: Path, path: str, said: str) -> None:
    old = b"old\n"
    entries = [{"path": name, "before": blob_id(old), "after": None, "mode": 420} for name in ("first", path)]
    planted = {"schema": 1, "operation": "x", "token": "", "folders": [], "entries": entries}
    root = tree(tmp_path / "t")
    journal = lay(root / ".patchkit" / "journal", {"journal.json": json.dumps(planted).encode(), blob_id(old): old})
    before = snapshot(root)
    assert left_behind(root) == Interrupted("x", ("first",), (), (path,))
    with pytest.raises(InterruptedWriteError) as caught:
        undo(root)

    assert caught.value.message == (
        f"an earlier x of {root} was cut short, and since then these files were changed: {said}"
    )
    assert caught.value.hint == (
        f"put these files right and remove {journal}, or give them back the content they had and run this again"
    )
    assert snapshot(root) == before


def test_an_undo_does_not_look_for_each_of_its_files_among_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """16,000 files took half a minute of comparisons."""
    old = b"old\n"
    entries = [{"path": f"made-{n}", "before": blob_id(old), "after": None, "mode": 420} for n in range(50)]
    planted = {"schema": 1, "operation": "x", "token": "0" * 8, "folders": [], "entries": entries}
    lay(tmp_path / ".patchkit" / "journal", {"journal.json": json.dumps(planted).encode(), blob_id(old): old})
    compared: list[object] = []

    def compare(own: Entry, other: object) -> bool:
        compared.append(other)
        return own is other

    monkeypatch.setattr(Entry, "__eq__", compare)
    undo(tmp_path)

    assert contents(tmp_path) == {f"made-{n}": old for n in range(50)}
    assert compared == []


@pytest.mark.parametrize("path", ["../outside", "."])
@pytest.mark.parametrize("key", ["entries", "folders"])
def test_a_journal_cannot_lead_out_of_the_tree(tmp_path: Path, path: str, key: str) -> None:
    planted = {"schema": 1, "operation": "x", "token": "", "folders": [], "entries": []}
    planted[key] = [{"path": path, "before": None, "after": None, "mode": 420} if key == "entries" else path]
    root = lay(tree(tmp_path / "t"), {".patchkit/journal/journal.json": json.dumps(planted).encode()})

    for look in (left_behind, undo, write):
        with pytest.raises(InterruptedWriteError) as caught:
            look(root)
        assert caught.value.message == (
            f"an earlier write was cut short and its journal {root / '.patchkit' / 'journal'} cannot be read: "
            f"{path!r} is not a path inside a tree: a part of it is '.' or '..'"
        )


def test_a_journal_removes_no_folder_behind_a_link(tmp_path: Path) -> None:
    """Every name of a journal goes from folder to folder, those of the folders that its write made too."""
    (tmp_path / "outside" / "empty" / "inner").mkdir(parents=True)
    old = b"old\n"
    entry = {"path": "new/made.py", "before": None, "after": blob_id(old), "mode": 420}
    made = ["new", "lnk", "lnk/empty", "lnk/empty/inner"]
    planted = {"schema": 1, "operation": "x", "token": "0" * 8, "folders": made, "entries": [entry]}
    root = lay(tree(tmp_path / "t"), {"new/made.py": old})
    lay(root / ".patchkit" / "journal", {"journal.json": json.dumps(planted).encode()})
    (root / "lnk").symlink_to(tmp_path / "outside")
    before = snapshot(tmp_path / "outside")

    assert undo(root) == Interrupted("x", ("new/made.py",), (), (), made=("new/made.py",))
    assert snapshot(tmp_path / "outside") == before
    assert contents(root) == OLD
    assert ((root / "lnk").is_symlink(), (root / "new").exists()) == (True, False)


@pytest.mark.parametrize("act", [interrupted, undo_interrupted])
def test_a_journal_of_another_tree_to_which_a_link_leads_is_left_alone(
    tmp_path: Path, act: Callable[[Path, Path], object]
) -> None:
    """The state folder of an installed tree lies in its metadata folder, which may be a link to another one's."""
    left = {".patchkit/journal.tmp-1/a": b"theirs", ".patchkit/journal/journal.json": b"{}"}
    theirs = lay(tmp_path / "theirs", left)
    root = tree(tmp_path / "t")
    (root / "x.dist-info").symlink_to(theirs)
    said = "x.dist-info/.patchkit: x.dist-info is a link, and links are not followed"
    with pytest.raises(UnsafePathError) as caught:
        act(root, root / "x.dist-info" / ".patchkit")
    assert caught.value.message == said
    with pytest.raises(UnsafePathError) as caught:
        write_all(root, {"a.py": b"new\n"}, operation="x", state_dir=root / "x.dist-info" / ".patchkit")

    assert caught.value.message == said
    assert (contents(theirs), contents(root)) == (left, OLD)


def bind_socket(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(place))


LOCKS: dict[str, Callable[[Path], None]] = {
    "a named pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a link": lambda place: place.symlink_to("elsewhere"),
    "a socket": bind_socket,
}


@pytest.mark.parametrize("kind", LOCKS)
def test_a_lock_that_is_no_file_is_named_and_nobody_waits_for_it(tmp_path: Path, kind: str) -> None:
    root = lay(tree(tmp_path / "t"), {".patchkit/journal/journal.json": b"{}"})
    lock = root / ".patchkit" / "lock"
    LOCKS[kind](lock)

    for look in (left_behind, undo, write):
        with pytest.raises(UnsafePathError) as caught:
            look(root)
        assert (caught.value.message, caught.value.hint) == (f"{lock} is no lock of patchkit but {kind}", "remove it")


def test_a_journal_gives_no_file_the_rights_of_whoever_puts_it_back(tmp_path: Path) -> None:
    old = b"theirs\n"
    entry = {"path": "sub/made.sh", "before": blob_id(old), "after": None, "mode": 0o6755}
    planted = {"schema": 1, "operation": "x", "token": "0" * 8, "folders": [], "entries": [entry]}
    root = tree(tmp_path / "t")
    lay(root / ".patchkit" / "journal", {"journal.json": json.dumps(planted).encode(), blob_id(old): old})

    undo(root)

    assert stat.S_IMODE((root / "sub" / "made.sh").stat().st_mode) == 0o755


def test_a_token_of_a_journal_cannot_lead_out_of_the_tree(tmp_path: Path) -> None:
    # The name of a temporary file is made of it: `.patchkit-x/../../../outside-0`.
    lay(tmp_path, {"outside-0": b"theirs\n"})
    old = OLD["sub/gone.py"]
    entry = {"path": "sub/gone.py", "before": blob_id(old), "after": blob_id(old), "mode": 420}
    planted = {"schema": 1, "operation": "x", "token": "x/../../../outside", "folders": [], "entries": [entry]}
    root = lay(tree(tmp_path / "t"), {"sub/.patchkit-x/there": b""})
    lay(root / ".patchkit" / "journal", {"journal.json": json.dumps(planted).encode(), blob_id(old): old})

    with pytest.raises(InterruptedWriteError, match="cannot be read"):
        undo(root)

    assert (tmp_path / "outside-0").read_bytes() == b"theirs\n"


def test_a_second_writer_is_turned_away_and_told_who_is_at_work(tmp_path: Path) -> None:
    root = tree(tmp_path / "t")
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        with exclusive(root / ".patchkit", "t"):
            os.write(write_end, b"x")
            time.sleep(60)
        os._exit(0)
    try:
        os.read(read_end, 1)
        with pytest.raises(TreeBusyError) as caught:
            write(root)
        assert caught.value.message == f"another patchkit process (pid {child}) is writing to {root}"
        assert contents(root) == {**OLD, ".patchkit/lock": b"%d\n" % child}
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(read_end)
        os.close(write_end)

    # The lock died with its process.
    write(root)
    assert contents(root) == NEW


def test_the_lock_names_its_holder_and_nobody_before(tmp_path: Path) -> None:
    lay(tmp_path, {".patchkit/lock": b"1234567890123456789\n"})

    with exclusive(tmp_path / ".patchkit", "t"):
        assert (tmp_path / ".patchkit" / "lock").read_bytes() == b"%d\n" % os.getpid()


def test_a_lock_file_that_its_holder_removes_meanwhile_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = fcntl.flock
    waiting = ["the file goes away between opening and locking it"]

    def flock(descriptor: int, kind: int) -> None:
        if waiting:
            waiting.pop()
            (tmp_path / ".patchkit" / "lock").unlink()
            (tmp_path / ".patchkit").rmdir()
        real(descriptor, kind)

    def write_from_elsewhere() -> None:
        with pytest.raises(TreeBusyError):
            write(tmp_path)

    monkeypatch.setattr(fcntl, "flock", flock)
    with exclusive(tmp_path / ".patchkit", "t"):
        assert in_child(write_from_elsewhere) == 0


def test_looking_for_an_interrupted_write_is_refused_while_one_is_under_way(tmp_path: Path) -> None:
    root = lay(tree(tmp_path / "t"), {".patchkit/journal/journal.json": b"{}"})

    def look_from_elsewhere() -> None:
        with pytest.raises(TreeBusyError):
            left_behind(root)
        with pytest.raises(TreeBusyError):
            undo(root)

    with exclusive(root / ".patchkit", "t"):
        assert in_child(look_from_elsewhere) == 0


def test_writers_at_the_same_time_never_mix(tmp_path: Path) -> None:
    root = tree(tmp_path / "t")

    def many_writes() -> None:
        for turn in range(30):
            text = b"%d %d\n" % (os.getpid(), turn)
            try:
                write(root, {"a.py": text, "sub/b.py": text, "fresh/c.py": text})
            except TreeBusyError:
                continue

    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                many_writes()
                code = 0
            finally:
                os._exit(code)
        children.append(child)

    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0, 0]
    assert (root / "a.py").read_bytes() == (root / "sub/b.py").read_bytes() == (root / "fresh/c.py").read_bytes()
    assert not (root / ".patchkit").exists()


def test_a_file_changed_since_it_was_read_stops_the_write(tmp_path: Path) -> None:
    root = tree(tmp_path / "t")
    before = snapshot(root)

    with pytest.raises(WriteFailedError) as caught:
        write_all(root, EDITS, operation="apply", state_dir=root / ".patchkit", expected={"a.py": b"older a\n"})

    expected = f"a.py in {root} was changed by somebody else since it was read; nothing was changed"
    assert caught.value.message == expected
    assert snapshot(root) == before


@pytest.mark.parametrize("path", ["link.py", "folder/b.py", "dangling.py", "sub/up/a.py"])
def test_a_link_is_never_followed(tmp_path: Path, path: str) -> None:
    outside = lay(tmp_path / "outside", {"b.py": b"outside\n"})
    root = tree(tmp_path / "t")
    (root / "link.py").symlink_to("a.py")
    (root / "folder").symlink_to(outside)
    (root / "dangling.py").symlink_to(outside / "nothing")
    (root / "sub" / "up").symlink_to("..")
    before = snapshot(tmp_path)

    for content in (b"x\n", None):
        with pytest.raises(UnsafePathError) as caught:
            write(root, {"kept.py": b"more\n", path: content})
        assert "is a link, and links are not followed" in caught.value.message
        assert snapshot(tmp_path) == before


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("a link", lambda place: place.symlink_to("../outside")),
        ("a file", Path.touch),
        ("a named pipe", os.mkfifo),
    ],
)
def test_a_state_folder_that_is_none_is_refused_with_what_to_do_and_no_link_is_followed(
    tmp_path: Path, kind: str, make: Callable[[Path], None]
) -> None:
    """Not even to look: the journal there, and the lock, are another tree's."""
    cut_short(tmp_path / "other", after=2)
    (tmp_path / "other" / ".patchkit").rename(tmp_path / "outside")
    root = tree(tmp_path / "t")
    make(root / ".patchkit")
    before = snapshot(tmp_path / "outside")
    looks: list[Callable[[], object]] = [lambda: write(root, {"a.py": b"new\n"})]
    if kind == "a link":
        # Elsewhere there is no journal to look at.
        looks += [lambda: left_behind(root), lambda: undo(root)]
    for look in looks:
        with pytest.raises(UnsafePathError) as caught:
            look()
        assert (caught.value.message, caught.value.hint) == (
            f"{root / '.patchkit'} is {kind}, and patchkit keeps its notes in a folder of that name",
            "put it elsewhere: .patchkit is patchkit's own",
        )

    assert snapshot(tmp_path / "outside") == before


@pytest.mark.parametrize(
    "path", ["../a.py", "/a.py", ".patchkit/lock", ".patchkit/journal/x", ".patchkit/journal.old-1/x"]
)
def test_an_unsafe_or_reserved_path_is_refused_before_anything_is_written(tmp_path: Path, path: str) -> None:
    root = tree(tmp_path / "t")
    before = snapshot(root)

    with pytest.raises(UnsafePathError):
        write(root, {"a.py": b"new\n", path: b"x"})

    assert snapshot(root) == before


def test_a_folder_that_cannot_be_written_gives_one_clear_message(tmp_path: Path) -> None:
    root = tree(tmp_path / "t")

    def read_only() -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(root / ".patchkit"))

    with tripped(lambda _number: True, read_only), pytest.raises(WriteFailedError) as caught:
        write(root)

    expected = f"cannot write to {root}: Read-only file system ({root}/.patchkit); nothing was changed"
    assert caught.value.message == expected


def test_a_folder_without_write_permission_is_left_alone(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere; the injected failures above cover the rule")
    root = tree(tmp_path / "t")
    before = snapshot(root)
    root.chmod(0o555)
    try:
        with pytest.raises(WriteFailedError, match="Permission denied"):
            write(root)
        assert snapshot(root) == before
    finally:
        root.chmod(0o755)


def test_every_refusal_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(PatchkitError):
        write(tmp_path / "no-such-folder")


@pytest.mark.parametrize("name", ["journal.old-1", "journal.tmp-1"])
def test_a_link_in_the_place_of_an_old_journal_goes_and_what_it_leads_to_stays(tmp_path: Path, name: str) -> None:
    lay(tmp_path / "theirs", {"letter": b"dear\n"})
    root = tree(tmp_path / "t")
    (root / ".patchkit").mkdir()
    (root / ".patchkit" / name).symlink_to(tmp_path / "theirs")
    write(root)

    assert contents(tmp_path / "theirs") == {"letter": b"dear\n"}
    assert not (root / ".patchkit" / name).is_symlink()


@pytest.mark.parametrize("what", ["journal.json", "old content"])
@pytest.mark.parametrize("kind", ["a link", "a named pipe"])
def test_a_part_of_a_journal_that_is_no_file_is_told_and_a_link_not_read(tmp_path: Path, what: str, kind: str) -> None:
    root = cut_short(tmp_path / "t", after=2)
    place = root / ".patchkit" / "journal"
    part = place / (what if what == "journal.json" else blob_id(OLD["a.py"]))
    part.rename(tmp_path / part.name)
    if kind == "a link":
        part.symlink_to(tmp_path / part.name)
    else:
        os.mkfifo(part)
    with pytest.raises(InterruptedWriteError) as caught:
        undo(root)

    told = f"its journal {place} cannot be read: {part.name}: it is no regular file but {kind}"
    assert caught.value.message == f"an earlier write was cut short and {told}"
    assert caught.value.hint == f"restore the tree by hand, then remove {place}"
    assert (root / "a.py").read_bytes() == EDITS["a.py"]


def test_a_journal_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    text = b'{"schema": 1, "operation": "x", "token": "", "folders": [], "entries": []}'
    lay(tmp_path / "theirs", {"journal.json": text})
    root = tree(tmp_path / "t")
    (root / ".patchkit").mkdir()
    (root / ".patchkit" / "journal").symlink_to(tmp_path / "theirs")

    for look in (left_behind, undo, write):
        with pytest.raises(InterruptedWriteError, match="it is a link, and links are not followed"):
            look(root)
    assert contents(tmp_path / "theirs") == {"journal.json": text}
