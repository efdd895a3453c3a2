"""Bytes as lines that keep their endings and a missing last newline."""

from __future__ import annotations

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


@remembered(most=2_000_000)
def lines_of(content: bytes) -> tuple[bytes, ...]:
    """Return what ``split_lines`` does, for texts whose lines several steps ask for."""
    return tuple(split_lines(content))
