from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from patchkit.core.rebasing.rebased import HunkRebase, PatchRebase
from patchkit.core.report import Problem
from patchkit.core.series import (
    HunkSpec,
    LeftOut,
    LockDocument,
    NotNeeded,
    PatchDocument,
    PatchLock,
    TargetLock,
    VariantSpec,
)
from patchkit.core.upstream import Release, Target
from patchkit.operations.rebase_edit import Planned, plan_edit, variant_file
from patchkit.store.carried import PatchEdit
from patchkit.store.edit_dir import Settled
from patchkit.store.series import SeriesPatch

TODAY = "2026-11-30"
DIGEST = "sha256:" + "0" * 64


def release(version: str) -> Target:
    entry = Release(
        version=version, tag=None, commit=None, date="2026-01-01", python="", ships=("m",), blobs={}, files={}
    )
    return Target(version, version, None, None, {}, entry)


def branch(name: str, as_of: str) -> Target:
    return Target(name, as_of, None, "0" * 40, {}, None)


def hunk(name: str, **more: object) -> HunkSpec:
    fields: dict[str, object] = {"id": name, "group": "g", "file": "m/a.py", "scope": "f", "intent": "i", **more}
    return HunkSpec(**fields)  # type: ignore[arg-type]  # the fields of HunkSpec


def patch(
    *variants: VariantSpec, hunks: tuple[HunkSpec, ...] = (hunk("one"), hunk("two")), **more: object
) -> SeriesPatch:
    document = PatchDocument(
        schema=1,
        name="p",
        description="d",
        origin="o",
        author="a",
        forwarded="no",
        applied_upstream="",
        last_update="2026-01-01",
        why="w",
        needed_when="n",
        drop_when="d",
        hunks=hunks,
        variants=variants,
        **more,  # type: ignore[arg-type]  # the fields of PatchDocument
    )
    return SeriesPatch(Path("p"), document, (), {}, DIGEST)


def settled(base: str = "1.0", **more: object) -> Settled:
    hunks = tuple(
        HunkRebase(id=name, path="m/a.py", verdict="moved", old=None, new=None, reason="r") for name in ("one", "two")
    )
    made = Settled(report=PatchRebase(name="p", state="clean", base=base, hunks=hunks), text=True)
    return replace(made, **more)


def plan(
    what: SeriesPatch, done: Settled, target: Target, *others: Target, lock: LockDocument | None = None
) -> PatchEdit:
    planned = plan_edit(what, done, target, (*others, target), lock, today=TODAY)
    assert isinstance(planned, Planned)
    return planned.edit


V1 = VariantSpec("v1.0.patch", ">=1.0")


def edit(**fields: object) -> PatchEdit:
    return PatchEdit(last_update=TODAY, **fields)  # type: ignore[arg-type]  # the fields of PatchEdit


def test_an_open_range_ends_where_the_new_variant_begins() -> None:
    assert plan(patch(V1), settled(), release("2.0"), release("1.0")) == edit(
        variant=VariantSpec("v2.0.patch", ">=2.0"), behind="v1.0.patch", releases={"v1.0.patch": ">=1.0,<2.0"}
    )


def test_a_range_in_the_middle_is_cut_in_two() -> None:
    what = patch(replace(V1, releases=">=1.0,<3.0"), VariantSpec("v3.0.patch", ">=3.0"))

    assert plan(what, settled(), release("2.0"), release("1.0"), release("3.0")) == edit(
        variant=VariantSpec("v2.0.patch", ">=2.0,<3.0"), behind="v1.0.patch", releases={"v1.0.patch": ">=1.0,<2.0"}
    )


def test_a_release_that_the_old_variant_serves_keeps_it_and_the_new_one_names_its_target() -> None:
    locked = {"3.0": TargetLock(DIGEST, {"p": PatchLock("v1.0.patch", DIGEST)})}
    lock = LockDocument(1, DIGEST, {"p": DIGEST}, locked)

    assert plan(patch(V1), settled(), release("2.0"), release("1.0"), release("3.0"), lock=lock) == edit(
        variant=VariantSpec("v2.0.patch", targets=("2.0",)), behind="v1.0.patch"
    )


def test_a_release_that_no_range_holds_begins_one_up_to_the_next() -> None:
    what = patch(replace(V1, releases=">=1.0,<1.5"), VariantSpec("v3.0.patch", ">=3.0"))

    assert plan(what, settled(), release("2.0"), release("1.0"), release("3.0")) == edit(
        variant=VariantSpec("v2.0.patch", ">=2.0,<3.0"), behind="v1.0.patch"
    )


@pytest.mark.parametrize("target", [branch("main", "3.0"), branch("0123abcd", "2.5")])
def test_what_is_no_release_is_named(target: Target) -> None:
    assert plan(patch(V1), settled(), target, release("1.0")) == edit(
        variant=VariantSpec(f"{target.name}.patch", targets=(target.name,)), behind="v1.0.patch"
    )
    assert variant_file(branch("a/b", "1")) == "a-b.patch"


def test_a_series_that_names_its_targets_gets_another_name() -> None:
    what = patch(
        VariantSpec("v1.0.patch", targets=("1.0",)), not_needed=(NotNeeded("TODO: carry it", targets=("2.0", "3.0")),)
    )

    assert plan(what, settled(), release("2.0"), release("1.0")) == edit(
        variant=VariantSpec("v2.0.patch", targets=("2.0",)), behind="v1.0.patch", needed_on="2.0"
    )


def test_a_variant_that_is_there_serves_the_target_too() -> None:
    done = settled(text=False, existing="v1.0.patch")

    assert plan(patch(V1), done, release("2.0"), release("1.0")) == edit()
    closed = replace(V1, releases=">=1.0,<2.0")
    assert plan(patch(closed), done, release("2.0"), release("1.0")) == edit(targets={"v1.0.patch": ("2.0",)})


def test_a_hunk_that_is_left_out_is_not_for_the_target_and_what_follows() -> None:
    done = settled(left_out={"two": "upstreamed: u"})
    made = plan(patch(V1), done, release("2.0"), release("1.0"))

    assert made.hunk_releases == {"two": "<2.0"}
    assert plan(patch(V1), done, branch("main", "3.0"), release("1.0")).hunk_not_on == {"two": ("main",)}


def test_a_hunk_that_a_later_release_has_is_left_out_of_the_target_alone() -> None:
    what = patch(replace(V1, releases=">=1.0,<3.0"), VariantSpec("v3.0.patch", ">=3.0"))
    done = settled(left_out={"two": "upstreamed: u"})
    made = plan(what, done, release("2.0"), release("1.0"), release("2.1"), release("3.0"))

    assert made.hunk_releases == {"two": "!=2.0,!=2.1"}


def test_a_hunk_that_is_not_for_the_target_anyway_is_left_alone() -> None:
    what = patch(V1, hunks=(hunk("one"), hunk("two", releases="<2.0")))

    assert plan(what, settled(left_out={"two": "u"}), release("2.0"), release("1.0")).hunk_releases == {}


def test_a_patch_of_which_nothing_is_left_is_not_needed() -> None:
    done = settled(text=False, left_out={"one": "upstreamed: u", "two": "obsolete: o"})
    made = plan(patch(V1), done, release("2.0"), release("1.0"))
    reason = "PROPOSED: every hunk is left out: one (upstreamed: u); two (obsolete: o)."

    assert made == edit(
        releases={"v1.0.patch": ">=1.0,<2.0"},
        not_needed=NotNeeded(reason, ">=2.0"),
        hunk_releases={"one": "<2.0", "two": "<2.0"},
        left_out=(
            LeftOut(hunk="one", target="2.0", reason="upstreamed: u"),
            LeftOut(hunk="two", target="2.0", reason="obsolete: o"),
        ),
        decided_on="2.0",
    )


def test_why_a_hunk_is_left_out_is_kept_for_the_target_and_for_a_branch_with_its_commit() -> None:
    done = settled(left_out={"two": "skipped: so", "<whole file>": "skipped: so"})

    assert plan(patch(V1), done, release("2.0"), release("1.0")).left_out == (
        LeftOut(hunk="two", target="2.0", reason="skipped: so"),
    )
    assert plan(patch(V1), done, branch("main", "3.0"), release("1.0")).left_out == (
        LeftOut(hunk="two", target="main", commit="0" * 40, reason="skipped: so"),
    )


def test_what_was_decided_before_goes_when_the_hunk_is_carried_after_all() -> None:
    what = patch(V1, left_out=(LeftOut(hunk="two", target="2.0", reason="skipped: so"),))
    made = plan(what, settled(), release("2.0"), release("1.0"))

    assert (made.left_out, made.decided_on) == ((), "2.0")
    assert plan(what, settled(), release("3.0"), release("1.0")).decided_on is None


def test_a_branch_whose_as_of_version_a_range_holds_cannot_be_exempted() -> None:
    done = settled(text=False, left_out={"one": "u", "two": "u"})
    problem = plan_edit(patch(V1), done, branch("main", "3.0"), [release("1.0")], None, today=TODAY)

    assert isinstance(problem, Problem)
    assert problem.message == "every hunk is left out, and v1.0.patch claims main by its range"


def test_a_hunk_in_another_scope_gets_an_entry_of_its_own() -> None:
    planned = plan_edit(
        patch(V1), settled(scopes={"one": "g"}), release("2.0"), [release("1.0"), release("2.0")], None, today=TODAY
    )

    assert isinstance(planned, Planned)
    assert planned.renamed == {"one": "one-2-0"}
    assert planned.edit.hunks == {"one": hunk("one-2-0", scope="g", releases=">=2.0")}
    assert planned.edit.hunk_releases == {"one": "<2.0"}


def test_a_hunk_takes_the_entry_that_waits_for_it_in_its_new_scope() -> None:
    what = patch(V1, hunks=(hunk("one", releases="<2.0"), hunk("two"), hunk("one-late", scope="g", releases=">=2.0")))
    planned = plan_edit(
        what, settled(scopes={"one": "g"}), release("2.0"), [release("1.0"), release("2.0")], None, today=TODAY
    )

    assert isinstance(planned, Planned)
    assert (planned.renamed, planned.edit.hunks) == ({"one": "one-late"}, {})
