"""The rules that the tests of git apply and GNU patch pin down, each with a case of ours (conformance.yaml).

``python -m tests.differential.conformance`` prints the table of docs/conformance.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import yaml

from patchkit.core.foreign.fitting import Misfits, fit_patches
from patchkit.core.foreign.lenient import read_foreign
from patchkit.core.placement import FilePlaced, place_file
from patchkit.core.unified import parse_patch
from patchkit.errors import PatchFormatError

from .programs import git_apply, gnu_patch, held, lay

ROWS = Path(__file__).parent / "conformance.yaml"
APPLIED, REFUSED, IN_PART = "applied", "refused", "in-part"

Answer = str | dict[str, str]
"""``applied``, ``refused``, ``in-part``, or the files that come out."""


class Row(msgspec.Struct, frozen=True, rename={"imported": "import"}, forbid_unknown_fields=True):
    """A rule and its case."""

    id: str
    rule: str
    pinned: str
    before: dict[str, str]
    patch: list[str]
    git: Any
    gnu: Any
    variant: Any
    imported: Any
    after: dict[str, str] | None = None
    strip: int = 1
    told: str = ""
    why: str = ""

    @property
    def text(self) -> bytes:
        """The patch."""
        return "".join(line + "\n" for line in self.patch).encode()

    @property
    def files(self) -> dict[str, bytes]:
        """The tree before."""
        return _encoded(self.before)

    def answer(self, files: dict[str, bytes] | None) -> Answer:
        """Return what a row calls the files that came out; None: it was refused."""
        if files is None:
            return REFUSED
        if self.after is not None and files == _encoded(self.after):
            return APPLIED
        return {name: text.decode() for name, text in files.items()}


def load_rows() -> list[Row]:
    """Read the rows."""
    return msgspec.convert(yaml.safe_load(ROWS.read_text()), list[Row])


def by_program(row: Row, folder: Path, program: str) -> Answer:
    """Return what git or GNU patch comes to; ``folder`` is made."""
    place = lay(folder / "tree", row.files)
    apply = {"git": git_apply, "gnu": gnu_patch}[program]
    ran = apply(place, row.text, f"-p{row.strip}")
    made = held(place)
    if not ran.returncode:
        return row.answer(made)
    return REFUSED if made == row.files else IN_PART


def by_variant(row: Row) -> Answer:
    """Return what our reader of variants comes to."""
    try:
        patch = parse_patch(row.text, "p")
    except PatchFormatError:
        return REFUSED
    made = row.files
    for file in patch.files:
        placed = place_file(file, made.pop(file.path, None), {})
        if not isinstance(placed, FilePlaced):
            return REFUSED
        if placed.content is not None:
            made[file.path] = placed.content
    return row.answer(made)


def by_import(row: Row) -> tuple[Answer, str]:
    """Return what the reader of foreign patches comes to, and what it tells of."""
    before = row.files
    try:
        fitted = fit_patches([read_foreign(row.text, "p")], before.get)
    except PatchFormatError:
        return REFUSED, ""
    if isinstance(fitted, Misfits):
        return REFUSED, ""
    made = {name: text for name, text in {**before, **fitted.contents}.items() if text is not None}
    return row.answer(made), ", ".join([*(repair.rule for repair in fitted.repairs), *fitted.notes])


def table(rows: list[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| rule | pinned by | case | git apply | GNU patch | variant | import |", "| --- " * 7 + "|"]
    for row in rows:
        cells = [row.rule + (f" {row.why}" if row.why else ""), row.pinned, f"`{row.id}`"]
        cells += map(_cell, (row.git, row.gnu, row.variant, row.imported))
        if row.told:
            cells[-1] += ", told"
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(answer: Answer) -> str:
    if isinstance(answer, dict):
        return "otherwise"
    return {IN_PART: "refused, in part"}.get(answer, answer)


def _encoded(files: dict[str, str]) -> dict[str, bytes]:
    return {name: text.encode() for name, text in files.items()}


if __name__ == "__main__":
    print(table(load_rows()), end="")  # noqa: T201
