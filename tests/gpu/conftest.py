"""The options of the GPU tests, the cases that the chosen tests ask for, and the report of what came of them.

    pytest tests/gpu --megatron 0.14.0 --megatron 0.19.2 --tms 0.0.10 --hook-mode preload --hook-mode torch

Each case is a process of its own, or one for each rank. Without a GPU every test is skipped with the reason.
"""

from __future__ import annotations

import datetime as dt
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from patchkit.core.evidence import Rule, print_evidence
from patchkit.errors import PatchkitError
from patchkit.operations.sources import load_workspace
from patchkit.tms.cycle.cases import DEFECTIVE, Case
from patchkit.tms.cycle.gpus import Machine, look_at_machine
from patchkit.tms.cycle.matrix import Plan
from patchkit.tms.cycle.on_gpu import Answered, Replay, Runs

from .options import problems
from .recording import Recorder, table
from .sites import Places

Ask = Callable[[Case], Answered]
F = TypeVar("F", bound=Callable[..., None])

MEGATRON = ("0.14.0", "0.16.1", "0.19.2")
SAVER = "0.0.10"
AT_ONCE = 8


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("gpu", "what the GPU tests try out")
    group.addoption("--megatron", action="append", metavar="V", help=f"A release. Default: {', '.join(MEGATRON)}.")
    group.addoption("--tms", default=SAVER, metavar="V", help=f"A release of torch_memory_saver. Default: {SAVER}.")
    group.addoption("--hook-mode", action="append", choices=["preload", "torch"], help="Default: both.")
    group.addoption("--ranks", action="append", type=int, choices=[1, 2], help="Default: as many as there are GPUs.")
    group.addoption("--full", action="store_true", help="Every way to train for every release.")
    group.addoption("--wheels", type=Path, metavar="DIR", help="Take wheels from there, and none from the index.")
    group.addoption("--report", type=Path, metavar="FILE", help="Write the report there (for patchkit evidence).")
    group.addoption("--answers", type=Path, metavar="DIR", help="Keep what the processes leave in this new folder.")
    group.addoption("--replay", type=Path, metavar="DIR", help="Judge the answers in this folder; no GPU is needed.")
    group.addoption("--at-once", type=int, default=AT_ONCE, metavar="N", help=f"Cases at a time. Default: {AT_ONCE}.")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse what cannot work before anything runs, and know releases by any of their names."""
    if not hasattr(config.option, "at_once"):
        return  # This folder was not named on the command line, so that pytest does not know its options.
    workspace = load_workspace()
    if found := list(problems(vars(config.option), workspace)):
        raise pytest.UsageError("\n".join(found))
    config.option.megatron = [workspace.target(name).name for name in config.option.megatron or MEGATRON]


def plan_of(config: pytest.Config) -> Plan:
    """What the options ask for."""
    megatrons = dict.fromkeys(config.getoption("--megatron"))
    return Plan(
        megatrons=sorted(megatrons, key=lambda text: tuple(map(int, text.split(".")))),
        saver=config.getoption("--tms"),
        hooks=tuple(dict.fromkeys(config.getoption("--hook-mode") or ("preload", "torch"))),
        ranks=tuple(sorted(set(config.getoption("--ranks") or (1, 2)))),
        full=config.getoption("--full"),
    )


def over(cases: Callable[[Plan], list[tuple[Case, ...]]]) -> Callable[[F], F]:
    """Run a test for each tuple of cases; it is about the last of them."""

    def mark(function: F) -> F:
        function.over = cases  # type: ignore[attr-defined]
        return function

    return mark


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize the tests by the plan."""
    cases = getattr(metafunc.function, "over", None)
    if cases is not None:
        found = cases(plan_of(metafunc.config))
        metafunc.parametrize("cases", found, ids=[each[-1].id for each in found])


# --- the machine, and the processes


@pytest.fixture(scope="session")
def replay(request: pytest.FixtureRequest) -> Replay | None:
    """Answers of before, if those are to be judged."""
    folder = request.config.getoption("--replay")
    return None if folder is None else Replay(folder)


@pytest.fixture(scope="session")
def machine(replay: Replay | None) -> Machine:
    """What this machine has; without a GPU nothing here runs."""
    if replay is not None:
        return replay.machine()[0]
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    try:
        return look_at_machine()
    except PatchkitError as error:
        pytest.skip(error.message)


@pytest.fixture(scope="session")
def places(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Places:
    """Trees and packages, made when they are asked for."""
    return Places(tmp_path_factory.mktemp("places"), request.config.getoption("--wheels"))


@pytest.fixture(scope="session")
def missing(machine: Machine, places: Places, replay: Replay | None) -> Callable[[Case], str | None]:
    """Why a case cannot be had, if so."""

    def reason(case: Case) -> str | None:
        if case.ranks > machine.gpus:
            return f"{case.ranks} GPUs are needed, there is {machine.gpus}"
        if case.saver == DEFECTIVE and not places.has_saver(DEFECTIVE):
            return f"there is no wheel of torch_memory_saver {DEFECTIVE}"
        return f"it did not run: {case.id}" if replay is not None and not replay.has(case) else None

    return reason


@pytest.fixture(scope="session")
def runs(  # noqa: PLR0917 - fixtures come by name
    request: pytest.FixtureRequest,
    machine: Machine,
    places: Places,
    missing: Callable[[Case], str | None],
    replay: Replay | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Runs | Replay]:
    """All processes of the session, started in the order in which they can share the device."""
    asked = dict.fromkeys(case for item in request.session.items for case in cases_of(item) if missing(case) is None)
    folder = request.config.getoption("--answers") or tmp_path_factory.mktemp("cases")
    site = places.site(machine, list(asked), folder.absolute())
    day = replay.machine()[1] if replay else dt.datetime.now(dt.timezone.utc).date().isoformat()
    request.config.stash[RECORDER] = Recorder(site, places.workspace, day)
    running = replay or Runs(site, list(asked), at_once=request.config.getoption("--at-once"))
    yield running
    running.close()


@pytest.fixture
def ask(runs: Runs | Replay, missing: Callable[[Case], str | None], request: pytest.FixtureRequest) -> Ask:
    """Ask what came of a case."""

    def answered(case: Case) -> Answered:
        reason = missing(case)
        if reason is not None:
            pytest.skip(reason)
        found = runs.answer(case)
        request.config.stash[RECORDER].see(case, found)
        return found

    return answered


RECORDER = pytest.StashKey[Recorder]()


def cases_of(item: pytest.Item) -> tuple[Case, ...]:
    """What a test will ask for."""
    found = item.callspec.params.get("cases", ()) if hasattr(item, "callspec") else ()
    return found if isinstance(found, tuple) else ()


# --- the report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Iterator[None]:  # the signature of a wrapper is that of what it yields
    """Note what a test says of its case."""
    report = yield
    recorder = item.config.stash.get(RECORDER, None)
    cases = cases_of(item)
    if call.when == "call" and recorder is not None and cases and not report.skipped:  # type: ignore[attr-defined]
        name = getattr(item, "originalname", item.name).removeprefix("test_").replace("_", " ")
        detail = "" if call.excinfo is None else str(call.excinfo.value).splitlines()[0][:300]
        recorder.note(cases[-1], Rule(name, call.excinfo is None, detail))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the report, and print the short table last."""
    recorder = config.stash.get(RECORDER, None)
    file = config.getoption("--report")
    if recorder is None:
        if file is not None:
            terminalreporter.write_line(f"no case ran: {file} was not written")
        return
    report = recorder.report()
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(print_evidence(report))
    terminalreporter.section("cases")
    for line in table(report):
        terminalreporter.write_line(line)
