"""Merge other projects' example merges, and tell how near each result is to the expected file.

    python -m benchmarks.carry.conformance --mergiraf CLONE/examples/python --weave CLONE/benchmarks/flask

Any folder below the given one that holds a base, two sides and an expected file is a case, under mergiraf's names
(Base.py, Left.py, Right.py, Expected.py or ExpectedIdeally.py) or weave's (base, ours, theirs, human).
The left side is the target, as in ``git merge`` the side that is checked out; the right side is the change.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.carry.carriers import CARRIERS, Answer, Workplace, available
from benchmarks.carry.cases import Case, Family, Texts
from benchmarks.carry.judge import Judge, Letter, Status
from benchmarks.carry.records import entry_of

NAMES = (
    ("base.py", "right.py", "left.py", "expected.py"),
    ("Base.py", "Right.py", "Left.py", "Expected.py"),
    ("Base.py", "Right.py", "Left.py", "ExpectedIdeally.py"),
    ("base", "theirs", "ours", "human"),
)
"""Files of a case: base, changed, target, expected."""

WORDS = {
    Letter.EXACT: "exact",
    Letter.BLANK: "exact but for blank lines",
    Letter.TREE: "same tree",
    Letter.IMPORTS: "same but for imports",
    Letter.WRONG: "differs, wrong",
    Letter.UNKNOWN: "differs",
}


class Example(msgspec.Struct, frozen=True):
    """One merge; ``texts.human`` is the expected file."""

    name: str
    texts: Texts


def examples(folder: Path) -> Iterator[Example]:
    """Yield the Python cases at or below ``folder``, in the order of their names."""
    for place in sorted(path for path in (folder, *folder.rglob("*")) if path.is_dir()):
        for names in NAMES:
            files = [place / name for name in names]
            if all(map(Path.is_file, files)) and (names[0].endswith(".py") or place.name.endswith(".py")):
                base, changed, target, expected = (path.read_bytes() for path in files)
                yield Example(place.name, Texts(base, changed, target, expected))
                break


def outcome(example: Example, answer: Answer) -> str:
    """Return in words how near an answer is to the expected file."""
    case = Case(example.name, Family.MERGE_CONFLICT, source="", source_parent="", target_parent="", path="example.py")
    entry = entry_of(answer, Judge(case, example.texts))
    if entry.judgement is None:
        # Some of mergiraf's cases are about a conflict: the expected file has it marked.
        expected = entry.status is Status.CONFLICT and b"\n<<<<<<< " in (example.texts.human or b"")
        return "conflict, as expected" if expected else entry.status.value
    likeness = WORDS[entry.judgement.letter]
    return f"review ({likeness})" if entry.status is Status.REVIEW else likeness


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line a case and a count of the outcomes for each set and tool."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.carry.conformance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--mergiraf", type=Path, metavar="DIR")
    parser.add_argument("--weave", type=Path, metavar="DIR")
    parser.add_argument("--tools", type=lambda text: text.split(","), default=["patchkit"], help=", ".join(CARRIERS))
    parser.add_argument("--results", type=Path, metavar="DIR", help="write every content there, as SET/CASE.TOOL.py")
    options = parser.parse_args(arguments)
    chosen = [(name, getattr(options, name)) for name in ("mergiraf", "weave") if getattr(options, name)]
    tools = available(options.tools)
    for name, folder in chosen:
        _print_set(name, list(examples(folder)), tools, options.results)
    return 0 if chosen and tools else 2


def _print_set(name: str, cases: Sequence[Example], tools: Sequence[str], results: Path | None) -> None:
    counts: dict[str, Counter[str]] = {tool: Counter() for tool in tools}
    with tempfile.TemporaryDirectory(prefix="carry-") as scratch:
        for case in cases:
            for tool in tools:
                answer = CARRIERS[tool].answer(Workplace(Path(scratch), "example.py", case.texts))
                told = outcome(case, answer)
                counts[tool][told] += 1
                # To reach such a file is to drop the change silently.
                dropped = "(expected: the left side as it was)" if case.texts.human == case.texts.target else ""
                print(f"{name:9} {case.name:45} {tool:15} {told:32} {dropped} {answer.error}".rstrip())
                if results and answer.content is not None:
                    (results / name).mkdir(parents=True, exist_ok=True)
                    (results / name / f"{case.name}.{tool}.py").write_bytes(answer.content)
    for tool in tools:
        told = ", ".join(f"{words} {number}" for words, number in counts[tool].most_common())
        print(f"{name}, {tool}: {len(cases)} cases: {told}")
    print()


if __name__ == "__main__":
    sys.exit(main())
