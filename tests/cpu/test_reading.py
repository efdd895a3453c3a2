"""Files that are read whole, by the name of which somebody else may have chosen what they are."""

from __future__ import annotations

import hashlib
import os
import socket
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from trees.snapshots import lay

from patchkit.reading import Together, read_given, read_open, read_regular, sha256_of
from patchkit.trees.nofollow import read_file


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # The name of a socket has a hundred bytes at most.
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("read", [read_regular, sha256_of])
@pytest.mark.parametrize(
    ("make", "kind"),
    [(a_pipe, "a named pipe"), (a_socket, "a socket"), (a_device, "a device"), (Path.mkdir, "a folder")],
)
def test_what_is_no_regular_file_is_refused_and_not_waited_for(
    here: Path, make: Callable[[Path], None], kind: str, read: Callable[[Path], object]
) -> None:
    make(here / "odd")

    with pytest.raises(OSError, match="is no regular file") as raised:
        read(here / "odd")

    assert raised.value.strerror == f"it is no regular file but {kind}"
    assert raised.value.filename == str(here / "odd")


def test_a_link_to_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"text")
    (tmp_path / "here").symlink_to("there")

    assert (read_regular(tmp_path / "here"), read_given(tmp_path / "here")) == (b"text", b"text")


@pytest.mark.parametrize("read", [read_regular, read_given])
def test_a_file_of_more_than_is_allowed_is_refused_before_it_is_read(
    tmp_path: Path, read: Callable[[Path, int], bytes]
) -> None:
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 1 << 40)

    with pytest.raises(OSError, match="it is larger than 2 MiB"):
        read(tmp_path / "sparse", 2 << 20)


def test_a_device_without_an_end_is_read_as_far_as_is_allowed() -> None:
    with pytest.raises(OSError, match="it is larger than 2 MiB"):
        read_given(Path("/dev/zero"), 2 << 20)


def test_a_pipe_that_is_named_is_read_to_its_end() -> None:
    ours, theirs = os.pipe()
    os.write(theirs, b"text")
    os.close(theirs)

    assert read_given(Path(f"/dev/fd/{ours}")) == b"text"
    os.close(ours)


@pytest.mark.parametrize("read", [read_regular, lambda path: read_file(path.parent, path.name)])
def test_a_small_file_takes_no_room_for_the_largest(tmp_path: Path, read: Callable[[Path], object]) -> None:
    (tmp_path / "small").write_bytes(b"text")
    read(tmp_path / "small")  # what is imported on the way counts for nobody

    tracemalloc.start()
    try:
        read(tmp_path / "small")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def _give(pipe: int, content: bytes) -> None:
    with os.fdopen(pipe, "wb") as file:
        file.write(content)


@pytest.mark.parametrize("length", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 2 << 20])
def test_what_grows_while_it_is_read_is_read_to_its_end_as_far_as_is_allowed(tmp_path: Path, length: int) -> None:
    content = bytes(length)
    (tmp_path / "file").write_bytes(content)
    ours, theirs = os.pipe()
    with ThreadPoolExecutor() as pool, os.fdopen(ours, "rb") as pipe, (tmp_path / "file").open("rb") as file:
        # A pipe claims to be empty, as a file that has grown since claims to be shorter.
        pool.submit(_give, theirs, content)
        assert read_open(file, length) == content
        assert read_open(pipe, length) == content
    if length:
        with (tmp_path / "file").open("rb") as file:
            assert read_open(file, length - 1) is None


def test_a_digest_is_that_of_all_pieces(tmp_path: Path) -> None:
    content = b"0123456789abcdef" * (3 << 16) + b"end"
    (tmp_path / "long").write_bytes(content)

    assert sha256_of(tmp_path / "long") == hashlib.sha256(content).hexdigest()


def test_files_of_one_folder_may_have_so_many_bytes_together(tmp_path: Path) -> None:
    lay(tmp_path, {"a": b"123", "b": b"45", "c": b"6"})
    a, b, c = (tmp_path / name for name in "abc")
    together = Together(tmp_path, 5)
    assert together.read([a, b]) == {a: b"123", b: b"45"}
    with pytest.raises(OSError, match="its files have more than 0 MiB together") as caught:
        together.read([c])

    assert caught.value.filename == str(tmp_path)


def test_files_that_are_too_large_together_are_told_before_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcdef":
        (tmp_path / name).touch()
        os.truncate(tmp_path / name, 250 << 20)
    monkeypatch.setattr("patchkit.reading.read_regular", lambda path, _most: pytest.fail(f"{path} is read"))
    with pytest.raises(OSError, match="its files have more than 1024 MiB together"):
        Together(tmp_path).read(sorted(tmp_path.iterdir()))


def test_a_file_that_grows_meanwhile_is_not_read_beyond_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    lay(tmp_path, {"a": b"123", "b": b"45"})
    read: list[Path] = []

    def read_and_grow(path: Path, most: int) -> bytes:
        read.append(path)
        b.write_bytes(b"456")
        return read_regular(path, most)

    monkeypatch.setattr("patchkit.reading.read_regular", read_and_grow)
    with pytest.raises(OSError, match="together"):
        Together(tmp_path, 5).read([a, b])

    assert read == [a]
