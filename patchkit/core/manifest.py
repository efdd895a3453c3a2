"""The record that patchkit leaves in a tree: what was applied, and what every file was before and after."""

# No postponed annotations here: msgspec would compile each one again at every start.
from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from patchkit.core.series import BlobPair
from patchkit.errors import TreeError

MANIFEST_SCHEMA = 1


class AppliedPatch(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """A patch that is in the tree."""

    name: str
    digest: str
    variant: str
    files: Mapping[str, BlobPair]


class Manifest(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """patchkit's record in a tree."""

    schema: Annotated[int, Meta(ge=MANIFEST_SCHEMA, le=MANIFEST_SCHEMA)]
    tool: str
    """Version of the patchkit that wrote it."""
    target: str
    commit: str | None
    """Upstream commit, where one is known."""
    series: str
    """Digest of the series' sources."""
    patches: tuple[AppliedPatch, ...]


def print_manifest(manifest: Manifest) -> bytes:
    """Print the record; the same value always gives the same bytes."""
    return msgspec.json.format(msgspec.json.encode(manifest, order="sorted"), indent=2) + b"\n"


def parse_manifest(content: bytes, where: str) -> Manifest:
    """Parse a record. Raises TreeError that names the file and the key."""
    try:
        return msgspec.json.decode(content, type=Manifest)
    except msgspec.DecodeError as error:
        hint = "move it away and run this again: the files themselves tell what is applied"
        raise TreeError(f"{where}: not a patchkit record: {error}", hint=hint) from error
