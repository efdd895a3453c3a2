"""Between which texts a patch is carried: the new target, and for each patch the base whose variant is taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from patchkit.core.blobs import blob_id_if_any
from patchkit.core.placement import FileRefused, place_file
from patchkit.core.upstream import PinnedCommit, Release, Target, VersionsDocument, find_target, targets
from patchkit.errors import DamagedCloneError, StoreError, TreeError, UsageError
from patchkit.operations.coverage import variants_for
from patchkit.operations.import_base import pinned_commit, tag_asked
from patchkit.operations.known import Known
from patchkit.operations.layers import Layer, layers
from patchkit.operations.regenerate import source_opener
from patchkit.operations.revisions import revision_called
from patchkit.progress import Reporter, silent
from patchkit.store.series import Series, SeriesPatch
from patchkit.trees.git_program import GitProgram, opened
from patchkit.trees.interface import SourceTree


class Beyond(NamedTuple):
    """What may be rebased to although the series does not list it."""

    known: Known
    paths: tuple[str, ...]
    """What the series touches."""


class Upstream:
    """The texts of every target, each read once. Raises TreeError when ``repository`` is none."""

    def __init__(
        self,
        versions: VersionsDocument,
        repository: Path | GitProgram | None,
        *,
        beyond: Beyond | None = None,
        cache: Path | None = None,
        offline: bool = False,
        download: bool = True,
        reporter: Reporter = silent,
    ) -> None:
        self._upstream = versions.upstream
        self._targets = targets(versions.upstream)
        self.clone = opened(repository, download=download) if repository is not None else None
        """The repository, opened once for all that is asked of it."""
        self._open = source_opener(versions, self.clone, cache=cache, offline=offline, reporter=reporter)
        self._trees: dict[str, SourceTree | None] = {}
        self._layers: dict[tuple[str, str | None, str], Layer | None] = {}
        self._blobs: dict[str, dict[str, str | None]] = {}
        self._beyond = beyond
        self.added: Release | PinnedCommit | None = None
        """What upstream_versions.yaml does not have yet."""
        self.missed: set[str] = set()
        """Names of the bases that were asked for and could be in reach another time."""

    def target(self, asked: str) -> tuple[Target, SourceTree]:
        """Return the target called ``asked`` and its tree.

        That is one that the series lists, else one that patchkit does, else with a git repository any revision.
        One that is known by no name is called by its tag, if ``asked`` is one, else by its commit.
        Raises UsageError for a name that nobody knows, and when the tree is out of reach.
        """
        try:
            target = find_target(self._targets, asked)
        except UsageError as error:
            found = self._unlisted(asked)
            if found is not None:
                return found
            if self.clone is None:
                hint = f"{error.hint}; for another revision give a clone with --git REPO"
                raise UsageError(error.message, hint=hint) from error
            return self._revision(asked)
        return target, self._reachable(target)

    @property
    def known(self) -> tuple[Target, ...]:
        """Every target that the series or, if it may go beyond them, patchkit lists."""
        return self._beyond.known.targets if self._beyond else self._targets

    def _reachable(self, target: Target) -> SourceTree:
        tree = self.tree(target)
        if tree is None:
            self._miss(target)
            raise UsageError(
                f"the text of {target.title} is out of reach",
                hint=f"give a clone of {self._upstream.name} with --git REPO",
            )
        return tree

    def tree(self, target: Target) -> SourceTree | None:
        """Return the tree of a known target; None when it is out of reach."""
        key = target.commit or target.name
        if key not in self._trees:
            self._trees[key] = self._open(target)
        return self._trees[key]

    def let_go(self, target: Target) -> None:
        """Forget what was read of a release; it is opened again when somebody asks for it."""
        if target.release is not None:
            self._trees.pop(target.commit or target.name, None)

    def _unlisted(self, asked: str) -> tuple[Target, SourceTree] | None:
        """Return a target that only patchkit lists, or None. Raises UsageError when its text is out of reach."""
        target = self._beyond.known.find_unlisted(asked) if self._beyond else None
        if self._beyond is None or target is None:
            return None
        release = target.release
        unshipped = [
            path for path in self._beyond.paths if release is not None and not self._upstream.ships(release, path)
        ]
        if release is not None and unshipped:
            spelling = target.tag or target.commit
            if self.clone is None or spelling is None:
                raise UsageError(
                    f"the wheel of {target.title} has no {unshipped[0]}: it ships {' and '.join(release.ships)}",
                    hint=f"give a clone of {self._upstream.name} with --git REPO: its tag's commit is taken",
                )
            return self._revision(spelling, f"{spelling} as it is in git: its wheel has not all of the files")
        entry = self._beyond.known.entry(target)
        tree = self._reachable(target)
        self.added = None if entry is None else replace(entry, blobs={})
        return replace(target, blobs={}), tree

    def _revision(self, revision: str, note: str = "") -> tuple[Target, SourceTree]:
        from patchkit.trees.git import GitTree  # noqa: PLC0415 - git only where it is asked for

        assert self.clone is not None  # noqa: S101 - the caller has looked
        clone = self.clone
        tree = revision_called(revision, self._upstream, lambda name: GitTree(clone, name))
        for target in self._targets:
            if target.release is None and target.commit == tree.commit:
                return target, tree
        self.added = pinned_commit(tree, self._upstream, note, name=tag_asked(tree))
        target = Target(self.added.name, self.added.as_of, None, tree.commit, {}, None)
        self._trees[tree.commit] = tree
        return target, tree

    def _earlier(self, asked: str, target: Target) -> Target:
        """Return the base called ``asked``: a known target, or an earlier commit of a branch or commit target.

        The variants of a target that has moved are those that were made for where it was.
        """
        try:
            base = find_target(self._targets, asked)
        except UsageError:
            if self.clone is None or target.release is not None:
                raise
            from patchkit.trees.git import GitTree  # noqa: PLC0415 - git only where it is asked for

            clone = self.clone
            tree = revision_called(asked, self._upstream, lambda name: GitTree(clone, name))
            self._trees[tree.commit] = tree
            return replace(target, commit=tree.commit, blobs={})
        self.target(asked)
        return base

    def layer(self, series: Series, patch: SeriesPatch, base: Target) -> Layer | None:
        """Return a patch as it lies on ``base``, on top of those before it; None when it has no variant there.

        Raises StoreError when it, or a patch before it, does not fit.
        """
        key = base.name, base.commit, patch.name
        if key not in self._layers:
            tree = self.tree(base)
            at = series.patches.index(patch)
            below = replace(series, patches=series.patches[: at + 1])
            found = layers(below, base, tree.read) if tree and variants_for(patch.document, base) else ()
            self._layers[key] = next((layer for layer in found if layer.patch is patch), None)
        return self._layers[key]

    def base(self, series: Series, patch: SeriesPatch, target: Target, asked: str | None) -> tuple[Target, Layer]:
        """Return the base of a patch and how it lies there.

        That is the target, or earlier commit of the target, ``asked`` for; else one before ``target`` that has the same
        text in all files of the series; else the newest release before it on which the patch fits; else what is no
        release and has the nearest earlier as-of version; ``target`` itself where
        there is nothing before it. Raises UsageError when there is none, DamagedCloneError when one was lost.
        """
        if asked is not None:
            base = self._earlier(asked, target)
            layer = self.layer(series, patch, base)
            if layer is None:
                raise UsageError(
                    f"{patch.name} has no variant for {base.title}", hint="name another base with --from BASE"
                )
            return base, layer
        earlier = self._same_first(target, self._before(target), series.files)
        for base in earlier:
            try:
                layer = self.layer(series, patch, base)
            except StoreError:
                continue
            except DamagedCloneError:
                # An older base would give another answer, and nobody would look at the clone.
                raise
            except TreeError:
                self._miss(base)
                continue
            if layer is not None:
                return base, layer
            if variants_for(patch.document, base) and self.tree(base) is None:
                self._miss(base)
        if not earlier and target in self._targets:
            # What the series was made for has nothing before it.
            with suppress(StoreError):
                own = self.layer(series, patch, target)
                if own is not None:
                    return target, own
        later = [other.title for other in self._targets if variants_for(patch.document, other)]
        such_as = f", such as {later[0]}" if later else ""
        raise UsageError(
            f"{patch.name} has no variant that fits any target before {target.title}",
            hint=f"name the target whose variant is to be carried with --from BASE{such_as}",
        )

    def _miss(self, base: Target) -> None:
        # Without a repository nothing but releases is ever in reach.
        if base.release is not None or self.clone is not None:
            self.missed.add(base.name)

    def _same_first(self, target: Target, earlier: list[Target], paths: Iterable[str]) -> list[Target]:
        """Return ``earlier`` with those first whose recorded text is the target's: what fits them fits it."""
        if not any(other.blobs for other in earlier):
            return earlier
        key = target.commit or target.name
        if key not in self._blobs:
            tree = self.tree(target)
            self._blobs[key] = {path: blob_id_if_any(tree.read(path)) for path in paths} if tree is not None else {}
        mine = self._blobs[key]
        # Sorting is stable.
        return sorted(
            earlier,
            key=lambda other: (
                not (mine and other.blobs and all(other.blobs.get(path) == blob for path, blob in mine.items()))
            ),
        )

    def _before(self, target: Target) -> list[Target]:
        """Return the possible bases, the best first.

        What is no release and calls itself by the version of one is on the way to that release.
        """
        from packaging.version import Version  # noqa: PLC0415 - 15 ms that other commands do without

        limit = Version(target.as_of)
        others = [other for other in self._targets if other.name != target.name]
        earlier = [
            other
            for other in others
            if Version(other.as_of) < limit
            or (Version(other.as_of) == limit and (target.release is None or other.release is None))
        ]
        earlier.sort(key=lambda other: Version(other.as_of), reverse=True)
        # Sorting is stable: releases first, each group the newest first.
        return sorted(earlier, key=lambda other: other.release is None)


def existing_result(
    patch: SeriesPatch, file_name: str, contents: Mapping[str, bytes | None]
) -> dict[str, bytes | None] | None:
    """Return what a variant makes of the texts in ``contents``, by path of each file; None when it does not fit."""
    made: dict[str, bytes | None] = {}
    for file in patch.variant(file_name).files:
        placed = place_file(file, contents.get(file.path), patch.scopes)
        if isinstance(placed, FileRefused):
            return None
        made[file.path] = placed.content
    return made
