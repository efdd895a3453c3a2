from __future__ import annotations

import re
from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from patchkit.core.gating.line_sets import have_a_part_twice, more_lines, new_lines
from patchkit.core.merging.alignment import edited_lines

from ..programs import changed_programs, programs
from ..texts import texts


@given(st.one_of(texts(), programs()), st.one_of(texts(), programs()))
@example(b"x\n\ndef f(): pass", b"def f(): pass")
def test_new_lines_are_those_that_the_other_text_has_nowhere(text: bytes, other: bytes) -> None:
    assert new_lines(text, other) == frozenset(text.split(b"\n")) - frozenset(other.split(b"\n"))
    assert new_lines(text + _many, other) == frozenset((text + _many).split(b"\n")) - frozenset(other.split(b"\n"))


def test_more_lines_are_those_of_which_the_other_text_has_fewer() -> None:
    body = b"    first()\n    first()\n    second()\n"

    assert more_lines(b"def f():\n" + body, b"def f():\n    first()\n      second()\n") == {b"first()"}
    # A definition that both have says nothing, wherever it stands.
    assert more_lines(b"x = 1\n\ndef f():\n" + body, b"\ndef f():\n" + body) == {b"x = 1"}


@given(changed_programs())
def test_what_both_begin_and_end_with_is_no_matter_for_more_lines(pair: tuple[bytes, bytes]) -> None:
    here, there = (frozenset(re.split(rb"\n(?=class[ \t]|def[ \t]|async[ \t]+def[ \t])", text)) for text in pair)
    lines, others = (
        Counter(line.strip() for part in parts for line in part.split(b"\n")) for parts in (here - there, there - here)
    )

    assert more_lines(*pair) == frozenset((lines - others).keys())


@given(changed_programs())
@example((b"def f():\n    x\n" * 2, b"def f():\n    x\n    y\ndef f():\n    x\n    z\n"))
@example((b"def f():\n    x\n\ndef f():\n    x\n", b"def f():\n    x\n    y\ndef f():\n    x\n    z\n"))
def test_more_lines_are_brought_by_edits_unless_a_part_stands_twice(pair: tuple[bytes, bytes]) -> None:
    content, other = pair[::-1]
    brought = {line.strip() for line in edited_lines(other, content)[1].split(b"\n")}

    assert have_a_part_twice(content, other) or more_lines(content, other) <= {b"", *brought}


def test_which_texts_may_have_a_part_twice() -> None:
    one, other = b"def f():\n    x\n", b"def g():\n    x\n    y\n"

    assert [
        have_a_part_twice(one + other, text) for text in (other + one, one + one, b"\n" + one + b"\n" + one, b"")
    ] == [*(False, True, True, False)]


_many = b"".join(b"line %d\n" % number for number in range(60))
