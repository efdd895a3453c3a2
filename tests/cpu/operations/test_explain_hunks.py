"""explain on the made-up Megatron of the rebase tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from trees.snapshots import contents

from patchkit.core.explained import Explained
from patchkit.errors import UsageError
from patchkit.operations.explain_hunks import explain_hunks
from patchkit.operations.rebase import rebase, resume
from patchkit.operations.rebase_run import Surroundings
from patchkit.operations.rebase_session import Request
from patchkit.operations.rebase_signed import Signed
from patchkit.operations.regenerate import regenerate

from .carried_world import CODE, CODE_1, NOTES, World
from .test_rebase import CLASH, DRIFTED, MOVED


@pytest.fixture
def world(tmp_path: Path) -> Callable[[dict[str, bytes | None]], World]:
    return lambda newer: World(tmp_path / "world", newer)


def explained(world: World, what: str, onto: str = "2.0", **how: object) -> Explained:
    patch, _, hunk = what.partition("/")
    return explain_hunks(world.series, patch, hunk or None, onto, cache=world.cache, **how)  # type: ignore[arg-type]


def panes(answer: Explained, at: int = 0) -> list[tuple[str | None, str | None, str | None]]:
    def text(line: object) -> str | None:
        return None if line is None else f"{'' if line.same else '*'}{line.text}"  # type: ignore[attr-defined]

    return [(text(row.base), text(row.patch), text(row.target)) for row in answer.hunks[at].rows]


def solve(made: World, line: bytes) -> None:
    """Carry the series, with ``line`` in the place of the one conflict."""
    around = Surroundings(today="2026-11-30", cache=made.cache)
    rebase(made.series, Request(onto="2.0"), around)
    file = made.series / ".rebase" / "2.0" / "first" / NOTES
    head, _, rest = file.read_bytes().partition(b"<<<<<<< ")
    file.write_bytes(head + line + rest.partition(b">>>>>>> ")[2].partition(b"\n")[2])
    signed = Signed("A U Thor <author@example.org>", "Both.")
    assert resume(made.series, around, signed=signed).verdict == "written"


def test_a_conflict_is_shown_with_its_three_sides(world: Callable[..., World]) -> None:
    answer = explained(world(CLASH), "first/notes-colour")
    assert (answer.patch, answer.base, answer.target, answer.verdict) == ("first", "v1.0", "v2.0", "conflict")
    assert [(each.hunk.id, each.hunk.verdict) for each in answer.hunks] == [("notes-colour", "conflict")]
    assert panes(answer) == [
        ("name: buffer",) * 3,
        ("colour: red", "*colour: green", "*colour: blue"),
        *[(line, line, line) for line in ("weight: 1", "", "shape: round", "height: 2", "width: 3", "depth: 4")],
    ]


def test_of_many_rows_those_around_what_the_patch_changed_are_shown(
    world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("patchkit.operations.explain_hunks.MOST", 4)
    monkeypatch.setattr("patchkit.operations.explain_hunks.AROUND", 2)
    answer = explained(world(CLASH), "first/grads-region")
    assert panes(answer) == [
        (None, None, None),
        ("",) * 3,
        ("        self.grads = make(size)", "*        with region():", "        self.grads = make(size)"),
        (None, "*            self.grads = make(size)", None),
        ("",) * 3,
        (None, None, None),
    ]


def test_a_function_that_the_target_dissolved_is_shown_where_its_lines_went(
    world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("patchkit.operations.explain_hunks.AROUND", 2)
    head, _, rest = CODE_1.partition(b"class Buffer:")
    kept = rest[rest.index(b"def make") :]
    newer = head + kept + b"\n\nsize = kind = self = 1\nif size:\n    self.kind = kind\n\n    self.grads = make(size)\n"
    answer = explained(world({CODE: newer}), "first/grads-region")
    assert panes(answer) == [
        ("        self.kind = kind", "        self.kind = kind", "*    self.kind = kind"),
        ("", "", ""),
        ("        self.grads = make(size)", "*        with region():", "*    self.grads = make(size)"),
        (None, "*            self.grads = make(size)", None),
        ("", "", None),
        ("    def reload(self):", "    def reload(self):", None),
    ]


def test_a_hunk_in_conflict_has_no_text_on_the_target_and_is_told_what_to_do(world: Callable[..., World]) -> None:
    made = world({**MOVED, **CLASH})
    answer = explained(made, "first")
    command = f"patchkit rebase --onto v2.0 --patches {made.series}"
    assert [(each.hunk.id, each.hunk.diff_of, each.hunk.next) for each in answer.hunks] == [
        ("grads-region", "proposed", ""),
        ("notes-colour", "base", f"`{command}` leaves an edit directory, to write it there"),
    ]
    assert "@@ -10,7 +10,8 @@ grads-region\n" in answer.hunks[0].hunk.diff


def test_a_hunk_in_conflict_has_the_text_of_the_variant_that_a_person_made(world: Callable[..., World]) -> None:
    made = world(CLASH)
    solve(made, b"colour: teal\n")
    for path in contents(made.series / "resolutions"):
        (made.series / "resolutions" / path).unlink()
    answer = explained(made, "first/notes-colour", base="1.0")
    assert (answer.verdict, answer.variant) == ("conflict", "v2.0.patch")
    (told,) = (each.hunk for each in answer.hunks)
    assert (told.verdict, told.diff_of, told.next) == ("conflict", "variant", "")
    assert "-colour: blue\n+colour: teal\n" in told.diff


def test_of_a_hunk_in_conflict_at_one_of_its_places_no_part_is_proposed(world: Callable[..., World]) -> None:
    made = world(CLASH)
    variant = made.series / "first" / "variants" / "v1.0.patch"
    variant.write_bytes(variant.read_bytes().replace(b" shape: round\n", b"-shape: round\n+shape: oval\n"))
    listed = made.root / "upstream_versions.yaml"
    both = listed.read_text()
    head, _, rest = both.partition('    - version: "2.0"')
    listed.write_text(head + rest[rest.index("torch-memory-saver:") :])
    assert regenerate(made.series, cache=made.cache).problems == ()
    listed.write_text(both)
    (told,) = (each.hunk for each in explained(made, "first/notes-colour").hunks)
    assert (told.verdict, told.diff_of) == ("conflict", "base")
    assert "-colour: red\n+colour: green\n" in told.diff


def test_all_hunks_of_a_patch_are_explained_when_none_is_named(world: Callable[..., World]) -> None:
    answer = explained(world(MOVED), "first")
    assert [(each.hunk.id, each.hunk.verdict) for each in answer.hunks] == [
        ("grads-region", "moved"),
        ("notes-colour", "exact"),
    ]
    assert "+        with region():\n" in answer.hunks[0].hunk.diff


def test_a_scope_is_told_with_its_signature_before_and_after(world: Callable[..., World]) -> None:
    newer = {CODE: CODE_1.replace(b"self, size, kind", b"self, size, kind, device=None")}
    each = explained(world(newer), "first/grads-region").hunks[0]
    assert (each.scope, each.old_signature, each.new_signature) == (
        "Buffer.__init__",
        "def __init__(self, size, kind)",
        "def __init__(self, size, kind, device=None)",
    )
    assert [drift.scope for drift in each.hunk.drift] == ["Buffer.__init__"]


def test_what_the_patches_below_leave_is_what_the_hunk_meets(world: Callable[..., World]) -> None:
    answer = explained(world(MOVED), "second/reload-mark")
    new = answer.hunks[0].hunk.new
    assert new is not None
    assert (new.first, new.last) == (20, 20)
    assert ("", "", "") in panes(answer)


def test_with_a_history_every_hunk_names_its_commits(world: Callable[..., World]) -> None:
    made = world({**DRIFTED, **CLASH})
    answer = explained(made, "first", repository=made.repository())
    assert [(each.hunk.id, [commit.pull_request for commit in each.hunk.commits]) for each in answer.hunks] == [
        ("grads-region", [27]),
        ("notes-colour", [27]),
    ]


def test_a_base_that_nobody_tagged_has_the_history_of_the_release_with_its_text(world: Callable[..., World]) -> None:
    made = world({**DRIFTED, **CLASH})
    repository = made.repository()
    versions = made.root / "upstream_versions.yaml"
    listed = yaml.safe_load(versions.read_text())
    (tagged, newer) = listed["megatron"]["releases"]
    # 1.0.1 has the texts of 1.0, nobody tagged it, and it is what 2.0 is carried from.
    listed["megatron"]["releases"] = [tagged, {**tagged, "version": "1.0.1", "commit": None, "tag": None}, newer]
    versions.write_text(yaml.safe_dump(listed))
    answer = explained(made, "first", repository=repository)
    assert answer.base == "v1.0.1"
    assert [(each.hunk.id, [commit.pull_request for commit in each.hunk.commits]) for each in answer.hunks] == [
        ("grads-region", [27]),
        ("notes-colour", [27]),
    ]


def test_a_solution_of_the_same_conflict_elsewhere_is_offered(world: Callable[..., World]) -> None:
    made = world(CLASH)
    solve(made, b"colour: teal\n")
    # The same conflict, and another line beside it.
    again = World(made.root.parent / "again", {NOTES: CLASH[NOTES].replace(b"shape: round", b"shape: oval")})
    for path in contents(made.series / "resolutions"):
        (again.series / "resolutions").mkdir(exist_ok=True)
        (again.series / "resolutions" / path).write_bytes((made.series / "resolutions" / path).read_bytes())
    proposals = explained(again, "first/notes-colour").hunks[0].proposals
    assert [(each.author, each.reason.strip()) for each in proposals] == [("A U Thor <author@example.org>", "Both.")]


def test_what_nobody_has_is_a_usage_error(world: Callable[..., World]) -> None:
    made = world(MOVED)
    with pytest.raises(UsageError) as caught:
        explained(made, "first/nothing")
    assert caught.value.message == "first has no hunk 'nothing' on v1.0"
    assert caught.value.hint == "hunks: grads-region, notes-colour; name another base with --from BASE"
    with pytest.raises(UsageError, match="the series has no patch 'third'"):
        explained(made, "third")
    with pytest.raises(UsageError, match="unknown release"):
        explained(made, "first", onto="3.0")


def test_explaining_writes_nothing(world: Callable[..., World]) -> None:
    made = world(CLASH)
    before = made.sources()
    explained(made, "first")
    assert made.sources() == before
