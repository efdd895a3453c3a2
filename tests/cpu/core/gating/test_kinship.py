from __future__ import annotations

import pytest

from patchkit.core.carry import carry_file
from patchkit.core.gating.alarm import Alarm, Rule
from patchkit.core.gating.kinship import SMALL, _is_quickly_kin, strangers

QUEUE = b"""\
import heapq


class Queue:
    def __init__(self, limit):
        self.limit = limit
        self.entries = []

    def push(self, entry):
        heapq.heappush(self.entries, entry)
"""

NORM = b"""\
import torch


class Norm(torch.nn.Module):
    def forward(self, hidden):
        variance = hidden.pow(2).mean()
        return hidden / variance.sqrt()
"""

ADDED = b"\n\ndef halved(number):\n    return number // 2\n"

MESSAGE = "the base is not this patch's base, or the target another file: of their 7 and 5 lines of code they share 0"


@pytest.mark.parametrize("path", ["queue.py", "queue.pyi"])
def test_a_patch_whose_base_is_another_file_than_the_target_asks_for_review(path: str) -> None:
    # A function at the end of a file has a place in any file, as far as statements go.
    carried = carry_file(QUEUE, QUEUE + ADDED, NORM, path)

    assert carried.content == NORM + ADDED
    assert carried.status.value == "review"
    assert [alarm for hunk in carried.hunks for alarm in hunk.alarms] == [Alarm(Rule.FOREIGN_BASE, 8, "", MESSAGE)]


def test_so_does_one_of_a_text_that_is_no_python() -> None:
    base = b"first: queue\n\n\nsecond: limit\n"
    target = b"name: training\n\n\njobs: nightly\n"

    carried = carry_file(base, base.replace(b"\n\n\n", b"\n\nadded: here\n\n"), target, "job.yaml")

    assert carried.content == target.replace(b"\n\n\n", b"\n\nadded: here\n\n")
    assert carried.status.value == "review"
    assert [alarm.rule for hunk in carried.hunks for alarm in hunk.alarms] == [Rule.FOREIGN_BASE]


@pytest.mark.parametrize(
    ("base", "target"),
    [
        pytest.param(QUEUE, QUEUE, id="the same text"),
        pytest.param(QUEUE, QUEUE.replace(b"entries", b"heap"), id="a name changed throughout"),
        pytest.param(b"value = 1\nother = 2\n", b"value = 3\nother = 4\n", id="each line in another wording"),
        pytest.param(b"", NORM, id="a base with nothing in it"),
        pytest.param(b"# Copyright\nimport heapq\n", NORM, id="a base of one line of code"),
        pytest.param(QUEUE + NORM, NORM, id="a file that was split"),
        pytest.param(NORM, QUEUE + NORM, id="a file that another one was put into"),
        pytest.param(
            QUEUE, b"".join(b"    " + line for line in QUEUE.splitlines(keepends=True)), id="all of it indented"
        ),
    ],
)
def test_versions_of_one_file_are_no_strangers(base: bytes, target: bytes) -> None:
    assert strangers(base, target, target + ADDED) is None


@pytest.mark.parametrize(
    ("base", "target"),
    [
        pytest.param(QUEUE, NORM, id="two files"),
        pytest.param(QUEUE * 9, NORM * 9, id="two files, one line many times"),
        pytest.param(QUEUE, b"", id="a target that was emptied"),
        pytest.param(b"# Copyright 2025\n" + QUEUE, b"# Copyright 2025\n", id="a licence alone in common"),
        pytest.param(
            b"".join(b"line_%d = old\n" % n for n in range(40)),
            b"".join(b"row_%d = new\n" % n for n in range(35)) + b"".join(b"line_%d = old\n" % n for n in range(5)),
            id="an eighth in common",
        ),
    ],
)
def test_texts_with_next_to_nothing_in_common_are_strangers(base: bytes, target: bytes) -> None:
    alarm = strangers(base, target, b"first = 0\n" + target)

    assert alarm is not None
    assert (alarm.rule, alarm.line, alarm.harmless) == (Rule.FOREIGN_BASE, 1, False)


@pytest.mark.parametrize("size", [12, 60])
@pytest.mark.parametrize(("again", "ending"), [(1, b"\n"), (3, b"\n"), (1, b"")])
def test_half_of_the_lines_are_enough_however_few_of_them_are_looked_at(size: int, again: int, ending: bytes) -> None:
    old, new = ([b"%s_%d = 1" % (name, n) for n in range(size)] for name in (b"line", b"row"))

    for kept in range(size + 1):
        lines = old[:kept] + new[: size - kept]
        base, target = (b"\n".join(lines * again) + ending for lines in (old, lines))
        ours, theirs = (frozenset(text.split(b"\n")) for text in (base, target))
        assert _is_quickly_kin(base, target) == (2 * len(ours & theirs) >= min(len(ours), len(theirs)) > SMALL)
