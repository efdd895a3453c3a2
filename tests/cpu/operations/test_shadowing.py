from __future__ import annotations

import importlib.machinery
from pathlib import Path

import pytest
from trees.snapshots import lay

from patchkit.core.report import Problem
from patchkit.operations.apply import apply_in
from patchkit.operations.shadowing import shadowed
from patchkit.operations.status import verify
from patchkit.trees.memory import MemoryTree

from . import made_up
from .made_up import path_of

BUFFER = path_of("buffer")
MODULE = BUFFER.removesuffix(".py")
OWN = importlib.machinery.EXTENSION_SUFFIXES


def problem(other: str, path: str = BUFFER) -> Problem:
    return Problem(
        f"Python imports {other} in its place",
        path=path,
        hint=f"take {other} away, or find out what put it there: with it the patch does nothing",
    )


@pytest.mark.parametrize(
    "other",
    [
        f"{MODULE}/__init__.py",
        f"{MODULE}/__init__.abi3.so",
        f"{MODULE}.so",
        f"{MODULE}.cpython-312-x86_64-linux-gnu.so",
        f"{MODULE}.cp312-win_amd64.pyd",
    ],
)
def test_what_python_takes_before_a_patched_file_is_told_by_verify_and_refused_by_apply(other: str) -> None:
    workspace = made_up.workspace()
    patched, plain = made_up.patched_tree("2.0"), made_up.tree("2.0")
    for tree in (patched, plain):
        tree.files[other] = b""
    told = verify(workspace, patched)
    refused = apply_in(workspace, plain)

    assert (told.verdict, told.ok, told.problems) == ("not-verified", False, (problem(other),))
    assert (refused.verdict, refused.ok, refused.problems, refused.written) == ("refused", False, (problem(other),), ())


@pytest.mark.parametrize(
    "other",
    [
        f"{MODULE}/notes.py",  # a folder without __init__ comes last
        f"{MODULE}_tools.so",
        f"other/{MODULE}/__init__.py",
        f"{MODULE}.py.orig",
        f"{MODULE}.pyi",
    ],
)
def test_what_python_does_not_take_is_nobodys_business(other: str) -> None:
    patched = made_up.patched_tree("2.0")
    patched.files[other] = b""

    assert verify(made_up.workspace(), patched).verdict == "verified"


@pytest.mark.parametrize("other", ["m/__init__.py", *(f"m{suffix}" for suffix in OWN), "__init__.py", "m/n.py"])
def test_the_import_system_says_the_same(tmp_path: Path, other: str) -> None:
    lay(tmp_path, {"m.py": b"", other: b""})
    found = importlib.machinery.FileFinder(
        str(tmp_path),
        (importlib.machinery.ExtensionFileLoader, OWN),
        (importlib.machinery.SourceFileLoader, [".py"]),
    ).find_spec("m")

    assert found is not None
    taken = found.origin != str(tmp_path / "m.py")
    assert shadowed(MemoryTree({"m.py": b"", other: b""}), ["m.py"]) == ([problem(other, "m.py")] if taken else [])


def test_the_module_of_a_package_is_compiled_too() -> None:
    tree = MemoryTree({"m/__init__.py": b"", "m/__init__.so": b"", "m/a.py": b""})

    assert shadowed(tree, ["m/__init__.py", "m/a.py", "m/notes.md", "m/a.py"]) == [
        problem("m/__init__.so", "m/__init__.py")
    ]
