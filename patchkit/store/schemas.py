"""The JSON schemas of our files and reports, made from the types that read and write them.

Those of `patchkit tms` are added in patchkit/cli/schemas.py, which writes all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from patchkit.core.doctor import DoctorReport, FleetReport
from patchkit.core.evidence import EvidenceReport
from patchkit.core.pins.findings import BumpsReport, PinsReport
from patchkit.core.rebasing.memory import Resolution
from patchkit.core.report import Report
from patchkit.core.series import LockDocument, PatchDocument, SeriesDocument
from patchkit.core.upstream import VersionsDocument
from patchkit.core.upstream_report import UpstreamReport

Titles = Mapping[str, tuple[type, str]]
"""By name the type that a schema is made from, and what it is the schema of."""

TITLES: Titles = {
    "series": (SeriesDocument, "series.yaml of a patchkit series"),
    "patch": (PatchDocument, "patch.yaml of a patchkit series"),
    "lock": (LockDocument, "lock.yaml of a patchkit series"),
    "resolution": (Resolution, "resolutions/*.yaml of a patchkit series"),
    "upstream_versions": (VersionsDocument, "upstream_versions.yaml"),
    "report": (Report, "JSON output of patchkit apply, revert, status and verify"),
    "evidence_report": (EvidenceReport, "JSON report of the GPU tests, which patchkit evidence reads"),
    "upstream_report": (UpstreamReport, "JSON output of patchkit check-upstream"),
    "pins_report": (PinsReport, "JSON output of patchkit pins check"),
    "bumps_report": (BumpsReport, "JSON output of patchkit pins bump"),
    "doctor_report": (DoctorReport, "JSON output of patchkit doctor"),
    "fleet_report": (FleetReport, "JSON output of patchkit doctor --fleet"),
}


def schema_texts(titles: Titles = TITLES) -> dict[str, bytes]:
    """Return the schemas by file name, such as ``patch.schema.json``."""
    texts: dict[str, bytes] = {}
    for name, (kind, title) in titles.items():
        schema: dict[str, Any] = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
        schema |= msgspec.json.schema(kind)
        encoded = msgspec.json.encode(schema, order="sorted")
        texts[f"{name}.schema.json"] = msgspec.json.format(encoded, indent=2) + b"\n"
    return texts
