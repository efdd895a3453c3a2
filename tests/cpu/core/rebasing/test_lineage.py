from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from patchkit.core.difference import difference
from patchkit.core.model import FilePatch, Hunk
from patchkit.core.placement import FilePlaced, place_file
from patchkit.core.rebasing.lineage import Lineage, Run, Traced, changed_runs, labelled_hunks, runs_of, twice

NUMBERS = [b"%d\n" % number for number in range(30)]
BASE = b"".join(NUMBERS)


def text(*changes: tuple[int, int, bytes], lines: list[bytes] = NUMBERS) -> bytes:
    """The numbers with ``[first, end)`` replaced."""
    out = list(lines)
    for first, end, new in sorted(changes, reverse=True):
        out[first:end] = [new]
    return b"".join(out)


def lineage(changed: bytes, *ids: str) -> Lineage:
    runs = changed_runs(BASE, changed)
    return Lineage(BASE, changed, [replace(run, ids=(name,)) for run, name in zip(runs, ids, strict=True)])


def test_the_runs_of_a_patch_have_the_lines_and_ids_of_its_hunks() -> None:
    changed = text((2, 3, b"two\n"), (4, 4, b"new\n"), (20, 22, b""))
    file = difference(BASE, changed, "a.py")
    assert file is not None
    named = replace(file, hunks=tuple(replace(hunk, id=name) for hunk, name in zip(file.hunks, "xy", strict=True)))

    assert runs_of(named, [hunk.old_start - 1 for hunk in named.hunks]) == (
        Run((2, 3), (2, 3), ("x",)),
        Run((4, 4), (4, 5), ("x",)),
        Run((20, 22), (21, 21), ("y",)),
    )


def test_a_change_keeps_its_id_where_the_lines_of_the_base_stand() -> None:
    known = lineage(text((2, 3, b"two\n"), (20, 21, b"twenty\n")), "x", "y")
    before = b"above\n" + BASE
    after = before.replace(b"\n2\n", b"\nTWO\n").replace(b"\n20\n", b"\nTWENTY\n")

    assert [run.ids for run in known.label(before, after)] == [("x",), ("y",)]


def test_a_change_that_was_traced_has_the_id_of_the_lines_it_was_traced_to() -> None:
    known = lineage(text((2, 3, b"two\n"), (20, 21, b"twenty\n")), "x", "y")
    after = BASE + b"far away\n"

    assert [run.ids for run in known.label(BASE, after, [Traced((2, 3), (30, 31))])] == [("x",)]


def test_a_change_elsewhere_belongs_to_the_hunk_that_adds_the_same_lines_or_to_none() -> None:
    known = lineage(text((2, 3, b"two\n"), (20, 21, b"twenty\n")), "x", "y")

    assert [run.ids for run in known.label(BASE, text((10, 10, b"  twenty\n")))] == [("y",)]
    assert [run.ids for run in known.label(BASE, text((10, 10, b"thirty\n")))] == [()]


def test_an_insertion_begins_where_its_author_let_it_begin() -> None:
    base = b"a\n\nb\n\nc\n"
    changed = b"a\n\nnew\n\nb\n\nc\n"
    # As somebody wrote it down: the blank line above is the new one, not the one below.
    written = [Run((1, 1), (1, 3), ("x",))]
    before, after = b"0\n" + base, b"0\n" + changed

    assert Lineage(base, changed, written).label(before, after) == (Run((2, 2), (2, 4), ("x",)),)


def test_lines_of_the_base_name_the_hunks_in_them_or_else_the_nearest() -> None:
    known = lineage(text((2, 3, b"two\n"), (4, 4, b"new\n"), (20, 21, b"twenty\n")), "x", "y", "z")

    assert known.ids_in((0, 30)) == ("x", "y", "z")
    assert known.ids_in((2, 3)) == ("x",)
    assert known.ids_in((4, 4)) == ("y",)
    assert known.ids_in((3, 3)) == ("x",)
    assert known.ids_in((6, 6)) == ("y",)
    assert known.ids_in((15, 16)) == ("z",)
    assert Lineage(b"", b"", ()).ids_in((0, 1)) == ()


def test_hunks_that_stand_close_share_the_context_between_them() -> None:
    for gap, (tail, lead) in {8: (3, 3), 6: (3, 3), 5: (3, 2), 4: (2, 2), 3: (2, 1), 1: (1, 0)}.items():
        second = 5 + gap
        after = text((4, 5, b"x\n"), (second, second + 1, b"y\n"))
        runs = [Run((4, 5), (4, 5), ("x",)), Run((second, second + 1), (second, second + 1), ("y",))]
        first_hunk, second_hunk = labelled_hunks(BASE, after, runs)

        assert first_hunk.old_lines == NUMBERS[1 : 5 + tail]
        assert second_hunk.old_lines == NUMBERS[second - lead : second + 4]


def test_runs_with_one_id_are_one_hunk_whatever_lies_between() -> None:
    after = text((4, 5, b"x\n"), (20, 21, b"y\n"))
    runs = [Run((4, 5), (4, 5), ("x",)), Run((20, 21), (20, 21), ("x",))]
    (hunk,) = labelled_hunks(BASE, after, runs)

    assert (hunk.id, hunk.old_start, hunk.old_lines) == ("x", 2, NUMBERS[1:24])


def test_a_hunk_with_another_one_inside_is_there_twice() -> None:
    runs = [Run((at, at + 1), (at, at + 1), (name,)) for at, name in ((4, "x"), (10, "y"), (20, "x"))]
    after = text((4, 5, b"x\n"), (10, 11, b"y\n"), (20, 21, b"z\n"))

    assert twice(labelled_hunks(BASE, after, runs)) == ["x"]


small = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"end"]), max_size=12).map(
    # Only the last line may lack its newline.
    lambda lines: b"".join(line if line.endswith(b"\n") else b"e\n" for line in lines)
)


@given(small, small, st.lists(st.sampled_from("xyz"), min_size=12, max_size=12))
def test_the_hunks_of_a_variant_give_the_carried_text_at_their_own_lines(
    before: bytes, after: bytes, names: list[str]
) -> None:
    runs = [replace(run, ids=(name,)) for run, name in zip(changed_runs(before, after), names, strict=False)]
    hunks: tuple[Hunk, ...] = labelled_hunks(before, after, runs)
    placed = place_file(FilePatch("a.py", "a.py", hunks), before, {})

    assert isinstance(placed, FilePlaced)
    assert placed.content == after
    assert all(place.offset == 0 for place in placed.hunks)


@given(small, small)
def test_a_patch_on_its_own_base_keeps_every_id(base: bytes, changed: bytes) -> None:
    runs = [replace(run, ids=(f"h{number}",)) for number, run in enumerate(changed_runs(base, changed))]

    assert Lineage(base, changed, runs).label(base, changed) == tuple(runs)


def test_the_runs_near_a_place_are_those_without_a_line_between() -> None:
    base = [b"%d\n" % number for number in range(12)]
    # Changed, put in, taken out, at the beginning, and at the end.
    changed = [b"x\n", *base[:2], b"two\n", *base[3:5], b"put in\n", *base[5:8], *base[9:11], b"last\n"]
    lineage = Lineage(b"".join(base), b"".join(changed), [])
    runs = [run.old for run in lineage._runs]

    assert runs == [(0, 0), (2, 3), (5, 5), (8, 9), (11, 12)]
    for first in range(13):
        for end in range(first, 13):
            near = [at for at, (begin, stop) in enumerate(runs) if begin <= end and first <= stop]
            assert list(lineage._near((first, end))) == near
