"""A series on one target, patch by patch: what each one finds and what it leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from patchkit.core.model import Patch
from patchkit.core.placement import FileRefused, NotPlaced, Placed, place_file
from patchkit.core.upstream import Target
from patchkit.errors import StoreError
from patchkit.operations.coverage import variants_for
from patchkit.store.series import Series, SeriesPatch


class Layer(msgspec.Struct, frozen=True):
    """One patch on one target."""

    patch: SeriesPatch
    variant: str
    """File name of the variant."""
    text: Patch
    before: Mapping[str, bytes | None]
    """What the patch finds, by path of each file it touches."""
    after: Mapping[str, bytes | None]
    placed: Mapping[str, tuple[Placed, ...]]
    """Where each hunk stands in ``before``, in the order of the text."""


def layers(series: Series, target: Target, read: Callable[[str], bytes | None]) -> tuple[Layer, ...]:
    """Return the patches that ``target`` needs, each on what the ones before it leave.

    ``read`` gives upstream's text. Raises StoreError when a hunk does not fit.
    """
    contents: dict[str, bytes | None] = {}
    found: list[Layer] = []
    for patch in series.patches:
        variants = variants_for(patch.document, target)
        if not variants:
            continue
        name = variants[0].file
        text = patch.variant(name)
        before: dict[str, bytes | None] = {}
        after: dict[str, bytes | None] = {}
        placed: dict[str, tuple[Placed, ...]] = {}
        scopes = patch.scopes
        for file in text.files:
            path = file.path
            before[path] = contents[path] if path in contents else read(path)
            result = place_file(file, before[path], scopes)
            if isinstance(result, FileRefused):
                hunk = next(hunk for hunk in result.hunks if isinstance(hunk, NotPlaced))
                where = str(patch.folder / "variants" / name)
                raise StoreError(where, f"{path}, hunk {hunk.hunk}", f"{target.title}: {hunk.refusal.value}")
            contents[path] = after[path] = result.content
            placed[path] = result.hunks
        found.append(Layer(patch, name, text, before, after, placed))
    return tuple(found)


def result(found: tuple[Layer, ...]) -> dict[str, bytes | None]:
    """Return what the series leaves, by path of each file it touches."""
    contents: dict[str, bytes | None] = {}
    for layer in found:
        contents.update(layer.after)
    return contents
