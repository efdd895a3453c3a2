"""The Python that trains: what it has, found out without importing torch."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from patchkit.errors import TmsNotFoundError, TrainerError
from patchkit.tms.package import Package, package_at

TESTED = "2.13.0"
"""The torch that tests/requirements-behaviour.txt names."""

_NEEDED = ("torch", "numpy", "packaging")
"""What every release of Megatron imports."""

_LOOK = f"""\
import importlib.util, json, pathlib, runpy, sys
sys.path[:] = filter(None, sys.path)  # The current folder is no place of imports where training runs.
def place(name):
    spec = importlib.util.find_spec(name)
    return next(iter(spec.submodule_search_locations or ()), None) if spec else None
torch = place("torch")
version = runpy.run_path(str(pathlib.Path(torch, "version.py"))) if torch else {{}}
print(json.dumps({{
    "path": sys.executable,
    "version": ".".join(map(str, sys.version_info[:3])),
    "missing": [name for name in {_NEEDED!r} if importlib.util.find_spec(name) is None],
    "torch": version.get("__version__"),
    "built_for": version.get("cuda") or version.get("hip"),
    "saver": place("torch_memory_saver"),
}}))
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python that can train on the CPU."""

    path: str
    version: str
    """Such as 3.11.7."""
    torch: str
    """Such as 2.13.0+cpu."""
    saver: str | None
    """The folder of the torch_memory_saver that it would import."""

    def installed_saver(self, *, cache: Path) -> Package:
        """Return its own torch_memory_saver. Raises TmsNotFoundError."""
        if self.saver is None:
            raise TmsNotFoundError(
                f"torch_memory_saver is not installed in {self.path}", hint="name one with --tms, such as 0.0.10"
            )
        return package_at(Path(self.saver), cache=cache)


def look_at_python(path: str) -> Interpreter:
    """Ask the Python at ``path`` what it has. Raises TrainerError unless it has the CPU build of torch, and numpy."""
    try:
        done = subprocess.run(
            [path, "-c", _LOOK], check=False, capture_output=True, text=True, errors="replace", timeout=60
        )
    except OSError as error:
        raise TrainerError(f"cannot run {path}: {error.strerror}", hint=_NAME_IT) from error
    except subprocess.TimeoutExpired as error:
        raise TrainerError(f"{path} does not say what it has", hint=_NAME_IT) from error
    try:
        found = json.loads(done.stdout) if done.returncode == 0 else None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        said = (done.stderr or done.stdout).strip().splitlines()[-1:] or [f"it ended with {done.returncode}"]
        raise TrainerError(f"{path} does not say what it has: {said[0]}", hint=_NAME_IT)
    if found["missing"]:
        what = " ".join(f"torch=={TESTED}" if name == "torch" else name for name in found["missing"])
        raise TrainerError(
            f"{found['path']} has no {', no '.join(found['missing'])}, and real Megatron is what is trained",
            hint=f"install there: {what} (of torch the CPU build), or name another Python with --interpreter",
        )
    if found["built_for"]:
        raise TrainerError(
            f"torch {found['torch']} of {found['path']} is built for a GPU, and would load the simulated CUDA",
            hint=f"make an environment with the CPU build of torch, such as {TESTED}, and name its Python with"
            " --interpreter",
        )
    return Interpreter(found["path"], found["version"], found["torch"], found["saver"])


_NAME_IT = f"name a Python that has the CPU build of torch, such as {TESTED}, and numpy with --interpreter"
