from __future__ import annotations

from typing import Any

import msgspec
import pytest

from patchkit.core.series import (
    BlobPair,
    HunkSpec,
    LockDocument,
    NotNeeded,
    PatchDocument,
    PatchLock,
    SeriesDocument,
    SeriesEntry,
    TargetLock,
    UpstreamHas,
    VariantSpec,
)

BLOB = "a" * 40
DIGEST = f"sha256:{'b' * 64}"

PATCH: dict[str, Any] = {
    "schema": 1,
    "name": "no-backup",
    "description": "d",
    "origin": "o",
    "author": "a",
    "forwarded": "no",
    "applied-upstream": "",
    "last-update": "2026-11-29",
    "why": "w",
    "needed-when": "n",
    "drop-when": "d",
    "hunks": [{"id": "field", "group": "plumbing", "file": "m/a.py", "scope": "C", "intent": "i", "not-on": ["dev"]}],
    "variants": [{"file": "v1.patch", "releases": ">=1"}],
}


def test_a_patch_document_has_hyphens_in_its_keys_and_empty_defaults() -> None:
    expected = PatchDocument(
        schema=1,
        name="no-backup",
        description="d",
        origin="o",
        author="a",
        forwarded="no",
        applied_upstream="",
        last_update="2026-11-29",
        why="w",
        needed_when="n",
        drop_when="d",
        hunks=(
            HunkSpec(
                id="field",
                group="plumbing",
                file="m/a.py",
                scope="C",
                intent="i",
                not_on=("dev",),
                releases="",
                only_on=(),
                needed_when="",
                drop_when="",
            ),
        ),
        variants=(VariantSpec(file="v1.patch", releases=">=1", targets=()),),
        not_needed=(),
        upstream=(),
        checks=(),
    )
    assert expected == msgspec.convert(PATCH, PatchDocument)


def test_a_patch_document_finds_its_hunks_by_id() -> None:
    document = msgspec.convert(PATCH, PatchDocument)

    assert (document.hunks[0], None) == (document.hunk("field"), document.hunk("other"))


def test_the_parts_that_a_patch_document_may_have_are_read_with_their_defaults() -> None:
    parts = {
        "not-needed": [{"reason": "r", "releases": "<1", "targets": ["main"]}],
        "upstream": [{"target": "dev", "groups": {"plumbing": "has it"}, "keep": ["field"], "pull-request": 5103}],
    }

    document = msgspec.convert(PATCH | parts, PatchDocument)

    upstream = UpstreamHas(
        target="dev", groups={"plumbing": "has it"}, keep=("field",), commit="", pull_request=5103, note=""
    )
    assert ((NotNeeded("r", "<1", ("main",)),), (upstream,)) == (document.not_needed, document.upstream)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"schema": 2}, "Expected `int` <= 1 - at `$.schema`"),
        ({"schema": 0}, "Expected `int` >= 1 - at `$.schema`"),
        ({"name": "No_Backup"}, "Expected `str` matching regex '^[a-z0-9][a-z0-9-]*$' - at `$.name`"),
        ({"name": "-x"}, "Expected `str` matching regex '^[a-z0-9][a-z0-9-]*$' - at `$.name`"),
        ({"name": "../x"}, "Expected `str` matching regex '^[a-z0-9][a-z0-9-]*$' - at `$.name`"),
        ({"why": ""}, "Expected `str` of length >= 1 - at `$.why`"),
        ({"last-update": "29.11.2026"}, r"Expected `str` matching regex '^\\d{4}-\\d{2}-\\d{2}$' - at `$.last-update`"),
        ({"hunks": []}, "Expected `array` of length >= 1 - at `$.hunks`"),
        ({"variants": []}, "Expected `array` of length >= 1 - at `$.variants`"),
        (
            {"variants": [{"file": "../v.patch"}]},
            r"Expected `str` matching regex '^[^/\\\\]+\\.patch$' - at `$.variants[0].file`",
        ),
        (
            {"hunks": [PATCH["hunks"][0] | {"file": "/etc/passwd"}]},
            r"Expected `str` matching regex '^[^/\\\\][^\\\\]*$' - at `$.hunks[0].file`",
        ),
        ({"last_update": "2026-11-29"}, "Object contains unknown field `last_update`"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_a_patch_document_refuses_what_its_types_do_not_say(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(PATCH | change, PatchDocument)

    assert problem == str(caught.value)


def test_a_document_cannot_be_changed() -> None:
    document = msgspec.convert(PATCH, PatchDocument)

    with pytest.raises(AttributeError, match="immutable type: 'PatchDocument'"):
        document.name = "other"  # type: ignore[misc]


def test_a_series_document_keeps_the_order_of_its_patches() -> None:
    value = {
        "schema": 1,
        "package": "m",
        "distribution": "m-core",
        "groups": {"b": "B.", "a": "A."},
        "patches": [{"name": "two"}, {"name": "one", "depends": ["two"]}],
    }

    entries = (SeriesEntry("two", ()), SeriesEntry("one", ("two",)))
    assert SeriesDocument(1, "m", "m-core", {"b": "B.", "a": "A."}, entries) == msgspec.convert(value, SeriesDocument)


def test_a_lock_survives_its_way_through_plain_values() -> None:
    patches = {
        "one": PatchLock("v1.patch", DIGEST, {"m/a.py": BlobPair(BLOB, "c" * 40), "m/new.py": BlobPair(None, BLOB)}),
        "two": PatchLock(None),
    }
    lock = LockDocument(1, DIGEST, {"one": DIGEST, "two": DIGEST}, {"1.0": TargetLock(DIGEST, patches)})

    assert lock == msgspec.convert(msgspec.to_builtins(lock), LockDocument)
