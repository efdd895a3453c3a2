"""What is known about upstream: releases, branches and commits of what is patched.

An upstream is data: upstream_versions.yaml says how its trees and its release tags look. What holds for Megatron-LM,
which most series are for, is the class of that name here.
"""

# No postponed annotations here: msgspec would compile each one again at every start.
import re
from typing import Annotated

import msgspec
from msgspec import Meta

from patchkit.core.memory_saver import NO_SAVER, MemorySaver
from patchkit.core.series import SCHEMA, VERSION, BlobId, Date, Document, RelativePath, Sha256, Text, Version
from patchkit.errors import UsageError

Commit = Annotated[str, Meta(pattern=r"^[0-9a-f]{40}$", description="git commit id")]
AnyDate = Annotated[str, Meta(pattern=r"^(\d{4}-\d{2}-\d{2})?$", description="UTC day; empty where git tells none")]


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
    date: AnyDate
    as_of: Version
    """The release whose version ranges hold for this target."""
    note: str = ""
    blobs: dict[str, BlobId]


class PinnedCommit(Document, frozen=True, kw_only=True):
    """A commit that a framework pins."""

    name: Text
    commit: Commit
    date: AnyDate
    branch: str
    as_of: Version
    note: str = ""
    blobs: dict[str, BlobId]


class Listed(Document, frozen=True):
    """What is known of a project's releases, branches and commits."""

    distribution: str
    """Name on the package index; empty when it is on none, and releases come from git alone."""
    repository: Text
    releases: tuple[Release, ...] = ()
    branches: tuple[Branch, ...] = ()
    commits: tuple[PinnedCommit, ...] = ()


class Upstream(Listed, frozen=True, kw_only=True):
    """The project that a series patches."""

    name: Text
    """What people call it."""
    packages: Annotated[tuple[RelativePath, ...], Meta(min_length=1)]
    """Folders of the repository that each of its trees has, such as ``megatron/core``: by them a tree is known."""
    source: Annotated[str, Meta(pattern=r"^([^/\\]+(/[^/\\]+)*)?$")] = ""
    """Folder of the repository that is the top of its wheel, such as ``src``; empty where the repository's top is."""
    tag: Annotated[str, Meta(pattern=r"^[^{}]*\{version\}[^{}]*$")] = "v{version}"
    """How its release tags are written, such as ``core_v{version}``."""
    version_file: str = ""
    """File that says of which version a commit is; empty: the nearest release tag before it does."""

    def __post_init__(self) -> None:
        """Refuse packages that a wheel could not hold."""
        for package in self.packages:
            if self.source and not package.startswith(f"{self.source}/"):
                raise ValueError(f"the package {package!r} is not below `source`, which is {self.source!r}")

    @property
    def package(self) -> str:
        """Top folder of its packages."""
        return self.packages[0].split("/", 1)[0]

    @property
    def shipped(self) -> tuple[str, ...]:
        """Its packages as a wheel, and what is installed from it, has them."""
        return tuple(package.removeprefix(f"{self.source}/") if self.source else package for package in self.packages)

    def ships(self, release: Release, path: str) -> bool:
        """Tell whether the wheel of a release has the folder of ``path``, a path of the repository."""
        start = f"{self.source}/" if self.source else ""
        return path.startswith(tuple(start + name.replace(".", "/") + "/" for name in release.ships))

    @property
    def short(self) -> str:
        """The distribution, else the name: what folders that are made are called after."""
        return self.distribution or self.name

    def tag_of(self, version: str) -> str:
        """Return what the tag of a release is called if it is written as usual."""
        return self.tag.replace(_VERSION, version)

    def version_in(self, tag: str) -> str | None:
        """Return what a tag has in the place of the version, be it one or not; None when it is written otherwise."""
        before, after = self.tag.split(_VERSION)
        fits = tag.startswith(before) and tag.endswith(after) and len(tag) > len(before) + len(after)
        return tag[len(before) : len(tag) - len(after)] if fits else None

    def version_asked(self, name: str) -> str | None:
        """Return the version of the release that people call ``name``; None for what is no name of a release."""
        for pattern in self._spellings:
            before, after = pattern.split(_VERSION)
            version = name[len(before) : len(name) - len(after)]
            if name == f"{before}{version}{after}" and _IS_VERSION.fullmatch(version):
                return version
        return None

    def names_of(self, version: str) -> tuple[str, ...]:
        """Return what people call a release: its version, also with a ``v``, and its tag, also without that."""
        return tuple(pattern.replace(_VERSION, version) for pattern in self._spellings)

    @property
    def _spellings(self) -> tuple[str, ...]:
        return self.tag, self.tag.replace(f"v{_VERSION}", _VERSION), f"v{_VERSION}", _VERSION


_VERSION = "{version}"
_IS_VERSION = re.compile(VERSION)


class Megatron(Upstream, frozen=True, kw_only=True):
    """Megatron-LM: an upstream of which all but the lists is known."""

    name: Text = "Megatron-LM"
    packages: Annotated[tuple[RelativePath, ...], Meta(min_length=1)] = ("megatron/core",)
    tag: Annotated[str, Meta(pattern=r"^[^{}]*\{version\}[^{}]*$")] = "core_v{version}"
    version_file: str = "megatron/core/package_info.py"


MEGATRON = Megatron("megatron-core", "https://github.com/NVIDIA/Megatron-LM")
"""The upstream that is meant where nobody names one."""


class VersionsDocument(Document, frozen=True):
    """upstream_versions.yaml: `upstream`, or `megatron`, which is an upstream of which most is known; never both."""

    schema: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)]
    megatron: Megatron | None = None
    torch_memory_saver: MemorySaver = NO_SAVER
    other: Upstream | None = msgspec.field(default=None, name="upstream")

    def __post_init__(self) -> None:
        """Refuse a list of no upstream, and one of two."""
        if (self.megatron is None) == (self.other is None):
            raise ValueError("there must be one of the keys `upstream` and `megatron`, and not both")

    @property
    def upstream(self) -> Upstream:
        """What the series patches."""
        found = self.other or self.megatron
        assert found is not None  # noqa: S101 - __post_init__ has looked
        return found

    @property
    def section(self) -> str:
        """Key under which the upstream stands."""
        return "megatron" if self.other is None else "upstream"


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
    usual_tag: str = ""
    """What the tag of the release is called if it is written as usual; empty for what is no release."""
    called: tuple[str, ...] = ()
    """What people call it beside its name: a release, or a commit that has the name of a release's tag."""

    @property
    def title(self) -> str:
        """How people write it: ``v0.19.2``, ``main``, ``3714d81d``."""
        return f"v{self.name}" if self.release else self.name

    @property
    def generated_name(self) -> str:
        """File name of the whole series as one patch, below generated/."""
        name = self.tag or self.usual_tag or self.name
        return f"{(name if self.release else self.name).replace('/', '-')}.patch"


def targets(upstream: Upstream) -> tuple[Target, ...]:
    """Return every supported target: releases first, oldest first, then branches, then commits."""
    releases = [_of_release(upstream, each) for each in upstream.releases]
    branches = [Target(item.name, item.as_of, None, item.commit, item.blobs, None) for item in upstream.branches]
    commits = [
        Target(item.name, item.as_of, None, item.commit, item.blobs, None, called=_of_tag(upstream, item.name))
        for item in upstream.commits
    ]
    return (*releases, *branches, *commits)


def _of_release(upstream: Upstream, release: Release) -> Target:
    name = release.version
    spelled = upstream.tag_of(name), upstream.names_of(name)
    return Target(name, name, release.tag, release.commit, release.blobs, release, *spelled)


def _of_tag(upstream: Upstream, name: str) -> tuple[str, ...]:
    """Return what people call the release whose tag ``name`` is; nothing when it is none."""
    version = upstream.version_asked(name) if upstream.version_in(name) else None
    return () if version is None else upstream.names_of(version)


def find_target(known: tuple[Target, ...], asked: str) -> Target:
    """Return the target called ``asked``: a version, a tag, ``latest``, a branch or a commit.

    Versions are taken as ``v0.19.2``, ``0.19.2`` and as upstream writes its tags, ``v`` or not, also of a commit that
    is called by such a tag; ``latest`` is the newest release that was not yanked and is no pre-release. Raises
    UsageError for an unknown name.
    """
    if asked == "latest":
        releases = [target for target in known if target.release and not _PRE_RELEASE.search(target.name)]
        newest = next((target for target in reversed(releases) if target.release and not target.release.yanked), None)
        if newest is None:
            raise UsageError("there is no release that was not yanked")
        return newest
    for target in known:
        if asked in (target.name, target.tag, target.commit, *target.called):
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


_PRE_RELEASE = re.compile(r"(?:a|b|rc|dev)\d")
"""In a normalised version (PEP 440)."""
