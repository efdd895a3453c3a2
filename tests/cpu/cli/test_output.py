"""What is printed, where, and in which form."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest
from operations.made_up import PATCHED, UPSTREAM, path_of
from trees.snapshots import lay, snapshot

import patchkit as package
from patchkit import __version__
from patchkit.cli.output import StderrReporter, print_problem
from patchkit.core.report import Problem, Report

from .conftest import Command, Ran

SCHEMA = json.loads((Path(package.__file__).parent / "schemas" / "report.schema.json").read_text())


IN = "name a checkout, a plain folder, site-packages or a wheel with --in"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with the made-up 2.0."""
    return lay(tmp_path / "tree", UPSTREAM["2.0"])


def text(ran: Ran, tree: Path) -> list[str]:
    return ran.out.replace(str(tree), "TREE").splitlines()


def report(ran: Ran) -> dict[str, Any]:
    """The report on stdout, which is one JSON value of the shipped schema and nothing else."""
    value: dict[str, Any] = json.loads(ran.out)
    jsonschema.Draft202012Validator(SCHEMA).validate(value)
    return value


def test_words_from_elsewhere_are_not_obeyed_by_a_terminal(
    patchkit: Command, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(tmp_path, {"patchkit.toml": b'patches = "\\u001b]0;title\\u0007"\n'})
    monkeypatch.chdir(tmp_path)
    done = patchkit("status", "--in", tree)

    assert done.err == (
        "error: patchkit.toml: patches: there is no folder \\x1b]0;title\\x07\n"
        "  hint: name the folder of the series as it is to be found from that of this file\n"
    )
    assert done.code == 3


CLEAN = """\
TREE: 2.0
  grads   clean  v1.patch
      megatron/core/buffer.py  clean
      megatron/core/config.py  clean
  params  clean  v1.patch
      megatron/core/buffer.py  clean
      megatron/core/regions.py  clean
  loose   clean  v1.patch
      megatron/core/config.py  clean
  mode    clean  v2.patch
      megatron/core/mode.py  clean
"""
MOVING = """\
TREE: 2.0
  grads   clean -> applied  v1.patch
      megatron/core/buffer.py  2 hunks (moved: grads-init +4, grads-reload +4)
      megatron/core/config.py  1 hunk
  params  clean -> applied  v1.patch
      megatron/core/buffer.py  1 hunk (moved: params-init +4)
      megatron/core/regions.py  1 hunk
  loose   clean -> applied  v1.patch
      megatron/core/config.py  1 hunk
  mode    clean -> applied  v2.patch
      megatron/core/mode.py  1 hunk
"""


def test_the_text_of_each_command_says_per_patch_and_file_what_is_there_and_what_was_done(
    made_up: Command, tree: Path
) -> None:
    applied = CLEAN.replace("clean", "applied")
    reverted = MOVING.replace("clean -> applied", "applied -> clean")
    checks = "  checks: 4 run, all hold\n"
    story = [
        (["status"], f"{CLEAN}clean\n"),
        (["apply", "--dry-run"], f"{MOVING}{checks}would apply (4 files and the record)\n"),
        (["apply"], f"{MOVING}{checks}applied (4 files and the record)\n"),
        (["apply"], f"{applied}{checks}already applied\n"),
        (["status"], f"{applied}applied\n"),
        (["verify"], f"{applied}{checks}verified\n"),
        (["revert", "--dry-run"], f"{reverted}would revert (4 files and the record)\n"),
        (["revert"], f"{reverted}reverted (4 files and the record)\n"),
        (["revert"], f"{CLEAN}nothing to revert\n"),
    ]

    for (name, *options), expected in story:
        ran = made_up(name, "--in", tree, *options)
        assert (ran.code, ran.err) == (0, "")
        assert text(ran, tree) == expected.splitlines()
    assert snapshot(tree) == snapshot(lay(tree.with_name("other"), UPSTREAM["2.0"]))


def test_a_refusal_is_text_on_stdout_and_problems_with_hints_on_stderr(made_up: Command, tree: Path) -> None:
    lay(tree, {path_of("config"): PATCHED["2.0"][path_of("config")]})
    ran = made_up("apply", "--in", tree)

    assert ran.code == 1
    assert text(ran, tree) == [
        "TREE: 2.0",
        "  grads   partly  v1.patch",
        "      megatron/core/buffer.py  clean",
        "      megatron/core/config.py  applied",
        "  params  clean  v1.patch",
        "      megatron/core/buffer.py  clean",
        "      megatron/core/regions.py  clean",
        "  loose   applied  v1.patch",
        "      megatron/core/config.py  applied",
        "  mode    clean  v2.patch",
        "      megatron/core/mode.py  clean",
        "refused",
    ]
    assert ran.err == (
        "error: grads: megatron/core/buffer.py: hunk grads-init: half patched: hunks grads-init, grads-reload not "
        "applied here, while megatron/core/config.py has the patch\n"
        "  hint: restore the files of this patch, then apply\n"
    )


def test_each_hunk_of_a_file_that_was_edited_has_a_line(made_up: Command, tree: Path) -> None:
    made_up("apply", "--in", tree)
    file = tree / path_of("buffer")
    file.write_bytes(b"# edited\n" + file.read_bytes())

    lines = text(made_up("status", "--in", tree), tree)

    at = lines.index("      megatron/core/buffer.py  modified")
    assert lines[at + 1 : at + 3] == ["        grads-init: applied", "        grads-reload: applied"]
    assert not any("\\n" in line for line in lines)


def test_the_series_of_the_folder_is_taken_and_said_where_none_is_named(
    patchkit: Command, series: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(series.parents[1])

    ran = patchkit("status", "--in", tree)

    assert (ran.code, ran.err) == (0, "series: patches/megatron (in this folder)\n")
    assert text(ran, tree) == f"{CLEAN}clean\n".splitlines()


@pytest.mark.parametrize(
    ("name", "make", "told"),
    [
        (
            "patches/megatron/series.yaml",
            os.mkfifo,
            [
                "series: patches/megatron (in this folder)",
                "error: patches/megatron/series.yaml: it is no regular file but a named pipe",
                "  hint: put the file that belongs there in its place",
            ],
        ),
        (
            "patches/megatron",
            lambda place: place.symlink_to("gone"),
            [
                "error: patches/megatron: it is a link, and what it leads to is not there",
                "  hint: remove the link, or put a copy of what it should lead to in its place",
            ],
        ),
    ],
)
def test_no_command_goes_on_with_another_series_than_that_of_the_folder(  # noqa: PLR0917 - the columns of the table
    patchkit: Command,
    tree: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    make: Callable[[Path], None],
    told: list[str],
) -> None:
    (tmp_path / "at" / name).parent.mkdir(parents=True)
    make(tmp_path / "at" / name)
    monkeypatch.chdir(tmp_path / "at")

    for command in (("status", "--in", tree), ("upstream",)):
        ran = patchkit(*command)
        assert (ran.code, ran.out, ran.err.splitlines()) == (3, "", told)


def test_the_name_of_a_folder_is_no_line_of_its_own_no_colour_and_no_two_words(
    patchkit: Command, series: Path, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = tmp_path / "a\x1b[31mb\nerror: x\ty"
    series.parents[1].rename(at)
    (at / "patchkit.toml").write_text('patches = "patches/megatron"\n')
    (at / "in").mkdir()
    monkeypatch.chdir(at / "in")

    ran = patchkit("status", "--in", tree)

    shown = f"{tmp_path}/a\\x1b[31mb\\nerror: x\\ty"
    assert (ran.code, ran.err) == (0, f"series: {shown}/patches/megatron (from {shown}/patchkit.toml)\n")


def test_a_patch_that_is_not_needed_is_given_with_the_reason_and_upstreams_own_with_the_group(
    made_up: Command, tmp_path: Path
) -> None:
    old, main = lay(tmp_path / "old", UPSTREAM["1.0"]), lay(tmp_path / "main", UPSTREAM["main"])

    assert "  mode    not-needed  No module sets a mode." in text(made_up("status", "--in", old), old)
    assert text(made_up("status", "--in", old), old)[0] == "TREE: 1.1 (same files: 1.0)"
    assert text(made_up("status", "--in", main), main)[:3] == [
        "TREE: main",
        "  grads   clean  main.patch",
        "      upstream has regions: its own region in reload",
    ]


def test_a_tree_that_is_only_like_a_release_is_not_said_to_be_it(made_up: Command, tree: Path) -> None:
    lay(tree, {path_of("config"): b"mine = 1\n"})
    ran = made_up("status", "--in", tree, "--megatron", "2.0")

    assert (ran.code, text(ran, tree)[0], text(ran, tree)[-1]) == (1, "TREE: 2.0 with changed files", "modified")
    lay(tree, {path_of(name): b"mine = 1\n" for name in ("buffer", "mode", "regions")})
    ran = made_up("status", "--in", tree)
    assert (ran.code, text(ran, tree)) == (1, ["TREE: unknown release", "unknown release"])


# JSON.


@pytest.mark.parametrize("command", ["apply", "status", "verify", "revert"])
@pytest.mark.parametrize("state", ["clean", "applied", "half", "changed", "unknown"])
def test_json_is_of_the_shipped_schema_and_all_there_is_on_stdout(
    made_up: Command, tree: Path, command: str, state: str
) -> None:
    files: dict[str, dict[str, bytes]] = {
        "clean": {},
        "applied": PATCHED["2.0"],
        "half": {path_of("config"): PATCHED["2.0"][path_of("config")]},
        "changed": {path_of("mode"): b"mine = 1\n"},
        "unknown": {path_of(name): b"mine = 1\n" for name in ("buffer", "config", "mode", "regions")},
    }
    lay(tree, files[state])
    ran = made_up(command, "--in", tree, "--format", "json")
    told = report(ran)

    assert told["ok"] is (ran.code == 0)
    assert (told["schema"], told["tool"], told["command"], told["tree"]) == (1, __version__, command, str(tree))
    assert told["target"] == (None if state == "unknown" else "2.0")
    assert bool(told["problems"]) is not told["ok"]
    assert msgspec.json.decode(ran.out, type=Report).verdict == told["verdict"]


def test_json_and_text_come_from_the_same_report(made_up: Command, tree: Path) -> None:
    planned = report(made_up("apply", "--in", tree, "--dry-run", "--format", "json"))
    done = report(made_up("apply", "--in", tree, "--format", "json"))

    assert {**planned, "verdict": "applied"} == done
    assert done["written"] == [
        ".patchkit/manifest.json",
        *(path_of(name) for name in ("buffer", "config", "mode", "regions")),
    ]
    assert [(patch["name"], patch["action"]) for patch in done["patches"]] == [
        ("grads", "apply"),
        ("params", "apply"),
        ("loose", "apply"),
        ("mode", "apply"),
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (
            ["apply", "--megatron", "9.9", "--format", "json"],
            2,
            ("unknown release '9.9'", "supported: v1.0, v1.1, v2.0, main"),
        ),
        (["status", "--in", "nowhere", "--format=json"], 4, ("nowhere does not exist", IN)),
        (
            ["revert", "--format", "json", "--in", "nowhere", "--installed"],
            2,
            ("--in and --installed exclude each other", None),
        ),
    ],
)
def test_an_error_is_json_on_stdout_and_text_on_stderr(
    made_up: Command, arguments: list[str], code: int, problem: tuple[str, str | None]
) -> None:
    message, hint = problem
    ran = made_up(*arguments)

    assert (ran.code, ran.err) == (code, f"error: {message}\n" + (f"  hint: {hint}\n" if hint else ""))
    assert json.loads(ran.out) == {
        "schema": 1,
        "tool": __version__,
        "command": arguments[0],
        "ok": False,
        "verdict": "error",
        "problems": [{"message": message, "hint": hint}],
    }


def test_an_error_as_text_leaves_stdout_empty(made_up: Command) -> None:
    ran = made_up("apply", "--megatron", "9.9")

    assert (ran.code, ran.out) == (2, "")


# The series' own commands.


def test_lint_prints_findings_on_stdout_and_its_json_has_them_by_rule(made_up: Command, series: Path) -> None:
    assert made_up("lint") == Ran(
        0, f"{series}: nothing wrong; hunks placed on 3 targets, not on main (no source at hand)\n", ""
    )
    assert json.loads(made_up("lint", "--format", "json").out) == {
        "findings": [],
        "placed": ["1.0", "1.1", "2.0"],
        "not_placed": ["main"],
    }

    file = series / "mode" / "patch.yaml"
    file.write_text(file.read_text().replace("group: plumbing", "group: pipes"))
    message = f"{file}: hunks[0].group: there is no group 'pipes'"
    ran = made_up("lint")
    assert (ran.code, ran.out, ran.err) == (1, f"{message} [unknown-group]\n", "")
    assert json.loads(made_up("lint", "--format", "json").out)["findings"] == [
        {"rule": "unknown-group", "message": message}
    ]


def test_regenerate_says_what_it_does_and_check_exits_with_1(made_up: Command, series: Path) -> None:
    steps = "v1.0\nv1.1\nv2.0\nmain\n"
    kept = "kept as they are (need --git REPO): main\n"
    for options in (["--check"], []):
        ran = made_up("regenerate", *options)
        assert (ran.code, ran.out, ran.err) == (0, f"{kept}{series}: everything is up to date\n", steps)

    file = series / "grads" / "patch.yaml"
    file.write_text(file.read_text().replace("origin: Made up.", "origin: Found."))
    ran = made_up("regenerate", "--check")
    assert (ran.code, ran.out) == (1, f"{series / 'lock.yaml'}: is out of date\n{kept}")
    ran = made_up("regenerate")
    assert (ran.code, ran.out) == (0, f"{series / 'lock.yaml'}: written\n{kept}")
    assert json.loads(made_up("regenerate", "--check", "--format", "json").out) == {
        "ok": True,
        "written": [],
        "removed": [],
        "kept": ["main"],
        "problems": [],
    }


def test_regenerate_tells_problems_on_stderr(made_up: Command, series: Path) -> None:
    file = series / "mode" / "variants" / "v2.patch"
    file.write_text(file.read_text().replace(" import sys", " import os"))
    ran = made_up("regenerate")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[4:] == [
        f"error: v2.0: {file}: {path_of('mode')}, hunk mode-guard: its old lines are nowhere in the file",
        "error: main: mode/variants/v2.patch changed, and the source is out of reach; give --git REPO",
    ]


def test_of_a_long_list_the_first_are_printed_and_how_many_more_there_are(made_up: Command, series: Path) -> None:
    document = series / "mode" / "patch.yaml"
    spec = "".join(
        f"  - id: more-{n}\n    group: nowhere\n    file: a.py\n    scope: s\n    intent: I.\n" for n in range(30)
    )
    document.write_text(document.read_text().replace("hunks:\n", f"hunks:\n{spec}", 1))
    lines = made_up("lint").out.splitlines()
    findings = json.loads(made_up("lint", "--format", "json").out)["findings"]

    assert len(findings) > 30
    assert lines == [
        *(f"{each['message']} [{each['rule']}]" for each in findings[:20]),
        f"... and {len(findings) - 20} more: --format json has all of them",
    ]


def test_lint_and_regenerate_take_the_series_of_the_current_directory_if_it_has_one(
    patchkit: Command, series: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(series.parents[1])
    here = Path("patches", "megatron")

    assert patchkit("lint").out.startswith(f"{here}: nothing wrong; hunks placed on 3 targets")
    assert patchkit("regenerate", "--check").out.endswith(f"\n{here}: everything is up to date\n")


def test_a_bar_shows_words_from_elsewhere_as_they_stand(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    reporter = StderrReporter(verbose=True)
    for done in (0, 1):
        reporter.count(done, 1, "a\x1b[2Jb [red]c[/red] ##[error]d")

    shown = re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    assert shown.strip().split("  ")[0].split(" \u2501")[0] == r"a\x1b[2Jb [red]c[/red] ## [error]d"


@pytest.mark.parametrize("place", ["message", "path", "hint"])
def test_a_line_break_or_a_tab_in_a_name_is_an_escape_on_stderr(capsys: pytest.CaptureFixture[str], place: str) -> None:
    name = "n\n  hint: all is well\r::error::x\tand.py"
    words = {"message": "is odd", "path": "a.py", "hint": "look", place: name}
    print_problem(Problem(words["message"], words["path"], hint=words["hint"]))
    StderrReporter(verbose=True).step(name)
    StderrReporter(verbose=True).note(name)

    shown = {**words, place: r"n\n  hint: all is well\r::error::x\tand.py"}
    assert capsys.readouterr().err.split("\n") == [
        f"error: {shown['path']}: {shown['message']}",
        f"  hint: {shown['hint']}",
        shown[place],
        f"note: {shown[place]}",
        "",
    ]


def test_a_line_break_or_a_tab_in_the_name_of_a_file_is_an_escape_in_a_report(made_up: Command, tree: Path) -> None:
    broken = tree.with_name("tree\nerror: x\ty")
    tree.rename(broken)
    done = made_up("status", "--in", broken)

    assert (done.code, done.out.split("\n")[0]) == (0, f"{tree}\\nerror: x\\ty: 2.0")
    assert "\nerror: x" not in done.out
