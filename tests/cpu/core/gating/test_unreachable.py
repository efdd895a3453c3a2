from __future__ import annotations

import pytest

from patchkit import carry_file
from patchkit.core.carry import Status
from patchkit.core.gating.gates import Alarm, Rule, alarms

# In the manner of megatron/core/distributed/distributed_data_parallel.py.
BASE = b"""\
class DistributedDataParallel:
    def enable_forward_pre_hook(self):
        for module in self.module.modules():
            if module in self.handles:
                self.note(module)
            self.handles[module] = module.register(self.make_hook())
        self.check()
"""
CHECK, NOTE = b"        self.check()\n", b"                self.note(module)\n"
HANDLE = b"            self.handles[module] = module.register(self.make_hook())\n"
SCOPE = "DistributedDataParallel.enable_forward_pre_hook"

Edit = tuple[bytes, bytes]


def dead(line: int, word: str) -> Alarm:
    return Alarm(
        Rule.UNREACHABLE, line, word, f"this statement in {SCOPE} stands behind {word} in its block, and is not run"
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "line", "word"),
    [
        ((CHECK, b"        return self.check()\n"), (CHECK, CHECK + b"        self.log()\n"), 8, "return"),
        ((CHECK, b"        raise self.check()\n"), (CHECK, CHECK + b"        self.log()\n"), 8, "raise"),
        ((NOTE, NOTE + b"                continue\n"), (NOTE, NOTE + b"                self.log()\n"), 7, "continue"),
        ((HANDLE, HANDLE + b"            break\n"), (HANDLE, HANDLE + b"            self.log()\n"), 8, "break"),
    ],
)
def test_what_one_side_puts_behind_what_leaves_on_the_other(ours: Edit, theirs: Edit, line: int, word: str) -> None:
    changed, target = BASE.replace(*ours), BASE.replace(*theirs)
    behind = changed.replace(ours[1], ours[1] + theirs[1].removeprefix(theirs[0]))
    before = target.replace(theirs[1], theirs[1] + ours[1].removeprefix(ours[0]))

    assert alarms(BASE, changed, target, behind) == (dead(line, word),)
    assert alarms(BASE, target, changed, behind) == (dead(line, word),)
    if ours[1].startswith(ours[0]):
        assert alarms(BASE, changed, target, before) == ()


def test_a_merge_that_comes_to_this_is_for_review() -> None:
    changed, target = BASE + b"        self.log()\n", BASE.replace(CHECK, b"        return self.check()\n")
    for ours, theirs in ((changed, target), (target, changed)):
        result = carry_file(BASE, ours, theirs, "x.py")

        assert (result.status, result.content) == (Status.REVIEW, target + b"        self.log()\n")
        assert [alarm for hunk in result.hunks for alarm in hunk.alarms] + [*result.alarms] == [dead(8, "return")]


def test_what_a_side_does_not_run_either_is_nobodys_merge_error() -> None:
    base = BASE.replace(CHECK, CHECK + b"        return self\n        self.log()\n        self.end()\n")
    changed = base.replace(b"self.log()", b"self.log(1)")
    # The first statement that is not run is another one on either side.
    target = base.replace(b"return self\n", b"return self.handles\n").replace(b"self.log()", b"self.log(name=2)")
    result = target.replace(b"self.log(name=2)", b"self.log(1, name=2)")

    assert alarms(base, changed, target, result) == ()
