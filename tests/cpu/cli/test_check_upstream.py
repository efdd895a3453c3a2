"""check-upstream and explain from the command line: what is printed, written, and the exit codes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it has no stubs
import pytest
from operations.carried_world import NOTES, NOTES_1, World
from operations.test_upstream_check import tracked, without_wheel
from trees.repositories import git, record, with_a_cut, without_alternates, without_objects

from patchkit.cli.schemas import schema_texts
from patchkit.core.upstream_report import UpstreamReport
from patchkit.operations.upstream_check import check_upstream
from patchkit.store.reported import reporting_alone

from .conftest import Command
from .test_rebase import CLASH, DRIFTED, MOVED, world


@pytest.fixture
def check(patchkit: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run ``patchkit check-upstream`` on the series of a world, asking no index."""

    def command(there: World, *arguments: str | Path) -> object:
        monkeypatch.setenv("PATCHKIT_CACHE", str(there.cache))
        return patchkit("check-upstream", "--offline", "--patches", there.series, *arguments)

    return command  # type: ignore[return-value]  # a world is one more argument


def test_all_fine_is_little_to_read_and_ends_with_0(check: Command, tmp_path: Path) -> None:
    there = world(tmp_path, MOVED)
    ran = check(there)
    rebase = f"patchkit rebase --onto v2.0 --patches {there.series}"
    assert (ran.code, " ".join(ran.out.split())) == (
        0,
        f"v2.0: next: nothing to decide: `{rebase}` writes the variants 2 targets, 2 patches: fine (v1.0, v2.0)",
    )


@pytest.mark.parametrize(("newer", "word"), [(CLASH, "conflict"), (DRIFTED, "drift")])
def test_what_is_broken_or_to_be_looked_at_ends_with_1(
    check: Command, tmp_path: Path, newer: dict[str, bytes], word: str
) -> None:
    ran = check(world(tmp_path, newer))
    assert ran.code == 1
    assert word in ran.out


def test_nothing_in_reach_ends_with_4_and_a_part_of_it_does_not(check: Command, tmp_path: Path) -> None:
    there = world(tmp_path, MOVED)
    without_wheel(there, "2.0")
    assert check(there).code == 0
    without_wheel(there, "1.0")
    other = World(tmp_path / "other", dict(MOVED))
    without_wheel(other, "1.0", "2.0")
    assert check(other).code == 4


def test_the_json_is_of_the_shipped_schema(check: Command, tmp_path: Path) -> None:
    ran = check(world(tmp_path, {**CLASH, **DRIFTED}), "--format", "json")
    answer = json.loads(ran.out)
    jsonschema.validate(answer, json.loads(schema_texts()["upstream_report.schema.json"]))
    assert [(target["name"], target["state"]) for target in answer["targets"]] == [("1.0", "fine"), ("2.0", "broken")]


_HEAVY = (
    "ast_grep_py",
    "git",
    "jinja2",
    "pyflakes",
    "rapidfuzz",
    "rich",
    "ruamel",
    "yaml",
    "zipfile",
    "patchkit.core.carry",
    "patchkit.cli.rendering.html",
    "patchkit.operations.upstream_look",
    "patchkit.trees.archive",
    "patchkit.trees.index",
)
"""What a run that has nothing to compute, to download or to draw does without."""


@pytest.mark.parametrize("is_given", [True, False], ids=["with a clone", "branches out of reach"])
def test_what_is_known_is_told_without_engine_libraries_or_other_forms(
    check: Command, tmp_path: Path, is_given: bool
) -> None:
    there = world(tmp_path, MOVED)
    repository = tracked(there)
    clone = ("--git", str(repository)) if is_given else ()
    first = check(there, *clone, "--format", "json")
    assert [target["state"] for target in json.loads(first.out)["targets"]][-1] == (
        "fine" if is_given else "unreachable"
    )
    program = (
        "import sys; from patchkit.cli.main import run; code = run(sys.argv[1:])\n"
        f"print(code, [name for name in {_HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    arguments = ["--offline", "--patches", str(there.series), *clone, "--format", "json"]
    done = subprocess.run(
        [sys.executable, "-c", program, "check-upstream", *arguments],
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PATCHKIT_CACHE": str(there.cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr.splitlines()[-1]) == (first.out, f"{first.code} []")


def test_a_second_run_has_nothing_new_to_say(check: Command, tmp_path: Path) -> None:
    there = world(tmp_path, CLASH)
    first = check(there, "--new-only")
    state = (there.series / "reported.txt").read_text()
    second = check(there, "--new-only")
    assert (first.code, "conflict" in first.out) == (1, True)
    assert [line.split()[0] for line in state.splitlines()[1:]] == ["1.0", "2.0"]
    assert (second.code, second.out, second.err) == (0, "", "")
    assert (there.series / "reported.txt").read_text() == state


def test_runs_at_once_report_everything_and_nothing_twice(tmp_path: Path) -> None:
    there = world(tmp_path, CLASH)
    arguments = ["check-upstream", "--offline", "--patches", str(there.series), "--new-only", "--format", "json"]
    named: tuple[list[str], ...] = (["--onto", "v1.0"], ["--onto", "v2.0"], [], [])
    runs = [
        subprocess.Popen(
            [sys.executable, "-m", "patchkit", *arguments, *onto],
            cwd=Path(__file__).parents[3],
            env={**os.environ, "PATCHKIT_CACHE": str(there.cache)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for onto in named
    ]
    answers = [json.loads(run.communicate()[0]) for run in runs]

    assert sorted(target["name"] for answer in answers for target in answer["targets"]) == ["1.0", "2.0"]
    state = (there.series / "reported.txt").read_text().splitlines()[1:]
    assert [line.split()[0] for line in state] == ["1.0", "2.0"]


def test_what_another_run_reported_while_this_one_looked_is_no_news(
    check: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = world(tmp_path, CLASH)
    inner = []

    def look(*arguments: Any, **keywords: Any) -> UpstreamReport:
        monkeypatch.undo()
        inner.append(check(there, "--new-only", "--onto", "v1.0"))
        return check_upstream(*arguments, **keywords)

    monkeypatch.setattr("patchkit.cli.commands.check_upstream.check_upstream", look)
    outer = check(there, "--new-only", "--format", "json")

    assert [target["name"] for target in json.loads(outer.out)["targets"]] == ["2.0"]
    assert [ran.out for ran in inner] == ["1 target, 2 patches: fine (v1.0)\n"]
    state = (there.series / "reported.txt").read_text().splitlines()[1:]
    assert [line.split()[0] for line in state] == ["1.0", "2.0"]


def test_a_run_waits_for_one_that_reports_and_says_so(check: Command, tmp_path: Path) -> None:
    there = world(tmp_path, MOVED)
    arguments = ["check-upstream", "--offline", "--patches", str(there.series), "--new-only"]
    with reporting_alone(there.series / "reported.txt"):
        run = subprocess.Popen(
            [sys.executable, "-m", "patchkit", *arguments],
            cwd=Path(__file__).parents[3],
            env={**os.environ, "PATCHKIT_CACHE": str(there.cache)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert run.stderr is not None
        waiting = run.stderr.readline()
        assert not (there.series / "reported.txt").exists()
    run.communicate()
    state = there.series / "reported.txt"
    assert waiting == f"note: waiting for another check-upstream that reports by {state}\n"
    assert [line.split()[0] for line in state.read_text().splitlines()[1:]] == ["1.0", "2.0"]


def test_new_and_fine_has_an_exit_code_of_its_own(check: Command, tmp_path: Path) -> None:
    there = world(tmp_path, MOVED)
    assert check(there, "--new-only", "--detailed-exit-code").code == 5
    assert check(there, "--new-only", "--detailed-exit-code").code == 0
    assert check(there, "--detailed-exit-code").code == 0
    (there.series / "reported.txt").unlink()
    assert check(there, "--detailed-exit-code").code == 5
    assert not (there.series / "reported.txt").exists()


def test_only_the_branch_that_moved_is_news(check: Command, tmp_path: Path) -> None:
    there = world(tmp_path, MOVED)
    repository = tracked(there)
    assert check(there, "--git", repository, "--new-only").code == 0
    (repository / NOTES).write_bytes(NOTES_1.replace(b"colour: red", b"colour: blue"))
    record(repository, "Blue (#9)")
    ran = check(there, "--git", repository, "--new-only", "--format", "json")
    answer = json.loads(ran.out)
    assert (ran.code, [target["name"] for target in answer["targets"]]) == (1, ["main"])


def test_what_can_no_longer_be_looked_at_is_no_news_and_told_beside_it(check: Command, tmp_path: Path) -> None:
    there = world(tmp_path, MOVED)
    repository = tracked(there)
    check(there, "--git", repository, "--new-only")
    git(repository, "branch", "-m", "main", "other")
    for style, out in (("text", ""), ("github", "")):
        ran = check(there, "--git", repository, "--new-only", "--format", style)
        why = f"{repository} has no branch main"
        assert (ran.code, ran.out if style == "text" else "", ran.err) == (
            0,
            out,
            f"note: main could not be looked at, and stays as it was reported: {why}\n",
        )
    # Nobody misses a branch where no clone is given to look at it in.
    assert check(there, "--new-only", "--state", tmp_path / "none").code == 0
    assert check(there, "--new-only", "--state", tmp_path / "none").err == ""


@pytest.mark.parametrize(
    "harm", [without_objects, without_alternates, partial(with_a_cut, ".pack"), partial(with_a_cut, ".idx")]
)
def test_a_damaged_clone_ends_with_1_each_time_and_is_told_first(
    check: Command, tmp_path: Path, harm: Callable[[Path], str]
) -> None:
    there = world(tmp_path, MOVED)
    origin = tracked(there)
    git(origin, "tag", "core_v1.0", "HEAD~1")
    clone = tmp_path / "clone.git"
    git(tmp_path, "clone", "-q", "--bare", origin.as_uri(), clone)
    git(clone, "repack", "-qad")
    assert check(there, "--git", clone, "--new-only").code == 0
    state = (there.series / "reported.txt").read_text()
    harm(clone)
    for _ in range(2):
        ran = check(there, "--git", clone, "--new-only")
        told = " ".join(ran.out.split())
        assert (ran.code, told.endswith(f"broken: {clone} is damaged; 1 broken")) == (1, True)
        assert f"problem: {clone} is damaged: refs/heads/main is " in told
        assert f"problem: {clone} is damaged: its release tags cannot be read" in told
        assert (there.series / "reported.txt").read_text() == state
    ran = check(there, "--git", clone)
    assert (ran.code, " ".join(ran.out.split()).endswith(f"broken: {clone} is damaged; 1 broken, 2 fine")) == (1, True)


def test_what_could_never_be_looked_at_is_told_each_time(check: Command, tmp_path: Path) -> None:
    there = world(tmp_path, MOVED)
    repository = tracked(there)
    git(repository, "branch", "-m", "main", "other")
    without_wheel(there, "2.0")
    first, second = (check(there, "--git", repository, "--new-only") for _ in range(2))
    notes = [line for line in second.err.splitlines() if "could not be looked at" in line]
    assert [note.partition(": ")[2].partition(":")[0] for note in notes] == ["main could not be looked at"]
    assert (second.code, second.out) == (0, "")
    assert first.err == second.err

    # Nor is there a commit of the clone's to read the release at.
    alone, again = (check(there, "--new-only", "--state", tmp_path / "other") for _ in range(2))
    assert alone.out.splitlines()[-1] == "1 target, 2 patches: fine (v1.0)"
    assert [line.split(" could")[0] for line in alone.err.splitlines()] == ["note: v2.0"]
    assert (again.code, again.out, again.err) == (0, "", alone.err)


def test_a_silent_index_is_told_when_nothing_is_new(
    patchkit: Command, check: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = world(tmp_path, MOVED)
    check(there, "--new-only")
    (tmp_path / "empty").mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "empty"))
    ran = patchkit("check-upstream", "--patches", there.series, "--new-only")
    assert (ran.code, ran.out, ran.err) == (
        0,
        "",
        f"note: no package index has megatron-core: {tmp_path}/empty answered without it\n",
    )


def test_options_that_exclude_each_other_are_refused(check: Command, tmp_path: Path) -> None:
    ran = check(world(tmp_path, MOVED), "--update")
    assert (ran.code, ran.err.split(":")[1]) == (2, " --update and --offline exclude each other")


def test_a_release_that_is_only_a_tag_is_looked_at_and_news(check: Command, tmp_path: Path) -> None:
    there = world(tmp_path, MOVED)
    repository = tracked(there)
    git(repository, "tag", "core_v1.0", "HEAD~1")
    git(repository, "tag", "core_v2.0")
    assert check(there, "--git", repository, "--new-only").code == 0
    (repository / NOTES).write_bytes(NOTES_1.replace(b"colour: red", b"colour: blue"))
    record(repository, "Blue (#9)")
    for tag in ("core_v3.0", "core_v3.1rc0"):
        git(repository, "tag", tag)
    git(repository, "reset", "-q", "--hard", "HEAD~1")
    ran = check(there, "--git", repository, "--new-only", "--format", "json")
    answers = [(each["title"], each["kind"], each["state"], each["as-of"]) for each in json.loads(ran.out)["targets"]]
    assert (ran.code, answers) == (1, [("core_v3.0", "revision", "broken", "3.0")])
    assert check(there, "--git", repository, "--new-only").out == ""


def test_a_state_file_elsewhere_and_one_with_marks(check: Command, tmp_path: Path) -> None:
    there = world(tmp_path, MOVED)
    state = tmp_path / "state"
    assert check(there, "--new-only", "--state", state).code == 0
    assert not (there.series / "reported.txt").exists()
    state.write_text("<<<<<<< HEAD\n" + state.read_text())
    ran = check(there, "--new-only", "--state", state)
    assert (ran.code, ran.err.splitlines()[0]) == (3, f"error: {state}:1: this is the mark of an unfinished merge")


def test_files_have_everything_also_when_nothing_is_new(check: Command, tmp_path: Path) -> None:
    there = world(tmp_path, CLASH)
    check(there, "--new-only")
    files = {style: tmp_path / f"answer.{style}" for style in ("html", "json", "sarif", "junit", "markdown", "github")}
    ran = check(
        there, "--new-only", *(part for style, file in files.items() for part in ("--report", f"{style}={file}"))
    )
    assert (ran.code, ran.out) == (0, "")
    answer = json.loads(files["json"].read_text())
    assert [(target["name"], target["new"]) for target in answer["targets"]] == [("1.0", False), ("2.0", False)]
    assert all("notes-colour" in file.read_text() for file in files.values())


@pytest.mark.parametrize("report", ["html", "html=", "pdf=x", "=x"])
def test_a_report_that_is_none_is_a_usage_error(check: Command, tmp_path: Path, report: str) -> None:
    ran = check(world(tmp_path, MOVED), "--report", report)
    assert ran.code == 2
    assert ran.err.startswith(f"error: --report {report}: not FORMAT=FILE\n")


@pytest.mark.parametrize("style", ["text", "json"])
@pytest.mark.parametrize("arguments", [("check-upstream", "--offline"), ("explain", "first", "--onto", "v2.0")])
@pytest.mark.parametrize(
    "stdout", [(">/dev/full", 4, ["error: cannot print the answer: No space left on device"]), (">&-", None, [])]
)
def test_where_nothing_can_be_printed_is_no_bug(
    tmp_path: Path, arguments: tuple[str, ...], style: str, stdout: tuple[str, int | None, list[str]]
) -> None:
    where, code, said = stdout
    there = world(tmp_path, CLASH)
    command = [sys.executable, "-m", "patchkit", *arguments, "--patches", str(there.series), "--format", style]
    ran = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {where}', "sh", *command],
        env={**os.environ, "PATCHKIT_CACHE": str(there.cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    usual = int(arguments[0] == "check-upstream")
    assert ran.returncode == (usual if code is None else code)
    assert [line for line in ran.stderr.splitlines() if not line.startswith("looking ")] == said


def test_explain_prints_no_character_that_a_terminal_could_obey(
    patchkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = world(tmp_path, {NOTES: NOTES_1.replace(b"colour: red", "colour: \x9b1m\u202e".encode())})
    monkeypatch.setenv("PATCHKIT_CACHE", str(there.cache))
    repository = there.repository()
    git(repository, "branch", "\u202eevil")
    for style in ("text", "json"):
        ran = patchkit(
            "explain",
            "first",
            "--onto",
            "\u202eevil",
            "--git",
            repository,
            "--patches",
            there.series,
            "--format",
            style,
        )
        assert ran.code == 0
        assert {character for character in ran.out if not character.isprintable()} == {"\n"}


def test_a_target_that_was_named_and_is_out_of_reach_ends_with_1(check: Command, tmp_path: Path) -> None:
    there = world(tmp_path, MOVED)
    named = ("--onto", "v1.0", "--onto", "v2.0")
    codes = [check(there, *named).code]
    without_wheel(there, "2.0")
    shutil.rmtree(there.cache / "upstream")
    quiet = check(there, *named, "--new-only")
    assert "note: v2.0 could not be looked at: it is not in the cache" in quiet.err
    codes += [check(there, *named).code, quiet.code, check(there, "--onto", "v2.0").code]

    # The second of them has no news, and a target that somebody asked about is without an answer all the same.
    assert codes == [0, 1, 1, 4]
    assert check(there).code == 0


@pytest.mark.parametrize(
    ("reports", "said"),
    [
        (("html=a", "json=b", "json=./a"), "error: --report json=./a: another report goes to a too\n"),
        (("json=-",), "error: --report json=-: `-` is no file\n  hint: --format json prints it\n"),
    ],
)
def test_a_report_goes_to_a_file_of_its_own(
    check: Command, tmp_path: Path, reports: tuple[str, ...], said: str
) -> None:
    ran = check(world(tmp_path, MOVED), *(part for report in reports for part in ("--report", report)))
    assert (ran.code, ran.out, ran.err) == (2, "", said)


@pytest.mark.parametrize("use", ["--new-only", "--detailed-exit-code"])
@pytest.mark.parametrize("report", ["st", "link", "folder/st"])
def test_no_report_goes_to_the_state_file_by_whichever_name(
    check: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: str, report: str
) -> None:
    there = world(tmp_path, MOVED)
    (tmp_path / "link").symlink_to("st")
    (tmp_path / "folder").symlink_to(".")
    monkeypatch.chdir(tmp_path)

    ran = check(there, use, "--state", "st", "--report", f"json={report}")

    said = f"error: --report json={report}: st is the state file\n"
    assert (ran.code, ran.out, ran.err, (tmp_path / "st").exists()) == (2, "", said, False)


def test_a_report_may_go_where_a_state_file_that_is_not_used_would_be(check: Command, tmp_path: Path) -> None:
    there = world(tmp_path, MOVED)
    place = tmp_path / "st"

    assert check(there, "--state", str(place), "--report", f"json={place}").code == 0
    assert place.read_text().startswith("{")


def test_two_reports_that_links_lead_to_one_file_are_refused(check: Command, tmp_path: Path) -> None:
    there = world(tmp_path, MOVED)
    (tmp_path / "link").symlink_to("real")

    ran = check(there, "--report", f"json={tmp_path}/real", "--report", f"html={tmp_path}/link")

    said = f"error: --report html={tmp_path}/link: another report goes to {tmp_path}/real too\n"
    assert (ran.code, ran.out, ran.err) == (2, "", said)


def test_explain_shows_three_panes(patchkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = world(tmp_path, CLASH)
    monkeypatch.setenv("PATCHKIT_CACHE", str(there.cache))
    monkeypatch.setenv("COLUMNS", "120")
    ran = patchkit("explain", "first/notes-colour", "--onto", "v2.0", "--patches", there.series)
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "first: from v1.0 to v2.0: conflict",
        "",
        "notes-colour  conflict  megatron/core/notes.md",
        "  for: Another colour.",
        "  because: both sides changed these lines, or lines side by side",
        "  scope: <module>",
        "",
        f"  {'v1.0':37} | {'with first':37} | v2.0",
        *(
            f"  {number:4}{mark[0]} {one:31} | {number:4}{mark[1]} {two:31} | {number:4}{mark[2]} {three}".rstrip()
            for number, mark, (one, two, three) in (
                (1, "   ", ("name: buffer",) * 3),
                (2, " **", ("colour: red", "colour: green", "colour: blue")),
                (3, "   ", ("weight: 1",) * 3),
                (4, "   ", ("",) * 3),
                (5, "   ", ("shape: round",) * 3),
                (6, "   ", ("height: 2",) * 3),
                (7, "   ", ("width: 3",) * 3),
                (8, "   ", ("depth: 4",) * 3),
            )
        ),
        "",
        "  proposed for v2.0: nothing, the engine has no text for it",
        f"  next: `patchkit rebase --onto v2.0 --patches {there.series}` leaves an edit directory, to write it there",
    ]


def test_explain_on_a_narrow_terminal_stacks_its_panes(
    patchkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = world(tmp_path, CLASH)
    monkeypatch.setenv("PATCHKIT_CACHE", str(there.cache))
    monkeypatch.setenv("COLUMNS", "60")
    ran = patchkit("explain", "first/notes-colour", "--onto", "v2.0", "--patches", there.series)
    lines = ran.out.splitlines()[7:-3]
    assert [line for line in lines if line.startswith("  ") and line[2] != " "] == ["  v1.0", "  with first", "  v2.0"]
    assert "     2* colour: blue" in lines


@pytest.mark.parametrize(("columns", "gaps"), [("120", 1), ("60", 3)])
def test_explain_marks_where_rows_are_left_out(
    columns: str, gaps: int, patchkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("patchkit.operations.explain_hunks.MOST", 3)
    there = world(tmp_path, CLASH)
    monkeypatch.setenv("PATCHKIT_CACHE", str(there.cache))
    monkeypatch.setenv("COLUMNS", columns)
    ran = patchkit("explain", "first/notes-colour", "--onto", "v2.0", "--patches", there.series)
    assert [line for line in ran.out.splitlines() if "..." in line] == ["     ..."] * gaps
    assert ("weight: 1" in ran.out, "shape: round" in ran.out) == (True, False)


class Terminal(StringIO):
    """Takes what is printed, as a terminal."""

    def isatty(self) -> bool:
        """Tell that it is one."""
        return True


@pytest.mark.parametrize(("wanted", "coloured"), [("1", False), ("", True)])
@pytest.mark.parametrize("command", ["explain", "check-upstream", "explain nothing"])
def test_a_terminal_gets_colours_unless_the_user_wants_none(
    *, command: str, wanted: str, coloured: bool, patchkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = world(tmp_path, CLASH)
    monkeypatch.setenv("PATCHKIT_CACHE", str(there.cache))
    monkeypatch.setenv("NO_COLOR", wanted)
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setattr("sys.stderr", terminal)
    asked = {
        "explain": ("explain", "first", "--onto", "v2.0"),
        "check-upstream": ("check-upstream", "--offline"),
        "explain nothing": ("explain", "nothing", "--onto", "v2.0"),
    }[command]
    patchkit(*asked, "--patches", there.series)
    assert terminal.getvalue()
    assert ("\x1b[" in terminal.getvalue()) == coloured


def test_explain_as_json(patchkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = world(tmp_path, MOVED)
    monkeypatch.setenv("PATCHKIT_CACHE", str(there.cache))
    ran = patchkit("explain", "first", "--onto", "v2.0", "--patches", there.series, "--format", "json")
    answer = json.loads(ran.out)
    assert (answer["command"], answer["verdict"], [each["hunk"]["verdict"] for each in answer["hunks"]]) == (
        "explain",
        "carries",
        ["moved", "exact"],
    )


Completing = Callable[[str], list[str]]


@pytest.fixture
def completed(
    patchkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Completing:
    """Return what a shell would offer behind a line, in the folder of a series; nothing else may be printed."""
    monkeypatch.chdir(world(tmp_path, MOVED).root)

    def complete(line: str) -> list[str]:
        monkeypatch.setenv("_PATCHKIT_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
        with pytest.raises(SystemExit) as ended:
            patchkit()
        printed = capsys.readouterr()
        assert (ended.value.code, printed.err) == (0, "")
        return [each.removeprefix("plain,") for each in printed.out.split()]

    return complete


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("patchkit check-u", ["check-upstream"]),
        ("patchkit explain fir", ["first"]),
        ("patchkit explain first/n", ["first/notes-colour"]),
        ("patchkit explain first --onto v", ["v1.0", "v2.0"]),
        ("patchkit apply --patch sec", ["second"]),
        ("patchkit rebase fir", ["first"]),
        ("patchkit rebase --onto v", ["v1.0", "v2.0"]),
        ("patchkit rebase --onto v2.0 --from v1", ["v1.0"]),
        ("patchkit capture --megatron v", ["v1.0", "v2.0"]),
        ("patchkit capture --patch s", ["second"]),
        ("patchkit import --megatron v2", ["v2.0"]),
        ("patchkit tms cycle --megatron v2", ["v2.0"]),
        ("patchkit history --from v1", ["v1.0"]),
        ("patchkit history --range v", ["v1.0", "v2.0"]),
        ("patchkit history --range v1.0..v", ["v1.0..v1.0", "v1.0..v2.0"]),
    ],
)
def test_a_shell_completes_commands_patches_hunks_and_targets(
    completed: Completing, line: str, offered: list[str]
) -> None:
    assert completed(line) == offered


def test_a_shell_is_offered_no_name_that_does_not_print(completed: Completing) -> None:
    file = Path("upstream_versions.yaml")
    names = ("v-of\\e[2J", "v-of\\nplain,rm", "v-of-us")
    branches = "".join(
        f'    - name: "{name}"\n      commit: "{"1" * 40}"\n      date: 2026-01-02\n'
        '      as-of: "2.0"\n      blobs: {}\n'
        for name in names
    )
    file.write_text(file.read_text().replace("torch-memory-saver:\n", f"  branches:\n{branches}torch-memory-saver:\n"))
    assert completed("patchkit rebase --onto v-") == ["v-of-us"]
    assert completed("patchkit history --range v1.0..v-") == ["v1.0..v-of-us"]


def test_a_shell_completes_nothing_where_the_series_is_broken(completed: Completing) -> None:
    Path("patches/megatron/series.yaml").write_text("nonsense")
    assert completed("patchkit explain f") == []


def test_a_report_that_finds_no_room_is_an_error_and_nothing_counts_as_reported(tmp_path: Path) -> None:
    there = world(tmp_path, CLASH)
    page, text = tmp_path / "page.html", tmp_path / "page.txt"
    page.write_text("yesterday's\n")
    program = (
        "import resource, sys; from patchkit.cli.main import run\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)); sys.exit(run(sys.argv[1:]))"
    )
    arguments = ["--offline", "--patches", str(there.series), "--new-only", "--report", f"html={page}"]
    ran = subprocess.run(
        [sys.executable, "-c", program, "check-upstream", *arguments, "--report", f"text={text}"],
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PATCHKIT_CACHE": str(there.cache)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (4, f"error: cannot write {page}: File too large\n")
    assert page.read_text() == "yesterday's\n"
    assert not text.exists()
    assert not (there.series / "reported.txt").exists()
