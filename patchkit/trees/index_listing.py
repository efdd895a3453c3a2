"""The releases that the package indexes have which the user's pip is set up for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from patchkit.errors import IndexUnavailableError
from patchkit.progress import Reporter, silent
from patchkit.trees.index_places import some_of
from patchkit.trees.package_indexes import PackageIndexes

if TYPE_CHECKING:
    from packaging.version import Version

    from patchkit.trees.index_pages import IndexFile
    from patchkit.trees.index_session import Source

_NO_NETWORK = "pip's index-url, extra-index-url and find-links say where to look; --git REPO needs no network"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRelease:
    """A release with at least one wheel."""

    version: str
    """PEP 440, normalised."""
    date: str = ""
    """UTC day of the first upload of a wheel; empty when no index tells."""
    python: str = ""
    """Requires-Python; empty when the index gives none."""
    yanked: str | None = None
    """The reason when one of the indexes has withdrawn all of its wheels."""
    files: Mapping[str, str]
    """SHA-256 by name of wheel; wheels whose digest the index does not tell are left out."""
    pre_release: bool = False
    """Whether it is no final release; so are dev builds."""
    dev: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """What the indexes have of a distribution."""

    releases: tuple[ListedRelease, ...]
    """Oldest version first."""
    problems: tuple[str, ...] = ()
    """Indexes that gave no answer, and why."""
    contradictions: tuple[str, ...] = ()
    """Wheels that two indexes have with different digests."""
    complete: bool = True
    """Whether an index was asked and all of them answered, so that what is not listed is not there."""


@dataclass(slots=True)
class _Files:
    """What the sources tell of one release."""

    files: dict[str, str] = field(default_factory=dict)
    dates: list[str] = field(default_factory=list)
    pythons: list[str] = field(default_factory=list)
    yanked: str | None = None


def list_releases(distribution: str, *, indexes: PackageIndexes | None = None, reporter: Reporter = silent) -> Listing:
    """Ask every package index, and every folder or page of links, for the wheels of ``distribution``.

    Asked is what pip would ask, with its credentials, proxy and certificates, or what ``indexes`` was told already. An
    index that gives no answer does not hide the others: ``Listing.problems`` tells of it. Versions that no index of the
    public may have (with a local part or an epoch) are left out, and so are links that cannot be taken, which are told
    as notes. Raises UsageError for a setting of pip that cannot be asked, IndexUnavailableError when no index has the
    distribution.
    """
    with nullcontext(indexes) if indexes is not None else PackageIndexes() as asking:
        return _listing(distribution, asking, reporter)


def _listing(distribution: str, indexes: PackageIndexes, reporter: Reporter) -> Listing:
    found: dict[Version, _Files] = {}
    problems: list[str] = []
    contradictions: list[str] = []
    # A user without an index has what the links have, and that is no answer about upstream.
    complete = indexes.has_index()
    asked: list[str] = []
    for source in indexes.sources():
        reporter.step(f"looking for releases of {distribution} at {source.label}")
        files = indexes.files(source, distribution)
        if source.problem is not None:
            complete = False
            problems.append(f"no answer from {source.label}: {source.problem}")
        else:
            asked.append(source.label)
        if source.left_out:
            reporter.note(f"left out of what {source.label} has: {some_of(source.left_out)}")
        contradictions += _take(source, files, found)
    if not found:
        answered = [f"{', '.join(asked)} answered without it"] if asked else []
        why = "; ".join([*problems, *answered]) or "pip is set up to ask none"
        raise IndexUnavailableError(f"no package index has {distribution}: {why}", hint=_NO_NETWORK)
    releases = tuple(_release(version, found[version]) for version in sorted(found))
    return Listing(releases, tuple(problems), tuple(contradictions), complete)


def _take(source: Source, files: Iterable[IndexFile], found: dict[Version, _Files]) -> Iterator[str]:
    """Add what one source tells to ``found``; yield what it contradicts."""
    from packaging.version import Version  # noqa: PLC0415 - needed here alone

    reasons: dict[Version, list[str | None]] = {}
    for file in files:
        version = Version(file.version)
        if version.local is not None or version.epoch:
            continue
        release = found.setdefault(version, _Files())
        reasons.setdefault(version, []).append(file.yanked)
        if file.date:
            release.dates.append(file.date)
        if file.python:
            release.pythons.append(file.python)
        if file.sha256 and release.files.setdefault(file.name, file.sha256) != file.sha256:
            yield (
                f"{file.name} has SHA-256 {file.sha256} at {source.label}, and {release.files[file.name]} at an index "
                "before it"
            )
    for version, told in reasons.items():
        # A release is withdrawn when all of its files are (PEP 592); a folder of wheels says nothing about it.
        if found[version].yanked is None and all(reason is not None for reason in told):
            found[version].yanked = told[0]


def _release(version: Version, told: _Files) -> ListedRelease:
    return ListedRelease(
        version=str(version),
        date=min(told.dates, default=""),
        python=told.pythons[0] if told.pythons else "",
        yanked=told.yanked,
        files=dict(sorted(told.files.items())),
        pre_release=version.is_prerelease,
        dev=version.is_devrelease,
    )
