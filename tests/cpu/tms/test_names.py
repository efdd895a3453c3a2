"""What `patchkit.tms` offers, and what it does not import."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from patchkit import tms
from patchkit.tms.library import preload_library


@pytest.mark.parametrize("name", tms.__all__)
def test_every_name_is_there_and_is_no_module(name: str) -> None:
    script = f"from patchkit.tms import {name}; print(type({name}).__name__)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=Path(__file__).parents[3], check=True, capture_output=True, text=True
    )

    assert done.stdout.strip() in ("function", "type")


def test_the_name_of_a_function_is_the_function() -> None:
    assert tms.preload_library is preload_library
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        tms.nothing  # noqa: B018 - the access is what is tested


def test_asking_for_the_library_loads_neither_torch_nor_the_patch_tool() -> None:
    script = (
        "import json, sys; from patchkit.tms import preload_library, identify, start_environment;"
        "from patchkit.tms.probe import probe; from patchkit.tms.triage import triage;"
        "tops = {name.split('.')[1] for name in sys.modules if name.startswith('patchkit.')} - {'_version'};"
        "print(json.dumps([sorted(tops), [name for name in ('torch', 'elftools', 'click') if name in sys.modules]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=Path(__file__).parents[3], check=True, capture_output=True, text=True
    )

    assert json.loads(done.stdout) == [["errors", "reading", "tms"], []]
