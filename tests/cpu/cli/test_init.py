"""A project begins to keep a series, of an upstream that nobody has heard of: made up, with a repository and wheels."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from trees.repositories import git, record
from trees.snapshots import contents, lay, snapshot
from trees.wheels import make_wheel

from patchkit.core.series import PatchDocument
from patchkit.core.upstream import VersionsDocument
from patchkit.store.documents import load_document
from patchkit.store.yaml_text import parse_yaml

from .conftest import Command

CORE = b'''\
"""The core."""


def run(size):
    """Do it."""
    first = size + 1
    return first


def stop():
    return None
'''
MOVED = CORE.replace(b'"""The core."""\n', b'"""The core."""\n\nimport sys\n\nLIMIT = sys.maxsize\n')
CHANGED = MOVED.replace(b"    first = size + 1\n", b"    first = min(size + 1, LIMIT)\n")
RELEASES = {"1.0": CORE, "2.0": MOVED, "3.0": CHANGED}
PATCHED = CORE.replace(b"size + 1", b"size + 2")
KNOWN = "Megatron-LM, SGLang, Megatron-Bridge, Transformer-Engine"
BOX = (
    *("--upstream", "Box", "--repository", "https://example.org/box", "--distribution", "tool-box"),
    *("--package", "src/box/core", "--source", "src", "--tag", "rel-{version}"),
)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Upstream's repository, with a tag for each release and a branch ahead of them."""
    folder = tmp_path / "box"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for version, text in RELEASES.items():
        record(lay(folder, {"src/box/core/run.py": text, "tools/make.sh": b"make\n"}), version)
        git(folder, "tag", f"rel-{version}")
    record(lay(folder, {"src/box/core/more.py": b"more = 1\n"}), "ahead")
    return folder


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The releases as a page of links has them, and a cache of their own."""
    links = tmp_path / "links"
    for version, text in RELEASES.items():
        make_wheel(links, version, files={"box/core/__init__.py": b"", "box/core/run.py": text}, name="tool-box")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    monkeypatch.setenv("PATCHKIT_CACHE", str(tmp_path / "cache"))
    return links


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, empty."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def foreign(tmp_path: Path, clone: Path) -> Path:
    """A patch that somebody made for 1.0."""
    git(clone, "checkout", "-q", "rel-1.0")
    lay(clone, {"src/box/core/run.py": PATCHED})
    (tmp_path / "twice.patch").write_text(git(clone, "diff") + "\n")
    git(clone, "checkout", "-q", "-f", "main")
    return tmp_path / "twice.patch"


@pytest.mark.usefixtures("wheels")
def test_a_series_of_another_upstream_goes_all_the_way(
    patchkit: Command, project: Path, clone: Path, foreign: Path, tmp_path: Path
) -> None:
    names = ("--release", "rel-1.0", "--release", "2.0", "--release", "v3.0", "--release", "main")
    header = ("--author", "A Team", "--forwarded", "no")
    made = patchkit("init", *BOX, *names, "--git", clone, "--from", foreign, *header)
    assert (made.code, made.out.splitlines()[-2:]) == (
        0,
        [
            "patches/tool-box: a series for Box, made for v1.0, v2.0, v3.0, main",
            "written: .github/workflows/patches.yml, .pre-commit-config.yaml, patchkit.toml",
        ],
    ), made.err
    assert sorted(contents(project)) == [
        ".github/workflows/patches.yml",
        ".pre-commit-config.yaml",
        "patches/tool-box/generated/main.patch",
        "patches/tool-box/generated/rel-1.0.patch",
        "patches/tool-box/generated/rel-2.0.patch",
        "patches/tool-box/generated/rel-3.0.patch",
        "patches/tool-box/lock.yaml",
        "patches/tool-box/series.yaml",
        "patches/tool-box/twice/patch.yaml",
        "patches/tool-box/twice/variants/v1.0.patch",
        "patches/tool-box/upstream_versions.yaml",
        "patchkit.toml",
    ]
    empty = contents(project)["patches/tool-box/generated/rel-3.0.patch"].splitlines()[0]
    assert (empty[:24], empty[-8:]) == (b"Patches for tool-box v3.", b"): none.")
    upstream = load_document(VersionsDocument, Path("patches/tool-box/upstream_versions.yaml")).upstream
    assert [(each.version, each.tag, each.ships) for each in upstream.releases] == [
        (version, f"rel-{version}", ("box.core",)) for version in RELEASES
    ]
    assert [(each.name, each.as_of) for each in upstream.branches] == [("main", "3.0")]

    patch = load_document(PatchDocument, Path("patches/tool-box/twice/patch.yaml"))
    assert (patch.author, patch.forwarded) == ("A Team", "no")

    # Every command finds the series, also from below, and says so.
    (project / "deep").mkdir()
    listed = patchkit("upstream")
    assert (listed.code, listed.err) == (0, "series: patches/tool-box (from patchkit.toml)\n")

    assert [line.split("  ")[-1].strip() for line in listed.out.splitlines()[1:]] == [
        "v1.0.patch",
        *["not carried"] * 3,
    ]

    # What nobody has carried there is no success, wherever it is applied.
    refused = patchkit("apply", "--release", "2.0", "--to", tmp_path / "two")
    assert (refused.code, (tmp_path / "two").exists()) == (1, False)
    assert refused.err.splitlines()[-2:] == [
        "error: twice: it is not carried to v2.0 yet",
        "  hint: carry it there: `patchkit rebase --onto v2.0`",
    ]

    # A wheel has its own paths, and a checkout those of the repository.
    assert patchkit("apply", "--release", "1.0", "--to", tmp_path / "one").code == 0
    assert (tmp_path / "one/box/core/run.py").read_bytes() == PATCHED
    assert patchkit("verify", "--in", tmp_path / "one").code == 0
    assert patchkit("apply", "--release", "rel-1.0", "--git", clone, "--to", tmp_path / "checkout").code == 0
    assert (tmp_path / "checkout/src/box/core/run.py").read_bytes() == PATCHED
    assert patchkit("apply", "--release", "1.0", "--wheel", tmp_path / "out").code == 0
    (wheel,) = (tmp_path / "out").glob("tool_box-1.0+patchkit.*-py3-none-any.whl")
    assert patchkit("verify", "--in", wheel).code == 0

    # Carried from wheel to wheel; what a person has to decide is said with the commit that did it.
    carried = patchkit("rebase", "--onto", "2.0")
    assert (carried.code, carried.out.splitlines()[-1].split()[0]) == (0, "written"), carried.out + carried.err
    assert patchkit("apply", "--release", "2.0", "--to", tmp_path / "two").code == 0
    assert (tmp_path / "two/box/core/run.py").read_bytes() == MOVED.replace(b"size + 1", b"size + 2")
    onto_three = patchkit("rebase", "--onto", "3.0", "--git", clone, "--dry-run", "--format", "json")
    (hunk,) = json.loads(onto_three.out)["patches"][0]["hunks"]
    assert (hunk["verdict"], [commit["subject"] for commit in hunk["commits"]]) == ("conflict", ["3.0"])
    assert patchkit("revert", "--in", tmp_path / "one").code == 0
    assert (tmp_path / "one/box/core/run.py").read_bytes() == CORE
    # Nothing of Megatron-LM is known here.
    assert "0.19.2" not in patchkit("apply", "--release", "9.9", "--to", tmp_path / "nine").err


@pytest.mark.usefixtures("wheels")
def test_nothing_is_written_by_a_dry_run_or_when_a_patch_does_not_fit(
    patchkit: Command, project: Path, clone: Path, foreign: Path
) -> None:
    arguments = ("init", *BOX, "--release", "2.0", "--git", clone, "--from", foreign)
    dry = patchkit(*arguments, "--dry-run")
    assert (dry.code, snapshot(project)) == (0, {}), dry.err
    assert dry.out.splitlines()[-1].startswith("would be written: ")

    foreign.write_text(foreign.read_text().replace("-    first = size + 1", "-    first = size + 7"))
    unfit = patchkit(*arguments, "--base", "rel-1.0")
    assert (unfit.code, contents(project)) == (1, {})
    assert "its old lines are nowhere in the base" in unfit.err


def test_without_a_patch_there_is_a_place_for_the_first(patchkit: Command, project: Path) -> None:
    made = patchkit("init", "--megatron", "v0.19.2", "--no-workflow", "--no-pre-commit")
    assert (made.code, made.out.splitlines()) == (
        0,
        [
            "patches/megatron: a series for Megatron-LM, made for v0.19.2",
            "written: patches/megatron/upstream_versions.yaml, patchkit.toml",
            "next: patchkit import FILE makes the first patch of the series",
        ],
    )
    found = load_document(VersionsDocument, project / "patches/megatron/upstream_versions.yaml")
    assert [release.version for release in found.upstream.releases] == ["0.19.2"]

    empty = patchkit("status")
    assert (empty.code, empty.err.splitlines()[1:]) == (
        3,
        [
            "error: patches/megatron/series.yaml: there is no patch yet",
            "  hint: `patchkit import FILE` makes the first one",
        ],
    )
    again = patchkit("init", "--megatron", "v0.19.2")
    assert (again.code, again.err.splitlines()[0]) == (
        2,
        "error: patches/megatron/upstream_versions.yaml is there already",
    )


def test_what_a_project_has_already_is_kept(patchkit: Command, project: Path) -> None:
    (project / "patches/mine").mkdir(parents=True)
    (project / ".github/workflows").mkdir(parents=True)
    (project / ".github/workflows/patches.yml").write_text("name: mine\n")
    (project / "pyproject.toml").write_text('[tool.patchkit]\npatches = "patches/mine"\n')
    hooks = (
        "# Ours.\nrepos:\n  - repo: https://example.org/hooks  # pinned\n    rev: v1\n    hooks:\n      - id: tidy\n"
    )
    (project / ".pre-commit-config.yaml").write_text(hooks)
    made = patchkit("init", "--megatron", "v0.19.2", "--patches", "patches/other")

    assert made.code == 0
    assert [line for line in made.out.splitlines() if line.startswith("note")] == [
        "note: pyproject.toml names a series already, and is left alone: patches/mine",
        "note: .github/workflows/patches.yml is there already, and is left alone",
    ]
    assert (project / ".github/workflows/patches.yml").read_text() == "name: mine\n"
    assert not (project / "patchkit.toml").exists()
    written = (project / ".pre-commit-config.yaml").read_text()
    assert written.startswith(hooks)
    document = parse_yaml(written.encode(), "")
    assert isinstance(document, dict)
    assert [hook["entry"] for hook in document["repos"][1]["hooks"]] == ["patchkit lint", "patchkit regenerate --check"]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            ("--upstream", "Nobody"),
            "Nobody is no upstream that patchkit knows by name",
            f"describe it with --repository URL and --package PATH; known are {KNOWN}",
        ),
        (
            ("--upstream", "sglang", "--source", "src"),
            "there can be no such upstream: the package 'python/sglang' is not below `source`, which is 'src'",
            "",
        ),
        (("--split",), "--base, --split, --name, --author and --forwarded are about the patches of --from", ""),
        (("--patches", "/elsewhere"), "/elsewhere is not below .", "a series lies in the project that keeps it"),
        (("--patches", "../beside"), "../beside is not below .", "a series lies in the project that keeps it"),
        ((*BOX[:-1], "rel"), "--tag rel: a tag is written with {version}, once", ""),
    ],
)
def test_a_beginning_that_cannot_be_made_is_a_usage_error(
    patchkit: Command, project: Path, arguments: tuple[str, ...], message: str, hint: str
) -> None:
    refused = patchkit("init", *arguments)

    assert (refused.code, contents(project)) == (2, {})
    lines = refused.err.splitlines()
    assert (lines[0].removeprefix("error: "), "".join(lines[1:]).removeprefix("  hint: ")) == (message, hint)


@pytest.mark.usefixtures("wheels", "project")
def test_a_folder_may_be_written_with_a_slash_behind_it(patchkit: Command, clone: Path) -> None:
    slashed = ("--package", "src/box/core/", "--source", "src/", "--tag", "rel-{version}")

    assert patchkit("init", *BOX[:6], *slashed, "--release", "1.0", "--git", clone).code == 0
    upstream = load_document(VersionsDocument, Path("patches/tool-box/upstream_versions.yaml")).upstream
    assert (upstream.packages, upstream.source) == (("src/box/core",), "src")


@pytest.mark.usefixtures("wheels")
def test_a_release_whose_wheel_has_not_the_packages_is_refused(patchkit: Command, project: Path, clone: Path) -> None:
    packages = ("--package", "src/box/lid", "--source", "src", "--tag", "rel-{version}")
    refused = patchkit("init", *BOX[:6], *packages, "--release", "1.0", "--git", clone)

    assert (refused.code, contents(project)) == (4, {})
    assert refused.err.splitlines()[-2:] == [
        "error: tool_box-1.0-py3-none-any.whl has no folder box/lid, so that it is no Box",
        "  hint: --package says the folders of the packages, --source which of their folders a wheel does not have",
    ]


def test_a_shallow_clone_without_the_base_says_what_to_fetch(
    patchkit: Command, project: Path, clone: Path, foreign: Path, tmp_path: Path
) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", clone.as_uri(), str(shallow))
    refused = patchkit("init", *BOX, "--git", shallow, "--release", "main", "--from", foreign)

    assert (refused.code, contents(project)) == (2, {})
    assert refused.err.splitlines()[-1].startswith(
        f"  hint: this clone is shallow (git -C {shallow} fetch --unshallow); the ids may be made up"
    )


def test_a_name_that_means_nothing_without_a_clone_says_so(patchkit: Command, project: Path) -> None:
    refused = patchkit("init", "--megatron", "abcdef0123")

    assert (refused.code, contents(project)) == (2, {})
    assert refused.err.splitlines()[-1].endswith("give a clone of Megatron-LM with --git REPO")


def test_the_clone_of_another_project_is_refused(patchkit: Command, project: Path, clone: Path) -> None:
    refused = patchkit("init", "--megatron", "main", "--git", clone)

    assert (refused.code, contents(project)) == (4, {})
    assert refused.err.splitlines()[-2:] == [
        f"error: {clone}: main has no folder megatron/core, so that it is no Megatron-LM",
        "  hint: is it the clone of another project?",
    ]


def test_the_workflow_is_one_that_github_takes(patchkit: Command, project: Path) -> None:
    assert patchkit("init", "--megatron", "v0.19.2", "--patches", "our patches/x").code == 0
    workflow = project / ".github/workflows/patches.yml"
    checked = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(workflow)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert checked.returncode == 0, checked.stdout
    assert "patchkit lint --patches 'our patches/x' --git" in workflow.read_text()


def test_the_nightly_job_tells_each_thing_once(patchkit: Command, project: Path) -> None:
    # A release that the series is not for is broken every night; who reads that twice looks at nothing any more.
    assert patchkit("init", "--megatron", "v0.19.2").code == 0
    steps = yaml.safe_load((project / ".github/workflows/patches.yml").read_text())["jobs"]["upstream"]["steps"]
    recall, check, remember = steps[-3:]
    where = {"path": "${{ runner.temp }}/reported", "key": "reported-${{ github.run_id }}-${{ github.run_attempt }}"}

    assert (recall["uses"], recall["with"]) == ("actions/cache/restore@v4", {**where, "restore-keys": "reported-"})
    assert '--new-only --state "$RUNNER_TEMP/reported/state.txt"' in check["run"]
    # Saved when the check failed, too: it fails for what is new.
    assert (remember["uses"], remember["if"], remember["with"]) == ("actions/cache/save@v4", "always()", where)
