"""The judge of benchmarks/carry: every level of likeness and every kind of mistake, on made-up texts."""

from __future__ import annotations

import pytest

from benchmarks.carry.carriers import Answer
from benchmarks.carry.cases import Case, Family, Texts
from benchmarks.carry.conformance import Example, outcome
from benchmarks.carry.judge import Judge, Judgement, Letter, Status
from benchmarks.carry.records import Entry, Record, changed_marks
from benchmarks.carry.tables import percentile, row

BASE = """\
import os


class Reader:
    def open(self, path):
        return os.open(path, 0)

    def close(self, handle):
        os.close(handle)
"""
ADDED = "        path = os.fspath(path)\n"
CHANGED = BASE.replace("        return", f"{ADDED}        return")
TARGET = BASE.replace("import os\n", "import os\nimport sys\n") + "\n    def stop(self):\n        sys.exit(0)\n"
HUMAN = TARGET.replace("        return", f"{ADDED}        return")


def judge(
    result: str,
    *,
    human: str | None = HUMAN,
    human_exact: bool = False,
    changed: str = CHANGED,
    target: str = TARGET,
) -> Judgement:
    family = Family.RELEASE_JUMP if human is None else Family.BACKPORT
    case = Case("made-up", family, "1" * 40, "2" * 40, "3" * 40, "reader.py", human_exact=human_exact)
    answer = None if human is None else human.encode()
    return Judge(case, Texts(BASE.encode(), changed.encode(), target.encode(), answer)).judge(result.encode())


@pytest.mark.parametrize("human_exact", [False, True])
@pytest.mark.parametrize(
    ("letter", "result"),
    [
        (Letter.EXACT, HUMAN),
        (Letter.BLANK, HUMAN.replace("\n\n\n", "\n").replace("handle)\n", "handle)  \n")),
        (Letter.TREE, HUMAN.replace("sys.exit(0)", "sys.exit(  # now\n            0,\n        )")),
        (Letter.TREE, HUMAN.replace("sys.exit(0)", "sys.exit(0x0)")),
        (Letter.IMPORTS, HUMAN.replace("import os\nimport sys\n", "import sys, os\n")),
        (Letter.IMPORTS, HUMAN.replace("import os\n", "").replace("class R", "import os\n\n\nclass R")),
    ],
)
def test_each_level_of_likeness_is_right_whether_or_not_a_tool_reaches_the_humans_file(
    letter: Letter, result: str, human_exact: bool
) -> None:
    assert judge(result, human_exact=human_exact) == Judgement(letter)


@pytest.mark.parametrize(
    "result",
    [
        HUMAN.replace("import sys", "import system as sys"),
        HUMAN.replace("import sys\n", "from . import sys\n"),
        HUMAN.replace("sys.exit(0)", "sys.exit(0.0)"),
        HUMAN.replace("sys.exit(0)", "sys.exit(False)"),
        HUMAN.replace("handle)\n", "handle)\n        return\n"),
    ],
)
def test_a_file_that_means_something_else_is_not_right(result: str) -> None:
    assert judge(result) == Judgement(Letter.UNKNOWN)


def test_a_clean_difference_is_wrong_when_a_line_tool_reaches_the_humans_file_and_else_unknown() -> None:
    result = HUMAN.replace("sys.exit(0)", "sys.exit(1)")

    assert judge(result, human_exact=True) == Judgement(Letter.WRONG)
    assert judge(result, human_exact=False) == Judgement(Letter.UNKNOWN)


def test_what_does_not_parse_is_wrong_unless_the_target_does_not_parse_either() -> None:
    broken = "print 'Python 2'\n"

    assert judge(HUMAN + broken) == Judgement(Letter.WRONG, unparseable=True)
    assert judge(HUMAN + broken, target=TARGET + broken) == Judgement(Letter.UNKNOWN)


def test_an_added_line_in_another_function_is_wrong_and_counted() -> None:
    elsewhere = TARGET.replace("        os.close", f"{ADDED}        os.close")

    assert judge(elsewhere) == Judgement(Letter.WRONG, misplaced=1)


def test_a_decorator_belongs_to_its_function_and_a_method_to_its_class() -> None:
    two = "\n\nclass Writer:\n    def open(self, path):\n        return path\n"
    decorated = BASE.replace("    def open", "    @os.audited\n    def open")
    human = (TARGET + two).replace("    def open", "    @os.audited\n    def open", 1)
    other_class = f"{TARGET}{two}".replace(two, two.replace("    def open", "    @os.audited\n    def open"))
    other_method = (TARGET + two).replace("    def close", "    @os.audited\n    def close")

    for result in (other_class, other_method):
        told = judge(result, human=human, changed=decorated, target=TARGET + two)
        assert told == Judgement(Letter.WRONG, misplaced=1)


def test_a_removed_line_counts_as_misplaced_too() -> None:
    changed = BASE.replace("        os.close(handle)\n", "        pass\n")
    target = TARGET.replace("        sys.exit(0)\n", "        os.close(handle)\n        sys.exit(0)\n")
    human = target.replace("        os.close(handle)\n        sys", "        sys")
    result = target.replace("handle):\n        os.close(handle)\n", "handle):\n        pass\n")

    assert judge(result, human=human, changed=changed, target=target) == Judgement(Letter.UNKNOWN)
    assert judge(human, human=result, changed=changed, target=target) == Judgement(Letter.WRONG, misplaced=1)


def test_a_line_may_stand_where_the_human_put_it() -> None:
    human = TARGET.replace("        sys.exit", f"{ADDED}        sys.exit")
    result = human.replace("sys.exit(0)", "sys.exit(1)")

    assert judge(result, human=human) == Judgement(Letter.UNKNOWN)


def test_lines_with_fewer_than_four_letters_say_nothing_about_their_place() -> None:
    def elsewhere(line: str) -> Judgement:
        changed = BASE.replace("        return os", f"{line}        return os")
        return judge(TARGET.replace("        os.close", f"{line}        os.close"), changed=changed)

    assert elsewhere("        id(1)\n") == Judgement(Letter.UNKNOWN)
    assert elsewhere("        id(12)\n") == Judgement(Letter.WRONG, misplaced=1)


@pytest.mark.parametrize(
    "binding",
    [
        "import lost\n",
        "import found as lost\n",
        "import lost.found\n",
        "def lost(): ...\n",
        "class lost: ...\n",
        "lost = 1\n",
        "lambda lost: 1\n",
        "def other(*lost): ...\n",
        "try: ...\nexcept OSError as lost: ...\n",
        "match 1:\n    case {**lost}: ...\n",
        "match 1:\n    case [*lost]: ...\n",
        "match 1:\n    case int() as lost: ...\n",
        "from anywhere import *\n",
    ],
)
def test_a_name_that_only_the_result_leaves_unbound_is_wrong_and_anything_in_the_file_can_bind_it(binding: str) -> None:
    reading = HUMAN + "print(lost)\n"

    assert judge(reading) == Judgement(Letter.WRONG, unbound=1)
    assert judge(reading + binding) == Judgement(Letter.UNKNOWN)
    assert judge(reading, target=TARGET + "print(lost)\n") == Judgement(Letter.UNKNOWN)


def test_without_a_human_a_whole_and_narrow_result_has_no_answer_to_compare_with() -> None:
    assert judge(HUMAN, human=None) == Judgement(Letter.NO_ANSWER)


def test_without_a_human_an_added_line_left_out_is_wrong_unless_the_target_had_it() -> None:
    assert judge(TARGET, human=None) == Judgement(Letter.WRONG, left_out=1)
    assert judge(HUMAN, human=None, target=HUMAN) == Judgement(Letter.NO_ANSWER)


def test_without_a_human_more_foreign_lines_than_the_change_has_are_wrong() -> None:
    one = HUMAN.replace("        sys.exit(0)\n", "        sys.exit(0)\n        return 1\n")
    two = one.replace("        return 1\n", "        return 1\n        return 2\n")

    assert judge(one, human=None) == Judgement(Letter.NO_ANSWER)
    assert judge(two, human=None) == Judgement(Letter.WRONG, foreign=2)


@pytest.mark.parametrize("marker", ["<<<<<<< ours\n", ">>>>>>> theirs\n", "&&&&&&& new conflict\n"])
def test_markers_are_seen_at_the_start_of_a_line_and_not_when_the_target_had_some(marker: str) -> None:
    def seen(target: str, result: str) -> bool:
        case = Case("made-up", Family.BACKPORT, "1" * 40, "2" * 40, "3" * 40, "reader.py")
        texts = Texts(BASE.encode(), CHANGED.encode(), target.encode(), HUMAN.encode())
        return Judge(case, texts).has_markers(result.encode())

    found = [seen(TARGET, HUMAN + marker), seen(TARGET, f"{HUMAN}# {marker}"), seen(TARGET + marker, HUMAN + marker)]

    assert found == [True, False, False]


def records() -> list[Record]:
    """One case each: right, right but for imports, wrong, unknown, three reviews, a conflict, an error, no content."""
    entries = [
        Entry(Status.CLEAN, 1.0, Judgement(Letter.EXACT)),
        Entry(Status.CLEAN, 2.0, Judgement(Letter.IMPORTS)),
        Entry(Status.CLEAN, 3.0, Judgement(Letter.WRONG, misplaced=1)),
        Entry(Status.CLEAN, 4.0, Judgement(Letter.UNKNOWN)),
        Entry(Status.REVIEW, 5.0, Judgement(Letter.TREE)),
        Entry(Status.REVIEW, 6.0, Judgement(Letter.WRONG)),
        Entry(Status.REVIEW, 7.0, Judgement(Letter.UNKNOWN)),
        Entry(Status.CONFLICT, 8.0),
        Entry(Status.CONFLICT, 9.0),
        Entry(Status.ERROR, 10.0),
    ]
    return [Record(str(number), Family.MERGE, {"tool": entry}) for number, entry in enumerate(entries)]


def test_a_review_is_neither_right_nor_wrong_and_its_brackets_tell_what_it_would_have_been() -> None:
    cells = ["40.0", "10.0", "10.0", "20.0", "10.0", "10.0", "30.0 (10.0/10.0)", "20.0", "10.0", "5.5", "10.0"]

    assert row("tool", records()) == ["tool", *cells]


def test_marks_are_letters_lower_case_for_reviews_and_a_change_of_one_is_told() -> None:
    before = records()
    after = [*before[:7], Record("7", Family.MERGE, {"tool": before[0].entries["tool"]}), *before[8:]]

    assert "".join(record.entries["tool"].mark for record in before) == "EIWUawuCCX"
    assert changed_marks(before, after) == ["7 merge tool: C -> E"]


def test_percentiles_are_of_the_nearest_rank() -> None:
    assert [percentile(range(1, 201), 99), percentile([1.0], 99), percentile([1.0, 2.0], 50)] == [198, 1.0, 1.0]


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        (b"a = 0\n<<<<<<< LEFT\nb = 2\n||||||| BASE\nb = 1\n=======\nb = 3\n>>>>>>> RIGHT\n", "conflict, as expected"),
        (b"a = 0\nb = 3\n", "conflict"),
    ],
)
def test_a_conflict_that_an_example_is_about_is_told_as_that(expected: bytes, told: str) -> None:
    example = Example("both", Texts(b"a = 0\nb = 1\n", b"a = 0\nb = 3\n", b"a = 0\nb = 2\n", expected))

    assert outcome(example, Answer(Status.CONFLICT, None)) == told
