from __future__ import annotations

from pathlib import Path

import pytest

from patchkit.errors import UnsafePathError
from patchkit.trees.new_folder import new_folder


@pytest.mark.parametrize("target", ["a\0b", ""])
def test_a_link_to_what_is_no_path_is_refused_by_its_name(tmp_path: Path, target: str) -> None:
    with pytest.raises(UnsafePathError) as caught, new_folder(tmp_path / "new") as folder:
        folder.link("sub/odd", target)

    assert caught.value.message == f"sub/odd is a link to {target!r}, which is no path"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("depth", "made"), [(256, True), (257, False), (1500, False)])
def test_folders_without_end_are_refused(tmp_path: Path, depth: int, *, made: bool) -> None:
    said = ""
    try:
        with new_folder(tmp_path / "new") as folder:
            folder.write(f"{'a/' * depth}f", b"")
    except UnsafePathError as error:
        said = error.message

    refused = f"{'a/' * 40 + '...'!r} is not a path inside a tree: it is nested more than 256 folders deep"
    assert (said, [path.name for path in tmp_path.iterdir()]) == (("", ["new"]) if made else (refused, []))
