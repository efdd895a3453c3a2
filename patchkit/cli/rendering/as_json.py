"""The answer as JSON, of the schema that patchkit ships (upstream_report.schema.json)."""

from __future__ import annotations

import msgspec

from patchkit.cli.rendering.printable import inert_json
from patchkit.core.json_text import to_json
from patchkit.core.upstream_report import UpstreamReport


def render_json(report: UpstreamReport) -> str:
    """Return the report as indented JSON, the same value as every other command's print_json would give."""
    return inert_json(msgspec.json.format(to_json(report), indent=2).decode()) + "\n"
