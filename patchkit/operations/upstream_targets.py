"""What check-upstream looks at: releases, the tips of tracked branches, pinned commits, and what somebody names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from patchkit.core.upstream import Release, Target, Upstream, VersionsDocument, find_target, targets
from patchkit.core.upstream_report import FoundRelease
from patchkit.errors import DamagedCloneError, RevisionNotFoundError, TreeError, UsageError
from patchkit.operations.revisions import revision_called
from patchkit.trees.git_log import day_of
from patchkit.trees.git_program import GitProgram

Kind = Literal["release", "branch", "commit", "revision"]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the user wants to know."""

    onto: tuple[str, ...] = ()
    """Targets to look at; empty for all."""
    base: str | None = None
    """Target whose variants are carried; None for the nearest one."""
    repository: Path | GitProgram | None = None
    """A clone; one that was opened already with ``download`` off is not looked at again."""
    offline: bool = False
    """Whether nothing may be asked of the package index."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """One target to look at."""

    target: Target
    kind: Kind
    date: str = ""
    listed: bool = True
    recorded: str | None = None
    """The commit that upstream_versions.yaml has for it, when the target has moved on since."""
    missing: str = ""
    """Why it cannot be looked at; empty when nothing is known against it."""
    hint: str = ""
    lost: bool = False
    """Whether what is missing was lost by the clone that was given: no target out of reach, but a fault."""


def all_wanted(
    versions: VersionsDocument, clone: GitProgram | None, extra: Iterable[Release | FoundRelease]
) -> list[Wanted]:
    """Return every listed target, tracked branches where they are now, and the releases of ``extra`` after the others.

    A release that was found as a tag alone is looked at as the commit of its tag, unless that is a target already.
    Raises TreeError when git gives no answer.
    """
    refs = _Clone(clone, versions) if clone is not None else None
    wanted = [_listed(versions, target, refs) for target in targets(versions.upstream)]
    commits = {each.target.commit for each in wanted}
    newest = [_unlisted(each) for each in extra if isinstance(each, Release) or each.commit not in commits]
    at = sum(each.kind == "release" for each in wanted)
    return [*wanted[:at], *newest, *wanted[at:]]


def _unlisted(found: Release | FoundRelease) -> Wanted:
    if isinstance(found, Release):
        target = Target(found.version, found.version, found.tag, found.commit, found.blobs, found)
        return Wanted(target=target, kind="release", date=found.date, listed=False)
    # Called by its tag, as rebase calls it.
    target = Target(found.tag or found.version, found.version, None, found.commit, {}, None)
    return Wanted(target=target, kind="revision", date=found.date, listed=False)


def named(
    versions: VersionsDocument, clone: GitProgram | None, names: Sequence[str], extra: Iterable[Release]
) -> list[Wanted]:
    """Return the targets called ``names``, each once; with a clone any revision is one.

    Raises UsageError, TreeError.
    """
    refs = _Clone(clone, versions) if clone is not None else None
    known = targets(versions.upstream)
    others = {release.version: release for release in extra}
    found = [_named(name, versions, known, others, refs) for name in names]
    return list({each.target.name: each for each in found}.values())


def _named(
    name: str,
    versions: VersionsDocument,
    known: tuple[Target, ...],
    others: Mapping[str, Release],
    clone: _Clone | None,
) -> Wanted:
    try:
        return _listed(versions, find_target(known, name), clone)
    except UsageError as error:
        new = others.get(versions.upstream.version_asked(name) or "")
        if new is not None:
            return _unlisted(new)
        if clone is None:
            hint = f"{error.hint}; for another revision give a clone with --git REPO"
            raise UsageError(error.message, hint=hint) from error
    return clone.revision(name, known, versions.upstream)


def base_named(upstream: Upstream, known: tuple[Target, ...], asked: Asked, clone: GitProgram | None) -> str | None:
    """Return the name of the base that was asked for; of a revision of the clone the commit, since it may move.

    Raises UsageError when nobody knows it, RevisionNotFoundError when the clone does not.
    """
    if asked.base is None:
        return None
    try:
        return find_target(known, asked.base).name
    except UsageError as error:
        if clone is None:
            hint = f"{error.hint}; for another revision give a clone with --git REPO"
            raise UsageError(f"--from: {error.message}", hint=hint) from error
    return revision_called(asked.base, upstream, clone.commit)


def _listed(versions: VersionsDocument, target: Target, clone: _Clone | None) -> Wanted:
    if target.release is not None:
        return Wanted(target=target, kind="release", date=target.release.date)
    branch = next((each for each in versions.upstream.branches if each.name == target.name), None)
    commit = next((each for each in versions.upstream.commits if each.name == target.name), None)
    kind: Kind = "branch" if branch is not None else "commit"
    date = branch.date if branch is not None else commit.date if commit is not None else ""
    wanted = Wanted(target=target, kind=kind, date=date)
    if clone is None:
        return replace(
            wanted,
            missing=f"a {kind} is read from a clone, and none was given",
            hint=f"give a clone of {versions.upstream.name} with --git REPO",
        )
    return clone.tip(wanted) if branch is not None else clone.pinned(wanted)


class _Clone:
    """A clone of upstream, read without touching it."""

    def __init__(self, program: GitProgram, versions: VersionsDocument) -> None:
        self._program = program
        self._versions = versions.upstream

    @cached_property
    def _commits(self) -> Mapping[str, str | None]:
        """The commits of all listed branches and pinned commits, asked for at once; None where there is none."""
        branches = [spelling for branch in self._versions.branches for spelling in _spellings(branch.name)]
        return self._program.commits([*branches, *(pinned.commit for pinned in self._versions.commits)])

    def tip(self, wanted: Wanted) -> Wanted:
        """Return a tracked branch as it is now: upstream's, as far as this clone has fetched it.

        Where the remote's branches are kept apart, that is the remote's, since a local one is as old as its last pull;
        in a mirror the branches are upstream's own.
        """
        name = wanted.target.name
        of_remote, own = (self._commits[spelling] for spelling in _spellings(name))
        commit = of_remote if own is None or (of_remote is not None and self._keeps_apart) else own
        if commit is None:
            return self._no_branch(wanted, name)
        if commit == wanted.target.commit:
            return wanted
        target = replace(wanted.target, commit=commit, blobs={})
        return replace(wanted, target=target, date=_day(self._program, commit), recorded=wanted.target.commit)

    def _no_branch(self, wanted: Wanted, name: str) -> Wanted:
        try:
            for spelling in _spellings(name):
                self._program.refuse_damage(spelling)
        except DamagedCloneError as error:
            return _lost(wanted, error)
        return replace(wanted, missing=f"{self._program.repository} has no branch {name}", hint="fetch it")

    def pinned(self, wanted: Wanted) -> Wanted:
        """Return a pinned commit, or why it is out of reach."""
        if self._commits[str(wanted.target.commit)] is not None:
            return wanted
        try:
            # There is something to say about it.
            self._program.commit(str(wanted.target.commit))
        except DamagedCloneError as error:
            return _lost(wanted, error)
        except RevisionNotFoundError as error:
            return replace(wanted, missing=error.message, hint=error.hint or "")
        return wanted

    def revision(self, name: str, known: Sequence[Target], upstream: Upstream) -> Wanted:
        """Return any revision as a target. Raises RevisionNotFoundError."""
        from patchkit.operations.import_base import pinned_commit  # noqa: PLC0415 - reading patches takes 50 ms to load
        from patchkit.trees.git import GitTree  # noqa: PLC0415 - for a revision that nobody listed

        tree = revision_called(name, upstream, lambda spelled: GitTree(self._program, spelled))
        for target in known:
            if target.release is None and target.commit == tree.commit:
                return Wanted(target=target, kind="commit", date=_day(self._program, tree.commit))
        pinned = pinned_commit(tree, upstream)
        # The name that it was found by is what the reader knows it by; a commit id is cut to what tells it apart.
        title = pinned.name if tree.commit.startswith(name.lower()) else tree.revision
        target = Target(title, pinned.as_of, None, tree.commit, {}, None)
        return Wanted(target=target, kind="revision", date=pinned.date, listed=False)

    @cached_property
    def _keeps_apart(self) -> bool:
        try:
            fetched = self._program.output("config", "--get-all", "remote.origin.fetch")
        except TreeError:
            # No such remote.
            return False
        return b"refs/remotes/origin/" in fetched


def _lost(wanted: Wanted, error: DamagedCloneError) -> Wanted:
    return replace(wanted, missing=error.message, hint=error.hint or "", lost=True)


def _spellings(branch: str) -> tuple[str, str]:
    """Return where a clone keeps a branch of its remote, and one of its own."""
    return f"refs/remotes/origin/{branch}", f"refs/heads/{branch}"


def _day(program: GitProgram, commit: str) -> str:
    try:
        return day_of(program, commit)
    except TreeError:
        return ""
