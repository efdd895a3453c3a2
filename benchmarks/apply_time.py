"""Time and memory of the main job, against git and zipfile in the same run.

    python -m benchmarks.apply_time [--megatron 0.19.2] [--rounds 15] [--json FILE]

Every figure is the median over interleaved rounds of whole processes; machines are noisy, ratios are what counts.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.timing import PATCHKIT, medians, peak_mib, run
from patchkit.operations.sources import fetch_release, load_workspace
from patchkit.store.location import default_patches


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megatron", default="0.19.2")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    workspace = load_workspace()
    target = workspace.target(options.megatron)
    wheel = fetch_release(workspace.versions, target)
    generated = default_patches() / "generated" / target.generated_name
    paths = workspace.sources.lock.targets[target.name].paths
    with tempfile.TemporaryDirectory() as scratch_name:
        scratch = Path(scratch_name)
        checkout = scratch / "checkout"
        subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), str(checkout)], check=True)
        shutil.rmtree(next(checkout.glob("*.dist-info")))
        git = ["git", "-c", "user.name=b", "-c", "user.email=b@localhost"]
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "upstream"]):
            subprocess.run([*git, *command], cwd=checkout, check=True)
        pristine = {path: (checkout / path).read_bytes() for path in paths}

        def restored(job: Callable[[], float]) -> Callable[[], float]:
            def timed() -> float:
                shutil.rmtree(checkout / ".patchkit", ignore_errors=True)
                for path, content in pristine.items():
                    (checkout / path).write_bytes(content)
                return job()

            return timed

        def fresh(command: list[str]) -> Callable[[], float]:
            def timed() -> float:
                shutil.rmtree(scratch / "new", ignore_errors=True)
                return run([*command, str(scratch / "new")])

            return timed

        apply_in = [*PATCHKIT, "apply", "--in", str(checkout)]
        jobs = {
            "python -c pass": lambda: run([sys.executable, "-c", "pass"]),
            "patchkit --version": lambda: run([*PATCHKIT, "--version"]),
            "git apply": restored(lambda: run(["git", "apply", str(generated)], checkout)),
            "patchkit apply --in": restored(lambda: run(apply_in)),
            "patchkit apply --in (again)": lambda: run(apply_in),
            "patchkit verify --in": lambda: run([*PATCHKIT, "verify", "--in", str(checkout)]),
            "python -m zipfile -e": fresh([sys.executable, "-m", "zipfile", "-e", str(wheel)]),
            "patchkit apply --to": fresh([*PATCHKIT, "apply", "--megatron", target.name, "--to"]),
        }
        for job in jobs.values():
            job()
        figures = medians(options.rounds, jobs)
        figures["peak MiB of apply --in (again)"] = peak_mib(apply_in)
        figures["peak MiB of python -c pass"] = peak_mib([sys.executable, "-c", "pass"])
    ratios = {
        "--version above bare Python, ms": figures["patchkit --version"] - figures["python -c pass"],
        "apply --in / git apply": figures["patchkit apply --in"] / figures["git apply"],
        "apply --to / zipfile -e": figures["patchkit apply --to"] / figures["python -m zipfile -e"],
    }
    for name, value in figures.items():
        print(f"{name:34} {value:9.1f}" + ("" if "MiB" in name else " ms"))
    for name, value in ratios.items():
        print(f"{name:34} {value:9.2f}")
    if options.json:
        options.json.write_text(json.dumps({"target": target.name, "figures": figures, "ratios": ratios}, indent=2))


if __name__ == "__main__":
    main()
