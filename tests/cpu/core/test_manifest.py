from __future__ import annotations

import pytest

from patchkit.core.manifest import MANIFEST_SCHEMA, AppliedPatch, Manifest, parse_manifest, print_manifest
from patchkit.core.series import BlobPair
from patchkit.errors import TreeError

BEFORE, AFTER = "a" * 40, "b" * 40
MANIFEST = Manifest(
    schema=MANIFEST_SCHEMA,
    tool="0.1.0",
    target="1.0",
    commit=None,
    series="sha256:c",
    patches=(
        AppliedPatch(
            "one", "sha256:d", "v1.patch", {"m/b.py": BlobPair(BEFORE, AFTER), "m/a.py": BlobPair(None, AFTER)}
        ),
    ),
)

TEXT = """\
{
  "commit": null,
  "patches": [
    {
      "digest": "sha256:d",
      "files": {
        "m/a.py": {
          "after": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
          "before": null
        },
        "m/b.py": {
          "after": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
          "before": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        }
      },
      "name": "one",
      "variant": "v1.patch"
    }
  ],
  "schema": 1,
  "series": "sha256:c",
  "target": "1.0",
  "tool": "0.1.0"
}
"""


def test_a_record_is_printed_with_sorted_keys_whatever_order_it_was_made_in() -> None:
    assert TEXT.encode() == print_manifest(MANIFEST)


def test_a_record_that_was_printed_is_parsed_back() -> None:
    assert parse_manifest(TEXT.encode(), "manifest.json") == MANIFEST


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "Input data was truncated"),
        (b"\xff", "JSON is malformed: invalid character (byte 0)"),
        (b"[]", "Expected `object`, got `array`"),
        (TEXT.replace('"one"', "1").encode(), "Expected `str`, got `int` - at `$.patches[0].name`"),
        (TEXT.replace('"tool"', '"tools"').encode(), "Object contains unknown field `tools`"),
        (TEXT.replace('"schema": 1', '"schema": 2').encode(), "Expected `int` <= 1 - at `$.schema`"),
        (
            TEXT.replace("b" * 40, "b" * 39).encode(),
            "Expected `str` matching regex '^[0-9a-f]{40}$' - at `$.patches[0].files[...].after`",
        ),
    ],
    ids=["empty", "no JSON", "no record", "wrong type", "unknown key", "newer format", "no blob id"],
)
def test_a_damaged_record_is_named_with_the_key(content: bytes, problem: str) -> None:
    with pytest.raises(TreeError) as caught:
        parse_manifest(content, "tree/manifest.json")

    assert caught.value.message == f"tree/manifest.json: not a patchkit record: {problem}"
