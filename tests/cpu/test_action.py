"""The GitHub Action, its example and the pre-commit hooks, by their schemas; the step's script by running it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from operations.carried_world import CODE, CODE_1, World
from trees.repositories import git

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEP = next(step for step in ACTION["runs"]["steps"] if step.get("id") == "check")

FAKE = """\
#!/bin/sh
printf '%s\\n' "$@" > "$RUNNER_TEMP/arguments"
exit "$FAKE_CODE"
"""


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("vendor.github-actions", "action.yml"),
        ("vendor.github-workflows", "docs/examples/check-upstream.yml"),
        ("vendor.github-workflows", ".github/workflows/release.yml"),
        ("vendor.github-workflows", ".github/workflows/test.yml"),
    ],
)
def test_it_is_what_github_takes(schema: str, file: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(ROOT / file)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "ok -- validation done\n"), done.stdout + done.stderr


def test_the_hooks_are_what_pre_commit_takes() -> None:
    command = [sys.executable, "-m", "pre_commit", "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")]
    assert subprocess.run(command, check=False).returncode == 0


def test_the_example_uses_inputs_that_there_are() -> None:
    example = yaml.safe_load((ROOT / "docs/examples/check-upstream.yml").read_text())
    uses = [step for step in example["jobs"]["check"]["steps"] if "megatron-patchkit" in step.get("uses", "")]
    assert [set(step["with"]) - set(ACTION["inputs"]) for step in uses] == [set()]


def run(folder: Path, code: int, **inputs: str) -> tuple[int, list[str], str]:
    """Run the step's script with a patchkit that notes its arguments; return exit code, arguments, outputs."""
    bin_folder = folder / "patchkit" / "bin"
    bin_folder.mkdir(parents=True)
    fake = bin_folder / "patchkit"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    environment = {
        "PATH": "/usr/bin:/bin",
        "RUNNER_TEMP": str(folder),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "GITHUB_OUTPUT": str(folder / "output"),
        "FAKE_CODE": str(code),
        **{name: inputs.get(name, "") for name in STEP["env"]},
    }
    # What GitHub runs for `shell: bash`.
    done = subprocess.run(
        ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEP["run"]], check=False, env=environment
    )
    return done.returncode, (folder / "arguments").read_text().splitlines(), (folder / "output").read_text()


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (1, 1), (3, 3), (4, 4), (5, 0)])
def test_the_step_ends_as_patchkit_does_and_new_is_no_failure(tmp_path: Path, code: int, ends: int) -> None:
    assert run(tmp_path, code)[0::2] == (ends, f"exit-code={code}\n")


def test_without_inputs_the_built_in_series_is_looked_at(tmp_path: Path) -> None:
    page = f"{tmp_path}/check-upstream"
    assert run(tmp_path, 0)[1] == [
        "check-upstream",
        "--format",
        "github",
        "--detailed-exit-code",
        "--report",
        f"markdown={tmp_path}/summary",
        "--report",
        f"html={page}/index.html",
        "--report",
        f"json={page}/report.json",
        "--report",
        f"sarif={page}/report.sarif",
    ]


def test_inputs_become_options_and_never_commands(tmp_path: Path) -> None:
    inputs = {
        "PATCHES": "my patches; touch hacked",
        "CLONE": "$(touch hacked)",
        "NEW_ONLY": "true",
        "ARGUMENTS": "--pre --onto `touch`",
    }
    code, arguments, _ = run(tmp_path, 0, **inputs)
    assert (code, arguments[12:]) == (
        0,
        [
            "--patches",
            "my patches; touch hacked",
            "--git",
            "$(touch hacked)",
            "--new-only",
            "--pre",
            "--onto",
            "`touch`",
        ],
    )
    assert not Path("hacked").exists()


def script_of(name: str) -> str:
    return str(next(step["run"] for step in ACTION["runs"]["steps"] if step["name"] == name))


@pytest.mark.network
def test_the_steps_one_after_the_other_install_this_checkout_and_write_summary_and_page(tmp_path: Path) -> None:
    """As a runner has it: a folder of its own, only what the action sets, no patchkit but the one that it installs."""
    there = World(tmp_path / "world", {CODE: CODE_1.replace(b"\n\n\n", b"\n\nimport sys\n\n\n", 1)})
    job, temporary = tmp_path / "job", tmp_path / "temporary"
    job.mkdir()
    # A build writes into the folder that it is given.
    checkout = shutil.copytree(
        ROOT,
        tmp_path / "checkout",
        ignore=shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", "_version.py"),
    )
    temporary.mkdir()
    environment = {
        **{name: value for name, value in os.environ.items() if name.startswith("PIP_")},
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "RUNNER_TEMP": str(temporary),
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "PATCHKIT_CACHE": str(there.cache),
        "PATCHKIT_SOURCE": str(checkout),
        "PATCHES": str(there.series),
        "CLONE": "",
        "ARGUMENTS": "--offline",
        "NEW_ONLY": "true",
    }
    for name in ("Install patchkit", "Check upstream"):
        script = tmp_path / "step.sh"
        script.write_text(script_of(name))
        done = subprocess.run(
            ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            check=False,
            cwd=job,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "output").read_text() == "exit-code=5\n"
    assert (tmp_path / "summary").read_text().startswith("#")
    assert sorted(file.name for file in (temporary / "check-upstream").iterdir()) == [
        "index.html",
        "report.json",
        "report.sarif",
    ]
    assert list(job.iterdir()) == []


REMEMBER = next(
    step["run"]
    for step in yaml.safe_load((ROOT / "docs/examples/check-upstream.yml").read_text())["jobs"]["check"]["steps"]
    if step.get("name") == "Remember what was reported"
)
STATE = "patches/megatron/reported.txt"


@pytest.mark.parametrize("reported", [None, "as before\n", "news\n"])
@pytest.mark.parametrize("pushed", [False, True])
def test_the_example_remembers_what_was_reported_whatever_else_was_pushed(
    tmp_path: Path, reported: str | None, pushed: bool
) -> None:
    origin, job, other = tmp_path / "origin", tmp_path / "job", tmp_path / "other"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(origin))
    git(tmp_path, "clone", "-q", str(origin), str(other))
    (other / STATE).parent.mkdir(parents=True)
    (other / "series.yaml").write_text("schema: 1\n")
    if reported is not None:
        (other / STATE).write_text("as before\n")
    git(other, "add", ".")
    git(other, "commit", "-q", "-m", "Begin")
    git(other, "push", "-q", "origin", "HEAD:main")
    # As actions/checkout does.
    git(tmp_path, "clone", "-q", "--depth=1", origin.as_uri(), str(job))
    if pushed:
        git(other, "commit", "-q", "--allow-empty", "-m", "Meanwhile")
        git(other, "push", "-q", "origin", "HEAD:main")
    if reported is not None:
        (job / STATE).write_text(reported)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(
        ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", REMEMBER],
        cwd=job,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    subjects = git(origin, "log", "--format=%s", "main").splitlines()
    remembered = ["check-upstream: what has been reported"] if reported == "news\n" else []
    assert subjects == [*remembered, *(["Meanwhile"] if pushed else []), "Begin"]
    if reported is not None:
        assert git(origin, "show", f"main:{STATE}") == reported.strip()
