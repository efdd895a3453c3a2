"""Where Megatron may be: every place is patched the same way, and nothing else there is touched."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import py_compile
import re
import subprocess
import sys
import venv
import zipfile
from base64 import urlsafe_b64decode
from pathlib import Path

import pytest
from operations import made_up as fake
from operations.fixtures import ReleaseWheel, load_built_in
from operations.made_up import PATCHED, RELEASES, UPSTREAM, path_of
from trees.repositories import git, record
from trees.snapshots import contents, lay, snapshot

from patchkit.core.blobs import blob_id
from patchkit.trees.archive import WheelTree, unpack

from .conftest import Command

PIP = [sys.executable, "-m", "pip"]


def patched(root: Path) -> dict[str, bytes]:
    """The files of a tree without patchkit's record and the metadata of the distribution."""
    return {
        path: content
        for path, content in contents(root).items()
        if not path.startswith((".patchkit/", "megatron_core-", ".git/"))
    }


def environment(folder: Path) -> Path:
    """Make a virtual environment without pip; return its site-packages."""
    venv.create(folder, with_pip=False)
    return next((folder / "lib").glob("python*/site-packages"))


def pip(folder: Path, *arguments: str | Path) -> str:
    """Run this Python's pip on a virtual environment, without an index."""
    command = [*PIP, "--python", str(folder / "bin" / "python"), "--isolated", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def assert_record_is_true(site_packages: Path) -> dict[str, str]:
    """Each row of RECORD has the digest and size of its file; return the rows."""
    (dist_info,) = site_packages.glob("megatron_core-*.dist-info")
    rows = list(csv.reader(io.StringIO((dist_info / "RECORD").read_text())))
    for path, digest, size in rows:
        if digest:
            content = (site_packages / path).read_bytes()
            name, _, text = digest.partition("=")
            assert urlsafe_b64decode(f"{text}==") == hashlib.new(name, content).digest()
            assert int(size) == len(content)
    return {path: digest for path, digest, _ in rows}


# A folder.


@pytest.mark.parametrize("version", RELEASES)
def test_a_plain_folder_whatever_it_is_called(made_up: Command, tmp_path: Path, version: str) -> None:
    tree = lay(tmp_path / "some other name", {**UPSTREAM[version], "mine.txt": b"mine\n"})

    assert made_up("apply", "--in", tree).code == 0
    assert patched(tree) == {**PATCHED[version], "mine.txt": b"mine\n"}
    assert made_up("verify", "--in", tree).code == 0
    assert made_up("revert", "--in", tree).code == 0
    assert contents(tree) == {**UPSTREAM[version], "mine.txt": b"mine\n"}


def test_a_checkout_is_patched_in_its_files_and_git_sees_it(made_up: Command, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    fake.repository(checkout)
    git(checkout, "checkout", "-q", "core_v1.1")
    head, before = git(checkout, "rev-parse", "HEAD"), patched(checkout)

    assert made_up("apply", "--in", checkout).code == 0
    assert patched(checkout) == PATCHED["1.1"]
    assert git(checkout, "rev-parse", "HEAD") == head
    assert git(checkout, "status", "--porcelain").splitlines() == [
        " M megatron/core/buffer.py",
        " M megatron/core/config.py",
        "?? .patchkit/",
        "?? megatron/core/regions.py",
    ]
    assert made_up("revert", "--in", checkout).code == 0
    assert git(checkout, "status", "--porcelain") == ""
    assert patched(checkout) == before


def test_the_current_directory_when_it_holds_megatron(
    made_up: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(lay(tmp_path / "tree", UPSTREAM["2.0"]))

    assert made_up("status").out.startswith(".: 2.0\n")
    assert made_up("apply").code == 0
    assert patched(tmp_path / "tree") == PATCHED["2.0"]
    assert made_up("verify").code == 0
    # --megatron says which release it has to be, not where one should come from.
    assert made_up("apply", "--megatron", "2.0").out.splitlines()[-1] == "already applied"
    assert made_up("revert").code == 0
    assert contents(tmp_path / "tree") == UPSTREAM["2.0"]


def test_a_current_directory_without_megatron_gets_a_new_folder_with_the_release(
    made_up: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = made_up("apply", "--megatron", "v2.0")

    assert (ran.code, ran.out.splitlines()[-1]) == (0, "applied (4 files and the record): megatron_core-2.0-patched")
    assert patched(tmp_path / "megatron_core-2.0-patched") == PATCHED["2.0"]
    assert made_up("apply", "--megatron", "v2.0").out.splitlines()[-1] == "already applied: megatron_core-2.0-patched"


@pytest.mark.parametrize("version", [*RELEASES, "latest"])
def test_a_new_folder_from_the_index_has_the_metadata_of_the_distribution_with_a_true_record(
    made_up: Command, tmp_path: Path, version: str
) -> None:
    ran = made_up("apply", "--megatron", version, "--to", tmp_path / "out")
    name = "2.0" if version == "latest" else version

    assert ran.code == 0
    assert patched(tmp_path / "out") == PATCHED[name]
    rows = assert_record_is_true(tmp_path / "out")
    assert f"megatron_core-{name}.dist-info/patchkit.json" in rows
    assert path_of("regions") in rows


def test_a_new_folder_from_a_wheel_at_hand(made_up: Command, tmp_path: Path) -> None:
    wheel = fake.wheel(tmp_path, "2.0")
    before = wheel.read_bytes()

    assert made_up("apply", "--in", wheel, "--to", tmp_path / "out").code == 0
    assert patched(tmp_path / "out") == PATCHED["2.0"]
    assert wheel.read_bytes() == before


def test_a_new_folder_is_made_although_the_release_needs_none_of_the_named_patches(
    made_up: Command, tmp_path: Path
) -> None:
    for _ in range(2):
        ran = made_up("apply", "--megatron", "1.0", "--patch", "mode", "--to", tmp_path / "out")
        assert (ran.code, ran.out.splitlines()[-1]) == (0, f"not needed: {tmp_path / 'out'}")
    assert patched(tmp_path / "out") == UPSTREAM["1.0"]


@pytest.mark.parametrize("options", [["--to", "out"], ["--wheel", "out"], []])
def test_a_dry_run_makes_no_folder_and_no_wheel(
    made_up: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    before = snapshot(tmp_path)
    ran = made_up("apply", "--megatron", "2.0", *options, "--dry-run")

    assert ran.code == 0
    assert ran.out.splitlines()[-1].startswith("would apply (4 files and the record)")
    assert snapshot(tmp_path) == before


# site-packages.


def without_byte_code(root: Path) -> dict[str, bytes]:
    return {path: content for path, content in contents(root).items() if "__pycache__" not in path}


def test_site_packages_keep_a_true_record_and_pip_uninstalls_all_of_it(made_up: Command, tmp_path: Path) -> None:
    site_packages = environment(tmp_path / "env")
    pip(tmp_path / "env", "install", "--no-deps", "--no-index", fake.wheel(tmp_path, "2.0"))
    before = without_byte_code(site_packages)
    ran = made_up("apply", "--in", site_packages)

    assert ran.code == 0
    assert ran.out.startswith(f"megatron_core-2.0 in {site_packages}: 2.0\n")
    assert {path: content for path, content in contents(site_packages).items() if path in PATCHED["2.0"]} == PATCHED[
        "2.0"
    ]
    rows = assert_record_is_true(site_packages)
    assert "megatron_core-2.0.dist-info/patchkit.json" in rows
    assert path_of("regions") in rows
    assert made_up("verify", "--in", site_packages).code == 0

    assert made_up("revert", "--in", site_packages).code == 0
    assert without_byte_code(site_packages) == before

    assert made_up("apply", "--in", site_packages).code == 0
    pip(tmp_path / "env", "uninstall", "--yes", "megatron-core")
    assert contents(site_packages) == {}


@pytest.fixture
def site_packages(tmp_path: Path) -> Path:
    """Site-packages with 2.0 of the made-up Megatron."""
    unpack(WheelTree(fake.wheel(tmp_path, "2.0")), tmp_path / "site-packages", {})
    return tmp_path / "site-packages"


def test_byte_code_of_changed_modules_goes_and_that_of_others_stays(made_up: Command, site_packages: Path) -> None:
    compiled = {
        name: Path(str(py_compile.compile(str(site_packages / path_of(name)), doraise=True)))
        for name in ("buffer", "config", "mode", "version")
    }
    for command in ("apply", "revert"):
        assert made_up(command, "--in", site_packages).code == 0
        assert [name for name, path in compiled.items() if path.exists()] == ["version"]
        for name in compiled:
            py_compile.compile(str(site_packages / path_of(name)), doraise=True)


@pytest.mark.parametrize("option", [["--installed"], ["--megatron", "installed"]])
def test_the_distribution_of_this_python(
    made_up: Command, site_packages: Path, monkeypatch: pytest.MonkeyPatch, option: list[str]
) -> None:
    monkeypatch.setattr(sys, "path", [str(site_packages), *(part for part in sys.path if "site-packages" not in part)])

    for command in ("apply", "status", "verify", "revert"):
        assert made_up(command, *option).code == 0
        if command == "apply":
            assert (site_packages / path_of("mode")).read_bytes() == fake.PATCHED_MODE
    assert (site_packages / path_of("mode")).read_bytes() == fake.MODE


@pytest.mark.parametrize("command", ["apply", "status", "verify", "revert"])
def test_a_python_without_megatron_core(made_up: Command, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setattr(sys, "path", [part for part in sys.path if "site-packages" not in part])
    ran = made_up(command, "--installed")

    assert (ran.code, ran.out) == (4, "")
    assert ran.err == (
        "error: megatron-core is not installed in this Python\n"
        "  hint: run patchkit with the Python that has it, or name its site-packages folder\n"
    )


def test_an_editable_install_leads_to_the_checkout(
    made_up: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = lay(tmp_path / "checkout", UPSTREAM["2.0"])
    origin = {"url": checkout.as_uri(), "dir_info": {"editable": True}}
    site_packages = lay(
        tmp_path / "site",
        {
            "megatron_core-2.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: megatron-core\nVersion: 2.0\n",
            "megatron_core-2.0.dist-info/direct_url.json": json.dumps(origin).encode(),
        },
    )
    before = contents(site_packages)
    monkeypatch.setattr(sys, "path", [str(site_packages), *(part for part in sys.path if "site-packages" not in part)])

    assert made_up("apply", "--installed").code == 0
    assert patched(checkout) == PATCHED["2.0"]
    assert contents(site_packages) == before


def test_an_environment_inside_a_checkout_where_git_apply_does_nothing_and_exits_0(
    made_up: Command, tmp_path: Path, series: Path
) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    git(checkout, "init", "-q")
    lay(checkout, {".gitignore": b".venv\n"})
    record(checkout, "first")
    site_packages = checkout / ".venv" / "lib" / "python3" / "site-packages"
    unpack(WheelTree(fake.wheel(tmp_path, "2.0")), site_packages, {})
    before = contents(site_packages)

    # Why patchkit writes files itself: git takes the paths of the patch from the top of the checkout, finds them
    # outside the folder it was started in, and skips them all.
    generated = series / "generated" / "core_v2.0.patch"
    assert git(site_packages, "apply", generated) == ""
    assert contents(site_packages) == before

    assert made_up("apply", "--in", site_packages).code == 0
    assert (site_packages / path_of("buffer")).read_bytes() == PATCHED["2.0"][path_of("buffer")]
    assert git(checkout, "status", "--porcelain") == ""


# Wheels.


def test_a_patched_wheel_has_a_local_version_and_pip_installs_and_uninstalls_it(
    made_up: Command, tmp_path: Path
) -> None:
    ran = made_up("apply", "--megatron", "2.0", "--wheel", tmp_path / "dist")
    (wheel,) = (tmp_path / "dist").iterdir()
    (version,) = re.fullmatch(r"megatron_core-(2\.0\+patchkit\.[0-9a-f]{8})-py3-none-any\.whl", wheel.name).groups()  # type: ignore[union-attr]

    assert (ran.code, ran.out.splitlines()[-1]) == (0, f"applied (4 files and the record): {wheel}")
    told = made_up("verify", "--in", wheel)
    assert (told.code, told.out.splitlines()[0]) == (0, f"{wheel.name}: 2.0")
    assert made_up("status", "--in", wheel).out.splitlines()[-1] == "applied"

    site_packages = environment(tmp_path / "env")
    pip(tmp_path / "env", "install", "--no-deps", "--no-index", wheel)
    assert version in pip(tmp_path / "env", "list", "--format", "freeze")
    assert made_up("verify", "--in", site_packages).code == 0
    assert {path: content for path, content in contents(site_packages).items() if path in PATCHED["2.0"]} == PATCHED[
        "2.0"
    ]
    assert_record_is_true(site_packages)
    pip(tmp_path / "env", "uninstall", "--yes", "megatron-core")
    assert contents(site_packages) == {}


def test_the_same_series_gives_the_same_wheel_and_a_selection_another_version(
    made_up: Command, tmp_path: Path, series: Path
) -> None:
    for name, options in (("a", []), ("b", []), ("c", ["--patch", "params"]), ("d", ["--patch", "mode"])):
        assert made_up("apply", "--megatron", "2.0", "--wheel", tmp_path / name, *options).code == 0
    short = load_digest(series)[:8]
    wheels = {name: next((tmp_path / name).iterdir()) for name in "abcd"}

    assert {name: path.name for name, path in wheels.items()} == {
        "a": f"megatron_core-2.0+patchkit.{short}-py3-none-any.whl",
        "b": f"megatron_core-2.0+patchkit.{short}-py3-none-any.whl",
        "c": f"megatron_core-2.0+patchkit.{short}.grads.params-py3-none-any.whl",
        "d": f"megatron_core-2.0+patchkit.{short}.mode-py3-none-any.whl",
    }
    assert wheels["a"].read_bytes() == wheels["b"].read_bytes()


def load_digest(series: Path) -> str:
    """The digest of the series without its kind, out of the lock."""
    found = re.search(r"^series: sha256:([0-9a-f]{64})$", (series / "lock.yaml").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def test_a_wheel_is_made_from_a_wheel_at_hand_which_stays_as_it_is(made_up: Command, tmp_path: Path) -> None:
    wheel = fake.wheel(tmp_path, "1.0")
    before = wheel.read_bytes()

    assert made_up("apply", "--in", wheel, "--wheel", tmp_path / "dist").code == 0
    (made,) = (tmp_path / "dist").iterdir()
    with zipfile.ZipFile(made) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if name in PATCHED["1.0"]}
    assert files == PATCHED["1.0"]
    assert wheel.read_bytes() == before
    ran = made_up("apply", "--in", made, "--wheel", tmp_path / "again")
    copy = tmp_path / "again" / made.name
    assert (ran.code, ran.out.splitlines()[-1]) == (0, f"already applied: {copy}")
    assert copy.read_bytes() == made.read_bytes()


@pytest.mark.network
def test_a_real_release_as_a_wheel_is_installed_verified_and_uninstalled(
    patchkit: Command, release_wheel: ReleaseWheel, tmp_path: Path
) -> None:
    # Without its dependencies and never imported, so that any wheel will do; pip looks at the tags, which are renamed.
    wheel = release_wheel("0.16.1")
    anywhere = tmp_path / f"{wheel.name.split('-cp')[0]}-py3-none-any.whl"
    anywhere.write_bytes(wheel.read_bytes())
    assert patchkit("apply", "--in", anywhere, "--wheel", tmp_path / "dist").code == 0
    (made,) = (tmp_path / "dist").iterdir()
    assert patchkit("verify", "--in", made).code == 0

    site_packages = environment(tmp_path / "env")
    pip(tmp_path / "env", "install", "--no-deps", "--no-index", "--no-compile", made)
    told = patchkit("verify", "--in", site_packages)
    assert (told.code, told.out.splitlines()[-1]) == (0, "verified")
    assert_record_is_true(site_packages)
    pip(tmp_path / "env", "uninstall", "--yes", "megatron-core")
    assert contents(site_packages) == {}


# git.


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    fake.repository(tmp_path / "clone")
    return tmp_path / "clone"


def tree_of(repository: Path, revision: str) -> dict[str, str]:
    """Blob id by path."""
    lines = git(repository, "ls-tree", "-r", revision).splitlines()
    return {line.partition("\t")[2]: line.split()[2] for line in lines}


def test_a_branch_gets_one_commit_a_patch_and_neither_checkout_nor_index_is_touched(
    made_up: Command, repository: Path
) -> None:
    lay(repository, {"mine.txt": b"mine\n", path_of("config"): b"changed\n"})
    git(repository, "add", "mine.txt")
    before, status = patched(repository), git(repository, "status", "--porcelain")
    ran = made_up("apply", "--git", repository, "--megatron", "v1.1", "--branch", "patched")

    assert (ran.code, ran.out.splitlines()[-1]) == (0, "applied (3 files and the record): patched")
    assert (patched(repository), git(repository, "status", "--porcelain")) == (before, status)
    assert git(repository, "log", "--format=%s|%an|%ad", "--date=short", "core_v1.1..patched").splitlines() == [
        "loose: Stand on grads without saying so.|a made-up author|2026-01-02",
        "params: Put parameters into a region.|a made-up author|2026-01-02",
        "grads: Put gradients into a region.|a made-up author|2026-01-02",
    ]
    assert git(repository, "log", "-1", "--format=%b", "patched") == (
        "Because of loose.\n\nOrigin: Made up.\nForwarded: no\nPatchkit-Patch: loose\nPatchkit-Target: 1.1"
    )
    files = tree_of(repository, "patched")
    assert {path: blob for path, blob in files.items() if path != ".patchkit/manifest.json"} == {
        path: blob_id(content) for path, content in PATCHED["1.1"].items()
    }
    # Each commit has the record of what is in it.
    records = [
        [
            patch["name"]
            for patch in json.loads(git(repository, "show", f"{revision}:.patchkit/manifest.json"))["patches"]
        ]
        for revision in ("patched~2", "patched~1", "patched")
    ]
    assert records == [["grads"], ["grads", "params"], ["grads", "params", "loose"]]


@pytest.mark.parametrize(
    ("megatron", "version"), [("1.0", "1.0"), ("core_v1.1", "1.1"), ("HEAD~1", "2.0"), ("main", "main")]
)
def test_a_new_folder_from_a_clone(
    made_up: Command, repository: Path, tmp_path: Path, megatron: str, version: str
) -> None:
    ran = made_up("apply", "--git", repository, "--megatron", megatron, "--to", tmp_path / "out")

    assert (ran.code, ran.out.splitlines()[-1].partition(" (")[0]) == (0, "applied")
    assert made_up("verify", "--in", tmp_path / "out", "--megatron", version).code == 0
    if version != "main":
        assert patched(tmp_path / "out") == PATCHED[version]
    assert made_up("revert", "--in", tmp_path / "out").code == 0
    assert contents(tmp_path / "out") == UPSTREAM[version]


def test_a_clone_without_a_place_gives_a_new_folder_named_after_the_revision(
    made_up: Command, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    git(repository, "branch", "team/branch", "core_v1.1")
    ran = made_up("apply", "--git", repository, "--megatron", "team/branch")

    assert (ran.code, ran.out.splitlines()[-1]) == (0, "applied (3 files and the record): megatron-team-branch-patched")
    assert patched(tmp_path / "megatron-team-branch-patched") == PATCHED["1.1"]


@pytest.mark.parametrize("style", ["text", "json"])
@pytest.mark.parametrize("selection", [[], ["--patch", "grads"], ["--patch", "mode"]])
@pytest.mark.parametrize("source", ["index", "git"])
def test_the_same_apply_again_says_already_applied_and_changes_nothing(  # noqa: PLR0917 - fixtures and cases
    made_up: Command, repository: Path, tmp_path: Path, source: str, selection: list[str], style: str
) -> None:
    clone = ["--git", str(repository)] if source == "git" else []
    command = ["apply", *clone, "--megatron", "1.1", *selection, "--to", str(tmp_path / "out"), "--format", style]
    first = made_up(*command)
    # Used since: byte code, and a file that somebody laid beside the others.
    lay(tmp_path / "out/megatron/core", {"__pycache__/config.cpython-311.pyc": b"", "mine.txt": b""})
    before = snapshot(tmp_path / "out")
    again = made_up(*command)

    assert (first.code, again.code, again.err) == (0, 0, "")
    done = "not needed" if "mode" in selection else "already applied"
    if style == "text":
        assert again.out.splitlines()[-1] == f"{done}: {tmp_path / 'out'}"
    else:
        assert json.loads(again.out)["verdict"] == done.replace(" ", "-")
    assert snapshot(tmp_path / "out") == before


def test_a_dry_run_makes_no_branch_and_no_folder(made_up: Command, repository: Path, tmp_path: Path) -> None:
    before = git(repository, "for-each-ref"), snapshot(tmp_path)
    for place in (["--branch", "patched"], ["--to", str(tmp_path / "out")]):
        ran = made_up("apply", "--git", repository, "--megatron", "1.1", *place, "--dry-run")
        assert (ran.code, ran.out.splitlines()[-1]) == (0, f"would apply (3 files and the record): {place[1]}")
    assert (git(repository, "for-each-ref"), snapshot(tmp_path)) == before


def test_a_branch_that_is_there_and_a_revision_that_is_not_are_errors(made_up: Command, repository: Path) -> None:
    before = git(repository, "for-each-ref")
    ran = made_up("apply", "--git", repository, "--megatron", "1.1", "--branch", "main")
    assert (ran.code, ran.err.splitlines()[0]) == (4, f"error: {repository} already has a branch main")
    ran = made_up("apply", "--git", repository, "--megatron", "no-such-thing", "--branch", "patched")
    assert (ran.code, ran.err.splitlines()[0]) == (4, f"error: {repository} has no revision 'no-such-thing'")
    ran = made_up("apply", "--git", repository, "--megatron", "2.0", "--branch", "patched")
    assert (ran.code, ran.err.splitlines()) == (
        4,
        [
            f"error: {repository}: v2.0 has no public tag",
            "  hint: leave --git out to take it from the package index, or name a commit with --megatron",
        ],
    )
    assert git(repository, "for-each-ref") == before


def test_a_branch_that_has_the_patches_is_left_alone(made_up: Command, repository: Path) -> None:
    made_up("apply", "--git", repository, "--megatron", "1.1", "--branch", "patched")
    before = git(repository, "for-each-ref")
    ran = made_up("apply", "--git", repository, "--megatron", "patched", "--branch", "again")

    assert (ran.code, ran.out.splitlines()[-1]) == (0, "already applied")
    assert git(repository, "for-each-ref") == before


def test_a_revision_that_is_not_the_target_it_is_called_is_refused(made_up: Command, repository: Path) -> None:
    # The branch has moved on since the series was made for it.
    lay(repository, {path_of("buffer"): UPSTREAM["2.0"][path_of("buffer")], path_of("config"): b"moved = 1\n"})
    record(repository, "moved")
    recorded, moved = git(repository, "rev-parse", "main~1"), git(repository, "rev-parse", "main")
    for place in (["--branch", "patched"], ["--to", "out"]):
        ran = made_up("apply", "--git", repository, "--megatron", "main", *place)
        assert ran.code == 1
        assert (
            f"  hint: this is commit {moved[:10]}; for main the series was made for {recorded}: name that one"
            in ran.err.splitlines()
        )
    assert git(repository, "branch", "--list", "patched") == ""
    assert made_up("apply", "--git", repository, "--megatron", recorded, "--branch", "patched").code == 0


@pytest.mark.network
def test_a_real_release_in_git_becomes_a_branch_whose_files_are_those_of_the_lock(
    patchkit: Command, release_wheel: ReleaseWheel, tmp_path: Path
) -> None:
    unpack(WheelTree(release_wheel("0.16.1")), tmp_path / "clone", {})
    git(tmp_path / "clone", "init", "-q")
    record(tmp_path / "clone", "the release")
    ran = patchkit("apply", "--git", tmp_path / "clone", "--megatron", "HEAD", "--branch", "patched")
    locked = load_built_in().sources.lock.targets["0.16.1"]
    files = tree_of(tmp_path / "clone", "patched")

    assert ran.code == 0
    assert {path: files[path] for path in locked.paths} == {path: locked.chain(path)[-1] for path in locked.paths}
    assert [
        subject.split(":")[0]
        for subject in git(tmp_path / "clone", "log", "--reverse", "--format=%s", "HEAD..patched").splitlines()
    ] == ["no-backup-grad-buffers", "no-backup-param-buffers", "tms-hook-mode"]
