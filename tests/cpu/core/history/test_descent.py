from __future__ import annotations

import pytest

from patchkit.core.history.descent import Cause, cause
from patchkit.core.history.graph import Commit, Graph

PATH = "a.py"


def graph(table: dict[str, tuple[str, str]]) -> Graph:
    """``table`` has parents and text of each commit, oldest first; base (good) and old (bad) lie outside."""
    commits: list[Commit] = []
    texts = {"base": "good", "old": "bad"}
    for time, (name, (parents, text)) in enumerate(table.items()):
        texts[name] = text
        ids = tuple(parents.split())
        changes = {PATH: text} if not ids or texts[ids[0]] != text else {}
        commits.append(Commit(name, ids, time, name, changes))
    return Graph(commits[::-1], {"base": {PATH: "good"}, "old": {PATH: "bad"}}, frozenset({"edge"}))


def is_bad(blob: str | None) -> bool:
    return blob is None or blob.startswith("bad")


# From "line" on, or from the merge "M" on, the hunk is bad.
CASES = {
    "a commit that is no merge did it itself": (
        {"line": ("base", "bad")},
        Cause(("line",), itself=False),
    ),
    "of a merged side the commit that broke the hunk": (
        {"s1": ("base", "good 2"), "s2": ("s1", "bad"), "s3": ("s2", "bad 2"), "M": ("base s3", "bad 3")},
        Cause(("M", "s2"), itself=False),
    ),
    "of a side that broke the hunk twice the last time": (
        {"s1": ("base", "bad"), "s2": ("s1", "good 2"), "s3": ("s2", "bad 2"), "M": ("base s3", "bad 2")},
        Cause(("M", "s3"), itself=False),
    ),
    "a merge inside of a merge is gone into": (
        {
            "t1": ("base", "good 2"),
            "t2": ("t1", "bad"),
            "s1": ("base", "good"),
            "N": ("s1 t2", "bad"),
            "M": ("base N", "bad"),
        },
        Cause(("M", "N", "t2"), itself=False),
    ),
    "what a side had from the line is not the side's": (
        {
            "m1": ("base", "good 2"),
            "s1": ("base", "good 3"),
            "sync": ("s1 m1", "good 4"),
            "s2": ("sync", "bad"),
            "M": ("m1 s2", "bad"),
        },
        Cause(("M", "s2"), itself=False),
    ),
    "both sides are good: the merge itself": (
        {"s1": ("base", "good 2"), "m1": ("base", "good 3"), "M": ("m1 s1", "bad")},
        Cause(("M",), itself=True, why="no commit that it brought leaves the hunk bad by itself"),
    ),
    "an inner merge itself": (
        {
            "t1": ("base", "good 2"),
            "s1": ("base", "good 3"),
            "N": ("s1 t1", "bad"),
            "M": ("base N", "bad"),
        },
        Cause(("M", "N"), itself=True, why="no commit that it brought leaves the hunk bad by itself"),
    ),
    "a side that was bad before it parted does not tell": (
        {"s1": ("old", "bad 2"), "m1": ("base", "good 2"), "M": ("m1 s1", "bad 3")},
        Cause(
            ("M",), itself=True, why="the hunk was bad on what it brought (s1) already where the two sides had parted"
        ),
    ),
    "what the line broke, healed, and gets back from a side is not the side's": (
        {"m1": ("base", "bad"), "m2": ("m1", "good 2"), "s1": ("m1", "bad 2"), "M": ("m2 s1", "bad 2")},
        Cause(
            ("M",), itself=True, why="the hunk was bad on what it brought (s1) already where the two sides had parted"
        ),
    ),
    "of an octopus the side that is bad": (
        {
            "s1": ("base", "good 2"),
            "t1": ("base", "bad"),
            "M": ("base s1 t1", "bad"),
        },
        Cause(("M", "t1"), itself=False),
    ),
    "a side that is bad where a shallow clone begins does not tell": (
        {"edge": ("", "bad"), "s1": ("edge", "bad 2"), "M": ("base s1", "bad 2")},
        Cause(("M",), itself=False, why="what was before edge, which it brought, is not known: the clone is shallow"),
    ),
    "a side that became bad behind the edge of a shallow clone": (
        {"edge": ("", "good 2"), "s1": ("edge", "bad 2"), "M": ("base s1", "bad 2")},
        Cause(("M", "s1"), itself=False),
    ),
    "a side without a common beginning": (
        {"root": ("", "bad"), "M": ("base root", "bad")},
        Cause(("M", "root"), itself=False),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_change_that_made_a_hunk_bad_is_named(name: str) -> None:
    table, expected = CASES[name]
    there = graph(table)
    first = there.commit("M" if "M" in there else "line")

    assert cause(there, first, PATH, is_bad) == expected
