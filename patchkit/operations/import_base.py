"""What a foreign patch was made for: named by the user, or found out from the blob ids in its index lines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from patchkit.core.blobs import blob_id_if_any
from patchkit.core.foreign.diffs import ForeignPatch
from patchkit.core.foreign.fitting import pre_images
from patchkit.core.printing import shell_word
from patchkit.core.upstream import PinnedCommit, Release, Target, Upstream, find_target
from patchkit.errors import RevisionNotFoundError, TreeError, UsageError
from patchkit.operations.known import Known
from patchkit.operations.revisions import revision_called
from patchkit.operations.sources import cached_release, fetch_release
from patchkit.progress import Reporter
from patchkit.trees.bases import Bases, find_bases, matching
from patchkit.trees.git import GitTree
from patchkit.trees.git_log import day_of
from patchkit.trees.git_refs import branches_with
from patchkit.trees.interface import SourceTree
from patchkit.trees.layout import seen

_NUMBERS = re.compile(rb"^(MAJOR|MINOR|PATCH) = (\d{1,9})\b", re.MULTILINE)
_STATED = re.compile(rb"""^(?:__version__|version)\s*=\s*["'](\d{1,9}(?:\.\d{1,9})*)(?!\d)""", re.MULTILINE)
_ALONE = re.compile(rb"\s*v?(\d{1,9}(?:\.\d{1,9})*)(?!\d)[^\s\"']*\s*")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_FINAL = re.compile(r"\d+(\.\d+)*")


@dataclass(frozen=True, slots=True)
class Base:
    """Where a foreign patch is laid on."""

    tree: SourceTree
    target: Target
    entry: Release | PinnedCommit
    """What upstream_versions.yaml says of the target, blob ids aside."""
    how: str
    """How it was found, for people."""
    matching: int
    """Files whose index line names the base's text."""
    of: int
    """Files that have an index line."""


def choose_base(
    patches: Sequence[ForeignPatch],
    known: Known,
    *,
    megatron: str | None,
    repository: Path | None,
    revision: str | None,
    cache: Path | None,
    reporter: Reporter,
) -> Base:
    """Return the base: ``revision`` of the clone, the target ``megatron``, or the one that the index lines give away.

    Raises UsageError when nothing decides, and the errors of git and of the package index.
    """
    if revision is not None:
        if repository is None:
            raise UsageError("--base needs --git REPO")
        return _from_git(patches, known, _called(revision, known, repository), f"--base {revision}")
    if megatron is not None:
        return _named(patches, known, megatron, repository=repository, cache=cache, reporter=reporter)
    if repository is not None:
        return _inferred(patches, known, repository, reporter)
    return _from_cache(patches, known, cache)


def _named(
    patches: Sequence[ForeignPatch],
    known: Known,
    megatron: str,
    *,
    repository: Path | None,
    cache: Path | None,
    reporter: Reporter,
) -> Base:
    how = f"--megatron {megatron}"
    try:
        target = find_target(known.targets, megatron)
    except UsageError:
        if repository is None:
            raise
        return _from_git(patches, known, _called(megatron, known, repository), how)
    if repository is not None:
        for spelling in (target.tag, target.commit, target.usual_tag, megatron):
            try:
                tree = GitTree(repository, spelling or megatron)
            except RevisionNotFoundError:
                continue
            return _from_git(patches, known, tree, how, target)
        if target.release is None:
            raise RevisionNotFoundError(f"{repository}: {target.title} is not in this clone", hint="fetch its tag")
    if target.release is None:
        raise UsageError(f"{target.title} is no release on the package index", hint="add --git REPO")
    from patchkit.trees.archive import WheelTree  # noqa: PLC0415 - zipfile only where a wheel is read

    wheel = WheelTree(fetch_release(known.versions, target, cache=cache, reporter=reporter))
    tree_ = seen(wheel, known.upstream)
    wanted = _wanted(patches, tree_)
    return Base(tree_, target, target.release, how, _matching(tree_, wanted), len(wanted))


def _called(asked: str, known: Known, repository: Path) -> GitTree:
    return revision_called(asked, known.upstream, lambda name: GitTree(repository, name))


def _inferred(patches: Sequence[ForeignPatch], known: Known, repository: Path, reporter: Reporter) -> Base:
    head = GitTree(repository, _any_revision(repository))
    wanted = _wanted(patches, head)
    if not wanted:
        raise _no_index_lines()
    reporter.step("looking for the base in the history")
    bases = find_bases(head, wanted)
    if not bases.intervals:
        raise _no_base(bases, wanted, known, head)
    for target in newest_first(known):
        tree = _at(head, target.commit)
        if tree is not None and matching(tree, wanted) == len(wanted):
            return _from_git(patches, known, tree, _told(bases, f"{target.title} among them"), target)
    newest = bases.intervals[0]
    tags = [tag for tag in newest.tags if known.upstream.version_in(tag)] or list(newest.tags)
    return _from_git(patches, known, head.at(tags[0] if tags else newest.newest), _told(bases, *tags[:1]))


def _no_index_lines() -> UsageError:
    return UsageError(
        "the patch has no index lines, so that its base cannot be found out",
        hint="name it: --base REVISION with --git REPO, or --megatron RELEASE (init has --base for both)",
    )


def newest_first(known: Known) -> list[Target]:
    """Return releases before branches and commits, the newest first: a base with a name is easier to talk about."""
    newest = list(reversed(known.targets))
    return [*(each for each in newest if each.release), *(each for each in newest if not each.release)]


def _at(tree: GitTree, commit: str | None) -> GitTree | None:
    try:
        return None if commit is None else tree.at(commit)
    except RevisionNotFoundError:
        return None


def at_hand(target: Target, repository: Path | None, cache: Path | None) -> SourceTree | None:
    """Return the text of a target that needs no index: the clone's, else that of a wheel in the cache; None without."""
    for spelling in (target.tag, target.commit, target.usual_tag) if repository is not None else ():
        with suppress(RevisionNotFoundError):
            if spelling and repository is not None:
                return GitTree(repository, spelling)
    wheel = cached_release(target, cache=cache)
    if wheel is None:
        return None
    from patchkit.trees.archive import WheelTree  # noqa: PLC0415 - zipfile only where a wheel is read

    return WheelTree(wheel)


def _told(bases: Bases, named: str = "") -> str:
    """Say in which commits the base was found."""
    interval = bases.intervals[0]
    where = (
        f"commit {interval.newest[:9]} alone"
        if interval.commits == 1
        else f"the {interval.commits} commits {interval.first[:9]}..{interval.newest[:9]}"
    )
    more = f", and in {len(bases.intervals) - 1} other runs of commits" if len(bases.intervals) > 1 else ""
    return f"every index line names its text in {where}{f' ({named})' if named else ''}{more}"


def _no_base(bases: Bases, wanted: Mapping[str, str | None], known: Known, head: GitTree) -> UsageError:
    if bases.nearest is None:
        return UsageError(
            "no commit of the clone has any of the files that the index lines name",
            hint=f"{_fetch_all(head)}the ids may be made up, the base a fork's, or another patch lies below: fetch it, "
            "import that patch first, or name a base with --megatron or --base",
        )
    near = bases.nearest[:9]
    for target in newest_first(known):
        tree = _at(head, target.commit)
        if tree is not None and matching(tree, wanted) == bases.matching:
            near = tree.commit[:9]
            break
    return UsageError(
        f"no commit has all files that the index lines name; {near} has {bases.matching} of {len(wanted)}",
        hint=f"{_fetch_all(head)}the base may be a fork's: fetch it; or another patch lies below this one: name both, "
        f"in their order; or try --base {near}",
    )


def _fetch_all(head: GitTree) -> str:
    """Return what a hint begins with where the clone lacks history; nothing where it has all."""
    program = head.program
    if not program.shallow:
        return ""
    return f"this clone is shallow (git -C {shell_word(str(program.repository))} fetch --unshallow); "


def _from_cache(patches: Sequence[ForeignPatch], known: Known, cache: Path | None) -> Base:
    """Look for the base among the releases in the cache; without git there is nothing else to compare with."""
    from patchkit.trees.archive import WheelTree  # noqa: PLC0415 - zipfile only where a wheel is read

    if all(file.old_id is None for patch in patches for message in patch.messages for file in message.files):
        raise _no_index_lines()
    best: tuple[int, int, Target | None] = (0, 0, None)
    for target in reversed(known.targets):
        wheel = cached_release(target, cache=cache) if target.release else None
        if target.release is None or wheel is None:
            continue
        tree = seen(WheelTree(wheel), known.upstream)
        wanted = _wanted(patches, tree)
        count = _matching(tree, wanted)
        if wanted and count == len(wanted):
            how = f"every index line names its text in {target.title}, the newest of those at hand"
            return Base(tree, target, target.release, how, count, count)
        if count > best[0]:
            best = (count, len(wanted), target)
    near = f"; {best[2].title} has {best[0]} of {best[1]} files" if best[2] else ""
    raise UsageError(
        f"the base of the patch is not known, and no release at hand has the files of its index lines{near}",
        hint="name it with --megatron RELEASE (init: --base RELEASE), or give a clone with --git REPO",
    )


def _from_git(
    patches: Sequence[ForeignPatch], known: Known, tree: GitTree, how: str, target: Target | None = None
) -> Base:
    """Return a revision as base, as the target it is known by or as a new commit target."""
    wanted = _wanted(patches, tree)
    count = matching(tree, wanted) if wanted else 0
    if target is None:
        target = next((other for other in known.targets if other.commit == tree.commit), None)
    entry = _entry(known, target, patches, tree) if target else None
    if target is None or entry is None:
        note = f"{target.tag or target.title} as it is in git: its wheel has not all of the files" if target else ""
        # Called by its tag, as rebase calls it.
        entry = pinned_commit(tree, known.upstream, note, name=target.tag if target else tag_asked(tree))
        target = Target(entry.name, entry.as_of, None, entry.commit, {}, None)
    return Base(tree, target, entry, how, count, len(wanted))


def _entry(
    known: Known, target: Target, patches: Sequence[ForeignPatch], tree: GitTree
) -> Release | PinnedCommit | None:
    """Return a known target's entry; None for a release whose wheel does not ship every file that is touched.

    The series is built from the wheel of a release, which up to 0.16 has no megatron/training.
    """
    if target.release is not None:
        touched = _wanted(patches, tree, every=True)
        return target.release if all(known.upstream.ships(target.release, path) for path in touched) else None
    # A branch stands still here: the patch is for this commit of it.
    return known.entry(target)


def pinned_commit(tree: GitTree, upstream: Upstream, note: str = "", name: str | None = None) -> PinnedCommit:
    """Return the entry of upstream_versions.yaml that a revision would get, without blob ids.

    Without a ``name`` it is called by its commit.
    """
    branches = branches_with(tree.program, tree.commit)
    usual = [name for name in ("main", "dev") if name in branches]
    return PinnedCommit(
        name=name or tree.commit[:8],
        commit=tree.commit,
        date=day_of(tree.program, tree.commit),
        # One of many branches says nothing.
        branch=usual[0] if usual else branches[0] if len(branches) == 1 else "",
        as_of=version_or_tag(tree, upstream),
        note=note,
        blobs={},
    )


def tag_asked(tree: GitTree) -> str | None:
    """Return the name of the tag as which a revision was asked for; None when it was not, or no file can have it."""
    name = tree.revision.removeprefix("refs/").removeprefix("tags/")
    # Variants and generated files are named after their target. No other tag is looked at: one may be damaged.
    if _FILE_NAME.fullmatch(name) is None:
        return None
    tag = f"refs/tags/{name}"
    return name if tree.program.commits([tag])[tag] == tree.commit else None


def version_of(tree: SourceTree, upstream: Upstream) -> str:
    """Return the version that a revision says it is, without rc: ranges are tested with it; empty when it says none.

    It says so in upstream's ``version-file``: in MAJOR, MINOR and PATCH, in ``version`` or ``__version__``, or by
    nothing but a version.
    """
    text = (tree.read(upstream.version_file) if upstream.version_file else None) or b""
    numbers = {match[1]: match[2].decode() for match in _NUMBERS.finditer(text)}
    parts = [part for name in (b"MAJOR", b"MINOR", b"PATCH") if (part := numbers.get(name)) is not None]
    stated = _STATED.search(text) or _ALONE.fullmatch(text)
    return ".".join(parts) or (stated[1].decode() if stated else "")


def version_or_tag(tree: GitTree, upstream: Upstream, files: SourceTree | None = None) -> str:
    """Return the version that a revision says it is, else that of the nearest release tag before it, else ``0``.

    ``files`` are its files, where somebody has them at hand.
    """
    said = version_of(files or tree, upstream)
    if said:
        return said
    try:
        found = tree.ask("describe", "--tags", "--abbrev=0", f"--match={upstream.tag_of('*')}", tree.commit)
    except TreeError:
        return "0"
    match = _FINAL.match(upstream.version_in(found.decode("utf-8", "replace").strip()) or "")
    return match[0] if match else "0"


def _wanted(patches: Sequence[ForeignPatch], tree: SourceTree, *, every: bool = False) -> dict[str, str | None]:
    """Return the pre-images by path; with ``every`` those of files without an index line as well (None)."""
    if not every:
        return pre_images(patches, lambda path: tree.read(path) is not None)
    from patchkit.core.foreign.fitting import touched_paths  # noqa: PLC0415 - one caller

    paths = [pair for foreign in patches for pair in touched_paths(foreign, lambda path: tree.read(path) is not None)]
    return {path: None for pair in paths for path in pair if path is not None}


def _matching(tree: SourceTree, wanted: Mapping[str, str | None]) -> int:
    count = 0
    for path, blob in wanted.items():
        found = blob_id_if_any(tree.read(path))
        count += found is None if blob is None else (found or "").startswith(blob)
    return count


def _any_revision(repository: Path) -> str:
    """Return a revision that exists: a bare mirror's HEAD may name a branch that is not there."""
    try:
        GitTree(repository, "HEAD")
    except RevisionNotFoundError:
        for name in ("main", "origin/main", "master", "origin/master"):
            try:
                GitTree(repository, name)
            except RevisionNotFoundError:
                continue
            return name
        raise
    return "HEAD"
