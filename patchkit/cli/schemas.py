"""Every JSON schema that is shipped: ``python -m patchkit.cli.schemas DIR`` writes them; a test compares them."""

from __future__ import annotations

import sys
from pathlib import Path

from patchkit.cli.tms_reports import BuildEnvReport, CycleReport, IdentifyReport, ProbeReport, TriageReport
from patchkit.store import schemas

_TITLES: schemas.Titles = {
    "tms_identify_report": (IdentifyReport, "JSON output of patchkit tms identify"),
    "tms_probe_report": (ProbeReport, "JSON output of patchkit tms probe"),
    "tms_triage_report": (TriageReport, "JSON output of patchkit tms triage"),
    "tms_cycle_report": (CycleReport, "JSON output of patchkit tms cycle"),
    "tms_build_env_report": (BuildEnvReport, "JSON output of patchkit tms build-env"),
}


def schema_texts() -> dict[str, bytes]:
    """Return every schema by file name, such as ``patch.schema.json``."""
    return schemas.schema_texts({**schemas.TITLES, **_TITLES})


def main(folder: Path) -> None:
    """Write the schemas into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in schema_texts().items():
        (folder / name).write_bytes(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
