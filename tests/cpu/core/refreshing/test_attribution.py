from __future__ import annotations

from patchkit.core.refreshing.attribution import InQuestion, Owned, attribute, given
from patchkit.core.refreshing.layering import Edit, Layer
from patchkit.core.scopes import MODULE

from .test_refresh import layer_of

BASE = b"".join(f"line {number}\n".encode() for number in range(30))
LOWER = BASE.replace(b"line 5\n", b"line 5\nlower\n")
UPPER = LOWER.replace(b"line 8\n", b"line 8\nupper\n")
SCOPES = [{"lower0": MODULE}, {"upper0": MODULE}]


def stack() -> list[Layer]:
    return [layer_of("lower", BASE, LOWER)[0], layer_of("upper", LOWER, UPPER)[0]]


def at(line: str, *, text: bytes = UPPER) -> int:
    return text.decode().splitlines().index(line)


def test_an_edit_of_a_line_that_a_patch_added_is_that_patch_s() -> None:
    where = at("lower")
    edit = Edit(where, where + 1, (b"changed\n",))

    assert attribute(stack(), edit, MODULE, SCOPES) == Owned(0, edit)


def test_an_edit_below_an_added_line_is_moved_to_the_text_that_the_patch_leaves() -> None:
    where = at("upper")
    edit = Edit(where, where + 1, (b"changed\n",))

    assert attribute(stack(), edit, MODULE, SCOPES) == Owned(1, edit)
    assert stack()[1].lowered(Edit(where + 3, where + 4, ())) == Edit(where + 2, where + 3, ())


def test_lines_added_directly_at_an_added_line_are_its_patch_s() -> None:
    where = at("upper") + 1

    assert attribute(stack(), Edit(where, where, (b"x\n",)), MODULE, SCOPES) == Owned(1, Edit(where, where, (b"x\n",)))


def test_context_that_two_patches_share_is_in_question() -> None:
    where = at("line 7")
    edit = Edit(where, where + 1, (b"changed\n",))

    assert attribute(stack(), edit, MODULE, SCOPES) == InQuestion(edit, ("lower", "upper"))


def test_context_of_one_hunk_is_its_patch_s_only_in_its_scope() -> None:
    where = at("line 3")
    edit = Edit(where, where + 1, (b"changed\n",))

    assert attribute(stack(), edit, MODULE, SCOPES) == Owned(0, edit)
    assert attribute(stack(), edit, "other", [{"lower0": "f"}, {"upper0": "f"}]) == InQuestion(edit, ())
    assert attribute(stack(), edit, "f.inner", [{"lower0": "f"}, {"upper0": "f"}]) == Owned(0, edit)


def test_an_edit_far_from_every_hunk_is_in_question() -> None:
    edit = Edit(25, 26, (b"changed\n",))

    assert attribute(stack(), edit, MODULE, SCOPES) == InQuestion(edit, ())


def test_a_person_cannot_give_an_edit_to_a_patch_below_the_lines_it_changes() -> None:
    where = at("upper")

    assert given(stack(), Edit(where, where + 1, ()), 0) is None
    assert given(stack(), Edit(25, 26, ()), 0) == Owned(0, Edit(24, 25, ()))


def test_lines_added_between_those_of_two_patches_are_in_question() -> None:
    upper = LOWER.replace(b"lower\n", b"lower\nupper\n")
    layers = [layer_of("lower", BASE, LOWER)[0], layer_of("upper", LOWER, upper)[0]]
    where = at("upper", text=upper)
    edit = Edit(where, where, (b"between\n",))

    assert attribute(layers, edit, MODULE, SCOPES) == InQuestion(edit, ("lower", "upper"))
    # The lower patch's line would come back behind the upper one's.
    assert given(layers, edit, 0) is None
    assert given(layers, edit, 1) == Owned(1, edit)


def test_lines_behind_one_that_had_no_newline_below_are_in_question() -> None:
    bare = b"one\ntwo"
    lower = b"one\nlower\ntwo"
    upper = b"one\nlower\ntwo\n"
    layers = [layer_of("lower", bare, lower)[0], layer_of("upper", lower, upper)[0]]

    assert attribute(layers, Edit(3, 3, (b"three\n",)), MODULE, SCOPES) == Owned(1, Edit(3, 3, (b"three\n",)))
    assert given(layers, Edit(3, 3, (b"three\n",)), 0) is None
