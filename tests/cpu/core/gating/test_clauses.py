from __future__ import annotations

import pytest

from patchkit.core.gating.gates import Alarm, Rule, alarms

HEAD = "import os\n\n\ndef f(a, b, x, z):\n"
TAIL = "    return x\n\n\ndef g():\n    return 1\n"


def text(*lines: str) -> bytes:
    return (HEAD + "".join(f"    {line}\n" for line in lines) + TAIL).encode()


def stray(base: bytes, changed: bytes, target: bytes, result: bytes) -> tuple[Alarm, ...]:
    """What the gates say, which is the same with the sides exchanged."""
    found = alarms(base, changed, target, result)
    assert found == alarms(base, target, changed, result)
    return found


def misplaced(line: int, word: str) -> Alarm:
    message = f"this {word} in f belongs to another statement than on the side that it is from"
    return Alarm(Rule.MISPLACED, line, word, message)


@pytest.mark.parametrize(
    ("head", "clause", "line", "word"),
    [
        (["if a:", "    x(1)"], ["else:", "    z(1)"], 10, "else"),
        (["if a:", "    x(1)"], ["elif z:", "    z(1)"], 9, "elif"),
        (["for i in a:", "    x(1)"], ["else:", "    z(1)"], 10, "else"),
        (["while a:", "    x(1)"], ["else:", "    z(1)"], 10, "else"),
    ],
)
def test_a_clause_behind_another_statement_than_on_its_own_side(
    head: list[str], clause: list[str], line: int, word: str
) -> None:
    other = ["if b:", "    x(2)"]
    base, changed, target = text(*head), text(*head, *clause), text(*head, *other)

    assert stray(base, changed, target, text(*head, *other, *clause)) == (misplaced(line, word),)
    assert stray(base, changed, target, text(*head, *clause, *other)) == ()


def test_clauses_of_try() -> None:
    head, other = (
        ["try:", "    x(1)", "except OSError:", "    z(0)"],
        ["try:", "    x(2)", "except KeyError:", "    z(2)"],
    )
    for clause, line, word in (
        (["except TypeError:", "    z(1)"], 13, "except"),
        (["finally:", "    z(1)"], 14, "finally"),
        (["else:", "    z(1)"], 14, "else"),
    ):
        base, changed, target = text(*head), text(*head, *clause), text(*head, *other)

        assert stray(base, changed, target, text(*head, *other, *clause)) == (misplaced(line, word),)
        assert stray(base, changed, target, text(*head, *clause, *other)) == ()


def test_a_case_of_another_match() -> None:
    head, other = ["match a:", "    case 1:", "        x(1)"], ["match b:", "    case 1:", "        x(2)"]
    case = ["    case 2:", "        z(1)"]
    base, changed, target = text(*head), text(*head, *case), text(*head, *other)

    assert stray(base, changed, target, text(*head, *other, *case)) == (misplaced(11, "case"),)
    assert stray(base, changed, target, text(*head, *case, *other)) == ()


def test_a_clause_that_no_edit_touches_gets_the_statement_above_it_taken_out() -> None:
    one, two, clause = ["if a:", "    x(1)"], ["if b:", "    x(2)"], ["else:", "    z(1)"]
    base, changed = text(*one, *two, *clause), text(*one, *clause)
    other = ["if z:", "    x(3)"]
    target = text(*one, *other, *two, *clause)

    assert stray(base, changed, target, text(*one, *other, *clause)) == (misplaced(10, "else"),)


def test_a_statement_whose_header_the_other_side_changes_keeps_its_clauses() -> None:
    twin, clause = ["if a:", "    x(0)", "z(0)"], ["else:", "    z(1)"]
    for before in ([], twin):
        base, changed = text(*before, "if a:", "    x(1)"), text(*before, "if a:", "    x(1)", *clause)
        target, result = text(*before, "if a and b:", "    x(1)"), text(*before, "if a and b:", "    x(1)", *clause)

        assert stray(base, changed, target, result) == ()


def test_an_if_in_an_else_is_no_elif() -> None:
    head, inner = ["if a:", "    x(1)"], ["else:", "    if b:", "        x(2)"]
    base, changed = text(*head, *inner), text(*head, *inner, "    else:", "        z(1)")
    target = text(*head, *inner, "    if z:", "        x(3)")
    wrong = text(*head, *inner, "    if z:", "        x(3)", "    else:", "        z(1)")

    assert stray(base, changed, target, wrong) == (misplaced(13, "else"),)
