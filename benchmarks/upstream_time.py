"""Time and memory of check-upstream, against a shell loop over the same releases in the same run.

    python -m benchmarks.upstream_time --git REPO [--rounds 5] [--json FILE]

The loop is what people do without patchkit: check a release out, and try the patch of one of them with ``git apply
--check`` and with ``git apply --3way``. It gets the releases that have a tag in REPO, fetched into a clone of its own
before anything is timed; check-upstream gets all targets.
Warm: the wheels and the answers are in the cache. Cold: the wheels are, the answers are not.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from benchmarks.timing import PATCHKIT, as_installed, medians, peak_mib, run
from patchkit.operations.sources import fetch_releases, load_workspace
from patchkit.store.cache import default_cache
from patchkit.store.location import default_patches

_LOOP = """\
for tag in "$@"; do
    git checkout --quiet --force "$tag"
    git apply {how} "$PATCH" || true
done
"""


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--git", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    workspace = load_workspace()
    failed = fetch_releases(workspace.versions, workspace.targets, cache=default_cache())
    if failed:
        raise SystemExit(f"out of reach: {', '.join(failed)}")
    tags = [target.tag for target in workspace.targets if target.tag]
    patch = default_patches() / "generated" / workspace.target(tags[-1]).generated_name
    with tempfile.TemporaryDirectory() as scratch_name:
        scratch = Path(scratch_name)
        checkout = scratch / "checkout"
        # It shares nothing: `git apply --3way` writes objects, and marks the pack of a clone that lent it some as used.
        init = ["git", "init", "--quiet", str(checkout)]
        subprocess.run(init, check=True)
        refs = [f"refs/tags/{tag}:refs/tags/{tag}" for tag in tags]
        fetch = ["git", "fetch", "--quiet", "--no-tags", "--depth=1", options.git.resolve().as_uri(), *refs]
        subprocess.run(fetch, check=True, cwd=checkout)
        environment = as_installed(PATCH=str(patch))
        cold_cache = scratch / "cache"
        cold_cache.mkdir()
        (cold_cache / "wheels").symlink_to(default_cache() / "wheels")
        cold = as_installed(PATCHKIT_CACHE=str(cold_cache))

        def loop(how: str) -> float:
            script = _LOOP.format(how=how)
            return run(["sh", "-c", script, "loop", *tags], checkout, environment=environment)

        def forgotten() -> float:
            for kept in cold_cache.iterdir():
                if not kept.is_symlink():
                    shutil.rmtree(kept)
            return run(command, environment=cold, codes=frozenset({0, 1}))

        command = [*PATCHKIT, "check-upstream", "--offline", "--git", str(options.git)]
        figures = medians(
            options.rounds,
            {
                f"loop: checkout, apply --check ({len(tags)} releases)": lambda: loop("--check"),
                f"loop: checkout, apply --3way ({len(tags)} releases)": lambda: loop("--3way"),
                f"check-upstream, cold ({len(workspace.targets)} targets)": forgotten,
                f"check-upstream, warm ({len(workspace.targets)} targets)": lambda: run(
                    command, codes=frozenset({0, 1})
                ),
            },
        )
        (cold_cache / "wheels").unlink()
        peak = peak_mib(command)
    check, three_way, cold_time, warm = figures.values()
    ratios = {
        "loop with --check / warm": check / warm,
        "loop with --3way / warm": three_way / warm,
        "loop with --3way / cold": three_way / cold_time,
    }
    for name, value in figures.items():
        print(f"{name:52} {value:9.1f} ms")
    print(f"{'check-upstream, warm: peak':52} {peak:9.1f} MiB")
    for name, value in ratios.items():
        print(f"{name:52} {value:9.1f}")
    if options.json:
        options.json.write_text(json.dumps({"figures": figures, "ratios": ratios, "peak MiB": peak}, indent=2))


if __name__ == "__main__":
    main()
