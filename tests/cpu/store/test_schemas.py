from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest

import patchkit
from patchkit.cli.schemas import schema_texts
from patchkit.core.rebasing.memory import Around, Resolution, Sides
from patchkit.core.series import LockDocument, PatchDocument, SeriesDocument
from patchkit.core.upstream import VersionsDocument
from patchkit.errors import StoreError
from patchkit.store.documents import parse_document
from patchkit.store.location import default_patches, versions_file
from patchkit.store.lock import print_lock
from patchkit.store.memory import print_resolution
from patchkit.store.yaml_text import parse_yaml

from .made_up import PATCH, SERIES

PACKAGE = Path(patchkit.__file__).parent
SHIPPED = {path.name: path.read_bytes() for path in sorted((PACKAGE / "schemas").iterdir())}

KINDS: dict[str, type] = {
    "series": SeriesDocument,
    "patch": PatchDocument,
    "lock": LockDocument,
    "resolution": Resolution,
    "upstream_versions": VersionsDocument,
}


def ours() -> dict[Path, str]:
    """The YAML files of this project and the schema of each."""
    patches = default_patches()
    found = {patches / "series.yaml": "series", versions_file(patches): "upstream_versions"}
    found |= dict.fromkeys(sorted(patches.glob("*/patch.yaml")), "patch")
    found |= dict.fromkeys(patches.glob("lock.yaml"), "lock")
    found |= dict.fromkeys(sorted(patches.glob("resolutions/*.yaml")), "resolution")
    return found


def problems(schema: str, value: object) -> list[str]:
    """What a schema has against a value, by the path of the key."""
    validator = jsonschema.Draft202012Validator(msgspec.json.decode(SHIPPED[f"{schema}.schema.json"]))
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]


def test_the_shipped_schemas_are_those_of_the_types() -> None:
    assert schema_texts() == SHIPPED


def test_the_schemas_are_written_by_their_module(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "patchkit.cli.schemas", str(tmp_path / "new" / "folder")],
        cwd=PACKAGE.parent,
        check=True,
    )

    assert {path.name: path.read_bytes() for path in (tmp_path / "new" / "folder").iterdir()} == SHIPPED


@pytest.mark.parametrize("name", SHIPPED)
def test_a_schema_is_a_json_schema_with_a_title(name: str) -> None:
    schema = msgspec.json.decode(SHIPPED[name])

    jsonschema.Draft202012Validator.check_schema(schema)
    others = {"resolution.schema.json": "resolutions/*.yaml"}
    told = others.get(name, f"{name.removesuffix('.schema.json')}.yaml")
    told = "JSON" if name.endswith("report.schema.json") else told
    found = (schema["$schema"], schema["title"].split()[0])
    assert ("https://json-schema.org/draft/2020-12/schema", told) == found


@pytest.mark.parametrize("path", ours(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_our_own_files_meet_their_schema_and_their_type(path: Path) -> None:
    schema = ours()[path]
    text = path.read_bytes()

    assert problems(schema, parse_yaml(text, path.name)) == []
    parse_document(KINDS[schema], text, path.name)


def test_a_lock_that_was_printed_meets_its_schema() -> None:
    digest = f"sha256:{'a' * 64}"
    pair = {"before": None, "after": "b" * 40}
    patches = {"one": {"variant": "v.patch", "text": digest, "files": {"a.py": pair}}, "two": {"variant": None}}
    value = {"schema": 1, "series": digest, "patches": {}, "targets": {"1": {"generated": digest, "patches": patches}}}

    lock = msgspec.convert(value, LockDocument)
    assert problems("lock", parse_yaml(print_lock(lock), "lock.yaml")) == []


RESOLUTION = print_resolution(
    Resolution(
        schema=1,
        patch="first",
        hunks=("one", "two"),
        file="m/a.py",
        conflict=Sides("a = 1\n", "a = 2\n", ""),
        in_base=Around(("x = 1",), ()),
        in_target=Around((), ("y: 2",)),
        resolution="if x:\n    a = 3\n",
        author="A U Thor <author@example.org>",
        reason="It must be so.",
        base="v1.0",
        target="v2.0",
    )
).decode()
ONE = PATCH.format(name="one")


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        ("series", SERIES, []),
        ("patch", ONE, []),
        ("resolution", RESOLUTION, []),
        ("series", SERIES.replace("schema: 1", "schema: 2"), ["$.schema: 2 is greater than the maximum of 1"]),
        ("series", SERIES.replace("package: m\n", ""), ["$: 'package' is a required property"]),
        (
            "series",
            SERIES.replace("- name: three", "- name: Three"),
            ["$.patches[2].name: 'Three' does not match '^[a-z0-9][a-z0-9-]*$'"],
        ),
        (
            "series",
            SERIES.replace("depends: [one]", "depends: one"),
            ["$.patches[1].depends: 'one' is not of type 'array'"],
        ),
        (
            "patch",
            ONE.replace("why: w", "why: w\nwhyy: w"),
            ["$: Additional properties are not allowed ('whyy' was unexpected)"],
        ),
        (
            "patch",
            ONE.replace("2026-11-29", "today"),
            [r"$['last-update']: 'today' does not match '^\\d{4}-\\d{2}-\\d{2}$'"],
        ),
        ("patch", ONE.replace("scope: <module>", "scope: 1"), ["$.hunks[0].scope: 1 is not of type 'string'"]),
        (
            "resolution",
            RESOLUTION.replace("author: A U Thor <author@example.org>\n", ""),
            ["$: 'author' is a required property"],
        ),
        (
            "resolution",
            RESOLUTION.replace("reason: It must be so.", "reason: ''"),
            ["$.reason: '' should be non-empty"],
        ),
        (
            "resolution",
            RESOLUTION.replace("hunks:\n- one\n- two\n", "hunks: []\n"),
            ["$.hunks: [] should be non-empty"],
        ),
        (
            "resolution",
            RESOLUTION.replace("  changed:", "  mine: ''\n  changed:"),
            ["$.conflict: Additional properties are not allowed ('mine' was unexpected)"],
        ),
    ],
    ids=[
        "series",
        "patch",
        "resolution",
        "newer format",
        "missing key",
        "name",
        "no list",
        "unknown key",
        "date",
        "wrong type",
        "resolution of nobody",
        "resolution without a reason",
        "resolution of no hunk",
        "unknown side",
    ],
)
def test_a_schema_and_its_type_accept_and_refuse_the_same(schema: str, text: str, expected: list[str]) -> None:
    refused = False
    try:
        parse_document(KINDS[schema], text.encode(), "f.yaml")
    except StoreError:
        refused = True

    assert (expected, bool(expected)) == (problems(schema, parse_yaml(text.encode(), "f.yaml")), refused)


def test_every_field_of_a_document_is_in_its_schema() -> None:
    keys: dict[str, list[str]] = {}
    for name, kind in KINDS.items():
        schema: dict[str, Any] = msgspec.json.decode(SHIPPED[f"{name}.schema.json"])
        keys[name] = sorted(schema["$defs"][kind.__name__]["properties"])

    assert {
        name: sorted(field.encode_name for field in msgspec.structs.fields(kind)) for name, kind in KINDS.items()
    } == keys
