"""Try what is asked for on standard input, and print what came of it, a JSON object a line.

    LD_PRELOAD=faults.so FAULTS_CONTROL=FILE python -m faults.server FILE

A request names the scenario, a folder for its world, and the faults, each with a sample of its calls; or a command to
be run meanwhile, with a sample; or a seed and how often to kill. Each is answered by a process forked from this one,
which has imported and built what all of them need: the calls and functions by which the command changes files, then
what came of each fault, then how it ended.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from operations import made_up

from . import forked_pip
from .pairs import meetings
from .random_kills import kills
from .scenarios import SCENARIOS
from .shim import Control
from .worker import Sample, Stage, trials
from .writers import Watch


def _answers(control: Control, watch: Watch, request: dict[str, Any]) -> Iterator[dict[str, object]]:
    stage = Stage(SCENARIOS[request["scenario"]], control, Path(request["folder"]), watch)
    yield {"calls": stage.calls, "at_work": sorted(watch.seen)}
    for fault, sample in request.get("faults", {}).items():
        for trial in trials(stage, fault, Sample(**sample)):
            yield asdict(trial)
    if "other" in request:
        for meeting in meetings(stage, tuple(request["other"]), Sample(**request["sample"])):
            yield asdict(meeting)
    if "seed" in request:
        for kill in kills(stage, request["seed"], request["count"]):
            yield asdict(kill)


def _answer(control: Control, watch: Watch, request: dict[str, Any]) -> None:
    """Answer in this process, which ends with it."""
    ended = ""
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for answer in _answers(control, watch, request):
            print(json.dumps(answer), flush=True)  # noqa: T201 - read by who asks
    except BaseException:
        ended = traceback.format_exc()
    print(json.dumps({"ended": ended}), flush=True)  # noqa: T201 - read by who asks
    os._exit(0)


def main(words: list[str]) -> None:
    control = Control(Path(words[0]))
    forked_pip.use()
    with tempfile.TemporaryDirectory() as folder:
        made_up.lay_series(Path(folder))
    watch = Watch()
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _answer(control, watch, json.loads(line))
        if os.waitpid(child, 0)[1] != 0:
            print(json.dumps({"ended": "the process died"}), flush=True)  # noqa: T201 - read by who asks


if __name__ == "__main__":
    main(sys.argv[1:])
