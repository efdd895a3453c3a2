"""What upstream_versions.yaml knows about torch_memory_saver: its releases, commits and defects."""

# No postponed annotations here: msgspec would compile each one again at every start.
from typing import Annotated, Literal

from msgspec import Meta

from patchkit.core.series import Date, Document, Sha256, Text, Version

CommitPrefix = Annotated[str, Meta(pattern=r"^[0-9a-f]{7,40}$", description="git commit id, possibly abbreviated")]


class SaverRelease(Document, frozen=True, kw_only=True):
    """A torch_memory_saver release on the package index."""

    version: Version
    date: Date
    python: str = ""
    note: str = ""
    files: dict[str, Sha256] = {}


class SaverCommit(Document, frozen=True, kw_only=True):
    """A torch_memory_saver commit that somebody pins or that changes what it can do."""

    id: CommitPrefix
    date: Date | None = None
    pull_request: int | None = None
    note: str


class PresentIn(Document, frozen=True):
    """Where a defect is known to be."""

    releases: tuple[str, ...] = ()
    commits: tuple[CommitPrefix, ...] = ()


class FixedIn(Document, frozen=True):
    """Where a defect is gone."""

    release: Version | None = None
    commit: CommitPrefix | None = None


class Defect(Document, frozen=True, kw_only=True):
    """A defect of torch_memory_saver."""

    id: Text
    title: Text
    symptom: Text
    only_on: Literal["cuda", "rocm"] | None = None
    """The only platform on which a build can have it; None when it does not depend on that."""
    present_in: PresentIn
    fixed_in: FixedIn | None
    evidence: Text


class MemorySaver(Document, frozen=True):
    """torch_memory_saver."""

    distribution: Text
    repository: Text
    releases: tuple[SaverRelease, ...]
    commits: tuple[SaverCommit, ...] = ()
    defects: tuple[Defect, ...] = ()


NO_SAVER = MemorySaver("torch-memory-saver", "https://github.com/fzyzcjy/torch_memory_saver", ())
"""What a list says of torch_memory_saver that has no section for it: nothing."""
