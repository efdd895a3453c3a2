"""The targets that a series can go to: those of its own list, and the releases and commits that patchkit ships."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from patchkit.core.upstream import PinnedCommit, Release, Target, Upstream, VersionsDocument, find_target, targets
from patchkit.errors import UsageError
from patchkit.store.location import VERSIONS, default_patches, versions_file
from patchkit.store.versions import load_versions


@dataclass(frozen=True, slots=True)
class Known:
    """Two lists.

    What a series lists it is made for: each of these targets has a variant, or a reason why not. What only patchkit
    lists is known, and joins the list of a series with the first rebase to it.
    """

    own: VersionsDocument | None
    """The list of the series; None when it has none, and the shipped one is its list."""
    built_in: VersionsDocument
    """The list that patchkit ships."""

    @property
    def versions(self) -> VersionsDocument:
        """The list of the series, else the shipped one."""
        return self.own or self.built_in

    @property
    def upstream(self) -> Upstream:
        """What the series patches."""
        return self.versions.upstream

    @property
    def is_shipped(self) -> bool:
        """Tell whether patchkit ships a list of this upstream."""
        return self.upstream.distribution == self.built_in.upstream.distribution

    @property
    def targets(self) -> tuple[Target, ...]:
        """Every target once, the series' own first."""
        mine = targets(self.own.upstream) if self.own else ()
        if not self.is_shipped:
            return mine
        names = {target.name for target in mine}
        return (*mine, *(target for target in targets(self.built_in.upstream) if target.name not in names))

    @property
    def unlisted(self) -> tuple[Target, ...]:
        """Releases and commits of the same distribution that the series does not list; branches move, and are not."""
        if self.own is None or not self.is_shipped:
            return ()
        names = {target.name for target in targets(self.own.upstream)}
        steady = replace(self.built_in.upstream, branches=())
        return tuple(target for target in targets(steady) if target.name not in names)

    def find_unlisted(self, asked: str) -> Target | None:
        """Return the target called ``asked`` that the series does not list, or None when patchkit does not know it."""
        try:
            return find_target(self.unlisted, asked)
        except UsageError:
            return None

    def entry(self, target: Target) -> Release | PinnedCommit | None:
        """Return what a list says of a release or commit; None for a branch."""
        if target.release is not None:
            return target.release
        for document in (self.own, self.built_in if self.is_shipped else None):
            for commit in document.upstream.commits if document else ():
                if commit.name == target.name:
                    return commit
        return None


def load_known(folder: Path) -> Known:
    """Load both lists for the series in ``folder``. Raises StoreError."""
    own, built_in = versions_file(folder), versions_file(default_patches())
    document = load_versions(built_in)
    if not has_own_versions(folder):
        return Known(None, document)
    return Known(document if own == built_in else load_versions(own), document)


def shipped_versions() -> VersionsDocument:
    """Load the list that patchkit ships. Raises StoreError."""
    return load_versions(versions_file(default_patches()))


def judged_by(folder: Path) -> VersionsDocument:
    """Load what pins in install files are held against: the series' list, else what patchkit ships. Raises StoreError.

    A list of another upstream knows no pin of Megatron-LM, and one without torch_memory_saver no defect of it.
    """
    known = load_known(folder)
    own = known.own
    if own is None or not known.is_shipped or own.megatron is None:
        return known.built_in
    saver = own.torch_memory_saver if own.torch_memory_saver.releases else known.built_in.torch_memory_saver
    return replace(own, torch_memory_saver=saver)


def has_own_versions(folder: Path) -> bool:
    """Tell whether a series has a list of its own, in its folder or two levels up."""
    return versions_file(folder) in (folder / VERSIONS, folder.parent.parent / VERSIONS)
