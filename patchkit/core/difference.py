"""The difference of two texts as a patch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import Match, SequenceMatcher
from itertools import pairwise
from typing import Literal

from patchkit.core.blobs import blob_id
from patchkit.core.lines import split_lines
from patchkit.core.model import FilePatch, Hunk, HunkLine, LineKind, Patch
from patchkit.core.quoting import quoted
from patchkit.core.unified import print_patch

CONTEXT = 3
"""Context lines on each side of a change, as diff and git use by default."""

_NULL_ID = "0" * 40

_MOST_PAIRS = 300_000
"""Pairs of equal lines, one of each text, up to which the runs of them are kept: some 30 MiB."""

_Run = tuple[int, int, int]
"""0-based first lines in the old and in the new text, and how many lines."""
_Opcode = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]


def difference(old: bytes | None, new: bytes | None, path: str) -> FilePatch | None:
    """Return the patch from ``old`` to ``new`` (None: no such file), or None when they are equal.

    The matching is difflib's without its junk heuristic, so the result depends on the two texts alone.
    """
    if old == new:
        return None
    before = split_lines(old or b"")
    after = split_lines(new or b"")
    groups = _TrimmedMatcher(before, after).get_grouped_opcodes(CONTEXT)
    hunks = tuple(_hunk(group, before, after) for group in groups)
    return FilePatch(None if old is None else path, None if new is None else path, hunks)


def print_git_patch(files: Mapping[str, tuple[bytes | None, bytes | None]], preamble: bytes) -> bytes:
    """Print the differences of ``files`` (path to old and new text) with git's headers and full blob ids.

    Full ids let ``git apply --3way`` find the base wherever the user's repository has it.
    """
    parts = [preamble]
    for path in sorted(files):
        old, new = files[path]
        patch = difference(old, new, path)
        if patch is None:
            continue
        old_id = _NULL_ID if old is None else blob_id(old)
        new_id = _NULL_ID if new is None else blob_id(new)
        header = ""
        if old is None:
            header += f"new file mode 100644\nindex {old_id}..{new_id}\n"
        elif new is None:
            header += f"deleted file mode 100644\nindex {old_id}..{new_id}\n"
        else:
            header += f"index {old_id}..{new_id} 100644\n"
        parts.append(b"diff --git " + quoted(f"a/{path}") + b" " + quoted(f"b/{path}") + b"\n" + header.encode())
        parts.append(print_patch(Patch((patch,))))
    return b"".join(parts)


class _TrimmedMatcher(SequenceMatcher[bytes]):
    """A matcher that cuts off the common head and tail: matching is quadratic, files are long and changes few.

    For each block that it finds difflib goes through all lines again. Here the runs of lines that stand in both texts
    are found once, and each block among them; where there are too many to keep, difflib does it.
    """

    def __init__(self, before: list[bytes], after: list[bytes]) -> None:
        self._head = _common(before, after)
        self._tail = _common(before[self._head :][::-1], after[self._head :][::-1])
        self._lengths = len(before), len(after)
        self._old = before[self._head : len(before) - self._tail]
        self._new = after[self._head : len(after) - self._tail]
        super().__init__(None, self._old, self._new, autojunk=False)

    def get_matching_blocks(self) -> list[Match]:
        """Return the blocks that SequenceMatcher finds, in order, and the empty one behind them."""
        rows: dict[bytes, list[int]] = {}
        for row, line in enumerate(self._new):
            rows.setdefault(line, []).append(row)
        if sum(len(rows.get(line, ())) for line in self._old) > _MOST_PAIRS:
            return super().get_matching_blocks()
        found: list[_Run] = []
        boxes = [(0, len(self._old), 0, len(self._new), _runs(self._old, rows))]
        while boxes:
            first, last, first_new, last_new, runs = boxes.pop()
            inside = sorted(_clipped(runs, first, last, first_new, last_new))
            if _is_chain(inside):
                # Whichever is taken first, it leaves all others whole.
                found += inside
                continue
            # Of the longest ones the first in the old text, of these the first in the new one.
            i, j, size = best = max(inside, key=lambda run: (run[2], -run[0], -run[1]))
            found.append(best)
            boxes += [(first, i, first_new, j, inside), (i + size, last, j + size, last_new, inside)]
        blocks: list[Match] = []
        for i, j, size in sorted(found):
            above = blocks[-1] if blocks else Match(0, 0, 0)
            if above.size and (above.a + above.size, above.b + above.size) == (i, j):
                blocks[-1] = Match(above.a, above.b, above.size + size)
            else:
                blocks.append(Match(i, j, size))
        return [*blocks, Match(len(self._old), len(self._new), 0)]

    def get_opcodes(self) -> list[_Opcode]:
        """Return the opcodes over the whole texts, as SequenceMatcher does.

        Equal runs never neighbour each other here either: what is left between head and tail begins and ends unequal.
        """
        head, (old, new) = self._head, self._lengths
        opcodes: list[_Opcode] = [("equal", 0, head, 0, head)] if head else []
        opcodes += [(tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in super().get_opcodes()]
        if self._tail:
            opcodes.append(("equal", old - self._tail, old, new - self._tail, new))
        return opcodes


def _runs(old: Sequence[bytes], rows: Mapping[bytes, Sequence[int]]) -> list[_Run]:
    """Return the runs of lines that stand in both texts and cannot be made longer; ``rows``: where in the new one."""
    runs: list[_Run] = []
    begun: dict[int, int] = {}
    for i in range(len(old) + 1):
        goes_on = {j: begun.pop(j - 1, i) for j in (rows.get(old[i], ()) if i < len(old) else ())}
        runs.extend((start, j + 1 - (i - start), i - start) for j, start in begun.items())
        begun = goes_on
    return runs


def _clipped(runs: Iterable[_Run], first: int, last: int, first_new: int, last_new: int) -> Iterator[_Run]:
    """Yield what of the runs lies within these lines of the old text and of the new one."""
    for i, j, size in runs:
        cut = max(0, first - i, first_new - j)
        length = min(size, last - i, last_new - j) - cut
        if length > 0:
            yield i + cut, j + cut, length


def _is_chain(runs: Sequence[_Run]) -> bool:
    """Tell whether of some runs, in the order of the old text, each begins behind the one before in both texts."""
    return all(i + size <= k and j + size <= m for (i, j, size), (k, m, _) in pairwise(runs))


def _common(one: list[bytes], two: list[bytes]) -> int:
    count = 0
    for first, second in zip(one, two, strict=False):
        if first != second:
            break
        count += 1
    return count


def _hunk(group: Sequence[tuple[str, int, int, int, int]], before: list[bytes], after: list[bytes]) -> Hunk:
    lines: list[HunkLine] = []
    for tag, i1, i2, j1, j2 in group:
        if tag == "equal":
            lines.extend(HunkLine(LineKind.CONTEXT, text) for text in before[i1:i2])
            continue
        lines.extend(HunkLine(LineKind.REMOVED, text) for text in before[i1:i2])
        lines.extend(HunkLine(LineKind.ADDED, text) for text in after[j1:j2])
    first_old, last_old = group[0][1], group[-1][2]
    first_new, last_new = group[0][3], group[-1][4]
    # An empty side is numbered by the line before it (the unified format of diff(1)).
    old_start = first_old + 1 if last_old > first_old else first_old
    new_start = first_new + 1 if last_new > first_new else first_new
    return Hunk("", old_start, new_start, tuple(lines))
