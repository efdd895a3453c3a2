"""What a pause and a resume take on a GPU, by setting, beside a plain copy of the bytes that have to be kept.

    python -m benchmarks.gpu_offload [--megatron 0.19.2] [--tms 0.0.10] [--wheels DIR] [--size large] [--json FILE]

Each setting is a process of its own that has the device alone: a training with four steps and a pause after each of the
first two, or three where backups are retained. The first pause pins host memory and is told apart from the later ones.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from gpu.sites import Places

from patchkit.tms.cycle.cases import SIZES, Case
from patchkit.tms.cycle.gpus import look_at_machine
from patchkit.tms.cycle.on_gpu import Answered, Runs

BOTH = {"grads": True, "params": True}
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "unpatched": {"patched": False, "sample": 0.02},
    "gradients' flag": {"grads": True},
    "both flags": {**BOTH, "sample": 0.02},
    "unpatched, retained": {"patched": False, "retain": True, "cycles": 3},
    "both flags, retained": {**BOTH, "retain": True, "guard": True, "cycles": 3, "sample": 0.02},
    "both flags, mmap": {**BOTH, "backend": "mmap"},
    "both flags, mmap, retained": {**BOTH, "backend": "mmap", "retain": True, "guard": True},
}
"""Fields of Case. ``unpatched`` is what frameworks do without the series: everything backed up, nothing retained."""
GIB = 1 << 30


def main() -> None:
    """Measure, print a table, write JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megatron", default="0.19.2")
    parser.add_argument("--tms", default="0.0.10")
    parser.add_argument("--wheels", type=Path)
    parser.add_argument("--size", choices=list(SIZES), default="large")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    machine = look_at_machine()
    base: dict[str, Any] = {
        "megatron": options.megatron,
        "saver": options.tms,
        "hook": "preload",
        "size": options.size,
        "cycles": 2,
        "digests": False,
        "restore": "main",
    }
    cases = {name: Case(**{**base, **setting}) for name, setting in SETTINGS.items()}
    with tempfile.TemporaryDirectory(prefix="patchkit-offload-") as name:
        folder = Path(name)
        places = Places(folder / "places", options.wheels)
        site = places.site(machine, list(cases.values()), folder / "cases")
        runs = Runs(site, list(cases.values()), at_once=2)
        found = {name: measured(runs.answer(case)) for name, case in cases.items()}
        runs.close()
        least = min(each["kept"] for each in found.values())
        plain = Case(megatron=options.megatron, patched=False, task="copy", bytes=least)
        copies = Runs(places.site(machine, [plain], folder / "plain"), [plain], at_once=1)
        copied = ended_well(copies.answer(plain))
        copies.close()
    report = {
        "date": dt.datetime.now(dt.timezone.utc).date().isoformat(),
        "machine": {name: value for name, value in asdict(machine).items() if name in ("gpu", "driver", "torch")},
        "megatron": options.megatron,
        "torch_memory_saver": options.tms,
        "series": places.workspace.sources.series.digest,
        "settings": found,
        "plain": {"bytes": least, **{name: value for name, value in copied.items() if name.endswith("seconds")}},
    }
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    for line in table(report):
        print(line)


def ended_well(answered: Answered) -> dict[str, Any]:
    """The answer of the one rank."""
    assert answered.failure is None, answered.failure
    return dict(answered.answers[0])


def measured(answered: Answered) -> dict[str, Any]:
    """Seconds and bytes of each cycle, and the memory over time of one."""
    answer = ended_well(answered)
    cycles = answer["cycles"]
    first = cycles[0]["before"]["host"]
    return {
        "parameters": answer["parameters"],
        # The least that a pause has to keep: the main parameters and both moments of Adam.
        "kept": 12 * answer["parameters"],
        "pause seconds": [cycle["pause seconds"] for cycle in cycles],
        "resume seconds": [cycle["resume seconds"] for cycle in cycles],
        "restore seconds": [cycle["restore seconds"] for cycle in cycles],
        "device freed": [cycle["before"]["device"] - cycle["paused"]["device"] for cycle in cycles],
        "host at pause": [cycle["paused"]["host"] - first for cycle in cycles],
        "host while training": [cycle["resumed"]["host"] - first for cycle in cycles],
        "predicted": {
            "device": cycles[-1]["tracked"]["device"],
            "host": cycles[-1]["tracked"]["host"],
        },
        "samples": next((cycle["samples"] for cycle in cycles if cycle["samples"]), None),
    }


def table(report: Mapping[str, Any]) -> Iterator[str]:
    """The figures, in Markdown."""
    parameters = next(iter(report["settings"].values()))["parameters"]
    machine = report["machine"]
    yield (
        f"megatron-core {report['megatron']}, torch_memory_saver {report['torch_memory_saver']},"
        f" {parameters / 1e9:.2f} billion parameters; {machine['gpu']}, driver {machine['driver']},"
        f" torch {machine['torch']}"
    )
    yield ""
    yield "| setting | first pause s | later | resume s | restore s | device freed | host at pause | while training |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for name, found in report["settings"].items():
        later = {key: sum(found[key][1:]) / len(found[key][1:]) for key in found if key.endswith("seconds")}
        cells = [
            name,
            *(f"{value:.2f}" for value in (found["pause seconds"][0], *later.values())),
            *(f"{found[key][-1] / GIB:.2f} GiB" for key in ("device freed", "host at pause", "host while training")),
        ]
        yield f"| {' | '.join(cells)} |"
    plain = report["plain"]
    size = f"{plain['bytes'] / GIB:.2f} GiB"
    yield (
        f"| plain copy of {size} | {plain['pin seconds'] + plain['to host seconds']:.2f} |"
        f" {plain['to host seconds']:.2f} | {plain['to device seconds']:.2f} | | | {size} | {size} |"
    )


if __name__ == "__main__":
    main()
