from __future__ import annotations

from patchkit.core.history.graph import Commit, Graph

# base - a - b - M - d, with s - t merged by M; children before parents, as git prints them.
COMMITS = [
    Commit("d", ("M",), 6, "", {}),
    Commit("M", ("b", "t"), 5, "", {"x": "x2"}),
    Commit("t", ("s",), 4, "", {"y": None}),
    Commit("s", ("base",), 3, "", {"x": "x2"}),
    Commit("b", ("a",), 2, "", {"y": "y2"}),
    Commit("a", ("base",), 1, "", {}),
]
THERE = Graph(COMMITS, {"base": {"x": "x1", "y": "y1"}})


def test_every_commit_has_what_its_first_parent_has_and_its_own_changes() -> None:
    found = {name: (THERE.blob(name, "x"), THERE.blob(name, "y")) for name in ("base", "a", "b", "s", "t", "M", "d")}

    assert found == {
        "base": ("x1", "y1"),
        "a": ("x1", "y1"),
        "b": ("x1", "y2"),
        "s": ("x2", "y1"),
        "t": ("x2", None),
        "M": ("x2", "y2"),
        "d": ("x2", "y2"),
    }
    assert (set(THERE.blobs("x")), set(THERE.blobs("y"))) == ({"x1", "x2"}, {"y1", "y2", None})


def test_the_line_is_the_first_parents_and_ends_where_the_range_or_what_is_left_out_begins() -> None:
    assert [commit.id for commit in THERE.line("d")] == ["a", "b", "M", "d"]
    assert [commit.id for commit in THERE.line("t")] == ["s", "t"]
    assert [commit.id for commit in THERE.line("d", frozenset({"b"}))] == ["M", "d"]
    assert THERE.line("base") == []


def test_ancestors_are_all_that_a_commit_rests_on_in_the_range() -> None:
    assert THERE.ancestors("M") == {"M", "b", "a", "t", "s"}
    assert THERE.ancestors("b") == {"b", "a"}
    assert THERE.ancestors("base") == frozenset()
