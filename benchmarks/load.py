"""Time and memory of large inputs, for two or three sizes of each, to see that they grow as the size does.

    python -m benchmarks.load [NAME ...]

Each size is measured in a process of its own: processor time of the work alone, git included, and the peak of resident
memory. ``of time`` and ``of memory`` are exponents from the smallest to the largest size: 1 is linear, 2 the square.
That of memory is of what the work adds to the input.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from benchmarks.load_imports import imported, imported_megabytes

SCOPE = 50
"""Lines of a function of the made-up texts."""


def _source(lines: int) -> list[bytes]:
    """Lines of functions that differ from each other."""
    made: list[bytes] = []
    for number in range(lines):
        if number % SCOPE == 0:
            made.append(b"def function_%d(value):\n" % (number // SCOPE))
        else:
            made.append(b"    value_%d = value + %d\n" % (number, number * 7919))
    return made


def _changed(lines: list[bytes], every: int, offset: int, mark: bytes) -> list[bytes]:
    made = list(lines)
    for at in range(offset, len(made), every):
        made[at] = made[at].replace(b"value +", mark)
    return made


def _diff(files: int, hunks: int) -> bytes:
    """A diff of many files, each with many hunks of three changed lines."""
    from patchkit.core.difference import print_git_patch

    old = _source(SCOPE * hunks)
    new = _changed(old, SCOPE, SCOPE // 2, b"value -")
    one = print_git_patch({"pkg/name.py": (b"".join(old), b"".join(new))}, b"")
    return b"".join(one.replace(b"pkg/name.py", b"pkg/file_%d.py" % number) for number in range(files))


def long_file(lines: int) -> Callable[[], object]:
    """Carry a change of every 500th line of one file over one of every 700th."""
    from patchkit import carry_file

    base = _source(lines)
    texts = [b"".join(text) for text in (base, _changed(base, 500, 7, b"value -"), _changed(base, 700, 13, b"value *"))]
    return lambda: carry_file(*texts, "pkg/long.py")  # type: ignore[misc]  # three of them


def many_changes(lines: int) -> Callable[[], object]:
    """Carry a change of every line over a text with another first line."""
    from patchkit import carry_file

    base = _source(lines)
    texts = [b"".join(text) for text in (base, _changed(base, 1, 0, b"value -"), [b"import sys\n", *base])]
    return lambda: carry_file(*texts, "pkg/long.py")  # type: ignore[misc]  # three of them


def _in_class(lines: int) -> list[bytes]:
    return [b"class Long:\n", *(b"    " + line for line in _source(lines))]


def _in_function(lines: int) -> list[bytes]:
    return [b"def long(value):\n", *(b"    value_%d = value + %d\n" % (n, n * 7919) for n in range(lines))]


def _in_dict(lines: int) -> list[bytes]:
    return [b"LONG = {\n", *(b'    "key_%d": value + %d,\n' % (n, n * 7919) for n in range(lines)), b"}\n"]


def _in_docstring(lines: int) -> list[bytes]:
    return [b'"""Long.\n\n', *(b"    Line %d says value + %d.\n" % (n, n * 7919) for n in range(lines)), b'"""\n']


def _with_crlf(lines: int) -> list[bytes]:
    return [line.replace(b"\n", b"\r\n") for line in _source(lines)]


def shaped(
    source: Callable[[int], list[bytes]], path: str = "pkg/long.py", every: int = 500, *, meeting: bool = False
) -> Callable[[int], Callable[[], object]]:
    """Carry a change of one in ``every`` lines of another kind of file; ``meeting``: both sides change the same."""
    from patchkit import carry_file

    def made(lines: int) -> Callable[[], object]:
        base = source(lines)
        changed = _changed(base, every, 7, b"value -")
        target = _changed(base, *((every, 7) if meeting else (every * 7 // 5, 13)), b"value *")
        texts = [b"".join(text) for text in (base, changed, target)]
        return lambda: carry_file(texts[0], texts[1], texts[2], path)

    return made


def both_added(functions: int) -> Callable[[], object]:
    """Look for what stands twice where both sides added two lines to each function and the result has them twice."""
    from patchkit.core.gating.repeats import repeats

    texts: tuple[list[bytes], ...] = ([], [], [], [])
    for number in range(functions):
        head, body = b"def function_%d(value):\n" % number, b"    first_%d = value\n" % number
        added = b"    call_%d(value)\n    call_%d(value, 2)\n" % (number, number)
        made = head + body, head + body + added, head + added + body, head + added + body + added
        for text, part in zip(texts, made, strict=True):
            text.append(part)
    base, changed, target, result = map(b"".join, texts)
    return lambda: repeats(base, changed, target, result)


def long_line(entries: int) -> Callable[[], object]:
    """Carry a change in one line of many entries over another change in it."""
    from patchkit import carry_file

    def line(first: int, last: int) -> bytes:
        return b"NUMBERS = [" + b", ".join(b"%d" % number for number in (first, *range(entries), last)) + b"]\n"

    return lambda: carry_file(line(-1, -1), line(-2, -1), line(-1, -2), "pkg/line.py")


def parse(files: int) -> Callable[[], object]:
    """Parse a patch of ours, and print it."""
    from patchkit.core.unified import parse_patch, print_patch

    text = _diff(files, 10)
    return lambda: print_patch(parse_patch(text, "large.patch"))


def foreign(files: int) -> Callable[[], object]:
    """Read somebody's patch and fit it onto its base."""
    from patchkit.core.foreign.fitting import fit_patches
    from patchkit.core.foreign.lenient import read_foreign

    text, base = _diff(files, 10), b"".join(_source(SCOPE * 10))
    return lambda: fit_patches([read_foreign(text, "large.patch")], lambda path: base if path[:4] == "pkg/" else None)


def mails(count: int) -> Callable[[], object]:
    """Fit so many mails of one file onto their base, each for a file of its own."""
    from patchkit.core.foreign.fitting import fit_patches
    from patchkit.core.foreign.lenient import read_foreign

    head = b"From %040x Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\nSubject: [PATCH %d/%d] Subtract\n\n---\n"
    one, base = _diff(1, 2), b"".join(_source(SCOPE * 2))
    text = b"".join(
        head % (number + 1, number + 1, count) + one.replace(b"file_0.py", b"file_%d.py" % number) + b"-- \n2.40.0\n\n"
        for number in range(count)
    )
    read = read_foreign(text, "series.mbox")
    assert len(read.messages) == count
    return lambda: fit_patches([read], lambda path: base if path[:4] == "pkg/" else None)


def large_patch(megabytes: int) -> Callable[[], object]:
    """Read somebody's patch of so many megabytes, in files of 100 hunks."""
    from patchkit.core.foreign.lenient import read_foreign

    one = _diff(1, 100)
    copies = -(-megabytes * 10**6 // len(one))
    text = b"".join(one.replace(b"file_0.py", b"file_%d.py" % number) for number in range(copies))
    return lambda: read_foreign(text, "large.patch")


def repository(objects: int) -> Callable[[], object]:
    """Read a revision of a repository with so many objects: all paths, and a hundred files."""
    from patchkit.trees.git import GitTree

    folder = Path(tempfile.mkdtemp(prefix="load-"))
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)  # noqa: S607 - any git
    stream = [b"commit refs/heads/main\ncommitter A <a@example.org> 1767225600 +0000\ndata 1\nx\n"]
    stream += [
        b"M 100644 inline d%d/f%d.py\ndata <<END\nvalue = %d\nEND\n" % (number // 500, number, number)
        for number in range(objects)
    ]
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input=b"".join(stream), check=True)  # noqa: S607

    def read() -> None:
        tree = GitTree(folder, "main")
        paths = list(tree.paths())
        assert len(paths) == objects
        for path in paths[:: max(objects // 100, 1)]:
            assert tree.read(path)

    return read


def series(patches: int) -> Callable[[], object]:
    """Load a series of so many patches, each with ten hunks in four files of its own, and make it for a release."""
    from patchkit.core.upstream import Release, Target
    from patchkit.operations.regenerate import build_target
    from patchkit.store.series import load_series
    from patchkit.trees.memory import MemoryTree

    folder = Path(tempfile.mkdtemp(prefix="load-")) / "patches" / "megatron"
    # Nothing that an earlier size has left is remembered.
    os.environ["PATCHKIT_CACHE"] = str(folder.parent / "cache")
    _lay_series(folder, patches)
    tree = MemoryTree({f"pkg/file_{number}.py": b"".join(_source(SCOPE * 10)) for number in range(patches * 4)})
    release = Release(
        version="1.0", tag=None, commit=None, date="2026-01-01", python="", ships=("pkg",), blobs={}, files={}
    )
    return lambda: build_target(load_series(folder), Target("1.0", "1.0", None, None, {}, release), tree)


HEADER = """\
schema: 1
name: {name}
description: Something.
origin: Made up.
author: a made-up author
forwarded: "no"
applied-upstream: ""
last-update: 2026-01-02
why: Because.
needed-when: Always.
drop-when: Upstream has it.
hunks:
"""
HUNK = """\
  - id: hunk-{number}
    group: all
    file: pkg/file_{file}.py
    scope: function_{scope}
    intent: Subtract.
"""


def _lay_series(folder: Path, patches: int) -> None:
    from patchkit.core.difference import difference
    from patchkit.core.model import Patch
    from patchkit.core.unified import print_patch

    old = _source(SCOPE * 10)
    entries = ""
    for number in range(patches):
        name = f"patch-{number}"
        entries += f"  - name: {name}\n"
        place = folder / name / "variants"
        place.mkdir(parents=True)
        files, hunks, counted = [], "", 0
        # Of 10 hunks: 3, 3, 2 and 2 in four files.
        for part, count in enumerate((3, 3, 2, 2)):
            file = number * 4 + part
            new = _changed(old[: SCOPE * count], SCOPE, SCOPE // 2, b"value -") + old[SCOPE * count :]
            found = difference(b"".join(old), b"".join(new), f"pkg/file_{file}.py")
            assert found is not None
            named = []
            for scope, hunk in enumerate(found.hunks):
                named.append(msgspec.structs.replace(hunk, id=f"hunk-{counted}"))
                hunks += HUNK.format(number=counted, file=file, scope=scope)
                counted += 1
            files.append(msgspec.structs.replace(found, hunks=tuple(named)))
        (place / "v1.patch").write_bytes(print_patch(Patch(tuple(files), b"")))
        text = HEADER.format(name=name) + hunks + 'variants:\n  - file: v1.patch\n    releases: ">=1.0"\n'
        (folder / name / "patch.yaml").write_text(text)
    head = "schema: 1\npackage: pkg\ndistribution: pkg\ngroups:\n  all: All of it.\npatches:\n"
    (folder / "series.yaml").write_text(head + entries)


SIZES: dict[str, tuple[Callable[[int], Callable[[], object]], tuple[int, ...]]] = {
    "lines of a file": (long_file, (25_000, 50_000, 100_000)),
    "lines of a class": (shaped(_in_class), (12_500, 25_000, 50_000)),
    "lines of a function": (shaped(_in_function), (12_500, 25_000, 50_000)),
    "lines of a dict": (shaped(_in_dict), (12_500, 25_000, 50_000)),
    "lines of a docstring": (shaped(_in_docstring), (12_500, 25_000, 50_000)),
    "lines of a file with CRLF": (shaped(_with_crlf), (25_000, 50_000, 100_000)),
    "lines of a text": (shaped(_source, "long.txt"), (25_000, 50_000, 100_000)),
    "lines of a file, one in 20 changed": (shaped(_source, every=20), (12_500, 25_000, 50_000)),
    "lines of a file, a conflict in 500": (shaped(_source, meeting=True), (12_500, 25_000, 50_000)),
    "changed lines": (many_changes, (12_500, 25_000, 50_000)),
    "functions that both sides added to": (both_added, (1_000, 2_000, 4_000)),
    "entries of a line": (long_line, (50_000, 100_000, 200_000)),
    "files of a patch, 10 hunks each": (parse, (125, 250, 500)),
    "files fitted, 10 hunks each": (foreign, (500, 1_000, 2_000)),
    "mails fitted, a file each": (mails, (500, 1_000, 2_000)),
    "megabytes of a patch": (large_patch, (50, 100, 200)),
    "hunks of an imported patch": (imported, (500, 1_000, 2_000)),
    "hunks of an imported patch, split": (partial(imported, split=True), (200, 400)),
    "megabytes of an imported patch": (imported_megabytes, (50, 100, 200)),
    "objects of a repository": (repository, (75_000, 150_000, 300_000)),
    "patches of a series, 10 hunks each": (series, (125, 250, 500)),
}


def _cpu() -> float:
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def _one(name: str, size: int) -> None:
    """Measure, in this process, and print."""
    work = SIZES[name][0](size)
    before = _peak_mib()
    begun = _cpu()
    work()
    took = _cpu() - begun
    print(json.dumps([took, _peak_mib(), _peak_mib() - before]))


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _measured(name: str) -> Iterator[tuple[int, float, float, float]]:
    """Yield each size with the seconds, the MiB of the process at its peak, and those that the work added."""
    for size in SIZES[name][1]:
        command = [sys.executable, "-m", "benchmarks.load", name, "--size", str(size)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds, memory, added = json.loads(done.stdout)
        yield size, seconds, memory, added


def main() -> None:
    """Measure what is named, or all."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*", metavar="NAME", default=list(SIZES))
    arguments.add_argument("--size", type=int, help=argparse.SUPPRESS)
    told = arguments.parse_args()
    if told.size is not None:
        _one(told.names[0], told.size)
        return
    print("| what | size | seconds | MiB | of time | of memory |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in told.names:
        rows = list(_measured(name))
        (first, quick, _, little), (last, slow, _, much) = rows[0], rows[-1]
        grown = math.log(last / first)
        # Nothing added would have no logarithm.
        exponents = math.log(slow / quick) / grown, math.log(max(much, 0.1) / max(little, 0.1)) / grown
        for number, (size, seconds, memory, _) in enumerate(rows):
            shown = " | ".join(f"{exponent:.2f}" if number == len(rows) - 1 else "" for exponent in exponents)
            print(f"| {name if number == 0 else ''} | {size:,} | {seconds:.2f} | {memory:.0f} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
