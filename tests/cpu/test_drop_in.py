"""docs/drop-in: every snippet is run, with programs that install and launch replaced, and patchkit itself as it is.

Twice: on a release as it is, which ends well and patched; and on one whose file somebody changed, where nothing may go
on.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from operations.fixtures import ReleaseWheel, built_in, hermetic, home, made_up_cache, release_wheel

import patchkit
from patchkit.cli.main import run as patchkit_command
from patchkit.core.upstream import MEGATRON
from patchkit.operations.sources import load_workspace
from patchkit.operations.status import verify
from patchkit.trees.layout import open_folder

__all__ = ["built_in", "hermetic", "home", "made_up_cache", "release_wheel"]

pytestmark = pytest.mark.network

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/drop-in"
SNIPPETS = sorted(path.name for path in FOLDER.iterdir())
SITE = "site-packages"

# What stands for pip, uv, conda, git, torchrun, srun, scontrol and python. The first word is its own path.
STAND_IN = r"""
import os, re, sys, zipfile
from pathlib import Path

name, words = Path(sys.argv[0]).name, sys.argv[1:]
here = Path(os.environ["HERE"])

def become(words):
    os.execvp(words[0], words)

def unpack(version, folder):
    with zipfile.ZipFile(os.environ["WHEEL_" + version.replace(".", "_")]) as wheel:
        wheel.extractall(folder)
    if "CHANGED" in os.environ:
        with open(folder / "megatron/core/distributed/param_and_grad_buffer.py", "a") as stream:
            stream.write("# somebody was here\n")

def install(text):
    found = re.search(r"megatron-core==(\S+)", text)
    assert found and "torch_memory_saver==" in text or "megatron-patchkit==" in text, text
    if found:
        unpack(found[1].strip("'\""), here / "site-packages")

if name == "python":
    if words[:2] == ["-m", "pip"]:
        become(["pip", *words[2:]])
    os.execv(os.environ["PYTHON"], [os.environ["PYTHON"], *words])
elif name == "patchkit":
    if words[:2] == ["run", "--"]:
        become(words[2:])
    become(["python", "-m", "patchkit", *words])
elif name == "uv":
    assert words[0] == "pip", words
    become(words)
elif name == "pip":
    assert words[0] == "install", words
    files = [Path(b).read_text() for a, b in zip(words, words[1:]) if a == "--requirement"]
    install("\n".join([*words, *files]))
elif name == "conda":
    if words[:2] == ["env", "create"]:
        install(Path(words[words.index("--file") + 1]).read_text())
    else:
        assert words[:3] == ["run", "--name", "trainer"], words
        become(words[3:])
elif name == "git":
    assert words[0] == "clone", words
    unpack(words[words.index("--branch") + 1].removeprefix("core_v"), Path(words[-1]))
elif name == "torchrun":
    while words[0].startswith("--"):
        words = words[2:]
    become(["python", *words])
elif name == "srun":
    while words[0].startswith("--"):
        words = words[1:]
    become(words)
elif name == "scontrol":
    print("node1\nnode2")
"""
PROGRAMS = ("python", "patchkit", "uv", "pip", "conda", "git", "torchrun", "srun", "scontrol")

TRAIN = f"""
from pathlib import Path
from patchkit.importing.hook import active

root, name = Path({SITE!r}).absolute(), "megatron.core.distributed.param_and_grad_buffer"
finder = active()
if finder is None:
    text = (root / (name.replace(".", "/") + ".py")).read_bytes()
else:
    finder.plan(str(root))
    text = finder.overlay.modules[name].content
print("trained", b"enable_cpu_backup=False" in text)
"""


def script_of(name: str) -> str:
    """What a shell runs of a snippet. Each RUN line of a Dockerfile has a shell of its own."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    if not name.startswith("Dockerfile"):
        return text
    lines = re.findall(r"^RUN (.*)$", text.replace("\\\n", " "), re.MULTILINE)
    return "\n".join(f"/bin/sh -c {shlex.quote(line)} || exit $?" for line in lines)


@pytest.fixture
def place(tmp_path: Path, release_wheel: ReleaseWheel, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the snippets, train.py, and the stand-ins first on the path."""
    for name in SNIPPETS:
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / SITE).mkdir()
    (tmp_path / "bin").mkdir()
    for program in PROGRAMS:
        stand_in = tmp_path / "bin" / program
        stand_in.write_text(f"#!{sys.executable}\n{STAND_IN}")
        stand_in.chmod(0o755)
    for version in ("0.16.1", "0.19.2"):
        monkeypatch.setenv(f"WHEEL_{version.replace('.', '_')}", str(release_wheel(version)))
    monkeypatch.setenv("HERE", str(tmp_path))
    monkeypatch.setenv("PYTHON", sys.executable)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(patchkit.__file__).parents[1]), str(tmp_path / SITE)]))
    monkeypatch.setenv("SLURM_JOB_NODELIST", "node[1-2]")
    monkeypatch.setenv("SLURM_NNODES", "2")
    return tmp_path


def run(place: Path, name: str) -> subprocess.CompletedProcess[str]:
    command = ["/bin/bash", "-c", script_of(name)]
    return subprocess.run(command, cwd=place, check=False, capture_output=True, text=True)


INSTALLING = {"Dockerfile": SITE, "Dockerfile.checkout": "Megatron-LM", "conda.sh": SITE, "pip.sh": SITE}
LAUNCHING = ("torchrun.sh", "torchrun-live.sh", "train.sbatch")


def test_every_snippet_is_tried_here_and_linked_from_the_page() -> None:
    tried = {*INSTALLING, *LAUNCHING, "wheel.sh", "ray_job.py", "environment.yml", "requirements.txt"}
    page = (ROOT / "docs/drop-in.md").read_text(encoding="utf-8")

    assert set(SNIPPETS) == tried
    assert [name for name in SNIPPETS if f"(drop-in/{name})" not in page] == []


@pytest.mark.parametrize("name", [name for name in SNIPPETS if name != "ray_job.py"])
def test_pins_check_finds_nothing(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    kind = ["--as", "shell"] if name.endswith(".sbatch") else []
    code = patchkit_command(["pins", "check", *kind, str(FOLDER / name)])

    assert (code, capsys.readouterr().out.rpartition(": ")[2]) == (0, "0 wrong, 0 to look at\n")


@pytest.mark.parametrize("name", INSTALLING)
def test_what_installs_leaves_a_patched_tree(place: Path, name: str) -> None:
    done = run(place, name)
    found = verify(load_workspace(), open_folder(place / INSTALLING[name], MEGATRON))

    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["verified"]), done.stderr
    assert found.ok


@pytest.mark.parametrize("name", INSTALLING)
def test_what_installs_fails_where_the_patches_do_not_fit(
    place: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHANGED", "1")
    done = run(place, name)

    assert done.returncode == 1
    assert "megatron/core/distributed/param_and_grad_buffer.py" in done.stderr
    assert done.stdout.splitlines()[-1] == "refused"


def test_pip_does_where_there_is_no_uv(place: Path) -> None:
    (place / "bin/uv").unlink()

    assert run(place, "pip.sh").returncode == 0


def test_the_patched_wheel_is_one_and_verified(place: Path) -> None:
    done = run(place, "wheel.sh")
    (wheel,) = (place / "wheels").iterdir()

    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["verified"]), done.stderr
    assert wheel.name.startswith("megatron_core-0.16.1+patchkit")


def unpatched(place: Path, name: str) -> None:
    """What the launchers find: the release as it is, or patched in its files for the one that does not patch itself."""
    subprocess.run([place / "bin/pip", "install", "megatron-core==0.16.1", "torch_memory_saver=="], check=True)
    if name == "torchrun.sh" and "CHANGED" not in os.environ:
        subprocess.run([place / "bin/patchkit", "apply", "--installed"], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("name", LAUNCHING)
def test_what_launches_trains_on_a_patched_release(place: Path, name: str) -> None:
    unpatched(place, name)
    done = run(place, name)

    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["trained True"]), done.stderr


@pytest.mark.parametrize("name", LAUNCHING)
def test_what_launches_trains_on_nothing_else(place: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHANGED", "1")
    unpatched(place, name)
    done = run(place, name)

    assert done.returncode == 1
    assert "trained" not in done.stdout
    assert "megatron/core/distributed/param_and_grad_buffer.py" in done.stderr


def test_an_actor_of_ray_gets_the_hook_and_its_own_path(place: Path) -> None:
    (place / "ray.py").write_text(
        "import os, subprocess, sys\n"
        "def remote(cls): return cls\n"
        "def init(runtime_env):\n"
        "    code = 'import sys; print(type(sys.meta_path[0]).__name__, \"/root/Megatron-LM\" in sys.path)'\n"
        "    environment = {**os.environ, **runtime_env['env_vars']}\n"
        "    environment['PYTHONPATH'] += os.pathsep + os.environ['PATCHKIT_ROOT']\n"
        "    subprocess.run([sys.executable, '-c', code], env=environment, check=True)\n"
    )
    root = str(Path(patchkit.__file__).parents[1])
    environment = {**os.environ, "PATCHKIT_ROOT": root}
    command = [sys.executable, "ray_job.py"]
    done = subprocess.run(command, cwd=place, env=environment, check=False, capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (0, "LiveFinder True\n"), done.stderr
