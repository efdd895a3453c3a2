"""Draw memory over time during one pause and resume, from what benchmarks.gpu_offload has measured.

python -m benchmarks.gpu_plot FIGURES.json PICTURE.svg
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

COLOURS = ("#e15759", "#f28e2b", "#4e79a7")
LEFT, TOP, WIDTH, HEIGHT, GAP = 60, 40, 640, 150, 46
GIB = 1 << 30

Sample = Sequence[float]
"""Seconds since the pause began, bytes used of the device, bytes of the host."""


def main(figures: Path, picture: Path) -> None:
    """Read, draw, write."""
    picture.write_text(draw(json.loads(figures.read_text(encoding="utf-8"))), encoding="utf-8")


def draw(report: Mapping[str, Any]) -> str:
    """Return an SVG of its own, without fonts, scripts or links: device above, host below."""
    sampled = {name: found["samples"] for name, found in report["settings"].items() if found["samples"]}
    seconds = max(samples[-1][0] for samples in sampled.values())
    body = list(_legend(sampled))
    for at, (side, title) in enumerate(((1, "device, GiB used"), (2, "host, GiB of the process"))):
        body += _panel(sampled, side, title, TOP + at * (HEIGHT + GAP), seconds)
    height = TOP + 2 * (HEIGHT + GAP) + 10
    machine = report["machine"]
    body.append(_text(LEFT, height - 12, f"seconds since the pause began; {machine['gpu']}, torch {machine['torch']}"))
    lines = "\n".join(body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 20}" height="{height}"'
        f' font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n{lines}\n</svg>\n'
    )


def _legend(sampled: Mapping[str, Sequence[Sample]]) -> Iterator[str]:
    for at, name in enumerate(sampled):
        x = LEFT + at * 210
        yield f'<rect x="{x}" y="8" width="12" height="12" fill="{COLOURS[at % len(COLOURS)]}"/>'
        yield _text(x + 17, 18, name)


def _panel(sampled: Mapping[str, Sequence[Sample]], side: int, title: str, top: int, seconds: float) -> Iterator[str]:
    most = max(sample[side] for samples in sampled.values() for sample in samples) / GIB
    yield _text(LEFT, top - 6, title)
    yield f'<path d="M{LEFT},{top}V{top + HEIGHT}H{LEFT + WIDTH}" fill="none" stroke="#888"/>'
    for part in (0.0, 0.5, 1.0):
        y = top + HEIGHT * (1 - part)
        yield _text(LEFT - 8, y + 4, f"{most * part:.1f}", anchor="end")
        x = LEFT + WIDTH * part
        yield _text(x, top + HEIGHT + 15, f"{seconds * part:.1f}", anchor="middle")
    for at, (name, samples) in enumerate(sampled.items()):
        points = " ".join(
            f"{LEFT + WIDTH * sample[0] / seconds:.1f},{top + HEIGHT * (1 - sample[side] / GIB / most):.1f}"
            for sample in samples
        )
        yield (
            f'<polyline points="{points}" fill="none" stroke="{COLOURS[at % len(COLOURS)]}" stroke-width="2">'
            f"<title>{escape(name)}</title></polyline>"
        )


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
