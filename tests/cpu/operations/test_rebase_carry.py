from __future__ import annotations

from difflib import unified_diff
from types import SimpleNamespace
from typing import Any

from patchkit.core.placement import FilePlaced, place_file
from patchkit.core.unified import parse_patch
from patchkit.core.upstream import Target
from patchkit.operations.layers import Layer
from patchkit.operations.rebase_carry import carry_layer

PATH = "megatron/core/linear.py"
BASE = """\
def build(self, params, expert):
    super().build(size=1)
    self.quantised = None

    for param in params:
        if expert:
            # Reduce on the group of experts.
            param.reduce = not self.expert_parallel
        else:
            # Reduce on the group of data.
            param.reduce = True
"""
TARGET = b"""\
def build(self, params, expert):
    super().build(size=1)

    if expert:
        mark_experts(self, params)
    else:
        for param in params:
            # Reduce on the group of data.
            param.reduce = True
"""


def test_what_one_hunk_has_in_conflict_at_one_place_is_one_conflict() -> None:
    # Upstream took out the lines around an insertion; the engine tells those and the insertion apart.
    changed = BASE.replace("for param in params:\n", "for param in params:\n        param.mode = self.mode\n")
    diff = "".join(
        unified_diff(BASE.splitlines(keepends=True), changed.splitlines(keepends=True), f"a/{PATH}", f"b/{PATH}")
    )
    text = parse_patch(diff.replace("@@\n", "@@ mode\n").encode(), "made up")
    placed = place_file(text.files[0], BASE.encode(), {})
    assert isinstance(placed, FilePlaced)
    patch: Any = SimpleNamespace(name="p")
    texts = {PATH: BASE.encode()}, {PATH: placed.content}
    layer = Layer(patch, "v1.patch", text, *texts, {PATH: placed.hunks})
    target = Target("2.0", "2.0", None, None, {}, None)
    (file,) = carry_layer(layer, target, target, {PATH: TARGET}, {}).files

    assert [(met.ids, met.spot.conflict.changed) for met in file.met] == [
        (("mode",), b"    self.quantised = None\n\n    for param in params:\n        param.mode = self.mode\n")
    ]
