from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from trees.snapshots import lay

from patchkit.cli.rendering.places import document_lines, places_of, read_places, variant_lines
from patchkit.core.series import PatchDocument
from patchkit.core.unified import parse_patch
from patchkit.store.documents import parse_document
from patchkit.store.location import default_patches

from .reports import everything, fine_target, report

VARIANT = """\
--- a/m/one.py
+++ b/m/one.py
@@ -1,3 +1,4 @@ config-field
 a
+@@ -1 +1 @@ not-a-header
 b
@@ -9 +10,2 @@ grad-data
 c
+d
@@ -20 +22 @@ grad-data
-e
+f
"""

DOCUMENT = """\
name: one
why: |
  hunks:
    - id: quoted
hunks:
  - id: config-field
    file: m/one.py
  - id: "grad-data"
checks:
  - id: grad-data
    rule:
      pattern: a
"""


def test_a_hunk_of_a_variant_is_at_its_first_header() -> None:
    assert variant_lines(VARIANT) == {"config-field": 3, "grad-data": 7}


def test_hunks_and_checks_of_a_document_are_at_their_ids() -> None:
    lines = document_lines(DOCUMENT)

    assert {key: lines[key] for key in lines if not key.startswith("why/")} == {
        "hunks/config-field": 6,
        "hunks/grad-data": 8,
        "checks/grad-data": 10,
    }


@pytest.mark.parametrize("path", sorted(default_patches().glob("*/patch.yaml")), ids=lambda path: path.parent.name)
def test_every_hunk_and_check_of_our_own_patches_has_a_line(path: Path) -> None:
    document = parse_document(PatchDocument, path.read_bytes(), path.name)
    lines = path.read_text().splitlines()
    found = document_lines(path.read_text())

    assert {
        key: lines[number - 1].split()[-1] for key, number in found.items() if key.startswith(("hunks/", "checks/"))
    } == {
        **{f"hunks/{hunk.id}": hunk.id for hunk in document.hunks},
        **{f"checks/{check.id}": check.id for check in document.checks},
    }


@pytest.mark.parametrize(
    "path", sorted(default_patches().glob("*/variants/*.patch")), ids=lambda path: f"{path.parts[-3]}/{path.name}"
)
def test_every_hunk_of_our_own_variants_has_a_line(path: Path) -> None:
    patch = parse_patch(path.read_bytes(), path.name)
    lines = path.read_text().splitlines()
    found = variant_lines(path.read_text())

    assert found.keys() == {hunk.id for file in patch.files for hunk in file.hunks}
    assert [name for name, number in found.items() if not lines[number - 1].endswith(f" @@ {name}")] == []


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ({"variants/own.patch": 4, "variants/base.patch": 5, "patch.yaml": 6}, ("variants/own.patch", 4)),
        ({"variants/base.patch": 5, "patch.yaml": 6}, ("variants/base.patch", 5)),
        ({"patch.yaml": 6}, ("patch.yaml", 6)),
        ({}, ("patch.yaml", 1)),
    ],
    ids=["own variant", "variant of the base", "patch.yaml", "nothing known"],
)
def test_a_hunk_is_looked_for_in_its_variant_that_of_its_base_and_patch_yaml(
    lines: dict[str, int], expected: tuple[str, int]
) -> None:
    base = fine_target("v0.19.2")
    (grads, *_) = base.patches
    base = replace(base, patches=(replace(grads, variant="base.patch"),))
    answer = replace(grads, variant="own.patch", base="0.19.2")
    known = {
        f"{grads.name}/{file}": {"hunks/grad-data" if file == "patch.yaml" else "grad-data": line}
        for file, line in lines.items()
    }
    places = places_of(report(base), "patches", known)
    file, line = expected

    assert places.of_hunk(answer, "grad-data") == (f"patches/{grads.name}/{file}", line)


def test_the_files_of_a_series_are_read_and_named_from_the_root_of_its_repository(tmp_path: Path) -> None:
    series = tmp_path / "repo" / "some" / "series"
    lay(
        series,
        {
            "no-backup-grad-buffers/patch.yaml": DOCUMENT.encode(),
            "no-backup-grad-buffers/variants/v0.19.0.patch": VARIANT.encode() + b"\xff\n",
        },
    )
    (tmp_path / "repo" / ".git").mkdir()
    places = read_places(everything(), series)

    assert places.folder == "some/series"
    assert dict(places.lines) == {
        "no-backup-grad-buffers/patch.yaml": document_lines(DOCUMENT),
        "no-backup-grad-buffers/variants/v0.19.0.patch": variant_lines(VARIANT),
    }
    assert places.variants["0.19.2", "no-backup-param-buffers"] == "v0.19.0.patch"


def test_a_series_in_no_repository_is_named_by_its_whole_path(tmp_path: Path) -> None:
    assert read_places(everything(), tmp_path).folder == tmp_path.resolve().as_posix()
