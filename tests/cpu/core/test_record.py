from __future__ import annotations

import base64
import csv
import hashlib
import io
import posixpath
from typing import SupportsIndex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit.core.record import rename_folder, update_record
from patchkit.errors import ArchiveError


def digest(content: bytes, algorithm: str = "sha256") -> str:
    raw = hashlib.new(algorithm, content).digest()
    return f"{algorithm}={base64.urlsafe_b64encode(raw).decode().rstrip('=')}"


def row(path: str, content: bytes) -> str:
    return f"{path},{digest(content)},{len(content)}"


def test_a_changed_file_gets_its_hash_and_size_in_its_old_place() -> None:
    record = f"{row('a.py', b'a')}\r\n{row('b.py', b'b')}\r\nx.dist-info/RECORD,,\r\n".encode()

    expected = f"{row('a.py', b'longer')}\r\n{row('b.py', b'b')}\r\nx.dist-info/RECORD,,\r\n".encode()
    assert expected == update_record(record, {"a.py": b"longer"})


def test_a_removed_file_loses_its_row() -> None:
    record = f"{row('a.py', b'a')}\n{row('b.py', b'b')}\n".encode()

    assert f"{row('b.py', b'b')}\n".encode() == update_record(record, {"a.py": None})


@pytest.mark.parametrize("other", ["./a.py", "b/../a.py", ".//a.py", '"./a.py"'])
def test_every_row_of_a_file_is_brought_up_to_date_however_it_writes_the_name(other: str) -> None:
    record = f"{row('a.py', b'a')}\n{row(other, b'a')}\n{row('b.py', b'b')}\n".encode()

    changed = f"{row('a.py', b'longer')}\n{row(other, b'longer')}\n{row('b.py', b'b')}\n".encode()
    assert update_record(record, {"a.py": b"longer"}) == changed
    assert update_record(record, {"a.py": None}) == f"{row('b.py', b'b')}\n".encode()


def test_a_file_whose_row_writes_its_name_otherwise_gets_no_second_row() -> None:
    record = f"{row('./a.py', b'a')}\n".encode()

    assert update_record(record, {"a.py": b"longer"}) == f"{row('./a.py', b'longer')}\n".encode()


def test_a_row_of_a_renamed_folder_is_found_however_it_writes_the_name() -> None:
    record = f"{row('./x.dist-info/a', b'a')}\n{row('./b.py', b'b')}\n".encode()

    renamed = f"{row('y.dist-info/a', b'a')}\n{row('./b.py', b'b')}\n".encode()
    assert rename_folder(record, "x.dist-info", "y.dist-info") == renamed


def test_a_new_file_gets_a_row_at_the_end_quoted_where_csv_wants_it() -> None:
    record = f"{row('a.py', b'a')}\r\n".encode()

    expected = f'{row("a.py", b"a")}\r\n{row("b.py", b"b")}\r\n"c, ""d"".py",{digest(b"c")},1\r\n'.encode()
    assert expected == update_record(record, {"b.py": b"b", 'c, "d".py': b"c", "never-there.py": None})


def test_rows_that_no_change_concerns_keep_quoting_endings_and_foreign_hashes() -> None:
    odd = b'"a.py","md5=abc","1"\r\n"line\nbreak.py",,\nutf8-\xc3\xa9\xe2\x80\xa8.py,,\nbytes-\xff.py,,\n'
    record = odd + row("z.py", b"z").encode() + b"\n"

    assert odd + row("z.py", b"Z").encode() + b"\n" == update_record(record, {"z.py": b"Z"})


def test_byte_code_rows_of_a_changed_module_stay() -> None:
    record = f"{row('a.py', b'a')}\n__pycache__/a.cpython-312.pyc,,\n".encode()

    expected = f"{row('a.py', b'b')}\n__pycache__/a.cpython-312.pyc,,\n".encode()
    assert expected == update_record(record, {"a.py": b"b"})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a.py,,\n", "a.py,,\n"),
        ("a.py,,1\n", "a.py,,3\n"),
        (f'"a.py","{digest(b"a")}","1"\n', f'"a.py","{digest(b"new")}","3"\n'),
        (f"a.py,{digest(b'a', 'sha512')},1\n", f"a.py,{digest(b'new', 'sha512')},3\n"),
        ("a.py,md5=abc,1\n", f"a.py,{digest(b'new')},3\n"),
    ],
    ids=["nothing recorded", "size only", "quoted", "a stronger hash is kept", "a weak hash is replaced"],
)
def test_a_changed_row_keeps_the_shape_it_had(before: str, after: str) -> None:
    assert after.encode() == update_record(before.encode(), {"a.py": b"new"})


def test_a_record_without_a_last_line_break_stays_without_one() -> None:
    record = b"a.py,,\nb.py,,"

    grown = update_record(record, {"c.py": b"c"})

    assert f"a.py,,\nb.py,,\n{row('c.py', b'c')}".encode() == grown
    assert record == update_record(grown, {"c.py": None})


def test_an_empty_record_takes_rows() -> None:
    assert f"{row('a.py', b'a')}\n".encode() == update_record(b"", {"a.py": b"a"})


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (b"a.py,,\nb.py,\n", "RECORD row 2: expected path, hash and size, found 'b.py,'"),
        (b"a.py,,\n\n", "RECORD row 2: expected path, hash and size, found ''"),
        (b",,\n", "RECORD row 1: expected path, hash and size, found ',,'"),
        (b'a.py,"sha,256",1\n', "RECORD row 1: expected path, hash and size, found 'a.py,\"sha,256\",1'"),
        (b'a.py,,\nb.py,,\n"c.py,,\n', "RECORD row 3: unexpected end of data"),
    ],
)
def test_a_malformed_row_is_named_by_its_number(record: bytes, message: str) -> None:
    with pytest.raises(ArchiveError) as caught:
        update_record(record, {})

    assert message == caught.value.message


def test_a_malformed_row_is_named_with_the_file_that_has_it_and_cut() -> None:
    with pytest.raises(ArchiveError) as caught:
        update_record(b"x" * 5000 + b"\n", {}, "a.whl: a.dist-info/RECORD")

    shown = "x" * 200
    assert caught.value.message == (
        f"a.whl: a.dist-info/RECORD row 1: expected path, hash and size, found '{shown}...'"
    )


class Counted(str):
    """A text that knows how many of its characters quotes were looked for in."""

    __slots__ = ("looked_at",)
    looked_at: int

    def count(self, sub: str, start: SupportsIndex | None = None, end: SupportsIndex | None = None, /) -> int:
        first, last, _step = slice(start, end).indices(len(self))
        self.looked_at += last - first
        return super().count(sub, start, end)


class Record(bytes):
    """A RECORD whose text is counted."""

    text: Counted

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        self.text = Counted(super().decode(encoding, errors))
        self.text.looked_at = 0
        return self.text


def test_each_character_is_looked_at_once_however_many_lines_a_quoted_path_has() -> None:
    path = "\n" * 3000
    record = Record(f'a.py,,\n"{path}",,\nb.py,,\n'.encode())

    assert record == update_record(record, {path: b"no hash was recorded"})
    assert len(record) == record.text.looked_at


def test_renaming_a_folder_touches_its_rows_alone() -> None:
    record = b'd-1.dist-info/METADATA,sha256=x,1\r\n"d-1.dist-info/RECORD",,\r\nd-1.dist-information/a,,\r\n'

    expected = b"d-1+x.dist-info/METADATA,sha256=x,1\r\nd-1+x.dist-info/RECORD,,\r\nd-1.dist-information/a,,\r\n"
    assert expected == rename_folder(record, "d-1.dist-info", "d-1+x.dist-info")


def test_renaming_a_folder_keeps_a_record_without_a_last_line_break() -> None:
    assert rename_folder(b"d/a,,\nd/b,,", "d", "e") == b"e/a,,\ne/b,,"


# No carriage return: the csv module of older Pythons writes it without quotes, and then cannot read it itself.
# And paths as trees have them: "a/" and "./a" are rows of "a", and no tree has a file of these names.
paths = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1, max_size=8).filter(
    lambda path: posixpath.normpath(path) == path
)
files = st.dictionaries(paths, st.binary(max_size=8), max_size=8)


@st.composite
def records(draw: st.DrawFn) -> tuple[bytes, dict[str, bytes]]:
    """A RECORD as some installer could have written it, and the files it speaks of."""
    content = draw(files)
    stream = io.StringIO(newline="")
    ending = draw(st.sampled_from(["\n", "\r\n"]))
    minimal, always = (
        csv.writer(stream, lineterminator=ending),
        csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator=ending),
    )
    for path, data in content.items():
        recorded = draw(st.sampled_from(["sha256", "sha512", ""]))
        draw(st.sampled_from([minimal, always])).writerow(
            [path, digest(data, recorded), len(data)] if recorded else [path, "", ""]
        )
    text = stream.getvalue()
    return (text.rstrip("\r\n") if draw(st.booleans()) else text).encode(), content


@settings(deadline=None)
@given(records(), st.data())
def test_changing_files_and_changing_them_back_gives_the_old_record(
    record_and_files: tuple[bytes, dict[str, bytes]], data: st.DataObject
) -> None:
    record, old = record_and_files
    changed = data.draw(st.sets(st.sampled_from(sorted(old)))) if old else set()
    new_files = {path: content for path, content in data.draw(files).items() if path not in old}
    forward: dict[str, bytes | None] = {**{path: b"changed " + old[path] for path in changed}, **new_files}
    backward = {path: old.get(path) for path in forward}

    assert record == update_record(update_record(record, forward), backward)
