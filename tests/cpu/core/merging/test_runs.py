from __future__ import annotations

import pytest

from patchkit.core.merging import runs
from patchkit.core.merging.runs import resolve_runs

OTHERS = "".join(f"    other_{number} = {number}\n" for number in range(20))
RUN = "".join(f"    value_{number} = call_{number}(one, two, three)\n" for number in range(6))


def body(*parts: str) -> str:
    return "def f():\n" + "".join(parts)


def test_what_the_patch_changes_in_a_run_that_the_target_moved_goes_with_it() -> None:
    changed = RUN.replace("call_3(one", "call_3(eins")

    found = resolve_runs(body(RUN, OTHERS), body(changed, OTHERS), body(OTHERS, RUN))

    assert found is not None
    assert "".join(map(str, found.parts)) == body(OTHERS, changed)


def test_a_string_of_a_run_that_the_target_put_into_a_block_stays_as_it_was() -> None:
    text = '    """\n  Not a docstring.\n    """\n'
    run = RUN.replace("    value_3", text + "    value_3")
    new = '    """\n  Nor this.\n    """\n'
    changed = run.replace("call_3(one", "call_3(eins").replace("    value_4", new + "    value_4")
    deeper = "".join(f"    {line}" for line in RUN.splitlines(keepends=True))
    there = deeper.replace("        value_3", "    " + text + "        value_3")

    found = resolve_runs(body(run, OTHERS), body(changed, OTHERS), body(OTHERS, "    if one:\n", there))

    both = there.replace("call_3(one", "call_3(eins").replace("        value_4", "    " + new + "        value_4")
    assert found is not None
    assert "".join(map(str, found.parts)) == body(OTHERS, "    if one:\n", both)


@pytest.mark.parametrize("count", [1, 2])
def test_a_run_with_few_words_or_one_statement_is_not_known_by_them(count: int) -> None:
    run = "".join(f"    value_{number} = {number}\n" for number in range(count))

    assert resolve_runs(body(run, OTHERS), body(run.replace("= 0", "= 7"), OTHERS), body(OTHERS, run)) is None


def test_no_run_is_looked_for_longer_than_so_many_lines_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every line of the one is like a seventh of the other's, so that all of them would be compared with all.
    run = "".join(f"    a = call_{number % 7}(one, two, three)\n" for number in range(70))
    others = "".join(f"    other_{number} = {number}\n" for number in range(140))
    three = body(run, others), body(run.replace("call_3(one", "call_3(eins", 5), others), body(others, run)
    assert resolve_runs(*three) is not None

    monkeypatch.setattr(runs, "_MOST_STEPS", 100)

    assert resolve_runs(*three) is None
