"""The documents of a patch series, as values: what series.yaml, patch.yaml and lock.yaml say.

The types are the single description of the file formats: the YAML is checked against them, and the JSON schemas that
editors use are generated from them. Keys are the field names with hyphens.
"""

# No postponed annotations here: msgspec would compile each one again at every start.
from typing import Annotated, Any

import msgspec
from msgspec import Meta

SCHEMA = 1
"""Number of the file formats; raised when a reader of the old format would misread the new one."""

Name = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]*$", description="lower case letters, digits and hyphens")]
Specifier = Annotated[str, Meta(description="PEP 440 version specifier, such as >=0.13.0,<0.17.0")]
BlobId = Annotated[str, Meta(pattern=r"^[0-9a-f]{40}$", description="git blob id")]
Digest = Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$")]
Text = Annotated[str, Meta(min_length=1)]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
Date = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$", description="UTC day")]
VERSION = r"\d+(\.\d+)*(\.?[a-z]+\d+)*"
"""What a version looks like that is normalised (PEP 440)."""
Version = Annotated[
    str,
    # Python reads no number of more than 4300 digits, and a file name has at most 255 bytes.
    Meta(pattern=f"^{VERSION}$", max_length=200, description="PEP 440 version, normalised"),
]
RelativePath = Annotated[str, Meta(pattern=r"^[^/\\][^\\]*$", description="path in the tree, forward slashes")]


ROOMS = frozenset({"generated", "resolutions", "review", "settled"})
"""Folders beside those of the patches, in a series or in the edit directory of a rebase: no patch has such a name."""


def no_name(room: str) -> str:
    """Return what is said of a patch that is called like one of ``ROOMS``."""
    return f"{room!r} cannot be the name of a patch: patchkit has a folder of that name for itself"


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Base of everything read from YAML: immutable, and an unknown key is an error."""


class Applicability(Document, frozen=True):
    """For which targets something holds."""

    releases: Specifier = ""
    """Releases, and as-of versions of other targets; empty means all."""
    not_on: tuple[str, ...] = ()
    """Targets that are no release (branches, commits) and are left out."""
    only_on: tuple[str, ...] = ()
    """When given, exactly these targets that are no release; ``releases`` is then not looked at."""


class HunkSpec(Applicability, frozen=True, kw_only=True):
    """What one hunk of a patch is for."""

    id: Name
    group: Name
    file: RelativePath
    scope: Text
    """Qualified name of the innermost class or function around all changed lines; ``<module>`` at module level."""
    intent: Text
    needed_when: str = ""
    drop_when: str = ""


class VariantSpec(Document, frozen=True):
    """A text of the patch and the targets it is for."""

    file: Annotated[str, Meta(pattern=r"^[^/\\]+\.patch$")]
    """File name below ``variants/``."""
    releases: Specifier = ""
    targets: tuple[str, ...] = ()
    """Targets named one by one; they win over ranges."""


class NotNeeded(Document, frozen=True):
    """Targets on which the patch has nothing to do."""

    reason: Text
    releases: Specifier = ""
    targets: tuple[str, ...] = ()


class LeftOut(Document, frozen=True, kw_only=True):
    """A hunk that was left out of the patch for one target, as a person accepted or decided it in a rebase."""

    hunk: Name
    target: Text
    commit: str = ""
    """Commit of a target that is no release; for another one nothing is decided."""
    reason: Text


class UpstreamHas(Document, frozen=True, kw_only=True):
    """What a target already has of the patch, by group."""

    target: Text
    groups: dict[str, str]
    """Group name to what upstream has; the group's hunks are not in the target's variant."""
    keep: tuple[str, ...] = ()
    """Hunks of those groups that are carried all the same."""
    commit: str = ""
    pull_request: int | None = None
    note: str = ""


class CheckSpec(Applicability, frozen=True, kw_only=True):
    """An invariant of the patched text."""

    id: Name
    files: Annotated[tuple[str, ...], Meta(min_length=1)]
    """Paths, or globs with ``*`` and ``**``."""
    mentions: str = ""
    """Only files that contain this text are looked at: parsing hundreds of files to find nothing takes seconds."""
    count: Annotated[int, Meta(ge=0)]
    """Matches expected over all files together."""
    intent: Text
    requires: tuple[str, ...] = ()
    """Patches that must be applied too for the check to make sense."""
    rule: dict[str, Any]
    """A rule in ast-grep's rule language, for Python."""
    constraints: dict[str, Any] = {}
    """ast-grep constraints on the rule's meta variables."""


class PatchDocument(Document, frozen=True, kw_only=True):
    """patch.yaml: the header (words of DEP-3), the hunks, the variants and the checks of one patch."""

    schema: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)]
    name: Name
    description: Text
    origin: Text
    author: Text
    forwarded: Text
    applied_upstream: str
    last_update: Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    why: Text
    needed_when: Text
    drop_when: Text
    hunks: Annotated[tuple[HunkSpec, ...], Meta(min_length=1)]
    variants: Annotated[tuple[VariantSpec, ...], Meta(min_length=1)]
    not_needed: tuple[NotNeeded, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    upstream: tuple[UpstreamHas, ...] = ()
    checks: tuple[CheckSpec, ...] = ()

    def hunk(self, hunk_id: str) -> HunkSpec | None:
        """Return the hunk called ``hunk_id``, or None."""
        return next((hunk for hunk in self.hunks if hunk.id == hunk_id), None)


class SeriesEntry(Document, frozen=True):
    """One patch of the series."""

    name: Name
    depends: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse names whose folder is something else."""
        if self.name in ROOMS:
            raise ValueError(no_name(self.name))


class SeriesDocument(Document, frozen=True):
    """series.yaml: order, groups and dependencies."""

    schema: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)]
    package: Text
    """Top folder of the tree that the series patches."""
    distribution: Text
    """Name on the package index."""
    groups: dict[str, str]
    patches: Annotated[tuple[SeriesEntry, ...], Meta(min_length=1)]


class BlobPair(Document, frozen=True):
    """What a file is before and after a patch; None where it does not exist."""

    before: BlobId | None
    after: BlobId | None


class PatchLock(Document, frozen=True):
    """What one patch does to one target."""

    variant: str | None
    """Variant file name; None when the target does not need the patch."""
    text: Digest | None = None
    """Digest of the variant's text."""
    files: dict[str, BlobPair] = {}


class TargetLock(Document, frozen=True):
    """What the series does to one target."""

    generated: Digest
    """Digest of the target's file below generated/."""
    patches: dict[str, PatchLock]

    def chain(self, path: str) -> tuple[str | None, ...]:
        """Return the blob ids that ``path`` goes through, from upstream's to the last patch's."""
        pairs = [patch.files[path] for patch in self.patches.values() if path in patch.files]
        return (pairs[0].before, *(pair.after for pair in pairs)) if pairs else ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that a patch of the series touches on this target, sorted."""
        return tuple(sorted({path for patch in self.patches.values() for path in patch.files}))


class LockDocument(Document, frozen=True):
    """lock.yaml: what follows from the sources, so that ``apply`` need not decide anything."""

    schema: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)]
    series: Digest
    """Digest of all sources of the series."""
    patches: dict[str, Digest]
    """Digest of each patch's sources."""
    targets: dict[str, TargetLock]
