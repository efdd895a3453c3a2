"""What makes a release: the version from the tags, the change log from its fragments, the workflows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def run(*command: str, folder: Path) -> str:
    """Run a command in a folder, with nobody's settings of git; return what it printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SETUPTOOLS_SCM"))}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(list(command), cwd=folder, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def git(folder: Path, *words: str) -> str:
    return run("git", "-c", "user.name=n", "-c", "user.email=e@example.org", *words, folder=folder).strip()


def version(folder: Path) -> str:
    """The version that a build in ``folder`` would have."""
    return run(sys.executable, "-m", "hatchling", "version", folder=folder).strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with what the version depends on, one commit and no tag."""
    folder = tmp_path / "clone"
    (folder / "patchkit").mkdir(parents=True)
    for name in (
        "pyproject.toml",
        "README.md",
        "LICENSE",
        ".git_archival.txt",
        ".gitattributes",
        "patchkit/__init__.py",
    ):
        shutil.copy(ROOT / name, folder / name)
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "first")
    return folder


# The version.


def test_a_tagged_commit_has_the_version_of_its_tag(clone: Path) -> None:
    git(clone, "tag", "v1.2.3")

    assert version(clone) == "1.2.3"


def test_what_comes_behind_a_tag_is_on_the_way_to_the_next_one(clone: Path) -> None:
    git(clone, "tag", "v1.2.3")
    git(clone, "commit", "--quiet", "--allow-empty", "--message", "second")

    assert version(clone) == f"1.2.4.dev1+g{git(clone, 'rev-parse', '--short=9', 'HEAD')}"


def test_a_clone_without_tags_has_a_version(clone: Path, tmp_path: Path) -> None:
    git(clone, "commit", "--quiet", "--allow-empty", "--message", "second")
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{clone}", "shallow")
    commit = git(clone, "rev-parse", "--short=9", "HEAD")

    assert version(clone) == f"0.1.0.dev2+g{commit}"
    assert version(tmp_path / "shallow") == f"0.1.0.dev1+g{commit}"


def test_an_archive_of_a_commit_knows_its_tag(clone: Path, tmp_path: Path) -> None:
    git(clone, "tag", "v1.2.3")
    git(clone, "archive", "--prefix=archive/", f"--output={tmp_path}/archive.tar", "HEAD")
    shutil.unpack_archive(tmp_path / "archive.tar", tmp_path)

    assert version(tmp_path / "archive") == "1.2.3"


def test_a_bare_copy_has_a_version(clone: Path) -> None:
    shutil.rmtree(clone / ".git")
    (clone / ".git_archival.txt").unlink()

    assert version(clone) == "0.1.0.dev0"


def test_a_copy_that_was_never_built_says_that_it_does_not_know(clone: Path) -> None:
    code = "import patchkit; print(patchkit.__version__)"

    assert run(sys.executable, "-c", code, folder=clone) == "0+unknown\n"


# The change log.


def test_fragments_become_the_section_of_a_release_above_the_others(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "changelog.d", tmp_path / "changelog.d")
    for fragment in (tmp_path / "changelog.d").glob("*.*.md"):
        fragment.unlink()
    (tmp_path / "changelog.d/12.added.md").write_text("`patchkit new` does something new.\n")
    (tmp_path / "changelog.d/+words.fixed.md").write_text("Something works.\n")
    before = (tmp_path / "CHANGELOG.md").read_text()
    command = [sys.executable, "-m", "towncrier", "build", "--yes", "--version", "9.8.7", "--date", "2030-01-02"]
    git(tmp_path, "init", "--quiet")
    run(*command, folder=tmp_path)
    head, mark, rest = (tmp_path / "CHANGELOG.md").read_text().partition("<!-- releases -->\n")
    section, _, old = rest.partition("\n## Unreleased\n")

    assert head + mark + "\n## Unreleased\n" + old == before
    assert section.strip() == (
        "## 9.8.7 (2030-01-02)\n\n### Added\n\n- `patchkit new` does something new. (#12)\n\n"
        "### Fixed\n\n- Something works."
    )
    assert [path.name for path in (tmp_path / "changelog.d").iterdir()] == ["README.md"]


def test_every_fragment_is_of_a_kind_that_there_is() -> None:
    kinds = {kind["directory"] for kind in PROJECT["tool"]["towncrier"]["type"]}
    names = [path.name for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]

    assert [name for name in names if not re.fullmatch(rf"(\d+|\+[\w-]+)\.({'|'.join(kinds)})\.md", name)] == []


# The workflows.


def workflow(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows" / name).read_text())
    return loaded


def test_the_tests_run_on_every_python_that_the_package_says_it_is_for() -> None:
    classifiers = PROJECT["project"]["classifiers"]
    said = [text.rpartition(" ")[2] for text in classifiers if re.search(r":: 3\.\d+$", text)]

    assert workflow("test.yml")["jobs"]["test"]["strategy"]["matrix"]["python"] == said
    assert PROJECT["project"]["requires-python"] == f">={said[0]}"


def test_only_the_job_that_publishes_may_ask_for_a_token_and_it_runs_nothing_of_ours() -> None:
    release = workflow("release.yml")
    publish = release["jobs"]["publish"]

    assert release["permissions"] == {}
    assert release["jobs"]["build"]["permissions"] == {"contents": "read"}
    assert (publish["permissions"], publish["environment"], publish["needs"]) == (
        {"id-token": "write"},
        "release",
        "build",
    )
    assert [step for step in publish["steps"] if "run" in step] == []


@pytest.mark.parametrize("name", ["release.yml", "test.yml"])
def test_actions_of_others_are_named_by_commit_and_tell_their_version(name: str) -> None:
    uses = re.findall(r"uses: (.+)$", (ROOT / ".github/workflows" / name).read_text(), re.MULTILINE)

    assert uses != []
    assert [use for use in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)] == []


@pytest.mark.parametrize(("tag", "code"), [("v1.2.3", 0), ("v1.2.4", 1)])
def test_a_tag_that_is_not_the_version_stops_the_release(tmp_path: Path, tag: str, code: int) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist/megatron_patchkit-1.2.3-py3-none-any.whl").write_bytes(b"")
    step = next(step for step in workflow("release.yml")["jobs"]["build"]["steps"] if "TAG" in step.get("env", {}))
    script = ["/bin/bash", "-e", "-c", step["run"]]

    assert subprocess.run(script, cwd=tmp_path, env={"TAG": tag}, check=False).returncode == code


# The page for contributors.


def test_the_commands_for_contributors_are_three_and_their_files_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    commands = text.partition("```sh\n")[2].partition("```")[0].splitlines()
    words = [word for command in commands for word in command.split() if "/" in word and not word.startswith(".venv")]

    assert len(commands) == 3
    assert [word for word in words if not (ROOT / word.split("::")[0]).exists()] == []
