"""What doctor says of torch, of torch_memory_saver, of the preloaded library and of variables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from patchkit.cli.saver import records
from patchkit.tms.examine import examine_preload, examine_saver, examine_variables
from patchkit.tms.library import Cuda
from patchkit.tms.process import Process

from .conftest import Wheel


@pytest.mark.parametrize(
    ("release", "verdict", "text"),
    [
        ("0.0.10", "ok", "0.0.10, index wheel: good enough for the series"),
        (
            "0.0.9.post1",
            "bad",
            (
                "0.0.9.post1, index wheel: not good enough for the series: a paused buffer cannot be freed; 0.0.10 or"
                " b5588e83d is needed"
            ),
        ),
    ],
)
def test_a_release(wheel: Wheel, release: str, verdict: str, text: str) -> None:
    found, package = examine_saver(records(), wheel(release))

    assert (found.verdict, found.text, package) == (verdict, text, wheel(release))
    assert found.facts["torch_memory_saver"] == release
    assert len(found.facts["torch_memory_saver libraries"].split(", ")) == 6
    # Defects that are there and that a later build does not have.
    assert ("double-release" in str(found.details), "tracked-memory-ipc" in str(found.details)) == (
        release != "0.0.10",
        False,
    )
    assert found.details[1:] == () or "no-backup-argument" not in found.details[1]


def process(*mapped: Path, asked: tuple[str, ...] = ()) -> Process:
    return Process(pid=1, mapped=tuple(map(str, mapped)), replaced=(), asked=asked)


def test_the_library_that_is_loaded_is_the_one_that_fits(wheel: Wheel) -> None:
    package = wheel("0.0.10")
    cu12, cu13 = (package.root / f"torch_memory_saver_hook_mode_preload_cu{major}.abi3.so" for major in (12, 13))

    assert examine_preload(package, Cuda(13), process(cu13)).verdict == "ok"
    assert (examine_preload(package, Cuda(13), process(cu12)).verdict, examine_preload(None, None, None).verdict) == (
        "bad",
        "look",
    )
    assert examine_preload(package, Cuda(13), process(cu12)).text == f"{cu12} is loaded, and {cu13} fits"


def test_no_library_is_loaded(wheel: Wheel) -> None:
    package = wheel("0.0.10")
    none = examine_preload(package, Cuda(12), process())
    left_out = examine_preload(package, Cuda(12), process(asked=("/x/torch_memory_saver_hook_mode_preload.abi3.so",)))

    assert (none.verdict, none.text) == (
        "look",
        "none is loaded in this process; torch_memory_saver_hook_mode_preload_cu12.abi3.so fits",
    )
    assert (left_out.verdict, left_out.text) == (
        "bad",
        "LD_PRELOAD names /x/torch_memory_saver_hook_mode_preload.abi3.so, which the loader left out",
    )
    assert examine_preload(wheel("0.0.9"), Cuda(13), process()).verdict == "bad"
    assert examine_preload(None, Cuda(13), process()).verdict == "absent"


PRELOADED = {"LD_PRELOAD": "/s/torch_memory_saver_hook_mode_preload_cu13.abi3.so", "TMS_INIT_ENABLE": "1"}


@pytest.mark.parametrize(
    ("environment", "verdict", "text"),
    [
        ({"HOME": "/root"}, "ok", "none is set"),
        (PRELOADED, "ok", "2 set"),
        (
            {**PRELOADED, "PYTORCH_ALLOC_CONF": "max_split_size_mb:1,expandable_segments:True"},
            "bad",
            "PYTORCH_ALLOC_CONF turns expandable segments on: a pause frees nothing",
        ),
        (
            {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments: true"},
            "look",
            "PYTORCH_CUDA_ALLOC_CONF turns expandable segments on: a pause frees nothing",
        ),
        ({**PRELOADED, "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:False"}, "ok", "3 set"),
        (
            {"TMS_INIT_ENABLE": "1", "LD_PRELOAD": "/usr/lib/libjemalloc.so"},
            "bad",
            "TMS_INIT_ENABLE is set, and LD_PRELOAD names no library of torch_memory_saver",
        ),
    ],
)
def test_variables(environment: Mapping[str, str], verdict: str, text: str) -> None:
    found = examine_variables(environment)

    assert (found.verdict, found.text) == (verdict, text)
    assert dict(found.facts) == {name: value for name, value in environment.items() if name != "HOME"}
