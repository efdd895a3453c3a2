"""What counts as lost from a hunk that was carried without a conflict, and what does not."""

from __future__ import annotations

import pytest

from patchkit.core.carried import Conflict
from patchkit.core.rebasing.lineage import Run
from patchkit.core.rebasing.losses import Loss, losses

BEFORE = b"a = 1\nbuffer = make(size)\nb = 2\nold = spare(size)\nc = 3\n"
CARRIED = b"a = 1\nwith region():\n    buffer = make(size)\nb = 2\nc = 3\n"
RUNS = (Run((1, 2), (1, 3), ("wraps",)), Run((3, 4), (4, 4), ("takes-out",)))
WITH, INSIDE, OLD, SPARE = (
    b"with region():\n",
    b"    buffer = make(size)\n",
    b"buffer = make(size)\n",
    b"old = spare(size)\n",
)


def edited(old: bytes, new: bytes) -> tuple[Loss, ...]:
    assert CARRIED.count(old) == 1
    return losses(RUNS, BEFORE, (CARRIED,), CARRIED.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (WITH + INSIDE, b"", Loss(("wraps",), 2, (WITH, INSIDE), ())),
        (WITH + INSIDE, OLD, Loss(("wraps",), 2, (WITH, INSIDE), (OLD,))),
        (INSIDE, b"", Loss(("wraps",), 3, (INSIDE,), ())),
        (WITH, b"", Loss(("wraps",), 2, (WITH,), ())),
        (b"c = 3\n", SPARE + b"c = 3\n", Loss(("takes-out",), 5, (), (SPARE,))),
        (INSIDE, b"    pass\n", Loss(("wraps",), 3, (INSIDE,), ())),
    ],
    ids=["all of a run", "a run undone", "its last line", "its first line", "a removal undone", "for something else"],
)
def test_lines_without_a_conflict_that_nothing_stands_for_are_lost(old: bytes, new: bytes, expected: Loss) -> None:
    assert edited(old, new) == (expected,)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (INSIDE, b"    buffer = make(size, kind)\n"),
        (WITH, b"with region(tag='grads'):\n"),
        (INSIDE, b"    # Not at the start.\n\n" + INSIDE),
        (b"c = 3\n", b"c = 4\n"),
        (WITH + INSIDE, b"with region():\n    size = 2\n" + INSIDE),
        (INSIDE, b"    buffer = make(\n        size\n    )\n"),
    ],
    ids=["changed", "changed too", "added to", "beside it", "inserted between", "on several lines"],
)
def test_what_was_changed_or_added_to_is_not_lost(old: bytes, new: bytes) -> None:
    assert edited(old, new) == ()


def test_a_line_that_was_moved_is_not_lost() -> None:
    more = b"d = 4\ne = 5\n"
    moved = CARRIED.replace(WITH + INSIDE, b"") + more + WITH + INSIDE

    assert losses(RUNS, BEFORE + more, (CARRIED + more,), moved) == ()


CONFLICT = Conflict(b"x = base\n", b"x = ours\n", b"x = theirs\n")
AROUND = (CARRIED, CONFLICT, b"d = 4\n")


def test_what_becomes_of_a_conflict_is_for_a_person_to_decide() -> None:
    before = BEFORE + b"x = theirs\nd = 4\n"
    for solved in (b"x = ours\n", b"", b"x = theirs\n", b"x = theirs\nx = ours\n"):
        assert losses(RUNS, before, AROUND, CARRIED + solved + b"d = 4\n") == ()


def test_a_line_that_a_solved_conflict_brings_does_not_stand_for_a_lost_one() -> None:
    before = BEFORE + b"x = theirs\nd = 4\n"
    solved = CARRIED.replace(INSIDE, b"") + b"x = ours\n" + INSIDE + b"d = 4\n"

    assert losses(RUNS, before, AROUND, solved) == (Loss(("wraps",), 3, (INSIDE,), ()),)


def test_blank_lines_say_nothing() -> None:
    runs = (Run((1, 1), (1, 3), ("adds",)),)

    assert losses(runs, b"a\nb\n", (b"a\n\nx\nb\n",), b"a\nx\nb\n") == ()
