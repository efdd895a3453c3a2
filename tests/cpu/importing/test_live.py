"""Patching at import, in Python processes of their own: what they import, what they show, and what they refuse."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.conftest import Command
from operations import made_up
from operations.fixtures import ReleaseWheel
from trees.faults import killed_at
from trees.snapshots import contents, lay, snapshot

import patchkit as package
from patchkit.importing.settings import START
from patchkit.operations.apply import apply_in
from patchkit.operations.sources import load_workspace
from patchkit.trees.archive import WheelTree, unpack
from patchkit.trees.directory import DirectoryTree

SERIES = "series/patches/megatron"
PACKAGE_ROOT = str(Path(package.__file__).parents[1])

Done = subprocess.CompletedProcess[str]
Python = Callable[..., Done]

SOURCES = """
import inspect, json, sys
import megatron.core.config, megatron.core.buffer, megatron.core.regions, megatron.core.version
print(json.dumps({name: inspect.getsource(module) for name, module in sorted(sys.modules.items())
                  if name.startswith("megatron.core.")}))
"""
NO_BACKUP = "import megatron.core.config; print(hasattr(megatron.core.config.Config, 'no_backup'))"


@pytest.fixture
def python(series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Python:
    """Run a Python that finds patchkit and ``tree``, with the made-up series named in PATCHKIT_LIVE."""
    for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"):
        monkeypatch.delenv(name, raising=False)

    def run(
        *words: str | Path, tree: Path, settings: dict[str, object] | None = None, path: tuple[Path, ...] = ()
    ) -> Done:
        entries = [*path, PACKAGE_ROOT, tree]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, entries)),
            "PATCHKIT_LIVE": json.dumps({"patches": str(series), **(settings or {})}),
        }
        command = [sys.executable, *map(str, words)]
        return subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True)

    return run


def release(folder: Path, version: str = "1.0", /, **changes: bytes) -> Path:
    """The files of a release in a folder, with other contents of some: ``buffer=...``."""
    return lay(folder, {**made_up.UPSTREAM[version], **{made_up.path_of(name): text for name, text in changes.items()}})


def printed(done: Done) -> str:
    """What a process printed that went well."""
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def refusal(done: Done) -> list[str]:
    """The exception that ended a process, without its traceback."""
    assert (done.returncode, done.stdout) == (1, "")
    lines = done.stderr.splitlines()
    return lines[next(n for n, line in enumerate(lines) if line.startswith("patchkit.errors.LiveError:")) :]


# What is imported.


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_what_is_imported_is_what_apply_would_write_and_no_file_changes(
    python: Python, tmp_path: Path, version: str
) -> None:
    tree = release(tmp_path / "tree", version)
    before = snapshot(tree)
    texts = json.loads(printed(python("-B", "-c", "import patchkit.live" + SOURCES, tree=tree)))
    names = {"buffer", "config", "regions", "version"}

    assert snapshot(tree) == before
    assert texts == {
        f"megatron.core.{name}": made_up.PATCHED[version][f"megatron/core/{name}.py"].decode() for name in names
    }


def test_a_release_whose_files_are_patched_already_is_imported_as_it_is(
    python: Python, tmp_path: Path, series: Path
) -> None:
    tree = release(tmp_path / "tree")
    assert apply_in(load_workspace(series), DirectoryTree(tree)).verdict == "applied"
    code = "import patchkit.live as live, megatron.core.config; s = live.status(); print(s.ok, s.verdict, s.modules)"

    assert printed(python("-c", code, tree=tree)) == "True already-applied {}\n"


def test_a_reload_gives_the_patched_text_again(python: Python, tmp_path: Path) -> None:
    code = "import patchkit.live, importlib, megatron.core.config as c; print(importlib.reload(c).Config.loose)"

    assert printed(python("-c", code, tree=release(tmp_path / "tree"))) == "None\n"


def test_files_beside_a_patched_module_are_found(python: Python, tmp_path: Path) -> None:
    tree = release(tmp_path / "tree")
    (tree / "megatron/core/table.txt").write_text("beside")
    code = (
        "import patchkit.live, pathlib, megatron.core.config as c; "
        "beside = pathlib.Path(c.__file__).with_name('table.txt'); "
        "print(beside.read_text(), c.__loader__.get_data(str(beside)), c.__loader__.get_data(c.__file__)[-14:])"
    )

    assert printed(python("-c", code, tree=tree)) == "beside b'beside' b' loose = None\\n'\n"


def test_byte_code_of_the_files_is_neither_taken_nor_written(python: Python, tmp_path: Path) -> None:
    tree = release(tmp_path / "tree")

    def without() -> str:
        return printed(python("-c", NO_BACKUP, tree=tree))

    def compiled() -> dict[str, bytes]:
        return {name: text for name, text in contents(tree).items() if "config." in name and name.endswith(".pyc")}

    assert printed(python("-c", f"import patchkit.live; {NO_BACKUP}", tree=tree)) == "True\n"
    assert compiled() == {}
    assert without() == "False\n"
    kept = compiled()
    assert len(kept) == 1
    assert printed(python("-c", f"import patchkit.live; {NO_BACKUP}", tree=tree)) == "True\n"
    assert without() == "False\n"
    assert compiled() == kept


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("megatron.core.buffer.Buffer(1)", id="uncaught"),
        pytest.param(
            "import linecache, traceback\n"
            "try: megatron.core.buffer.Buffer(1)\n"
            "except NameError: linecache.checkcache(); traceback.print_exc(); raise SystemExit(1)",
            id="traceback",
        ),
    ],
)
def test_a_traceback_shows_the_patched_lines(python: Python, tmp_path: Path, statement: str) -> None:
    done = python("-c", f"import patchkit.live, megatron.core.buffer\n{statement}", tree=release(tmp_path / "tree"))
    lines = done.stderr.splitlines()
    where = next(n for n, line in enumerate(lines) if "buffer.py" in line)
    patched = made_up.PATCHED["1.0"]["megatron/core/buffer.py"].decode().splitlines()
    number = patched.index("        with region():") + 1

    assert done.returncode == 1
    assert f"line {number}, in __init__" in lines[where]
    assert lines[where + 1].strip() == "with region():"


def test_a_class_shows_its_patched_source_where_no_copy_can_be_kept(python: Python, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code = "import patchkit.live, inspect, megatron.core.config as c; print(inspect.getsource(c.Config))"
    os.environ["PATCHKIT_CACHE"] = str(tmp_path / "file" / "cache")  # put back by the fixture that set it

    expected = made_up.PATCHED_CONFIG.decode().partition("\n\n\n")[2]
    assert printed(python("-c", code, tree=release(tmp_path / "tree"))) == expected + "\n"


# Where it comes into force.


def test_a_script_runs_as_python_would_run_it_and_its_processes_are_patched_too(python: Python, tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text(
        "import json, multiprocessing, subprocess, sys\n"
        "def child(_=0):\n"
        "    import megatron.core.config as c\n"
        "    return hasattr(c.Config, 'no_backup')\n"
        "if __name__ == '__main__':\n"
        "    told = {'argv': sys.argv, 'name': __name__, 'options': sys.flags.dev_mode}\n"
        "    for way in ('fork', 'spawn', 'forkserver'):\n"
        "        with multiprocessing.get_context(way).Pool(1) as pool:\n"
        "            told[way] = pool.map(child, [0])\n"
        "    told['other'] = subprocess.run([sys.executable, '-c', 'import work; print(work.child())'],\n"
        "                                   text=True, capture_output=True).stdout\n"
        "    told['here'] = child()\n"
        "    print(json.dumps(told))\n"
    )
    tree = release(tmp_path / "tree")

    def told(*words: str) -> object:
        return json.loads(printed(python("-X", "dev", *words, "work.py", "a", "--dry-run", tree=tree)))

    expected = {"argv": ["work.py", "a", "--dry-run"], "name": "__main__", "options": True, "other": "True\n"}
    expected |= {"fork": [True], "spawn": [True], "forkserver": [True], "here": True}
    assert told("-m", "patchkit.live", "--patches", str(tmp_path / SERIES), "--") == expected
    assert told("-Bm", "patchkit.live", "--patches", str(tmp_path / SERIES)) == expected


def test_a_module_is_run_by_its_name_and_from_its_patched_text(python: Python, tmp_path: Path) -> None:
    tree = release(tmp_path / "tree")
    (tree / "tool.py").write_text(f"{NO_BACKUP}; import sys; print(sys.argv[1:])")
    live = ("-m", "patchkit.live", "--patches", tmp_path / SERIES, "--", "-m")

    assert printed(python(*live, "tool", "-m", "x", tree=tree)) == "True\n['-m', 'x']\n"
    assert printed(python(*live, "megatron.core.regions", tree=tree)) == ""


def test_the_first_line_is_enough_for_the_children_as_well(python: Python, tmp_path: Path) -> None:
    code = f"import patchkit.live, subprocess, sys; subprocess.run([sys.executable, '-c', {NO_BACKUP!r}], check=True)"

    assert printed(python("-c", code, tree=release(tmp_path / "tree"))) == "True\n"


def test_the_first_line_takes_the_series_of_the_project(python: Python, series: Path, tmp_path: Path) -> None:
    # As `python -m patchkit.live` does: a project's script must not get the built-in series in its place.
    (tmp_path / "patchkit.toml").write_text(f"patches = {json.dumps(str(series))}\n")
    said = "print(os.environ['PATCHKIT_LIVE'])"
    code = f"import os; del os.environ['PATCHKIT_LIVE']; import patchkit.live; {said}; {NO_BACKUP}"
    done = python("-c", code, tree=release(tmp_path / "tree"))

    told, patched = printed(done).splitlines()
    assert (json.loads(told)["patches"], patched) == (str(series), "True")


def test_malformed_settings_of_the_project_are_named(python: Python, tmp_path: Path) -> None:
    (tmp_path / "patchkit.toml").write_text("patchs = 1\n")
    code = "import os; del os.environ['PATCHKIT_LIVE']\ntry: import patchkit.live\nexcept ImportError: print('none')"
    done = python("-c", code, tree=release(tmp_path / "tree"))

    assert (done.returncode, done.stdout) == (1, "")
    assert "StoreError: patchkit.toml: patchs: there is no such setting" in done.stderr


def test_variables_for_an_actor_keep_the_path_it_would_have(python: Python, tmp_path: Path) -> None:
    code = (
        "import patchkit.live as live, json; "
        "once = live.environment({'PYTHONPATH': '/megatron'}); print(json.dumps([once, live.environment(once)]))"
    )
    once, twice = json.loads(printed(python("-c", code, tree=release(tmp_path / "tree"))))

    assert twice == once
    assert once == {
        "PATCHKIT_LIVE": json.dumps({"packages": ["megatron/core"], "patches": str(tmp_path / SERIES)}),
        "PYTHONPATH": f"{START}{os.pathsep}/megatron",
    }


def test_another_sitecustomize_is_run_behind_ours(python: Python, tmp_path: Path) -> None:
    lay(tmp_path / "other", {"sitecustomize.py": b"import sys; sys.other = __name__, __file__\n"})
    code = f"import sys; print(sys.other, sys.modules['sitecustomize'].__file__ == sys.other[1]); {NO_BACKUP}"
    done = python("-c", code, tree=release(tmp_path / "tree"), path=(Path(START), tmp_path / "other"))

    assert printed(done) == f"('sitecustomize', '{tmp_path}/other/sitecustomize.py') True\nTrue\n"


def test_without_the_variable_our_sitecustomize_does_nothing(python: Python, tmp_path: Path) -> None:
    os.environ.pop("PATCHKIT_LIVE", None)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([START, str(release(tmp_path / "tree"))])}
    done = subprocess.run(
        [sys.executable, "-c", NO_BACKUP], env=environment, check=False, capture_output=True, text=True
    )

    assert printed(done) == "False\n"


def test_a_process_without_megatron_loads_the_hook_alone(python: Python, tmp_path: Path) -> None:
    code = (
        "import sys; print(sorted(name for name in sys.modules if name.split('.')[0] in ('patchkit', 'msgspec')"
        " and name != 'patchkit._version'))"
    )
    settings = {"packages": ["megatron/core"]}
    done = python("-c", code, tree=release(tmp_path / "tree"), path=(Path(START),), settings=settings)
    own = ["patchkit", "patchkit.errors", *(f"patchkit.importing{name}" for name in ("", ".hook", ".settings"))]

    assert printed(done) == f"{own}\n"


# What is refused.


def test_a_module_that_was_imported_before_is_refused(python: Python, tmp_path: Path) -> None:
    done = python("-c", "import megatron.core.config, patchkit.live", tree=release(tmp_path / "tree"))

    assert refusal(done) == [
        "patchkit.errors.LiveError: megatron.core.config was imported before patchkit.live, unpatched",
        "  hint: make `import patchkit.live` the first line, or start with `python -m patchkit.live -- SCRIPT`",
    ]


def test_megatron_may_have_been_imported_before_without_what_is_patched(python: Python, tmp_path: Path) -> None:
    code = f"import megatron.core.version, patchkit.live as l; print(l.status().modules); {NO_BACKUP}"
    names = ["buffer", "config", "regions"]
    waiting = {f"megatron.core.{name}": "not-imported" for name in names}

    assert printed(python("-c", code, tree=release(tmp_path / "tree"))) == f"{waiting}\nTrue\n"


def test_a_changed_file_is_refused_and_nobody_takes_that_for_a_missing_megatron(python: Python, tmp_path: Path) -> None:
    tree = release(tmp_path / "tree", config=made_up.CONFIG.replace(b"size = 1", b"size = 2"))
    code = "import patchkit.live\ntry: import megatron.core\nexcept ImportError: print('no Megatron here')\n"

    told = refusal(python("-c", code, tree=tree))
    assert told[0].startswith(f"patchkit.errors.LiveError: {tree} cannot be patched at import: ")
    assert "megatron/core/config.py" in told[0]


def test_a_refusal_is_repeated_and_told_by_the_status(python: Python, tmp_path: Path) -> None:
    tree = release(tmp_path / "tree", config=b"")
    code = (
        "import patchkit.live as live\n"
        "for _ in range(2):\n"
        "    try: import megatron.core\n"
        "    except live.LiveError as error: text = str(error)\n"
        "    else: raise SystemExit('the answer changed')\n"
        f"    open({str(tree / made_up.path_of('config'))!r}, 'wb').write({made_up.CONFIG!r})\n"
        "status = live.status(); print(status.ok, status.verdict, status.problems == (text,))\n"
    )

    assert printed(python("-c", code, tree=tree)) == "False refused True\n"


def test_another_release_than_the_one_asked_for_is_refused(python: Python, tmp_path: Path) -> None:
    done = python(
        "-c", f"import patchkit.live; {NO_BACKUP}", tree=release(tmp_path / "tree", "2.0"), settings={"megatron": "1.0"}
    )

    assert refusal(done)[0].endswith("the tree is 2.0, not 1.0")


def test_half_a_patch_is_refused(python: Python, tmp_path: Path) -> None:
    tree = release(tmp_path / "tree", buffer=made_up.PATCHED["1.0"]["megatron/core/buffer.py"])
    told = refusal(python("-c", f"import patchkit.live; {NO_BACKUP}", tree=tree))[0]

    assert told.startswith(f"patchkit.errors.LiveError: {tree} cannot be patched at import: grads: ")


def test_an_interrupted_write_is_refused(python: Python, tmp_path: Path, series: Path) -> None:
    workspace, tree = load_workspace(series), DirectoryTree(release(tmp_path / "tree"))
    number = 0
    while tree.interrupted() is None:
        number += 1
        assert killed_at(number, lambda: apply_in(workspace, tree))
    told = refusal(python("-c", f"import patchkit.live; {NO_BACKUP}", tree=tree.root))

    assert told[0].startswith(f"patchkit.errors.LiveError: {tree.root}: an earlier apply was interrupted: ")


def test_two_trees_on_the_path_are_refused_where_they_mix(python: Python, tmp_path: Path) -> None:
    first, second = release(tmp_path / "first"), release(tmp_path / "second")
    code = (
        "import patchkit.live, megatron.core.version, megatron.core\n"
        f"megatron.core.__path__[:] = [{str(second / 'megatron/core')!r}]\n"
        "import megatron.core.config\n"
    )
    told = refusal(python("-c", code, tree=first))

    assert told[0] == (
        f"patchkit.errors.LiveError: megatron.core.config would be imported from {second}/megatron/core/config.py, "
        f"and the patches are for {first}/megatron/core/config.py"
    )


def test_a_loader_of_somebody_else_is_not_put_aside(python: Python, tmp_path: Path) -> None:
    code = """\
import sys, patchkit.live
from importlib.machinery import PathFinder, SourceFileLoader
class Loader(SourceFileLoader): pass
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        spec = PathFinder.find_spec(name, path, target)
        if spec and name == "megatron.core.config": spec.loader = Loader(name, spec.origin)
        return spec
sys.meta_path.insert(1, Finder)
import megatron.core.config
"""

    told = refusal(python("-c", code, tree=release(tmp_path / "tree")))[0]
    assert told.endswith("megatron.core.config would be loaded by Loader, whose place patchkit would take")


@pytest.mark.parametrize("planned", [False, True])
def test_a_hook_that_is_put_before_ours_later_is_asked_after_it(python: Python, tmp_path: Path, planned: bool) -> None:
    # As pytest's and typeguard's do. Python's own finder stands for one that answers for every module.
    code = f"""\
import sys, patchkit.live as live
from importlib.machinery import PathFinder
{"import megatron.core" if planned else ""}
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, path, target) if name.startswith("megatron.") else None
sys.meta_path.insert(0, Finder)
import this_is_no_module_that_python_has_loaded
import megatron.core.config
print(live.status().modules["megatron.core.config"], sum(type(each).__name__ == "LiveFinder" for each in sys.meta_path))
"""
    (tmp_path / "this_is_no_module_that_python_has_loaded.py").write_bytes(b"")

    assert printed(python("-c", code, tree=release(tmp_path / "tree"))) == "patched 1\n"


def test_what_a_hook_before_ours_loaded_is_told_by_the_next_import(python: Python, tmp_path: Path) -> None:
    code = """\
import sys, patchkit.live as live
from importlib.machinery import PathFinder
import megatron.core
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, path, target) if name.startswith("megatron.") else None
sys.meta_path.insert(0, Finder)
import megatron.core.config
import this_is_no_module_that_python_has_loaded
"""

    assert refusal(python("-c", code, tree=release(tmp_path / "tree"))) == [
        (
            "patchkit.errors.LiveError: "
            "megatron.core.config was loaded unpatched by Finder, which was put before patchkit.live"
        ),
        "  hint: do without that hook, or patch the files with `patchkit apply`",
    ]


def test_a_release_in_an_archive_is_refused(python: Python, tmp_path: Path) -> None:
    tree = release(tmp_path / "tree")
    archive = shutil.make_archive(str(tmp_path / "release"), "zip", tree)

    assert refusal(python("-c", f"import patchkit.live; {NO_BACKUP}", tree=Path(archive))) == [
        (
            f"patchkit.errors.LiveError: megatron.core would be imported from {archive}/megatron/core/__init__.py, "
            "which is in no folder that can be patched at import"
        ),
        "  hint: unpack it into a folder, and put that on the path of this Python",
    ]


def test_a_module_that_slipped_past_the_hook_is_told_by_the_status(python: Python, tmp_path: Path) -> None:
    code = """\
import sys, patchkit.live as live
from importlib.machinery import PathFinder
import megatron.core
sys.meta_path.insert(0, PathFinder)
import megatron.core.config
s = live.status()
print(s.ok, s.modules["megatron.core.config"], s.problems)
"""
    told = printed(python("-c", code, tree=release(tmp_path / "tree")))

    assert told == ("False unpatched ('megatron.core.config is loaded, and not from its patched text',)\n")


def test_other_distributions_of_the_namespace_are_left_alone(python: Python, tmp_path: Path) -> None:
    lay(tmp_path / "other", {"megatron/energon/__init__.py": b"ANSWER = 1\n"})
    code = "import patchkit.live as live, megatron.energon; s = live.status(); print(s.ok, s.verdict)"
    done = python("-c", code, tree=release(tmp_path / "tree"), path=(tmp_path / "other",))

    assert printed(done) == "False waiting\n"


def test_other_settings_come_too_late_once_a_tree_is_patched(python: Python, tmp_path: Path) -> None:
    again = "from patchkit.importing import hook, settings; hook.install(settings.Settings())"
    code = f"import patchkit.live; {NO_BACKUP}; {again}"
    done = python("-c", code, tree=release(tmp_path / "tree"))

    assert (done.returncode, done.stdout) == (1, "True\n")
    assert "is patched at import already, with other settings" in done.stderr


@pytest.mark.parametrize(
    "text", ["yes", "[]", '{"patch": "grads"}', '{"packages": "megatron"}', '{"series": "x"}', '{"megatron": 1}']
)
def test_a_malformed_variable_is_refused(python: Python, tmp_path: Path, text: str) -> None:
    tree = release(tmp_path / "tree")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([START, PACKAGE_ROOT, str(tree)]),
        "PATCHKIT_LIVE": text,
    }
    command = [sys.executable, "-c", f"print('started'); {NO_BACKUP}"]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (1, "started\n")
    assert f"PATCHKIT_LIVE is {text!r}, which is neither 1 nor what patchkit writes there" in done.stderr


def test_a_python_without_patchkit_below_a_patched_one_does_not_get_megatron(tmp_path: Path) -> None:
    venv.create(tmp_path / "env")
    tree = release(tmp_path / "tree")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([START, str(tree)]), "PATCHKIT_LIVE": "1"}

    def run(code: str) -> Done:
        command = [str(tmp_path / "env/bin/python"), "-c", code]
        return subprocess.run(command, env=environment, check=False, capture_output=True, text=True)

    done = run(NO_BACKUP)
    assert printed(run("print(1)")) == "1\n"
    assert (done.returncode, done.stdout) == (1, "")
    who = f"{tmp_path}/env/bin/python"
    assert done.stderr.splitlines()[-1] == (
        f"RuntimeError: megatron.core was to be patched at import, and {who} cannot: "
        "it has no patchkit (No module named 'patchkit')"
    )


# The real thing.


@pytest.mark.network
def test_ranks_under_torchrun_train_with_the_patched_release(release_wheel: ReleaseWheel, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    unpack(WheelTree(release_wheel("0.16.1")), tmp_path / "tree", {})
    before = contents(tmp_path / "tree")
    (tmp_path / "train.py").write_text(
        "import json, os, sys\n"
        "from megatron.core.distributed import DistributedDataParallelConfig\n"
        "import megatron.core.distributed.param_and_grad_buffer\n"
        "import patchkit.live\n"
        "status = patchkit.live.status()\n"
        "told = [status.ok, status.report.target, sorted(set(status.modules.values())),\n"
        "        DistributedDataParallelConfig(disable_grad_buffers_cpu_backup=True).disable_grad_buffers_cpu_backup]\n"
        "open(sys.argv[1] + os.environ['RANK'], 'w').write(json.dumps(told))\n"
    )
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0", "train.py", "rank"]
    done = subprocess.run(
        [sys.executable, "-Bm", "patchkit.live", "--megatron", "v0.16.1", "--", *launcher],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([PACKAGE_ROOT, str(tmp_path / "tree")]),
            "OMP_NUM_THREADS": "1",
        },
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr

    ranks = {path.name: json.loads(path.read_text()) for path in tmp_path.glob("rank*")}
    told = [True, "0.16.1", ["patched"], True]
    assert ranks == {"rank0": told, "rank1": told}
    assert {name: text for name, text in contents(tmp_path / "tree").items() if not name.endswith(".pyc")} == before


# The command line.


def test_a_dry_run_answers_as_apply_does(patchkit: Command, series: Path, tmp_path: Path, python: Python) -> None:
    tree = release(tmp_path / "tree")
    options = ("--patches", series, "--format", "json", "--dry-run")
    apply = json.loads(patchkit("apply", *options, "--in", tree).out)
    done = python("-m", "patchkit.live", *options, tree=tree)
    written = [path for path in apply["written"] if not path.startswith(".patchkit/")]

    assert json.loads(printed(done)) == {**apply, "verdict": "patched-at-import", "written": written}
    assert len(written) == 3


def test_a_dry_run_that_is_refused_ends_as_apply_does(
    patchkit: Command, series: Path, tmp_path: Path, python: Python
) -> None:
    tree = release(tmp_path / "tree", config=b"other\n")
    options = ("--patches", series, "--dry-run")
    apply = patchkit("apply", *options, "--in", tree)
    done = python("-m", "patchkit.live", *options, tree=tree)

    assert apply.code == 1
    assert (done.returncode, done.stdout, done.stderr) == (apply.code, apply.out, apply.err)


def test_the_printed_variables_are_for_a_shell(python: Python, tmp_path: Path) -> None:
    tree = release(tmp_path / "tree")
    options = ("--patches", tmp_path / SERIES, "--megatron", "1.0", "--patch", "grads", "--print-environment")
    exports = printed(python("-m", "patchkit.live", *options, tree=tree))
    code = "import megatron.core.config as c; print(hasattr(c.Config, 'loose'), hasattr(c.Config, 'no_backup'))"
    script = f'{exports}\n{sys.executable} -c "{code}"'
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(["/bin/sh", "-c", script], env=environment, check=False, capture_output=True, text=True)

    assert printed(done) == "False True\n"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], "what is to be run?"),
        (["--", "nothing.py"], "nothing.py is no script"),
        (["--megatron", "9.9", "--", "work.py"], "9.9"),
        (["--patch", "nothing", "--", "work.py"], "nothing"),
        (["--dry-run", "--", "work.py"], "--dry-run and --print-environment run no program"),
    ],
)
def test_what_cannot_be_meant_is_usage(python: Python, tmp_path: Path, options: list[str], told: str) -> None:
    (tmp_path / "work.py").write_text("print('ran')")
    done = python("-m", "patchkit.live", "--patches", tmp_path / SERIES, *options, tree=release(tmp_path / "tree"))

    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_a_python_that_does_not_look_at_the_environment_is_refused(python: Python, tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text("print('ran')")
    code = (
        f"import runpy, sys; sys.path[:0] = [{PACKAGE_ROOT!r}]; sys.argv[1:] = ['work.py']; "
        "runpy.run_module('patchkit.live', run_name='__main__')"
    )
    done = python("-E", "-c", code, tree=release(tmp_path / "tree"))

    assert (done.returncode, done.stdout) == (2, "")
    assert "with -E" in done.stderr
