from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from patchkit.core.merging import repeated
from patchkit.core.merging.repeated import stands_twice

ONE = "class A:\n    def f(self):\n        self.first = compute(1)\n"
TWO = "class B:\n    def f(self):\n        self.other = compute(2)\n"
NEW = "        self.fresh = compute(3)\n"
CALL = "import_all(1)\n"


@pytest.mark.parametrize(
    ("base", "changed", "target", "merged", "expected"),
    [
        # Each side has it once, in one function.
        (ONE, ONE + NEW, ONE + NEW, ONE + NEW + NEW, True),
        (ONE, ONE + NEW, ONE + NEW, ONE + NEW, False),
        # In functions of two classes.
        (ONE + TWO, ONE + NEW + TWO, ONE + TWO + NEW, ONE + NEW + TWO + NEW, False),
        # The patch's author wrote it twice.
        (ONE, ONE + NEW + NEW, ONE, ONE + NEW + NEW, False),
        # Under one name the class stands in two chunks, and each has it once.
        (ONE, ONE + NEW, ONE + NEW, ONE + NEW + ONE + NEW, True),
        # At module level, before and behind a class.
        (ONE, CALL + ONE, ONE + CALL, CALL + ONE + CALL, True),
        # What is short stands in many places, and decorators above many functions.
        ("if a:\n    pass\n", "a\n", "a\n", "if a:\n    pass\n    pass\n", False),
        ("", "@cached_property\n", "@cached_property\n", "@cached_property\n@cached_property\n", False),
        # Another manner of writing.
        (ONE, ONE + NEW, ONE + NEW, ONE + NEW + "        self.fresh = compute(\n            3,\n        )\n", True),
    ],
)
def test_a_statement_stands_twice(base: str, changed: str, target: str, merged: str, expected: bool) -> None:
    assert stands_twice((base, changed, target), merged) is expected


def test_a_text_is_not_cut_in_a_string() -> None:
    string = 's = """\ndef a():\n    compute(1)\n    compute(1)\n"""\n'

    assert stands_twice(("", "", ""), string) is False


_LINES = (
    "def f():\n",
    "class C:\n",
    "    def g():\n",
    "    compute(1, 2)\n",
    "        compute(1, 2)\n",
    "compute(1, 2)\n",
)
_texts = st.lists(st.sampled_from((*_LINES, 's = """\n', '"""\n', "\n", "(\n", "\\\n")), max_size=8).map("".join)


@settings(deadline=None)
@given(_texts, _texts, _texts, _texts)
# Below a header that no side has (the line before joins it, so it is no definition): the function tells.
@example(
    "        compute(1, 2)\n        compute(1, 2)\n", "", "", "\\\ndef f():\n    compute(1, 2)\n    compute(1, 2)\n"
)
@example("        compute(1, 2)\n", "", "", "\\\ndef f():\n    compute(1, 2)\n    compute(1, 2)\n")
def test_chunks_say_what_the_whole_texts_say(base: str, changed: str, target: str, merged: str) -> None:
    *sides, times = (repeated._places([repeated._Chunk("", text)]) for text in (base, changed, target, merged))

    assert stands_twice((base, changed, target), merged) == _twice(sides, times)


def _twice(sides: Sequence[Counter[repeated._Place]], times: Counter[repeated._Place]) -> bool:
    """What the rule says of whole texts: by block, and by function where no side has the block."""
    known = {place for place in times if any(side[place] for side in sides)}
    if any(times[place] > max(1, *(side[place] for side in sides)) for place in known):
        return True
    apart = Counter(place for place, count in times.items() if count > 1 and place not in known)
    *others, mine, where = map(repeated._in_functions, (*sides, times, apart))
    return any(mine[place] > max(other[place] for other in others) for place in where)


_members = st.lists(
    st.sampled_from(
        (
            "    def f(self):\n        compute(1, 2)\n",
            "    async def g(self):\n        if a:\n            compute(1, 2)\n\n",
            "    @property\n",
            "    field: int = compute(1, 2)\n",
            "  if compute(1, 2):\n",
            "  def f(self): compute(1, 2)\n",
            "    # compute(1, 2)\n# compute(1, 2)\n",
            '    """Text.\n\n    def f(self):\n    compute(1, 2)\n"""\n',
            '    def h(self):\n        """[0, 5) of it."""\n        compute(1, 2)\n',
            '        # a bracket ( and a quote " alone\n',
            "        x = \"(\" + '['\n",
            "        x = 'one\n    def g(self):\n        two'\n",
            "        x = (\n    def g(self):\n",
            ")\n",
            "compute(1, 2)\n",
            "    compute(1, 2) \\\n",
        )
    )
).map("".join)


@settings(deadline=None)
@given(st.sampled_from(("class C:\n", "class C:  # comment\n", "class C(\n    B,\n):\n", "class C: pass\n")), _members)
def test_the_functions_of_a_class_say_what_the_class_says(head: str, members: str) -> None:
    whole = repeated._Chunk("", head + members)

    assert repeated._places(repeated._members(whole.text)) == repeated._places([whole])
    assert "".join(part.text for part in repeated._members(whole.text)) == whole.text


def test_a_class_is_cut_where_a_bracket_stands_alone_in_a_string_or_a_comment() -> None:
    members = (
        '    """The half-open range [begin, end)."""\n\n',
        '    def f(self):\n        return "("  # and {\n\n',
        "    def g(self):\n        return 0\n",
    )

    assert repeated._members("class C:\n" + "".join(members)) == (
        repeated._Chunk("", "class C:\n" + members[0]),
        repeated._Chunk("C", members[1]),
        repeated._Chunk("C", members[2]),
    )
