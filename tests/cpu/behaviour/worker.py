"""Run scenarios on Megatron trees, each tree in a process of its own that has torch imported already.

    python worker.py

Each line of its input is an order, as JSON: ``tree``, the folder that holds megatron/, ``scenarios``, names in
scenarios.SCENARIOS, ``out``, the file for the result, ``errors``, the file for what is said meanwhile, and ``limit`` in
seconds. The result maps each scenario to ``{"answer": ...}``, or to ``{"failed": traceback}``. Each line of the output
is the exit code of an order, negative for a signal.
"""

import importlib
import json
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from patchkit.tms.cycle.worker import machine


def main() -> int:
    """Import what takes seconds and is the same for every tree, then fork for each order."""
    # The patched text is judged by what it does; releases warn about a great many things.
    warnings.simplefilter("ignore")
    machine.pretend_cuda()
    # Every release imports it, and with it most of what takes long.
    importlib.import_module("torch.distributed._tensor")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _child(json.loads(line))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()
    return 0


def _child(order: dict[str, Any]) -> None:
    """Answer one order, and never return."""
    os.dup2(os.open(order["errors"], os.O_WRONLY | os.O_CREAT), sys.stderr.fileno())
    # A line of Megatron's would be taken for the exit code.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    signal.alarm(order["limit"])
    code = 1
    try:
        _answer(Path(order["tree"]), order["scenarios"], Path(order["out"]))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # The threads of the process group may not be joined in time; the result is on disk.
        os._exit(code)


def _answer(tree: Path, chosen: list[str], out: Path) -> None:
    machine.put_packages(tree.resolve(), Path(__file__).with_name("stand_ins"))
    with machine.cuda_means_cpu():
        machine.start_one_rank()
        from scenarios import SCENARIOS

        # In the order of the table: what reloads modules must come last.
        result = {name: _run(SCENARIOS[name]) for name in SCENARIOS if name in chosen}
    out.write_text(json.dumps(result), encoding="utf-8")


def _run(scenario: Callable[[], dict[str, object]]) -> dict[str, object]:
    try:
        return {"answer": scenario()}
    except Exception:  # one scenario that fails must not hide the others
        return {"failed": traceback.format_exc()}


if __name__ == "__main__":
    sys.exit(main())
