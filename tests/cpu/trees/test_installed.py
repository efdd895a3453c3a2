from __future__ import annotations

import json
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from patchkit.errors import ArchiveError, NotATreeError
from patchkit.trees.directory import DirectoryTree, open_directory
from patchkit.trees.installed import InstalledTree, find_installed
from patchkit.trees.interface import WritableTree

from .faults import killed_at
from .repositories import git
from .snapshots import contents, lay, snapshot
from .wheels import FILES, MEGATRON_CORE, make_wheel, metadata, record

DIST_INFO = "megatron_core-1.2.dist-info"


def installed(root: Path) -> Path:
    """Site-packages as pip leaves them: line breaks of csv, byte code in RECORD."""
    files = {**FILES, f"{DIST_INFO}/METADATA": metadata("1.2")}
    compiled = b"megatron/core/__pycache__/__init__.cpython-312.pyc,,\r\n"
    return lay(root, {**files, f"{DIST_INFO}/RECORD": compiled + record(files, DIST_INFO, "\r\n")})


def on_path(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(sys, "path", [str(folder), *(entry for entry in sys.path if "site-packages" not in entry)])


def test_a_write_keeps_record_true_and_its_reverse_restores_every_byte(tmp_path: Path) -> None:
    root = installed(tmp_path)
    before = snapshot(root)
    tree: WritableTree = InstalledTree(root, DIST_INFO)

    tree.write({"megatron/core/__init__.py": b"answer = 2\n", tree.manifest_path: b"{}"}, operation="apply")
    changed = {**FILES, "megatron/core/__init__.py": b"answer = 2\n", f"{DIST_INFO}/METADATA": metadata("1.2")}
    new_row = record({tree.manifest_path: b"{}"}, "x", "\r\n").removesuffix(b"x/RECORD,,\r\n")
    compiled = b"megatron/core/__pycache__/__init__.cpython-312.pyc,,\r\n"
    assert contents(root) == {
        **changed,
        f"{DIST_INFO}/patchkit.json": b"{}",
        f"{DIST_INFO}/RECORD": compiled + record(changed, DIST_INFO, "\r\n") + new_row,
    }

    tree.write(
        {"megatron/core/__init__.py": FILES["megatron/core/__init__.py"], tree.manifest_path: None}, operation="revert"
    )
    assert snapshot(root) == before


def test_an_installed_tree_is_named_by_distribution_and_place(tmp_path: Path) -> None:
    assert InstalledTree(tmp_path, DIST_INFO).label == f"megatron_core-1.2 in {tmp_path}"


@pytest.mark.usefixtures("quick_disk")
def test_record_is_part_of_the_same_all_or_nothing(tmp_path: Path) -> None:
    number = 0
    finished = False
    while not finished:
        number += 1
        root = installed(tmp_path / str(number))
        before = snapshot(root)
        tree = InstalledTree(root, DIST_INFO)
        edits = {"megatron/core/__init__.py": b"answer = 2\n", tree.manifest_path: b"{}"}
        finished = not killed_at(number, lambda tree=tree, edits=edits: tree.write(edits, operation="apply"))  # type: ignore[misc]
        tree.undo_interrupted()
        again = InstalledTree(root, DIST_INFO)
        again.write({"megatron/core/tool.sh": b"x"}, operation="apply")
        again.write({"megatron/core/tool.sh": FILES["megatron/core/tool.sh"]}, operation="revert")
        new = (root / "megatron/core/__init__.py").read_bytes() == b"answer = 2\n"
        rows = (root / DIST_INFO / "RECORD").read_text()
        assert ("patchkit.json" in rows) == new, number
        assert new or snapshot(root) == before, number
    assert number > 20


def test_a_tree_whose_record_was_stripped_is_written_without_one(tmp_path: Path) -> None:
    root = lay(tmp_path, {**FILES, f"{DIST_INFO}/METADATA": metadata("1.2")})
    tree = open_directory(root, *MEGATRON_CORE)
    tree.write({"megatron/core/__init__.py": b"answer = 2\n", tree.manifest_path: b"{}"}, operation="apply")

    assert sorted(path.name for path in (root / DIST_INFO).iterdir()) == ["METADATA", "patchkit.json"]
    assert (root / "megatron/core/__init__.py").read_bytes() == b"answer = 2\n"


def test_a_malformed_record_stops_the_write(tmp_path: Path) -> None:
    root = installed(tmp_path)
    (root / DIST_INFO / "RECORD").write_bytes(b"a,b\n")
    before = snapshot(root)

    with pytest.raises(ArchiveError, match=re.escape(f"{root / DIST_INFO}/RECORD row 1: expected")):
        InstalledTree(root, DIST_INFO).write({"megatron/core/__init__.py": b""}, operation="apply")

    assert snapshot(root) == before


@pytest.mark.parametrize("content", [b"forged", None])
def test_an_edit_of_record_itself_gives_way_to_the_computed_one(tmp_path: Path, content: bytes | None) -> None:
    root = installed(tmp_path)
    before = snapshot(root)
    InstalledTree(root, DIST_INFO).write({f"{DIST_INFO}/RECORD": content}, operation="apply")

    assert snapshot(root) == before


def test_the_installed_distribution_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, installed(tmp_path))
    tree = find_installed()

    assert isinstance(tree, InstalledTree)
    assert (tree.root, tree.dist_info) == (tmp_path, DIST_INFO)


def test_an_editable_install_leads_to_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = lay(tmp_path / "with space é", FILES)
    origin = {"url": checkout.as_uri(), "dir_info": {"editable": True}}
    site_packages = lay(
        tmp_path / "site-packages",
        {f"{DIST_INFO}/METADATA": metadata("1.2"), f"{DIST_INFO}/direct_url.json": json.dumps(origin).encode()},
    )
    on_path(monkeypatch, site_packages)
    tree = find_installed()

    assert isinstance(tree, DirectoryTree)
    assert (type(tree), tree.root) == (DirectoryTree, checkout)


@pytest.mark.parametrize("origin", [{"dir_info": {}}, {"dir_info": {"editable": False}}, {"vcs_info": {}}, []])
def test_an_install_from_a_folder_or_repository_is_an_installed_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: object
) -> None:
    root = lay(installed(tmp_path), {f"{DIST_INFO}/direct_url.json": json.dumps(origin).encode()})
    on_path(monkeypatch, root)

    assert isinstance(find_installed(), InstalledTree)


@pytest.mark.parametrize(
    ("origin", "message"),
    [
        (
            '{{"url": "file://{0}/gone", "dir_info": {{"editable": true}}}}',
            "megatron-core is installed in editable form from {0}/gone, but that folder has no megatron/core",
        ),
        (
            '{{"url": "https://host/x", "dir_info": {{"editable": true}}}}',
            "megatron-core is installed in editable form from 'https://host/x', which is no folder here",
        ),
        ("{{", "direct_url.json of megatron-core cannot be read: "),
        pytest.param("[" * 100_000, "direct_url.json of megatron-core cannot be read: ", id="nested too deep"),
    ],
)
def test_an_editable_install_that_leads_nowhere_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: str, message: str
) -> None:
    lay(tmp_path, {f"{DIST_INFO}/METADATA": metadata("1.2")})
    (tmp_path / DIST_INFO / "direct_url.json").write_text(origin.format(tmp_path))
    on_path(monkeypatch, tmp_path)

    with pytest.raises(NotATreeError) as caught:
        find_installed()

    assert caught.value.message.startswith(message.format(tmp_path))


def test_metadata_without_the_package_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, lay(tmp_path, {f"{DIST_INFO}/METADATA": metadata("1.2")}))

    with pytest.raises(NotATreeError) as caught:
        find_installed()

    said = f"megatron-core 1.2 is said to be installed in {tmp_path}, but that folder has no megatron/core"
    assert caught.value.message == said


def test_a_tree_that_hides_the_installed_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A checkout on PYTHONPATH is what runs; to verify site-packages would be to verify what nobody imports.
    root = installed(tmp_path / "site-packages")
    checkout = lay(tmp_path / "checkout", {"megatron/core/__init__.py": b""})
    on_path(monkeypatch, root)
    monkeypatch.setattr(sys, "path", [str(checkout), *sys.path])

    with pytest.raises(NotATreeError) as caught:
        find_installed()

    assert caught.value.message == (
        f"megatron-core 1.2 is installed in {root}, but this Python imports megatron.core from {checkout}"
    )


def test_a_copy_that_hides_an_editable_checkout_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = lay(tmp_path / "checkout", {"megatron/core/__init__.py": b""})
    url = json.dumps({"url": checkout.as_uri(), "dir_info": {"editable": True}}).encode()
    root = lay(
        tmp_path / "site-packages",
        {
            "megatron/core/__init__.py": b"",
            f"{DIST_INFO}/METADATA": metadata("1.2"),
            f"{DIST_INFO}/direct_url.json": url,
        },
    )
    on_path(monkeypatch, root)

    with pytest.raises(NotATreeError) as caught:
        find_installed()

    assert caught.value.message == (
        f"megatron-core 1.2 is installed in {checkout}, but this Python imports megatron.core from {root}"
    )


def test_nothing_installed_is_said_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, tmp_path)

    with pytest.raises(NotATreeError) as caught:
        find_installed()

    assert caught.value.message == "megatron-core is not installed in this Python"
    assert caught.value.hint == "run patchkit with the Python that has it, or name its site-packages folder"


def test_a_virtual_environment_inside_a_git_checkout_is_written_and_pip_uninstalls_all_of_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "checkout")
    (tmp_path / "checkout" / ".gitignore").write_text(".venv\n")
    environment = tmp_path / "checkout" / ".venv"
    venv.create(environment, with_pip=False)
    site_packages = next((environment / "lib").glob("python*/site-packages"))
    pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python"), "--isolated"]
    wheel = make_wheel(tmp_path)
    subprocess.run([*pip, "install", "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True)
    before = contents(site_packages)

    tree = open_directory(site_packages, *MEGATRON_CORE)
    tree.write({"megatron/core/new.py": b"new = 1\n", tree.manifest_path: b"{}"}, operation="apply")
    assert (site_packages / "megatron/core/new.py").read_bytes() == b"new = 1\n"
    tree.write({"megatron/core/new.py": None, tree.manifest_path: None}, operation="revert")
    assert contents(site_packages) == before

    tree.write({"megatron/core/new.py": b"new = 1\n", tree.manifest_path: b"{}"}, operation="apply")
    subprocess.run([*pip, "uninstall", "--yes", "megatron-core"], check=True, capture_output=True)
    assert contents(site_packages) == {}
