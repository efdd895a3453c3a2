"""One rebase under way: the patches of a series, in order, each on what the ones before it leave."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from patchkit.core.rebasing.memory import Resolution
from patchkit.core.rebasing.rebased import PatchRebase
from patchkit.core.series import LockDocument
from patchkit.core.upstream import Target
from patchkit.errors import StoreError
from patchkit.operations.obstacles import obstacles
from patchkit.operations.rebase_carried import CarriedPatch
from patchkit.operations.rebase_carry import carry_layer
from patchkit.operations.rebase_moves import find_renames, with_moves
from patchkit.operations.rebase_targets import Upstream, existing_result
from patchkit.operations.rebase_variant import Variant
from patchkit.store.edit_dir import Settled
from patchkit.store.location import series_option
from patchkit.store.series import Series, SeriesPatch
from patchkit.trees.interface import SourceTree


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for."""

    onto: str
    base: str | None = None
    patches: tuple[str, ...] = ()
    repository: Path | None = None
    accept: bool = False
    accept_resolutions: bool = False


class Considered(msgspec.Struct, frozen=True, kw_only=True):
    """One patch on the target."""

    report: PatchRebase
    carried: CarriedPatch | None = None
    after: Mapping[str, bytes | None] = {}
    """What the patch leaves, by path; where something is in conflict, what the target has."""
    variant: Variant | None = None
    settled: Settled | None = None
    """What may be written; None when a person has to decide first."""


class Session:
    """The state of a rebase: what the patches so far leave of the target."""

    def __init__(
        self,
        series: Series,
        upstream: Upstream,
        request: Request,
        resolutions: Mapping[str, Resolution],
        lock: LockDocument | None,
        *,
        at: tuple[Target, SourceTree] | None = None,
        moved: bool = False,
    ) -> None:
        self.series = series
        self.upstream = upstream
        self.target: Target
        self.tree: SourceTree
        # ``at`` is a target that goes by a known name and is somewhere else: a branch that has moved on.
        self.target, self.tree = at or upstream.target(request.onto)
        # Its variants were made for another text then, and decide nothing about this one.
        self.moved = moved
        self.request = request
        self.resolutions = dict(resolutions)
        self.lock = lock
        self.contents: dict[str, bytes | None] = {}
        """By path of each file that was touched so far."""
        self.applied: list[SeriesPatch] = []
        self.lasting = True
        """Whether nothing was left unsaid that another clone, or another day, could say."""
        for name in request.patches:
            series.patch(name)

    def read(self, path: str) -> bytes | None:
        """Return a file of the target with the patches so far."""
        if path not in self.contents:
            self.contents[path] = self.tree.read(path)
        return self.contents[path]

    def take(self, patch: SeriesPatch, after: Mapping[str, bytes | None]) -> None:
        """Go on from what ``patch`` leaves."""
        if any(self.read(path) != content for path, content in after.items()):
            self.applied.append(patch)
        self.contents.update(after)

    def carry(self, patch: SeriesPatch) -> CarriedPatch:
        """Carry a patch from its base onto what the patches before it leave."""
        base, layer = self.upstream.base(self.series, patch, self.target, self.request.base)
        before = {file.path: self.read(file.path) for file in layer.text.files}
        old = self.upstream.tree(base)
        carried = carry_layer(
            layer,
            base,
            self.target,
            before,
            self.resolutions,
            renames=find_renames(before, old, self.tree) if old is not None else None,
            in_the_way=obstacles(before, self.tree),
            accept_resolutions=self.request.accept_resolutions,
        )
        return with_moves(carried, self.tree)


def replayed(session: Session, patch: SeriesPatch, settled: Settled, text: bytes) -> dict[str, bytes | None]:
    """Return what a settled patch leaves, from its text in the edit directory.

    Raises StoreError when the text was changed since.
    """
    if settled.existing is not None:
        texts = {file.path: session.read(file.path) for file in patch.variant(settled.existing).files}
        made = existing_result(patch, settled.existing, texts)
    elif settled.text:
        from patchkit.core.unified import parse_patch  # noqa: PLC0415 - only going on needs it

        whole = replace(patch, texts={**patch.texts, _OWN: text}, document=replace(patch.document, hunks=_NO_SCOPES))
        texts = {file.path: session.read(file.path) for file in parse_patch(text, patch.name).files}
        made = existing_result(whole, _OWN, texts)
    else:
        return {}
    if made is None:
        raise StoreError(
            f"{patch.name}.patch",
            None,
            "the settled text does not fit any more",
            hint=f"begin anew: `patchkit rebase --abort{series_option(session.series.folder)}`",
        )
    return made


_OWN = "settled.patch"
_NO_SCOPES = ()
"""A settled text stands where its line numbers say, also where patch.yaml does not know its scopes yet."""
