"""Run scenarios on one Megatron tree in a process of its own.

    python worker.py --tree DIR --scenario NAME [--scenario NAME ...] --out result.json

The result maps each scenario to ``{"answer": ...}``, or to ``{"failed": traceback}``.
"""

import argparse
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from patchkit.tms.cycle.worker import machine


def main(arguments: Sequence[str]) -> int:
    """Prepare the process, then answer."""
    parser = argparse.ArgumentParser(description="Run scenarios on one Megatron tree.")
    parser.add_argument("--tree", type=Path, required=True, help="folder that holds megatron/")
    parser.add_argument("--scenario", action="append", required=True, help="name in scenarios.SCENARIOS")
    parser.add_argument("--out", type=Path, required=True, help="file for the result")
    chosen = parser.parse_args(arguments)
    # The patched text is judged by what it does; releases warn about a great many things.
    warnings.simplefilter("ignore")
    machine.put_packages(chosen.tree.resolve(), Path(__file__).with_name("stand_ins"))
    machine.pretend_cuda()
    with machine.cuda_means_cpu():
        machine.start_one_rank()
        from scenarios import SCENARIOS

        # In the order of the table: what reloads modules must come last.
        result = {name: _run(SCENARIOS[name]) for name in SCENARIOS if name in chosen.scenario}
    chosen.out.write_text(json.dumps(result), encoding="utf-8")
    return 0


def _run(scenario: Callable[[], dict[str, object]]) -> dict[str, object]:
    try:
        return {"answer": scenario()}
    except Exception:  # one scenario that fails must not hide the others
        return {"failed": traceback.format_exc()}


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    # The threads of the process group may not be joined in time; the result is on disk.
    os._exit(code)
