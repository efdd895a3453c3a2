"""What becomes of patch files that frameworks keep against Megatron-LM when they become series and are carried on.

    python -m benchmarks.adoption --git MEGATRON --slime SLIME --miles MILES [--only NAME] [--markdown FILE]

MEGATRON, SLIME and MILES are clones, bare ones too; nothing is fetched, and nothing of theirs is kept. Each set of
patch files is imported file by file, split as `patchkit import --split` proposes it, put on its base and compared with
what `git apply` makes of the same files, and carried to each target by `patchkit rebase --dry-run`. The counts are of
hunks: a hunk is carried *alone* when nothing about it has to be looked at.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from patchkit.errors import UsageError
from patchkit.operations.import_patch import import_patches
from patchkit.operations.make import apply_export
from patchkit.operations.rebase import rebase
from patchkit.operations.rebase_run import Surroundings
from patchkit.operations.rebase_session import Request
from patchkit.operations.sources import load_workspace
from patchkit.store.cache import default_cache

TODAY = "2026-01-01"
"""The date that new patches get; it is in no answer."""
TARGETS = ("core_v0.16.1", "core_v0.17.1", "core_v0.19.0", "v0.19.2", "main")
CLASSES = ("alone", "look", "upstreamed", "obsolete", "conflict")


class Series(NamedTuple):
    """A set of patch files that are applied one after another."""

    name: str
    home: str
    """Whose clone they are in."""
    files: tuple[str, ...]
    base: str | None = None
    """What they are for, where no index line says it."""


_LATEST = "docker/patch/latest"
SERIES = (
    Series(
        "slime", "slime", ("docker/patch/latest/megatron.patch", "docker/patch/latest/megatron-sglang-aligned.patch")
    ),
    Series("slime, NPU", "slime", ("docker/patch/v0.5.7/megatron.patch", "docker/npu_patch/megatron.patch")),
    Series("slime, AMD", "slime", ("docker/amd_patch/latest/megatron.patch",)),
    Series("slime, AMD kernels", "slime", ("docker/amd_patch/latest/amd_megatron_fused_kernels_init.patch",)),
    Series("miles, NPU", "miles", ("docker/npu_patch/megatron_common.patch", "docker/npu_patch/megatron.patch")),
    Series("miles, AMD", "miles", ("docker/amd_patch/latest/megatron.patch",), base="core_v0.16.1"),
)


def main() -> None:
    """Measure, and print two tables and a list."""
    parser = argparse.ArgumentParser(description="What becomes of real patch files.")
    parser.add_argument("--git", type=Path, required=True, help="a clone of Megatron-LM")
    parser.add_argument("--slime", type=Path)
    parser.add_argument("--miles", type=Path)
    parser.add_argument("--only", action="append", metavar="NAME", help="only this set of files (repeatable)")
    parser.add_argument("--onto", action="append", metavar="TARGET")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    clones = {"slime": options.slime, "miles": options.miles}
    wanted = [each for each in SERIES if clones[each.home] and (not options.only or each.name in options.only)]
    rows: list[dict[str, Any]] = []
    for series in wanted:
        with tempfile.TemporaryDirectory(prefix="adoption-") as scratch:
            rows.append(adopt(series, clones[series.home], options.git, options.onto or TARGETS, Path(scratch)))
        print(f"{series.name}: done", flush=True)
    text = "\n".join(markdown(rows)) + "\n"
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(text)
    else:
        print(text)


def adopt(series: Series, clone: Path, megatron: Path, targets: Iterable[str], scratch: Path) -> dict[str, Any]:
    """Import one set of files and carry it to every target."""
    files: list[Path] = []
    for path in series.files:
        file = scratch / "given" / str(len(files)) / Path(path).name
        file.parent.mkdir(parents=True)
        file.write_bytes(_ask(clone, "show", f"HEAD:{path}"))
        files.append(file)
    folder = scratch / "patches" / "megatron"
    started = time.process_time()
    imported = [
        import_patches([file], folder, today=TODAY, repository=megatron, revision=series.base, split=True)
        if not number
        else import_patches([file], folder, today=TODAY, repository=megatron, split=True)
        for number, file in enumerate(files)
    ]
    seconds = time.process_time() - started
    commit = str(imported[0].base.commit)
    return {
        "name": series.name,
        "at": _ask(clone, "rev-parse", "HEAD").decode().strip()[:9],
        "base": imported[0].base.target,
        "hunks": sum(each.hunks for each in imported),
        "files": len({path for each in imported for patch in each.patches for path in patch.files}),
        "patches": [(patch.name, len(patch.hunks), patch.reason) for each in imported for patch in each.patches],
        "repairs": sum(len(each.repairs) for each in imported),
        "seconds": round(seconds, 1),
        "identical": _as_git_does(files, folder, megatron, commit, scratch),
        "targets": {target: _carried(folder, target, megatron) for target in targets},
    }


def _as_git_does(files: Sequence[Path], folder: Path, megatron: Path, commit: str, scratch: Path) -> bool:
    """Tell whether the series makes of its base, file by file and byte by byte, what `git apply` makes of it."""
    ours, theirs = scratch / "ours", scratch / "theirs"
    theirs.mkdir()
    unpack = ["tar", "-x", "-C", str(theirs)]
    subprocess.run(unpack, check=True, input=_ask(megatron, "archive", commit))
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(scratch)}
    for file in files:
        command = ["git", "apply", str(file)]
        subprocess.run(command, cwd=theirs, check=True, env=environment, capture_output=True)
    report = apply_export(load_workspace(folder), megatron, commit, ours, asked=None)
    if not report.ok:
        return False
    (ours / ".patchkit" / "manifest.json").unlink()
    (ours / ".patchkit").rmdir()
    return not list(_differences(filecmp.dircmp(ours, theirs, ignore=[], hide=[os.curdir, os.pardir])))


def _differences(compared: filecmp.dircmp[str]) -> Iterator[str]:
    yield from (*compared.left_only, *compared.right_only, *compared.funny_files)
    same = filecmp.cmpfiles(compared.left, compared.right, compared.common_files, shallow=False)
    yield from (*same[1], *same[2])
    for below in compared.subdirs.values():
        yield from _differences(below)


def _carried(folder: Path, target: str, megatron: Path) -> dict[str, Any]:
    around = Surroundings(today=TODAY, cache=default_cache(), dry_run=True)
    try:
        answer = rebase(folder, Request(onto=target, repository=megatron), around)
    except UsageError as error:
        return {"refused": error.message, "asking": []}
    counts: Counter[str] = Counter()
    asking: list[dict[str, Any]] = []
    for patch in answer.patches:
        for hunk in patch.hunks:
            kind = _class(hunk.verdict, looked_at=bool(hunk.review))
            counts[kind] += 1
            if kind != "alone":
                commits = [_commit(each.commit, each.pull_request) for each in hunk.commits]
                asking.append(
                    {"patch": patch.name, "hunk": hunk.id, "class": kind, "verdict": hunk.verdict, "path": hunk.path}
                    | {"reason": hunk.reason, "review": list(hunk.review), "commits": commits}
                )
    states = Counter(patch.state for patch in answer.patches)
    return {"counts": {kind: counts[kind] for kind in CLASSES}, "states": dict(states), "asking": asking}


def _commit(commit: str, pull_request: int | None) -> str:
    return commit[:9] + (f" (#{pull_request})" if pull_request else "")


def _class(verdict: str, *, looked_at: bool) -> str:
    if verdict in CLASSES:
        return verdict
    return "look" if looked_at else "alone"


def markdown(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the tables of docs/adoption.md."""
    yield "| patch files of | at | base | files | hunks | patches | repaired lines | as `git apply` | CPU s |"
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: | --- | ---: |"
    for row in rows:
        same = "byte for byte" if row["identical"] else "**differs**"
        sizes = f"{row['files']} | {row['hunks']} | {len(row['patches'])} | {row['repairs']}"
        yield f"| {row['name']} | {row['at']} | {row['base']} | {sizes} | {same} | {row['seconds']} |"
    yield ""
    yield "| patch files of | onto | carried alone | look | upstreamed | obsolete | conflict |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for row in rows:
        for target, carried in row["targets"].items():
            refused = carried.get("refused")
            cells = (
                [f"refused: {refused}", *[""] * 4] if refused else [str(carried["counts"][kind]) for kind in CLASSES]
            )
            yield f"| {row['name']} | {target} | {' | '.join(cells)} |"
    for row in rows:
        for target, carried in row["targets"].items():
            asking = [each for each in carried["asking"] if each["class"] != "look"]
            if not asking:
                continue
            yield ""
            yield f"{row['name']} onto {target}:"
            yield ""
            yield "| patch | hunk | verdict | why | upstream |"
            yield "| --- | --- | --- | --- | --- |"
            for each in asking:
                commits = ", ".join(each["commits"]) or "-"
                yield f"| {each['patch']} | {each['hunk']} | {each['verdict']} | {each['reason']} | {commits} |"


def _ask(repository: Path, *command: str) -> bytes:
    asked = ["git", "-C", str(repository), *command]
    return subprocess.run(asked, check=True, capture_output=True).stdout


if __name__ == "__main__":
    main()
