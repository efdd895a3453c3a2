"""Whatever is refused is refused with its exit code, says where and why, and changes nothing."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import re
import shlex
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest
from msgspec.structs import replace
from operations import made_up as fake
from operations.made_up import PATCHED, TOUCHED, UPSTREAM, path_of
from trees.faults import control_c, full_disk, tripped
from trees.repositories import git, record
from trees.snapshots import contents, lay, snapshot
from trees.wheels import add, make_wheel

from patchkit.store.lock import load_lock, print_lock, read_lock, text_digest
from patchkit.store.series import load_series
from patchkit.trees.lock import exclusive

from .conftest import Command, Ran

Refused = Callable[..., Ran]


@pytest.fixture
def refused(made_up: Command, tmp_path: Path) -> Refused:
    """Run a command line that may not change anything below the test's folder."""

    def command(*arguments: str | Path) -> Ran:
        before = snapshot(tmp_path)
        ran = made_up(*arguments)
        assert snapshot(tmp_path) == before
        return ran

    return command


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return lay(tmp_path / "tree", UPSTREAM["2.0"])


def error(message: str, hint: str | None = None) -> str:
    return f"error: {message}\n" + (f"  hint: {hint}\n" if hint else "")


RESTORE = "restore the file: take it from the release, or make the folder anew"


# 1: the answer is no.


@pytest.mark.parametrize("command", ["apply", "revert", "verify", "status"])
def test_another_release_than_the_one_asked_for(refused: Refused, tree: Path, command: str) -> None:
    ran = refused(command, "--in", tree, "--megatron", "v1.0")

    assert (ran.code, ran.err) == (
        1,
        error(f"{path_of('buffer')}: the tree is 2.0, not 1.0", "use --megatron 2.0, or leave --megatron out"),
    )
    # Nothing else is said of it: no file is changed, and the release is known.
    verdict = {"verify": "not verified", "status": "another release"}.get(command, "refused")
    lines = ran.out.splitlines()
    assert (lines[0], lines[-1]) == (f"{tree}: 2.0", verdict)
    assert "modified" not in ran.out


@pytest.mark.parametrize("command", ["apply", "revert", "verify", "status"])
def test_a_changed_tree_of_another_release_than_the_one_asked_for(refused: Refused, tree: Path, command: str) -> None:
    lay(tree, {path_of("mode"): UPSTREAM["2.0"][path_of("mode")] + b"# mine\n"})
    lay(tree, {path_of("regions"): b"mine = 1\n"})
    ran = refused(command, "--in", tree, "--megatron", "1.0")

    message = f"{path_of('buffer')}: the tree is not 1.0; it resembles 2.0 most"
    assert (ran.code, ran.err) == (1, error(message, "use --megatron 2.0, or leave --megatron out"))
    title = "unknown release" if command == "status" else "2.0 with changed files"
    assert ran.out.splitlines()[0] == f"{tree}: {title}"


def test_a_release_that_only_patchkit_lists_is_one_to_carry_the_series_to(refused: Refused, series: Path) -> None:
    ran = refused("apply", "--megatron", "v0.17.0")

    hint = f"carry it there: `patchkit rebase --onto v0.17.0 --patches {series}`"
    assert (ran.code, ran.err) == (2, error("v0.17.0 is known, but the series was not made for it", hint))


def offered(ran: Ran) -> list[str]:
    """The words of the command that the last hint offers, without the name of the program."""
    return shlex.split(re.findall("`patchkit ([^`]+)`", ran.err)[-1])


def test_a_command_that_a_hint_offers_can_be_pasted(
    patchkit: Command, refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = lay(tmp_path / "a tree", UPSTREAM["2.0"])
    command = offered(refused("verify", "--in", tree))
    assert (command[:3], patchkit(*command).code) == (["apply", "--in", str(tree)], 0)
    assert contents(tree)[path_of("mode")] == PATCHED["2.0"][path_of("mode")]

    # In the folder itself it needs no name.
    monkeypatch.chdir(lay(tmp_path / "here", UPSTREAM["2.0"]))
    command = offered(refused("verify"))
    assert ("--in" in command, patchkit(*command).code) == (False, 0)

    # A wheel stays as it is: the patched one is another.
    wheel = fake.wheel(tmp_path, "2.0")
    command = offered(refused("verify", "--in", wheel))
    assert command[:5] == ["apply", "--in", str(wheel), "--wheel", "DIR"]


def test_a_changed_file_of_a_checkout_is_restored_with_git(refused: Refused, tree: Path) -> None:
    git(tree, "init", "-q")
    record(tree, "2.0")
    lay(tree, {path_of("mode"): b"mine = 1\n"})
    ran = refused("apply", "--in", tree)

    command = f"git -C {tree} checkout -- {path_of('mode')}"
    assert ran.err.splitlines()[-1] == f"  hint: restore the file: `{command}`"
    subprocess.run(command.split(), check=True)
    assert (tree / path_of("mode")).read_bytes() == UPSTREAM["2.0"][path_of("mode")]


@pytest.mark.parametrize(
    ("installer", "hint"),
    [("pip\n", "restore the file: install the release again, with pip by --force-reinstall"), (None, RESTORE)],
)
def test_a_changed_file_is_installed_again_where_an_installer_brought_it(
    refused: Refused, tree: Path, installer: str | None, hint: str
) -> None:
    metadata = tree / "megatron_core-2.0.dist-info"
    lay(metadata, {"METADATA": b"Name: megatron-core\n", **({"INSTALLER": installer.encode()} if installer else {})})
    lay(tree, {path_of("mode"): b"mine = 1\n"})
    ran = refused("apply", "--in", tree)

    assert ran.err.splitlines()[-1] == f"  hint: {hint}"


@pytest.mark.parametrize("command", ["apply", "revert", "verify", "status"])
@pytest.mark.parametrize("asked", [[], ["--megatron", "2.0"]])
def test_a_release_that_the_series_does_not_know(
    refused: Refused, tmp_path: Path, command: str, asked: list[str]
) -> None:
    names = ("buffer", "config", "regions")
    tree = lay(tmp_path / "tree", {**UPSTREAM["2.0"], **{path_of(name): b"older = 1\n" for name in names}})
    ran = refused(command, "--in", tree, *asked)

    assert ran.code == 1
    if not asked:
        assert ran.err == error(
            f"{path_of('buffer')}: {tree} is no release that this series knows; it resembles 2.0 most",
            "supported: 1.0, 1.1, 2.0, main",
        )
    assert path_of("buffer") in ran.err


@pytest.mark.parametrize("command", ["apply", "verify", "status"])
@pytest.mark.parametrize("name", ["buffer", "config", "mode"])
def test_a_file_that_somebody_changed(refused: Refused, tree: Path, name: str, command: str) -> None:
    lay(tree, {path_of(name): UPSTREAM["2.0"][path_of(name)] + b"# mine\n"})
    ran = refused(command, "--in", tree, "--megatron", "2.0")

    assert ran.code == 1
    told = [line for line in ran.err.splitlines() if "neither" in line]
    assert [line.partition(" (blob")[0] for line in told] == [
        f"error: {path_of(name)}: the file is neither 2.0's nor a patched one"
    ]
    assert told[0].endswith("): it was changed outside the hunks of the series")
    assert f"  hint: {RESTORE}\n" in ran.err


@pytest.mark.parametrize("command", ["apply", "revert", "verify", "status"])
def test_a_hunk_that_somebody_changed_in_a_patched_file(
    refused: Refused, made_up: Command, tree: Path, command: str
) -> None:
    made_up("apply", "--in", tree)
    old = b"        with region():\n            self.params = [1] * size\n"
    content = (tree / path_of("buffer")).read_bytes()
    assert content.count(old) == 1
    lay(tree, {path_of("buffer"): content.replace(old, old.replace(b"region", b"other"))})
    ran = refused(command, "--in", tree, "--megatron", "2.0")

    assert ran.code == 1
    first = ran.err.splitlines()[0]
    assert first.startswith(
        f"error: params: {path_of('buffer')}: hunk params-init: the file is neither 2.0's nor a patched one (blob "
    )
    assert first.endswith("): the text of hunk params-init is neither the release's nor the patch's")


@pytest.mark.parametrize("command", ["apply", "verify", "status"])
@pytest.mark.parametrize("name", ["buffer", "config", "mode"])
def test_a_file_that_is_missing(refused: Refused, tree: Path, name: str, command: str) -> None:
    (tree / path_of(name)).unlink()
    patch = "mode" if name == "mode" else "grads"
    ran = refused(command, "--in", tree, "--megatron", "2.0")

    assert ran.code == 1
    assert error(f"{patch}: {path_of(name)}: the file is missing", RESTORE) in ran.err


@pytest.mark.parametrize("file", [path for path in TOUCHED if path != path_of("mode")])
@pytest.mark.parametrize("command", ["apply", "revert", "verify", "status"])
def test_a_tree_in_which_one_file_is_patched_and_one_that_is_not(
    refused: Refused, tmp_path: Path, file: str, command: str
) -> None:
    for name, files in (
        ("one", {**UPSTREAM["2.0"], file: PATCHED["2.0"][file]}),
        ("all but one", {**PATCHED["2.0"], file: UPSTREAM["2.0"].get(file)}),
    ):
        tree = lay(tmp_path / name, {path: content for path, content in files.items() if content is not None})
        ran = refused(command, "--in", tree)
        assert ran.code == 1
        assert "half patched: hunk" in ran.err


def test_a_patch_under_another_one(refused: Refused, made_up: Command, tree: Path) -> None:
    made_up("apply", "--in", tree)
    ran = refused("revert", "--in", tree, "--patch", "grads")

    assert (ran.code, ran.err) == (
        1,
        error(f"grads: {path_of('config')}: loose is applied on top of grads in this file", "revert loose as well"),
    )


@pytest.mark.parametrize("place", ["--to", "--wheel"])
def test_a_wheel_of_another_release_than_the_one_asked_for(refused: Refused, tmp_path: Path, place: str) -> None:
    wheel = fake.wheel(tmp_path, "2.0")
    ran = refused("apply", "--in", wheel, "--megatron", "1.0", place, tmp_path / "out")

    assert (ran.code, ran.err) == (
        1,
        error(f"{path_of('buffer')}: the tree is 2.0, not 1.0", "use --megatron 2.0, or leave --megatron out"),
    )


# 2: usage.


@pytest.mark.parametrize("command", ["apply", "revert", "verify", "status"])
def test_a_release_that_nobody_knows(refused: Refused, tree: Path, command: str) -> None:
    ran = refused(command, "--in", tree, "--megatron", "v9.9")

    assert (ran.code, ran.out, ran.err) == (
        2,
        "",
        error("unknown release 'v9.9'", "supported: v1.0, v1.1, v2.0, main"),
    )


@pytest.mark.parametrize("command", ["apply", "revert", "verify"])
def test_a_patch_that_the_series_does_not_have(refused: Refused, tree: Path, command: str) -> None:
    ran = refused(command, "--in", tree, "--patch", "nothing")

    assert (ran.code, ran.err) == (
        2,
        error("the series has no patch 'nothing'", "patches: grads, params, loose, mode"),
    )


WHICH = "name a release with --megatron v0.19.2 (or latest), or a tree with --in DIR or --installed"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--to", "a", "--in", "b"], ("--to and --in exclude each other", None)),
        (["--to", "a", "--installed"], ("--to and --installed exclude each other", None)),
        (["--to", "a", "--wheel", "w"], ("--to and --wheel exclude each other", None)),
        (["--to", "a", "--git", "g", "--branch", "b"], ("--to and --branch exclude each other", None)),
        (["--in", "a", "--installed"], ("--in and --installed exclude each other", None)),
        (["--in", "a", "--megatron", "installed"], ("--in and --installed exclude each other", None)),
        (["--in", "a", "--wheel", "w"], ("--in and --wheel exclude each other", None)),
        (["--wheel", "w", "--megatron", "installed"], ("--installed and --wheel exclude each other", None)),
        (["--to", "a", "--in", "b", "--installed"], ("--to and --in and --installed exclude each other", None)),
        (["--branch", "b"], ("--branch needs --git REPO", None)),
        (["--git", "g", "--in", "a"], ("--git and --in exclude each other", None)),
        (["--git", "g", "--installed"], ("--git and --installed exclude each other", None)),
        (["--git", "g", "--wheel", "w"], ("--git and --wheel exclude each other", None)),
        (["--git", "g"], ("which revision?", "name it with --megatron, such as v0.19.0, main or a commit")),
        (["--in", "x.whl"], ("x.whl is a wheel, which is never changed in place", "add --wheel DIR or --to DIR")),
        (
            ["--in", "x.whl", "--git", "g", "--to", "a"],
            ("x.whl is a wheel, which is never changed in place", "add --wheel DIR or --to DIR"),
        ),
        (["--to", "a"], ("which release? The current directory holds no megatron/core", WHICH)),
        ([], ("which release? The current directory holds no megatron/core", WHICH)),
        (["--to", "a", "--megatron", "main"], ("main is no release on the package index", "use --git REPO")),
        (
            ["--wheel", "w", "--megatron", "2.0", "--python", "3.9"],
            (
                "v2.0 needs Python >=3.10, the wheel would be for 3.9",
                "name the Python that will install it with --python X.Y",
            ),
        ),
        (
            ["--to", "w", "--megatron", "2.0", "--python", "three"],
            ("'three' is not a version of Python such as 3.12", None),
        ),
    ],
)
def test_options_of_apply_that_exclude_each_other_or_say_too_little(
    refused: Refused,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    problem: tuple[str, str | None],
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = refused("apply", *arguments)

    assert (ran.code, ran.out, ran.err) == (2, "", error(*problem))


@pytest.mark.parametrize("command", ["revert", "status", "verify"])
@pytest.mark.parametrize("asked", [["--installed"], ["--megatron", "installed"]])
def test_two_trees_at_once(refused: Refused, tree: Path, command: str, asked: list[str]) -> None:
    ran = refused(command, "--in", tree, *asked)

    assert (ran.code, ran.err) == (2, error("--in and --installed exclude each other"))


def test_a_wheel_is_not_reverted(refused: Refused, tmp_path: Path) -> None:
    ran = refused("revert", "--in", fake.wheel(tmp_path, "2.0"))

    assert (ran.code, ran.err) == (
        2,
        error(
            "megatron_core-2.0-py3-none-any.whl is a wheel, which is never changed in place",
            "use apply with --wheel DIR",
        ),
    )


# 3: our files.


def edit(series: Path, file: str, old: str, new: str) -> None:
    text = (series / file).read_text()
    assert text.count(old) == 1
    (series / file).write_text(text.replace(old, new))


NO_DATE = "Expected `str` matching regex '^\\\\d{4}-\\\\d{2}-\\\\d{2}$'"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            ("series.yaml", "schema: 1", "schema: ["),
            "FOLDER/series.yaml: line 3, column 13: not valid YAML: did not find expected ',' or ']'",
        ),
        (
            ("mode/patch.yaml", "group: plumbing", "group: 1"),
            "FOLDER/mode/patch.yaml: hunks[0].group (line 15): Expected `str`, got `int`",
        ),
        (
            ("mode/patch.yaml", 'releases: ">=2.0"', 'releases: ">=2.0 or so"'),
            "FOLDER/mode/patch.yaml: variants[0].releases: '>=2.0 or so' is no PEP 440 version specifier",
        ),
        (
            ("grads/patch.yaml", "not-on: [main]", 'releases: "=>1"'),
            "FOLDER/grads/patch.yaml: checks[0].releases: '=>1' is no PEP 440 version specifier",
        ),
        (
            ("lock.yaml", "schema: 1", "schema: 2"),
            "FOLDER/lock.yaml: schema (line 2): Expected `int` <= 1",
        ),
        (
            ("../../upstream_versions.yaml", "date: 2026-01-01", "date: soon"),
            f"FOLDER/../../upstream_versions.yaml: megatron.releases[0].date (line 10): {NO_DATE}",
        ),
        (
            ("mode/patch.yaml", "origin: Made up.", "origin: Found."),
            "FOLDER/lock.yaml: series: the lock does not belong to these sources (changed: mode)",
        ),
        (
            ("series.yaml", "How the flag travels.", "How it travels."),
            "FOLDER/lock.yaml: series: the lock does not belong to these sources (changed: series.yaml)",
        ),
    ],
)
@pytest.mark.parametrize("command", ["apply", "revert", "verify", "status", "upstream"])
def test_a_malformed_file_of_ours_is_named_with_key_and_line(
    refused: Refused, series: Path, command: str, change: tuple[str, str, str], problem: str
) -> None:
    edit(series, *change)
    # Our files are read first: whether there is a tree does not matter.
    ran = refused(command, *([] if command == "upstream" else ["--in", series]))
    where = problem.replace("FOLDER/../../", f"{series.parents[1]}/").replace("FOLDER", str(series))

    assert (ran.code, ran.out) == (3, "")
    assert ran.err.splitlines()[0] == f"error: {where}"


def relock(series: Path) -> None:
    """Make the lock say that it belongs to the sources, as somebody with an editor could."""
    loaded, lock = load_series(series), read_lock(series)
    assert lock is not None
    targets = {
        name: replace(
            target,
            patches={
                patch.name: replace(locked, text=text_digest(patch.texts[locked.variant])) if locked.variant else locked
                for patch, locked in ((patch, target.patches[patch.name]) for patch in loaded.patches)
            },
        )
        for name, target in lock.targets.items()
    }
    digests = {patch.name: patch.digest for patch in loaded.patches}
    lock = replace(lock, series=loaded.digest, patches=digests, targets=targets)
    (series / "lock.yaml").write_bytes(print_lock(lock))
    load_lock(loaded)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("@@ -2,4 +2,4 @@", "@@ -2,4 +2,5 @@"), ":3: the counts in the hunk header disagree with the hunk's body"),
        ((" \n import sys", "\n import sys"), ":4: a blank context line has lost its leading space"),
        (("--- a/", "+++ a/"), ":3: a hunk with neither a file header nor another hunk right above it"),
    ],
)
def test_a_malformed_diff_is_named_with_its_line(
    refused: Refused, series: Path, tree: Path, change: tuple[str, str], problem: str
) -> None:
    edit(series, "mode/variants/v2.patch", *change)
    relock(series)
    for name, options in (("apply", ["--in", tree]), ("regenerate", [])):
        ran = refused(name, *options)
        assert ran.code == 3
        told = next(line for line in ran.err.splitlines() if line.startswith("error: "))
        assert told.startswith(f"error: {series}/mode/variants/v2.patch{problem}")


def test_a_lock_that_names_a_file_which_the_variant_does_not_change(refused: Refused, series: Path, tree: Path) -> None:
    file = series / "mode" / "variants" / "v2.patch"
    file.write_text(file.read_text().replace("core/mode.py", "core/other.py"))
    relock(series)
    ran = refused("apply", "--in", tree)

    assert (ran.code, ran.err) == (
        3,
        error(
            f"{series}/lock.yaml: targets.2.0.patches.mode.files: are not those of v2.patch",
            f"run `patchkit regenerate --patches {series}`",
        ),
    )


# 4: upstream or the target.


@pytest.mark.parametrize("command", ["apply", "revert", "verify", "status"])
def test_a_folder_that_holds_no_megatron(refused: Refused, tmp_path: Path, command: str) -> None:
    (tmp_path / "empty").mkdir()
    ran = refused(command, "--in", tmp_path / "empty")

    assert (ran.code, ran.out) == (4, "")
    assert ran.err.startswith(f"error: {tmp_path}/empty has no folder megatron/core\n  hint: ")


@pytest.mark.parametrize("command", ["revert", "verify", "status"])
def test_a_current_directory_that_holds_no_megatron(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = refused(command)

    assert (ran.code, ran.err) == (
        4,
        error("the current directory holds no megatron/core", "name the tree with --in DIR or --installed"),
    )


@pytest.fixture
def links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which pip looks for releases, and a cache without any."""
    folder = tmp_path / "links"
    folder.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PATCHKIT_CACHE", str(tmp_path / "cache"))
    return folder


def test_a_file_from_the_index_that_is_not_the_recorded_one(made_up: Command, links: Path, tmp_path: Path) -> None:
    wheel = make_wheel(links, "1.0")
    name, recorded = fake.wheels()["1.0"]
    ran = made_up("apply", "--megatron", "1.0", "--to", tmp_path / "out")

    assert ran.code == 4
    assert wheel.name == name
    assert ran.err.splitlines()[1] == (
        f"error: {name} from the package index is not the file that was recorded: expected SHA-256 "
        f"{fake.sha256(recorded)}, got {fake.sha256(wheel.read_bytes())}"
    )
    assert not (tmp_path / "out").exists()


def test_an_index_that_cannot_be_reached(
    made_up: Command, links: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name)
    # The port for discarding things, where nobody listens.
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    ran = made_up("apply", "--megatron", "1.0", "--to", tmp_path / "out")

    assert ran.code == 4
    assert ran.err.splitlines()[1].startswith(
        "error: cannot reach the package index for megatron-core 1.0 (megatron_core-1.0-py3-none-any.whl): "
    )
    assert ran.err.splitlines()[2] == (
        "  hint: a release that is in the cache already, or a clone given with --git REPO, needs no network"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("member", "problem"),
    [
        (("../evil.py", 0), "'../evil.py' is not a path inside a tree: a part of it is '.' or '..'"),
        (("/evil.py", 0), "'/evil.py' is not a path inside a tree: it is absolute"),
        (("megatron/core/link.py", 0o120777 << 16), "megatron/core/link.py is a link"),
    ],
)
@pytest.mark.parametrize("place", ["--to", "--wheel"])
def test_a_wheel_that_holds_what_no_wheel_may_hold(
    refused: Refused, tmp_path: Path, place: str, member: tuple[str, int], problem: str
) -> None:
    wheel = fake.wheel(tmp_path, "1.0")
    name, attributes = member
    with zipfile.ZipFile(wheel, "a") as archive:
        add(archive, name, b"/etc/passwd", attributes)
    ran = refused("apply", "--in", wheel, place, tmp_path / "out")

    assert (ran.code, ran.err) == (4, error(f"{wheel.name}: {problem}"))


def test_a_wheel_that_is_none(refused: Refused, tmp_path: Path) -> None:
    lay(tmp_path, {"x.whl": b"nothing"})
    ran = refused("apply", "--in", tmp_path / "x.whl", "--to", tmp_path / "out")

    assert (ran.code, ran.err) == (4, error("x.whl is damaged: File is not a zip file"))


EXISTS = "--to makes a new folder; use --in to patch a folder that exists"


def exists(place: Path, why: str) -> str:
    return error(f"{place} exists already, and is not what would be made there: {why}", EXISTS)


def test_a_folder_to_be_made_that_is_there_already(refused: Refused, tree: Path, tmp_path: Path) -> None:
    for place, why in (
        (tree, "it has no record of patchkit's"),
        (lay(tmp_path / "other", {"file": b""}), "it has no megatron/core"),
        (lay(tmp_path / "one", {"file": b""}) / "file", "it has no megatron/core"),
    ):
        ran = refused("apply", "--megatron", "2.0", "--to", place)
        assert (ran.code, ran.err) == (4, exists(place, why))


OTHER_RECORD = "its record is of another series, or of another edition of it"


@pytest.mark.parametrize(
    ("asked", "changes", "why"),
    [
        # 1.0 and 1.1 differ in a file that no patch touches.
        (["--megatron", "1.1"], {}, "its record says 1.0, not 1.1"),
        (["--patch", "grads"], {}, "its record says grads, params, loose, not grads"),
        ([], {"megatron/core/version.py": b"other"}, "megatron/core/version.py has another text"),
        ([], {"megatron/core/version.py": None}, "megatron/core/version.py is missing"),
        (
            [],
            {path_of("buffer"): UPSTREAM["1.0"][path_of("buffer")]},
            f"{path_of('buffer')} has another text",
        ),
        ([], {"megatron_core-1.0.dist-info/RECORD": b""}, "megatron_core-1.0.dist-info/RECORD has another text"),
        # Whatever Python would run or take before a file of the release.
        ([], {"sitecustomize.py": b""}, "it has sitecustomize.py as well"),
        ([], {"megatron/core/version.so": b""}, "it has megatron/core/version.so as well"),
        ([], {"other-1.0.dist-info/METADATA": b""}, "it has other-1.0.dist-info/METADATA as well"),
        ([], {"megatron/core/more": Path("version.py")}, "it has megatron/core/more as well"),
        ([], {"sitecustomize.pyc": b""}, "it has sitecustomize.pyc as well"),
    ],
)
def test_a_folder_that_another_apply_made(  # noqa: PLR0917 - fixtures and cases
    refused: Refused,
    made_up: Command,
    tmp_path: Path,
    asked: list[str],
    changes: dict[str, bytes | Path | None],
    why: str,
) -> None:
    out = tmp_path / "out"
    assert made_up("apply", "--megatron", "1.0", "--to", out).code == 0
    for path, content in changes.items():
        if content is None:
            (out / path).unlink()
        elif isinstance(content, Path):
            (out / path).symlink_to(content)
        else:
            (out / path).parent.mkdir(exist_ok=True)
            (out / path).write_bytes(content)
    ran = refused("apply", *(["--megatron", "1.0"] if "--megatron" not in asked else []), *asked, "--to", out)

    assert (ran.code, ran.err) == (4, exists(out, why))


def test_byte_code_and_what_belongs_to_git_do_not_make_a_folder_another_one(made_up: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made_up("apply", "--megatron", "1.0", "--to", out)
    for path in ("megatron/core/__pycache__/version.cpython-311.pyc", ".git/HEAD"):
        lay(out, {path: b""})
    ran = made_up("apply", "--megatron", "1.0", "--to", out)

    assert (ran.code, "already applied" in ran.out) == (0, True)


def test_a_folder_that_another_edition_of_the_series_made(refused: Refused, made_up: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made_up("apply", "--megatron", "1.0", "--to", out)
    (record,) = out.glob("*.dist-info/patchkit.json")
    told = json.loads(record.read_text())
    for change, why in (
        ({"series": "sha256:" + "0" * 64}, OTHER_RECORD),
        ({"commit": "1" * 40}, "its record says something else"),
    ):
        record.write_text(json.dumps({**told, **change}))
        ran = refused("apply", "--megatron", "1.0", "--to", out)
        assert (ran.code, ran.err) == (4, exists(out, why))


def test_two_at_once(refused: Refused, made_up: Command, tree: Path) -> None:
    for command in ("apply", "revert"):
        with exclusive(tree / ".patchkit", str(tree)):
            ran = refused(command, "--in", tree)
        assert (ran.code, ran.out, ran.err) == (
            4,
            "",
            error(
                f"another patchkit process (pid {os.getpid()}) is writing to {tree}",
                "wait until it has ended, then run this again",
            ),
        )
        made_up("apply", "--in", tree)


# Faults of the disk. The made-up tree is small enough to try each of the calls that change something.


def read_only() -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


@contextlib.contextmanager
def always(action: Callable[[], None]) -> Iterator[None]:
    with tripped(lambda _: True, action):
        yield


FAULTS: list[tuple[Callable[[], None], str]] = [
    (full_disk, "No space left on device"),
    (read_only, "Read-only file system"),
]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("command", ["apply", "revert"])
def test_a_tree_that_cannot_be_written(
    refused: Refused, made_up: Command, tree: Path, command: str, fault: tuple[Callable[[], None], str]
) -> None:
    if command == "revert":
        made_up("apply", "--in", tree)
    with always(fault[0]):
        ran = refused(command, "--in", tree)

    assert (ran.code, ran.out) == (4, "")
    assert ran.err.startswith(f"error: cannot write to {tree}: {fault[1]}")
    assert ran.err.endswith("; nothing was changed\n")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(
    ("place", "writes"),
    [("--to", "patchkit.trees.new_folder.FolderWriter.write"), ("--wheel", "zipfile.ZipFile.writestr")],
)
def test_a_new_folder_or_wheel_that_cannot_be_written(
    made_up: Command, tmp_path: Path, place: str, writes: str, fault: tuple[Callable[[], None], str]
) -> None:
    wheel = fake.wheel(tmp_path, "2.0")
    with mock.patch(writes, side_effect=lambda *_args, **_options: fault[0]()):
        ran = made_up("apply", "--in", wheel, place, tmp_path / "out")

    assert (ran.code, ran.out) == (4, "")
    assert ran.err.startswith(f"error: cannot write {tmp_path / 'out'}")
    assert fault[1] in ran.err
    # The folder for wheels may be there; no wheel and no part of one is in it.
    assert contents(tmp_path).keys() == {wheel.name, *(f"series/{path}" for path in contents(tmp_path / "series"))}


@pytest.mark.parametrize("action", [full_disk, read_only, control_c])
def test_a_fault_at_any_call_leaves_all_as_it_was_or_all_patched_and_the_exit_code_says_which(
    made_up: Command, tmp_path: Path, action: Callable[[], None]
) -> None:
    failure = 130 if action is control_c else 4
    files = {**UPSTREAM["1.0"], "megatron_core-1.0.dist-info/METADATA": b"", "megatron_core-1.0.dist-info/RECORD": b""}
    whole = lay(tmp_path / "whole", files)
    old = contents(whole)
    made_up("apply", "--in", whole)
    new = contents(whole)
    codes: list[int] = []
    for at in itertools.count(1):
        tree = lay(tmp_path / str(at), files)
        with tripped(lambda calls, at=at: calls == at, action) as count:  # type: ignore[misc]
            codes.append(made_up("apply", "--in", tree).code)
        # What is left of lock and journal is swept by the next write. Whoever presses the keys at the very end gets a
        # tree that is patched.
        found = {path: content for path, content in contents(tree).items() if "/.patchkit/" not in path}
        assert found in {0: [new], 4: [old], 130: [old, new]}[codes[-1]]
        if count.calls < at:
            break

    assert codes.count(failure) > len(codes) / 2
    assert codes[-1] == 0


# 130 and 255.


@pytest.mark.parametrize("where", ["patchkit.cli.commands.apply.apply_in", "patchkit.cli.main.patchkit.main"])
def test_an_interrupt_from_the_keyboard(
    refused: Refused, tree: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def interrupt(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupt)
    ran = refused("apply", "--in", tree)

    assert (ran.code, ran.out.strip(), ran.err.strip()) == (130, "", "")


def test_a_bug_is_a_traceback_and_says_what_it_is(
    refused: Refused, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise ZeroDivisionError("made up")

    monkeypatch.setattr("patchkit.cli.commands.apply.apply_in", fail)
    ran = refused("apply", "--in", tree)

    assert (ran.code, ran.out) == (255, "")
    assert ran.err.startswith("Traceback (most recent call last):\n")
    assert ran.err.endswith(
        "ZeroDivisionError: made up\nthis is a bug in patchkit; please report it with the lines above\n"
    )


def test_nothing_is_obeyed_of_what_a_bug_was_about(
    refused: Refused, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise ZeroDivisionError("a\x1b[2Jb ##[error]c\n::error::d")

    monkeypatch.setattr("patchkit.cli.commands.apply.apply_in", fail)
    ran = refused("apply", "--in", tree)

    assert ran.err.endswith(
        "ZeroDivisionError: a\\x1b[2Jb ## [error]c\n: :error::d\n"
        "this is a bug in patchkit; please report it with the lines above\n"
    )


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.EIO, "Input/output error", "/a/b"), "cannot read or write /a/b: Input/output error"),
        (OSError(errno.ENAMETOOLONG, "File name too long", "a"), "cannot read or write a: File name too long"),
        (OSError(errno.EACCES, "Permission denied"), "cannot read a file: Permission denied"),
        (
            OSError(errno.ENOENT, "No usable temporary directory found in ['/tmp']"),
            "cannot make a temporary folder: No usable temporary directory found in ['/tmp']",
        ),
    ],
    ids=["with a name", "with a name too long", "without", "no folder for temporary files"],
)
def test_what_the_machine_refuses_anywhere_is_no_bug(
    refused: Refused, tree: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, message: str
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise error

    monkeypatch.setattr("patchkit.cli.commands.apply.apply_in", fail)
    ran = refused("apply", "--in", tree)

    assert (ran.code, ran.out, ran.err.splitlines()[0]) == (4, "", f"error: {message}")
