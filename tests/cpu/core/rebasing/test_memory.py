from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from patchkit.core.carry import Conflict
from patchkit.core.rebasing.memory import Around, Resolution, Seen, Sides, fits, offered, replayed, resolution, seen
from patchkit.core.rebasing.spots import Spot, spots

FILE = "m/a.py"
HEAD = b"import a\n\n\ndef f(x):\n    # One.\n    first = call(\n        x,\n    )\n"
TAIL = b"    third = 3\n    return first\n"


def meet(
    base: bytes,
    changed: bytes,
    target: bytes,
    *,
    head: bytes = HEAD,
    tail: bytes = TAIL,
    base_head: bytes | None = None,
    file: str = FILE,
    hunks: tuple[str, ...] = ("h",),
) -> Seen | None:
    """A conflict between ``head`` and ``tail``."""
    whole_base = (head if base_head is None else base_head) + base + tail
    (spot,) = spots([head, Conflict(base, changed, target), tail], whole_base, head + target + tail)
    return seen(spot, whole_base, head + target + tail, patch="p", hunks=hunks, file=file)


def met() -> Seen:
    found = meet(b"    a = 1\n", b"    a = 2\n", b"    a = 3\n")
    assert found is not None
    return found


def solved(text: bytes = b"    a = 23\n") -> Resolution:
    made = resolution(met(), text, author="A <a@b>", reason="so", base="v1", target="v2")
    assert made is not None
    return made


def test_a_conflict_is_remembered_with_the_logical_lines_around_it() -> None:
    found = met()
    around = Around(("def f(x):", "# One.", "first = call( x, )"), ("third = 3", "return first"))

    assert found.circumstances.conflict == Sides("a = 1\n", "a = 2\n", "a = 3\n")
    assert (found.circumstances.in_base, found.circumstances.in_target) == (around, around)
    assert found.indentation == "    "
    assert re.fullmatch(r"h-[0-9a-f]{12}", found.key)


def test_in_other_text_the_lines_around_are_physical_ones() -> None:
    found = meet(b"b\n", b"c\n", b"d\n", head=b"1\n\n2 (\n3\n4\n", tail=b"5\n\n6\n7\n8\n", file="m/a.md")

    assert found is not None
    assert found.circumstances.in_target == Around(("2 (", "3", "4"), ("5", "6", "7"))


def test_shared_indentation_and_blank_edges_do_not_make_another_conflict() -> None:
    deeper = meet(
        b"\n        a = 1\n",
        b"        a = 2\n\n",
        b"        a = 3\n",
        head=HEAD + b"    if x:\n",
        base_head=HEAD + b"    if x:\n",
    )

    assert deeper is not None
    assert deeper.circumstances.conflict == met().circumstances.conflict
    assert deeper.indentation == "        "


def test_a_resolution_fits_the_same_conflict_in_the_same_surroundings_only() -> None:
    known = solved()
    assert fits(known, met())
    assert not offered(known, met())
    for other in (
        meet(b"    a = 1\n", b"    a = 2\n", b"    a = 3\n", tail=b"    third = 4\n" + TAIL),
        meet(b"    a = 1\n", b"    a = 2\n", b"    a = 3\n", base_head=HEAD.replace(b"# One.", b"# Two.")),
        meet(b"    a = 1\n", b"    a = 2\n", b"    a = 3\n", hunks=("h", "i")),
    ):
        assert other is not None
        assert (fits(known, other), offered(known, other)) == (False, True)
        assert other.key != met().key
    another = meet(b"    a = 1\n", b"    a = 2\n", b"    a = 4\n")
    assert another is not None
    assert (fits(known, another), offered(known, another)) == (False, False)


def test_a_resolution_is_put_in_with_the_indentation_of_the_conflict() -> None:
    known = solved(b"    if x:\n\n        a = 23\n")
    deeper = replace(met(), indentation="\t")

    assert known.resolution == "if x:\n\n    a = 23\n"
    assert replayed(known, met()) == b"    if x:\n\n        a = 23\n"
    assert replayed(known, deeper) == b"\tif x:\n\n\t    a = 23\n"


@pytest.mark.parametrize(
    "text", [b"def g():\n", b"    a = '\xff'\n", b"\ta = 1\n", b"    >>>>>>> a\n", b"    <<<<<<<<\n"]
)
def test_what_cannot_be_written_down_relative_to_the_conflict_is_not_kept(text: bytes) -> None:
    assert resolution(met(), text, author="A", reason="so", base="v1", target="v2") is None


def test_text_that_is_no_utf_8_and_a_conflict_of_no_hunk_are_not_remembered() -> None:
    assert meet(b"    a = 1\n", b"    a = '\xff'\n", b"    a = 3\n") is None
    assert meet(b"    a = 1\n", b"    a = 2\n", b"    a = 3\n", hunks=()) is None


lines = st.lists(st.sampled_from(["a = 1", "  b", "", "\tc", "    d = (", ")"]), min_size=1, max_size=4).map(
    lambda made: "".join(f"    {line}\n" if line else "\n" for line in made).encode()
)


@given(lines, lines, lines, lines)
def test_what_is_kept_of_a_conflict_gives_the_same_text_for_it(
    base: bytes, changed: bytes, target: bytes, text: bytes
) -> None:
    spot = Spot(Conflict(base, changed, target), (0, base.count(b"\n")), (0, target.count(b"\n")))
    found = seen(spot, base, target, patch="p", hunks=("h",), file=FILE)
    assert found is not None
    known = resolution(found, text, author="A", reason="so", base="v1", target="v2")
    if known is not None:
        assert fits(known, found)
        assert replayed(known, found) == text
