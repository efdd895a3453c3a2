from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from operations.fixtures import load_built_in

from patchkit import __version__
from patchkit.cli.exit_codes import ExitCode, exit_code
from patchkit.cli.main import patchkit as group
from patchkit.errors import (
    ArchiveError,
    DamagedCloneError,
    DigestMismatchError,
    IndexUnavailableError,
    InterruptedWriteError,
    NotATreeError,
    PatchFormatError,
    PatchkitError,
    RevisionNotFoundError,
    SourceError,
    StoreError,
    TreeBusyError,
    TreeError,
    UnsafePathError,
    UsageError,
    WriteFailedError,
)
from patchkit.operations.supported import supported

from .conftest import Command

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
ADOPTION = (Path(__file__).parents[3] / "docs/adoption.md").read_text(encoding="utf-8")
COMMANDS = [
    "apply",
    "capture",
    "check-upstream",
    "doctor",
    "evidence",
    "explain",
    "history",
    "import",
    "init",
    "lint",
    "pins",
    "rebase",
    "regenerate",
    "revert",
    "run",
    "status",
    "tms",
    "upstream",
    "verify",
]


def table(text: str) -> list[list[str]]:
    """The cells of a Markdown table, without its head."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


# Help.


def test_help_lists_every_command(patchkit: Command) -> None:
    ran = patchkit("--help")

    assert (ran.code, ran.err) == (0, "")
    assert [line.split()[0] for line in ran.out.partition("Commands:\n")[2].splitlines()] == COMMANDS
    assert patchkit("-h") == ran


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_explains_itself_and_each_of_its_options(patchkit: Command, name: str) -> None:
    ran = patchkit(name, "--help")
    command = group.get_command(click.Context(group), name)
    assert command is not None
    options = [param for param in command.params if isinstance(param, click.Option)]

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: patchkit {name} [OPTIONS]")
    assert [flag for option in options for flag in option.opts if flag not in ran.out] == []
    assert [option.name for option in options if not option.help and option.name != "style"] == []
    assert patchkit(name, "-h") == ran


def test_the_version_is_told(patchkit: Command) -> None:
    assert patchkit("--version").out == f"patchkit {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nothing"], "No such command 'nothing'"),
        (["apply", "--nothing"], "No such option"),
        (["apply", "--format", "xml"], "Invalid value for '--format'"),
        (["apply", "more"], "Got unexpected extra argument"),
    ],
)
def test_what_the_command_line_does_not_know_is_usage(patchkit: Command, arguments: list[str], problem: str) -> None:
    ran = patchkit(*arguments)

    assert (ran.code, ran.out) == (2, "")
    assert re.search(problem, ran.err)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["\x1b[31mx"], "No such command '\\x1b[31mx'."),
        (["status", "a\x1b[2Jb\x1b[1mc"], "Got unexpected extra argument (a\\x1b[2Jb\\x1b[1mc)"),
        (["status", "a\nerror: b"], "Got unexpected extra argument (a\\nerror: b)"),
        (["status", "\u202egpj.x\udcff"], "Got unexpected extra argument (\\u202egpj.x\\udcff)"),
        (["apply", "\n::error::x", "##[error]"], "Got unexpected extra arguments (\\n::error::x ## [error])"),
        (["tms", "triage", "no\x1bne\u202e\udcff"], "Invalid value for 'LOG...': 'no\\x1bne\\u202e\ufffd': "),
        (["status", "--in\x1b[0m"], "No such option '--in\\x1b[0m'."),
    ],
)
def test_words_of_the_command_line_do_nothing_to_a_terminal_where_click_tells_them(
    patchkit: Command, arguments: list[str], told: str
) -> None:
    ran = patchkit(*arguments)
    *usage, last = ran.err.splitlines()

    assert (ran.code, ran.out) == (2, "")
    assert last.startswith(f"Error: {told}")
    assert [line.split()[:2] for line in usage] == [["Usage:", "patchkit"], ["Try", usage[1].split()[1]], []]


def test_colours_in_a_name_are_not_ours(patchkit: Command, tmp_path: Path) -> None:
    ran = patchkit("apply", "--git", tmp_path / "no\x1b[31mne\x1b[2J", "--megatron", "1.1", "--to", "x")

    assert (ran.code, ran.err) == (4, f"error: {tmp_path}/no\\x1b[31mne\\x1b[2J is not a git repository\n")


def test_a_group_that_is_given_nothing_tells_its_commands(patchkit: Command) -> None:
    ran = patchkit("tms")

    assert "\n  triage  " in ran.out + ran.err


def test_what_the_command_line_does_not_know_is_told_as_json_too(patchkit: Command) -> None:
    ran = patchkit("apply", "--format", "json", "--in")

    assert ran.code == 2
    assert json.loads(ran.out) == {
        "schema": 1,
        "tool": __version__,
        "command": "apply",
        "ok": False,
        "verdict": "error",
        "problems": [{"message": "Option '--in' requires an argument.", "hint": None}],
    }


def test_a_reader_that_goes_away_gets_no_traceback_and_nobody_a_yes() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "patchkit", "upstream", "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        told = process.stderr.read()
    assert (process.returncode, told) == (1, b"")


# Exit codes.


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("m"), 2),
        (SourceError("m"), 3),
        (PatchFormatError("f", 1, "m"), 3),
        (StoreError("f", "k", "m"), 3),
        (TreeError("m"), 4),
        (NotATreeError("m"), 4),
        (RevisionNotFoundError("m"), 4),
        (DamagedCloneError("m"), 4),
        (ArchiveError("m"), 4),
        (UnsafePathError("m"), 4),
        (IndexUnavailableError("m"), 4),
        (DigestMismatchError("m"), 4),
        (TreeBusyError("m"), 4),
        (WriteFailedError("m"), 4),
        (InterruptedWriteError("m"), 4),
        (PatchkitError("m"), 255),
    ],
)
def test_each_error_has_its_exit_code(error: PatchkitError, code: int) -> None:
    assert exit_code(error) == code


def test_the_exit_codes_of_the_readme_are_those_there_are() -> None:
    section = README.partition("## Exit codes\n")[2].partition("\n## ")[0]
    rows = table(section)

    assert [int(code) for code, _ in rows] == [int(code) for code in ExitCode]
    assert all(meaning for _, meaning in rows)


# What is supported.


def test_upstream_lists_every_target_of_the_lock(patchkit: Command) -> None:
    ran = patchkit("upstream")
    rows = supported(load_built_in())
    lines = ran.out.splitlines()

    assert (ran.code, ran.err) == (0, "")
    assert re.split(r"  +", lines[0].strip()) == [
        "target",
        "date",
        "python",
        "ships",
        "tag or commit",
        *(patch.name for patch in load_built_in().sources.series.patches),
    ]
    assert [line.split("  ")[0] for line in lines[1:]] == [
        f"{row.target} (yanked)" if row.yanked else row.target for row in rows
    ]
    assert [row.target for row in rows] == list(load_built_in().sources.lock.targets)


def test_upstream_shows_a_made_up_series_as_a_table(made_up: Command, series: Path) -> None:
    commit = re.findall(r"commit: \"?([0-9a-f]{10})", (series.parents[1] / "upstream_versions.yaml").read_text())[-1]

    ships = ["megatron.core", "megatron.training"]
    rows = [
        ["target", "date", "python", "ships", "tag or commit", "grads", "params", "loose", "mode"],
        ["1.0", "2026-01-01", "", "megatron.core", "core_v1.0", *["v1.patch"] * 3, "not needed"],
        ["1.1 (yanked)", "2026-02-01", ">=3.10", "megatron.core", "core_v1.1", *["v1.patch"] * 3, "not needed"],
        ["2.0", "2026-03-01", ">=3.10", ", ".join(ships), "no public tag", *["v1.patch"] * 3, "v2.patch"],
        ["main", "2026-04-01", "", "", commit, "main.patch", *["v1.patch"] * 2, "v2.patch"],
    ]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]

    assert [line.rstrip() for line in made_up("upstream").out.splitlines()] == [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def test_upstream_prints_no_character_of_a_tag_that_a_terminal_a_runner_or_rich_obeys(
    made_up: Command, series: Path
) -> None:
    file = series.parents[1] / "upstream_versions.yaml"
    file.write_text(file.read_text().replace("tag: core_v1.0", r'tag: "a\e[2Jb\u202e ##[error]c [red]d[/] ::e::"'))
    row = made_up("upstream").out.splitlines()[1]

    assert row.split("megatron.core")[1].split("v1.patch")[0].strip() == (
        r"a\x1b[2Jb\u202e ## [error]c [red]d[/] : :e::"
    )


def test_upstream_gives_the_same_as_json(made_up: Command, series: Path) -> None:
    ran = made_up("upstream", "--format", "json")
    rows = json.loads(ran.out)

    assert (ran.code, ran.err) == (0, "")
    assert [row["target"] for row in rows] == ["1.0", "1.1", "2.0", "main"]
    assert rows[1] == {
        "target": "1.1",
        "date": "2026-02-01",
        "python": ">=3.10",
        "ships": ["megatron.core"],
        "tag": "core_v1.1",
        "commit": "11" + "0" * 38,
        "yanked": "too early",
        "variants": {"grads": "v1.patch", "params": "v1.patch", "loose": "v1.patch", "mode": None},
        "uncarried": [],
    }


def test_the_table_of_the_readme_is_what_the_lock_says() -> None:
    marked = re.search(r"<!-- supported: begin -->\n(.*?)<!-- supported: end -->", README, re.DOTALL)
    assert marked is not None
    workspace = load_built_in()

    assert table(marked[1]) == [
        [
            f"{workspace.named(row.target).title} (yanked)"
            if row.yanked
            else (f"v{row.target}" if workspace.named(row.target).release else f"`{row.target}`"),
            row.date,
            # A release that declares nothing takes any Python; of a branch or commit nothing is recorded.
            (row.python or "any") if workspace.named(row.target).release else "-",
            *((variant or "not needed").removesuffix(".patch") for variant in row.variants.values()),
        ]
        for row in supported(workspace)
    ]


def shell_lines(page: str) -> list[str]:
    """The commands of the blocks of shell in a page, each on one line, comments aside."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    lines = [line.partition(" #")[0] for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [part.strip() for line in lines for part in line.split("&&") if part.strip().startswith("patchkit ")]


@pytest.mark.parametrize("line", [*re.findall(r"`(patchkit [a-z]+ [^`\n]*)`", README), *shell_lines(ADOPTION)])
def test_the_commands_of_the_readme_and_of_adoption_have_options_that_there_are(patchkit: Command, line: str) -> None:
    name, *words = line.split()[1:]
    command = group.get_command(click.Context(group), name)
    if isinstance(command, click.Group):
        command = command.get_command(click.Context(command), words.pop(0))
    assert command is not None
    known = {flag for param in command.params for flag in param.opts}

    assert [word for word in words if word.startswith("--") and word not in known] == []
