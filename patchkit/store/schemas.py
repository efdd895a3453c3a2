"""The JSON schemas of our files, made from the types that read them.

``python -m patchkit.store.schemas DIR`` writes them; a test compares those that are shipped.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from patchkit.core.evidence import EvidenceReport
from patchkit.core.rebasing.memory import Resolution
from patchkit.core.report import Report
from patchkit.core.series import LockDocument, PatchDocument, SeriesDocument
from patchkit.core.upstream import VersionsDocument
from patchkit.core.upstream_report import UpstreamReport

_TITLES: dict[str, tuple[type, str]] = {
    "series": (SeriesDocument, "series.yaml of a patchkit series"),
    "patch": (PatchDocument, "patch.yaml of a patchkit series"),
    "lock": (LockDocument, "lock.yaml of a patchkit series"),
    "resolution": (Resolution, "resolutions/*.yaml of a patchkit series"),
    "upstream_versions": (VersionsDocument, "upstream_versions.yaml"),
    "report": (Report, "JSON output of patchkit apply, revert, status and verify"),
    "evidence_report": (EvidenceReport, "JSON report of the GPU tests, which patchkit evidence reads"),
    "upstream_report": (UpstreamReport, "JSON output of patchkit check-upstream"),
}


def schema_texts() -> dict[str, bytes]:
    """Return every schema by file name, such as ``patch.schema.json``."""
    texts: dict[str, bytes] = {}
    for name, (kind, title) in _TITLES.items():
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
        schema |= msgspec.json.schema(kind)
        encoded = msgspec.json.encode(schema, order="sorted")
        texts[f"{name}.schema.json"] = msgspec.json.format(encoded, indent=2) + b"\n"
    return texts


def main(folder: Path) -> None:
    """Write the schemas into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in schema_texts().items():
        (folder / name).write_bytes(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
