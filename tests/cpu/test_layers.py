"""Imports of the package point one way, and heavy ones stay where they are needed."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import patchkit

PACKAGE = Path(patchkit.__file__).parent

# What each part of the package may import of the package, itself aside. A part that is not here may not exist. The
# version, patchkit/__init__.py, is the part with the empty name.
ALLOWED: Mapping[str, frozenset[str]] = {
    # `patchkit.carry_file`, imported when it is asked for.
    "": frozenset({"core", "_version"}),
    # Written by a build.
    "_version": frozenset(),
    "errors": frozenset(),
    "reading": frozenset(),
    "folders": frozenset(),
    "unfinished": frozenset({"folders"}),
    "progress": frozenset(),
    "core": frozenset({"errors"}),
    "trees": frozenset({"errors", "progress", "reading", "folders", "unfinished", "core"}),
    "store": frozenset({"errors", "progress", "reading", "folders", "unfinished", "core"}),
    "operations": frozenset({"", "errors", "progress", "reading", "core", "trees", "store"}),
    # An island: only the command line imports it.
    "tms": frozenset({"errors", "reading", "unfinished"}),
    # Loaded at the start of processes below a patched one: what is heavy is imported with Megatron.
    "importing": frozenset({"errors", "unfinished", "core", "trees", "store", "operations"}),
    "cli": frozenset({"", "errors", "progress", "reading", "core", "trees", "store", "operations", "tms", "importing"}),
    "live": frozenset({"errors", "store", "importing", "cli"}),
    "__main__": frozenset({"", "cli"}),
}

# The only importers of packages that are slow, optional or worth replacing.
IMPORTERS: Mapping[str, frozenset[str]] = {
    "pyflakes": frozenset({"core/gating/names.py"}),
    "yaml": frozenset({"store/yaml_text.py"}),
    "ruamel": frozenset({"store/yaml_rewriting.py"}),
    "unearth": frozenset({"trees/index_client.py"}),
    "httpx2": frozenset({"trees/index_client.py", "trees/index_answers.py"}),
    "elftools": frozenset({"tms/elf.py"}),
    "tree_sitter": frozenset({"core/pins/dockerfile.py"}),
    "tree_sitter_containerfile": frozenset({"core/pins/dockerfile.py"}),
    "torch": frozenset({"operations/fleet.py"}),
    "megatron": frozenset(),
    "torch_memory_saver": frozenset(),
}

# What touches a file, a process, the environment, a clock or an output: nothing for core.
IMPURE = frozenset(
    {
        "asyncio",
        "datetime",
        "glob",
        "logging",
        "multiprocessing",
        "os",
        "pathlib",
        "random",
        "shutil",
        "signal",
        "socket",
    }
    | {"subprocess", "sys", "tempfile", "threading", "time", "urllib"}
)


def imported(source: str, path: str) -> Iterator[tuple[int, str]]:
    """Line and absolute name of everything that a module imports, wherever the import stands."""
    package = ["patchkit", *path.split("/")[:-1]]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            for alias in node.names:
                yield node.lineno, f"{name}.{alias.name}"


def part(name: str) -> str:
    """The part of the package that an absolute name belongs to."""
    top = name.removeprefix("patchkit").removeprefix(".").split(".")[0]
    return top if top in ALLOWED or (PACKAGE / top).is_dir() else ""


def problems(modules: Mapping[str, str]) -> list[str]:
    """Every import that points the wrong way; ``modules`` is path below the package to source."""
    found: list[str] = []
    for path, source in sorted(modules.items()):
        own = path.split("/")[0].removesuffix(".py").replace("__init__", "")
        if own not in ALLOWED:
            found.append(f"{path}: {own} is no part of the package that the table knows")
            continue
        for line, name in imported(source, path):
            top = name.split(".")[0]
            other = part(name) if top == "patchkit" else own
            if other != own and other not in ALLOWED[own]:
                found.append(f"{path}:{line}: {own or 'patchkit'} imports {other or 'patchkit'} ({name})")
            if path not in IMPORTERS.get(top, {path}):
                found.append(f"{path}:{line}: {top} is imported here ({name})")
            if own == "core" and top in IMPURE:
                found.append(f"{path}:{line}: core is pure ({name})")
    return found


def test_imports_of_the_package_point_one_way() -> None:
    modules = {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in PACKAGE.rglob("*.py")}

    assert problems(modules) == []


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        (
            "core/x.py",
            "from patchkit.trees.directory import DirectoryTree",
            ["core/x.py:1: core imports trees (patchkit.trees.directory.DirectoryTree)"],
        ),
        ("core/x.py", "import patchkit.store.series", ["core/x.py:1: core imports store (patchkit.store.series)"]),
        (
            "core/x.py",
            "from patchkit import operations",
            ["core/x.py:1: core imports operations (patchkit.operations)"],
        ),
        (
            "core/x.py",
            "from patchkit import __version__",
            ["core/x.py:1: core imports patchkit (patchkit.__version__)"],
        ),
        (
            "core/x.py",
            "from patchkit.progress import silent",
            ["core/x.py:1: core imports progress (patchkit.progress.silent)"],
        ),
        ("core/x.py", "from .. import cli", ["core/x.py:1: core imports cli (patchkit.cli)"]),
        ("core/x.py", "from ..cli.main import run", ["core/x.py:1: core imports cli (patchkit.cli.main.run)"]),
        (
            "store/x.py",
            "def f():\n    import patchkit.trees.git",
            ["store/x.py:2: store imports trees (patchkit.trees.git)"],
        ),
        (
            "trees/x.py",
            "if TYPE_CHECKING:\n    from patchkit.store import lock",
            ["trees/x.py:2: trees imports store (patchkit.store.lock)"],
        ),
        (
            "operations/x.py",
            "import patchkit.cli.text as t",
            ["operations/x.py:1: operations imports cli (patchkit.cli.text)"],
        ),
        (
            "cli/commands/x.py",
            "from patchkit.__main__ import main",
            ["cli/commands/x.py:1: cli imports __main__ (patchkit.__main__.main)"],
        ),
        ("errors.py", "from patchkit.core import lines", ["errors.py:1: errors imports core (patchkit.core.lines)"]),
        (
            "__init__.py",
            "from patchkit.cli.main import run",
            ["__init__.py:1: patchkit imports cli (patchkit.cli.main.run)"],
        ),
        (
            "tms/x.py",
            "from patchkit.core.upstream import Defect",
            ["tms/x.py:1: tms imports core (patchkit.core.upstream.Defect)"],
        ),
        (
            "operations/x.py",
            "from patchkit.tms.elf import read_library",
            ["operations/x.py:1: operations imports tms (patchkit.tms.elf.read_library)"],
        ),
        ("utils.py", "", ["utils.py: utils is no part of the package that the table knows"]),
        ("helpers/x.py", "", ["helpers/x.py: helpers is no part of the package that the table knows"]),
        ("core/x.py", "import pyflakes", ["core/x.py:1: pyflakes is imported here (pyflakes)"]),
        (
            "store/series.py",
            "from ruamel.yaml import YAML",
            ["store/series.py:1: ruamel is imported here (ruamel.yaml.YAML)"],
        ),
        ("store/yaml_text.py", "import ruamel", ["store/yaml_text.py:1: ruamel is imported here (ruamel)"]),
        ("store/yaml_rewriting.py", "import yaml", ["store/yaml_rewriting.py:1: yaml is imported here (yaml)"]),
        ("cli/x.py", "import a, yaml", ["cli/x.py:1: yaml is imported here (yaml)"]),
        (
            "trees/directory.py",
            "def f():\n    from unearth import PackageFinder",
            ["trees/directory.py:2: unearth is imported here (unearth.PackageFinder)"],
        ),
        ("trees/git.py", "import torch.cuda", ["trees/git.py:1: torch is imported here (torch.cuda)"]),
        ("core/x.py", "import os.path", ["core/x.py:1: core is pure (os.path)"]),
        ("core/x.py", "from pathlib import Path", ["core/x.py:1: core is pure (pathlib.Path)"]),
        (
            "core/x.py",
            "import patchkit.cli\nfrom patchkit.store import lock",
            ["core/x.py:1: core imports cli (patchkit.cli)", "core/x.py:2: core imports store (patchkit.store.lock)"],
        ),
    ],
)
def test_a_bad_import_is_found(path: str, source: str, expected: list[str]) -> None:
    assert expected == problems({path: source})


@pytest.mark.parametrize(
    ("path", "source"),
    [
        (
            "core/x.py",
            "import re\nfrom patchkit.errors import PatchkitError\nfrom patchkit.core.lines import split_lines",
        ),
        ("core/x.py", "from . import lines\nfrom .lines import split_lines\nfrom ..errors import PatchkitError"),
        ("core/gating/names.py", "from pyflakes.checker import Checker"),
        ("store/yaml_text.py", "import yaml"),
        ("store/yaml_rewriting.py", "def f():\n    from ruamel.yaml import YAML"),
        ("trees/index_client.py", "import unearth, os\nfrom patchkit.progress import silent"),
        ("operations/x.py", "from patchkit import __version__\nfrom patchkit.trees.git import GitTree"),
        ("cli/commands/x.py", "from patchkit.operations.apply import apply\nfrom patchkit.cli import text"),
        ("__main__.py", "from patchkit import __version__\nfrom patchkit.cli.main import run"),
        ("trees/x.py", "from gitless import x\nimport yamlish"),
    ],
)
def test_a_good_import_is_left_alone(path: str, source: str) -> None:
    assert problems({path: source}) == []


# The commands that are about torch_memory_saver, or about it as well.
OF_TMS = frozenset({"tms", "tms_cycle", "run", "doctor", "pins", "evidence"})

HEAVY = ("rich", "yaml", "ruamel", "elftools", "tree_sitter", "unearth", "httpx2", "torch", "megatron")

IMPORT_THE_COMMAND_LINE = "import patchkit.cli.main"
ASK_FOR_THE_VERSION = """\
import runpy
sys.argv = ["patchkit", "--version"]
try:
    runpy.run_module("patchkit", run_name="__main__")
except SystemExit as stop:
    assert stop.code == 0
"""


@pytest.mark.parametrize("statement", [IMPORT_THE_COMMAND_LINE, ASK_FOR_THE_VERSION], ids=["import", "--version"])
def test_starting_loads_nothing_heavy(statement: str) -> None:
    # In a process of its own: this one has loaded them all.
    code = f"import json, sys\n{statement}\nsys.stderr.write(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=True)

    assert json.loads(done.stderr) == []


@pytest.mark.parametrize(
    ("modules", "absent"),
    [
        pytest.param(
            [path.stem for path in (PACKAGE / "cli" / "commands").glob("*.py") if path.stem not in OF_TMS],
            "patchkit.tms",
            id="the patch tool loads nothing of torch_memory_saver",
        ),
        pytest.param(
            ["tms", "tms_cycle", "run"],
            "patchkit.operations.plan",
            id="commands of torch_memory_saver load nothing that applies patches",
        ),
    ],
)
def test_the_commands_of_one_world_load_nothing_of_the_other(modules: list[str], absent: str) -> None:
    imports = "\n".join(f"import patchkit.cli.commands.{name}" for name in modules if name != "__init__")
    code = f"import sys\n{imports}\nsys.stderr.write(str([m for m in sys.modules if m.startswith({absent!r})]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=True)

    assert done.stderr == "[]"


def test_the_version_is_told_by_a_command() -> None:
    command = [sys.executable, "-m", "patchkit", "--version"]
    done = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, check=True)

    assert (f"patchkit {patchkit.__version__}\n", "") == (done.stdout, done.stderr)
