from __future__ import annotations

import pytest
from hypothesis import given

from patchkit.core.gating import repeats as gate
from patchkit.core.gating.repeats import Repeat, repeats

from ..programs import changed_programs

# Both sides added the block that makes optimizer steps comparable, upstream inside other additions.
BASE = b"""\
def load(state):
    for key in state:
        state[key] = read(key)
    return state
"""

CHANGED = b"""\
def load(state):
    for key in state:
        if key == 'step':
            state[key] = state[key].item()
            continue
        state[key] = read(key)
    return state
"""

TARGET = b"""\
def load(state):
    for key in state:
        log(key)
        if key == 'step':
            # a comment of upstream
            state[key] = state[key].item()
            continue
        state[key] = read(key)
    return state
"""

RESULT = b"""\
def load(state):
    for key in state:
        log(key)
        if key == 'step':
            # a comment of upstream
            state[key] = state[key].item()
            continue
        if key == 'step':
            state[key] = state[key].item()
            continue
        state[key] = read(key)
    return state
"""


def test_a_block_that_both_sides_added_stands_twice() -> None:
    assert repeats(BASE, CHANGED, TARGET, RESULT) == (Repeat("load", 8, 3, upstreamed=True),)


def test_a_block_that_was_inserted_twice_stands_twice_although_upstream_has_it_not() -> None:
    block = b"".join(CHANGED.splitlines(keepends=True)[2:5])

    assert repeats(BASE, CHANGED, BASE, CHANGED.replace(block, block * 2)) == (Repeat("load", 6, 3, upstreamed=False),)


def test_taken_once_it_is_fine() -> None:
    assert repeats(BASE, CHANGED, TARGET, TARGET) == ()


def test_the_same_block_in_another_function_is_fine() -> None:
    other = TARGET.replace(b"load", b"other") + BASE
    result = TARGET.replace(b"load", b"other") + CHANGED

    assert repeats(BASE, CHANGED, other, result) == ()


def test_what_the_author_wrote_twice_is_fine() -> None:
    twice = CHANGED.replace(b"    return state\n", b"") + CHANGED.partition(b"\n")[2]

    assert repeats(BASE, twice, TARGET, twice) == ()


def test_only_scopes_to_which_the_patch_adds_are_judged() -> None:
    elsewhere = BASE + CHANGED.replace(b"load", b"other")

    assert repeats(BASE, elsewhere, TARGET, RESULT) == ()


@pytest.mark.parametrize("line", ["value = 1", "model.eval()", "assert a", "del value", "return a", "yield"])
def test_one_statement_that_upstream_has_too_says_enough(line: str) -> None:
    statement = f"    {line}\n".encode()
    base = b"def f(a):\n    first(a)\n    second(a)\n    third(a)\n"
    changed = base.replace(b"    second(a)\n", statement + b"    second(a)\n")
    target = base + statement
    result = changed + statement

    assert repeats(base, changed, target, result) == (Repeat("f", 6, 1, upstreamed=True),)
    # What only the patch has, a person may have put there twice.
    assert repeats(base, changed, base, result) == ()
    # What the base has elsewhere is new here all the same.
    other = b"def g():\n" + statement
    assert repeats(*(text + other for text in (base, changed, target, result))) == (Repeat("f", 6, 1, upstreamed=True),)


@pytest.mark.parametrize("line", ["pass", "return", "return None", "return True", "continue", "break"])
def test_one_statement_that_only_leaves_says_too_little(line: str) -> None:
    statement = f"        {line}\n".encode()
    base = b"def f(a):\n    for b in a:\n        first(b)\n        second(b)\n"
    changed = base.replace(b"        second(b)\n", statement + b"        second(b)\n")

    assert repeats(base, changed, base + statement, changed + statement) == ()


def test_what_the_base_has_in_the_same_function_is_not_the_patchs() -> None:
    old, new = b"    old_state = compute(a_long_argument, another_one)\n", b"    new_state = compute(another_one)\n"
    base = b"def f(a):\n" + old + b"    first(a)\n    second(a)\n"
    changed = base.replace(b"    first(a)\n", new + b"    first(a)\n")
    target = base + new

    assert repeats(base, changed, target, changed + new + old) == (Repeat("f", 6, 1, upstreamed=True),)


def test_two_neighbouring_statements_at_module_level() -> None:
    base, one = b"import os\n", b"import os\nfirst = 1\nsecond = 2\n"

    assert repeats(base, one, one, one + b"first = 1\nsecond = 2\n") == (Repeat("<module>", 4, 2, upstreamed=True),)


def test_branches_of_one_condition_are_never_both_run() -> None:
    two = b"        first = 1\n        second = 2\n"
    base = b"def f(a):\n    if a:\n        pass\n    else:\n        pass\n"
    one, other = base.replace(b"        pass\n", two, 1), base.replace(b"e:\n        pass\n", b"e:\n" + two)
    both = one.replace(b"        pass\n", two)

    assert repeats(base, one, other, both) == ()
    assert repeats(base, one, other, both + two.replace(b"        ", b"    ")) == (Repeat("f", 8, 2, upstreamed=True),)


def test_imports_are_the_business_of_another_rule() -> None:
    base, line = b"def f():\n    pass\n", b"from a_package.of_some_length.and_depth import something\n"

    assert repeats(base, line + base, line + base, line + base + line) == ()


def test_texts_that_do_not_parse_have_none() -> None:
    broken = b"<<<<<<< ours\n"

    assert repeats(BASE, CHANGED + broken, TARGET, RESULT) == ()
    assert repeats(BASE, CHANGED, TARGET + broken, RESULT) == ()
    assert repeats(BASE, CHANGED, TARGET, RESULT + broken) == ()


@given(changed_programs())
def test_own_base_has_none(pair: tuple[bytes, bytes]) -> None:
    base, changed = pair

    assert repeats(base, changed, base, changed) == ()


def test_a_line_that_only_begins_a_statement_is_no_suspect_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def condition(name: str) -> bytes:
        return f"if (\n    {name}_is_set\n    and {name}_is_wanted\n):\n    use({name})\n".encode()

    one, ours, theirs = map(condition, ("one", "ours", "theirs"))
    monkeypatch.setattr(gate, "parse", pytest.fail)

    assert repeats(one, one + ours, theirs + one, theirs + one + ours) == ()


def test_a_statement_over_several_lines_stands_twice() -> None:
    call = b"register(\n    # what it is\n    first_of_all,\n    x\n)\nregister_the_rest()\n"

    assert repeats(b"a = 1\n", b"a = 1\n" + call, call + b"a = 1\n", call + b"a = 1\n" + call) == (
        Repeat("<module>", 8, 2, upstreamed=True),
    )
    assert repeats(b"", b"call(\n  x\n)\n", b"call(\n  x\n)\n", b"call(\n  x\n)\n" * 2) == (
        Repeat("<module>", 4, 1, upstreamed=True),
    )
