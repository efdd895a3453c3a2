from __future__ import annotations

from patchkit.core.series import HunkSpec, LeftOut, NotNeeded, VariantSpec
from patchkit.store.carried import PatchEdit, edited_patch

TEXT = b"""\
# About this file.
schema: 1
name: p
description: d
origin: o
author: a
forwarded: "no"
applied-upstream: ""
last-update: 2026-01-02   # when
why: |
  Because.
needed-when: Always.
drop-when: Never.
hunks:
  # The first.
  - id: one
    group: g
    file: m/a.py
    scope: f
    intent: One.
  # The second.
  - id: two
    group: g
    file: m/a.py
    scope: <module>
    intent: Two.
variants:
  # What each is for.
  - file: v1.0.patch     # the oldest
    releases: ">=1.0"
  - file: main.patch     # a branch
    targets: [main]
not-needed:
  - reason: Not carried yet.
    targets: [old, "2.0"]
"""


def edited(**changes: object) -> str:
    return edited_patch(TEXT, "patch.yaml", PatchEdit(last_update="2026-11-30", **changes)).decode()  # type: ignore[arg-type]  # the fields of PatchEdit


def expected(*changes: tuple[str, str]) -> str:
    text = TEXT.decode().replace("2026-01-02", "2026-11-30")
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


def test_only_the_date_changes_when_nothing_else_does() -> None:
    assert edited() == expected()


def test_a_new_variant_stands_behind_the_one_it_was_carried_from() -> None:
    made = edited(
        variant=VariantSpec("v2.0.patch", ">=2.0"), behind="v1.0.patch", releases={"v1.0.patch": ">=1.0,<2.0"}
    )

    assert made == expected(
        ('    releases: ">=1.0"\n', '    releases: ">=1.0,<2.0"\n  - file: v2.0.patch\n    releases: ">=2.0"\n')
    )


def test_a_new_variant_goes_to_the_end_where_nobody_knows_better() -> None:
    made = edited(variant=VariantSpec("x.patch", targets=("x",)))

    assert made == expected(("    targets: [main]\n", "    targets: [main]\n  - file: x.patch\n    targets: [x]\n"))


def test_hunks_get_ranges_and_targets_left_out_and_new_ones_stand_behind_theirs() -> None:
    new = HunkSpec(
        id="one-x",
        group="g",
        file="m/a.py",
        scope="g",
        intent="One.",
        only_on=("x",),
        needed_when="Here.\nAnd there.\n",
    )
    made = edited(hunks={"one": new}, hunk_releases={"two": "<2.0"}, hunk_not_on={"one": ("x",)})

    assert made == expected(
        (
            "    intent: One.\n",
            """\
    intent: One.
    not-on: [x]
  - id: one-x
    group: g
    file: m/a.py
    scope: g
    intent: One.
    needed-when: |
      Here.
      And there.
    only-on: [x]
""",
        ),
        ("    intent: Two.\n", '    intent: Two.\n    releases: "<2.0"\n'),
    )


def test_a_target_that_is_needed_now_leaves_the_list_of_those_that_are_not() -> None:
    assert edited(needed_on="2.0") == expected(('[old, "2.0"]', "[old]"))


def test_an_entry_without_targets_goes_and_a_list_without_entries_too() -> None:
    once = edited(needed_on="2.0").encode()
    made = edited_patch(once, "patch.yaml", PatchEdit(last_update="2026-11-30", needed_on="old")).decode()

    assert "not-needed" not in made
    assert made == expected(('not-needed:\n  - reason: Not carried yet.\n    targets: [old, "2.0"]\n', ""))


def test_a_new_reason_for_not_needing_the_patch_is_added() -> None:
    made = edited(not_needed=NotNeeded("It has it.", ">=2.0"))

    assert made.endswith('    targets: [old, "2.0"]\n  - reason: It has it.\n    releases: ">=2.0"\n')


LEFT_OUT = LeftOut(hunk="one", target="2.0", reason="skipped: so")
ENTRY = "left-out:\n  - hunk: one\n    target: '2.0'\n    reason: 'skipped: so'\n"


def test_why_a_hunk_is_left_out_stands_behind_the_targets_that_need_nothing() -> None:
    assert edited(left_out=(LEFT_OUT,), decided_on="2.0") == expected() + ENTRY


def test_a_decision_takes_the_place_of_the_earlier_ones_for_its_target() -> None:
    main = LeftOut(hunk="two", target="main", commit="0" * 40, reason="why")
    once = edited(left_out=(LEFT_OUT, main), decided_on="2.0").encode()
    of_main = f"  - hunk: two\n    target: main\n    commit: '{'0' * 40}'\n    reason: why\n"
    assert once.decode() == expected() + ENTRY + of_main
    other = LeftOut(hunk="two", target="2.0", reason="other")
    made = edited_patch(once, "patch.yaml", PatchEdit(last_update="2026-11-30", left_out=(other,), decided_on="2.0"))

    of_two = "  - hunk: two\n    target: '2.0'\n    reason: other\n"
    assert made.decode() == expected() + "left-out:\n" + of_main + of_two


def test_a_list_of_decisions_without_entries_goes() -> None:
    once = edited(left_out=(LEFT_OUT,), decided_on="2.0").encode()
    made = edited_patch(once, "patch.yaml", PatchEdit(last_update="2026-11-30", decided_on="2.0"))

    assert made.decode() == expected()
