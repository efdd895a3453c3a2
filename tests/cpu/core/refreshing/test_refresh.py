from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit.core.difference import difference
from patchkit.core.lines import split_lines
from patchkit.core.model import FilePatch, Hunk, Patch
from patchkit.core.refreshing.attribution import given as as_given
from patchkit.core.refreshing.layering import Edit, Layer, edited, edits, layer, raised_through
from patchkit.core.refreshing.refresh import Refreshed, refreshed
from patchkit.core.unified import parse_patch, print_patch

from ..texts import WORDS, joined
from ..texts import edited as edited_texts

PATH = "m.py"


def lines(*texts: str) -> list[bytes]:
    return [f"{text}\n".encode() for text in texts]


def layer_of(name: str, before: bytes, after: bytes) -> tuple[Layer, FilePatch]:
    """The layer between two texts, as difference() makes its hunks; ids are the name and a number."""
    part = difference(before, after, PATH) or FilePatch(PATH, PATH, ())
    hunks = tuple(Hunk(f"{name}{at}", hunk.old_start, hunk.new_start, hunk.lines) for at, hunk in enumerate(part.hunks))
    part = FilePatch(PATH, PATH, hunks)
    places = [hunk.old_start - 1 if hunk.old_lines else hunk.old_start for hunk in hunks]
    return layer(name, part, places, split_lines(before), split_lines(after)), part


def applied(before: list[bytes], part: FilePatch, outcome: Refreshed) -> list[bytes]:
    """What the hunks make of a text: the refreshed ones, and the others where they stay."""
    changed = {name: hunk for name, hunk in outcome.hunks if name}
    placed = [(line, hunk) for name, line in outcome.stay for hunk in part.hunks if hunk.id == name]
    placed += [
        (hunk.old_start - 1 if hunk.old_lines else hunk.old_start, hunk)
        for _, hunk in outcome.hunks
        if hunk is not None
    ]
    assert {name for name, _ in outcome.stay} | set(changed) == {hunk.id for hunk in part.hunks}
    made: list[bytes] = []
    at = 0
    for line, hunk in sorted(placed, key=lambda pair: (pair[0], len(pair[1].old_lines))):
        assert line >= at
        assert before[line : line + len(hunk.old_lines)] == hunk.old_lines
        made += [*before[at:line], *hunk.new_lines]
        at = line + len(hunk.old_lines)
    return [*made, *before[at:]]


# Edits.


@given(edited_texts())
def test_the_edits_between_two_texts_make_the_second_of_the_first(pair: tuple[bytes, bytes]) -> None:
    old, new = split_lines(pair[0]), split_lines(pair[1])

    assert edited(old, edits(old, new)) == new


def test_edits_name_the_lines_they_replace() -> None:
    assert edits(lines("a", "b", "c", "d"), lines("a", "B", "c", "d", "e")) == [
        Edit(1, 2, (b"B\n",)),
        Edit(4, 4, (b"e\n",)),
    ]


# One layer.

BASE = b"".join(lines(*(f"line {number}" for number in range(30))))
PATCHED = BASE.replace(b"line 5\n", b"line 5\nadded by p\n").replace(b"line 20\n", b"twenty\n")


def test_a_changed_line_of_a_hunk_changes_that_hunk_alone() -> None:
    old, _ = layer_of("p", BASE, PATCHED)
    found = PATCHED.replace(b"added by p\n", b"added by a person\n")
    outcome = refreshed(old, (), edits(split_lines(PATCHED), split_lines(found)))

    assert [name for name, _ in outcome.hunks] == ["p0"]
    assert outcome.stay == (("p1", 17),)
    assert outcome.hunks[0][1] is not None
    assert outcome.hunks[0][1].new_lines == lines(
        "line 3", "line 4", "line 5", "added by a person", "line 6", "line 7", "line 8"
    )


def test_a_hunk_that_an_edit_takes_out_is_named_and_the_others_stay() -> None:
    old, _ = layer_of("p", BASE, PATCHED)
    found = PATCHED.replace(b"added by p\n", b"")
    outcome = refreshed(old, (), edits(split_lines(PATCHED), split_lines(found)))

    assert outcome == Refreshed((("p0", None),), (("p1", 17),))


def test_an_edit_far_from_all_hunks_is_a_new_hunk_with_context() -> None:
    old, _ = layer_of("p", BASE, PATCHED)
    found = PATCHED.replace(b"line 13\n", b"line 13\nnew\n")
    outcome = refreshed(old, (), edits(split_lines(PATCHED), split_lines(found)))

    (name, hunk), *rest = outcome.hunks
    assert (name, rest) == ("", [])
    assert hunk is not None
    assert (hunk.old_start, hunk.new_start) == (12, 13)
    assert hunk.new_lines == lines("line 11", "line 12", "line 13", "new", "line 14", "line 15", "line 16")


def test_an_edit_of_a_patch_below_changes_the_context_of_the_hunk_above() -> None:
    old, part = layer_of("p", BASE, PATCHED)
    below = [Edit(6, 7, (b"six\n", b"and a half\n"))]
    outcome = refreshed(old, below, ())

    assert [name for name, _ in outcome.hunks] == ["p0"]
    assert outcome.stay == (("p1", 18),)
    assert applied(edited(old.before, below), part, outcome) == split_lines(
        PATCHED.replace(b"line 6\n", b"six\nand a half\n")
    )


def test_an_edit_across_two_hunks_keeps_the_id_of_one_and_names_the_other() -> None:
    patched = BASE.replace(b"line 5\n", b"line 5\nfirst\n").replace(b"line 12\n", b"line 12\nsecond\n")
    old, part = layer_of("p", BASE, patched)
    assert [window.hunk for window in old.windows] == ["p0", "p1"]
    whole = b"".join(lines("first", *(f"line {number}" for number in range(6, 13)), "second"))
    found = patched.replace(whole, b"one\ntwo\n")
    outcome = refreshed(old, (), edits(split_lines(patched), split_lines(found)))

    assert {name for name, hunk in outcome.hunks if hunk is None} <= {"p0", "p1"}
    assert applied(split_lines(BASE), part, outcome) == split_lines(found)


# Any number of layers: what comes out is the edited text, whoever the edits belong to.


@st.composite
def stacks(draw: st.DrawFn) -> tuple[list[bytes], bytes, list[int]]:
    """Texts from upstream's to the last patch's, the edited one, and a level for each edit."""
    texts = [draw(edited_texts())]
    steps = [texts[0][0], texts[0][1]]
    for _ in range(draw(st.integers(0, 2))):
        steps.append(_changed(draw, steps[-1]))
    found = _changed(draw, steps[-1])
    levels = draw(st.lists(st.integers(0, len(steps) - 2), min_size=12, max_size=12))
    return steps, found, levels


def _changed(draw: st.DrawFn, text: bytes) -> bytes:
    new = [line.removesuffix(b"\n") for line in split_lines(text)]
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(new)))
        new[start : start + draw(st.integers(0, 2))] = draw(st.lists(st.sampled_from(WORDS), max_size=2))
    return joined(new, final_newline=True)


@settings(max_examples=400, deadline=None)
@given(stacks())
def test_refreshed_hunks_give_the_edited_text_layer_by_layer(case: tuple[list[bytes], bytes, list[int]]) -> None:
    steps, found, levels = case
    made = [layer_of(f"p{at}-", old, new) for at, (old, new) in enumerate(pairwise(steps))]
    layers = [one for one, _ in made]
    owned: dict[int, list[Edit]] = {}
    for edit, wanted in zip(edits(layers[-1].after, split_lines(found)), levels, strict=False):
        level, lowered = len(layers) - 1, edit
        asked = as_given(layers, edit, wanted)
        if asked is not None:
            level, lowered = asked.level, asked.edit
        owned.setdefault(level, []).append(lowered)
    carried: list[Edit] = []
    text = split_lines(steps[0])
    for at, (one, part) in enumerate(made):
        mine = owned.get(at, [])
        assert text == edited(one.before, carried)
        outcome = refreshed(one, carried, mine)
        if not carried and not mine:
            assert outcome.hunks == ()
        text = applied(text, part, outcome)
        carried = [*(raised_through(one, edit) for edit in carried), *mine]

    assert text == split_lines(found)


@given(edited_texts())
def test_without_edits_every_hunk_stays_where_it_is(pair: tuple[bytes, bytes]) -> None:
    old, part = layer_of("p", *pair)
    outcome = refreshed(old, (), ())

    assert outcome.hunks == ()
    assert outcome.stay == tuple(
        (hunk.id, hunk.old_start - 1 if hunk.old_lines else hunk.old_start) for hunk in part.hunks
    )


def test_a_printed_layer_is_read_back() -> None:
    _, part = layer_of("p", BASE, PATCHED)
    assert parse_patch(print_patch(Patch((part,))), "x").files == (part,)
