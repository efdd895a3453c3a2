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
        if variants:
            layer = lay(
                patch,
                variants[0].file,
                lambda path: contents[path] if path in contents else read(path),
                about=f"{target.title}: ",
            )
            contents.update(layer.after)
            found.append(layer)
    return tuple(found)


def lay(patch: SeriesPatch, variant: str, read: Callable[[str], bytes | None], *, about: str = "") -> Layer:
    """Return a patch by its ``variant`` (a file name) on what ``read`` gives for each file that it touches.

    Raises StoreError that names variant, file and hunk when one does not fit, with the lines where it could stand if
    there are several; ``about`` stands in front of the reason.
    """
    text = patch.variant(variant)
    before: dict[str, bytes | None] = {}
    after: dict[str, bytes | None] = {}
    placed: dict[str, tuple[Placed, ...]] = {}
    scopes = patch.scopes
    for file in text.files:
        before[file.path] = read(file.path)
        result = place_file(file, before[file.path], scopes)
        if isinstance(result, FileRefused):
            hunk = next(hunk for hunk in result.hunks if isinstance(hunk, NotPlaced))
            where = str(patch.folder / "variants" / variant)
            lines = f" (lines {', '.join(map(str, hunk.lines))})" if hunk.lines else ""
            raise StoreError(where, f"{file.path}, hunk {hunk.hunk}", f"{about}{hunk.refusal.value}{lines}")
        after[file.path] = result.content
        placed[file.path] = result.hunks
    return Layer(patch, variant, text, before, after, placed)


def result(found: tuple[Layer, ...]) -> dict[str, bytes | None]:
    """Return what the series leaves, by path of each file it touches."""
    contents: dict[str, bytes | None] = {}
    for layer in found:
        contents.update(layer.after)
    return contents
