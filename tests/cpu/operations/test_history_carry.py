from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from patchkit.core.carry_report import AlarmReport, DriftReport
from patchkit.core.history.spans import HunkState
from patchkit.core.rebasing.rebased import HunkRebase
from patchkit.core.upstream import Target
from patchkit.errors import UsageError
from patchkit.operations import history_carry
from patchkit.operations.history_states import Chain, Link, StateTable
from patchkit.operations.rebase_carried import CarriedFile, Texts
from patchkit.store.series import load_series

from .carried_world import World

FITS = HunkRebase(id="one", path="a.py", verdict="moved", old=None, new=None, reason="2 lines away")
FILE = CarriedFile(Texts("a.py", b"", b"", b"", ()), (b"",), (), (), (FITS,), ())
QUIET = HunkState("exact", "no gate has anything to say")


def test_the_reason_of_a_hunk_with_alarms_is_theirs() -> None:
    alarms = (
        AlarmReport("unbound", 3, "x", "x is not bound"),
        AlarmReport("unbound", 4, "y", "y is not bound"),
    )
    drift = DriftReport("f", ("signature", "body"), "x", "y")
    hunk = replace(FITS, alarms=alarms, drift=(drift,))

    assert list(history_carry._states(["one"], replace(FILE, hunks=(hunk,)))) == [
        HunkState("moved", "line 3: x is not bound; line 4: y is not bound", ("unbound",), ("f (signature, body)",)),
        QUIET,
    ]


def test_alarms_outside_of_the_hunks_are_a_state_of_their_own() -> None:
    file = replace(FILE, alarms=(AlarmReport("duplicate", 9, "f", "f stands twice"),))

    assert list(history_carry._states(["one"], file)) == [
        HunkState("moved", "2 lines away"),
        HunkState("exact", "line 9: f stands twice", ("duplicate",)),
    ]


def test_a_hunk_of_which_the_engine_says_nothing_is_bad() -> None:
    missing, *rest = history_carry._states(["two"], FILE)

    assert (missing.verdict, missing.bad, rest) == ("conflict", True, [QUIET])


def test_a_base_that_does_not_need_a_named_patch_has_no_history_of_it(tmp_path: Path) -> None:
    series = load_series(World(tmp_path, {}).series)
    base = Target("1.0", "1.0", None, None, {}, None)
    chain = Chain("a.py", (Link("first", "", "", None, None),))

    with pytest.raises(UsageError) as refused:
        StateTable(series, base, (chain,), lambda: (), tmp_path, names=("first", "second"))
    assert (refused.value.message, refused.value.hint) == (
        f"{base.title} does not need second",
        "name another base with --from BASE",
    )
