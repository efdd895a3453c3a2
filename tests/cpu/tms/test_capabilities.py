"""What is asked of a build, and what counts as an answer; test_guarded.py asks the real ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from patchkit.errors import CapabilityError
from patchkit.tms.capabilities import (
    Capabilities,
    capabilities_of,
    check_environment,
    in_torch_mode,
    library_of,
    pools_of,
    retain_backups,
    retains_backups,
)

NOTHING = dict.fromkeys(Capabilities.__slots__, False)
DISK = "TMS_INIT_ENABLE_DISK_BACKUP"


class Saver:
    """As the package's object from 0.0.9 on, which loads its library at the first use."""

    def __init__(self, *symbols: str, mode: str = "preload", pools: Any = None, fails: Exception | None = None) -> None:
        self._fails = fails
        library = SimpleNamespace(**dict.fromkeys(symbols))
        self._ready = SimpleNamespace(_binary_wrapper=SimpleNamespace(cdll=library), _hook_mode=mode)
        if pools is not None:
            self._ready._mem_pools = pools
        self._impl: Any = None

    def _ensure_initialized(self) -> None:
        if self._fails is not None:
            raise self._fails
        self._impl = self._ready

    def region(self, tag: str = "default") -> None:
        raise NotImplementedError


class ByHand(Saver):
    def region(self, tag: str = "default", enable_cpu_backup: bool = False, enable_disk_backup: bool = False) -> None:
        raise NotImplementedError

    def disable(self) -> None:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("saver", "there"),
    [
        (Saver(), set()),
        (ByHand(), {"backup", "disk_backup", "disable"}),
        # A fork whose region takes everything else as keywords.
        (Saver("tms_get_enable_disk_backup"), {"disk_backup"}),
        (Saver("tms_get_current_tag"), {"nested_regions"}),
        # Either came after the fix: the one in releases, the other in a fork.
        (Saver("tms_set_retain_cpu_backup"), {"free_while_paused"}),
        (Saver("tms_cuMemCreate"), {"free_while_paused"}),
        (Saver("tms_get_cpu_backup_pointer"), {"backup_pointer"}),
        (Saver(pools={}), {"pools_by_tag"}),
    ],
)
def test_each_capability_has_its_own_evidence(saver: Saver, there: set[str]) -> None:
    assert asdict(capabilities_of(saver)) == NOTHING | dict.fromkeys(there, True)


def test_a_build_without_a_library_can_do_what_its_object_can() -> None:
    alone = SimpleNamespace(region=ByHand().region)

    assert asdict(capabilities_of(alone)) == NOTHING | {"backup": True, "disk_backup": True}


def test_a_build_that_does_not_start_says_why() -> None:
    broken = Saver(fails=AssertionError("the library is not in LD_PRELOAD"))
    with pytest.raises(CapabilityError, match="does not start: the library is not in LD_PRELOAD") as caught:
        capabilities_of(broken)

    assert caught.value.hint == "start the process with the environment of `patchkit tms env`"


@pytest.fixture
def oldest(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    """As the package's object of 0.0.8, whose library is known to its module."""

    def make(library: Any) -> Any:
        module = ModuleType("saver_of_0_0_8")
        module._global_info = SimpleNamespace(binary_info=SimpleNamespace(cdll=library))  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return type("TorchMemorySaver", (), {"__module__": module.__name__, "region": Saver.region})()

    return make


def test_the_oldest_build_keeps_its_library_in_its_module(oldest: Callable[[Any], Any]) -> None:
    library = SimpleNamespace(tms_pause=None)

    assert library_of(oldest(library)) is library
    assert asdict(capabilities_of(oldest(library))) == NOTHING


def test_where_the_oldest_build_does_nothing_it_cannot_be_used(oldest: Callable[[Any], Any]) -> None:
    with pytest.raises(CapabilityError, match="disabled in this process: LD_PRELOAD is not its library alone"):
        capabilities_of(oldest(None))


def test_pools_are_those_whose_key_says_tag_and_backup() -> None:
    mine = {("default", True): 1, ("weights", False, False): 2}
    saver = Saver(pools={**mine, ("default",): 3, "default": 4, 0: 5})
    library_of(saver)

    assert pools_of(saver) == mine


@pytest.mark.parametrize(("mode", "expected"), [("preload", False), ("torch", True), (None, False)])
def test_a_build_that_does_not_name_its_hook_mode_is_preloaded(mode: Any, expected: bool) -> None:
    saver = Saver(mode=mode)
    library_of(saver)

    assert in_torch_mode(saver) is expected


def test_backups_are_retained_where_somebody_asked_for_it() -> None:
    asked: list[Any] = []
    saver = Saver("tms_set_retain_cpu_backup")
    saver._ready._binary_wrapper.cdll.tms_set_retain_cpu_backup = lambda wanted: asked.append(wanted.value)
    retain_backups(saver)

    assert asked == [True]
    found = [retains_backups(SimpleNamespace(retain_cpu_backup=value)) for value in (True, False)]
    assert (found, retains_backups(saver)) == ([True, False], False)


@pytest.mark.parametrize("word", ["1", "yes", "on"])
def test_a_setting_for_disks_is_refused_unless_it_is_off_or_known(word: str) -> None:
    old, new = Capabilities(**NOTHING), Capabilities(**NOTHING | {"disk_backup": True})
    check_environment(new, {DISK: word})
    for off in ("0", "false", "FALSE", "no", "NO"):
        check_environment(old, {DISK: off})
    check_environment(old, {})
    with pytest.raises(CapabilityError, match="does not know it"):
        check_environment(old, {DISK: word})
