from __future__ import annotations

import pytest
from hypothesis import given, settings

from patchkit.core.carry import CarriedHunk, Conflict, Place, Status, Verdict, carry_patch
from patchkit.core.difference import difference
from patchkit.core.gating.gates import Rule
from patchkit.core.model import FilePatch
from patchkit.core.unified import parse_patch

from .texts import edited

BASE = b"""\
import torch


class Buffer:
    def __init__(self, size):
        self.size = size
        self.data = torch.zeros(size)
        self.register(size)

    def numel(self):
        return self.size


def build(sizes):
    return [Buffer(size) for size in sizes]
"""

PATCH = b"""\
--- a/buffer.py
+++ b/buffer.py
@@ -4,5 +4,6 @@ id-1
 class Buffer:
     def __init__(self, size):
         self.size = size
-        self.data = torch.zeros(size)
+        with region():
+            self.data = torch.zeros(size)
         self.register(size)
"""

CARRIED = BASE.replace(
    b"        self.data = torch.zeros(size)\n",
    b"        with region():\n            self.data = torch.zeros(size)\n",
)
REGION = b"\n\ndef region():\n    return torch.region()\n"
OLD = Place("Buffer.__init__", 7, 7)


def patch(text: bytes = PATCH) -> FilePatch:
    return parse_patch(text, "x.patch").files[0]


def hunks(content: bytes, target: bytes = BASE) -> tuple[Status, bytes | None, list[tuple[Verdict, str]]]:
    result = carry_patch(patch(content), target)
    return result.status, result.content, [(hunk.verdict, hunk.reason) for hunk in result.hunks]


def test_old_lines_that_stand_where_the_header_says() -> None:
    result = carry_patch(patch(), BASE)

    assert (result.status, result.content) == (Status.CLEAN, CARRIED)
    assert result.hunks == (
        CarriedHunk(
            0,
            Verdict.EXACT,
            OLD,
            Place("Buffer.__init__", 7, 8),
            "the target has the same lines at the same place",
        ),
    )


def test_old_lines_that_stand_elsewhere() -> None:
    result = carry_patch(patch(), b"import os\n" + BASE + REGION)

    assert (result.status, result.content) == (Status.CLEAN, b"import os\n" + CARRIED + REGION)
    assert result.hunks == (
        CarriedHunk(0, Verdict.MOVED, OLD, Place("Buffer.__init__", 8, 9), "the same lines stand +1 lines away"),
    )


def test_a_place_that_is_not_the_one_named_is_looked_at() -> None:
    # Nothing binds region: at the place that the header names, that is what the author had.
    result = carry_patch(patch(), b"import os\n" + BASE)

    assert result.status is Status.REVIEW
    assert [(alarm.rule, alarm.name) for alarm in result.hunks[0].alarms] == [(Rule.UNBOUND, "region")]


def test_new_lines_that_stand_there_already() -> None:
    assert hunks(PATCH, CARRIED) == (
        Status.CLEAN,
        CARRIED,
        [(Verdict.UPSTREAMED, "the target has the same change")],
    )


def test_most_of_the_old_lines_say_where_the_hunk_belongs() -> None:
    def edit(text: bytes) -> bytes:
        return text.replace(b"        self.size = size\n", b"        self.size = int(size)\n") + REGION

    result = carry_patch(patch(), edit(BASE))

    assert (result.status, result.content) == (Status.CLEAN, edit(CARRIED))
    # The line that the target changed stands beside the patch's.
    assert [(hunk.verdict, hunk.old) for hunk in result.hunks] == [
        (Verdict.RESTRUCTURED, Place("Buffer.__init__", 6, 7))
    ]


def test_changes_of_both_sides_to_one_line_are_a_conflict() -> None:
    target = BASE.replace(b"torch.zeros(size)", b"torch.empty(size)")
    dropped = PATCH.replace(
        b"+        with region():\n+            self.data = torch.zeros(size)", b"+        self.data = None"
    ).replace(b"4,6", b"4,5")

    result = carry_patch(patch(dropped), target)

    assert (result.status, result.content) == (Status.CONFLICT, None)
    assert [(hunk.verdict, hunk.old) for hunk in result.hunks] == [(Verdict.CONFLICT, OLD)]


@pytest.mark.parametrize(
    "target",
    [
        b"import os\n" + BASE + BASE.replace(b"class Buffer", b"class Other"),  # which of the two?
        BASE.replace(b"        self.size = size\n        self.data = torch.zeros(size)\n", b"        make(self)\n"),
        b"".join(sorted(BASE.splitlines(keepends=True))),  # in another order
    ],
)
def test_no_guess_is_made(target: bytes) -> None:
    twice = PATCH.replace(b" class Buffer:\n", b"").replace(b"4,5 +4,6", b"5,4 +5,5")

    result = carry_patch(patch(twice), target)

    assert (result.status, result.content) == (Status.CONFLICT, None)
    old, new = (b"".join(lines) for lines in (patch(twice).hunks[0].old_lines, patch(twice).hunks[0].new_lines))
    assert result.parts == (target, Conflict(old, new, b""))
    assert [(hunk.verdict, hunk.new) for hunk in result.hunks] == [(Verdict.CONFLICT, None)]


def test_lines_in_another_order_are_another_place() -> None:
    made = b"--- a/x\n+++ b/x\n@@ -1,6 +1,6 @@ id\n one\n two\n three\n-four\n+FOUR\n five\n six\n"
    target = b"one\ntwo\nTHREE\nfour\nfive\nsix\n"

    # Beside the line that the target changed the hunk has no line of its own to hold on to.
    assert carry_patch(patch(made), target).content is None
    assert carry_patch(patch(made), b"ONE\ntwo\nthree\nfour\nfive\nsix\n").content == (
        b"ONE\ntwo\nthree\nFOUR\nfive\nsix\n"
    )
    assert carry_patch(patch(made), b"two\none\nthree\nfour\nfive\nsix\n").content is None


def test_a_scope_that_is_defined_twice() -> None:
    head = b"--- a/x.py\n+++ b/x.py\n@@ -1,5 +1,5 @@ id\n"
    made = head + b" def f(a):\n     one = a\n     two = a\n-    three = a\n+    three = 3\n     four = a\n"
    body = b"def f(a):\n    one = 1\n    two = a\n    three = a\n    four = a\n"

    assert carry_patch(patch(made), body, {"id": "f"}).content == body.replace(b"three = a", b"three = 3")
    assert carry_patch(patch(made), body + b"\n\n" + body, {"id": "f"}).content is None


def test_only_the_scope_of_the_hunk_counts() -> None:
    twice = PATCH.replace(b" class Buffer:\n", b"").replace(b"4,5 +4,6", b"5,4 +5,5")
    target = b"import os\n" + BASE + b"\n\n" + BASE.replace(b"class Buffer", b"class Other")

    result = carry_patch(patch(twice), target, {"id-1": "Buffer.__init__"})

    assert result.content == b"import os\n" + CARRIED + b"\n\n" + BASE.replace(b"class Buffer", b"class Other")
    assert carry_patch(patch(twice), target, {"id-1": "unknown"}).hunks[0].reason == "the file has no such scope"


def test_nothing_of_the_hunk_is_in_the_target() -> None:
    result = carry_patch(patch(), b"import torch\n", {"id-1": "Buffer.__init__"})

    why = "the target has no class or function Buffer.__init__, and none of the lines around the change: drop the hunk?"
    assert (result.status, result.content) == (Status.CONFLICT, None)
    assert [(hunk.verdict, hunk.reason) for hunk in result.hunks] == [(Verdict.OBSOLETE, why)]


def test_hunks_that_can_be_carried_are_when_another_cannot() -> None:
    second = b"@@ -30,1 +31,1 @@ id-2\n-nobody_has_this_line()\n+nor_this_one()\n"

    result = carry_patch(patch(PATCH + second), BASE)

    assert (result.status, result.content) == (Status.CONFLICT, None)
    assert [hunk.verdict for hunk in result.hunks] == [Verdict.EXACT, Verdict.OBSOLETE]
    assert result.parts == (CARRIED, Conflict(b"nobody_has_this_line()\n", b"nor_this_one()\n", b""))


MADE = b"--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+import os\n"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (b"", (Status.CLEAN, b"import os\n", [(Verdict.EXACT, "the file is made")])),
        (b"import os\n", (Status.CLEAN, b"import os\n", [(Verdict.UPSTREAMED, "the target has this file")])),
        (b"import re\n", (Status.CONFLICT, None, [(Verdict.CONFLICT, "the file to create exists")])),
    ],
)
def test_a_file_that_the_patch_makes(
    target: bytes, expected: tuple[Status, bytes | None, list[tuple[Verdict, str]]]
) -> None:
    assert hunks(MADE, target) == expected


@settings(deadline=None)
@given(edited())
def test_a_patch_on_its_own_base_gives_what_its_author_had(pair: tuple[bytes, bytes]) -> None:
    base, changed = pair
    made = difference(base, changed, "x.yaml")
    if made is None:
        return

    result = carry_patch(made, base)

    assert (result.status, result.content) == (Status.CLEAN, changed)
    assert {hunk.verdict for hunk in result.hunks} <= {Verdict.EXACT}
