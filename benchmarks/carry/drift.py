"""Which hunks of a foreign patch apply word for word in a function that changed, and whether check-upstream says so.

    python -m benchmarks.carry.drift --git MEGATRON --patch FILE --base REVISION --onto v0.17.0 --onto v0.19.0

Two answers are compared. The first one is made with none of patchkit's engine: GNU patch without fuzz tells which hunks
apply, and the running Python's ``ast`` whether the function around the first changed line of a hunk says the same at
the base and in the target, its docstring, comments and layout aside. The second one is the drift that `check-upstream`
tells of the same hunks once `patchkit import` has made a series of the patch.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from benchmarks.timing import PATCHKIT, as_installed
from patchkit.core.model import FilePatch, Hunk, LineKind, Patch
from patchkit.core.unified import parse_patch, print_patch

Functions = ast.FunctionDef | ast.AsyncFunctionDef


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and print; 1 when a hunk in a changed function is not told."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--git", type=Path, required=True, metavar="CLONE")
    parser.add_argument("--patch", type=Path, required=True, metavar="FILE")
    parser.add_argument("--base", required=True, help="the commit that the patch is for")
    parser.add_argument("--onto", action="append", required=True, metavar="RELEASE")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        series = Path(folder) / "series"
        _patchkit("import", str(options.patch), "--name", "one", "--git", str(options.git), "--patches", str(series))
        (variant,) = (series / "one" / "variants").glob("*.patch")
        patch = parse_patch(variant.read_bytes(), variant.name)
        onto = [word for release in options.onto for word in ("--onto", release)]
        answer = _patchkit(
            "check-upstream", "--patches", str(series), "--git", str(options.git), "--format", "json", *onto
        )
    told = {
        (target["title"], hunk["id"]): bool(hunk["drift"])
        for target in json.loads(answer)["targets"]
        for each in target["patches"]
        for hunk in each["hunks"]
    }
    silent = 0
    for release in options.onto:
        applying, changed, missing = 0, 0, []
        for file in patch.files:
            base, target = (_show(options.git, name, file.path) for name in (options.base, f"core_{release}"))
            for hunk in file.hunks:
                if _applies(file, hunk, target):
                    applying += 1
                    if _means_something_else(base, target, _first_changed_line(hunk)):
                        changed += 1
                        missing += [] if told[release, hunk.id] else [hunk.id]
        silent += len(missing)
        print(
            f"{release}: {applying} hunks apply word for word, {changed} of them in a function that changed, "
            f"{changed - len(missing)} told as drift"
        )
        for name in missing:
            print(f"    not told: {name}")
    return 1 if silent else 0


def _patchkit(*words: str) -> bytes:
    done = subprocess.run([*PATCHKIT, *words], check=False, capture_output=True, env=as_installed())
    # 1: something has to be looked at.
    assert done.returncode in (0, 1), done.stderr.decode(errors="replace")
    return done.stdout


def _show(clone: Path, revision: str, path: str) -> bytes:
    """Return a file's text; empty where there is none."""
    git = ["git", "--git-dir", str(clone), "show", f"{revision}:{path}"]
    return subprocess.run(git, check=False, capture_output=True).stdout


def _applies(file: FilePatch, hunk: Hunk, target: bytes) -> bool:
    alone = print_patch(Patch(files=(replace(file, hunks=(hunk,)),)))
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "target"
        written.write_bytes(target)
        command = ["patch", "-F0", "-N", "-s", "-r", "-", str(written)]
        return subprocess.run(command, input=alone, check=False, capture_output=True).returncode == 0


def _first_changed_line(hunk: Hunk) -> int:
    """Return the 1-based line of the base before which, or in which, the hunk changes something."""
    context = next(number for number, line in enumerate(hunk.lines) if line.kind is not LineKind.CONTEXT)
    return hunk.old_start + context


def _means_something_else(base: bytes, target: bytes, line: int) -> bool:
    """Tell whether the function around a line of ``base`` is gone from ``target`` or says something else there."""
    around = [(name, node) for name, node in _functions(base) if node.lineno <= line <= (node.end_lineno or 0)]
    if not around:
        return False
    name, node = around[-1]
    there = dict(_functions(target)).get(name)
    return there is None or _said(there) != _said(node)


def _functions(text: bytes) -> list[tuple[str, Functions]]:
    """Return the functions by qualified name, outer ones first."""
    found: list[tuple[str, Functions]] = []

    def look(node: ast.AST, name: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = f"{name}.{child.name}" if isinstance(child, Functions | ast.ClassDef) else name
            if isinstance(child, Functions):
                found.append((inner, child))
            look(child, inner)

    look(ast.parse(text), "")
    return found


def _said(node: Functions) -> str:
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    parts = [node.args, *node.decorator_list, *([node.returns] if node.returns else []), *body]
    return "\n".join(map(ast.dump, parts))


if __name__ == "__main__":
    sys.exit(main())
