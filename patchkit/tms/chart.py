"""An estimate as a picture: bars of device and host bytes by phase, as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from patchkit.tms.estimate import Estimate

COLOURS: Mapping[str, str] = {
    "parameters": "#4e79a7",
    "gradients": "#f28e2b",
    "optimizer": "#59a14f",
    "activations": "#edc948",
    "untracked": "#9c9c9c",
    "update buffer": "#b07aa1",
    "weight copies": "#76b7b2",
    "checkpoint": "#e15759",
}
"""By part; a backup has the colour of what it is of."""

_LEFT, _WIDTH, _BAR, _STEP = 110, 640, 18, 24


def colour(part: str) -> str:
    """Return the colour of a part, as #rrggbb."""
    return COLOURS[part.removeprefix("backup of ")]


def in_words(size: int) -> str:
    """Return bytes in GB (10^9) with two places."""
    return f"{size / 1e9:.2f} GB"


def as_svg(estimate: Estimate, title: str) -> str:
    """Return an SVG of its own, without fonts, scripts or links; each piece has its name and size as a title."""
    most = max((max(phase.device_bytes, phase.host_bytes) for phase in estimate.phases), default=0) or 1
    rows = [(phase.name, side, getattr(phase, side)) for phase in estimate.phases for side in ("device", "host")]
    top = 34
    body = []
    for at, (name, side, parts) in enumerate(rows):
        y = top + at * _STEP
        body.append(_text(0, y + 13, f"{name}, {side}"))
        x = float(_LEFT)
        for part, size in parts.items():
            width = size / most * _WIDTH
            label = escape(f"{part}: {in_words(size)}")
            body.append(
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}" fill="{colour(part)}">'
                f"<title>{label}</title></rect>"
            )
            x += width
        body.append(_text(x + 5, y + 13, in_words(sum(parts.values()))))
    bottom = top + len(rows) * _STEP + 20
    used = dict.fromkeys(part.removeprefix("backup of ") for _, _, parts in rows for part in parts)
    for at, part in enumerate(used):
        x, y = _LEFT + at % 4 * 160, bottom + at // 4 * 20
        body.append(f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="{COLOURS[part]}"/>')
        body.append(_text(x + 17, y, part))
    height = bottom + (len(used) + 3) // 4 * 20
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 90} {height}" role="img"'
        f' font-family="sans-serif" font-size="12">\n<title>{escape(title)}</title>\n'
        + _text(0, 14, title)
        + "\n".join(["", *body])
        + "\n</svg>\n"
    )


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:g}" y="{y:g}">{escape(text)}</text>'
