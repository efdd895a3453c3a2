from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.difference import difference, print_git_patch
from patchkit.core.model import FilePatch, Patch
from patchkit.core.quoting import quoted, unquoted
from patchkit.core.unified import parse_patch, print_patch

_names = st.binary(min_size=1, max_size=12).map(lambda name: name.decode("utf-8", "surrogateescape"))


@given(_names)
def test_a_quoted_name_is_read_as_the_same_name(name: str) -> None:
    assert name == unquoted(quoted(name)) or not quoted(name).startswith(b'"')


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("a/plain.py", b"a/plain.py"),
        ("a/two words.py", b"a/two words.py"),
        ("a/caf\u00e9.py", b"a/caf\xc3\xa9.py"),
        ("a/raw\udcff.py", b"a/raw\xff.py"),
        ("a/tab\there", b'"a/tab\\there"'),
        ("a/line\nbreak", b'"a/line\\nbreak"'),
        ('a/"said"', b'"a/\\"said\\""'),
        ("a/back\\slash", b'"a/back\\\\slash"'),
        ("a/\x07\x08\x0b\x0c\r\x1f\x7f", b'"a/\\a\\b\\v\\f\\r\\037\\177"'),
        ("a/blank last ", b'"a/blank last "'),
    ],
)
def test_control_characters_quotes_and_backslashes_are_quoted_as_git_does(name: str, field: bytes) -> None:
    assert (field, name) == (quoted(name), unquoted(field))


@pytest.mark.parametrize(
    ("field", "name"),
    [
        (b'"b/caf\\303\\251.py"', "b/caf\u00e9.py"),
        (b'"b/qu\\157tefile"', "b/quotefile"),
        (b'"b/\\377"', "b/\udcff"),
        (b'"b/\\477"', "b/\\477"),
        (b'"open', '"open'),
        (b'"', '"'),
    ],
    ids=["bytes beyond ASCII", "a letter", "no UTF-8", "more than a byte", "no closing quote", "one quote"],
)
def test_octal_escapes_are_read(field: bytes, name: str) -> None:
    assert name == unquoted(field)


@given(st.lists(_names.filter(lambda name: "\n" not in name), min_size=1, max_size=3, unique=True))
def test_a_patch_of_files_with_any_names_is_read_as_it_was_printed(names: list[str]) -> None:
    patch = Patch(tuple(part for name in sorted(names) if (part := difference(b"a\n", b"b\n", name)) is not None))

    assert patch == parse_patch(print_git_patch(dict.fromkeys(names, (b"a\n", b"b\n")), b""), "p")
    assert patch == parse_patch(print_patch(patch), "p")


def test_a_name_with_a_blank_is_ended_by_a_tab_and_one_that_ends_in_a_blank_is_quoted() -> None:
    def head(name: str) -> bytes:
        return print_patch(Patch((FilePatch(name, name, ()),)))

    assert head("two words") == b"--- a/two words\t\n+++ b/two words\t\n"
    assert head("blank last ") == b'--- "a/blank last "\n+++ "b/blank last "\n'
