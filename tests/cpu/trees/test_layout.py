"""Trees of an upstream whose wheel has not the folder that its repository keeps the packages in."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from patchkit.core.upstream import Upstream
from patchkit.errors import NotATreeError, TreeError
from patchkit.trees.archive import WheelTree, unpack
from patchkit.trees.beneath import WritableBeneath
from patchkit.trees.directory import DirectoryTree
from patchkit.trees.interface import SourceTree, WritableTree
from patchkit.trees.layout import holds, of_wheel, open_folder, open_installed, seen

from .snapshots import contents, lay
from .wheels import make_wheel, metadata, record

BOX = Upstream("tool-box", "https://example.org/box", name="Box", packages=("src/box/core",), source="src")
FLAT = Upstream("", "https://example.org/flat", name="Flat", packages=("flat", "extra/part"))
SHIPPED = {"box/core/__init__.py": b"one = 1\n", "box/core/run.sh": b"#!/bin/sh\n"}
DIST_INFO = "tool_box-1.0.dist-info"


def installed(folder: Path) -> Path:
    """A site-packages folder with the box in it, and something of somebody else."""
    files = {**SHIPPED, f"{DIST_INFO}/METADATA": metadata("1.0", name="tool-box")}
    lay(folder, {**files, f"{DIST_INFO}/RECORD": record(files, DIST_INFO), "other.py": b""})
    return folder


def unpacked(folder: Path) -> Path:
    return lay(folder, SHIPPED)


def test_a_checkout_is_read_and_written_by_its_own_paths(tmp_path: Path) -> None:
    tree = open_folder(lay(tmp_path, {f"src/{path}": text for path, text in SHIPPED.items()}), BOX)
    tree.write({"src/box/core/__init__.py": b"two\n"}, operation="apply")

    assert type(tree) is DirectoryTree
    assert contents(tmp_path)["src/box/core/__init__.py"] == b"two\n"


@pytest.mark.parametrize("lay_it", [installed, unpacked])
def test_what_a_wheel_ships_has_the_paths_of_the_repository(tmp_path: Path, lay_it: Callable[[Path], Path]) -> None:
    tree = open_folder(lay_it(tmp_path), BOX)

    assert isinstance(tree, WritableBeneath)
    assert isinstance(tree, WritableTree)
    assert tree.read("src/box/core/__init__.py") == b"one = 1\n"
    assert [tree.read(path) for path in ("box/core/__init__.py", "setup.py", "src")] == [None] * 3
    assert list(tree.paths("src/box/core")) == ["src/box/core/__init__.py", "src/box/core/run.sh"]
    assert set(tree.paths("src/box/core")) <= set(tree.paths()) == set(tree.paths("src"))
    assert list(tree.paths("box")) == []


def test_a_write_to_an_installed_tree_keeps_its_record_true_and_leaves_ours_in_its_metadata(tmp_path: Path) -> None:
    tree = open_folder(installed(tmp_path), BOX)
    tree.write({"src/box/core/__init__.py": b"two\n", tree.manifest_path: b"{}"}, operation="apply")

    assert tree.manifest_path == f"{DIST_INFO}/patchkit.json"
    assert tree.read(tree.manifest_path) == b"{}"
    found = contents(tmp_path)
    assert found["box/core/__init__.py"] == b"two\n"
    rows = found[f"{DIST_INFO}/RECORD"].decode().splitlines()
    assert [row.split(",")[0] for row in rows if "patchkit" in row or "__init__" in row] == [
        "box/core/__init__.py",
        f"{DIST_INFO}/patchkit.json",
    ]
    assert tree.interrupted() is None
    assert tree.undo_interrupted() is None


def test_a_file_that_only_the_repository_has_cannot_be_written_and_nothing_is(tmp_path: Path) -> None:
    tree = open_folder(unpacked(tmp_path), BOX)

    with pytest.raises(TreeError) as caught:
        tree.write({"src/box/core/__init__.py": b"two\n", "setup.py": b""}, operation="apply")

    assert caught.value.message == f"{tmp_path} has what the repository has in src/ alone, not setup.py"
    assert contents(tmp_path) == SHIPPED


def test_a_wheel_is_read_and_unpacked_by_the_paths_of_the_repository(tmp_path: Path) -> None:
    wheel = WheelTree(make_wheel(tmp_path, "1.0", files=SHIPPED, name="tool-box"))
    tree = seen(wheel, BOX)
    unpack(wheel, tmp_path / "new", of_wheel(tree, {"src/box/core/__init__.py": b"two\n"}))

    assert tree.read("src/box/core/__init__.py") == b"one = 1\n"
    assert (tmp_path / "new/box/core/__init__.py").read_bytes() == b"two\n"
    assert tree.label == "tool_box-1.0-py3-none-any.whl"
    executables: Callable[[], frozenset[str]] = getattr(tree, "executables")  # noqa: B009 - no part of the protocol
    assert executables() == {"src/box/core/run.sh"}


def test_a_wheel_of_an_upstream_without_such_a_folder_is_itself(tmp_path: Path) -> None:
    wheel = WheelTree(make_wheel(tmp_path))
    edits = {"a": b""}

    assert seen(wheel, FLAT) is wheel
    assert of_wheel(wheel, edits) is edits


@pytest.mark.parametrize(
    ("files", "there"), [(("flat/a", "extra/part/a"), True), (("flat/a",), False), (("flat", "extra/part/a"), False)]
)
def test_a_tree_has_every_package(tmp_path: Path, files: tuple[str, ...], there: bool) -> None:
    lay(tmp_path, dict.fromkeys(files, b""))

    assert holds(tmp_path, FLAT) is there
    if not there:
        missing = "extra/part" if files == ("flat/a",) else "flat"
        with pytest.raises(NotATreeError, match=f"has no folder {missing}"):
            open_folder(tmp_path, FLAT)


def found_in_path(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> SourceTree:
    monkeypatch.setattr(sys, "path", [str(folder) for folder in folders])
    return open_installed(BOX)


def test_what_is_installed_is_found_by_the_name_of_its_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = found_in_path(monkeypatch, installed(tmp_path))

    assert tree.label == f"tool_box-1.0 in {tmp_path}"
    assert tree.read("src/box/core/__init__.py") == b"one = 1\n"


@pytest.mark.parametrize("below", ["", "src"])
def test_an_editable_install_leads_to_the_checkout_or_to_the_folder_of_its_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    checkout = tmp_path / "checkout"
    lay(checkout, {f"src/{path}": text for path, text in SHIPPED.items()})
    origin = json.dumps({"url": (checkout / below).as_uri(), "dir_info": {"editable": True}}).encode()
    files = {f"{DIST_INFO}/METADATA": metadata("1.0", name="tool-box"), f"{DIST_INFO}/direct_url.json": origin}
    site_packages = lay(tmp_path / "site-packages", files)

    # A .pth file puts the packages' own folder on the path.
    assert found_in_path(monkeypatch, site_packages, checkout / "src").read("src/box/core/__init__.py") == b"one = 1\n"


def test_an_upstream_on_no_index_is_installed_nowhere() -> None:
    with pytest.raises(NotATreeError) as caught:
        open_installed(FLAT)

    assert caught.value.message == "Flat is no distribution that can be installed"
