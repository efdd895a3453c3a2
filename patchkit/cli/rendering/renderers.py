"""The forms that an answer of check-upstream can have, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from patchkit.core.upstream_report import UpstreamReport

if TYPE_CHECKING:
    from patchkit.cli.rendering.places import Places


@dataclass(frozen=True, slots=True)
class Looks:
    """What a renderer has to know beside the report."""

    colour: bool
    """Whether the text is for a terminal that shows colours."""
    width: int
    """Columns of the terminal."""
    places: Places | None
    """Where the series' own files have what is spoken of; None when nobody has read them."""


Renderer = Callable[[UpstreamReport, Looks], str]

# Each renderer is imported when it is asked for: rich and xml take longer than a --help should.
# ruff: noqa: PLC0415


def _text(report: UpstreamReport, looks: Looks) -> str:
    from patchkit.cli.rendering.text import render_text

    return render_text(report, colour=looks.colour, width=looks.width)


def _json(report: UpstreamReport, _looks: Looks) -> str:
    from patchkit.cli.rendering.as_json import render_json

    return render_json(report)


def _markdown(report: UpstreamReport, _looks: Looks) -> str:
    from patchkit.cli.rendering.markdown import render_markdown

    return render_markdown(report)


def _junit(report: UpstreamReport, _looks: Looks) -> str:
    from patchkit.cli.rendering.junit import render_junit

    return render_junit(report)


def _sarif(report: UpstreamReport, looks: Looks) -> str:
    from patchkit.cli.rendering.sarif import render_sarif

    return render_sarif(report, _places(report, looks))


def _github(report: UpstreamReport, looks: Looks) -> str:
    from patchkit.cli.rendering.github import render_github

    return render_github(report, _places(report, looks))


def _places(report: UpstreamReport, looks: Looks) -> Places:
    from patchkit.cli.rendering.places import places_of

    return looks.places or places_of(report, report.series)


def _html(report: UpstreamReport, _looks: Looks) -> str:
    from patchkit.cli.rendering.html import render_html

    return render_html(report)


RENDERERS: Final[Mapping[str, Renderer]] = {
    "text": _text,
    "json": _json,
    "markdown": _markdown,
    "junit": _junit,
    "sarif": _sarif,
    "github": _github,
    "html": _html,
}
"""Every renderer by the name that --format has for it."""


def render(
    report: UpstreamReport, style: str, *, colour: bool = False, width: int = 80, places: Places | None = None
) -> str:
    """Return a report in a form of ``RENDERERS``, its last line ended; empty when text or markdown have nothing to say.

    ``places`` (see ``places.read_places``) lets sarif and github name lines of the series' files; without it they name
    the files alone. Raises KeyError for a form that there is not.
    """
    return RENDERERS[style](report, Looks(colour, width, places))
