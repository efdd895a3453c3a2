from __future__ import annotations

import pytest

from patchkit.core.series import Applicability, HunkSpec, LeftOut, NotNeeded, PatchDocument, UpstreamHas, VariantSpec
from patchkit.core.upstream import Release, Target
from patchkit.operations.coverage import applies, expected_hunks, left_out_before, variants_for, why_not_needed


def release(version: str) -> Target:
    entry = Release(
        version=version, tag=None, commit=None, date="2026-01-01", python="", ships=("m",), blobs={}, files={}
    )
    return Target(version, version, None, None, {}, entry)


MAIN = Target("main", "3.0", None, "0" * 40, {}, None)
DEV = Target("dev", "3.0", None, "0" * 40, {}, None)


def hunk(name: str, group: str, **when: str) -> HunkSpec:
    return HunkSpec(id=name, group=group, file="m/a.py", scope="<module>", intent="i", **when)  # type: ignore[arg-type]


def patch(**fields: object) -> PatchDocument:
    header = {
        "name": "p",
        "description": "d",
        "origin": "o",
        "author": "a",
        "forwarded": "no",
        "applied_upstream": "",
        "last_update": "2026-01-01",
        "why": "w",
        "needed_when": "n",
        "drop_when": "d",
        "hunks": (hunk("one", "g"),),
        "variants": (VariantSpec("v1.patch", ">=1.0"),),
    }
    return PatchDocument(schema=1, **{**header, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("what", "on"),
    [
        (Applicability(), ["1.0", "2.0", "main", "dev"]),
        (Applicability(releases=">=2.0"), ["2.0", "main", "dev"]),
        (Applicability(releases="<3.0"), ["1.0", "2.0"]),
        (Applicability(not_on=("dev",)), ["1.0", "2.0", "main"]),
        (Applicability(only_on=("dev",)), ["dev"]),
        # The range has no say for targets that are named, and a release is never named.
        (Applicability(releases="<1.0", only_on=("dev", "1.0")), ["dev"]),
        (Applicability(not_on=("1.0",)), ["1.0", "2.0", "main", "dev"]),
    ],
)
def test_a_hunk_or_check_is_for_the_targets_that_range_and_names_say(what: Applicability, on: list[str]) -> None:
    assert [target.name for target in (release("1.0"), release("2.0"), MAIN, DEV) if applies(what, target)] == on


def test_a_variant_that_names_a_target_wins_over_those_whose_range_holds_it() -> None:
    ranged, other, named = VariantSpec("a", ">=1.0"), VariantSpec("b", ">=2.0"), VariantSpec("c", targets=("main",))
    document = patch(variants=(ranged, other, named))

    assert variants_for(document, release("1.0")) == [ranged]
    assert variants_for(document, release("2.0")) == [ranged, other]
    assert variants_for(document, MAIN) == [named]
    assert variants_for(document, DEV) == [ranged, other]
    assert variants_for(document, release("0.9")) == []


def test_the_first_reason_for_a_target_by_name_or_range_is_the_one_told() -> None:
    entries = (
        NotNeeded("old", releases="<1.0"),
        NotNeeded("named", targets=("main", "1.5")),
        NotNeeded("new", releases=">=2.0"),
    )

    assert [why_not_needed(entries, target) for target in (release("0.9"), release("1.0"), release("1.5"))] == [
        "old",
        None,
        "named",
    ]
    assert [why_not_needed(entries, target) for target in (MAIN, DEV)] == ["named", "new"]


def test_a_target_has_the_hunks_that_are_for_it_without_groups_that_upstream_has_but_with_those_kept() -> None:
    hunks = (hunk("a", "one"), hunk("b", "two"), hunk("c", "two"), hunk("d", "one", releases=">=2.0"))
    has = (
        UpstreamHas(target="main", groups={"two": "all"}, keep=("c",)),
        UpstreamHas(target="dev", groups={"one": "all", "two": "all"}),
    )
    document = patch(hunks=hunks, upstream=has)

    assert [[entry.id for entry in expected_hunks(document, target)] for target in (release("1.0"), MAIN, DEV)] == [
        ["a", "b", "c"],
        ["a", "c", "d"],
        [],
    ]


def test_what_was_left_out_before_holds_for_its_target_and_of_a_branch_for_its_commit() -> None:
    document = patch(
        left_out=(
            LeftOut(hunk="one", target="2.0", reason="why one"),
            LeftOut(hunk="two", target="main", commit="0" * 40, reason="why two"),
            LeftOut(hunk="three", target="main", commit="1" * 40, reason="why three"),
        )
    )

    assert left_out_before(document, release("2.0")) == {"one": "why one"}
    assert left_out_before(document, release("3.0")) == {}
    assert left_out_before(document, MAIN) == {"two": "why two"}
