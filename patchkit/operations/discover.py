"""discover: releases that upstream_versions.yaml does not list, and where upstream contradicts what it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.core.report import Problem
from patchkit.core.upstream import Release, Upstream, VersionsDocument
from patchkit.core.upstream_report import FoundRelease
from patchkit.errors import DamagedCloneError, IndexUnavailableError, TreeError
from patchkit.operations.upstream_targets import UNSEEN
from patchkit.progress import Reporter, silent

if TYPE_CHECKING:
    from patchkit.trees.git_program import GitProgram
    from patchkit.trees.index_listing import ListedRelease, Listing
    from patchkit.trees.release_tags import ReleaseTag

_WHICH = "one of the two is not what was released: find out which, and take that index out of pip's settings"
_TRUST = "do not use it before you know who changed it, {who} or upstream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """What upstream has, held against what the file says."""

    found: tuple[FoundRelease, ...]
    """Releases that the file does not list, by version; none that is older than the oldest listed one."""
    problems: tuple[Problem, ...]
    """Where upstream is no longer what the file says."""
    faults: tuple[Problem, ...] = ()
    """What the repository that was given has lost, or has in another form than its ids say."""
    notes: tuple[str, ...]
    """What could not be looked at, and what is worth knowing but no problem."""
    releases: Mapping[str, ListedRelease] = field(default_factory=dict)
    """What the index has, by version; empty when it gave no answer."""
    index: bool
    """Whether an index answered."""
    tags: bool
    """Whether the tags of a repository were read."""

    def release(self, found: FoundRelease) -> Release | None:
        """Return a release that was found as far as the index tells; None where that names no wheel by its digest."""
        listed = self.releases.get(found.version)
        if listed is None or not listed.files:
            return None
        return Release(
            version=found.version,
            tag=found.tag,
            commit=found.commit,
            date=found.date,
            python=listed.python,
            yanked=found.yanked,
            ships=UNSEEN,
            blobs={},
            files=dict(listed.files),
        )


def discover(
    versions: VersionsDocument,
    *,
    repository: Path | GitProgram | None = None,
    pre: bool = False,
    offline: bool = False,
    reporter: Reporter = silent,
) -> Discovered:
    """Look for releases at the package indexes that pip is set up for and, with ``repository``, among its tags.

    Pre-releases and dev builds are found with ``pre`` only, yanked releases always. ``offline`` asks no index. That an
    index is out of reach, or that a partial clone lacks something, is a note, what a clone has lost a fault; the caller
    tells from ``index`` and ``tags`` whether anything was looked at. Nothing is written. Raises TreeError when
    ``repository`` is no git repository.
    """
    upstream = versions.upstream
    problems: list[Problem] = []
    faults: list[Problem] = []
    notes: list[str] = []
    listing = None if offline else _listing(upstream, notes, reporter)
    tags: tuple[ReleaseTag, ...] | None = None
    clone = None
    if repository is not None:
        from patchkit.trees.git_program import opened  # noqa: PLC0415 - git only where it is asked for

        clone = opened(repository, download=False)
        reporter.step(f"looking for tags in {clone.repository}")
        tags = _tags(clone, upstream.tag, notes, faults)
    if listing is not None:
        problems += (Problem(message, hint=_WHICH) for message in listing.contradictions)
        problems += _against_index(upstream, listing, notes)
    if clone is not None and tags is not None:
        problems += _against_tags(upstream, clone, tags, notes, faults)
    releases = {release.version: release for release in listing.releases} if listing else {}
    return Discovered(
        found=_found(upstream, releases, tags or (), pre=pre),
        problems=tuple(problems),
        faults=tuple(faults),
        notes=tuple(notes),
        releases=releases,
        index=listing is not None,
        tags=tags is not None,
    )


def _listing(upstream: Upstream, notes: list[str], reporter: Reporter) -> Listing | None:
    if not upstream.distribution:
        notes.append(f"{upstream.name} is on no package index: its releases are the tags of a clone, --git REPO")
        return None
    from patchkit.trees.index_listing import list_releases  # noqa: PLC0415 - only this asks an index

    try:
        listing = list_releases(upstream.distribution, reporter=reporter)
    except IndexUnavailableError as error:
        notes.append(error.message)
        return None
    notes.extend(listing.problems)
    return listing


def _tags(clone: GitProgram, pattern: str, notes: list[str], faults: list[Problem]) -> tuple[ReleaseTag, ...] | None:
    from patchkit.trees.release_tags import release_tags  # noqa: PLC0415 - git only where it is asked for

    try:
        return release_tags(clone, pattern)
    except DamagedCloneError as error:
        faults.append(Problem(error.message, hint=error.hint))
        return None
    except TreeError as error:
        # A place that is no repository was a mistake of whoever named it; a git that gives no answer is none.
        notes.append(f"the tags of {clone.repository} cannot be read: {error.message}")
        return None


def _found(
    upstream: Upstream, releases: Mapping[str, ListedRelease], tags: tuple[ReleaseTag, ...], *, pre: bool
) -> tuple[FoundRelease, ...]:
    from packaging.version import Version  # noqa: PLC0415 - slow, and needed here alone

    known = {Version(release.version) for release in upstream.releases}
    # By value: a tag core_v1.0 is that of a wheel 1.0.0.
    listed_of = {Version(name): listed for name, listed in releases.items()}
    tag_of = {Version(tag.version): tag for tag in tags}
    found: list[FoundRelease] = []
    for version in sorted({*listed_of, *tag_of}):
        if version in known or (known and version < min(known)) or (version.is_prerelease and not pre):
            continue
        listed, tag = listed_of.get(version), tag_of.get(version)
        where = (("index",) if listed else ()) + (("tag",) if tag else ())
        release = FoundRelease(
            version=listed.version if listed else str(version),
            where=where,
            date=(listed.date if listed else "") or (tag.date if tag else ""),
            tag=tag.name if tag else None,
            commit=tag.commit if tag else None,
            yanked=listed.yanked if listed else None,
            pre_release=version.is_prerelease,
        )
        found.append(release)
    return tuple(found)


def _against_index(upstream: Upstream, listing: Listing, notes: list[str]) -> Iterator[Problem]:
    """Yield where the index is no longer what the file says; add to ``notes`` what is no problem."""
    from packaging.version import Version  # noqa: PLC0415 - slow, and needed here alone

    there = {Version(release.version): release for release in listing.releases}
    absent: list[str] = []
    for release in upstream.releases:
        now = there.get(Version(release.version))
        if now is None:
            if release.files:
                absent.append(f"v{release.version}")
            continue
        if now.yanked is not None and release.yanked is None:
            yield Problem(
                f"v{release.version} was yanked: {now.yanked}",
                hint=f"enter `yanked: {now.yanked}` for it in upstream_versions.yaml",
            )
        elif now.yanked is None and release.yanked is not None:
            notes.append(f"v{release.version} is yanked ({release.yanked}), and the package index does not say so")
        yield from _files(release, now, notes, complete=listing.complete)
    if listing.complete:
        for name in absent:
            yield Problem(
                f"{name} is no longer on the package index",
                hint="its wheel, where the cache has it, can still be patched; nobody can fetch it",
            )
    elif absent:
        notes.append(f"no package index that answered has {', '.join(absent)}")


def _files(release: Release, now: ListedRelease, notes: list[str], *, complete: bool) -> Iterator[Problem]:
    gone = [name for name in release.files if name not in now.files]
    for name, digest in release.files.items():
        found = now.files.get(name)
        if found is not None and found != digest:
            yield Problem(
                f"{name} on the package index is not the file that was recorded: SHA-256 {digest} is recorded, the "
                f"index has {found}",
                hint=_TRUST.format(who="the index"),
            )
    if gone and complete:
        yield Problem(f"v{release.version} has lost {_named(gone)} on the package index")
    new = [name for name in now.files if name not in release.files]
    if new:
        notes.append(f"v{release.version} has {_named(new)} on the package index that upstream_versions.yaml lacks")


def _named(files: list[str]) -> str:
    return files[0] if len(files) == 1 else f"{len(files)} wheels ({files[0]} ...)"


def _against_tags(
    upstream: Upstream, clone: GitProgram, tags: tuple[ReleaseTag, ...], notes: list[str], faults: list[Problem]
) -> Iterator[Problem]:
    """Yield where a tag is no longer what the file says.

    Added are to ``notes`` what could not be compared, to ``faults`` what the clone has lost of it.
    """
    from patchkit.trees.release_tags import blobs_at  # noqa: PLC0415 - git only where it is asked for

    tagged = _tagged(upstream, clone, tags, notes, faults)
    wanted: dict[str, dict[str, None]] = {}
    for release, tag in tagged:
        # Two tags can name one commit.
        wanted.setdefault(tag.commit, {}).update(dict.fromkeys(release.blobs))
    blobs, lost = blobs_at(clone, wanted)
    _say_lost(clone, [tag for _, tag in tagged if tag.commit in lost], notes, faults)
    for release, tag in tagged:
        hint = _TRUST.format(who="the clone")
        if tag.commit != release.commit:
            yield Problem(
                f"the tag {tag.name} has moved: commit {release.commit} is recorded, {clone.repository} has "
                f"{tag.commit}",
                hint=hint,
            )
        for path, recorded in release.blobs.items() if tag.commit not in lost else ():
            found = blobs[tag.commit].get(path)
            if found != recorded:
                yield Problem(
                    f"{path} at {tag.name} is not the file that was recorded: blob {recorded} is recorded, the tag has "
                    f"{found or 'no such file'}",
                    path=path,
                    hint=hint,
                )


def _tagged(
    upstream: Upstream, clone: GitProgram, tags: tuple[ReleaseTag, ...], notes: list[str], faults: list[Problem]
) -> list[tuple[Release, ReleaseTag]]:
    """Return the releases whose tag the clone has; what there is to say of the others goes where it belongs."""
    from packaging.version import Version  # noqa: PLC0415 - as above

    by_name = {tag.name: tag for tag in tags}
    by_version = {Version(tag.version): tag for tag in tags}
    tagged: list[tuple[Release, ReleaseTag]] = []
    absent: list[str] = []
    for release in upstream.releases:
        if release.tag is None:
            tag = by_version.get(Version(release.version))
            if tag is not None:
                notes.append(
                    f"v{release.version} has the tag {tag.name} now (commit {tag.commit}); upstream_versions.yaml "
                    "says that there is none"
                )
        elif release.tag in by_name:
            tagged.append((release, by_name[release.tag]))
        else:
            try:
                # git passes over a tag that is none.
                clone.refuse_damage(f"refs/tags/{release.tag}")
                absent.append(release.tag)
            except DamagedCloneError as error:
                faults.append(Problem(error.message, hint=error.hint))
    if absent:
        notes.append(f"{clone.repository} lacks {', '.join(absent)}: not fetched, or removed by upstream")
    return tagged


def _say_lost(clone: GitProgram, tags: list[ReleaseTag], notes: list[str], faults: list[Problem]) -> None:
    """Say of tags that they cannot be compared: a partial clone never had what they lead to, another one lost it."""
    if not tags:
        return
    from patchkit.trees.clone_damage import damaged, how_to_fetch_the_rest  # noqa: PLC0415 - git only where needed

    if how_to_fetch_the_rest(clone.run, clone.repository) is not None:
        notes += (
            f"{tag.name} cannot be compared: {clone.repository} lacks objects of commit {tag.commit}" for tag in tags
        )
        return
    for tag in tags:
        error = damaged(clone.repository, f"folders of {tag.name} (commit {tag.commit}) cannot be read")
        faults.append(Problem(error.message, hint=error.hint))
