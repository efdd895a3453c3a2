from __future__ import annotations

from patchkit.core.carried import CarryResult, Conflict, Status, Verdict
from patchkit.core.carry import carry_file

HEAD = b"# Names.\n\n\nN = 1\n\n\ndef before():\n    pass\n\n\n"
A = b"def a(p):\n    one(p)\n    two(p)\n    three(p)\n    four(p)\n"
TAIL = b"\n\ndef behind():\n    pass\n\n\nM = 1\n"
BASE = HEAD + A + TAIL
# The first half of the function goes by another name: in the patch's text the lines belong to that one.
SPLIT = b"def first(q):\n    one(p)\n    two(p)\n    three(p)\n\n\ndef a(p):\n    four(p)\n"
OTHER = A.replace(b"two(p)", b"two(p, p)")
REASON = "the patch moves or rewrites a definition, and a change of the target would land in another one"


def told(result: CarryResult) -> tuple[bytes | Conflict, ...]:
    return tuple(part for part in result.parts if part)


def test_only_the_definition_is_left_to_a_person_and_the_other_hunks_are_carried() -> None:
    changed = HEAD.replace(b"N = 1", b"N = 2") + SPLIT + TAIL.replace(b"M = 1", b"M = 2")
    result = carry_file(BASE, changed, b"import sys\n\n" + HEAD + OTHER + TAIL, "m.py")

    assert (result.status, result.content) == (Status.CONFLICT, None)
    assert told(result) == (
        b"import sys\n\n" + HEAD.replace(b"N = 1", b"N = 2"),
        Conflict(A, SPLIT, OTHER),
        TAIL.replace(b"M = 1", b"M = 2"),
    )
    assert [(hunk.verdict, hunk.old.first, hunk.reason) for hunk in result.hunks] == [
        (Verdict.MOVED, 4, "the same lines stand +2 lines away"),
        (Verdict.CONFLICT, 11, REASON),
        (Verdict.CONFLICT, 15, REASON),
        (Verdict.MOVED, 22, "the same lines stand +2 lines away"),
    ]


def test_changes_that_meet_the_definition_are_left_with_it() -> None:
    patch, target = b"# A note of the patch.\n", b"# One of the target.\n"
    changed, other = HEAD + patch + SPLIT + TAIL, HEAD + OTHER + target + TAIL
    result = carry_file(BASE, changed, other, "m.py")

    assert [part for part in result.parts if isinstance(part, Conflict)] == [Conflict(A, patch + SPLIT, OTHER + target)]


def test_several_definitions_are_left_apart_from_each_other() -> None:
    base, changed, target = (HEAD + one + TAIL + one.replace(b"a(p)", b"z(p)") for one in (A, SPLIT, OTHER))
    result = carry_file(base, changed, target, "m.py")

    assert told(result) == (
        HEAD,
        Conflict(A, SPLIT, OTHER),
        TAIL,
        Conflict(*(one.replace(b"a(p)", b"z(p)") for one in (A, SPLIT, OTHER))),
    )
