from __future__ import annotations

import ast
import itertools
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.carry.edit_makers import MAKERS
from benchmarks.carry.small_edits import Source, apart, applied
from patchkit import carry_file
from patchkit.core.carry import CarryResult, Conflict, Place, Status, Verdict
from patchkit.core.comparison import Comparison
from patchkit.core.lines import split_lines

from .programs import changed_programs, programs
from .texts import edited, texts

CASES = Path(__file__).parent / "carry_cases"

PATHS = st.sampled_from(["x.py", "x.yaml"])


class CarryCase(NamedTuple):
    """One case file."""

    path: str
    base: bytes
    changed: bytes
    target: bytes
    answer: tuple[str, str, str | None]
    """Status, the hunks' verdicts, content."""


def read_case(file: Path) -> CarryCase:
    """Read ``key: value`` lines and the texts below ``=== name``."""
    head, *sections = re.split(r"^=== (\w+)\n", file.read_text(), flags=re.MULTILINE)
    keys = dict(line.split(": ", 1) for line in head.splitlines())
    sides = dict(zip(sections[::2], sections[1::2], strict=True))
    base, changed, target = (sides[name].encode() for name in ("base", "changed", "target"))
    answer = keys["status"], keys["verdicts"], sides.get("result")
    return CarryCase(keys.get("path", "x.py"), base, changed, target, answer)


def told(result: CarryResult) -> tuple[str, str, str | None]:
    """A result as the case files write it."""
    content = None if result.content is None else result.content.decode()
    return result.status.value, " ".join(hunk.verdict.value for hunk in result.hunks), content


@pytest.mark.parametrize("file", sorted(CASES.glob("*.txt")), ids=lambda file: file.stem)
def test_the_rule_of_the_case_holds(file: Path) -> None:
    case = read_case(file)

    result = carry_file(case.base, case.changed, case.target, case.path)

    assert case.answer == told(result)


LAW = settings(deadline=None)
"""Machines are slow at times, and that is not what the laws are about."""

# --- laws ---------------------------------------------------------------------------------------------------------


@st.composite
def three_sides(draw: st.DrawFn) -> tuple[bytes, bytes, bytes]:
    """A text and two edits of it."""
    base, changed = draw(edited())
    lines = split_lines(base)
    start = draw(st.integers(0, len(lines)))
    lines[start : start + draw(st.integers(0, 3))] = split_lines(draw(texts()))[:3]
    return base, changed, b"".join(lines)


@st.composite
def three_programs(draw: st.DrawFn) -> tuple[bytes, bytes, bytes]:
    """A source and two edits of it, all of which parse."""
    blocks = draw(st.lists(programs(), min_size=1, max_size=4))
    sides = [blocks]
    for _ in range(2):
        side = list(blocks)
        for _ in range(draw(st.integers(0, 2))):
            at = draw(st.integers(0, len(side)))
            side[at : at + draw(st.integers(0, 1))] = draw(st.lists(programs(), max_size=1))
        sides.append(side)
    base, changed, target = (b"".join(side) for side in sides)
    return base, changed, target


ANY = st.one_of(three_sides(), three_programs())


@LAW
@given(ANY, PATHS)
def test_a_patch_that_changes_nothing_leaves_the_target(sides: tuple[bytes, bytes, bytes], path: str) -> None:
    base, _, target = sides

    assert CarryResult(path, Status.CLEAN, target, ()) == carry_file(base, base, target, path)


@LAW
@given(st.one_of(edited(), changed_programs()), PATHS)
def test_on_its_own_base_every_hunk_is_exact(sides: tuple[bytes, bytes], path: str) -> None:
    base, changed = sides

    result = carry_file(base, changed, base, path)

    assert (Status.CLEAN, changed) == (result.status, result.content)
    assert {Verdict.EXACT} >= {hunk.verdict for hunk in result.hunks}
    assert bool(result.hunks) == (base != changed)


@LAW
@given(st.one_of(edited(), changed_programs()), PATHS)
def test_what_the_target_has_already_is_upstreamed(sides: tuple[bytes, bytes], path: str) -> None:
    base, changed = sides

    result = carry_file(base, changed, changed, path)

    assert changed == result.content
    assert {Verdict.UPSTREAMED} >= {hunk.verdict for hunk in result.hunks}
    assert bool(result.hunks) == (base != changed)


@LAW
@given(ANY, PATHS)
@example((b"\n", b"a\n", b""), "x.py")
@example((b"a\n\n", b"\n", b"a\na\n"), "x.py")
@example((b"\n\nb", b"\n\n", b"\n\na\n\nb"), "x.py")
def test_hunks_and_parts_account_for_the_whole_change(sides: tuple[bytes, bytes, bytes], path: str) -> None:
    base, changed, target = sides

    result = carry_file(base, changed, target, path)

    assert list(range(len(result.hunks))) == [hunk.number for hunk in result.hunks]
    assert (result.content is None) == (result.status is Status.CONFLICT)
    assert (result.content is None) == any(
        hunk.verdict in (Verdict.CONFLICT, Verdict.OBSOLETE) for hunk in result.hunks
    )
    assert result.status is not Status.CONFLICT or any(isinstance(part, Conflict) for part in result.parts)
    # Every line of the base outside of the hunks is in the patched text, in order.
    places = [hunk.old for hunk in result.hunks]
    assert all(one.last < two.first for one, two in itertools.pairwise(places))
    kept = [line for row, line in enumerate(split_lines(base), 1) if not any(_holds(place, row) for place in places)]
    rest = iter(split_lines(changed))
    assert all(any(line == other for other in rest) for line in kept)
    if result.content is not None:
        rows = len(split_lines(result.content))
        assert all(hunk.new is None or 1 <= hunk.new.first <= hunk.new.last + 1 <= rows + 1 for hunk in result.hunks)


def _holds(place: Place, row: int) -> bool:
    return place.first <= row <= place.last


@LAW
@given(ANY, PATHS)
def test_the_new_lines_of_a_hunk_that_kept_its_form_are_those_it_adds(
    sides: tuple[bytes, bytes, bytes], path: str
) -> None:
    base, changed, target = sides
    result = carry_file(base, changed, target, path)
    if result.content is None or changed == base:
        return
    lines = split_lines(result.content)
    compared = Comparison(base, changed, target, path)
    for hunk, region in zip(result.hunks, compared.regions, strict=True):
        if hunk.verdict in (Verdict.EXACT, Verdict.MOVED, Verdict.MERGED):
            assert hunk.new is not None
            added = compared.sides.changed[region.changed : region.changed_end]
            assert list(lines[hunk.new.first - 1 : hunk.new.last]) == list(added)


EDGE = b"""\
import os


def first():
    return 1


def last(x):
    return call(x)
"""


def test_a_hunk_that_ends_where_a_merge_of_statements_begins_is_told_by_its_own_lines() -> None:
    changed = EDGE.replace(b"def last", b"def middle():\n    return 2\n\n\ndef last")
    changed = changed.replace(b"call(x)", b"call(x, extra=1)")
    result = carry_file(EDGE, changed, EDGE.replace(b"call(x)", b"call(x, more=2)"), "x.py")

    assert [(hunk.verdict, hunk.new) for hunk in result.hunks] == [
        (Verdict.MERGED, Place("middle", 8, 11)),
        (Verdict.RESTRUCTURED, Place("last", 13, 13)),
    ]


def test_the_new_lines_of_a_hunk_of_several_statements_are_those_of_all_of_them() -> None:
    base = b"MAJOR = 0\nMINOR = 1\nPATCH = 0\nSTAGE = 'rc0'\n"
    changed = b"MAJOR = 0\nMINOR = 1\nPATCH = 1\nSTAGE = ''\n"
    result = carry_file(base, changed, base.replace(b"MINOR = 1", b"MINOR = 2"), "x.py")

    assert [(hunk.verdict, hunk.new) for hunk in result.hunks] == [(Verdict.RESTRUCTURED, Place("<module>", 3, 4))]


LAST = b"def call(x, y):\n    one(x)\n    return two(y)"


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize(
    ("has_newline", "expected"),
    [
        ((True, True, True), True),
        ((True, True, False), False),
        ((True, False, True), False),
        ((True, False, False), False),
        ((False, True, True), True),
        ((False, True, False), True),
        ((False, False, True), True),
        ((False, False, False), False),
    ],
)
def test_a_last_newline_that_one_side_changed_is_changed_when_statements_are_merged(
    has_newline: tuple[bool, bool, bool], expected: bool, end: bytes
) -> None:
    texts = LAST, LAST.replace(b"one(x)", b"one(x, 1)"), LAST.replace(b"one(x)", b"one(x, k=2)")
    base, changed, target = (
        text.replace(b"\n", end) + (end if newline else b"") for text, newline in zip(texts, has_newline, strict=True)
    )

    result = carry_file(base, changed, target, "x.py")

    merged = LAST.replace(b"one(x)", b"one(x, 1, k=2)").replace(b"\n", end)
    assert (Status.CLEAN, merged + (end if expected else b"")) == (result.status, result.content)


@LAW
@given(ANY, PATHS)
@example((b"a\nb\n\xe2\x80\xa8\n", b"a\nb\n", b"a\nb\na\nb\n\xe2\x80\xa8\n\xe2\x80\xa8\n"), "x.py")
def test_a_change_that_is_all_upstreamed_leaves_the_target(sides: tuple[bytes, bytes, bytes], path: str) -> None:
    base, changed, target = sides

    result = carry_file(base, changed, target, path)

    if result.hunks and all(hunk.verdict is Verdict.UPSTREAMED for hunk in result.hunks):
        assert target == result.content


@LAW
@given(three_programs())
def test_what_is_clean_parses(sides: tuple[bytes, bytes, bytes]) -> None:
    result = carry_file(*sides, "x.py")

    if result.status is Status.CLEAN:
        assert result.content is not None
        ast.parse(result.content)


ODD = (
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff\xfe\n",
    b"a\r\nb\n",
    b"a\rb\rc",
    b"\tif a:\n        b\n",
    b"\x0c\n",
    b"print >>f, 1\n",
    b"exec 'a'\n",
    b"<<<<<<< a\n=======\n>>>>>>> b\n",
    b"def f(\n",
    b'"""',
    b"x = 1\\",
    b"# -*- coding: latin-1 -*-\n",
    b"# coding: nonsense\n",
    b"\xe2\x80\xa8",
    b"class A:\n def f(s):\n  pass\n",
    b"@a\n",
    b"f(a, b=1)\n",
    b"f(a, c=1)\n",
)
_odd_texts = st.one_of(st.lists(st.sampled_from(ODD), max_size=6).map(b"".join), st.binary(max_size=30))


@settings(LAW, max_examples=300)
@given(_odd_texts, _odd_texts, _odd_texts, PATHS)
def test_nothing_is_raised_whatever_the_bytes(base: bytes, changed: bytes, target: bytes, path: str) -> None:
    result = carry_file(base, changed, target, path)

    assert result == carry_file(base, changed, target, path)


@pytest.mark.parametrize("label", [b"", b" ours", b"\r", b" ours\r"])
def test_a_target_with_conflict_markers_is_refused(label: bytes) -> None:
    base = b"a = 1\nb = 2\nc = 3\nd = 4\ne = 5\n"
    target = base.replace(b"e = 5\n", b"<<<<<<<%b\ne = 5\n=======\ne = 6\n>>>>>>>%b\n" % (label, label))

    result = carry_file(base, base.replace(b"a = 1", b"a = 2"), target, "x.yaml")

    assert (result.status, [hunk.reason for hunk in result.hunks]) == (
        Status.CONFLICT,
        ["the target has conflict markers in it"],
    )


def test_statements_are_not_merged_where_no_side_is_python() -> None:
    base = b"""\
def spec():
    return S(
        s=M(
            a=S(
                m=A,
                p={1: 2},
                s=B(
                    q=C,
                ),
            ),
            b=get,
            c=mlp,
            d=get,
        ),
    )
"""
    changed = base.replace(
        b"            b=get,\n            c=mlp,\n            d=get,\n", b"            ),  # changed\n"
    )
    moved = b"                p={1: 2},\n                s=B(\n                    q=C,\n"
    target = base.replace(moved, b"--- a/x\n    n: int = None  # changed\n")

    # The words came together to a text with both ``),  # changed`` and ``b=get``.
    result = carry_file(base, changed, target, "x.py")

    assert (result.status, [hunk.reason for hunk in result.hunks]) == (
        Status.CONFLICT,
        ["the lines around it stand in another class or function in the target"],
    )


def test_brackets_that_nest_too_deep_are_no_error() -> None:
    base, changed, target = (
        f"x = {x}\n\n\ny = {'(' * 300}{one}{')' * 300}\n".encode() for x, one in ((1, "1, 2"), (1, "1, 3"), (2, "4, 2"))
    )

    assert carry_file(base, changed, target, "x.py").status is Status.CONFLICT


# --- statements that are all different, with edits apart from each other ------------------------------------------


def statements(random: Random, count: int) -> list[str]:
    """Lines of Python of which no two are the same."""
    forms = (
        "value_{0} = compute(source_{0})",
        "record(item_{0}, {0})",
        "state_{0}.update(size={0})",
        "check({0}, flag_{0})",
    )
    return [random.choice(forms).format(number) + "\n" for number in range(count)]


def edited_lines(lines: Sequence[str], random: Random, tag: str) -> list[str]:
    """Lines with some of them changed, taken out or added; what is new names the tag."""
    made: list[str] = []
    for number, line in enumerate(lines):
        kind = random.random()
        if kind < 0.06:
            made.append(f"{tag}_{number} = other({number})\n")
        elif kind < 0.1:
            pass
        elif kind < 0.16:
            made += [line, f"{tag}_{number}()\n"]
        else:
            made.append(line)
    return made


def git_merge(folder: Path, base: bytes, changed: bytes, target: bytes) -> bytes | None:
    """What ``git merge-file`` makes of it; None on a conflict."""
    names = []
    for name, content in (("target", target), ("base", base), ("changed", changed)):
        (folder / name).write_bytes(content)
        names.append(name)
    command = ["git", "merge-file", "-p", *names]
    result = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return result.stdout if result.returncode == 0 else None


def test_where_git_is_clean_the_answer_is_gits(tmp_path: Path) -> None:
    random = Random(3)  # noqa: S311 - the same cases in each run
    clean = 0
    for _ in range(60):
        lines = statements(random, random.randrange(5, 40))
        sides = [
            "".join(lines),
            "".join(edited_lines(lines, random, "ours")),
            "".join(edited_lines(lines, random, "theirs")),
        ]
        base, changed, target = (side.encode() for side in sides)
        merged = git_merge(tmp_path, base, changed, target)
        if merged is not None:
            clean += 1
            assert merged == carry_file(base, changed, target, "x.yaml").content
            assert merged == carry_file(base, changed, target, "x.py").content
    assert clean > 15


def test_where_git_has_a_conflict_other_text_has_one_too(tmp_path: Path) -> None:
    random = Random(4)  # noqa: S311 - the same cases in each run
    conflicts = 0
    for _ in range(40):
        lines = statements(random, random.randrange(5, 40))
        sides = [
            "".join(lines),
            "".join(edited_lines(lines, random, "ours")),
            "".join(edited_lines(lines, random, "theirs")),
        ]
        base, changed, target = (side.encode() for side in sides)
        if git_merge(tmp_path, base, changed, target) is None:
            conflicts += 1
            assert carry_file(base, changed, target, "x.yaml").status is Status.CONFLICT
    assert conflicts > 10


@LAW
@given(st.randoms(use_true_random=False), st.integers(2, 25))
def test_carried_onto_its_own_result_a_patch_changes_nothing(random: Random, count: int) -> None:
    lines = statements(random, count)
    base, changed, target = (
        "".join(side).encode()
        for side in (lines, edited_lines(lines, random, "ours"), edited_lines(lines, random, "theirs"))
    )

    first = carry_file(base, changed, target, "x.py")

    if first.content is not None:
        again = carry_file(base, changed, first.content, "x.py")
        if any(hunk.verdict is Verdict.RESTRUCTURED for hunk in first.hunks):
            # Where both sides took lines out side by side the two are one change now, and may be a conflict.
            assert again.content in (first.content, None)
        else:
            assert first.content == again.content


@LAW
@given(st.randoms(use_true_random=False), st.integers(3, 25))
def test_whoever_is_the_patch_edits_of_different_statements_give_one_text(random: Random, count: int) -> None:
    lines = statements(random, count)
    # Odd statements are the one side's, even ones the other's.
    ours = "".join(f"ours_{row}()\n" if row % 2 and random.random() < 0.5 else line for row, line in enumerate(lines))
    theirs = "".join(
        line if row % 2 or random.random() < 0.5 else f"theirs_{row}()\n" for row, line in enumerate(lines)
    )
    base, one, two = ("".join(lines).encode(), ours.encode(), theirs.encode())

    assert carry_file(base, one, two, "x.py").content == carry_file(base, two, one, "x.py").content


# --- silently wrong -----------------------------------------------------------------------------------------------

MODULE = '''\
import os

from megatron.core import parallel_state, tensor_parallel


class Buffer(Base):
    """A buffer."""

    kinds = ["a", "b"]

    def __init__(self, config, size=1):
        super().__init__(config)
        self.size = size
        self.data = allocate(size, dtype=config.dtype, device="cuda")
        if config.pinned:
            self.data = pin(self.data)
            self.pinned = True
        else:
            self.pinned = False

    def numel(self):
        total = 0
        for shard in self.shards:
            count = shard.numel() * 2
            total += count
        return total


def build(config, group=None):
    options = {"size": 4, "kind": "a"}
    buffer = Buffer(
        config,
        size=options["size"],
    )
    register(buffer, group)
    return buffer
'''


@pytest.mark.parametrize("seed", range(4))
def test_two_small_edits_carried_over_each_other_are_both_there_or_refused(seed: int) -> None:
    """As benchmarks/carry/fuzz.py, which does it on all of Megatron."""
    random = Random(seed)  # noqa: S311 - the same cases in each run
    source = Source(MODULE)
    base = ast.dump(source.tree)
    clean = 0
    for _ in range(60):
        one, two = (random.choice(list(random.choice(MAKERS)(source, random))) for _ in range(2))
        changed, target = applied(MODULE, [one]), applied(MODULE, [two])
        result = carry_file(MODULE.encode(), changed.encode(), target.encode(), "x.py")
        if result.status is not Status.CLEAN or base in (_meaning(changed), _meaning(target)):
            continue
        assert result.content is not None
        if apart(one, two):
            clean += 1
            truths = [_meaning(applied(MODULE, pair)) for pair in ([one, two], [two, one])]
            assert _meaning(result.content.decode()) in truths, (one, two)
        elif one.removes != two.removes and not one.marked and not two.marked:
            pytest.fail(f"one takes away what the other changes: {one}, {two}")
    assert clean > 25


def _meaning(text: str) -> str:
    return ast.dump(ast.parse(text))


@pytest.mark.parametrize(("path", "most"), [("a.py", 8), ("a.pyi", 8), ("a.txt", 16)])
def test_a_file_that_is_far_too_large_is_refused_when_both_sides_changed_it(path: str, most: int) -> None:
    base = b"# " + b"a" * (most << 20) + b"\nlast = 1\n"
    changed, target = base + b"ours = 1\n", b"theirs = 1\n" + base

    refused = carry_file(base, changed, target, path)

    assert (refused.status, refused.content) == (Status.CONFLICT, None)
    assert [hunk.reason for hunk in refused.hunks] == [
        f"a file of more than {most} MiB that both sides changed is not merged"
    ]
    assert carry_file(base, changed, base, path).content == changed
    assert carry_file(base, base, target, path).content == target
