"""Bytes as lines that keep their endings and a missing last newline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain

from patchkit.core.parts import of_part, parts_of
from patchkit.core.remembered import remembered


def split_lines(content: bytes) -> list[bytes]:
    r"""Split at ``\n`` only, endings kept; joining the result gives ``content`` back.

    ``bytes.splitlines`` also splits at a lone carriage return, which git and diff do not.
    """
    if b"\r" not in content:
        return content.splitlines(keepends=True)
    lines = content.split(b"\n")
    last = lines.pop()
    kept = [line + b"\n" for line in lines]
    if last:
        kept.append(last)
    return kept


@of_part
def lines_in(text: bytes) -> tuple[bytes, ...]:
    """Return the lines of a part of a text."""
    return tuple(split_lines(text))


@remembered(most=2_000_000, lasting=False)
def lines_of(content: bytes) -> tuple[bytes, ...]:
    """Return what ``split_lines`` does, for texts whose lines several steps ask for.

    Lines that two texts have in a part of theirs that is the same are the same objects, which are quickly compared.
    """
    return tuple(chain.from_iterable(map(lines_in, parts_of(content))))


@of_part
def bare_lines_in(text: bytes) -> tuple[bytes, ...]:
    """Return the lines of a part of a text without their endings."""
    lines = text.split(b"\n")
    return tuple(lines if lines[-1] else lines[:-1])


def bare_lines(content: bytes) -> Iterator[bytes]:
    """Yield the lines of a text without their endings, and what stands behind the last ending, be it nothing."""
    lines = chain.from_iterable(map(bare_lines_in, parts_of(content)))
    return chain(lines, (b"",)) if content[-1:] in (b"", b"\n") else lines


class LineIndex:
    """The lines of a text, for questions about many hunks."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self.lines = lines
        self._is_asked = False

    def places(self, old: list[bytes]) -> list[int]:
        """Return the 0-based lines at which ``old`` stands, in order; all of them for an empty ``old``."""
        lines = self.lines
        if not old:
            return list(range(len(lines) + 1))
        if not self._is_asked:
            # One hunk is found before it is known where all lines stand.
            self._is_asked = True
            last = len(lines) - len(old)
            return [at for at in range(last + 1) if lines[at] == old[0] and lines[at : at + len(old)] == old]
        rows, below = min(
            ((self._rows.get(line, []), below) for below, line in enumerate(old)), key=lambda each: len(each[0])
        )
        begins = (row - below for row in rows if row >= below)
        return [at for at in begins if lines[at : at + len(old)] == old]

    @cached_property
    def _rows(self) -> dict[bytes, list[int]]:
        """Where each line stands."""
        found: dict[bytes, list[int]] = {}
        for row, line in enumerate(self.lines):
            found.setdefault(line, []).append(row)
        return found
