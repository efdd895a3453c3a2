from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from patchkit import carry_file
from patchkit.core.gating import gates, verbatim
from patchkit.core.gating.parsing import parses
from patchkit.core.gating.verbatim import Verbatim

from ..programs import changed_programs, edited_programs

BASE = b"""\
import os


class Buffer:
    size: int = 0

    def __init__(self, size):
        self.size = size

    def numel(self):
        return self.size


def build(sizes):
    return [Buffer(size) for size in sizes], os.name
"""

CHANGED = BASE.replace(b"        return self.size\n", b"        return int(self.size)\n")
TARGET = BASE.replace(b"[Buffer(size) for", b"[Buffer(size + 1) for")
RESULT = CHANGED.replace(b"[Buffer(size) for", b"[Buffer(size + 1) for")

PROPERTIES = ("readable", "names", "flow", "doubled", "options", "calls")


def settled(changed: bytes, target: bytes, result: bytes) -> list[str]:
    verbatim = Verbatim(changed, target, result, None)
    return [name for name in PROPERTIES if getattr(verbatim, name)]


def test_a_function_as_the_patch_has_it_leaves_nothing_to_ask() -> None:
    assert settled(CHANGED, TARGET, RESULT) == [*PROPERTIES]


@pytest.mark.parametrize(
    ("old", "new", "unsettled"),
    [
        (b"int(self.size)", b"int(self.size", [*PROPERTIES[:4], "calls"]),  # no Python
        (b"int(self.size)", b"unknown(self.size)", ["names"]),
        (b"import os\n", b"", ["names"]),  # what stood outside functions is gone
        (b"    size: int = 0\n", b"", ["names"]),
        (b"int(self.size)", b"int(self.size) if size else size\n        size = 1", ["flow"]),
        (b"    def numel", b"    def __init__(self):\n        pass\n\n    def numel", ["doubled", "calls"]),
        (b"import os\n", b"import os\nimport os\n", ["doubled"]),
        (b"def build", b"def numel():\n    pass\n\n\ndef build", ["calls"]),  # another one of that name
        (b"def build", b"def more():\n    pass\n\n\ndef build", []),  # nobody calls it
        (b"def build", b"def more(deep=Buffer.more(1)):\n    more()\n\n\ndef build", ["calls"]),
        (b"def build", b"def build():\n    pass\n\n\ndef build", ["doubled"]),
        (b"self, size", b"self, size, more", ["calls"]),
        (b"int(self.size)", b"self.numel(self.size)", ["calls"]),
    ],
)
def test_what_nobody_vouches_for_is_asked_about(old: bytes, new: bytes, unsettled: list[str]) -> None:
    assert old in RESULT

    found = settled(CHANGED, TARGET, RESULT.replace(old, new))

    assert [name for name in PROPERTIES if name not in found] == unsettled


def test_doubtful_reads_that_a_side_has_and_new_heads_that_nobody_calls_need_no_question() -> None:
    doubtful = b"    if sizes:\n        first = sizes[0]\n    print(first)\n    return [Buffer"
    base, changed, target, result = (
        text.replace(b"    return [Buffer", doubtful) for text in (BASE, CHANGED, TARGET, RESULT)
    )
    # Both sides change the function in which the read stands; the patch gives another one a parameter.
    changed, result = (
        text.replace(b"(first)", b"(first, 1)").replace(b"numel(self)", b"numel(self, more)")
        for text in (changed, result)
    )
    target, result = (text.replace(b"self.size = size", b"self.size = size + 0") for text in (target, result))
    # The target gives it one as well, so that its head is nobody else's.
    target = target.replace(b"numel(self)", b"numel(self, other=1)")
    result = result.replace(b"numel(self, more)", b"numel(self, more, other=1)")

    assert base not in (changed, target)
    assert settled(changed, target, result) == [*PROPERTIES]
    # In the target's own function the call would be one that the patch breaks.
    assert settled(changed, target, result.replace(b"size + 0", b"self.numel()")) == [*PROPERTIES[:5]]
    # A read that is doubtful nowhere else.
    assert "flow" not in settled(
        changed,
        target,
        result.replace(b"first = sizes[0]", b"first = last = sizes[0]").replace(b"(first, 1)", b"(last)"),
    )


def test_an_option_that_the_target_has_in_another_function() -> None:
    base = b"def first(parser):\n    parser.add_argument('--a')\n\n\ndef second(parser):\n    pass\n"
    changed = base.replace(b"    pass\n", b"    parser.add_argument('--b')\n")
    target = base.replace(b"'--a')\n", b"'--a')\n    parser.add_argument('--b')\n")
    result = changed.replace(b"'--a')\n", b"'--a')\n    parser.add_argument('--b')\n")

    assert "options" in settled(changed, base, changed)
    assert "options" not in settled(changed, target, result)


def test_callers_of_a_head_that_is_neither_the_targets_nor_the_patchs() -> None:
    base = b"def f(a):\n    return a\n\n\ndef g():\n    return f(1)\n"
    changed = base.replace(b"f(a)", b"f(a, b=2)")
    target = base.replace(b"f(a)", b"f(a, c=3)")

    assert "calls" in settled(changed, base, changed)
    assert "calls" not in settled(changed, target, base.replace(b"f(a)", b"f(a, b=2, c=3)"))


def test_a_whole_function_that_stands_twice_word_for_word() -> None:
    more = b"\n\ndef more():\n    return os\n"
    target = BASE + more

    assert "doubled" not in settled(BASE + more, target, BASE + more + more)


class _AsksAlways(Verbatim):
    """As if nothing were settled."""

    readable = names = flow = doubled = options = calls = False


@settings(deadline=None)
@given(changed_programs(), st.data())
def test_gates_find_the_same_as_when_every_rule_is_asked(pair: tuple[bytes, bytes], data: st.DataObject) -> None:
    base, changed = pair
    target = data.draw(edited_programs(base))
    result = carry_file(base, changed, target, "x.py").content
    # What is no Python far from the patch is told by nobody who looks at the patch alone.
    assume(result is not None and parses(target))
    assert result is not None

    quick = gates.alarms(base, changed, target, result)
    with patch.object(gates, "Verbatim", _AsksAlways):
        thorough = gates.alarms(base, changed, target, result)

    assert quick == thorough


def test_a_long_row_of_blanks_is_searched_once() -> None:
    # A search that began at each of the blanks would take hours.
    line = b"\t" * 1_000_000 + b"x = f(1)\n"

    assert verbatim._HEAD.sub(b"", line) == line
    assert verbatim._HEAD.sub(b"", b"  \tasync  def f(x): g(\n") == b"(x): g(\n"
