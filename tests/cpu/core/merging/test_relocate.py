from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit.core.merging.relocate import moved_to, relocated, resolve_moved
from patchkit.core.merging.resolved import Clash

IMPORTS = "import os\n\n"
FIRST = (
    "\ndef first(a):\n    one = a + 1\n    two = one + 2\n    three = two + 3\n    four = 2 * two\n"
    "    print(one, two, three)\n    four += three\n    return two\n\n"
)
SECOND = (
    "\n# Above second.\n@cached\ndef second(b):\n    text = str(b)\n    size = len(text)\n    return size, text, b\n\n"
)
THIRD = "\ndef third(c):\n    total = sum(c)\n    count = len(c)\n    mean = total / count\n    return mean\n\n"
LIMIT = "\nLIMIT = 3\n"
HEAD = "\nclass Layer:\n    '''A layer.'''\n\n    size = 1\n"
BUILD = (
    "\n    def build(self, width):\n        self.width = width\n        self.depth = 2 * width\n        return self\n"
)
RUN = (
    "\n    def run(self, x):\n        assert x\n        y = x * self.width\n"
    "        z = y + self.depth\n        w = z - 1\n        return w\n"
)
CLOSE = "\n    def close(self):\n        self.width = None\n        self.depth = 0\n        self.x = self.y = 0\n"

FIRST_EDITED = FIRST.replace("a + 1", "a + 10")
SECOND_EDITED = SECOND.replace("str(b)", "repr(b)")
RUN_EDITED = RUN.replace("y + self", "y - self")


def merged(base: str, changed: str, target: str) -> str:
    found = resolve_moved(base, changed, target)
    assert found is not None
    assert not any(isinstance(part, Clash) for part in found.parts)
    return "".join(part for part in found.parts if isinstance(part, str))


def test_what_the_patch_edits_goes_to_where_the_target_has_the_function() -> None:
    base = IMPORTS + FIRST + SECOND + LIMIT + THIRD
    changed = IMPORTS + FIRST_EDITED + SECOND + LIMIT + THIRD
    target = IMPORTS + SECOND + LIMIT + THIRD + FIRST

    assert merged(base, changed, target) == IMPORTS + SECOND + LIMIT + THIRD + FIRST_EDITED


def test_both_sides_may_edit_the_function_that_moves() -> None:
    base = IMPORTS + FIRST + SECOND + THIRD
    changed = IMPORTS + FIRST_EDITED + SECOND + THIRD
    target = IMPORTS + SECOND + THIRD + FIRST.replace("return two", "return -two")

    assert merged(base, changed, target) == IMPORTS + SECOND + THIRD + FIRST_EDITED.replace("return two", "return -two")


def test_a_method_moves_in_its_class_with_comments_and_decorators_while_its_fields_stay() -> None:
    base = HEAD + BUILD + RUN + CLOSE + SECOND
    changed = HEAD + BUILD + RUN_EDITED + CLOSE + SECOND_EDITED
    target = SECOND + HEAD + RUN + BUILD + CLOSE

    assert merged(base, changed, target) == SECOND_EDITED + HEAD + RUN_EDITED + BUILD + CLOSE


def test_what_the_patch_moves_gets_what_the_target_edits() -> None:
    base = IMPORTS + FIRST + SECOND + LIMIT + THIRD
    changed = IMPORTS + SECOND + LIMIT + THIRD + FIRST_EDITED
    target = IMPORTS + FIRST.replace("return two", "return -two") + SECOND_EDITED + LIMIT + THIRD

    assert merged(base, changed, target) == IMPORTS + SECOND_EDITED + LIMIT + THIRD + FIRST_EDITED.replace(
        "return two", "return -two"
    )


def test_one_side_may_move_functions_and_the_other_one_methods() -> None:
    base = FIRST + SECOND + THIRD + HEAD + BUILD + RUN + CLOSE
    changed = FIRST_EDITED + SECOND + THIRD + HEAD + BUILD + CLOSE + RUN
    target = SECOND + THIRD + FIRST + HEAD + BUILD + RUN_EDITED + CLOSE

    assert merged(base, changed, target) == SECOND + THIRD + FIRST_EDITED + HEAD + BUILD + CLOSE + RUN_EDITED


def test_what_both_sides_move_alike_stays_there() -> None:
    base = FIRST + SECOND + THIRD
    changed = SECOND + THIRD + FIRST_EDITED
    target = SECOND_EDITED + THIRD + FIRST

    assert merged(base, changed, target) == SECOND_EDITED + THIRD + FIRST_EDITED


def test_what_the_patch_takes_out_is_out_although_the_target_moved_it() -> None:
    base = FIRST + SECOND + THIRD
    changed = SECOND + THIRD
    target = SECOND + THIRD + FIRST

    assert merged(base, changed, target) == SECOND + THIRD


def test_where_something_clashes_there_is_no_answer() -> None:
    base, changed = FIRST + SECOND + THIRD, SECOND + THIRD

    assert resolve_moved(base, changed, SECOND + THIRD + FIRST_EDITED) is None


def test_a_function_that_the_patch_adds_stays_behind_the_one_that_moves() -> None:
    base = FIRST + SECOND + THIRD
    changed = FIRST + SECOND + "\ndef fresh():\n    pass\n\n" + THIRD
    target = SECOND + THIRD + FIRST

    assert merged(base, changed, target) == SECOND + "\ndef fresh():\n    pass\n\n" + THIRD + FIRST


def test_three_orders_cannot_be_had_at_once() -> None:
    base, changed, target = FIRST + SECOND + THIRD, SECOND + FIRST + THIRD, FIRST + THIRD + SECOND

    assert relocated(base, changed, target) is None
    assert resolve_moved(base, changed, target) is None


def test_nothing_moves_where_the_orders_agree() -> None:
    base = IMPORTS + FIRST + SECOND + HEAD + BUILD + RUN
    changed = IMPORTS + FIRST_EDITED + SECOND + HEAD + BUILD + RUN
    target = IMPORTS + FIRST + THIRD + SECOND_EDITED + HEAD + RUN

    assert relocated(base, changed, target) is None
    assert resolve_moved(base, changed, target) is None


def test_a_name_that_stands_twice_is_not_moved() -> None:
    again = FIRST.replace("a + 1", "a + 5")

    assert relocated(FIRST + SECOND + again, FIRST + SECOND + again, SECOND + FIRST + again) is None


def test_a_constant_stays_between_the_functions_that_change_places() -> None:
    base, changed = FIRST + LIMIT + SECOND, FIRST_EDITED + LIMIT.replace("3", "4") + SECOND
    target = LIMIT + SECOND + FIRST

    assert merged(base, changed, target) == LIMIT.replace("3", "4") + SECOND + FIRST_EDITED


def test_the_function_that_left_its_constant_is_the_one_that_moved() -> None:
    base, changed = FIRST + LIMIT + SECOND, FIRST_EDITED + LIMIT.replace("3", "4") + SECOND
    target = SECOND + FIRST + LIMIT

    assert merged(base, changed, target) == SECOND + FIRST_EDITED + LIMIT.replace("3", "4")


def test_a_function_that_becomes_the_first_stays_behind_the_imports() -> None:
    edited = THIRD.replace("sum(c)", "max(c)")
    base, changed = IMPORTS + FIRST + SECOND + THIRD, "import sys\n" + IMPORTS + FIRST + SECOND + edited
    target = IMPORTS + THIRD + FIRST + SECOND

    assert merged(base, changed, target) == "import sys\n" + IMPORTS + edited + FIRST + SECOND


def test_a_name_that_stands_twice_on_one_side_is_not_moved_on_the_others() -> None:
    again = FIRST.replace("a + 1", "a + 5")
    base, target = FIRST + SECOND + THIRD, SECOND + THIRD + FIRST

    assert relocated(base, FIRST + SECOND + again + THIRD, target) is None


def test_a_function_that_the_target_moved_and_renamed_gets_the_edit_and_keeps_the_new_name() -> None:
    base, changed = FIRST + SECOND + THIRD, FIRST_EDITED + SECOND + THIRD
    target = SECOND + THIRD + FIRST.replace("first(", "initial(").replace("return two", "return -two")

    assert merged(base, changed, target) == SECOND + THIRD + FIRST_EDITED.replace("first(", "initial(").replace(
        "return two", "return -two"
    )


def test_a_function_that_the_patch_renames_and_the_target_moved_has_both() -> None:
    base, changed = FIRST + SECOND + THIRD, FIRST_EDITED.replace("first(", "initial(") + SECOND + THIRD
    target = SECOND + THIRD + FIRST.replace("return two", "return -two")

    assert merged(base, changed, target) == SECOND + THIRD + FIRST_EDITED.replace("first(", "initial(").replace(
        "return two", "return -two"
    )


def test_a_function_that_a_side_renames_in_place_gets_what_the_other_edits() -> None:
    base = FIRST + SECOND
    renamed = FIRST_EDITED.replace("first(", "initial(") + SECOND
    edited = FIRST.replace("return two", "return -two") + SECOND
    both = renamed.replace("return two", "return -two")

    assert merged(base, renamed, edited) == merged(base, edited, renamed) == both


def test_a_property_and_its_setter_are_not_renamed() -> None:
    pair = (
        "\n    @property\n    def width(self):\n        a = 1\n        b = 2\n        return self.depth\n"
        "\n    @width.setter\n    def width(self, value):\n        c = 3\n        self.depth = value\n"
    )
    base = HEAD + pair

    assert relocated(base, base.replace("a = 1", "a = 2"), base.replace("width", "breadth")) is None


def test_another_thing_that_goes_by_the_same_name_is_not_the_one_that_moved() -> None:
    caller = "\ndef first(a):\n    return parts(a)\n\n"
    base, changed = FIRST + SECOND + THIRD, FIRST_EDITED + SECOND + THIRD

    assert relocated(base, changed, FIRST.replace("first", "parts") + SECOND + THIRD + caller) is None


def test_of_two_functions_that_a_name_could_have_come_from_neither_is_renamed() -> None:
    twin = FIRST.replace("first(", "twin(")
    base = FIRST + twin + SECOND + THIRD
    changed = FIRST_EDITED + twin + SECOND + THIRD
    target = SECOND + THIRD + FIRST.replace("first(", "initial(")

    assert relocated(base, changed, target) is None


def test_a_method_that_became_a_function_is_found_there() -> None:
    base = HEAD + BUILD + RUN + CLOSE + THIRD
    changed = HEAD + BUILD + RUN_EDITED + CLOSE + THIRD
    outside = "\n" + "\n".join(line.removeprefix("    ") for line in RUN.split("\n"))
    target = HEAD + BUILD + CLOSE + THIRD + outside

    assert merged(base, changed, target) == HEAD + BUILD + CLOSE + THIRD + outside.replace("y + self", "y - self")


def test_a_string_of_several_lines_stays_as_it_is_where_its_method_becomes_a_function() -> None:
    run, edited = (text.replace("w = z - 1", 'w = """\n        text\n      """') for text in (RUN, RUN_EDITED))
    base = HEAD + BUILD + run + CLOSE + THIRD
    changed = HEAD + BUILD + edited + CLOSE + THIRD
    outside = "\n" + "\n".join(line.removeprefix("    ") for line in RUN.split("\n"))
    outside = outside.replace("w = z - 1", 'w = """\n        text\n      """')
    target = HEAD + BUILD + CLOSE + THIRD + outside

    assert merged(base, changed, target) == HEAD + BUILD + CLOSE + THIRD + outside.replace("y + self", "y - self")


def test_a_method_that_went_to_another_class_is_found_there() -> None:
    other = HEAD.replace("Layer", "Base") + CLOSE.replace("close", "shut")
    base = other + HEAD + BUILD + RUN
    changed = other + HEAD + BUILD + RUN_EDITED
    target = other + RUN + HEAD + BUILD

    assert merged(base, changed, target) == other + RUN_EDITED + HEAD + BUILD


def test_a_method_of_a_class_that_only_the_target_has_stays() -> None:
    base = HEAD + BUILD + RUN
    target = HEAD.replace("Layer", "Base") + RUN + HEAD + BUILD

    assert relocated(base, base, target) is None


def test_a_last_line_without_an_ending_is_not_moved() -> None:
    base, target = FIRST + THIRD.rstrip("\n"), THIRD + FIRST

    assert relocated(base, base, target) is None


def test_the_lines_of_the_spans_are_those_of_the_base_as_it_was() -> None:
    base = IMPORTS + FIRST + SECOND + THIRD
    changed = IMPORTS + FIRST_EDITED + SECOND_EDITED + THIRD
    target = IMPORTS + SECOND + THIRD + FIRST
    found = resolve_moved(base, changed, target)

    assert found is not None
    result = "".join(map(str, found.parts)).split("\n")
    assert [(base.split("\n")[span.base : span.base_end], result[span.first : span.end]) for span in found.spans] == [
        (["    text = str(b)"], ["    text = repr(b)"]),
        (["    one = a + 1"], ["    one = a + 10"]),
    ]


def test_an_insertion_between_lines_that_were_apart_is_told_with_the_blank_lines_before_the_second() -> None:
    base = FIRST + SECOND + THIRD
    changed = FIRST.rstrip("\n") + "\n    # Done.\n\n" + SECOND + THIRD
    target = SECOND + FIRST + THIRD
    found = resolve_moved(base, changed, target)

    assert found is not None
    assert merged(base, changed, target) == SECOND + FIRST.rstrip("\n") + "\n    # Done.\n\n" + THIRD
    lines = base.split("\n")
    before = lines.index("    return size, text, b") + 1
    assert lines[before : before + 2] == ["", ""]
    assert [(span.base, span.base_end) for span in found.spans] == [(before, before + 2)]


UNITS = (
    IMPORTS,
    FIRST,
    SECOND,
    THIRD,
    LIMIT,
    HEAD + BUILD,
    "\nclass Other:\n" + RUN + CLOSE,
    "\nx = 1\n",
    FIRST_EDITED,
)
_texts = st.lists(st.sampled_from(UNITS), max_size=9).map("".join)


@settings(deadline=None)
@given(_texts, _texts, _texts)
def test_lines_are_permuted_and_nothing_else(base: str, changed: str, target: str) -> None:
    moved = relocated(base, changed, target)

    if moved is not None:
        assert [sorted(text.split("\n")) for text in moved] == [sorted(text.split("\n")) for text in (base, changed)]


@settings(deadline=None)
@given(st.permutations(UNITS[:8]), st.permutations(UNITS[:8]))
def test_moving_is_done_once(base: list[str], target: list[str]) -> None:
    old, there = "".join(base), "".join(target)
    moved = relocated(old, old, there)

    if moved is not None:
        assert moved[0] == moved[1]
        assert relocated(*moved, there) is None


@settings(deadline=None)
@given(_texts)
def test_a_text_against_itself_moves_nothing(text: str) -> None:
    assert relocated(text, text, text) is None


@settings(deadline=None)
@given(st.permutations(UNITS[1:4]), st.permutations(UNITS[1:4]))
def test_an_edit_goes_to_its_function_wherever_that_is(base: list[str], target: list[str]) -> None:
    old, there = "".join(base), "".join(target)
    found = resolve_moved(old, old.replace("a + 1", "a + 10"), there)

    if found is not None:
        assert "".join(map(str, found.parts)) == there.replace("a + 1", "a + 10")


OLD = (
    "    def run(self, x):\n        assert x\n        y = x * self.width\n        z = y + 1\n        print(y, z)\n"
    "        return z\n"
)


def test_a_definition_is_found_in_the_file_that_it_moved_to() -> None:
    others = {
        "b.py": "class Runner:\n    def go(self):\n        pass\n\n" + OLD.replace("y + 1", "y + 1  # odd"),
        "a.py": "run = 1\n",
        "c.py": "def run(x):\n    print(x)\n    return 1\n",
    }

    assert moved_to(OLD, others) == ("b.py", "Runner.run")


def test_a_definition_that_two_files_have_went_nowhere_for_sure() -> None:
    text = "class A:\n" + OLD

    assert moved_to(OLD, {"a.py": text, "b.py": text}) is None
    assert moved_to(OLD, {"a.py": "def other():\n    pass\n"}) is None
    assert moved_to("x = 1\n", {"a.py": text}) is None
