"""Megatron trees made by patchkit, and one child process for each case that the chosen tests ask for."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

import pytest
from packaging.version import Version

from patchkit.operations.make import apply_to
from patchkit.operations.sources import fetch_release, load_workspace
from patchkit.trees.archive import WheelTree, unpack

from .worker import Answer, Case

Ask = Callable[[Case], Answer]

HERE = Path(__file__).parent
SAVER = "0.0.10"  # the first that frees paused memory rightly and tells what it has copied
LIMIT = 300  # seconds that one child may use the GPU; it takes ten
AT_ONCE = 3  # children; one uses the GPU, the others import

# What this machine has, found out in a process of its own, as pytest needs none of it.
LOOK = """
import json, re, sys
import torch
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
found = {"torch": torch.__version__, "cuda": torch.cuda.is_available(), "saver": None}
if found["cuda"]:
    found["gpu"] = torch.cuda.get_device_name(0)
    try:
        found["saver"] = version("torch_memory_saver")
    except PackageNotFoundError:
        pass
if found["saver"]:
    from torch_memory_saver.utils import get_binary_path_from_package
    found["preload"] = str(get_binary_path_from_package("torch_memory_saver_hook_mode_preload"))
    maps = Path("/proc/self/maps").read_text()
    found["runtime"] = sorted(set(re.findall(r"(/\\S*)/libcudart\\.so", maps)))
json.dump(found, sys.stdout)
"""


def look() -> Mapping[str, Any]:
    """What the machine has; ``missing`` says what the tests lack."""
    if importlib.util.find_spec("torch") is None:
        return {"missing": "torch is not installed"}
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, timeout=LIMIT, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    if not found["cuda"]:
        return {**found, "missing": "torch sees no CUDA device"}
    if found["saver"] is None:
        return {**found, "missing": "torch_memory_saver is not installed"}
    if Version(found["saver"]) < Version(SAVER):
        return {**found, "missing": f"torch_memory_saver is {found['saver']}, not {SAVER} or later"}
    return found


def environment(hook_mode: str, machine: Mapping[str, Any]) -> dict[str, str]:
    """The variables of a child."""
    variables = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD" and name[:4] != "TMS_"}
    variables |= {
        # The same sums in the same order in every process.
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        "OMP_NUM_THREADS": "2",
        # Compiled and plain functions are the same in all trees; loading the compiler takes seconds.
        "TORCHDYNAMO_DISABLE": "1",
        # One process talks to nobody.
        "NCCL_SOCKET_IFNAME": "lo",
        # As in the frameworks that pause: NCCL's own memory stays out of the library's reach.
        "NCCL_CUMEM_ENABLE": "0",
    }
    if hook_mode == "preload":
        inherited = os.environ.get("LD_LIBRARY_PATH")
        variables |= {
            "LD_PRELOAD": str(machine["preload"]),
            # The CUDA runtime of a torch from the package index is not where the loader looks.
            "LD_LIBRARY_PATH": ":".join([*machine["runtime"], *([inherited] if inherited else [])]),
            "TMS_INIT_ENABLE": "1",
            "TMS_INIT_ENABLE_CPU_BACKUP": "1",
        }
    return variables


class Children:
    """The processes of the cases, started in the order of the tests; one at a time uses the GPU."""

    def __init__(self, asked: list[Case], machine: Mapping[str, Any], folder: Path) -> None:
        self.machine = machine
        self.answers: dict[Case, Answer] = {}
        self._folder = folder
        self._workspace = load_workspace()
        self._trees = {tree: self._make_tree(*tree) for tree in dict.fromkeys((c.tree, c.release) for c in asked)}
        self._gpu = threading.Lock()
        self._pool = ThreadPoolExecutor(max_workers=AT_ONCE)
        self._results: dict[Case, Future[Answer]] = {
            case: self._pool.submit(self._run, case, folder / f"case-{number}") for number, case in enumerate(asked)
        }

    def answer(self, case: Case) -> Answer:
        """Wait for the child and return its answer."""
        result = self._results[case].result()
        if "failed" in result:
            pytest.fail(f"{case}:\n{result['failed']}", pytrace=False)
        self.answers[case] = result["answer"]
        return self.answers[case]

    def close(self) -> None:
        """Drop what no test waits for any more."""
        self._pool.shutdown(cancel_futures=True)

    def _make_tree(self, kind: str, release: str) -> Path:
        """The release out of its wheel, as it is or with the whole series."""
        into = self._folder / f"{kind}-{release}"
        wheel = fetch_release(self._workspace.versions, self._workspace.target(release))
        if kind == "unpatched":
            unpack(WheelTree(wheel), into, {})
        else:
            report = apply_to(self._workspace, wheel, into, asked=release)
            assert report.ok, report
        return into

    def _run(self, case: Case, folder: Path) -> Answer:
        folder.mkdir()
        out, log = folder / "result.json", folder / "log"
        command = [sys.executable, str(HERE / "worker.py"), "--tree", str(self._trees[case.tree, case.release])]
        command += ["--case", case.as_json(), "--out", str(out)]
        with log.open("w", encoding="utf-8") as errors:
            code = self._talk(command, environment(case.hook_mode, self.machine), errors)
        if code == 0 and out.exists():
            result: Answer = json.loads(out.read_text(encoding="utf-8"))
            return result
        return {"failed": f"exit code {code}\n{log.read_text(encoding='utf-8', errors='replace')[-4000:]}"}

    def _talk(self, command: list[str], variables: Mapping[str, str], errors: TextIO) -> int | None:
        """Start the child, wait until it has imported everything, give it the GPU, and wait for its end."""
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, text=True, env=variables) as child:
            timer = threading.Timer(LIMIT, child.kill)
            timer.start()
            assert child.stdout is not None
            for line in child.stdout:
                if line == "ready\n":
                    break
            timer.cancel()
            with self._gpu:
                try:
                    child.communicate("go\n", timeout=LIMIT)
                except subprocess.TimeoutExpired:
                    child.kill()
            return child.wait()


# The cases of the chosen tests, and what they bring to light.

_ASKED = pytest.StashKey[list[Case]]()
_CHILDREN = pytest.StashKey[Children]()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note the cases of the chosen tests, in the order of the tests."""
    session.stash[_ASKED] = list(dict.fromkeys(case for item in session.items for case in cases_of(item)))


def cases_of(item: pytest.Item) -> tuple[Case, ...]:
    """What a test will ask for."""
    if not isinstance(item, pytest.Function) or "ask" not in item.fixturenames:
        return ()
    cases = item.callspec.params["cases"]
    assert isinstance(cases, tuple)
    return cases


@pytest.fixture(scope="session")
def children(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Children]:
    """All processes of the session."""
    machine = look()
    if "missing" in machine:
        pytest.skip(str(machine["missing"]))
    running = Children(request.session.stash[_ASKED], machine, tmp_path_factory.mktemp("gpu"))
    request.config.stash[_CHILDREN] = running
    yield running
    running.close()


@pytest.fixture
def ask(children: Children) -> Ask:
    """Ask for the answer of a case."""
    return children.answer


TITLE = (
    "release",
    "hook mode",
    "gradients",
    "flags",
    "GPU MB freed",
    "host MB at pause",
    "of them by it",
    "pause s",
    "resume s",
)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what the pauses freed and took, and leave all answers in the folder ``$OUT`` if there is one."""
    found = config.stash.get(_CHILDREN, None)
    if found is None:
        return
    rows = [row(case, answer) for case, answer in found.answers.items() if answer.get("cycles")]
    terminalreporter.section("pauses (means)")
    for line in [TITLE, *rows]:
        terminalreporter.write_line(" ".join(f"{cell:<17}" for cell in line).rstrip())
    if os.environ.get("OUT"):
        answers = [{"case": asdict(case), "answer": answer} for case, answer in found.answers.items()]
        text = json.dumps({"machine": dict(found.machine), "answers": answers}, indent=1)
        Path(os.environ["OUT"], "gpu.json").write_text(text, encoding="utf-8")


def row(case: Case, answer: Answer) -> tuple[str, ...]:
    """One line of the table."""
    cycles = answer["cycles"]

    def mean(value: Callable[[Answer], float]) -> float:
        return sum(map(value, cycles)) / len(cycles)

    return (
        case.release,
        case.hook_mode,
        case.variant,
        "+".join(flag.split("_")[1] for flag in case.flags) or "none",
        f"{mean(lambda c: c['paused']['gpu free'] - c['before']['gpu free']) / 1e6:.0f}",
        f"{mean(lambda c: c['paused']['host']) / 1e6:.0f}",
        f"{mean(lambda c: c['paused']['host'] - c['before']['host']) / 1e6:.0f}",
        f"{mean(lambda c: c['pause seconds']):.2f}",
        f"{mean(lambda c: c['resume seconds']):.2f}",
    )
