"""Every write path, with a fault at a call of libc that reads or changes files.

The law: after a kill each file has its old or its new bytes; a command that ends with an error has changed no file of
the user's; one that ends well has done all its work; and the next command ends what was begun.

Of all calls a sample is tried; ``python -m faults all`` tries every call of every path with every fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from zlib import crc32

import pytest
from operations.fixtures import ENVIRONMENT

from .pairs import PAIRS
from .scenarios import SCENARIOS
from .shim import build, compiler
from .trying import Found, Server
from .worker import Sample
from .writers import all_writers

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs Linux and a C compiler")

# Calls of a path that are tried with a fault: a kill is what happens most.
KILLS, OTHERS = 3, 2
# A command of these takes some seconds; each has two of both.
SLOW = ("check-upstream --update", "import", "init", "init --from")

SAMPLE = [
    ("apply to site-packages", "ENOSPC"),
    ("apply to a new folder", "EACCES"),
    ("apply to a wheel", "EXDEV"),
    ("apply to a branch", "kill one"),
    ("revert", "EROFS from then on"),
    ("import", "EIO"),
    ("capture", "ENOSPC from then on"),
    ("regenerate", "clock back"),
    ("revert", "EIO on reads"),
    ("rebase that asks", "ENOSPC"),
    ("history", "EIO from then on"),
    ("patching at import", "ENOSPC"),
    ("check-upstream --update", "ENOSPC"),
    ("init", "ENOSPC"),
    ("tms identify", "EXDEV"),
    ("rebase --abort elsewhere", "EIO on reads"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("faults")
    with Server(build(folder), folder / "worlds", ENVIRONMENT) as server:
        yield server


@pytest.fixture(scope="module")
def found(server: Server) -> Callable[[str], Found]:
    """What came of the faults of a path, which are tried once."""

    @cache
    def tried(scenario: str) -> Found:
        faults = {"kill": KILLS} | {fault: OTHERS for path, fault in SAMPLE if path == scenario}
        if scenario in SLOW:
            faults = dict.fromkeys(faults, 2)
        return server.try_faults(
            scenario,
            {fault: Sample(few=few, seed=crc32(f"{scenario} {fault}".encode())) for fault, few in faults.items()},
        )

    return tried


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_killed_at_any_call_every_file_is_old_or_new_and_the_next_command_ends_it(
    found: Callable[[str], Found], scenario: str
) -> None:
    kills = found(scenario).tried["kill"]

    assert kills.wrong == ()
    # Else nothing was tried: every path makes some calls, and none of these survives.
    assert kills.killed == kills.count > 0


@pytest.mark.parametrize(("scenario", "fault"), SAMPLE)
def test_a_command_that_fails_changes_nothing_and_the_next_one_succeeds(
    found: Callable[[str], Found], scenario: str, fault: str
) -> None:
    tried = found(scenario).tried[fault]

    assert tried.wrong == ()
    assert tried.count > 0


@pytest.mark.parametrize("scenario", ["apply to site-packages", "rebase --continue", "import"])
def test_killed_at_random_moments_in_a_row_nothing_is_lost(server: Server, scenario: str) -> None:
    tried = server.try_random_kills(scenario, 8, 3)

    assert (tried.wrong, tried.count) == ((), 3)


@pytest.mark.parametrize("pair", PAIRS)
def test_two_at_once_come_to_one_after_the_other_or_one_is_turned_away(server: Server, pair: str) -> None:
    scenario, other = PAIRS[pair]
    meetings = server.try_pair(scenario, other, Sample(few=1 if scenario in SLOW else 2, seed=crc32(pair.encode())))

    assert [meeting for meeting in meetings if meeting["wrong"]] == []
    assert len(meetings) > 0


def test_the_shim_sees_the_calls_that_change_files(found: Callable[[str], Found]) -> None:
    calls = found("apply to a folder").calls

    # A journal, files beside their targets, renames, and what is cleared away.
    assert {"mkdir", "write", "half a write", "fsync", "renameat", "rename", "unlink", "rmdir"} <= set(calls)
    assert {"open64", "openat64"} & set(calls)
    assert len(calls) > 100


def test_a_few_calls_are_spread_over_all_of_them() -> None:
    assert [list(Sample(few=3, seed=seed).places(10)) for seed in (0, 6)] == [[1, 5, 9], [3, 7]]
    assert list(Sample(few=3, seed=5).places(2)) == [1, 2]
    assert list(islice(Sample(every=4).places(2), 3)) == [1, 5, 9]


# What no scenario runs, and why.
WITHOUT = {
    "cli/commands/tms_cycle.py:_trainable": "a temporary folder",
    "cli/schemas.py:main": "makes files of this repository",
    "operations/init.py:_Beside.take_back": "after an error: what ENOSPC and the others try",
    "operations/series_files.py:_take_back": "after an error: what ENOSPC and the others try",
    "store/files.py:write_reports": "its own writes go to what is no file (test_files.py)",
    "tms/cycle/on_gpu.py:Runs.__init__": "a new folder of measurements, which needs a GPU",
    "tms/cycle/on_gpu.py:Runs._run": "as above",
    "tms/cycle/on_gpu.py:Runs._start": "as above",
    "tms/cycle/on_gpu.py:_compiler_paths": "as above",
    "tms/cycle/trainings.py:Bench._run": "a temporary folder",
    "tms/cycle/trainings.py:Bench.train": "as above",
    "tms/cycle/worker/checkpoint.py:save": "as above",
    "tms/cycle/worker/child.py:fork_rank": "as above",
    "tms/cycle/worker/child.py:main": "as above",
    "tms/cycle/worker/gpu.py:main": "as above",
    "tms/probe.py:_Bench.run": "as above",
    "tms/probe.py:_preloadable": "as above",
    "tms/simulator/child.py:fork_off": "as above",
    "trees/git_write.py:export": "what it calls writes: new_folder, which is run",
    "trees/index_download.py:_received.once": "asks a server; it begins the file anew that a copy goes to as well",
    "unfinished.py:_remove": "its own part is a file that a kill has left: test_unfinished.py",
}


def test_every_function_that_changes_files_is_run_by_a_scenario(found: Callable[[str], Found]) -> None:
    writers = all_writers()
    run = {place for scenario in SCENARIOS for place in found(scenario).at_work}

    assert {name for name, line in writers.items() if (name.split(":")[0], line) not in run} == WITHOUT.keys()
