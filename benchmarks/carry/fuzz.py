"""Silently wrong merges, hunted for: two small edits of one function, made together and carried one over the other.

    python -m benchmarks.carry.fuzz --git CLONE [--revision core_v0.17.0] [--seed 0] [--seconds 60] [--out FOLDER]

Functions and classes of a revision are taken out of their files. Two random edits (``edit_makers``, ``usual_edits``)
are made in each, near each other, at times more, and some on both sides. Made together they are the truth;
``carry_file`` carries the one over the other, and what it calls clean has to mean what the truth means (``meaning``: a
tree of ``ast``, in which the order of definitions side by side does not count). Where the edits contradict each other
(one takes away what the other changes), nothing clean may come out.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tarfile
import textwrap
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from benchmarks.carry import edit_makers, usual_edits
from benchmarks.carry.meaning import meaning
from benchmarks.carry.small_edits import Change, SmallEdit, Source, apart, applied
from patchkit import carry_file
from patchkit.core.carry import Status

MAKERS = (*edit_makers.MAKERS, *usual_edits.MAKERS)
MOST_LINES = 150
MOST_LINES_OF_A_FILE = 600
MORE = 0.3
"""How often each of these is: an edit made on both sides, as by a target that has a part of the patch; a second one."""


class Finding(NamedTuple):
    """One merge whose answer is not the truth."""

    kind: str
    """``wrong``, or ``contradiction`` where no truth is."""
    base: str
    changed: str
    target: str
    result: str
    truths: tuple[str, ...]
    what: tuple[str, ...]


def functions(git: Path, revision: str) -> list[str]:
    """Return files, classes and functions of a revision's ``megatron`` folder, as texts of their own."""
    command = ["git", "-C", str(git), "archive", revision, "megatron"]
    data = subprocess.run(command, check=True, capture_output=True).stdout
    found: list[str] = []
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            if member.isfile() and member.name.endswith(".py"):
                extracted = archive.extractfile(member)
                assert extracted is not None
                found.extend(_pieces(extracted.read()))
    return found


def _pieces(content: bytes) -> Iterator[str]:
    try:
        text = content.decode("ascii")
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return
    lines = text.split("\n")
    if len(lines) < MOST_LINES_OF_A_FILE:
        yield text
    for node in ast.walk(ast.Module(body, [])):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(line.lineno for line in node.decorator_list)])
            assert node.end_lineno is not None
            if 3 < node.end_lineno - first < MOST_LINES:
                piece = textwrap.dedent("\n".join(lines[first - 1 : node.end_lineno]) + "\n")
                try:
                    ast.parse(piece)
                except SyntaxError:
                    continue
                yield piece


def tree(text: str) -> str | None:
    """Return what a text means."""
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError):
        return None


def _only_form(base: str, edit: SmallEdit) -> bool:
    return tree(applied(base, [edit])) == tree(base)


def probe(
    source: Source, ours: Sequence[SmallEdit], theirs: Sequence[SmallEdit], shared: Sequence[SmallEdit] = ()
) -> tuple[Status, Finding | None] | None:
    """Carry some edits over others, with ``shared`` ones made on both sides; None when there is nothing to say."""
    base = source.text
    changed, target = applied(base, [*ours, *shared]), applied(base, [*theirs, *shared])
    if tree(changed) is None or tree(target) is None:
        return None
    truths: tuple[str, ...] = ()
    if all(apart(one, two) for one in (*ours, *shared) for two in theirs):
        orders = (
            [*theirs, *ours, *shared],
            [*ours, *theirs, *shared],
            [*shared, *theirs, *ours],
            [*shared, *ours, *theirs],
        )
        truths = tuple(applied(base, order) for order in orders)
        if tree(truths[0]) is None:
            return None
    elif not _contradict(base, [*ours, *theirs]):
        return None
    result = carry_file(base.encode(), changed.encode(), target.encode(), "f.py")
    if result.status is not Status.CLEAN or result.content is None:
        return result.status, None
    text = result.content.decode()
    # What one side puts in under a name that the other one changes has either name.
    if meaning(text) in [meaning(truth) for truth in (*truths, *_after_a_rename(base, [*ours, *theirs], shared))]:
        return result.status, None
    what = (*(edit.what for edit in (*ours, *theirs)), *(f"both: {edit.what}" for edit in shared))
    return result.status, Finding("wrong" if truths else "contradiction", base, changed, target, text, truths, what)


def _contradict(base: str, edits: Sequence[SmallEdit]) -> bool:
    """Tell whether one of two edits takes away what the other changes."""
    return (
        len(edits) == 2
        and edits[0].removes != edits[1].removes
        and not any(edit.marked or _only_form(base, edit) for edit in edits)
        # An entry in front of one that goes is an entry all the same, and so is a name that is imported anew.
        and not any(edit.what.endswith("an imported name") for edit in edits)
        and not any(change.text.endswith(", ") for edit in edits for change in edit.changes)
        and not _is_keyword_in_a_block(base, edits)
    )


def _is_keyword_in_a_block(base: str, edits: Sequence[SmallEdit]) -> bool:
    """Tell whether one edit takes a block out in which the other gives a call one more keyword: it is out."""
    gone, other = sorted(edits, key=lambda edit: not edit.removes)
    source = Source(base)
    return "a keyword" in other.what and any(
        source.whole(node) == (gone.begin, gone.end) and source.whole(body[0])[0] <= other.begin
        for node in ast.walk(source.tree)
        if isinstance(node, ast.stmt) and isinstance(body := getattr(node, "body", None), list)
    )


def _after_a_rename(base: str, edits: Sequence[SmallEdit], shared: Sequence[SmallEdit]) -> list[str]:
    """Return what is left by edits of lines in which another edit gives a variable or a definition another name."""
    found: list[str] = []
    for one in edits:
        if one.what.startswith("rename "):
            name, fresh = base[one.changes[0].begin : one.changes[0].end], one.changes[0].text
            text = applied(base, [*(edit for edit in edits if edit is not one), *shared])
            if tree(text) is None:
                continue
            if one.what.endswith(", a definition"):
                found.append(re.sub(rf"\b{name}\b", fresh, text))
                continue
            places = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name) and node.id == name]
            source = Source(text)
            changes = tuple(Change(*source.span(node), fresh) for node in places)
            found.append(applied(text, [SmallEdit(one.what, changes)]) if changes else text)
    return found


def _clear(one: SmallEdit, two: SmallEdit) -> bool:
    """Tell whether two edits can be made together and have no place in common: three there have no certain order."""
    return apart(one, two) and not {change.begin for change in one.changes} & {change.begin for change in two.changes}


def hunt(
    texts: Sequence[str], random: Random, kinds: Sequence[str], without: Sequence[str], near: int
) -> Iterator[tuple[Status, Finding | None]]:
    """Yield one answer after another, forever."""
    makers = [maker for maker in MAKERS if not any(kind in maker.__name__ for kind in without)]
    chosen = [maker for maker in makers if not kinds or any(kind in maker.__name__ for kind in kinds)]
    while True:
        source = Source(random.choice(texts))
        first = list(random.choice(chosen)(source, random))
        others = [list(random.choice(makers)(source, random)) for _ in range(4)]
        for _ in range(3):
            if not first:
                break
            one = random.choice(first)
            close = [[edit for edit in edits if abs(edit.begin - one.begin) < near] for edits in others]
            picked = [random.choice(edits) if edits else None for edits in close]
            if picked[0] is None:
                continue
            ours, theirs = [one], [picked[0]]
            shared: list[SmallEdit] = []
            for extra, side in zip(picked[1:], (shared, ours, theirs), strict=True):
                if (
                    extra is not None
                    and random.random() < MORE
                    and all(_clear(extra, edit) for edit in (*ours, *theirs, *shared))
                ):
                    side.append(extra)
            if random.random() < 0.5:
                ours, theirs = theirs, ours
            found = probe(source, ours, theirs, shared)
            if found is not None:
                yield found


def main(arguments: Sequence[str] | None = None) -> int:
    """Hunt, and print what is found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--git", type=Path, required=True, metavar="CLONE")
    parser.add_argument("--revision", default="core_v0.17.0")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--files", action="store_true", help="whole files only")
    parser.add_argument("--near", type=int, default=300, help="characters between the two edits at most")
    parser.add_argument("--kinds", default="", help="makers of the first edit, by parts of their names, with commas")
    parser.add_argument("--without", default="", help="makers to leave out")
    parser.add_argument("--out", type=Path, help="a folder for the findings")
    options = parser.parse_args(arguments)
    random = Random(options.seed)  # noqa: S311 - a run can be made again
    texts = functions(options.git, options.revision)
    if options.files:
        texts = [text for text in texts if not text.startswith(("def ", "class ", "@"))]
    counts: Counter[str] = Counter()
    end = time.monotonic() + options.seconds
    kinds, without = ([kind for kind in names.split(",") if kind] for names in (options.kinds, options.without))
    for status, finding in hunt(texts, random, kinds, without, options.near):
        counts[status.value] += 1
        if finding is not None:
            counts[finding.kind] += 1
            print(f"{finding.kind}: {' | '.join(finding.what)}", flush=True)
            if options.out:
                folder = options.out / f"{finding.kind}-{counts[finding.kind]:03}"
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "what.txt").write_text("\n".join(finding.what) + "\n")
                for name in ("base", "changed", "target", "result"):
                    (folder / f"{name}.py").write_text(getattr(finding, name))
                for number, truth in enumerate(finding.truths):
                    (folder / f"truth{number}.py").write_text(truth)
        if time.monotonic() > end:
            break
    print(dict(counts))
    return 1 if counts["wrong"] or counts["contradiction"] else 0


if __name__ == "__main__":
    sys.exit(main())
