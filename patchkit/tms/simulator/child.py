"""Scenarios with the real library of torch_memory_saver, each in a process that is forked off for it.

Started by patchkit.tms.probe with the simulator on LD_LIBRARY_PATH; nothing of patchkit is imported, but the files
saver.py and scenarios.py beside this one. The one argument is a JSON object: mode, library, major, root, stand_ins,
limit (seconds), and scenarios, each with name and settings. In the current folder NAME.result gets what happened as a
JSON object, unless the process dies first; NAME.report what the simulator saw; NAME.said its standard error. Printed is
a JSON object with each one's exit status.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

# Behind everything else: an isolated Python does not look beside its script, and no name of a package is taken.
sys.path.append(str(Path(__file__).parent))
scenarios: Any = importlib.import_module("scenarios")


def fork_off(saver: Any, scenario: dict[str, Any], limit: int) -> int:
    """Return the exit status of a child that runs the scenario; in the child, do not return."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    name = scenario["name"]
    os.dup2(os.open(f"{name}.said", os.O_WRONLY | os.O_CREAT, 0o600), 2)
    os.environ.update(scenario["settings"], PATCHKIT_SIMULATOR_REPORT=f"{name}.report")
    saver.simulator.patchkit_sim_configure()
    signal.alarm(limit)
    try:
        outcome, text = getattr(scenarios, name)(saver)
    except Exception as error:
        outcome, text = "raises", f"{type(error).__name__}: {error}".strip().rstrip(":")
    Path(f"{name}.result").write_text(json.dumps({"outcome": outcome, "text": text}), encoding="utf-8")
    # As any program ends: what the library does then belongs to it.
    sys.exit(0)


def main() -> None:
    """Run every scenario that is asked for."""
    job = json.loads(sys.argv[1])
    saver = importlib.import_module("saver").Saver(job)
    answer = {item["name"]: fork_off(saver, item, job["limit"]) for item in job["scenarios"]}
    sys.stdout.write(json.dumps(answer))


main()
