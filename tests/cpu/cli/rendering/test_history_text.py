from __future__ import annotations

from patchkit.cli.rendering.history_text import broke, history_lines
from patchkit.core.history_report import BreakReport

from .made_up_history import hunk, place, report, state


def test_of_several_commits_that_share_a_letter_the_worst_is_shown() -> None:
    line = [place(number) for number in range(144)]
    spans = [(0, 10, "exact"), (10, 11, "conflict"), (11, 13, "exact"), (13, 14, "moved"), (14, 144, "upstreamed")]
    strip = next(row for row in history_lines(report(line, [hunk("h", *spans)])) if row.startswith("      h "))

    assert strip.split()[1] == "eeeeeCm" + "u" * 65


def test_hunks_of_one_name_are_told_apart_where_something_changed() -> None:
    line = [place(0), place(1, "One"), place(2, "Two")]
    first = hunk("same", (0, 1, "exact"), (1, 3, "conflict"))
    second = hunk("same", (0, 1, "exact"), (1, 2, "conflict"), (2, 3, "exact"), patch="two")
    other = hunk("other", (0, 2, "exact"), (2, 3, "moved"))
    rows = list(history_lines(report(line, [first, other, second])))

    assert rows[rows.index("what changed on the line:") + 1 : -1] == [
        "  day 1 0000000001 One",
        "    e>C  one/same, two/same",
        "  day 2 0000000002 Two",
        "    e>m  other",
        "    C>e  two/same",
    ]


def test_where_nothing_changes_nothing_is_told_of_it() -> None:
    assert "what changed on the line:" not in list(history_lines(report([place(0)], [hunk("h", (0, 1, "exact"))])))


def test_a_break_is_told_from_the_line_down_to_the_change() -> None:
    whole = BreakReport(
        at=place(1, "merge"),
        after=place(0, "build"),
        state=state("conflict"),
        within=(place(2, "inner"),),
        itself=True,
        why="nobody knows",
        healed=place(3, "good"),
    )

    assert list(broke(whole)) == [
        "conflict since day 1 0000000001 merge",
        "good in day 0 0000000000 build",
        "brought by day 2 0000000002 inner",
        "the merge itself did it: nobody knows",
        "good again in day 3 0000000003 good",
    ]
    assert list(broke(BreakReport(at=None, state=state("alarm")))) == ["alarm from the beginning"]
    assert list(broke(BreakReport(at=place(1), state=state("obsolete"), why="it moved the file to b.py"))) == [
        "obsolete since day 1 0000000001",
        "it moved the file to b.py",
    ]
