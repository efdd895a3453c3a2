"""An estimate as a picture: bars of device and host bytes by phase, as SVG or PNG."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from io import BytesIO
from typing import Any

from patchkit.errors import UsageError
from patchkit.tms.estimate import Estimate

COLOURS: Mapping[str, str] = {
    "parameters": "#4e79a7",
    "gradients": "#f28e2b",
    "optimizer": "#59a14f",
    "packing": "#bab0ac",
    "activations": "#edc948",
    "untracked": "#9c9c9c",
    "update buffer": "#b07aa1",
    "weight copies": "#76b7b2",
    "checkpoint": "#e15759",
}
"""By part; a backup has the colour of what it is of."""

_LEFT, _WIDTH, _RIGHT, _BAR, _STEP, _TOP = 110, 640, 90, 18, 24, 34
_FONT = 12
_SCALE = 2
"""Points of a PNG to one of the drawing."""


@dataclass(frozen=True, slots=True)
class Text:
    """Words whose base line begins there."""

    x: float
    y: float
    words: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle; ``title`` is what it stands for."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """What there is to draw, in the order in which it is drawn."""

    width: int
    height: int
    title: str
    pieces: tuple[Text | Bar, ...]


def colour(part: str) -> str:
    """Return the colour of a part, as #rrggbb."""
    return COLOURS[part.removeprefix("backup of ")]


def in_words(size: int) -> str:
    """Return bytes in GB (10^9) with two places."""
    return f"{size / 1e9:.2f} GB"


def drawn(estimate: Estimate, title: str) -> Drawing:
    """Lay the bars out: a row for each phase and side, and what the colours mean."""
    most = max((max(phase.device_bytes, phase.host_bytes) for phase in estimate.phases), default=0) or 1
    rows = [(phase.name, side, getattr(phase, side)) for phase in estimate.phases for side in ("device", "host")]
    used = list(dict.fromkeys(part.removeprefix("backup of ") for _, _, parts in rows for part in parts))
    bottom = _TOP + len(rows) * _STEP + 20
    pieces: list[Text | Bar] = [Text(0, 14, title)]
    for at, (name, side, parts) in enumerate(rows):
        pieces += _row(f"{name}, {side}", parts, _TOP + at * _STEP, most)
    for at, part in enumerate(used):
        x, y = _LEFT + at % 4 * 160, bottom + at // 4 * 20
        pieces += [Bar(x, y - 10, 12, 12, COLOURS[part]), Text(x + 17, y, part)]
    return Drawing(_LEFT + _WIDTH + _RIGHT, bottom + (len(used) + 3) // 4 * 20, title, tuple(pieces))


def _row(name: str, parts: Mapping[str, int], y: int, most: int) -> Iterator[Text | Bar]:
    yield Text(0, y + 13, name)
    x = float(_LEFT)
    for part, size in parts.items():
        width = size / most * _WIDTH
        yield Bar(x, y, width, _BAR, colour(part), f"{part}: {in_words(size)}")
        x += width
    yield Text(x + 5, y + 13, in_words(sum(parts.values())))


def as_svg(estimate: Estimate, title: str) -> str:
    """Return an SVG of its own, without fonts, scripts or links; each piece has its name and size as a title."""
    drawing = drawn(estimate, title)
    body = "\n".join(_svg(piece) for piece in drawing.pieces)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {drawing.width} {drawing.height}" role="img"'
        f' font-family="sans-serif" font-size="{_FONT}">\n<title>{escape(title)}</title>\n{body}\n</svg>\n'
    )


def _svg(piece: Text | Bar) -> str:
    if isinstance(piece, Text):
        return f'<text x="{piece.x:g}" y="{piece.y:g}">{escape(piece.words)}</text>'
    start = (
        f'<rect x="{piece.x:.1f}" y="{piece.y:g}" width="{piece.width:.1f}" height="{piece.height:g}"'
        f' fill="{piece.colour}"'
    )
    return f"{start}><title>{escape(piece.title)}</title></rect>" if piece.title else f"{start}/>"


def as_png(estimate: Estimate, title: str) -> bytes:
    """Return the same picture as PNG, on white. Raises UsageError without Pillow (the extra ``png``)."""
    try:
        image, draw, fonts = (importlib.import_module(f"PIL.{name}") for name in ("Image", "ImageDraw", "ImageFont"))
    except ImportError as error:
        raise UsageError(f"a PNG needs Pillow: {error}", hint="pip install pillow, or write an SVG") from error
    drawing = drawn(estimate, title)
    canvas: Any = image.new("RGB", (drawing.width * _SCALE, drawing.height * _SCALE), "white")
    pen: Any = draw.Draw(canvas)
    font: Any = fonts.load_default(_FONT * _SCALE)  # Comes with Pillow, so that the picture is the same everywhere.
    for piece in drawing.pieces:
        if isinstance(piece, Text):
            pen.text((piece.x * _SCALE, piece.y * _SCALE), piece.words, fill="black", font=font, anchor="ls")
        else:
            corner = (round((piece.x + piece.width) * _SCALE) - 1, round((piece.y + piece.height) * _SCALE) - 1)
            start = (round(piece.x * _SCALE), round(piece.y * _SCALE))
            if corner[0] >= start[0]:
                pen.rectangle((*start, *corner), fill=piece.colour)
    written = BytesIO()
    canvas.save(written, "PNG")
    return written.getvalue()
