from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.gating.gates import Alarm, Rule, alarms

from ..programs import changed_programs, programs
from ..texts import edited, texts

# A buffer as many releases had it, and a patch that lets it live in a region of its own.
BASE = b"""\
import torch


class Buffer:
    def __init__(self, config, size):
        self.config = config
        self.size = size
        self.data = torch.zeros(size)

    def numel(self):
        return self.data.numel()


def build(config, sizes):
    return [Buffer(config, size) for size in sizes]
"""

CHANGED = b"""\
import contextlib

import torch


class Buffer:
    def __init__(self, config, size, no_backup=False):
        self.config = config
        self.size = size
        no_backup = no_backup and config.sharded
        context = region() if no_backup else contextlib.nullcontext()
        with context:
            self.data = torch.zeros(size)

    def numel(self):
        return self.data.numel()


def build(config, sizes):
    return [Buffer(config, size, no_backup=config.no_backup) for size in sizes]


def region():
    return contextlib.nullcontext()
"""

UPSTREAM = (b"        self.size = size\n", b"        self.size = size\n        self.dtype = config.dtype\n")
"""What happened upstream between the base and the target of most cases here."""

CONTEXT = b"        context = region() if no_backup else contextlib.nullcontext()\n"

TARGET = BASE.replace(*UPSTREAM)
RESULT = CHANGED.replace(*UPSTREAM)


def found(
    result: bytes, target: bytes = TARGET, base: bytes = BASE, changed: bytes = CHANGED
) -> list[tuple[Rule, int, str]]:
    return [(alarm.rule, alarm.line, alarm.name) for alarm in alarms(base, changed, target, result)]


def test_the_right_result_raises_no_alarm() -> None:
    assert alarms(BASE, CHANGED, TARGET, RESULT) == ()


# What is left of the patch when one of its hunks is lost, as happens where hunks conflict and the others are kept.
@pytest.mark.parametrize(
    ("lost", "kept", "expected"),
    [
        (b"import contextlib\n\n", b"", [(Rule.UNBOUND, 10, "contextlib"), (Rule.UNBOUND, 23, "contextlib")]),
        (b", no_backup=False", b"", [(Rule.UNBOUND, 11, "no_backup"), (Rule.STALE_REFERENCE, 21, "Buffer")]),
        (
            b"        context = region() if no_backup else contextlib.nullcontext()\n",
            b"",
            [(Rule.UNBOUND, 12, "context")],
        ),
        (b"\n\ndef region():\n    return contextlib.nullcontext()\n", b"", [(Rule.UNBOUND, 12, "region")]),
    ],
)
def test_a_lost_hunk_leaves_something_unbound(lost: bytes, kept: bytes, expected: list[tuple[Rule, int, str]]) -> None:
    assert lost in RESULT

    assert found(RESULT.replace(lost, kept)) == expected


@pytest.mark.parametrize(
    ("ours", "theirs", "harmless"),
    [
        (b"from a import region\n", b"from a import region\n", True),
        (b"from a import region\n", b"from b import region\n", False),
        (b"import region\n", b"from a import region\n", False),
        (b"from a import b as region\n", b"from a import c as region\n", False),
        (b"import a.b\n", b"import a.b\n", True),
    ],
)
def test_one_thing_imported_twice_from_one_place_does_no_harm(ours: bytes, theirs: bytes, harmless: bool) -> None:
    base, use = b"import os\nimport sys\n\nprint(os, sys)\n", b"print(region)\n" if b"region" in ours else b"print(a)\n"
    changed = base.replace(b"import sys\n", b"import sys\n" + ours) + use
    target = theirs + base + use.replace(b"(", b"(0, ")
    result = theirs + changed + use.replace(b"(", b"(0, ")

    assert [(alarm.rule, alarm.line, alarm.harmless) for alarm in alarms(base, changed, target, result)] == [
        (Rule.DUPLICATE, 4, harmless)
    ]


def test_a_target_that_cannot_be_compared_with_the_patched_base() -> None:
    # The author's own text is no Python; what the merge makes of it is looked at by a person.
    base = b"def f():\n    return 1\n\n\ndef g():\n    return 2\n"
    changed = base.replace(b"return 1", b"return (1")
    target = base.replace(b"2", b"3")

    assert alarms(base, changed, target, changed.replace(b"2", b"3")) == (
        Alarm(Rule.UNCHECKED, 1, "", "neither the patched base nor the result can be read by this Python"),
    )


def test_messages_are_sentences_without_the_line() -> None:
    assert alarms(BASE, CHANGED, TARGET, RESULT.replace(b", no_backup=False", b""))[0] == Alarm(
        Rule.UNBOUND, 11, "no_backup", "no_backup is read in Buffer.__init__ before anything can have assigned it"
    )


def test_a_flag_read_before_upstream_assigns_it() -> None:
    # Upstream made a local of what the patch reads: the gate hunk lands above the assignment.
    use = b"def use(value):\n    return value\n\n\n"
    base = use + b"def f(config):\n    use(config)\n"
    changed = use + b"def f(config):\n    flag = config.flag\n    use(config and flag)\n"
    target = use + b"def f(other):\n    use(other)\n    config = other.config\n"
    result = use + b"def f(other):\n    flag = config.flag\n    use(other and flag)\n    config = other.config\n"

    assert found(result, target, base, changed) == [(Rule.UNBOUND, 6, "config")]


def test_a_local_that_only_one_branch_binds() -> None:
    target = TARGET.replace(
        b"        self.data = torch.zeros(size)\n", b"        if size:\n            self.data = 1\n"
    )
    result = target.replace(b"            self.data = 1\n", b"            context = 1\n        self.data = context\n")

    assert found(result, target) == [(Rule.POSSIBLY_UNBOUND, 11, "context")]


@pytest.mark.parametrize(
    ("old", "new", "line", "name"),
    [
        (b"import torch\n", b"import torch\nimport torch\n", 4, "torch"),
        (b"def build(", b"def build(config, sizes):\n    pass\n\n\ndef build(", 24, "build"),
        (b"    def numel", b"    def numel(self):\n        pass\n\n    def numel", 19, "numel"),
        (b"no_backup=config.no_backup", b"no_backup=1, no_backup=2", 21, "no_backup"),
        (b"    def numel", b"    x = {'a': 1, 'a': 2}\n\n    def numel", 16, "'a'"),
        (b"    def numel", b"    x: int\n    x: str\n\n    def numel", 17, "x"),
        (b"def region():\n", b"def region():\n    p.add_argument('--x')\n    p.add_argument('--x')\n", 26, "--x"),
    ],
)
def test_something_stands_twice(old: bytes, new: bytes, line: int, name: str) -> None:
    assert (Rule.DUPLICATE, line, name) in found(RESULT.replace(old, new))


def test_a_parameter_that_stands_twice_is_no_python() -> None:
    result = RESULT.replace(b"size, no_backup=False", b"size, no_backup=False, size=1")

    assert alarms(BASE, CHANGED, TARGET, result) == (
        Alarm(
            Rule.SYNTAX,
            7,
            "duplicate argument 'size' in function definition",
            "the result is no Python: duplicate argument 'size' in function definition",
        ),
    )


def test_an_option_that_an_untouched_function_has() -> None:
    options = b"\n\ndef options(parser):\n    parser.add_argument('--x', type=int)\n"
    more = b"\n\ndef more(parser):\n    parser.add_argument('--x')\n"

    assert found(BASE + options + more, BASE + options, BASE, BASE + more) == [(Rule.DUPLICATE, 23, "--x")]


def test_what_stood_twice_in_the_target_is_upstreams_business() -> None:
    twice = (b"import torch\n", b"import torch\nimport torch\n")

    assert found(RESULT.replace(*twice), TARGET.replace(*twice)) == []


def test_what_the_author_wrote_twice_is_the_authors_business() -> None:
    twice = (b"import torch\n", b"import torch\nimport torch\n")

    assert found(RESULT.replace(*twice), changed=CHANGED.replace(*twice)) == []


def test_a_block_that_upstream_took_is_not_inserted_again() -> None:
    block = b"    if sizes is None:\n        sizes = []\n"
    head = b"def build(config, sizes):\n"
    changed, target = BASE.replace(head, head + block), TARGET.replace(head, head + block)

    assert found(target, target, BASE, changed) == []
    assert found(target.replace(head, head + block), target, BASE, changed) == [(Rule.UPSTREAMED, 18, "build")]


def test_a_renamed_attribute_is_stale() -> None:
    use = b"    def half(self):\n        return self.size // 2\n\n    def numel"
    changed = BASE.replace(b"    def numel", use)
    target = TARGET.replace(b"size", b"length")

    assert found(target.replace(b"    def numel", use), target, BASE, changed) == [(Rule.STALE_REFERENCE, 12, "size")]


def test_a_keyword_that_upstream_removed_is_stale() -> None:
    more = b"\n\ndef one(config):\n    return Buffer(config=config, size=1)\n"
    target = TARGET.replace(b"config, size", b"settings, size").replace(b"config", b"settings")

    assert found(target + more, target, BASE, BASE + more) == [(Rule.STALE_REFERENCE, 20, "Buffer")]


def test_a_method_that_the_patch_removes_and_upstream_calls_anew() -> None:
    method = b"\n    def numel(self):\n        return self.data.numel()\n"
    use = b"\n    def bytes(self):\n        return self.numel() * 2\n"
    target = TARGET.replace(method, method + use)

    assert found(target.replace(method, b""), target, BASE, BASE.replace(method, b"")) == [
        (Rule.REMOVED_STILL_USED, 12, "numel")
    ]


def test_a_function_that_the_patch_removes_and_untouched_code_calls() -> None:
    helper = b"def helper():\n    return 1\n\n\n"
    use = b"\n\ndef more():\n    return helper()\n"

    assert found(BASE + use, helper + BASE + use, helper + BASE, BASE) == [(Rule.UNBOUND, 19, "helper")]


def test_a_parameter_that_the_patch_demands_and_upstream_does_not_give() -> None:
    change = (b"def build(config, sizes)", b"def build(config, sizes, extra)")
    use = b"\n\ndef more(config):\n    return build(config, [1])\n"

    assert found((TARGET + use).replace(*change), TARGET + use, BASE, BASE.replace(*change)) == [
        (Rule.REMOVED_STILL_USED, 20, "build")
    ]


def test_a_call_that_does_not_fit_in_the_authors_text_either_is_the_authors_business() -> None:
    more = b"\n\ndef one(config):\n    return Buffer(config, 1, unknown=2)\n"

    assert found(RESULT + more) == [(Rule.STALE_REFERENCE, 29, "Buffer")]
    assert found(RESULT + more, changed=CHANGED + more) == []


@pytest.mark.parametrize(
    ("broken", "line"),
    [
        (b"<<<<<<< ours\n", 1),
        (b"def f(:\n", 1),
        (b"print 'Python 2'\n", 1),
        (b"a = '\x00'\n", 1),
    ],
)
def test_a_result_that_is_no_python(broken: bytes, line: int) -> None:
    assert [(rule, at) for rule, at, _ in found(broken + RESULT)] == [(Rule.SYNTAX, line)]


def test_syntax_that_the_release_cannot_read() -> None:
    result = RESULT.replace(
        b"    def numel", b"    def m(self):\n        match self:\n            case 1: pass\n\n    def numel"
    )

    assert [alarm.rule for alarm in alarms(BASE, CHANGED, TARGET, result, python=(3, 9))] == [Rule.SYNTAX]
    assert alarms(BASE, CHANGED, TARGET, result, python=(3, 10)) == ()


@pytest.mark.parametrize("statement", [b"    break\n", b"    continue\n"])
def test_a_statement_in_the_wrong_place(statement: bytes) -> None:
    line = RESULT.count(b"\n") + 4

    assert [(rule, at) for rule, at, _ in found(RESULT + b"\n\ndef wrong():\n" + statement)] == [(Rule.SYNTAX, line)]


def test_a_return_at_module_level() -> None:
    assert [rule for rule, _, _ in found(RESULT + b"return 1\n")] == [Rule.SYNTAX]


@pytest.mark.parametrize("which", ["target", "changed"])
def test_a_text_to_compare_with_that_cannot_be_read_leaves_the_result_unchecked(which: str) -> None:
    broken = b"print 'Python 2'\n"

    assert [
        rule for rule, _, _ in found(broken + RESULT, **{which: broken + {"target": TARGET, "changed": CHANGED}[which]})
    ] == [Rule.UNCHECKED]


def test_a_doubt_that_only_an_unreadable_text_could_clear_is_unchecked() -> None:
    assert [rule for rule, _, _ in found(RESULT + b"undefined()\n", changed=b"print 1\n")] == [Rule.UNCHECKED]


@pytest.mark.parametrize(
    "change",
    [
        (b"\n", b"\r\n"),
        (b"import contextlib", b"\xef\xbb\xbfimport contextlib"),
        (b"class Buffer", b"\x0cclass Buffer"),
        (b"    ", b"\t"),
    ],
)
def test_endings_marks_and_tabs_make_no_difference(change: tuple[bytes, bytes]) -> None:
    old, new = change
    count = 1 if new.startswith(b"\xef") else -1
    lost = RESULT.replace(CONTEXT, b"")
    ours = (text.replace(old, new, count) for text in (BASE, CHANGED, TARGET, RESULT, lost))
    base, changed, target, result, wrong = ours

    assert alarms(base, changed, target, result) == ()
    assert [alarm.rule for alarm in alarms(base, changed, target, wrong)] == [Rule.UNBOUND]


def test_a_coding_cookie_is_obeyed() -> None:
    cookie = b"# -*- coding: latin-1 -*-\nname = '\xe9'\n"

    assert alarms(cookie + BASE, cookie + CHANGED, cookie + TARGET, cookie + RESULT) == ()


def test_fifty_thousand_lines() -> None:
    many = b"".join(b"def f%d(a):\n    b = a\n    return b\n\n\n" % number for number in range(10_000))

    assert alarms(many + BASE, many + CHANGED, many + TARGET, many + RESULT) == ()
    some = many[: many.index(b"def f1000(")]
    assert [alarm.line for alarm in alarms(some, some, some, some + b"def g():\n    return undefined\n")] == [5002]


# A patch carried to its own base raises no alarm; nor does it when something that has nothing to do with it is new.


@given(changed_programs())
def test_own_base(pair: tuple[bytes, bytes]) -> None:
    base, changed = pair

    assert alarms(base, changed, base, changed) == ()


@given(changed_programs())
def test_own_base_and_an_unrelated_function(pair: tuple[bytes, bytes]) -> None:
    base, changed = pair
    unrelated = b"\n\ndef unrelated(argument):\n    return argument\n"

    assert alarms(base, changed, base + unrelated, changed + unrelated) == ()


@given(programs(), changed_programs())
def test_a_result_that_is_the_target_raises_no_alarm(target: bytes, patch: tuple[bytes, bytes]) -> None:
    base, changed = patch

    assert alarms(base, changed, target, target) == ()


@given(
    st.lists(
        st.one_of(texts(), programs(), edited().map(lambda pair: pair[1]), st.binary(max_size=40)),
        min_size=4,
        max_size=4,
    )
)
def test_no_text_raises(four: list[bytes]) -> None:
    base, changed, target, result = four

    for alarm in alarms(base, changed, target, result):
        assert alarm.line >= 1
        assert alarm.message


@given(programs(), changed_programs())
def test_what_is_unbound_anywhere_in_new_code_is_found(program: bytes, patch: tuple[bytes, bytes]) -> None:
    base, changed = patch
    bad = b"def new_function():\n    return never_bound_name\n"

    assert (Rule.UNBOUND, "never_bound_name") in {
        (alarm.rule, alarm.name) for alarm in alarms(base, changed, program + base, program + changed + bad)
    }
