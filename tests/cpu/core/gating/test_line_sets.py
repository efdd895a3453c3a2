from __future__ import annotations

import re
from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from patchkit.core.gating.line_sets import more_lines, new_lines

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


_many = b"".join(b"line %d\n" % number for number in range(60))
