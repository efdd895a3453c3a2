"""Where a package index or the tags of a clone contradict what upstream_versions.yaml says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from patchkit.core.report import Problem
from patchkit.core.upstream import Release, Upstream, targets
from patchkit.errors import DamagedCloneError, NotATreeError, RevisionNotFoundError, TreeError

if TYPE_CHECKING:
    from patchkit.trees.git_program import GitProgram
    from patchkit.trees.index_listing import ListedRelease, Listing
    from patchkit.trees.release_tags import ReleaseTag

_TRUST = "do not use it before you know who changed it, {who} or upstream"
VANISHED: Final = 0
"""Weight of a release that nobody can have any more. What weighs less is graver."""
CHANGED: Final = 1
"""Weight of another text, or bytes, under a name that was recorded."""
YANKED: Final = 2
"""Weight of a release that upstream advises against."""
FEWER: Final = 3
"""Weight of wheels that are gone while a release is there."""


def against_index(upstream: Upstream, listing: Listing, notes: list[str]) -> Iterator[tuple[int, Problem]]:
    """Yield, with its weight, where the index is no longer what the file says.

    Added to ``notes`` is what is no problem.
    """
    from packaging.version import Version  # noqa: PLC0415 - slow, and needed here alone

    there = {Version(release.version): release for release in listing.releases}
    absent: list[str] = []
    fewer: dict[str, tuple[list[str], bool]] = {}
    for release in upstream.releases:
        now = there.get(Version(release.version))
        if now is None:
            if release.files:
                absent.append(f"v{release.version}")
            continue
        if now.yanked is not None and release.yanked is None:
            problem = Problem(
                f"v{release.version} was yanked: {now.yanked}",
                hint=f"enter `yanked: {now.yanked}` for it in upstream_versions.yaml",
            )
            yield YANKED, problem
        elif now.yanked is None and release.yanked is not None:
            notes.append(f"v{release.version} is yanked ({release.yanked}), and the package index does not say so")
        yield from ((CHANGED, problem) for problem in _changed(release, now, notes))
        gone = [name for name in release.files if name not in now.files]
        if gone and listing.complete:
            kept = any(now.files.get(name) == digest for name, digest in release.files.items())
            fewer[f"v{release.version}"] = gone, kept
    if listing.complete:
        for name in absent:
            problem = Problem(
                f"{name} is no longer on the package index",
                hint="its wheel, where the cache has it, can still be patched; nobody can fetch it",
            )
            yield VANISHED, problem
    elif absent:
        notes.append(f"no package index that answered has {', '.join(absent)}")
    yield from ((FEWER, problem) for problem in _fewer(fewer))


def _changed(release: Release, now: ListedRelease, notes: list[str]) -> Iterator[Problem]:
    for name, digest in release.files.items():
        found = now.files.get(name)
        if found is not None and found != digest:
            yield Problem(
                f"{name} on the package index is not the file that was recorded: SHA-256 {digest} is recorded, the "
                f"index has {found}",
                hint=_TRUST.format(who="the index"),
            )
    new = [name for name in now.files if name not in release.files]
    if new:
        notes.append(f"v{release.version} has {_named(new)} on the package index that upstream_versions.yaml lacks")


def _fewer(lost: dict[str, tuple[list[str], bool]]) -> Iterator[Problem]:
    """Yield what releases have lost; ``lost`` is which wheels, and whether a recorded one is left, by title.

    Of those that have a recorded wheel left there is one problem: each of their texts can still be had, since all
    wheels of a release were recorded with the same ones, and what takes the wheels of a platform from an index takes
    them of every release.
    """
    left = {title: gone for title, (gone, kept) in lost.items() if kept}
    for title, (gone, _kept) in lost.items():
        if title not in left or len(left) == 1:
            yield Problem(f"{title} has lost {_named(gone)} on the package index")
    if len(left) > 1:
        told = ", ".join(f"{title} ({len(gone)})" for title, gone in left.items())
        yield Problem(
            f"{len(left)} releases have lost wheels on the package index: {told}",
            hint="a recorded wheel with the same text is left of each; it may be none for your Python or platform",
        )


def _named(files: list[str]) -> str:
    return files[0] if len(files) == 1 else f"{len(files)} wheels ({files[0]} ...)"


def against_tags(
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
                    f"another file at {tag.name} than was recorded: blob {recorded} is recorded, the tag has "
                    f"{found or 'no such file'}",
                    path=path,
                    hint=hint,
                )


def refuse_stranger(upstream: Upstream, clone: GitProgram, tags: tuple[ReleaseTag, ...]) -> None:
    """Raise NotATreeError for a repository that has nothing which the file lists, and no tree of this upstream.

    ``tags`` are its release tags. A shallow clone that has neither a tag nor a commit of the list is known by its
    packages, at HEAD or where a tracked branch is. What cannot be read accuses nobody.
    """
    listed = [release.tag for release in upstream.releases if release.tag is not None]
    commits = [target.commit for target in targets(upstream) if target.commit is not None]
    if not (listed or commits) or {tag.name for tag in tags} & set(listed) or any(clone.commits(commits).values()):
        return
    branches = [f"refs/{place}/{each.name}" for each in upstream.branches for place in ("remotes/origin", "heads")]
    try:
        if any(_has_packages(upstream, clone, revision) for revision in ("HEAD", *branches)):
            return
    except TreeError:
        return
    raise NotATreeError(
        f"{clone.repository} is no clone of {upstream.name}: it has none of the {len(listed)} tags and {len(commits)} "
        f"commits that upstream_versions.yaml lists, and no {upstream.packages[0]}",
        hint=f"--git names a clone of {upstream.repository}",
    )


def _has_packages(upstream: Upstream, clone: GitProgram, revision: str) -> bool:
    from patchkit.trees.git import GitTree  # noqa: PLC0415 - git only where it is asked for

    try:
        tree = GitTree(clone, revision)
    except RevisionNotFoundError:
        return False
    return any(next(iter(tree.paths(package)), None) is not None for package in upstream.packages)


def _tagged(
    upstream: Upstream, clone: GitProgram, tags: tuple[ReleaseTag, ...], notes: list[str], faults: list[Problem]
) -> list[tuple[Release, ReleaseTag]]:
    """Return the releases whose tag the clone has; what there is to say of the others goes where it belongs."""
    from packaging.version import Version  # noqa: PLC0415 - slow, and needed here alone

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
