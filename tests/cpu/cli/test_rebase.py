from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from operations.carried_world import CODE, CODE_1, NOTES, NOTES_1, World
from trees.repositories import git
from trees.snapshots import snapshot

from .conftest import Command

CLASH = {NOTES: NOTES_1.replace(b"colour: red", b"colour: blue")}
DRIFTED = {CODE: CODE_1.replace(b"        self.size = size\n", b"        self.size = check(size)\n", 1)}
MOVED = {CODE: CODE_1.replace(b'"""Buffers."""\n', b'"""Buffers."""\n\nimport sys\n')}

NEARBY = "the target changed lines nearby"
BOTH = "both sides changed these lines, or lines side by side"


@pytest.fixture
def rebase(patchkit: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """Run ``patchkit rebase`` on the series of a world."""

    def command(world: World, *arguments: str | Path) -> object:
        monkeypatch.setenv("PATCHKIT_CACHE", str(world.cache))
        return patchkit("rebase", "--patches", world.series, *arguments)

    return command  # type: ignore[return-value]  # a world is one more argument


def world(tmp_path: Path, newer: dict[str, bytes]) -> World:
    return World(tmp_path / "world", dict(newer))


def state(there: World) -> object:
    """All that a command may change, the cache aside."""
    return snapshot(there.root / "patches"), (there.root / "upstream_versions.yaml").read_bytes()


def test_what_nothing_is_in_the_way_of_is_written_and_ends_with_0(rebase: Command, tmp_path: Path) -> None:
    there = world(tmp_path, MOVED)
    ran = rebase(there, "--onto", "v2.0")

    assert ran.code == 0
    assert ran.out.splitlines() == [
        f"{there.series}: onto 2.0",
        "  first: already; from 1.0; variant v1.0.patch",
        "  second: already; from 1.0; variant v1.0.patch",
        *(f"  {there.series / name}: written" for name in ("generated/core_v2.0.patch", "lock.yaml")),
        f"  {there.root / 'upstream_versions.yaml'}: written",
        "written",
    ]
    again = rebase(there, "--onto", "v2.0")
    assert (again.code, again.out.splitlines()[-1]) == (0, "already")


def test_review_and_conflict_end_with_1_and_say_where_to_go_on(rebase: Command, tmp_path: Path) -> None:
    there = world(tmp_path, {**CLASH, **DRIFTED})
    ran = rebase(there, "--onto", "v2.0")

    assert ran.code == 1
    assert ran.out.splitlines()[1:] == [
        "  first: conflict; from 1.0",
        f"    {CODE}",
        "      grads-region  merged        Buffer.__init__:11 -> Buffer.__init__:11-12  " + NEARBY,
        "                    review drift: Buffer.__init__ changed (body, calls)",
        f"    {NOTES}",
        "      notes-colour  conflict      <module>:2 -> <module>:2  " + BOTH,
        "    Buffer.__init__: +check()",
        "  second: already; from 1.0; variant v1.0.patch; provisional: a patch below is undecided",
        "conflict",
        f"edit directory: {there.series / '.rebase' / '2.0'} (README.md there says what to do)",
    ]


def test_the_commands_of_the_readme_can_be_copied(rebase: Command, patchkit: Command, tmp_path: Path) -> None:
    there = World(tmp_path / "my world", dict(CLASH))
    rebase(there, "--onto", "v2.0")
    readme = (there.series / ".rebase" / "2.0" / "README.md").read_text()
    commands = [shlex.split(found)[1:] for found in re.findall(r"`(patchkit [^`]*)`", readme)]

    assert commands == [
        ["rebase", "--continue", "--patches", str(there.series), "--reason", "why it is right so"],
        ["rebase", "--skip", "--patches", str(there.series), "--reason", "why"],
        ["rebase", "--abort", "--patches", str(there.series)],
    ]
    refused, skipped, none = (patchkit(*command) for command in commands)
    assert "a mark of a conflict is left" in refused.err
    assert (skipped.code, skipped.out.splitlines()[-1]) == (0, "written")
    assert none.err.endswith(f"  hint: begin one with `patchkit rebase --onto TARGET --patches '{there.series}'`\n")


def test_continue_takes_author_from_git_and_reason_from_the_command_line(
    rebase: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = world(tmp_path, CLASH)
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "user.name", "Some Body")
    git(tmp_path, "config", "user.email", "some@example.org")
    assert rebase(there, "--onto", "v2.0").code == 1
    (there.series / ".rebase" / "2.0" / "first" / NOTES).write_bytes(NOTES_1.replace(b"red", b"green"))
    assert rebase(there, "--continue").code == 2
    ran = rebase(there, "--continue", "--reason", "Blue is gone.")

    assert (ran.code, ran.out.splitlines()[-1]) == (0, "written")
    (kept,) = (there.series / "resolutions").iterdir()
    assert "author: Some Body <some@example.org>\nreason: Blue is gone.\n" in kept.read_text()


def test_abort_and_skip(rebase: Command, tmp_path: Path) -> None:
    there = world(tmp_path, CLASH)
    before = state(there)
    assert rebase(there, "--onto", "v2.0").code == 1
    assert rebase(there, "--abort").code == 0
    assert state(there) == before
    assert rebase(there, "--onto", "v2.0").code == 1
    asked = rebase(there, "--skip")
    assert (asked.code, "why are hunks left out? notes-colour" in asked.err, "--reason 'TEXT'" in asked.err) == (
        2,
        True,
        True,
    )
    ran = rebase(there, "--skip", "--reason", "Blue it is.")

    assert ran.code == 0
    assert any(
        line.split() == ["notes-colour", "skipped", "<module>:2", "left", "out", "by", "--skip:", "Blue", "it", "is."]
        for line in ran.out.splitlines()
    )


def test_what_was_left_out_before_is_printed_beside_what_is_there(rebase: Command, tmp_path: Path) -> None:
    there = world(tmp_path, CLASH)
    rebase(there, "--onto", "v2.0")
    rebase(there, "--skip", "--reason", "Blue it is.")
    ran = rebase(there, "--onto", "v2.0")

    assert ran.code == 0
    assert ran.out.splitlines()[1:] == [
        "  first: already; from 1.0; variant v2.0.patch; carrying v1.0.patch from v1.0 would not give its text",
        f"    {NOTES}",
        "      notes-colour  skipped       <module>:2  left out before: skipped: left out by --skip: Blue it is.",
        "  second: already; from 1.0; variant v1.0.patch",
        "already",
    ]


def test_a_tag_is_printed_with_its_commit(rebase: Command, tmp_path: Path) -> None:
    there = world(tmp_path, MOVED)
    repository = there.repository()
    (repository / NOTES).write_bytes(NOTES_1.replace(b"depth: 4", b"depth: 7"))
    git(repository, "commit", "-q", "-a", "-m", "more")
    git(repository, "tag", "core_v2.1rc1")
    commit = git(repository, "rev-parse", "main")

    head = f"{there.series}: onto core_v2.1rc1 (commit {commit})"
    assert rebase(there, "--onto", "core_v2.1rc1", "--git", repository).out.splitlines()[0] == head
    head = f"{there.series}: onto 2.0"
    assert rebase(there, "--onto", "core_v2.0", "--git", repository).out.splitlines()[0] == head


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--onto", "v2.0", "--continue"],
        ["--continue", "--abort"],
        ["--continue"],
        ["--abort"],
        ["first", "--continue"],
        ["--skip", "--from", "1.0"],
        ["--onto", "v2.0", "--accept-loss", "notes-colour"],
        ["--abort", "--accept-loss", "notes-colour"],
        ["--onto", "v9.9"],
        ["--onto", "v2.0", "--from", "v9.9"],
        ["no-such-patch", "--onto", "v2.0"],
    ],
)
def test_a_request_that_makes_no_sense_ends_with_2(rebase: Command, tmp_path: Path, arguments: list[str]) -> None:
    there = world(tmp_path, CLASH)
    before = state(there)
    ran = rebase(there, *arguments)

    assert (ran.code, ran.out) == (2, "")
    assert "error: " in ran.err
    assert state(there) == before


def test_a_malformed_series_ends_with_3_and_an_unreadable_upstream_with_4(rebase: Command, tmp_path: Path) -> None:
    there = world(tmp_path, CLASH)
    ran = rebase(there, "--onto", "main", "--git", tmp_path)
    assert (ran.code, "is not a git repository" in ran.err) == (4, True)
    (there.series / "series.yaml").write_text("schema: 1\n")
    assert rebase(there, "--onto", "v2.0").code == 3


@pytest.mark.parametrize(
    ("name", "old"),
    [
        ("first/patch.yaml", "  Because.\n"),
        ("series.yaml", "  plumbing: All of it.\n"),
        ("lock.yaml", "schema: 1\n"),
        ("../../upstream_versions.yaml", "  releases:\n"),
        ("resolutions/notes-colour-0123456789ab.yaml", "    a\n"),
    ],
)
def test_a_conflict_that_is_marked_in_a_document_ends_with_3_by_file_and_line(
    rebase: Command, tmp_path: Path, name: str, old: str
) -> None:
    there = world(tmp_path, CLASH)
    if name.startswith("resolutions/"):
        (there.series / "resolutions").mkdir()
        (there.series / name).write_text("resolution: |\n    a\n")
    file = (there.series / name).resolve()
    text = file.read_text()
    at = text.index(old) + len(old)
    file.write_text(f"{text[:at]}    <<<<<<<< ours\n    a\n    ========\n    b\n    >>>>>>>> theirs\n{text[at:]}")
    ran = rebase(there, "--onto", "v2.0")

    assert ran.code == 3
    assert f"{file.name}: line {text[:at].count(chr(10)) + 1}: a conflict is marked here" in ran.err


def test_the_json_has_every_hunk_with_its_places(rebase: Command, tmp_path: Path) -> None:
    there = world(tmp_path, CLASH)
    ran = rebase(there, "--onto", "v2.0", "--dry-run", "--format", "json")
    told = json.loads(ran.out)

    assert ran.code == 1
    assert {key: told[key] for key in ("schema", "command", "ok", "verdict", "target", "edit-dir", "written")} == {
        "schema": 1,
        "command": "rebase",
        "ok": False,
        "verdict": "conflict",
        "target": "2.0",
        "edit-dir": None,
        "written": [],
    }
    place = {"scope": "<module>", "first": 2, "last": 2}
    hunk = told["patches"][0]["hunks"][1]
    assert {key: hunk[key] for key in ("id", "path", "verdict", "old", "new", "commits")} == {
        "id": "notes-colour",
        "path": NOTES,
        "verdict": "conflict",
        "old": place,
        "new": place,
        "commits": [],
    }
