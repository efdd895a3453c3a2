"""A patch series on disk: series.yaml, and a folder a patch with patch.yaml and variants/."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from patchkit.core.model import Patch
from patchkit.core.series import PatchDocument, SeriesDocument
from patchkit.errors import StoreError, UsageError
from patchkit.reading import Together
from patchkit.store.documents import parse_document, read_file, read_files
from patchkit.store.location import SERIES


class SeriesPatch(msgspec.Struct, frozen=True):
    """One patch of a series, variants unparsed."""

    folder: Path
    document: PatchDocument
    depends: tuple[str, ...]
    texts: Mapping[str, bytes]
    """Variant file name to text, for every file below variants/ that patch.yaml names."""
    digest: str
    """Digest of patch.yaml and the variants."""

    @property
    def name(self) -> str:
        """The patch's name."""
        return self.document.name

    def variant(self, file: str) -> Patch:
        """Return a variant, parsed. Raises PatchFormatError."""
        from patchkit.core.unified import parse_patch  # noqa: PLC0415 - a tree that needs no change parses no diff

        return parse_patch(self.texts[file], str(self.folder / "variants" / file))

    @property
    def scopes(self) -> dict[str, str]:
        """Scope by hunk id."""
        return {hunk.id: hunk.scope for hunk in self.document.hunks}


class Series(msgspec.Struct, frozen=True):
    """A whole series."""

    folder: Path
    document: SeriesDocument
    patches: tuple[SeriesPatch, ...]
    """In the order in which they are applied."""
    digest: str

    @property
    def files(self) -> list[str]:
        """Every file that a hunk of the series is for, on any target, sorted."""
        return sorted({hunk.file for patch in self.patches for hunk in patch.document.hunks})

    def patch(self, name: str) -> SeriesPatch:
        """Return the patch called ``name``. Raises UsageError."""
        for patch in self.patches:
            if patch.name == name:
                return patch
        raise UsageError(
            f"the series has no patch {name!r}", hint="patches: " + ", ".join(patch.name for patch in self.patches)
        )

    def with_dependencies(self, names: Iterable[str]) -> tuple[SeriesPatch, ...]:
        """Return the named patches and all they depend on, in series order; all patches for no name."""
        wanted = set(names)
        if not wanted:
            return self.patches
        todo = [self.patch(name) for name in wanted]
        while todo:
            for name in todo.pop().depends:
                if name not in wanted:
                    wanted.add(name)
                    todo.append(self.patch(name))
        return tuple(patch for patch in self.patches if patch.name in wanted)

    def with_dependents(self, names: Iterable[str]) -> tuple[SeriesPatch, ...]:
        """Return the named patches and all that depend on them, in series order; all patches for no name."""
        wanted = set(names)
        if not wanted:
            return self.patches
        for name in wanted:
            self.patch(name)
        for patch in self.patches:
            # Series order: what a patch depends on stands before it, so that one pass is enough.
            if wanted.intersection(patch.depends):
                wanted.add(patch.name)
        return tuple(patch for patch in self.patches if patch.name in wanted)


def load_series(folder: Path) -> Series:
    """Read a series. Raises StoreError."""
    # What has its name is the series, whatever it is.
    if folder.is_dir() and not os.path.lexists(folder / SERIES):
        raise StoreError(
            str(folder / SERIES),
            None,
            "there is no patch yet",
            hint="`patchkit import FILE` makes the first one",
        )
    series_text = read_file(folder / SERIES)
    document = parse_document(SeriesDocument, series_text, str(folder / SERIES))
    patches: list[SeriesPatch] = []
    together = Together(folder)
    for position, entry in enumerate(document.patches):
        earlier = [patch.name for patch in patches]
        if entry.name in earlier:
            raise StoreError(str(folder / SERIES), f"patches[{position}].name", f"{entry.name!r} is there twice")
        for name in entry.depends:
            if name not in earlier:
                raise StoreError(
                    str(folder / SERIES),
                    f"patches[{position}].depends",
                    f"{entry.name!r} depends on {name!r}, which does not stand before it",
                )
        patches.append(load_patch(folder / entry.name, entry.name, entry.depends, together))
    digest = _digest({"series.yaml": series_text} | {patch.name: patch.digest.encode() for patch in patches})
    return Series(folder, document, tuple(patches), digest)


def load_patch(folder: Path, name: str, depends: tuple[str, ...], together: Together) -> SeriesPatch:
    """Read one patch of a series, whose files are counted ``together``. Raises StoreError."""
    file = folder / "patch.yaml"
    text = read_files([file], together)[file]
    document = parse_document(PatchDocument, text, str(file))
    if document.name != name:
        raise StoreError(str(file), "name", f"{document.name!r} differs from the folder {name!r}")
    found = read_files([folder / "variants" / variant.file for variant in document.variants], together)
    texts = {path.name: content for path, content in found.items()}
    return SeriesPatch(folder, document, depends, texts, _digest({"patch.yaml": text, **texts}))


def _digest(files: Mapping[str, bytes]) -> str:
    whole = hashlib.sha256()
    for name in sorted(files):
        whole.update(f"{name}\0{hashlib.sha256(files[name]).hexdigest()}\n".encode())
    return f"sha256:{whole.hexdigest()}"
