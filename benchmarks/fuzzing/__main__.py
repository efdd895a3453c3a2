"""Hunt for inputs that crash, hang or bloat what reads the bytes of strangers.

    pip install atheris
    python -m benchmarks.fuzzing TARGET --seconds 600 --corpus FOLDER [--git CLONE]

Coverage of patchkit's own code guides atheris (libFuzzer). An input that raises or takes more than 5 seconds of
processor time is written to FOLDER as ``crash-*`` or ``slow-*``, one for each place in the code, and the hunt goes on;
one that takes a minute, or makes the process larger than 1 GiB, ends it. What the corpus learned stays there for the
next hunt. It begins with the series' own patches and, with a clone of Megatron-LM, with functions of a release and
small edits of them. Exits 1 when something was found. atheris has wheels for Linux, and for Python 3.11 to 3.13.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from random import Random

from benchmarks.fuzzing.targets import SEPARATOR, TARGETS

ROOT = Path(__file__).parents[2]
SLOW = 5
"""Seconds of processor time."""
HANG = 60
"""Seconds by the clock, which also passes while others have the processor."""
MEMORY = 1024
"""MiB of resident memory."""
LONGEST = 8192
"""Bytes of an input."""
PIECES = 400
"""Functions of Megatron-LM that edits are made of."""


def _patches() -> Iterator[bytes]:
    for file in sorted((ROOT / "patches").rglob("*.patch")):
        yield file.read_bytes()


def _with_bases() -> Iterator[bytes]:
    """Yield small diffs with what they are for."""
    head = b"diff --git a/m.py b/m.py\nindex 1234567..89abcde 100644\n"
    body = b"--- a/m.py\n+++ b/m.py\n@@ -1,3 +1,3 @@ f\n a\n-b\n+B\n c\n"
    mail = b"From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n"
    mail += b"From: A <a@b>\nSubject: [PATCH] x\n\n---\n"
    for text in (body, head + body, mail + head + body + b"-- \n2.39\n", body.replace(b"\n", b"\r\n")):
        yield text + SEPARATOR + b"a\nb\nc\n"
    yield b"--- /dev/null\n+++ b/m.py\n@@ -0,0 +1 @@\n+a\n" + SEPARATOR


def _cases(target: str) -> Iterator[bytes]:
    for file in sorted((ROOT / "tests" / "cpu" / "cases" / "fuzzing" / target).glob("*")):
        yield file.read_bytes()


def _edits(git: Path, revision: str) -> Iterator[bytes]:
    from benchmarks.carry.edit_makers import MAKERS
    from benchmarks.carry.fuzz import functions
    from benchmarks.carry.small_edits import Source, applied

    chance = Random(0)  # noqa: S311 - edits need no secrecy
    pieces = [piece for piece in functions(git, revision) if len(piece) < LONGEST // 4]
    chance.shuffle(pieces)
    for piece in pieces[:PIECES]:
        source = Source(piece)
        texts = [piece]
        for _ in range(2):
            edits = list(chance.choice(MAKERS)(source, chance))
            texts.append(applied(piece, [chance.choice(edits)]) if edits else piece)
        yield SEPARATOR.join(text.encode() for text in texts)


def _seeds(target: str, git: Path | None, revision: str) -> Iterator[bytes]:
    yield from _cases(target)
    if target == "carry":
        yield SEPARATOR.join([b"a = 1\nb = 2\n", b"a = 1\nb = 3\n", b"a = 0\nb = 2\n"])
        if git is not None:
            yield from _edits(git, revision)
    else:
        yield from islice(_patches(), 60)
    if target == "foreign":
        yield from _with_bases()


def main() -> int:
    """Hunt."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("target", choices=sorted(TARGETS))
    arguments.add_argument("--seconds", type=int, default=600)
    arguments.add_argument("--corpus", type=Path, required=True)
    arguments.add_argument("--git", type=Path)
    arguments.add_argument("--revision", default="core_v0.17.0")
    arguments.add_argument("--seed", type=int, default=1)
    told = arguments.parse_args()
    told.corpus.mkdir(parents=True, exist_ok=True)
    for seed in _seeds(told.target, told.git, told.revision):
        (told.corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)

    # libFuzzer ends its process itself, and well.
    known = _found(told.corpus)
    child = os.fork()
    if child == 0:
        _hunt(told)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    new = _found(told.corpus) - known
    print(f"{len(new)} findings", *sorted(new), sep="\n  ")
    return 1 if new or status else 0


def _found(corpus: Path) -> set[str]:
    return {path.name for path in corpus.iterdir() if path.name.startswith(("crash-", "slow-", "timeout-", "oom-"))}


def _hunt(told: argparse.Namespace) -> None:
    # After the seeds are made: the makers of edits need no counting, and patchkit is imported anew, counted.
    for name in [name for name in sys.modules if name.startswith(("patchkit", "benchmarks.fuzzing.targets"))]:
        del sys.modules[name]
    import atheris  # type: ignore[import-not-found,unused-ignore]  # no wheel for every Python

    with atheris.instrument_imports(include=["patchkit", "unidiff"], enable_loader_override=False):
        from benchmarks.fuzzing.targets import TARGETS as COUNTED

    hunt = Hunt(COUNTED[told.target], told.corpus)
    options = {
        "max_total_time": told.seconds,
        "timeout": HANG,
        "rss_limit_mb": MEMORY,
        "max_len": LONGEST,
        "seed": told.seed,
        "artifact_prefix": f"{told.corpus}/",
        "print_final_stats": 1,
    }
    words = [sys.argv[0], str(told.corpus), *(f"-{name}={value}" for name, value in options.items())]
    atheris.Setup(words, hunt.one)
    atheris.Fuzz()


class Hunt:
    """One target, and where in the code something went wrong already."""

    def __init__(self, target: Callable[[bytes], None], folder: Path) -> None:
        self._target = target
        self._folder = folder
        self._known: set[str] = set()

    def one(self, text: bytes) -> None:
        """Try an input."""
        begun = time.process_time()
        try:
            self._target(text)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            self._keep("crash", f"{last.filename}:{last.lineno}", f"{type(error).__name__}: {error}", text)
        took = time.process_time() - begun
        if took > SLOW:
            self._keep("slow", "slow", f"{took:.1f} s", text)

    def _keep(self, kind: str, where: str, what: str, text: bytes) -> None:
        if where not in self._known:
            self._known.add(where)
            name = f"{kind}-{hashlib.sha256(text).hexdigest()[:16]}"
            (self._folder / name).write_bytes(text)
            print(f"{name}: {what} at {where}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
