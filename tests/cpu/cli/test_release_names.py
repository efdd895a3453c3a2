"""Every command that asks for a revision of a clone takes a release by the names that people have for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from operations import made_up as fake
from trees.repositories import git, record
from trees.snapshots import lay

from .conftest import Command

Asks = Callable[[str, Path, Path], list[str | Path]]
"""The command line that asks for a release by a name, of a clone, for a series."""
NAMES = ("core_v1.2", "core_1.2", "v1.2", "1.2")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty project: `init` makes one of the current folder."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with a release that no list knows; its files are those of 1.1."""
    folder = tmp_path / "clone"
    fake.repository(folder)
    git(folder, "checkout", "-q", "-b", "later", "core_v1.1")
    lay(folder, {"megatron/core/version.py": b'VERSION = "1.2"\n'})
    record(folder, "1.2")
    git(folder, "tag", "core_v1.2")
    git(folder, "checkout", "-q", "main")
    return folder


def apply(name: str, clone: Path, series: Path) -> list[str | Path]:
    return [
        "apply",
        "--patches",
        series,
        "--git",
        clone,
        "--megatron",
        name,
        "--to",
        series.parent / "tree",
        "--dry-run",
    ]


def rebase(name: str, clone: Path, series: Path) -> list[str | Path]:
    return ["rebase", "--patches", series, "--git", clone, "--onto", name, "--dry-run"]


def history(name: str, clone: Path, series: Path) -> list[str | Path]:
    return ["history", "--patches", series, "--git", clone, "--range", f"core_v1.0..{name}"]


def history_base(name: str, clone: Path, series: Path) -> list[str | Path]:
    return ["history", "--patches", series, "--git", clone, "--range", "core_v1.0..core_v1.1", "--from", name]


def explain(name: str, clone: Path, series: Path) -> list[str | Path]:
    return ["explain", "grads", "--patches", series, "--git", clone, "--onto", name]


def check_upstream(name: str, clone: Path, series: Path) -> list[str | Path]:
    return ["check-upstream", "--patches", series, "--git", clone, "--onto", name, "--offline"]


def check_upstream_base(name: str, clone: Path, series: Path) -> list[str | Path]:
    return ["check-upstream", "--patches", series, "--git", clone, "--onto", "main", "--from", name, "--offline"]


def _import(option: str, name: str, clone: Path, series: Path) -> list[str | Path]:
    change = clone.parent / "change.patch"
    change.write_text(
        "--- a/megatron/core/version.py\n+++ b/megatron/core/version.py\n@@ -1 +1 @@\n"
        '-VERSION = "1.2"\n+VERSION = "1.2+ours"\n'
    )
    return ["import", change, "--patches", series.parent / "new", "--git", clone, option, name, "--dry-run"]


def import_base(name: str, clone: Path, series: Path) -> list[str | Path]:
    return _import("--base", name, clone, series)


def import_release(name: str, clone: Path, series: Path) -> list[str | Path]:
    return _import("--megatron", name, clone, series)


def init(name: str, clone: Path, series: Path) -> list[str | Path]:
    upstream = ["--upstream", "Box", "--repository", "https://example.org/box", "--package", "megatron/core"]
    place = ["--patches", "series", "--no-workflow", "--no-pre-commit"]
    return ["init", *upstream, "--tag", "core_v{version}", *place, "--git", clone, "--release", name, "--dry-run"]


COMMANDS = [
    apply,
    rebase,
    history,
    history_base,
    explain,
    check_upstream,
    check_upstream_base,
    import_base,
    import_release,
    init,
]


@pytest.mark.parametrize("asks", COMMANDS)
def test_a_release_that_no_list_knows_is_found_by_each_of_its_names(
    patchkit: Command, clone: Path, series: Path, asks: Asks
) -> None:
    ran = {name: patchkit(*asks(name, clone, series)) for name in NAMES}

    assert ran["core_v1.2"].code in (0, 1), ran["core_v1.2"].err
    # The answer may repeat what was asked; what one history carried, the next one knows.
    told = [
        re.sub(rf"(--\w+ |\.\.){name}(?=\s)", r"\1core_v1.2", one.out).replace("2 carried now", "all known")
        for name, one in ran.items()
    ]
    assert told == [told[0]] * len(NAMES)
    assert [one.code for one in ran.values()] == [ran["core_v1.2"].code] * len(NAMES)


@pytest.mark.parametrize("asks", [asks for asks in COMMANDS if asks is not history_base])
def test_a_release_that_the_clone_lacks_is_told_with_its_tag(
    patchkit: Command, clone: Path, series: Path, asks: Asks
) -> None:
    ran = patchkit(*asks("v9.9", clone, series))

    assert (ran.code, ran.err.splitlines()[-2:]) == (
        4,
        [
            f"error: {clone} has no revision 'v9.9', and no tag 'core_v9.9'",
            f"  hint: fetch it: git -C {clone} fetch --tags",
        ],
    )
