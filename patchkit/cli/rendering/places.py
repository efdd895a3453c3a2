"""Where the hunks and checks of a series stand in its own files, for programs that show a finding beside its line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from patchkit.core.upstream_report import PatchAnswer, UpstreamReport

_HUNK: Final = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@ (\S+)")
_SECTION: Final = re.compile(r"([\w-]+):")
_ENTRY: Final = re.compile(r"""\s*- id:\s+["']?([\w.-]+)""")


class FilePlace(NamedTuple):
    """A line of a file of the series."""

    path: str
    """Relative to the root of the repository, or absolute; with slashes."""
    line: int
    """1-based."""


@dataclass(frozen=True, slots=True)
class Places:
    """Lines in the files of a series."""

    folder: str
    """The series' folder: relative to the root of the repository that holds it, or absolute; with slashes."""
    lines: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """File below the folder to what stands in it to its 1-based line: ids of hunks for a variant, ``hunks/ID`` and
    ``checks/ID`` for a patch.yaml."""
    variants: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Target and patch to the variant that the target has now."""

    def of_hunk(self, patch: PatchAnswer, hunk: str) -> FilePlace:
        """Return the line of a hunk: in its variant, in that of the base, else in patch.yaml."""
        for variant in (patch.variant, self.variants.get((patch.base or "", patch.name))):
            file = f"{patch.name}/variants/{variant}"
            if variant and hunk in self.lines.get(file, {}):
                return self._place(file, self.lines[file][hunk])
        return self._in_document(patch, f"hunks/{hunk}")

    def of_check(self, patch: PatchAnswer, check: str) -> FilePlace:
        """Return the line of a check in patch.yaml."""
        return self._in_document(patch, f"checks/{check}")

    def of_patch(self, patch: PatchAnswer) -> FilePlace:
        """Return the first line of patch.yaml."""
        return self._place(f"{patch.name}/patch.yaml", 1)

    def of_series(self) -> FilePlace:
        """Return the first line of series.yaml."""
        return self._place("series.yaml", 1)

    def _in_document(self, patch: PatchAnswer, key: str) -> FilePlace:
        file = f"{patch.name}/patch.yaml"
        return self._place(file, self.lines.get(file, {}).get(key, 1))

    def _place(self, file: str, line: int) -> FilePlace:
        return FilePlace(f"{self.folder}/{file}", line)


def places_of(report: UpstreamReport, folder: str, lines: Mapping[str, Mapping[str, int]] | None = None) -> Places:
    """Return the places of a report; without ``lines`` a finding is at the first line of its file."""
    variants = {
        (target.name, patch.name): patch.variant
        for target in report.targets
        for patch in target.patches
        if patch.variant is not None
    }
    return Places(folder, lines or {}, variants)


def read_places(report: UpstreamReport, series: Path) -> Places:
    """Read the places of a report from the files of its series. A file that cannot be read has none."""
    files = {f"{patch.name}/patch.yaml" for target in report.targets for patch in target.patches}
    known = places_of(report, _folder(series))
    files |= {f"{patch}/variants/{variant}" for (_, patch), variant in known.variants.items()}
    lines: dict[str, Mapping[str, int]] = {}
    for file in sorted(files):
        try:
            text = (series / file).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        lines[file] = variant_lines(text) if file.endswith(".patch") else document_lines(text)
    return places_of(report, known.folder, lines)


def variant_lines(text: str) -> dict[str, int]:
    """Return the 1-based line of each hunk id in a variant; of an id that stands twice the first."""
    lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if match := _HUNK.match(line):
            lines.setdefault(match[1], number)
    return lines


def document_lines(text: str) -> dict[str, int]:
    """Return the 1-based line of each entry with an id in a patch.yaml, as ``hunks/ID`` and ``checks/ID``.

    Only the lines are looked for, so that a document that no longer parses has places too.
    """
    lines: dict[str, int] = {}
    section = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if match := _SECTION.match(line):
            section = match[1]
        elif match := _ENTRY.match(line):
            lines.setdefault(f"{section}/{match[1]}", number)
    return lines


def _folder(series: Path) -> str:
    """Return the series' folder relative to the root of its git repository, absolute when it is in none."""
    whole = series.resolve()
    root = next((folder for folder in (whole, *whole.parents) if (folder / ".git").exists()), None)
    return whole.as_posix() if root is None else whole.relative_to(root).as_posix()
