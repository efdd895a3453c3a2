from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from trees.faults import killed_at
from trees.snapshots import contents, lay, snapshot

from patchkit.core.carry_report import PlaceReport
from patchkit.core.rebasing.rebased import HunkRebase, PatchRebase
from patchkit.core.series import ROOMS
from patchkit.errors import StoreError, TreeError, UsageError, WriteFailedError
from patchkit.reading import LARGEST
from patchkit.store.edit_dir import EditDir, Settled, State, Stranger, claim, find_open
from patchkit.store.edit_room import clear_room, make_room, sweep_room
from patchkit.store.lock import GENERATED
from patchkit.store.pending import is_pending

from .test_memory import kept

NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
DIGEST = "sha256:" + "0" * 64
REPORT = PatchRebase(
    name="first",
    state="accepted",
    base="1.0",
    hunks=(
        HunkRebase(
            id="one", path="m/a.py", verdict="moved", old=PlaceReport("f", 1, 2), new=None, reason="r", review=("d",)
        ),
    ),
)
STATE = State(
    series=DIGEST,
    target="v2.0",
    name="2.0",
    commit=None,
    added=None,
    base=None,
    repository=None,
    patches=("first",),
    accept=False,
    accept_resolutions=True,
    settled=(Settled(report=REPORT, text=True, left_out={"two": "skipped: so"}, scopes={"one": "g"}),),
    current="second",
)


@pytest.fixture
def series(tmp_path: Path) -> Path:
    (tmp_path / "series").mkdir()
    return tmp_path / "series"


def written(series: Path) -> EditDir:
    edit_dir = claim(series, None, "2.0")
    edit_dir.write(
        STATE,
        texts={"first": b"diff"},
        files={"m/a.py": b"text"},
        pages={"README.md": b"read"},
        resolutions={"one-0123456789ab": kept()},
    )
    return edit_dir


def test_what_was_written_is_read_back(series: Path) -> None:
    written(series)
    found = find_open(series)

    assert found is not None
    assert found.folder == series / ".rebase" / "2.0"
    assert found.state() == STATE
    assert found.settled_text("first") == b"diff"
    assert (found.draft("second", "m/a.py"), found.edited("second", "m/a.py")) == (b"text", b"text")
    assert (found.draft("second", "m/b.py"), found.edited("second", "m/b.py")) == (None, None)
    assert found.resolutions() == {"one-0123456789ab": kept()}


def test_no_patch_is_called_like_a_folder_beside_those_of_the_patches(series: Path) -> None:
    edit_dir = claim(series, None, "2.0")
    texts = {"first": b"diff"}
    pages = {"README.md": b"read", "review/second/a.f.txt": b"page"}
    kept_ones = {"one-0123456789ab": kept()}
    edit_dir.write(STATE, texts=texts, files={"m/a.py": b"text"}, pages=pages, resolutions=kept_ones)
    beside = {path.name for path in edit_dir.folder.iterdir()} - {STATE.current}

    assert {name for name in beside if NAME.fullmatch(name)} == {"resolutions", "review", "settled"}
    assert frozenset({"resolutions", "review", "settled", GENERATED}) == ROOMS


def test_git_is_told_to_ignore_all_of_it(series: Path) -> None:
    written(series)

    assert contents(series)[".rebase/.gitignore"] == contents(series)[".rebase/2.0/.gitignore"] == b"*\n"


def test_there_is_one_at_a_time(series: Path) -> None:
    claim(series, None, "2.0")
    with pytest.raises(UsageError, match="there is an unfinished rebase: "):
        claim(series, None, "3.0")


def test_one_that_was_cut_short_before_it_had_a_state_can_be_removed(series: Path) -> None:
    claim(series, None, "2.0")
    found = find_open(series)
    assert found is not None
    with pytest.raises(UsageError, match="cut short"):
        found.state()
    found.remove()

    assert (find_open(series), contents(series)) == (None, {})


def test_a_folder_that_is_not_empty_is_not_taken(series: Path, tmp_path: Path) -> None:
    lay(tmp_path, {"taken/mine": b"mine"})
    with pytest.raises(UsageError, match="is not empty"):
        claim(series, tmp_path / "taken", "2.0")

    assert contents(series) == {}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("mine", "{mine} is a file"),
        ("mine/x", "{mine} is a file"),
        ("linked/x/y", "{mine} is a file"),
        ("pipe/x", "{pipe} is a named pipe"),
        ("n" * 300, "File name too long ({long})"),
    ],
)
def test_where_no_folder_can_be_made_is_no_edit_directory(
    series: Path, tmp_path: Path, name: str, problem: str
) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "linked").symlink_to("mine")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError) as caught:
        claim(series, tmp_path / name, "2.0")

    place = {"mine": tmp_path / "mine", "pipe": tmp_path / "pipe", "long": tmp_path / ("n" * 300)}
    assert (caught.value.message, caught.value.hint) == (
        f"{tmp_path / name} cannot be a folder: {problem.format(**place)}",
        "name another place with --edit-dir",
    )
    assert snapshot(series) == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_where_this_user_may_make_no_folder_is_no_edit_directory(series: Path, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o555)
    with pytest.raises(UsageError, match=r"/closed/x cannot be a folder: nothing can be made in .*/closed$"):
        claim(series, tmp_path / "closed" / "x", "2.0")

    assert snapshot(series) == {}


@pytest.mark.parametrize("name", ["edits", "above"])
def test_an_edit_directory_that_has_become_a_link_is_told_as_that_and_stays(
    series: Path, tmp_path: Path, name: str
) -> None:
    edit_dir = elsewhere(series, tmp_path / "above" / "edits")
    link = tmp_path / "above" / "edits" if name == "edits" else tmp_path / "above"
    link.rename(tmp_path / "moved")
    link.symlink_to(tmp_path / "moved")
    before = snapshot(edit_dir.folder)
    with pytest.raises(StoreError) as caught:
        find_open(series)

    assert (caught.value.message, caught.value.hint) == (
        f"{link}: is a link, and links are not followed",
        f"drop the rebase with `patchkit rebase --abort --patches {series}`; the series is as it was",
    )
    assert snapshot(edit_dir.folder) == before


def test_a_name_with_a_slash_is_one_folder(series: Path) -> None:
    assert claim(series, None, "core/2.0").folder == series / ".rebase" / "core-2.0"


IN_THE_ROOM = ["pending", "pending.new", "Pending.old", "removed", "open.yaml", ".gitignore", ".open.yaml.x", ".", ".."]


@pytest.mark.parametrize("target", IN_THE_ROOM)
def test_a_target_that_is_called_like_something_in_the_room_is_carried_like_any_other(
    series: Path, target: str
) -> None:
    edit_dir = claim(series, None, target)
    edit_dir.write(STATE, texts={}, files={"m/a.py": b"text"}, pages={}, resolutions={})
    found = find_open(series)

    assert edit_dir.folder == series / ".rebase" / f"target-{target}"
    assert found is not None
    assert (found.folder, found.state(), is_pending(series)) == (edit_dir.folder, STATE, False)
    assert found.remove() == (edit_dir.folder,)
    assert contents(series) == {}


def test_a_target_with_a_name_without_end_has_a_folder(series: Path) -> None:
    assert claim(series, None, "feature/" + "long-" * 1000).folder.name == "feature-" + ("long-" * 11)[:52]


@pytest.mark.parametrize(
    "name",
    [
        "work",
        "variants",
        "first/work",
        ".patchkit/x",
        ".rebase",
        ".rebase/pending",
        ".rebase/x",
        "generated/x",
        "",
        "up/../x",
    ],
)
def test_an_edit_directory_in_the_series_is_refused(series: Path, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        claim(series, series / name, "2.0")

    told = f"{series / name} lies in the folder of the series, where it would be taken for a part of it"
    hint = "name a folder outside of it with --edit-dir, or leave that out: the series has a place for it"
    assert (caught.value.message, caught.value.hint) == (told, hint)
    assert contents(series) == {}


@pytest.mark.parametrize("name", [".rebase", ".rebase/foo", ".Rebase/foo", ".rebase/a/b", "lnk/foo"])
def test_an_edit_directory_in_the_room_of_another_series_is_refused(series: Path, tmp_path: Path, name: str) -> None:
    """Whoever drops the other's rebase drops all that is there, and nothing there says of which series it is."""
    (tmp_path / "other" / ".rebase").mkdir(parents=True)
    (tmp_path / "other" / "lnk").symlink_to(".rebase")
    place = tmp_path / "other" / name
    before = snapshot(tmp_path)
    with pytest.raises(UsageError) as caught:
        claim(series, place, "2.0")

    assert caught.value.message == (
        f"{place} is in a folder called .rebase, as each series has one for its own unfinished rebases"
    )
    assert caught.value.hint == (
        "name a folder outside of it with --edit-dir, or leave that out: the series has a place for it"
    )
    assert snapshot(tmp_path) == before


def test_an_open_yaml_with_a_folder_of_another_room_is_gone_on_with_no_more_than_any_other(
    series: Path, tmp_path: Path
) -> None:
    """A path is what it says, whatever the folder in which it lies is called."""
    theirs = written(lay(tmp_path / "theirs", {"series.yaml": b""}))
    before = contents(theirs.folder)
    lay(series, {".rebase/open.yaml": f"edit-dir: {theirs.folder}\n".encode(), ".rebase/2.0/notes": b"mine"})
    found = find_open(series)
    assert found is not None
    assert found.folder == theirs.folder
    with pytest.raises(StoreError, match="home: it does not say of which series") as caught:
        found.state()

    assert caught.value.hint == f"drop it here with `patchkit rebase --abort --patches {series}`; {theirs.folder} stays"
    assert (found.remove(), contents(theirs.folder)) == ((series / ".rebase" / "2.0",), before)
    assert theirs.state() == STATE


def test_a_settled_text_that_is_gone_is_an_error_of_ours(series: Path) -> None:
    edit_dir = written(series)
    (edit_dir.folder / "settled" / "first.patch").unlink()
    with pytest.raises(StoreError, match=r"first\.patch"):
        edit_dir.settled_text("first")


def test_the_room_goes_when_nothing_is_in_it(series: Path) -> None:
    clear_room(series)
    make_room(series)
    clear_room(series)
    assert not (series / ".rebase").exists()
    written(series)
    clear_room(series)
    assert (series / ".rebase" / "2.0").is_dir()


def test_a_copied_series_does_not_remove_what_the_first_one_left_for_a_person(series: Path, tmp_path: Path) -> None:
    left = written(series)
    copy = tmp_path / "copy"
    shutil.copytree(series, copy)
    before = contents(left.folder)

    found = find_open(copy)
    assert found is not None
    found.remove()

    assert find_open(copy) is None
    assert before
    assert before == contents(left.folder)


def test_a_folder_without_a_state_is_not_removed(series: Path, tmp_path: Path) -> None:
    written(series)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "work").write_text("mine")
    (series / ".rebase" / "open.yaml").write_text(f"edit-dir: {precious}\n")

    found = find_open(series)
    assert found is not None
    found.remove()

    assert (precious / "work").read_text() == "mine"


def elsewhere(series: Path, place: Path) -> EditDir:
    edit_dir = claim(series, place, "2.0")
    edit_dir.write(STATE, texts={}, files={"m/a.py": b"text"}, pages={}, resolutions={})
    return edit_dir


def test_an_edit_directory_elsewhere_says_of_which_series_it_is(series: Path, tmp_path: Path) -> None:
    elsewhere(series, tmp_path / "edits")
    found = find_open(series)

    assert found is not None
    assert found.state() == replace(STATE, home=str(series.resolve()))
    assert found.remove() == (tmp_path / "edits",)
    assert contents(tmp_path) == {}


def test_what_a_removal_elsewhere_left_goes_with_the_next(series: Path, tmp_path: Path) -> None:
    """Killed at any call, it can be dropped again, and nothing of it stays, whatever had gone by then."""
    at, alive = 0, True
    while alive:
        at += 1
        edit_dir = elsewhere(series, tmp_path / "edits")
        alive = killed_at(at, edit_dir.remove)
        found = find_open(series)
        if found is not None:
            found.remove()
        sweep_room(series)
        assert snapshot(tmp_path) == {"series": "folder"}
    assert at > 10


def test_the_rest_of_a_removal_that_cannot_be_read_now_is_not_forgotten(
    series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be of this series, and nothing but open.yaml speaks of it."""
    edit_dir = elsewhere(series, tmp_path / "edits")
    left = edit_dir.folder.rename(tmp_path / ".edits.patchkit-0123abcd")
    before = snapshot(tmp_path)

    def fail(_file: Path) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr("patchkit.store.edit_dir.read_unlinked", fail)
        with pytest.raises(TreeError) as caught:
            edit_dir.remove()
    assert (caught.value.message, caught.value.hint) == (
        f"cannot read {left / 'state.yaml'}: Input/output error",
        f"make it readable, or put {left} elsewhere if it is somebody else's, and run this again",
    )
    assert snapshot(tmp_path) == before

    edit_dir.remove()
    assert snapshot(tmp_path) == {"series": "folder"}


def test_a_folder_that_cannot_be_listed_now_keeps_the_rebase_known(
    series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rest of an earlier removal may be in it, and nothing but open.yaml speaks of that."""
    edit_dir = elsewhere(series, tmp_path / "edits")
    edit_dir.folder.rename(tmp_path / ".edits.patchkit-0123abcd")
    before = snapshot(tmp_path)

    def fail(_folder: Path) -> list[str]:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", fail)
        with pytest.raises(TreeError) as caught:
            edit_dir.remove()
    told = (caught.value.message, caught.value.hint)
    assert told == (f"cannot list {tmp_path}: Input/output error", "make it readable, and run this again")
    assert snapshot(tmp_path) == before

    edit_dir.remove()
    assert snapshot(tmp_path) == {"series": "folder"}


def to_a_state_of_this_rebase(file: Path) -> None:
    aside = file.parent.parent / "aside" / "state.yaml"
    file.symlink_to(aside if aside.exists() else "../edits/state.yaml")


def too_large(file: Path) -> None:
    file.touch()
    os.truncate(file, LARGEST + 1)


@pytest.mark.parametrize(
    "make",
    [
        to_a_state_of_this_rebase,
        lambda state: state.symlink_to("state.yaml"),
        os.mkfifo,
        Path.mkdir,
        too_large,
    ],
    ids=["link to the state of this rebase", "link without an end", "pipe", "folder", "too large"],
)
@pytest.mark.parametrize("place", [".edits.patchkit-0123abcd", "edits"])
def test_a_folder_whose_state_is_no_file_of_a_rebase_stays_and_is_no_hindrance(
    series: Path, tmp_path: Path, place: str, make: Callable[[Path], None]
) -> None:
    edit_dir = elsewhere(series, tmp_path / "edits")
    if place == "edits":
        edit_dir.folder.rename(tmp_path / "aside")
    theirs = tmp_path / place
    theirs.mkdir()
    (theirs / "precious").write_text("mine")
    make(theirs / "state.yaml")

    assert edit_dir.remove() == (() if place == "edits" else (edit_dir.folder,))
    assert sorted(path.name for path in theirs.iterdir()) == ["precious", "state.yaml"]
    assert find_open(series) is None


def test_a_link_in_the_place_of_the_state_is_not_read(series: Path, tmp_path: Path) -> None:
    edit_dir = elsewhere(series, tmp_path / "edits")
    state = (edit_dir.folder / "state.yaml").rename(tmp_path / "state.yaml")
    (edit_dir.folder / "state.yaml").symlink_to(state)

    with pytest.raises(StoreError) as caught:
        edit_dir.state()
    assert caught.value.message == f"{edit_dir.folder / 'state.yaml'}: it is no regular file but a link"


def test_an_empty_rest_of_a_removal_that_cannot_be_removed_is_not_forgotten(
    series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit_dir = elsewhere(series, tmp_path / "edits")
    left = tmp_path / ".edits.patchkit-0123abcd"
    left.mkdir()
    before = snapshot(tmp_path)
    removed = Path.rmdir

    def fail(folder: Path) -> None:
        if folder == left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
        removed(folder)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rmdir", fail)
        with pytest.raises(WriteFailedError) as caught:
            edit_dir.remove()
    assert caught.value.message == f"cannot remove {left}: No space left on device"
    assert snapshot(tmp_path) == before

    edit_dir.remove()
    assert snapshot(tmp_path) == {"series": "folder"}


@pytest.mark.parametrize("name", ["edits", "docs"])
def test_what_lies_beside_a_folder_that_is_not_of_this_series_stays(series: Path, tmp_path: Path, name: str) -> None:
    """open.yaml may have come with the series: what is named like something unfinished there may be anybody's."""
    theirs = elsewhere(lay(tmp_path / "theirs", {"series.yaml": b""}), tmp_path / "at" / "edits")
    kept = (theirs.folder / "state.yaml").read_bytes()
    home = f"home: {tmp_path / 'theirs'}".encode()
    ours = kept.replace(home, f"home: {series}".encode())
    assert kept.count(home) == 1
    beside = {"0123abcd/a": b"a", "0123abce/state.yaml": kept, "0123abcf": b"file", "0123abc0/state.yaml": b"{"}
    lay(tmp_path / "at", {f".{name}.patchkit-{path}": text for path, text in beside.items()})
    lay(tmp_path / "elsewhere", {"state.yaml": ours, "precious": b"p"})
    (tmp_path / "at" / f".{name}.patchkit-0123abc1").symlink_to(tmp_path / "elsewhere")
    before = snapshot(tmp_path)
    lay(series, {".rebase/open.yaml": f"edit-dir: {tmp_path}/at/{name}\n".encode()})
    lay(tmp_path / "at" / f".{name}.patchkit-0123abc2", {"state.yaml": ours, "a": b"ours"})
    found = find_open(series)
    assert found is not None

    assert found.remove() == ()
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("old", [False, True])
def test_an_open_yaml_that_names_the_rebase_of_another_series_is_refused_and_removes_nothing_of_it(
    series: Path, tmp_path: Path, old: bool
) -> None:
    """A rebase that an older patchkit began says nothing of its series, and is anybody's."""
    theirs = elsewhere(lay(tmp_path / "theirs", {"series.yaml": b""}), tmp_path / "edits")
    if old:
        text = (theirs.folder / "state.yaml").read_text()
        (theirs.folder / "state.yaml").write_text(text.replace(f"home: {tmp_path / 'theirs'}\n", ""))
    before = contents(theirs.folder)
    lay(series, {".rebase/open.yaml": f"edit-dir: {theirs.folder}\n".encode()})
    found = find_open(series)
    assert found is not None
    with pytest.raises(StoreError) as caught:
        found.state()

    of = "it does not say of which series" if old else f"this is a rebase of another series: {tmp_path / 'theirs'}"
    assert caught.value.message == f"{theirs.folder}/state.yaml: home: {of}"
    assert caught.value.hint == (
        f"drop it here with `patchkit rebase --abort --patches {series}`; {theirs.folder} stays"
    )
    assert (found.remove(), find_open(series), contents(theirs.folder)) == ((), None, before)


def test_files_that_nobody_handed_out_are_strangers(series: Path) -> None:
    edit_dir = written(series)
    assert edit_dir.strangers("second") == ()
    new = [edit_dir.folder / name for name in ("notes.txt", "second/m/a.py.orig", "second/m/b/c.py", "third/m/a.py")]
    for file in new:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x = 1\n")

    assert edit_dir.strangers("second") == tuple(Stranger(file, settled=False) for file in new)


def test_an_edit_of_a_patch_that_is_settled_is_a_stranger_too(series: Path) -> None:
    edit_dir = written(series)
    file = edit_dir.edited_file("second", "m/a.py")
    file.write_bytes(b"solved")
    report = replace(REPORT, name="second")
    later = replace(STATE, settled=(*STATE.settled, Settled(report=report)), current="third")
    edit_dir.write(later, texts={}, files={"m/a.py": b"next"}, pages={}, resolutions={})
    assert (edit_dir.draft("second", "m/a.py"), edit_dir.strangers("third")) == (b"solved", ())
    file.write_bytes(b"solved better")

    assert edit_dir.strangers("third") == (Stranger(file, settled=True),)


@pytest.mark.parametrize("name", ["second/m/a.py", "second/m", "state.yaml", "resolutions", "new"])
def test_links_in_the_edit_directory_are_refused(series: Path, tmp_path: Path, name: str) -> None:
    edit_dir = written(series)
    edit_dir.refuse_odd_files()
    place, moved = edit_dir.folder / name, tmp_path / "moved"
    if place.exists():
        place.rename(moved)
    place.symlink_to(moved)

    with pytest.raises(UsageError, match=f"{name} is a link, and links are not followed"):
        edit_dir.refuse_odd_files()


@pytest.mark.parametrize("name", [".rebase", ".rebase/2.0"])
def test_a_link_in_place_of_the_edit_directory_is_refused(series: Path, tmp_path: Path, name: str) -> None:
    place = series / name
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="is a link, and links are not followed"):
        claim(series, None, "2.0")

    assert not (tmp_path / "elsewhere").exists()


def test_removing_follows_no_link(series: Path, tmp_path: Path) -> None:
    edit_dir = written(series)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "work").write_text("mine")
    (series / ".rebase" / "link").symlink_to(precious)
    (edit_dir.folder / "link").symlink_to(precious)

    assert edit_dir.remove() == (series / ".rebase" / "2.0",)
    assert ((precious / "work").read_text(), contents(series)) == ("mine", {})
