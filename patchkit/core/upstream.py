"""What is known about upstream: releases, branches and commits of Megatron-LM, and torch_memory_saver."""

# No postponed annotations here: msgspec would compile each one again at every start.
import operator
import re
from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from patchkit.core.series import SCHEMA, BlobId, Document, Specifier, Text
from patchkit.errors import UsageError

Commit = Annotated[str, Meta(pattern=r"^[0-9a-f]{40}$", description="git commit id")]
CommitPrefix = Annotated[str, Meta(pattern=r"^[0-9a-f]{7,40}$", description="git commit id, possibly abbreviated")]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
Date = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$", description="UTC day")]
Version = Annotated[str, Meta(pattern=r"^\d+(\.\d+)*(\.?[a-z]+\d+)*$", description="PEP 440 version, normalised")]


class Release(Document, frozen=True, kw_only=True):
    """A release on the package index."""

    version: Version
    tag: str | None
    """Tag in the public repository, as written there; None when there is none."""
    commit: Commit | None
    """Commit of the tag; None when there is no tag."""
    date: Date
    python: str
    """Requires-Python on the index; empty when the index gives none."""
    yanked: str | None = None
    """The index' reason when the release was yanked."""
    ships: Annotated[tuple[str, ...], Meta(min_length=1)]
    blobs: dict[str, BlobId]
    """Git blob id by path, of the files that the series touches."""
    files: dict[str, Sha256]
    """Digest by wheel file name."""


class Branch(Document, frozen=True, kw_only=True):
    """A tracked branch, at the commit the series was last made for."""

    name: Text
    commit: Commit
    date: Date
    as_of: Version
    """The release whose version ranges hold for this target."""
    note: str = ""
    blobs: dict[str, BlobId]


class PinnedCommit(Document, frozen=True, kw_only=True):
    """A commit that a framework pins."""

    name: Text
    commit: Commit
    date: Date
    branch: str
    as_of: Version
    note: str = ""
    blobs: dict[str, BlobId]


class Megatron(Document, frozen=True):
    """Megatron-LM."""

    distribution: Text
    repository: Text
    releases: tuple[Release, ...]
    branches: tuple[Branch, ...] = ()
    commits: tuple[PinnedCommit, ...] = ()


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


class VersionsDocument(Document, frozen=True):
    """upstream_versions.yaml."""

    schema: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)]
    megatron: Megatron
    torch_memory_saver: MemorySaver


class Target(msgspec.Struct, frozen=True):
    """Something the series can be applied to."""

    name: str
    """``0.19.2`` for a release, ``main`` for a branch, ``3714d81d`` for a commit."""
    as_of: str
    """The version that ranges are tested with; a release's own version."""
    tag: str | None
    commit: str | None
    blobs: dict[str, str]
    release: Release | None
    """The release, when the target is one."""

    @property
    def title(self) -> str:
        """How people write it: ``v0.19.2``, ``main``, ``3714d81d``."""
        return f"v{self.name}" if self.release else self.name

    @property
    def generated_name(self) -> str:
        """File name of the whole series as one patch, below generated/."""
        return f"{self.tag or f'core_v{self.name}'}.patch" if self.release else f"{self.name}.patch"


def targets(megatron: Megatron) -> tuple[Target, ...]:
    """Return every supported target: releases first, oldest first, then branches, then commits."""
    releases = [
        Target(release.version, release.version, release.tag, release.commit, release.blobs, release)
        for release in megatron.releases
    ]
    branches = [Target(item.name, item.as_of, None, item.commit, item.blobs, None) for item in megatron.branches]
    commits = [Target(item.name, item.as_of, None, item.commit, item.blobs, None) for item in megatron.commits]
    return (*releases, *branches, *commits)


def find_target(known: tuple[Target, ...], asked: str) -> Target:
    """Return the target called ``asked``: a version, a tag, ``latest``, a branch or a commit.

    Versions are taken as ``v0.19.2``, ``0.19.2`` and ``core_v0.19.2``; ``latest`` is the newest release that was not
    yanked and is no pre-release. Raises UsageError for an unknown name.
    """
    if asked == "latest":
        releases = [target for target in known if target.release and not _PRE_RELEASE.search(target.name)]
        newest = next((target for target in reversed(releases) if target.release and not target.release.yanked), None)
        if newest is None:
            raise UsageError("there is no release that was not yanked")
        return newest
    version = asked.removeprefix("core_").removeprefix("v")
    for target in known:
        if asked in (target.name, target.tag, target.commit) or (target.release and version == target.name):
            return target
    prefixes = [
        target for target in known if len(asked) >= 7 and target.commit and target.commit.startswith(asked.lower())
    ]
    if len({target.commit for target in prefixes}) == 1:
        return prefixes[0]
    names = ", ".join(target.title for target in known)
    raise UsageError(
        f"unknown release {asked!r}",
        hint=f"supported: {names}",
    )


def in_range(version: str, specifier: Specifier) -> bool:
    """Tell whether ``version`` meets ``specifier`` (empty: always); a pre-release counts like any version."""
    if not specifier:
        return True
    if _PLAIN_VERSION.fullmatch(version) and _PLAIN_SPECIFIER.fullmatch(specifier):
        return all(_meets(version, clause) for clause in specifier.split(","))
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415 - 15 ms that plain numbers do without

    return SpecifierSet(specifier).contains(version, prereleases=True)


_PRE_RELEASE = re.compile(r"(?:a|b|rc|dev)\d")
"""In a normalised version (PEP 440)."""
_PLAIN_VERSION = re.compile(r"\d+(\.\d+)*")
_PLAIN_SPECIFIER = re.compile(r"\s*(>=|<=|<|>)\s*\d+(\.\d+)*\s*(,\s*(>=|<=|<|>)\s*\d+(\.\d+)*\s*)*")
_COMPARE: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def _meets(version: str, clause: str) -> bool:
    """Compare final releases, which PEP 440 orders by their numbers, missing ones being 0."""
    text = clause.strip()
    sign = text[:2] if text[:2] in _COMPARE else text[:1]
    one, two = (_numbers(part) for part in (version, text.removeprefix(sign)))
    width = max(len(one), len(two))
    return _COMPARE[sign](one + (0,) * (width - len(one)), two + (0,) * (width - len(two)))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.strip().split("."))
