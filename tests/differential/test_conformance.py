from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conformance import IN_PART, REFUSED, Row, by_import, by_program, by_variant, load_rows, table

PAGE = Path(__file__).parents[2] / "docs/conformance.md"
ROWS = load_rows()
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)


@each_row
def test_git_apply_does_what_the_row_says(row: Row, tmp_path: Path) -> None:
    assert row.git == by_program(row, tmp_path / "x", "git")


@each_row
def test_gnu_patch_does_what_the_row_says(row: Row, tmp_path: Path) -> None:
    assert row.gnu == by_program(row, tmp_path / "x", "gnu")


@each_row
def test_our_reader_of_variants_does_what_the_row_says(row: Row) -> None:
    assert row.variant == by_variant(row)


@each_row
def test_import_does_what_the_row_says_and_tells_of_it(row: Row) -> None:
    assert (row.imported, row.told) == by_import(row)


def test_every_difference_says_why() -> None:
    def is_alike(row: Row) -> bool:
        answers = [REFUSED if answer == IN_PART else answer for answer in (row.git, row.gnu, row.variant, row.imported)]
        return all(answer == answers[0] for answer in answers)

    assert [row.id for row in ROWS if not (is_alike(row) or row.why)] == []
    assert len({row.id for row in ROWS}) == len(ROWS)


def test_the_page_has_every_row() -> None:
    _, _, rest = PAGE.read_text().partition("<!-- rows: begin -->\n")

    assert table(ROWS) == rest.partition("<!-- rows: end -->")[0]


def test_file_by_file_the_page_names_rows_that_there_are() -> None:
    _, _, listing = PAGE.read_text().partition("## File by file")
    words = re.findall(r"`([a-z][a-z0-9-]*)`", listing)

    assert [word for word in words if word not in {row.id for row in ROWS} | {"ed"}] == []
    assert len(words) > 100
