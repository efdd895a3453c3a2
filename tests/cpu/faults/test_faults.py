"""Every write path, with a fault at a call of libc that reads or changes files.

The law: after a kill each file has its old or its new bytes; a command that ends with an error has changed no file of
the user's; one that ends well has done all its work; and the next command ends what was begun.

Of all calls a sample is tried; ``python -m faults all`` tries every call of every path with every fault.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from operations.fixtures import ENVIRONMENT

from .scenarios import SCENARIOS
from .shim import build, compiler
from .trying import Tried, try_faults, try_random_kills

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs Linux and a C compiler")

# How many calls there are from one that is tried to the next: a kill is what happens most and costs most.
KILLS, OTHERS = 29, 97


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that makes calls fail."""
    return build(tmp_path_factory.mktemp("shim"))


def tried(shim: Path, folder: Path, scenario: str, fault: str, *, every: int, offset: int = 0) -> Tried:
    """Try a fault at every so many calls."""
    found = try_faults(shim, folder, scenario, [fault], every=every, offset=offset, environment=ENVIRONMENT)
    return found[fault]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_killed_at_any_call_every_file_is_old_or_new_and_the_next_command_ends_it(
    shim: Path, tmp_path: Path, scenario: str
) -> None:
    found = tried(shim, tmp_path, scenario, "kill", every=KILLS)

    assert found.wrong == ()
    # Else nothing was tried: every path makes some calls, and none of these survives.
    assert found.killed == found.count > 0


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


@pytest.mark.parametrize(("scenario", "fault"), SAMPLE)
def test_a_command_that_fails_changes_nothing_and_the_next_one_succeeds(
    shim: Path, tmp_path: Path, scenario: str, fault: str
) -> None:
    found = tried(shim, tmp_path, scenario, fault, every={"EXDEV": 2, "clock back": 23}.get(fault, OTHERS), offset=1)

    assert found.wrong == ()
    assert found.count > 0


@pytest.mark.parametrize("scenario", ["apply to site-packages", "rebase --continue", "import"])
def test_killed_at_random_moments_in_a_row_nothing_is_lost(shim: Path, tmp_path: Path, scenario: str) -> None:
    found = try_random_kills(shim, tmp_path, scenario, 8, 3, environment=ENVIRONMENT)

    assert (found.wrong, found.count) == ((), 3)


def test_the_shim_sees_the_calls_that_change_files(shim: Path, tmp_path: Path) -> None:
    found = tried(shim, tmp_path, "apply to a folder", "kill", every=1)

    assert found.wrong == ()
    # A journal, files beside their targets, renames, and what is cleared away.
    assert {"mkdir", "write", "half a write", "fsync", "renameat", "rename", "unlink", "rmdir"} <= found.calls
    assert {"open64", "openat64"} & found.calls
    assert found.count > 100
