from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from trees.faults import full_disk, killed_at, tripped
from trees.reporters import Told
from trees.repositories import damaged_tags, git, put, record
from trees.snapshots import contents, lay, snapshot

from patchkit.core.rebasing.rebased import PatchRebase, Rebased
from patchkit.core.report import Problem
from patchkit.errors import PatchkitError, StoreError, TreeError, UsageError, WriteFailedError
from patchkit.operations.lint import lint
from patchkit.operations.rebase import abort, rebase, resume
from patchkit.operations.rebase_run import Surroundings
from patchkit.operations.rebase_session import Request
from patchkit.operations.rebase_signed import Signed
from patchkit.operations.regenerate import regenerate
from patchkit.operations.sources import load_workspace
from patchkit.store.edit_dir import EditDir
from patchkit.store.memory import load_resolutions

from .carried_world import CODE, CODE_1, FIRST, NOTES, NOTES_1, World, spaced

SIGNED = Signed("A U Thor <author@example.org>", "It is what upstream wants.")
NOBODY = Signed(None, None)
UNWANTED = Signed(None, "Blue is what we want now.")

# What upstream may have done to the texts.

MOVED = {CODE: CODE_1.replace(b'"""Buffers."""\n', b'"""Buffers."""\n\nimport sys\n')}
NEAR = {CODE: CODE_1.replace(b"        self.kind = kind\n\n", b"        self.kind = kind\n        self.more = 1\n\n")}
DRIFTED = {CODE: CODE_1.replace(b"        self.size = size\n", b"        self.size = check(size)\n", 1)}
CLASH = {NOTES: NOTES_1.replace(b"colour: red", b"colour: blue")}
CLASH_2 = {NOTES: NOTES_1.replace(b"end: here", b"end: nowhere")}
HAS_IT = {NOTES: NOTES_1.replace(b"colour: red", b"colour: green").replace(b"height: 2", b"height: 9")}
REFUSED = {
    CODE: CODE_1.replace(
        b"    def reload(self):\n",
        b"    def spare(self):\n        with region():\n            self.grads = make(2)\n\n    def reload(self):\n",
    )
}


class Run:
    """The operations on one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.around = Surroundings(today="2026-11-30", cache=world.cache)

    def onto(self, target: str = "2.0", **asked: object) -> Rebased:
        request = Request(onto=target)
        return rebase(self.world.series, replace(request, **asked), self.around)

    def go_on(self, signed: Signed = SIGNED, **how: bool) -> Rebased:
        return resume(self.world.series, self.around, signed=signed, **how)

    def edit(self, patch: str, path: str, old: bytes, new: bytes) -> None:
        file = self.world.series / ".rebase" / "2.0" / patch / path
        text = file.read_bytes()
        assert text.count(old) == 1
        file.write_bytes(text.replace(old, new))

    def solve(self, patch: str, path: str, line: bytes) -> None:
        """Replace the one conflict of a file."""
        file = self.world.series / ".rebase" / "2.0" / patch / path
        head, _, rest = file.read_bytes().partition(b"<<<<<<< ")
        _, _, tail = rest.partition(b">>>>>>> ")
        file.write_bytes(head + line + tail.partition(b"\n")[2])


@pytest.fixture
def world(tmp_path: Path) -> Callable[[dict[str, bytes]], Run]:
    return lambda newer: Run(World(tmp_path / "world", newer))  # type: ignore[arg-type]  # a dict is invariant


def patch_of(result: Rebased, name: str) -> PatchRebase:
    return next(patch for patch in result.patches if patch.name == name)


def verdicts(result: Rebased) -> dict[str, dict[str, str]]:
    return {patch.name: {hunk.id: hunk.verdict for hunk in patch.hunks} for patch in result.patches}


def states(result: Rebased) -> dict[str, str]:
    return {patch.name: patch.state for patch in result.patches}


def proved(run: Run) -> None:
    """What was written is a series in order: nothing to regenerate, nothing for lint to say."""
    again = regenerate(run.world.series, check=True, cache=run.world.cache)
    assert (again.ok, again.problems) == (True, ())
    assert lint(run.world.series, cache=run.world.cache).findings == ()


# Nothing is in the way.


def test_a_variant_that_gives_the_carried_text_already_is_taken_and_no_other_is_made(world: Callable[..., Run]) -> None:
    run = world(MOVED)
    result = run.onto()

    assert (result.ok, result.verdict, states(result)) == (True, "written", {"first": "already", "second": "already"})
    assert [patch.variant for patch in result.patches] == ["v1.0.patch", "v1.0.patch"]
    assert sorted(path.name for path in run.world.series.glob("*/variants/*")) == ["v1.0.patch", "v1.0.patch"]
    assert (run.world.series / "first" / "patch.yaml").read_bytes() == FIRST
    proved(run)
    assert "2.0" in load_workspace(run.world.series).sources.lock.targets


def test_a_series_that_has_the_target_says_so_and_writes_nothing(world: Callable[..., Run]) -> None:
    run = world(MOVED)
    run.onto()
    before = snapshot(run.world.root)
    result = run.onto()

    assert (result.ok, result.verdict, result.written) == (True, "already", ())
    assert snapshot(run.world.root) == before


def test_carried_hunks_make_a_variant_with_their_ids_and_its_range_begins_at_the_target(
    world: Callable[..., Run],
) -> None:
    run = world({CODE: NEAR[CODE]})
    result = run.onto(accept=True)

    assert (result.ok, result.verdict) == (True, "written")
    assert states(result) == {"first": "accepted", "second": "already"}
    made = (run.world.series / "first" / "variants" / "v2.0.patch").read_bytes()
    assert made == spaced(b"""\
--- a/megatron/core/buffer.py
+++ b/megatron/core/buffer.py
@@ -9,7 +9,8 @@ grads-region
         self.kind = kind
         self.more = 1

-        self.grads = make(size)
+        with region():
+            self.grads = make(size)

     def reload(self):
         \"\"\"Make it anew.\"\"\"
--- a/megatron/core/notes.md
+++ b/megatron/core/notes.md
@@ -1,5 +1,5 @@ notes-colour
 name: buffer
-colour: red
+colour: green
 weight: 1

 shape: round
""")
    expected = FIRST.replace(b"last-update: 2026-01-02", b"last-update: 2026-11-30").replace(
        b'releases: ">=1.0"\n', b'releases: ">=1.0,<2.0"\n  - file: v2.0.patch\n    releases: ">=2.0"\n'
    )
    assert (run.world.series / "first" / "patch.yaml").read_bytes() == expected
    proved(run)


def test_a_dry_run_says_the_same_and_writes_nothing(world: Callable[..., Run]) -> None:
    run = world({CODE: NEAR[CODE]})
    before = snapshot(run.world.root)
    run.around = replace(run.around, dry_run=True)
    result = run.onto(accept=True)

    assert (result.ok, result.verdict, states(result)) == (
        True,
        "would-write",
        {"first": "accepted", "second": "already"},
    )
    assert any(path.endswith("first/variants/v2.0.patch") for path in result.written)
    assert snapshot(run.world.root) == before
    assert run.onto().edit_dir is None
    assert snapshot(run.world.root) == before


# Something is to be looked at.


def test_drift_stops_the_rebase_and_shows_both_scopes(world: Callable[..., Run]) -> None:
    run = world(DRIFTED)
    before = run.world.sources()
    result = run.onto()
    room = run.world.series / ".rebase" / "2.0"

    assert (result.ok, result.verdict, result.edit_dir) == (False, "review", str(room))
    assert [drift.scope for drift in patch_of(result, "first").hunks[0].drift] == ["Buffer.__init__"]
    assert run.world.sources() == before
    page = (room / "review" / "first" / "buffer.Buffer.__init__.txt").read_text()
    assert "self.size = size" in page
    assert "self.size = check(size)" in page
    assert (room / ".gitignore").read_text() == "*\n"


def test_what_asks_for_review_is_written_only_when_it_is_accepted(world: Callable[..., Run]) -> None:
    run = world(DRIFTED)
    run.onto()
    refused = run.go_on(NOBODY)
    assert (refused.ok, refused.verdict) == (False, "review")
    assert "drift: Buffer.__init__ changed" in refused.problems[0].message
    result = run.go_on(NOBODY, accept=True)

    assert (result.ok, result.verdict, result.edit_dir) == (True, "written", None)
    assert not (run.world.series / ".rebase").exists()
    proved(run)


def test_accepting_one_patch_does_not_accept_the_next(world: Callable[..., Run]) -> None:
    run = world({CODE: DRIFTED[CODE].replace(b"        size = self.size\n", b"        size = int(self.size)\n")})
    run.onto()
    result = run.go_on(NOBODY, accept=True)

    assert (result.ok, result.verdict, states(result)) == (False, "review", {"first": "accepted", "second": "review"})
    assert run.go_on(NOBODY, accept=True).verdict == "written"


def test_a_hunk_that_upstream_has_is_left_out_with_the_rule_quoted_and_only_when_accepted(
    world: Callable[..., Run],
) -> None:
    run = world(HAS_IT)
    result = run.onto()
    hunk = patch_of(result, "first").hunks[1]
    assert (result.verdict, hunk.verdict, hunk.drop_when) == ("review", "upstreamed", "Upstream has it.")
    run.go_on(NOBODY, accept=True)

    text = (run.world.series / "first" / "variants" / "v2.0.patch").read_text()
    assert "grads-region" in text
    assert "notes-colour" not in text
    assert 'intent: Another colour.\n    releases: "<2.0"\n' in (run.world.series / "first" / "patch.yaml").read_text()
    proved(run)


def test_a_version_that_upstream_has_gone_beyond_is_left_out_and_only_when_accepted(
    world: Callable[..., Run], beyond: dict[str, bytes]
) -> None:
    run = world(beyond)
    result = run.onto()
    hunk = patch_of(result, "first").hunks[1]
    assert (result.verdict, hunk.verdict, hunk.review) == (
        "review",
        "superseded",
        ("superseded: the variant would not have it",),
    )
    assert hunk.reason == "both sides set the version, and the target's 2.0 stays: it is higher than 1.1"
    run.go_on(NOBODY, accept=True)

    text = (run.world.series / "first" / "variants" / "v2.0.patch").read_text()
    assert "grads-region" in text
    assert "notes-colour" not in text
    proved(run)


def test_a_file_that_is_gone_leaves_its_hunks_out(world: Callable[..., Run]) -> None:
    run = world({NOTES: None})
    result = run.onto(accept=True)

    assert verdicts(result)["first"] == {"grads-region": "exact", "notes-colour": "obsolete"}
    assert result.verdict == "written"
    proved(run)


def test_a_patch_of_which_nothing_is_left_is_not_needed_there(world: Callable[..., Run]) -> None:
    run = world(
        {
            NOTES: NOTES_1.replace(b"end: here", b"end: there"),
            CODE: CODE_1.replace(
                b"        self.grads = make(size)\n\n\n",
                b"        self.grads = make(size)\n        self.marked = True\n\n\n",
            ),
        }
    )
    result = run.onto(accept=True)

    assert result.verdict == "written"
    assert verdicts(result)["second"] == {"reload-mark": "upstreamed", "notes-end": "upstreamed"}
    text = (run.world.series / "second" / "patch.yaml").read_text()
    assert 'releases: ">=1.0,<2.0"' in text
    assert "not-needed:\n" in text
    again = regenerate(run.world.series, check=True, cache=run.world.cache)
    assert (again.ok, again.problems) == (True, ())
    # Why it is not needed was made up, and waits for a person.
    assert {finding.rule for finding in lint(run.world.series, cache=run.world.cache).findings} == {"unwritten"}


def test_a_check_that_does_not_hold_cannot_be_accepted(world: Callable[..., Run]) -> None:
    run = world(REFUSED)
    before = run.world.sources()
    result = run.onto(accept=True)

    assert (result.ok, result.verdict) == (False, "conflict")
    assert "check grads-in-region expects 1 matches and finds 2" in patch_of(result, "first").reason
    assert run.go_on(accept=True).verdict == "conflict"
    assert run.world.sources() == before


# A conflict.


def test_a_conflict_leaves_marks_that_name_patch_hunk_and_both_targets(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    before = run.world.sources()
    result = run.onto()

    assert (result.ok, result.verdict) == (False, "conflict")
    assert states(result) == {"first": "conflict", "second": "already"}
    assert [patch.provisional for patch in result.patches] == [False, True]
    assert (
        (run.world.series / ".rebase" / "2.0" / "first" / NOTES).read_bytes()
        == b"""\
name: buffer
<<<<<<< v2.0
colour: blue
||||||| v1.0, which first was made for
colour: red
=======
colour: green
>>>>>>> first: notes-colour
weight: 1

shape: round
height: 2
width: 3
depth: 4

end: here
"""
    )
    assert b"with region():" in (run.world.series / ".rebase" / "2.0" / "first" / CODE).read_bytes()
    assert run.world.sources() == before


def test_marks_that_are_left_are_refused_with_file_and_line(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    run.onto()
    result = run.go_on()

    assert (result.ok, result.verdict) == (False, "conflict")
    file = run.world.series / ".rebase" / "2.0" / "first" / NOTES
    assert [(problem.path, problem.line) for problem in result.problems] == [(str(file), 2)]


def test_a_solved_conflict_is_written_and_remembered(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    run.onto()
    run.solve("first", NOTES, b"colour: green and blue\n")
    result = run.go_on()

    assert (result.ok, result.verdict, states(result)) == (True, "written", {"first": "clean", "second": "already"})
    assert verdicts(result)["first"] == {"grads-region": "exact", "notes-colour": "solved"}
    proved(run)
    (known,) = load_resolutions(run.world.series).values()
    assert (known.patch, known.hunks, known.file) == ("first", ("notes-colour",), NOTES)
    assert (known.resolution, known.author, known.reason) == ("colour: green and blue\n", SIGNED.author, SIGNED.reason)
    assert (known.base, known.target) == ("v1.0", "v2.0")
    assert not (run.world.series / ".rebase").exists()


def test_later_patches_are_carried_onto_what_the_person_wrote(world: Callable[..., Run]) -> None:
    run = world({NOTES: CLASH[NOTES].replace(b"end: here", b"end: nowhere")})
    run.onto()
    run.solve("first", NOTES, b"colour: blue-green\n")
    second = run.go_on()
    assert (second.verdict, states(second)) == ("conflict", {"first": "clean", "second": "conflict"})
    assert b"colour: blue-green\n" in (run.world.series / ".rebase" / "2.0" / "second" / NOTES).read_bytes()
    run.solve("second", NOTES, b"end: everywhere\n")
    result = run.go_on()

    assert result.verdict == "written"
    assert len(load_resolutions(run.world.series)) == 2
    proved(run)


@pytest.mark.parametrize(
    ("signed", "problem"),
    [
        (Signed("A <a@b>", None), "why is it right so"),
        (Signed("A <a@b>", " "), "why"),
        (Signed(None, "so"), "who solved"),
    ],
)
def test_a_solution_needs_an_author_and_a_reason(world: Callable[..., Run], signed: Signed, problem: str) -> None:
    run = world(CLASH)
    run.onto()
    run.solve("first", NOTES, b"colour: none\n")
    before = snapshot(run.world.root)
    with pytest.raises(UsageError, match=problem):
        run.go_on(signed)

    assert snapshot(run.world.root) == before


def test_a_remembered_resolution_is_used_visibly_and_asks_for_review(world: Callable[..., Run], tmp_path: Path) -> None:
    run = world(CLASH)
    run.onto()
    run.solve("first", NOTES, b"colour: both\n")
    run.go_on()
    (key,) = load_resolutions(run.world.series)
    fresh = Run(World(tmp_path / "fresh", {**CLASH, CODE: MOVED[CODE]}))
    kept = run.world.series / "resolutions" / f"{key}.yaml"
    (fresh.world.series / "resolutions").mkdir()
    (fresh.world.series / "resolutions" / kept.name).write_bytes(kept.read_bytes())
    asked = fresh.onto()
    hunk = patch_of(asked, "first").hunks[1]

    assert (asked.verdict, hunk.verdict, hunk.resolution) == ("review", "merged", key)
    assert hunk.reason == f"resolution {key} by {SIGNED.author}: {SIGNED.reason}"
    abort(fresh.world.series)
    assert fresh.onto(accept_resolutions=True).verdict == "written"
    assert b"+colour: both\n" in (fresh.world.series / "first" / "variants" / "v2.0.patch").read_bytes()
    proved(fresh)


def test_a_resolution_is_offered_and_not_used_where_the_surroundings_differ(
    world: Callable[..., Run], tmp_path: Path
) -> None:
    run = world(CLASH)
    run.onto()
    run.solve("first", NOTES, b"colour: both\n")
    run.go_on()
    (key,) = load_resolutions(run.world.series)
    fresh = Run(World(tmp_path / "fresh", {NOTES: CLASH[NOTES].replace(b"shape: round", b"shape: square")}))
    (fresh.world.series / "resolutions").mkdir()
    kept = run.world.series / "resolutions" / f"{key}.yaml"
    (fresh.world.series / "resolutions" / kept.name).write_bytes(kept.read_bytes())
    result = fresh.onto(accept=True, accept_resolutions=True)

    assert (result.verdict, verdicts(result)["first"]["notes-colour"]) == ("conflict", "conflict")
    readme = (fresh.world.series / ".rebase" / "2.0" / "README.md").read_text()
    assert f"{key}, by {SIGNED.author}, v1.0 to v2.0: {SIGNED.reason}\n\n    colour: both\n" in readme


def test_skip_leaves_out_the_hunks_in_conflict_and_says_so(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    run.onto()
    result = run.go_on(UNWANTED, skip=True)

    assert (result.ok, result.verdict) == (True, "written")
    assert verdicts(result)["first"] == {"grads-region": "exact", "notes-colour": "skipped"}
    assert patch_of(result, "first").hunks[1].reason == "left out by --skip: Blue is what we want now."
    assert b"notes-colour" not in (run.world.series / "first" / "variants" / "v2.0.patch").read_bytes()
    assert load_resolutions(run.world.series) == {}
    proved(run)


def test_what_is_left_to_look_at_after_skip_is_accepted_with_skip(world: Callable[..., Run]) -> None:
    run = world({**CLASH, **DRIFTED})
    run.onto()
    asked = run.go_on(UNWANTED, skip=True)

    assert [problem.hint for problem in asked.problems] == [
        "correct it in the edit directory, or take it as it is with --skip --accept"
    ]
    assert run.go_on(UNWANTED, skip=True, accept=True).verdict == "written"


@pytest.mark.parametrize("reason", [None, " \n"])
def test_leaving_out_a_hunk_needs_a_reason(world: Callable[..., Run], reason: str | None) -> None:
    run = world(CLASH)
    run.onto()
    before = snapshot(run.world.root)
    with pytest.raises(UsageError, match="why are hunks left out") as caught:
        run.go_on(Signed("A <a@b>", reason), skip=True)

    assert caught.value.hint is not None
    assert "--reason" in caught.value.hint
    assert snapshot(run.world.root) == before


def test_a_hunk_that_is_skipped_is_left_out_with_all_its_places(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    variant = run.world.series / "first" / "variants" / "v1.0.patch"
    text = variant.read_bytes()
    assert text.endswith(b" shape: round\n")
    variant.write_bytes(
        text.removesuffix(b" shape: round\n").replace(b"@@ -1,5 +1,5 @@ notes", b"@@ -1,8 +1,8 @@ notes")
        + b"-shape: round\n+shape: oval\n height: 2\n width: 3\n depth: 4\n"
    )
    run.onto()
    draft = (run.world.series / ".rebase" / "2.0" / "first" / NOTES).read_bytes()
    assert b"shape: oval" in draft
    result = run.go_on(UNWANTED, skip=True)

    assert verdicts(result)["first"]["notes-colour"] == "skipped"
    assert result.verdict == "written"
    assert b"oval" not in (run.world.series / "first" / "variants" / "v2.0.patch").read_bytes()


# Lines that had no conflict.

BOTH_FILES = {**CLASH, CODE: MOVED[CODE]}
REGION = b"        with region():\n            self.grads = make(size)\n"
LOST = (
    "2 lines that it adds are gone: `with region():`, `self.grads = make(size)`; "
    "1 line that it takes out is back: `self.grads = make(size)`"
)


@pytest.fixture
def undone(world: Callable[..., Run]) -> Run:
    """A rebase of which the one conflict was solved, and a hunk of the other patch undone on the way."""
    run = world({NOTES: CLASH_2[NOTES]})
    run.onto()
    run.solve("second", NOTES, b"end: nowhere\n")
    run.edit("second", CODE, b"        self.marked = True\n", b"")
    return run


def test_lines_of_a_hunk_that_had_no_conflict_are_not_lost_in_silence(undone: Run) -> None:
    before = snapshot(undone.world.root)
    for how in ({}, {"accept": True}, {"skip": True}):
        result = undone.go_on(SIGNED, **how)
        assert (result.ok, result.verdict) == (False, "conflict")
        (problem,) = result.problems
        assert problem == Problem(
            "1 line that it adds is gone: `self.marked = True`",
            str(undone.world.series / ".rebase" / "2.0" / "second" / CODE),
            hunk="reload-mark",
            line=18,
            patch="second",
            hint="put it right, or say that it is meant with --accept-loss reload-mark",
        )

    assert snapshot(undone.world.root) == before


def test_a_rebase_that_was_accepted_at_its_beginning_does_not_lose_lines_either(world: Callable[..., Run]) -> None:
    run = world(BOTH_FILES)
    run.onto(accept=True)
    run.solve("first", NOTES, b"colour: blue\n")
    run.edit("first", CODE, REGION, b"        self.grads = make(size)\n")
    result = run.go_on()

    assert [problem.message for problem in result.problems] == [LOST]


def test_lines_are_lost_when_a_person_says_which_hunk_and_why(undone: Run) -> None:
    with pytest.raises(UsageError, match="why is it right so"):
        undone.go_on(replace(NOBODY, meant=("reload-mark",)))
    with pytest.raises(UsageError, match="--accept-loss notes-end: no such hunk of second has lost a line"):
        undone.go_on(replace(SIGNED, meant=("reload-mark", "notes-end")))
    result = undone.go_on(replace(SIGNED, meant=("reload-mark",)))

    assert (result.ok, result.verdict) == (True, "written")
    hunk, _ = patch_of(result, "second").hunks
    assert (hunk.verdict, hunk.reason) == ("skipped", f"left out by hand: {SIGNED.reason}")
    text = (undone.world.series / "second" / "patch.yaml").read_text()
    assert 'intent: Leave a mark.\n    releases: "<2.0"\n' in text


def test_a_hunk_that_keeps_some_of_its_lines_says_how_many_it_lost(world: Callable[..., Run]) -> None:
    run = world(DRIFTED)
    run.onto()
    run.edit("first", CODE, REGION, b"        with region():\n            pass\n        self.grads = make(size)\n")
    (problem,) = run.go_on(accept=True).problems
    assert problem.message == (
        "1 line that it adds is gone: `self.grads = make(size)`; 1 line that it takes out is back: "
        "`self.grads = make(size)`"
    )
    told = run.go_on(replace(SIGNED, meant=("grads-region",)), accept=True)

    # What was taken out is a decision; what the patch's own check says of it is another one.
    assert told.problems[0].message.startswith("check grads-in-region expects 1 matches and finds 0")
    assert patch_of(told, "first").hunks[0].reason == (
        f"the target changed lines nearby; 2 lines taken out by hand: {SIGNED.reason}"
    )


def test_an_edit_beside_the_hunks_belongs_to_no_hunk_and_is_refused(world: Callable[..., Run]) -> None:
    run = world(DRIFTED)
    run.onto()
    run.edit("first", CODE, b'    """Return memory."""\n', b'    """Return new memory."""\n')
    result = run.go_on(accept=True)

    assert (result.ok, result.verdict) == (False, "conflict")
    assert result.problems[0].message.endswith(f"{CODE}:21: this change belongs to no hunk of the patch")
    # What the edit made of the hunks of this file is not known: nothing is said of upstream, or of leaving one out.
    assert [hunk.verdict for hunk in patch_of(result, "first").hunks if hunk.path == CODE] == ["merged"]


def test_what_the_person_wrote_goes_through_the_gates(world: Callable[..., Run]) -> None:
    run = world(DRIFTED)
    run.onto()
    run.edit("first", CODE, b"            self.grads = make(size)\n", b"            self.grads = make(sizes)\n")
    refused = run.go_on()
    assert "unbound: megatron/core/buffer.py:12: sizes is not bound in Buffer.__init__" in refused.problems[0].message
    run.edit("first", CODE, b"make(sizes)\n", b"make(size\n")
    broken = run.go_on(accept=True)

    assert (broken.ok, broken.verdict) == (False, "conflict")
    assert "syntax: megatron/core/buffer.py" in broken.problems[0].message


# What was left out before.


def told(result: Rebased, name: str) -> dict[str, str]:
    return {hunk.id: hunk.reason for hunk in patch_of(result, name).hunks if hunk.verdict == "skipped"}


def test_a_hunk_that_was_skipped_is_told_with_its_reason_and_not_asked_about_again(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    run.onto()
    run.go_on(UNWANTED, skip=True)
    before = snapshot(run.world.root)
    result = run.onto()

    assert (result.ok, result.verdict, states(result)) == (True, "already", {"first": "already", "second": "already"})
    why = "skipped: left out by --skip: Blue is what we want now."
    assert told(result, "first") == {"notes-colour": f"left out before: {why}"}
    assert (
        f"left-out:\n  - hunk: notes-colour\n    target: '2.0'\n    reason: '{why}'\n"
        in (run.world.series / "first" / "patch.yaml").read_text()
    )
    assert snapshot(run.world.root) == before


ALL_OF_SECOND = {
    NOTES: NOTES_1.replace(b"end: here", b"end: there"),
    CODE: CODE_1.replace(
        b"        self.grads = make(size)\n\n\n",
        b"        self.grads = make(size)\n        self.marked = True\n\n\n",
    ),
}


def test_a_patch_of_which_nothing_was_left_is_not_asked_about_again(world: Callable[..., Run]) -> None:
    run = world(ALL_OF_SECOND)
    run.onto(accept=True)
    before = snapshot(run.world.root)
    result = run.onto()

    assert (result.ok, result.verdict, states(result)["second"]) == (True, "already", "not-needed")
    why = "left out before: upstreamed: the target has the same change"
    assert told(result, "second") == {"reload-mark": why, "notes-end": why}
    assert snapshot(run.world.root) == before


@pytest.mark.parametrize(("entries", "ranges"), [(True, True), (True, False), (False, True)])
def test_whoever_takes_the_decision_out_is_asked_again(
    world: Callable[..., Run], *, entries: bool, ranges: bool
) -> None:
    run = world(ALL_OF_SECOND)
    run.onto(accept=True)
    file = run.world.series / "second" / "patch.yaml"
    text = file.read_text()
    text = text[: text.index("left-out:\n")] if entries else text
    file.write_text(text.replace('    releases: "<2.0"\n', "") if ranges else text)
    result = run.onto()

    assert (result.verdict, states(result)["second"]) == ("review", "review")


def test_a_hunk_that_the_base_was_made_without_is_named_when_it_is_carried_from(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    repository = run.world.repository()
    run.onto()
    run.go_on(UNWANTED, skip=True)
    (repository / NOTES).write_bytes(CLASH[NOTES].replace(b"depth: 4", b"depth: 7"))
    git(repository, "commit", "-q", "-a", "-m", "more")
    result = run.onto("main", repository=repository)

    assert (
        "first: notes-colour is not in v2.0 either, which this is carried from: "
        "skipped: left out by --skip: Blue is what we want now."
    ) in result.notes


@pytest.mark.parametrize("by_tag", [True, False])
def test_tags_that_are_damaged_and_not_asked_for_are_in_nobodys_way(world: Callable[..., Run], by_tag: bool) -> None:
    run = world(MOVED)
    repository = run.world.repository()
    commit = git(repository, "commit-tree", "-m", "tagged", "-p", "HEAD", "HEAD^{tree}")
    git(repository, "tag", "core_v2.0-mine", commit)
    damaged_tags(repository)
    git(repository, "update-ref", "refs/heads/other", git(repository, "commit-tree", "-m", "x", "HEAD^{tree}"))
    put(repository, b"garbage", b"", git(repository, "rev-parse", "other"))
    result = run.onto("core_v2.0-mine" if by_tag else commit, repository=repository)

    assert (result.ok, result.target) == (True, "core_v2.0-mine" if by_tag else commit[:8])


# What is gone from its place.

NEW_NOTES = "megatron/core/docs/notes.md"


def test_hunks_of_a_file_that_was_renamed_are_told_where_it_is_and_are_not_dropped(world: Callable[..., Run]) -> None:
    run = world({NOTES: None, NEW_NOTES: NOTES_1})
    before = run.world.sources()
    result = run.onto(accept=True)
    hunk = patch_of(result, "first").hunks[1]

    assert (result.ok, result.verdict, hunk.verdict) == (False, "conflict", "conflict")
    assert hunk.reason == f"the target has no such file: it is {NEW_NOTES} now (the same text)"
    assert (hunk.drop_when, hunk.review) == ("", ())
    (problem,) = run.go_on(accept=True).problems
    assert (problem.message, problem.path, problem.hunk) == (hunk.reason, NOTES, "notes-colour")
    assert problem.hint == "leave it out with --skip, and bring it to its new place with `patchkit capture`"
    assert run.world.sources() == before


def test_hunks_of_a_file_that_was_renamed_can_be_skipped_with_a_reason(world: Callable[..., Run]) -> None:
    run = world({NOTES: None, NEW_NOTES: NOTES_1})
    run.onto()
    first = run.go_on(UNWANTED, skip=True)
    assert (first.verdict, states(first)) == ("conflict", {"first": "clean", "second": "conflict"})
    result = run.go_on(UNWANTED, skip=True)

    assert result.verdict == "written"
    assert verdicts(result)["second"] == {"reload-mark": "exact", "notes-end": "skipped"}
    assert patch_of(result, "second").hunks[1].reason == (
        "left out by --skip: Blue is what we want now. "
        f"(the target has no such file: it is {NEW_NOTES} now (the same text))"
    )
    proved(run)


def test_a_function_of_a_file_that_was_cut_up_is_told_where_it_is(world: Callable[..., Run]) -> None:
    head, _, rest = CODE_1.partition(b"class Buffer:\n")
    of_class, _, function = rest.partition(b"\n\ndef make")
    run = world(
        {
            CODE: None,
            "megatron/core/a.py": b"class Buffer:\n" + of_class + b"\nMORE = [\n" + b"    1,\n" * 200 + b"]\n",
            "megatron/core/b.py": head + b"def make" + function + b"\nMORE = [\n" + b"    1,\n" * 200 + b"]\n",
        }
    )
    hunk = patch_of(run.onto(), "first").hunks[0]

    assert (hunk.verdict, hunk.reason) == (
        "conflict",
        "the target has no such file, and no new one like it; Buffer is Buffer in megatron/core/a.py now",
    )


OBSOLETE = {CODE: CODE_1.partition(b"class Buffer:\n")[0] + b"def make(size):\n    return [0] * size\n"}


def test_a_hunk_of_which_nothing_is_left_is_obsolete_with_the_evidence_and_still_a_decision(
    world: Callable[..., Run],
) -> None:
    run = world(OBSOLETE)
    result = run.onto(accept=True)
    hunk = patch_of(result, "first").hunks[0]

    assert (result.verdict, hunk.verdict) == ("conflict", "obsolete")
    assert hunk.reason == (
        "the target has no class or function Buffer.__init__, and none of the lines around the change: drop the hunk?"
    )
    assert hunk.review == (
        "drift: Buffer changed (gone)",
        "obsolete: --skip leaves it out, if that is right",
    )
    assert hunk.drop_when == "Upstream allocates in a region."
    readme = (run.world.series / ".rebase" / "2.0" / "README.md").read_text()
    assert f"obsolete: {hunk.reason}" in readme


def test_the_evidence_that_a_hunk_is_obsolete_is_kept_when_it_is_skipped(world: Callable[..., Run]) -> None:
    run = world({NOTES: b"wholly: different\n"})
    run.onto()
    first = run.go_on(UNWANTED, skip=True)

    assert patch_of(first, "first").hunks[1].reason == (
        "left out by --skip: Blue is what we want now. (obsolete: none of the lines that the hunk changes, or that "
        "stand around them, is in the target)"
    )


def test_a_hunk_of_which_a_part_is_obsolete_is_a_conflict_that_says_so(world: Callable[..., Run]) -> None:
    run = world({NOTES: b"something: else\nanother: thing\n" + NOTES_1[NOTES_1.index(b"\nshape") :]})
    variant = run.world.series / "first" / "variants" / "v1.0.patch"
    text = variant.read_bytes()
    variant.write_bytes(
        text[: text.index(b"@@ -1,5 +1,5 @@ notes")]
        + b"@@ -1,9 +1,9 @@ notes-colour\n-name: buffer\n+name: green buffer\n colour: red\n weight: 1\n \n"
        + b" shape: round\n-height: 2\n+height: 3\n width: 3\n depth: 4\n \n"
    )
    hunk = patch_of(run.onto(), "first").hunks[1]

    assert (hunk.verdict, hunk.reason) == ("conflict", "both sides changed these lines")
    (told,) = hunk.review
    assert told == (
        "in part obsolete: 1 of its 2 places: none of the lines that the hunk changes, or that stand around them, is "
        "in the target: drop the hunk?"
    )


# The unfinished rebase.


def test_abort_removes_the_edit_directory_and_changes_nothing(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    before = snapshot(run.world.root)
    run.onto()
    result = abort(run.world.series)

    assert (result.ok, result.verdict) == (True, "aborted")
    assert snapshot(run.world.root) == before


def test_a_second_rebase_is_refused_while_one_is_open(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    run.onto()
    before = snapshot(run.world.root)
    with pytest.raises(UsageError, match="there is an unfinished rebase"):
        run.onto()

    assert snapshot(run.world.root) == before


def test_without_an_unfinished_rebase_there_is_nothing_to_go_on_with(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    with pytest.raises(UsageError, match="has no unfinished rebase"):
        run.go_on()
    with pytest.raises(UsageError, match="has no unfinished rebase"):
        abort(run.world.series)


def test_a_series_that_changed_since_is_not_gone_on_with(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    run.onto()
    run.solve("first", NOTES, b"colour: none\n")
    (run.world.series / "second" / "patch.yaml").write_bytes(
        (run.world.series / "second" / "patch.yaml").read_bytes().replace(b"Leave a mark.", b"Leave another mark.")
    )
    with pytest.raises(UsageError, match="the series has changed since this rebase began"):
        run.go_on()


@pytest.mark.parametrize("how", [shutil.move, shutil.copytree], ids=["moved", "copied"])
def test_a_series_that_was_moved_or_copied_has_its_own_edit_directory(
    world: Callable[..., Run], tmp_path: Path, how: Callable[[Path, Path], object]
) -> None:
    run = world(CLASH)
    run.onto()
    there = run.world.root / "patches"
    shutil.copy(run.world.root / "upstream_versions.yaml", run.world.series)
    how(there, tmp_path / "elsewhere")
    run.world.series = tmp_path / "elsewhere" / "megatron"
    before = snapshot(there) if there.exists() else None
    run.solve("first", NOTES, b"colour: blue-green\n")
    result = run.go_on()

    assert (result.ok, result.verdict) == (True, "written")
    assert b"+colour: blue-green\n" in (run.world.series / "first" / "variants" / "v2.0.patch").read_bytes()
    assert before == (snapshot(there) if there.exists() else None)


def test_an_edit_directory_may_be_elsewhere_and_must_be_free(world: Callable[..., Run], tmp_path: Path) -> None:
    run = world(CLASH)
    place = tmp_path / "elsewhere"
    place.mkdir()
    (place / "mine").write_text("mine")
    run.around = replace(run.around, edit_dir=place)
    with pytest.raises(UsageError, match="is not empty"):
        run.onto()
    (place / "mine").unlink()
    result = run.onto()

    assert result.edit_dir == str(place)
    assert (place / "first" / NOTES).is_file()
    abort(run.world.series)
    assert not place.exists()


def test_where_no_edit_directory_can_be_is_refused_before_anything_is_carried_or_written(
    world: Callable[..., Run], tmp_path: Path
) -> None:
    run = world(CLASH)
    (tmp_path / "file").touch()
    before = snapshot(run.world.root)
    told = Told()
    run.around = replace(run.around, edit_dir=tmp_path / "file" / "x", reporter=told)
    with pytest.raises(UsageError, match=r"/file/x cannot be a folder: .*/file is a file$"):
        run.onto()

    assert (snapshot(run.world.root), told.lines) == (before, [])


def test_an_edit_directory_that_cannot_be_written_comes_with_what_to_do(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    before = snapshot(run.world.series)
    opened = run.world.series / ".rebase" / "open.yaml"
    with tripped(lambda _: opened.exists(), full_disk), pytest.raises(WriteFailedError) as caught:
        run.onto()
    command = f"patchkit rebase --abort --patches {run.world.series}"
    assert caught.value.hint == f"`{command}` drops what is left of it, and the series is as it was"
    abort(run.world.series)
    assert snapshot(run.world.series) == before

    run.onto()
    state = run.world.series / ".rebase" / "2.0" / "state.yaml"
    edit_dir = EditDir(run.world.series, state.parent)
    old = edit_dir.state()
    with tripped(lambda _: True, full_disk), pytest.raises(WriteFailedError) as caught:
        edit_dir.write(old, texts={"first": b"x"}, files={}, pages={}, resolutions={})
    command = f"patchkit rebase --continue --patches {run.world.series}"
    assert caught.value.hint == f"`{command}` goes on once that is mended"


def test_dropping_a_rebase_tells_no_target_that_it_does_not_know_and_what_is_in_the_way(
    world: Callable[..., Run], tmp_path: Path
) -> None:
    run = world(CLASH)
    place = tmp_path / "edits"
    run.around = replace(run.around, edit_dir=place)
    run.onto()
    (place / "state.yaml").write_text("")
    unknown = abort(run.world.series)
    shutil.rmtree(place)
    run.onto()
    place.rename(tmp_path / "real")
    place.symlink_to("real")
    linked = abort(run.world.series)

    left = f"{place} was left: it does not say that it is of a rebase of this series"
    assert (unknown.target, unknown.notes) == ("", (left,))
    why = f"{place}: is a link, and links are not followed"
    left = f"an edit directory outside of {run.world.series} was left, if there was one: {why}"
    assert (linked.target, linked.notes) == ("", (left,))


def test_an_edit_directory_in_the_series_is_refused_before_anything_is_carried(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    place = run.world.series / "work"
    for dry_run in (False, True):
        run.around = replace(run.around, edit_dir=place, dry_run=dry_run)
        with pytest.raises(UsageError, match=r"/work lies in the folder of the series, where it would be taken for a"):
            run.onto("9.9")
        run.around = replace(run.around, edit_dir=run.world.root / "other" / ".rebase" / "foo")
        with pytest.raises(UsageError, match=r"/other/\.rebase/foo is in a folder called \.rebase, as each series has"):
            run.onto("9.9")
    assert not (run.world.root / "other").exists()
    assert not (run.world.series / ".rebase").exists()


@pytest.mark.parametrize("at", range(1, 120, 5))
def test_killed_at_any_point_the_series_is_untouched_or_can_be_finished(world: Callable[..., Run], at: int) -> None:
    run = world({CODE: NEAR[CODE]})
    before = run.world.sources()
    killed_at(at, lambda: run.onto(accept=True))
    now = {path: text for path, text in run.world.sources().items() if "/." not in f"/{path}"}
    pending = (run.world.series / ".rebase" / "pending").exists()
    if pending and now != before:
        with pytest.raises(UsageError, match="written in part already"):
            abort(run.world.series)
        with pytest.raises(UsageError, match="was cut short"):
            run.onto(accept=True)
        assert run.go_on(NOBODY).verdict == "written"
    elif now == before:
        # What is left of it can be dropped, and the rebase begun again.
        with contextlib.suppress(UsageError):
            abort(run.world.series)
        assert run.world.sources() == before
        assert run.onto(accept=True).verdict == "written"

    assert not (run.world.series / ".rebase" / "pending").exists()
    proved(run)


@pytest.mark.parametrize("at", range(1, 60, 7))
def test_killed_while_it_stops_the_rebase_can_be_dropped(world: Callable[..., Run], at: int) -> None:
    run = world(CLASH)
    before = run.world.sources()
    killed_at(at, run.onto)

    assert run.world.sources() == before
    with contextlib.suppress(UsageError):
        abort(run.world.series)
    assert run.onto().verdict == "conflict"


@pytest.mark.parametrize("at", range(1, 160, 9))
def test_killed_while_it_goes_on_nothing_is_half_done(world: Callable[..., Run], at: int) -> None:
    run = world(CLASH)
    run.onto()
    run.solve("first", NOTES, b"colour: both\n")
    before = run.world.sources()
    killed_at(at, run.go_on)
    now = {path: text for path, text in run.world.sources().items() if "/." not in f"/{path}"}
    if now == before or (run.world.series / ".rebase" / "pending").exists():
        assert run.go_on().verdict == "written"
    else:
        # Written, and what is left of the edit directory can be dropped.
        with contextlib.suppress(UsageError):
            abort(run.world.series)

    proved(run)
    assert len(load_resolutions(run.world.series)) == 1
    assert not (run.world.series / ".rebase" / "open.yaml").exists()


@pytest.mark.parametrize("at", range(1, 120, 7))
def test_a_full_disk_leaves_the_series_as_it_was(world: Callable[..., Run], at: int) -> None:
    run = world({CODE: NEAR[CODE]})
    before = run.world.sources()
    with tripped(lambda calls: calls == at, full_disk), contextlib.suppress(PatchkitError, OSError):
        run.onto(accept=True)
    if run.world.sources() != before:
        if (run.world.series / ".rebase" / "pending").exists():
            assert run.go_on(NOBODY).verdict == "written"
        proved(run)


# Which base, which patches.


def test_an_unknown_target_and_an_unknown_base_are_usage(world: Callable[..., Run]) -> None:
    run = world(MOVED)
    for asked in ({"target": "9.9"}, {"base": "9.9"}, {"patches": ("nothing",)}):
        with pytest.raises(UsageError):
            run.onto(**asked)


def test_a_patch_that_was_not_asked_for_keeps_its_variant_and_later_ones_lie_on_it(world: Callable[..., Run]) -> None:
    run = world({NOTES: NOTES_1.replace(b"depth: 4\n", b"depth: 4\nlength: 5\n")})
    result = run.onto(patches=("second",), accept=True)

    assert (result.verdict, states(result)) == ("written", {"first": "kept", "second": "clean"})
    proved(run)


def test_one_patch_alone_does_not_go_where_the_others_have_no_variant_and_that_is_said_before_any_work(
    world: Callable[..., Run],
) -> None:
    run = world(NEAR)
    document = run.world.series / "second" / "patch.yaml"
    document.write_bytes(document.read_bytes().replace(b'releases: ">=1.0"', b'releases: "==1.0"'))
    before = run.world.sources()
    told = Told()
    run.around = replace(run.around, reporter=told)
    with pytest.raises(UsageError) as caught:
        run.onto(patches=("first",))

    assert caught.value.message == "second has no variant for v2.0 either, and a target needs every patch"
    command = f"patchkit rebase first second --onto 2.0 --patches {run.world.series}"
    assert caught.value.hint == f"carry them together: `{command}`, or name no patch for all"
    assert (told.lines, run.world.sources()) == ([], before)


def test_one_patch_alone_goes_where_the_others_are_not_needed(world: Callable[..., Run]) -> None:
    run = world(NEAR)
    document = run.world.series / "second" / "patch.yaml"
    text = document.read_bytes().replace(b'releases: ">=1.0"', b'releases: "==1.0"')
    document.write_bytes(text + b'not-needed:\n  - releases: ">=2.0"\n    reason: Upstream has it.\n')
    result = run.onto(patches=("first",), accept=True)

    assert (result.verdict, states(result)) == ("written", {"first": "accepted", "second": "kept"})


def test_the_order_is_that_of_the_series_and_the_base_side_has_the_patches_below(world: Callable[..., Run]) -> None:
    run = world({NOTES: b"new: line\n" + NOTES_1, CODE: MOVED[CODE]})
    result = run.onto()

    assert result.verdict == "written"
    assert [patch.name for patch in result.patches] == ["first", "second"]
    assert verdicts(result)["second"] == {"reload-mark": "moved", "notes-end": "moved"}
    proved(run)


RENAMED = {CODE: CODE_1.replace(b"    def reload(self):\n", b"    def again(self):\n")}


def test_a_hunk_in_a_scope_with_another_name_gets_an_entry_of_its_own_once_accepted(world: Callable[..., Run]) -> None:
    run = world(RENAMED)
    asked = run.onto()
    assert "reload-mark stands in Buffer.again now" in "".join(patch_of(asked, "second").review)
    result = run.go_on(NOBODY, accept=True) if asked.edit_dir else asked

    assert result.verdict == "written"
    text = (run.world.series / "second" / "patch.yaml").read_text()
    assert (
        "  - id: reload-mark-2-0\n    group: plumbing\n    file: megatron/core/buffer.py\n    scope: Buffer.again\n"
        in text
    )
    assert "@@ reload-mark-2-0\n" in (run.world.series / "second" / "variants" / "v2.0.patch").read_text()
    proved(run)


def test_what_the_series_was_made_for_has_nothing_before_it_and_is_there_already(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    before = run.world.sources()
    result = run.onto("1.0")

    assert (result.ok, result.verdict, states(result)) == (True, "already", {"first": "already", "second": "already"})
    assert run.world.sources() == before


# With git at hand.


def test_a_conflict_names_the_commit_and_pull_request_that_touched_the_lines(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    repository = run.world.repository()
    result = run.onto(repository=repository)
    (commit,) = patch_of(result, "first").hunks[1].commits

    assert (commit.subject, commit.pull_request) == ("Release 2.0 (#27)", 27)
    assert git(repository, "rev-parse", "main").startswith(commit.commit)


def test_a_release_that_nobody_tagged_has_the_history_of_one_with_the_same_text(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    run.around = replace(run.around, dry_run=True)
    repository = run.world.repository()
    versions = run.world.root / "upstream_versions.yaml"
    before = versions.read_text()
    start = before.index('    - version: "2.0"')
    entry = before[start : before.index("torch-memory-saver:")]
    commit = git(repository, "rev-parse", "main")
    untagged = re.sub(r"tag: \S+\n( +)commit: \S+", r"tag: null\n\1commit: null", entry)

    def commits(*more: str) -> list[int | None]:
        versions.write_text(before.replace(entry, "".join(more) + untagged))
        result = run.onto(repository=repository)
        return [each.pull_request for each in patch_of(result, "first").hunks[1].commits]

    # Until somebody tags it, what is known of 2.0 is its text.
    other = re.sub(
        r"commit: \S+", f"commit: {commit}", entry.replace('"2.0"', '"1.9"').replace("core_v2.0", "core_v1.9")
    )
    assert commits() == []
    assert commits(other) == [27]
    # The history of another text says nothing of this one.
    assert commits(other.replace(commit, record(lay(repository, {NOTES: b"else\n"}), "Another text"))) == []


def test_a_hunk_that_upstream_has_names_the_commit_that_brought_it(world: Callable[..., Run]) -> None:
    run = world(HAS_IT)
    repository = run.world.repository()
    hunk = patch_of(run.onto(repository=repository), "first").hunks[1]

    assert hunk.verdict == "upstreamed"
    assert [commit.pull_request for commit in hunk.commits] == [27]
    assert "upstream: " in (run.world.series / ".rebase" / "2.0" / "README.md").read_text()


def test_any_revision_can_be_a_target_and_gets_an_entry_of_its_own(world: Callable[..., Run]) -> None:
    run = world(MOVED)
    repository = run.world.repository()
    (repository / NOTES).write_bytes(NOTES_1.replace(b"depth: 4", b"depth: 7"))
    git(repository, "commit", "-q", "-a", "-m", "more")
    commit = git(repository, "rev-parse", "main")
    result = run.onto("main", repository=repository, accept=True)

    assert (result.ok, result.verdict, result.target) == (True, "written", commit[:8])
    versions = (run.world.root / "upstream_versions.yaml").read_text()
    assert versions.startswith("# What we know. This comment stays.\n")
    assert f"commit: {commit}" in versions
    again = regenerate(run.world.series, repository=repository, check=True, cache=run.world.cache)
    assert (again.ok, again.problems) == (True, ())


@pytest.mark.parametrize(
    ("asked", "annotated"), [("core_v2.1rc1", False), ("core_v2.1rc1", True), ("refs/tags/core_v2.1rc1", False)]
)
def test_a_tag_that_is_no_known_release_keeps_its_name_beside_its_commit(
    world: Callable[..., Run], asked: str, *, annotated: bool
) -> None:
    run = world({})
    repository = run.world.repository()
    (repository / NOTES).write_bytes(NOTES_1.replace(b"depth: 4", b"depth: 7"))
    git(repository, "commit", "-q", "-a", "-m", "more")
    git(repository, "tag", *(["-a", "-m", "rc"] if annotated else []), "core_v2.1rc1")
    git(repository, "tag", "other")
    commit = git(repository, "rev-parse", "main")
    result = run.onto(asked, repository=repository, accept=True)

    assert (result.verdict, result.target, result.commit) == ("written", "core_v2.1rc1", commit)
    assert patch_of(result, "second").variant == "core_v2.1rc1.patch"
    assert f"    - name: core_v2.1rc1\n      commit: {commit}\n" in (
        run.world.root / "upstream_versions.yaml"
    ).read_text().replace("'", "")
    assert (run.world.series / "generated" / "core_v2.1rc1.patch").is_file()
    again = run.onto("core_v2.1rc1", repository=repository)
    assert (again.verdict, again.target) == ("already", "core_v2.1rc1")


@pytest.mark.parametrize("asked", ["rc/1", "main", "core_v2.1rc1~0"])
def test_what_is_no_tag_or_could_name_no_file_is_called_by_its_commit(world: Callable[..., Run], asked: str) -> None:
    run = world({})
    repository = run.world.repository()
    (repository / NOTES).write_bytes(NOTES_1.replace(b"depth: 4", b"depth: 7"))
    git(repository, "commit", "-q", "-a", "-m", "more")
    git(repository, "tag", "rc/1")
    git(repository, "tag", "core_v2.1rc1")

    assert run.onto(asked, repository=repository).target == git(repository, "rev-parse", "main")[:8]


BRANCH = """\
  branches:
    - name: main
      commit: {}
      date: 2026-02-01
      as-of: "2.0"
      blobs: {{}}
torch-memory-saver:
"""


def test_a_branch_that_has_moved_gets_its_own_variant_carried_from_where_it_was(world: Callable[..., Run]) -> None:
    run = world({})
    repository = run.world.repository()
    versions = run.world.root / "upstream_versions.yaml"
    before = versions.read_text()
    commits = []
    for more in (b"1", b"2"):
        (repository / CODE).write_bytes(NEAR[CODE].replace(b"self.more = 1", b"self.more = " + more))
        git(repository, "commit", "-q", "-a", "-m", "more")
        commits.append(git(repository, "rev-parse", "main"))

    versions.write_text(before.replace("torch-memory-saver:\n", BRANCH.format(commits[0])))
    first = run.onto("main", repository=repository, accept=True)
    assert (first.verdict, states(first)["first"]) == ("written", "accepted")
    document = (run.world.series / "first" / "patch.yaml").read_bytes()
    assert b"  - file: main.patch\n    targets: [main]\n" in document

    versions.write_text(before.replace("torch-memory-saver:\n", BRANCH.format(commits[1])))
    refused = run.onto("main", repository=repository, accept=True)
    assert (refused.verdict, states(refused)["first"]) == ("refused", "differs")
    assert refused.problems[0].message.endswith("carry it from the commit it was made for with --from COMMIT")
    result = run.onto("main", base=commits[0], repository=repository, accept=True)

    assert (result.verdict, states(result)["first"]) == ("written", "accepted")
    assert b" self.more = 2\n" in (run.world.series / "first" / "variants" / "main.patch").read_bytes()
    assert (run.world.series / "first" / "patch.yaml").read_bytes() == document
    again = regenerate(run.world.series, repository=repository, check=True, cache=run.world.cache)
    assert (again.ok, again.problems) == (True, ())


def test_marks_that_the_target_has_itself_are_no_marks_of_ours(world: Callable[..., Run]) -> None:
    marked = NOTES_1.replace(b"shape: round\n", b"<<<<<<< a\nshape: round\n=======\nshape: flat\n>>>>>>> b\n")
    run = world({NOTES: marked})
    assert run.onto().verdict == "conflict"
    refused = run.go_on(UNWANTED, skip=True)
    assert refused.problems[0].message == "the marks cannot be told apart: solve this file by hand"
    (run.world.series / ".rebase" / "2.0" / "first" / NOTES).write_bytes(
        marked.replace(b"colour: red", b"colour: green")
    )
    result = run.go_on()

    assert (result.verdict, states(result)["first"]) == ("conflict", "clean")
    assert load_resolutions(run.world.series) == {}
    assert "cannot be used again" in result.notes[0]


def test_a_damaged_state_is_named_and_can_still_be_aborted(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    run.onto()
    (run.world.series / ".rebase" / "2.0" / "state.yaml").write_text("schema: 1\n")
    with pytest.raises(StoreError, match=r"state\.yaml"):
        run.go_on()
    (run.world.series / ".rebase" / "2.0" / "state.yaml").unlink()
    with pytest.raises(UsageError, match="cut short"):
        run.go_on()
    assert abort(run.world.series).ok
    assert not (run.world.series / ".rebase").exists()
    assert contents(run.world.series) == run.world.sources()


@pytest.mark.parametrize("text", ["", "# Written by `patchkit", "edit-dir: /", "edit-"])
def test_a_damaged_open_yaml_is_named_and_can_still_be_aborted(world: Callable[..., Run], text: str) -> None:
    run = world(CLASH)
    before = snapshot(run.world.root)
    run.onto()
    (run.world.series / ".rebase" / "open.yaml").write_text(text)
    with pytest.raises(PatchkitError) as caught:
        run.go_on()
    assert "--abort" in str(caught.value.hint)
    result = abort(run.world.series)

    assert (result.ok, result.verdict) == (True, "aborted")
    assert result.removed == (str(run.world.series / ".rebase" / "2.0"),)
    assert snapshot(run.world.root) == before
    assert run.onto().verdict == "conflict"


def test_the_rebase_of_another_series_is_neither_gone_on_with_nor_dropped(
    world: Callable[..., Run], tmp_path: Path
) -> None:
    run = world(CLASH)
    rebase(run.world.series, Request(onto="2.0"), replace(run.around, edit_dir=tmp_path / "edits"))
    before = contents(tmp_path / "edits")
    project = run.world.series.parents[1]
    other = shutil.copytree(project, tmp_path / "other") / run.world.series.relative_to(project)
    with pytest.raises(StoreError, match="this is a rebase of another series: "):
        resume(other, Surroundings(today="2026-11-30"), signed=NOBODY)
    result = abort(other)

    assert (result.verdict, result.removed) == ("aborted", ())
    left = f"{tmp_path / 'edits'} was left: it does not say that it is of a rebase of this series"
    assert result.notes == (left,)
    assert (contents(tmp_path / "edits"), (other / ".rebase").exists()) == (before, False)
    assert abort(run.world.series).removed == (str(tmp_path / "edits"),)


def test_a_write_that_was_cut_short_is_finished_whatever_became_of_open_yaml(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    run.onto()
    run.solve("first", NOTES, b"colour: both\n")
    kept = run.world.series / ".rebase" / "open.yaml"
    with tripped(lambda _: (run.world.series / ".rebase" / "pending").exists(), full_disk), pytest.raises(OSError):  # noqa: PT011 - whichever call it is
        run.go_on()
    kept.write_text("")
    result = run.go_on()

    assert (result.verdict, result.target) == ("written", "")
    assert not (run.world.series / ".rebase").exists()
    proved(run)


def test_a_write_that_is_finished_tells_what_it_wrote_and_what_it_removed(world: Callable[..., Run]) -> None:
    series = world(CLASH).world.series
    text = b'schema: 2\nfiles: ["first/variants/new.patch"]\nremoved: ["generated/old.patch"]\n'
    lay(series, {".rebase/pending/list.yaml": text, ".rebase/pending/0": b"new", "generated/old.patch": b"old"})
    result = resume(series, Surroundings(today="2026-11-30"), signed=NOBODY)

    told = (result.verdict, result.written, result.removed)
    home = series.resolve()
    assert told == ("written", (str(home / "first/variants/new.patch"),), (str(home / "generated/old.patch"),))


def test_a_file_that_was_not_handed_out_is_refused_by_name(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    run.onto()
    run.solve("first", NOTES, b"colour: both\n")
    place = run.world.series / ".rebase" / "2.0"
    new = [place / "todo.txt", place / "first" / "megatron" / "core" / "new.py"]
    for file in new:
        file.write_bytes(b"x = 1\n")
    before = snapshot(run.world.root)
    for how in ({}, {"accept": True}, {"skip": True}):
        result = run.go_on(SIGNED, **how)
        assert (result.ok, result.verdict) == (False, "conflict")
        assert [(problem.path, problem.message) for problem in result.problems] == [
            (str(file), "this file is none of the patch") for file in new
        ]
    assert snapshot(run.world.root) == before
    for file in new:
        file.unlink()

    assert run.go_on().verdict == "written"


@pytest.mark.parametrize("names", [(".draft/first",), ("first",), (".draft/first", "first")])
def test_a_file_that_was_handed_out_and_is_gone_is_refused_and_removes_nothing_of_upstreams(
    world: Callable[..., Run], names: tuple[str, ...]
) -> None:
    run = world(DRIFTED)
    run.onto()
    for name in names:
        (run.world.series / ".rebase" / "2.0" / name / CODE).unlink()
    before = run.world.sources()
    result = run.go_on(accept=True)

    assert (result.ok, result.verdict, run.world.sources()) == (False, "conflict", before)
    gone = "what was handed out of this file is not in the edit directory any more"
    assert result.problems[-1].message == ("the file is gone" if names == ("first",) else gone)


def test_a_file_that_was_saved_with_other_line_endings_is_refused(world: Callable[..., Run]) -> None:
    run = world(DRIFTED)
    run.onto()
    file = run.world.series / ".rebase" / "2.0" / "first" / CODE
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    before = run.world.sources()
    result = run.go_on(accept=True)

    assert run.world.sources() == before
    assert [(problem.message, problem.hint) for problem in result.problems] == [
        (
            "lines end with CR LF, which none did before",
            "save it with the line endings that it had",
        )
    ]


def test_what_is_changed_in_a_patch_that_is_settled_is_refused(world: Callable[..., Run]) -> None:
    run = world({NOTES: CLASH[NOTES].replace(b"end: here", b"end: nowhere")})
    run.onto()
    run.solve("first", NOTES, b"colour: both\n")
    run.go_on()
    run.solve("second", NOTES, b"end: everywhere\n")
    run.edit("first", NOTES, b"colour: both", b"colour: neither")
    (problem,) = run.go_on().problems

    assert (problem.message, problem.path) == (
        "the patch of this file is settled, and it was changed since",
        str(run.world.series / ".rebase" / "2.0" / "first" / NOTES),
    )


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("    name: first\n", "    name: {home}\n", "settled[0].report.name"),
        ("    name: first\n", "    name: ../../../home\n", "settled[0].report.name"),
        ("    name: first\n", "    name: second\n", "settled[0].report.name"),
        ("  existing: null\n", "  existing: ../../../../home/mine.txt\n", "settled[0].existing"),
        ("current: second\n", "current: ../../../home\n", "current"),
        ("current: second\n", "current: first\n", "current"),
    ],
)
def test_names_in_a_planted_state_are_those_of_the_series_or_nothing_is_done(
    world: Callable[..., Run], tmp_path: Path, old: str, new: str, key: str
) -> None:
    run = world({NOTES: CLASH[NOTES].replace(b"end: here", b"end: nowhere")})
    run.onto()
    run.solve("first", NOTES, b"colour: both\n")
    run.go_on()
    run.solve("second", NOTES, b"end: everywhere\n")
    home = lay(tmp_path / "home", {"mine.txt": b"mine", NOTES: b"mine"})
    file = run.world.series / ".rebase" / "2.0" / "state.yaml"
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new.format(home=home)))
    before = snapshot(tmp_path)
    with pytest.raises(StoreError) as caught:
        run.go_on()

    named = new.format(home=home).split(": ")[1].strip()
    assert caught.value.message == f"{file}: {key}: {named!r} is not what a rebase of this series has there"
    assert caught.value.hint == f"begin anew: `patchkit rebase --abort --patches {run.world.series}`"
    assert snapshot(tmp_path) == before
    assert abort(run.world.series).verdict == "aborted"


def test_a_link_in_the_edit_directory_is_refused(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    run.onto()
    file = run.world.series / ".rebase" / "2.0" / "first" / NOTES
    (run.world.root / "mine.md").write_bytes(NOTES_1.replace(b"red", b"green"))
    file.unlink()
    file.symlink_to(run.world.root / "mine.md")
    before = run.world.sources()
    for how in ({}, {"skip": True}):
        with pytest.raises(UsageError, match=r"notes\.md is a link, and links are not followed"):
            run.go_on(SIGNED, **how)

    assert run.world.sources() == before
    assert abort(run.world.series).ok
    assert (run.world.root / "mine.md").is_file()


@pytest.mark.parametrize("name", ["first/variants", "first/variants/v2.0.patch", "resolutions", "lock.yaml"])
def test_a_link_in_the_series_is_refused_before_anything_is_carried(world: Callable[..., Run], name: str) -> None:
    run = world({CODE: NEAR[CODE]})
    outside = run.world.root / "outside"
    place = run.world.series / name
    if place.exists():
        place.rename(outside)
    place.symlink_to(outside)
    before = snapshot(run.world.root)
    with pytest.raises(UsageError, match=f"{name} is a link, and links are not followed"):
        run.onto(accept=True)

    assert snapshot(run.world.root) == before


def test_a_link_that_was_put_into_the_series_meanwhile_is_refused(world: Callable[..., Run]) -> None:
    run = world(CLASH)
    run.onto()
    run.solve("first", NOTES, b"colour: both\n")
    (run.world.root / "outside").mkdir()
    (run.world.series / "resolutions").symlink_to(run.world.root / "outside")
    with pytest.raises(UsageError, match="resolutions is a link, and links are not followed"):
        run.go_on()

    assert list((run.world.root / "outside").iterdir()) == []


def test_what_is_no_repository_is_said_before_anything_is_carried(
    world: Callable[[dict[str, bytes]], Run], tmp_path: Path
) -> None:
    with pytest.raises(TreeError, match="is not a git repository"):
        world(MOVED).onto(repository=tmp_path)


def test_a_dry_run_ends_with_the_worst_of_its_patches(world: Callable[[dict[str, bytes]], Run]) -> None:
    run = world({**DRIFTED, **CLASH_2})
    run.around = replace(run.around, dry_run=True)
    result = run.onto()

    assert [patch.state for patch in result.patches] == ["review", "conflict"]
    assert result.verdict == "conflict"
