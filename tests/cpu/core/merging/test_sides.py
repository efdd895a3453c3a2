from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from patchkit.core.merging.alignment import Edit
from patchkit.core.merging.lexemes import LineKind
from patchkit.core.merging.sides import Version

from ..programs import changed_programs


def _version(pair: tuple[bytes, bytes]) -> Version:
    base, text = (text.decode("utf-8", "surrogateescape") for text in pair)
    return Version.of(base, text)


@settings(deadline=None)
@given(changed_programs())
@example((b"if a:\n    # c\n    b = 1\n  # d\nx = 2\n", b"if a:\n    b = 1\n    x = 2\n"))
def test_the_header_of_a_place_is_the_last_line_of_code_above_it_that_is_indented_less(
    pair: tuple[bytes, bytes],
) -> None:
    side = _version(pair)
    for place in range(len(side.base) + 1):
        for level in (0, 1, 4, 8, 12):
            above = (at for at in range(place - 1, -1, -1) if side.base[at].kind is LineKind.CODE)
            assert side.header(place, level) == next((at for at in above if side.base[at].indent < level), None)


@settings(deadline=None)
@given(changed_programs())
def test_the_key_of_a_header_is_that_of_the_line_that_the_side_has_there(pair: tuple[bytes, bytes]) -> None:
    side = _version(pair)
    for at, there in enumerate(side.to_new):
        if there >= 0:
            less = [line for line in side.lines[:there] if line.indent < side.lines[there].indent]
            code = [line.key for line in less if line.kind is LineKind.CODE]
            assert side.header_key(at) == (code[-1] if code else "")


@settings(deadline=None)
@given(changed_programs())
@example((b"if a:\n    b = 1\n    c = 1\n", b"if a:\n    z = 1\nwhile x:\n    b = 1\n    c = 1\n"))
def test_an_insertion_fits_where_the_block_around_it_goes_on(pair: tuple[bytes, bytes]) -> None:
    side = _version(pair)
    for place in range(len(side.base) + 1):
        for line in side.base[place : place + 1]:
            header = side.header(place, line.indent)
            if header is None or side.to_new[header] < 0 or not side.at_home(header):
                continue
            edit = Edit(place, place, 0, 1)
            if side.moved_out(edit, [line]):
                continue
            head = side.to_new[header]
            between = side.lines[head + 1 : side.place(place, place)[0]]
            ends = any(each.kind is LineKind.CODE and each.indent <= side.lines[head].indent for each in between)
            assert side.fits(edit, [line]) == (not ends)


@settings(deadline=None)
@given(changed_programs(), st.integers(0, 12), st.integers(0, 3))
@example((b"a = 1\nb = 2\nc = 3\n", b"a = 1\nx = 4\nb = 2\ny = 5\n"), 1, 1)
def test_a_side_brings_what_its_edits_beside_the_place_have(pair: tuple[bytes, bytes], old: int, length: int) -> None:
    side = _version(pair)
    edit = Edit(old, old + length, 0, len(side.lines))
    beside = [
        line.key
        for other in side.pairing.edits
        if not (length and other.old == other.old_end) and {edit.old, edit.old_end} & {other.old, other.old_end}
        for line in side.lines[other.new : other.new_end]
    ]
    for line in side.lines:
        expected = None if line.key not in beside or len(line.key) < 9 else not length
        if "(" not in line.key:
            assert side.brings(edit, [line]) == expected
