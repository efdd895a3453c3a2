"""Patching at import for a series whose upstream is not Megatron, with its packages in a folder of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.conftest import Command
from operations import made_up
from trees.faults import killed_at
from trees.repositories import git, record
from trees.snapshots import lay, snapshot

import patchkit as package
from patchkit.importing.settings import START
from patchkit.operations.apply import apply_in
from patchkit.operations.sources import load_workspace
from patchkit.trees.directory import DirectoryTree

PACKAGE_ROOT = str(Path(package.__file__).parents[1])
RUN = b"def run(size):\n    first = size + 1\n    return first\n"
PATCHED = RUN.replace(b"size + 1", b"size + 2")
BOX = {"box/__init__.py": b"", "box/core/__init__.py": b"", "box/core/run.py": RUN}
CHECKOUT = {**{f"src/{path}": text for path, text in BOX.items()}, "setup.py": b""}
RUNS = "import box.core.run; print(box.core.run.run(1))"
SOURCE = "import box.core.run, inspect; print(inspect.getsource(box.core.run), end='')"

Done = subprocess.CompletedProcess[str]
Python = Callable[..., Done]


@pytest.fixture
def boxed(tmp_path: Path, patchkit: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a series for an upstream called Box, made by `patchkit init`."""
    clone = lay(tmp_path / "clone", CHECKOUT)
    git(clone, "init", "-q", "-b", "main")
    record(clone, "1.0")
    git(clone, "tag", "v1.0")
    lay(clone, {"src/box/core/run.py": PATCHED})
    (tmp_path / "twice.patch").write_text(git(clone, "diff") + "\n")
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    upstream = ("--upstream", "Box", "--repository", "https://example.org/box")
    layout = ("--package", "src/box/core", "--source", "src")
    made = patchkit("init", *upstream, *layout, "--git", clone, "--from", "../twice.patch", "--release", "v1.0")
    assert made.code == 0, made.err
    return project / "patches/box"


@pytest.fixture
def python(boxed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Python:
    """Run a Python that finds patchkit and the folders ``path``, with ``settings`` (None: none) in PATCHKIT_LIVE."""
    for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PATCHKIT_LIVE"):
        monkeypatch.delenv(name, raising=False)

    def run(
        *words: str | Path, path: tuple[Path | str, ...], settings: object = None, program: Path | None = None
    ) -> Done:
        variables = {"PYTHONPATH": os.pathsep.join(map(str, (*path, *(() if program else (PACKAGE_ROOT,)))))}
        if settings is not None:
            variables["PATCHKIT_LIVE"] = json.dumps(settings)
        command = [str(program or sys.executable), *map(str, words)]
        return subprocess.run(
            command, cwd=boxed.parents[1], env={**os.environ, **variables}, check=False, capture_output=True, text=True
        )

    return run


def printed(done: Done) -> str:
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def last_error(done: Done) -> str:
    assert (done.returncode, done.stdout) == (1, "")
    return next(line for line in done.stderr.splitlines() if line.startswith(("patchkit.errors", "RuntimeError")))


def installed(tmp_path: Path) -> Path:
    return lay(tmp_path / "site", BOX)


def checked_out(tmp_path: Path) -> Path:
    return lay(tmp_path / "checkout", CHECKOUT) / "src"


@pytest.mark.parametrize("lay_it", [installed, checked_out])
def test_a_package_of_any_name_is_imported_patched_and_no_file_changes(
    python: Python, boxed: Path, tmp_path: Path, lay_it: Callable[[Path], Path]
) -> None:
    folder = lay_it(tmp_path)
    before = snapshot(folder.parent)
    settings = {"patches": str(boxed)}
    done = python("-B", "-c", f"import patchkit.live; {SOURCE}", path=(folder,), settings=settings)

    assert printed(done) == PATCHED.decode()
    assert snapshot(folder.parent) == before


def test_the_series_of_a_project_is_for_every_process_below_wherever_it_runs(
    python: Python, boxed: Path, tmp_path: Path
) -> None:
    (boxed.parents[1] / "work.py").write_text(
        "import multiprocessing, os, subprocess, sys\n"
        "def child(_=0):\n"
        "    import box.core.run\n"
        "    return box.core.run.run(1)\n"
        "if __name__ == '__main__':\n"
        "    os.chdir('/')\n"
        "    for way in ('fork', 'spawn'):\n"
        "        with multiprocessing.get_context(way).Pool(1) as pool:\n"
        "            print(way, pool.map(child, [0]))\n"
        f"    print(subprocess.run([sys.executable, '-c', {RUNS!r}], text=True, capture_output=True).stdout)\n"
        "    print(os.environ['PATCHKIT_LIVE'])\n"
    )
    done = python("-m", "patchkit.live", "--", "work.py", path=(installed(tmp_path),))
    variable = json.dumps({"packages": ["box/core"], "patches": str(boxed)})

    assert (done.returncode, done.stdout) == (0, f"fork [3]\nspawn [3]\n3\n\n{variable}\n")
    assert done.stderr == "series: patches/box (from patchkit.toml)\n"


def test_a_process_below_reads_no_series_before_a_package_of_it_is_imported(
    python: Python, boxed: Path, tmp_path: Path
) -> None:
    code = "import sys, megatron.core.config; print(sorted(each for each in sys.modules if 'msgspec' in each))"
    megatron = lay(tmp_path / "megatron", made_up.UPSTREAM["1.0"])
    settings = {"patches": str(boxed), "packages": ["box/core"]}

    assert printed(python("-c", code, path=(START, megatron), settings=settings)) == "[]\n"


def test_a_series_that_is_not_there_is_told_at_the_start_when_nobody_knows_what_it_is_for(
    python: Python, tmp_path: Path
) -> None:
    done = python("-c", "print(1)", path=(START,), settings={"patches": "/gone"})
    told = "patchkit: nothing can be patched at import: /gone: there is no such folder\n"

    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", told)


def test_a_dry_run_tells_of_the_package_that_python_imports(python: Python, tmp_path: Path) -> None:
    done = python("-m", "patchkit.live", "--dry-run", "--format", "json", path=(checked_out(tmp_path),))
    told = json.loads(done.stdout)

    assert (done.returncode, told["verdict"], told["target"]) == (0, "patched-at-import", "v1.0")
    assert told["written"] == ["src/box/core/run.py"]


@pytest.mark.parametrize(("packages", "told"), [(["box/core"], True), (["megatron/core"], False)])
def test_doctor_says_whether_it_is_this_upstream_that_is_patched_at_import(
    python: Python, boxed: Path, tmp_path: Path, packages: list[str], told: bool
) -> None:
    settings = {"patches": str(boxed), "packages": packages}
    examine = ("-m", "patchkit", "doctor", "--in", installed(tmp_path))
    done = python(*examine, path=(START,), settings=settings)

    assert done.returncode == 0, done.stderr
    assert ("it is patched while it is imported" in done.stdout.splitlines()[0]) == told


def test_a_package_that_was_imported_before_is_refused(python: Python, boxed: Path, tmp_path: Path) -> None:
    code = "import box.core.run, patchkit.live"
    done = python("-c", code, path=(installed(tmp_path),), settings={"patches": str(boxed)})

    assert last_error(done) == ("patchkit.errors.LiveError: box.core.run was imported before patchkit.live, unpatched")


def test_a_package_of_the_same_name_that_is_none_of_upstream_is_left_alone(
    python: Python, boxed: Path, tmp_path: Path
) -> None:
    other = lay(tmp_path / "other", {"box/__init__.py": b"", "box/lid.py": b"LID = 1\n"})
    code = "import patchkit.live as live, box.lid; s = live.status(); print(s.verdict, s.problems)"
    done = python("-c", code, path=(other,), settings={"patches": str(boxed)})

    assert printed(done) == "waiting ('no module of a tree with box.core has been imported yet',)\n"


def test_a_write_to_the_checkout_that_was_cut_short_is_refused(python: Python, boxed: Path, tmp_path: Path) -> None:
    folder = checked_out(tmp_path)
    workspace, tree = load_workspace(boxed), DirectoryTree(folder.parent)
    number = 0
    while tree.interrupted() is None:
        number += 1
        assert killed_at(number, lambda: apply_in(workspace, tree))
    done = python("-c", f"import patchkit.live; {RUNS}", path=(folder,), settings={"patches": str(boxed)})

    assert last_error(done).startswith(f"patchkit.errors.LiveError: {tree.root}: an earlier apply was interrupted: ")


def test_a_series_that_is_for_another_package_meanwhile_is_refused(python: Python, boxed: Path, tmp_path: Path) -> None:
    lay(tmp_path / "site", {"lid/__init__.py": b""})
    settings = {"patches": str(boxed), "packages": ["lid"]}
    done = python("-c", "import patchkit.live, lid", path=(tmp_path / "site",), settings=settings)

    assert last_error(done) == (
        "patchkit.errors.LiveError: lid was to be patched at import, and this series is for box.core now"
    )


def test_a_python_below_without_patchkit_gets_no_such_package(python: Python, boxed: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env")
    program = tmp_path / "env/bin/python"
    settings = {"patches": str(boxed), "packages": ["box/core"]}
    path = (START, installed(tmp_path), lay(tmp_path / "megatron", made_up.UPSTREAM["1.0"]))

    assert last_error(python("-c", RUNS, path=path, settings=settings, program=program)) == (
        f"RuntimeError: box.core was to be patched at import, and {program} cannot: "
        "it has no patchkit (No module named 'patchkit')"
    )
    assert printed(python("-c", "import megatron.core.config", path=path, settings=settings, program=program)) == ""
