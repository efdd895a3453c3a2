"""The answer of check-upstream as one page that needs nothing but a browser: no network, no server, no other file.

Everything can be read without JavaScript: a cell of the matrix is a link to its answer further down. With it the answer
opens beside the matrix, the keyboard moves from cell to cell, and rows and columns can be filtered.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import NamedTuple

import msgspec

from patchkit.cli.rendering.printable import inert_markup
from patchkit.cli.rendering.telling import size, verdict_told, worth_telling
from patchkit.core.carry_report import drift_changes, short_signatures
from patchkit.core.json_text import to_json
from patchkit.core.printing import printable
from patchkit.core.upstream_report import ConflictReport, HunkAnswer, PatchAnswer, TargetAnswer, UpstreamReport

SIGNS = {
    "exact": "=",
    "moved": "~",
    "merged": "m",
    "restructured": "r",
    "upstreamed": "u",
    "superseded": "v",
    "obsolete": "o",
    "skipped": "s",
    "conflict": "x",
}
"""What a cell shows, by the verdict of its hunk."""
PATCH_SIGNS = {
    "recorded": "ok",
    "carries": "ok",
    "not-needed": "-",
    "review": "?",
    "conflict": "x",
    "differs": "x",
    "failed": "x",
    "no-base": "x",
}


class Cell(NamedTuple):
    """One hunk, or one patch, on one target."""

    target: str
    place: str
    """PATCH/HUNK@TARGET or PATCH@TARGET: what the address of the page calls it."""
    sign: str
    state: str
    verdict: str
    answer: str
    """Id of the answer's section; cells with the same answer share it."""


class Row(NamedTuple):
    """One hunk over all targets."""

    name: str
    path: str
    group: str
    intent: str
    cells: tuple[Cell | None, ...]
    """None where the hunk is not for the target."""


class Block(NamedTuple):
    """One patch over all targets."""

    name: str
    cells: tuple[Cell | None, ...]
    rows: tuple[Row, ...]


class Section(NamedTuple):
    """An answer, and where it is the answer."""

    id: str
    patch: PatchAnswer
    hunk: HunkAnswer | None
    targets: list[str]


def render_html(report: UpstreamReport) -> str:
    """Return the page. The same report always gives the same bytes."""
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - only this page is made from a template

    page = files("patchkit.cli.rendering") / "page"
    style = (page / "page.css").read_text(encoding="utf-8")
    script = (page / "page.js").read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters["shown"] = _shown
    environment.filters["diff"] = _diff_lines
    environment.filters["sides"] = _sides
    environment.filters["drifted"] = drift_changes
    environment.filters["signatures"] = lambda drift: short_signatures(drift.old_signature, drift.new_signature)
    found, older = worth_telling(report.found)
    sections = _Sections()
    blocks = [_block(name, report.targets, sections) for name in _patch_names(report.targets)]
    made = environment.from_string((page / "page.html.j2").read_text(encoding="utf-8")).render(
        report=report,
        blocks=blocks,
        sections=sections.all,
        found=found,
        older=older,
        size=size(report),
        told=verdict_told(report),
        signs=SIGNS,
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
    )
    return inert_markup(made)


class _Sections:
    """Answers, each once: most releases give a hunk the same one."""

    def __init__(self) -> None:
        self._known: dict[bytes, Section] = {}

    @property
    def all(self) -> list[Section]:
        return list(self._known.values())

    def add(self, target: TargetAnswer, patch: PatchAnswer, hunk: HunkAnswer | None) -> str:
        alone = msgspec.structs.replace(patch, hunks=())
        key = to_json((patch.name, hunk) if hunk is not None else alone)
        section = self._known.setdefault(key, Section(f"a{len(self._known)}", alone, hunk, []))
        section.targets.append(target.title)
        return section.id


def _patch_names(targets: Iterable[TargetAnswer]) -> list[str]:
    return list(dict.fromkeys(patch.name for target in targets for patch in target.patches))


def _block(name: str, targets: Sequence[TargetAnswer], sections: _Sections) -> Block:
    patches = [next((patch for patch in target.patches if patch.name == name), None) for target in targets]
    heads: list[Cell | None] = []
    for target, patch in zip(targets, patches, strict=True):
        if patch is None:
            heads.append(None)
            continue
        section = sections.add(target, patch, None)
        place = f"{name}@{target.name}"
        heads.append(Cell(target.name, place, PATCH_SIGNS[patch.verdict], patch.state, patch.verdict, section))
    first: dict[str, HunkAnswer] = {}
    for patch in patches:
        for hunk in patch.hunks if patch is not None else ():
            first[hunk.id] = hunk
    rows: list[Row] = []
    for hunk_id, example in first.items():
        cells: list[Cell | None] = []
        for target, patch in zip(targets, patches, strict=True):
            here = next((each for each in patch.hunks if each.id == hunk_id), None) if patch is not None else None
            if patch is None or here is None:
                cells.append(None)
                continue
            section = sections.add(target, patch, here)
            place = f"{name}/{hunk_id}@{target.name}"
            cells.append(Cell(target.name, place, SIGNS[here.verdict], here.state, here.verdict, section))
        rows.append(Row(hunk_id, example.path, example.group, example.intent, tuple(cells)))
    return Block(name, tuple(heads), tuple(rows))


def _shown(text: str) -> str:
    """Return text in which no character is invisible or turns the direction of writing."""
    return "\n".join(printable(line.expandtabs(8)) for line in text.split("\n"))


def _diff_lines(diff: str) -> list[tuple[str, str]]:
    """Return class and text of each line of a diff."""
    kinds = {"+": "added", "-": "removed", "@": "place"}
    lines = _shown(diff.rstrip("\n")).split("\n")
    return [("file" if line.startswith(("--- ", "+++ ")) else kinds.get(line[:1], "same"), line) for line in lines]


def _sides(conflict: ConflictReport) -> list[tuple[str, str]]:
    """Return title and text of the three sides, without the indentation that all of them share."""
    sides = [("base", conflict.base), ("the patch", conflict.changed), ("upstream", conflict.target)]
    lines = [line for _, text in sides for line in text.expandtabs(8).split("\n") if line.strip()]
    shared = min((len(line) - len(line.lstrip(" ")) for line in lines), default=0)
    return [(title, "\n".join(line[shared:] for line in text.expandtabs(8).split("\n"))) for title, text in sides]


def _hash(text: str) -> str:
    """Return how a content security policy names the one script or style that may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
