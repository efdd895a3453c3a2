"""The entry point, before the command line is there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

INTERRUPTED_AT = """
import os, runpy, signal, sys
class Finder:
    def find_spec(name, path, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder)
sys.argv = ["patchkit", "history", "--git", "nowhere"]
{start}
"""

AS_MODULE = "runpy.run_module('patchkit', run_name='__main__')"
AS_SCRIPT = "from patchkit.__main__ import main; sys.exit(main())"


@pytest.mark.parametrize("start", [AS_MODULE, AS_SCRIPT])
@pytest.mark.parametrize("module", ["patchkit.cli.main", "click", "patchkit.cli.commands.history", "yaml"])
def test_an_interruption_during_the_imports_is_130_without_a_traceback(start: str, module: str, tmp_path: Path) -> None:
    program = INTERRUPTED_AT.format(module=module, start=start)
    # With an empty cache, so that YAML has to be read.
    environment = {**os.environ, "PATCHKIT_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stdout, ran.stderr.strip()) == (130, "", "")


def test_the_package_itself_imports_nothing_that_takes_long() -> None:
    # What comes before main() cannot be interrupted without a traceback.
    program = "import sys; old = set(sys.modules); import patchkit.__main__; print(*sorted(set(sys.modules) - old))"
    ran = subprocess.run([sys.executable, "-S", "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    # The version is a file that building or installing makes; nothing is imported there.
    loaded = [name for name in ran.stdout.split() if name != "patchkit._version"]

    assert loaded == ["__future__", "gc", "patchkit", "patchkit.__main__"]
