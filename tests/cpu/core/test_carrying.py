from __future__ import annotations

from unittest.mock import patch

from patchkit.core.carried import Conflict, Place, Status, Verdict
from patchkit.core.carrying import Carrying
from patchkit.core.gating.gates import Rule
from patchkit.core.merging import windows
from patchkit.core.merging.resolved import Resolved, Span

BASE = b"""\
import os


class Buffer:
    def allocate(self, numel):
        data = zeros(numel, dtype=self.dtype)
        self.register(data)
        return data

    def numel(self):
        return self.size


def zeros(numel, dtype=None):
    return [0] * numel
"""

GONE = "the target has no class or function Buffer.allocate, and none of the lines around the change: drop the hunk?"


def test_a_hunk_whose_function_is_gone_with_all_of_its_lines() -> None:
    changed = BASE.replace(b"self.register(data)", b"self.register(data, self.name)")
    target = BASE[: BASE.index(b"    def allocate")] + BASE[BASE.index(b"    def numel") :]

    result = Carrying(BASE, changed, target, "x.py").result()

    assert (result.status, result.content) == (Status.CONFLICT, None)
    assert [(hunk.verdict, hunk.old, hunk.reason) for hunk in result.hunks] == [
        (
            Verdict.OBSOLETE,
            Place("Buffer.allocate", 5, 9),
            GONE,
        )
    ]
    assert result.hunks[0].conflict is not None


def test_a_hunk_whose_function_has_another_name_is_a_conflict() -> None:
    changed = BASE.replace(b"self.register(data)", b"self.register(data, self.name)")
    target = BASE.replace(b"def allocate", b"def make").replace(b"self.register(data)", b"register(self, data)")

    result = Carrying(BASE, changed, target, "x.yaml").result()

    assert (result.status, [hunk.verdict for hunk in result.hunks]) == (Status.CONFLICT, [Verdict.CONFLICT])


def test_the_same_import_from_one_place_needs_no_review() -> None:
    line = b"from package import name\n"
    changed = BASE.replace(b"import os\n", b"import os\n" + line)
    target = line + BASE.replace(b"import os\n", b"import re\nimport os\n")

    result = Carrying(BASE, changed, target, "x.py").result()

    assert (result.status, result.content) == (Status.CLEAN, target.replace(b"import os\n", b"import os\n" + line))
    assert [(alarm.rule, alarm.harmless) for alarm in result.hunks[0].alarms] == [(Rule.DUPLICATE, True)]


def test_status_and_verdict_are_the_words_that_stand_for_them() -> None:
    result = Carrying(BASE, BASE.replace(b"self.register(data)", b"self.register(data, 1)"), BASE, "x.py").result()

    assert result.status == "clean"
    assert [hunk.verdict for hunk in result.hunks] == ["exact"]


def test_what_is_no_python_has_not_been_brought_together() -> None:
    changed = BASE.replace(b"self.register(data)", b"self.register(data, self.name)")
    target = BASE.replace(b"self.register(data)", b"self.register(self.place, data)")
    old, new, there = (
        b"        self.register(data)\n",
        b"        self.register(data, self.name)\n",
        b"        self.register(self.place, data)\n",
    )

    def broken(base: str, changed: str, target: str) -> Resolved:
        lines = target.count("\n")
        return Resolved([target.replace("self.place", "(")], [Span(0, base.count("\n"), 0, lines, "restructured", "")])

    with patch.object(windows, "resolve", broken):
        result = Carrying(BASE, changed, target, "x.py").result()

    before, after = BASE.split(old)
    assert (result.status, result.content, result.alarms) == (Status.CONFLICT, None, ())
    assert result.parts == (before, Conflict(old, new, there), after)
    assert [(hunk.verdict, hunk.alarms) for hunk in result.hunks] == [(Verdict.CONFLICT, ())]


def test_what_the_target_puts_before_the_first_line_stays_when_a_window_begins_there() -> None:
    # The base's first line begins a statement, and lines further down are in conflict.
    base = b"from a import b\nx = f(a,\n      1)\n"
    changed = b"from a import b\nx = f(a,\n      2)\n"
    target = b"import os\nfrom a import b\nx = f(b, a,\n      1)\n"

    result = Carrying(base, changed, target, "x.py").result()

    assert result.content is None or result.content.startswith(b"import os\n")
    assert b"".join(
        part if isinstance(part, bytes) else b"" for part in result.parts or [result.content or b""]
    ).startswith(b"import os\nfrom a import b\n")
