"""docs/architecture.md against the package: its table is what people look for a module in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import patchkit

PACKAGE = Path(patchkit.__file__).parent
PAGE = Path(__file__).parents[2] / "docs/architecture.md"


def rows() -> Iterator[tuple[str, str]]:
    """Both cells of each row of the table of modules."""
    table = PAGE.read_text().partition("## Modules")[2].partition("\n## ")[0]
    for line in table.splitlines():
        if line.startswith("| `"):
            names, told = line.strip("| ").split(" | ", 1)
            yield names, told


def test_a_module_has_one_row() -> None:
    counted = Counter(names for names, _ in rows())

    assert [names for names, times in counted.items() if times > 1] == []


def test_modules_that_the_table_begins_a_row_with_exist() -> None:
    known = {path.relative_to(PACKAGE).with_suffix("").as_posix() for path in PACKAGE.rglob("*.py")}
    folders = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*") if path.is_dir()}
    lost = []
    for names, _ in rows():
        folder = ""
        for name in re.findall(r"`([^`]+)`", names):
            # The folder is said once, and is that of the names behind it.
            folder, own = name.rpartition("/")[::2] if "/" in name else (folder, name)
            path = f"{folder}/{own}".strip("/")
            if "*" not in own and path not in known and path not in folders:
                lost.append(path)

    assert lost == []


@pytest.mark.parametrize("folder", ["core/merging", "core/foreign", "core/refreshing", "core/rebasing", "core/history"])
def test_a_row_of_a_folder_names_each_module_in_it(folder: str) -> None:
    named = set(re.findall(r"`(\w+)`", next(told for names, told in rows() if names == f"`{folder}/`")))
    there = {path.stem for path in (PACKAGE / folder).glob("*.py")} - {"__init__"}

    assert there - named == set()
