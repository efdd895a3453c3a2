"""regenerate: lock.yaml and generated/*.patch from the sources of a series."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.core.blobs import blob_id_if_any
from patchkit.core.difference import print_git_patch
from patchkit.core.series import SCHEMA, BlobPair, LockDocument, PatchLock, TargetLock
from patchkit.core.upstream import Target, VersionsDocument, targets
from patchkit.errors import PatchFormatError, PatchkitError, StoreError
from patchkit.operations.answer import failed_checks
from patchkit.operations.checks import run_checks
from patchkit.operations.coverage import refuse_bad_ranges, variants_for, why_not_needed
from patchkit.operations.layers import lay
from patchkit.operations.series_files import read_series_files, undo_interrupted_write, write_series_files
from patchkit.operations.sources import cached_release, fetch_release
from patchkit.progress import Reporter, silent
from patchkit.store.location import versions_file
from patchkit.store.lock import GENERATED, LOCK, print_lock, read_lock, text_digest
from patchkit.store.series import Series, SeriesPatch, load_series
from patchkit.store.versions import add_blobs, load_versions
from patchkit.trees.interface import SourceTree
from patchkit.trees.layout import seen

if TYPE_CHECKING:
    from patchkit.trees.git_program import GitProgram
    from patchkit.trees.package_indexes import PackageIndexes

OpenSource = Callable[[Target], "SourceTree | None"]
"""Gives the upstream tree of a target, or None where it is out of reach."""


@dataclass(frozen=True, slots=True)
class Regenerated:
    """What regenerate found or wrote."""

    ok: bool
    written: tuple[str, ...]
    """Files that changed, or with ``check`` would."""
    removed: tuple[str, ...]
    """Files that no target needs any more."""
    kept: tuple[str, ...]
    """Targets whose sources were out of reach; their part of the lock is as it was."""
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Built:
    """The series on one target."""

    lock: TargetLock
    text: bytes
    blobs: dict[str, str]


def regenerate(
    folder: Path,
    *,
    repository: Path | GitProgram | None = None,
    check: bool = False,
    cache: Path | None = None,
    reporter: Reporter = silent,
) -> Regenerated:
    """Compute what follows from the sources in ``folder`` and write it; with ``check`` compare only.

    Releases come from the package index (cached), other targets from the git ``repository``; without one their entries
    are kept as they are, if the variants they use did not change. Raises SourceError, TreeError.
    """
    if not check:
        undo_interrupted_write(folder, reporter)
    before = read_series_files(folder)
    versions_path = versions_file(folder)
    versions = load_versions(versions_path)
    series = load_series(folder)
    refuse_bad_ranges(series)
    open_source = source_opener(versions, repository, cache=cache, reporter=reporter)
    old = read_lock(folder)
    problems: list[str] = []
    kept: list[str] = []
    locked: dict[str, TargetLock] = {}
    files: dict[Path, bytes] = {}
    blobs: dict[str, dict[str, str]] = {}
    for target in targets(versions.upstream):
        reporter.step(f"{target.title}")
        generated = folder / GENERATED / target.generated_name
        tree = open_source(target)
        if tree is None:
            problem = _keep(series, target, old, generated)
            if problem is None and old is not None:
                locked[target.name] = old.targets[target.name]
                files[generated] = generated.read_bytes()
                kept.append(target.name)
            else:
                problems.append(f"{target.title}: {problem}; give --git REPO")
            continue
        try:
            built = build_target(series, target, tree)
        except PatchFormatError:
            # A text that cannot be read is no answer about a target.
            raise
        except PatchkitError as error:
            problems.append(f"{target.title}: {error.message}")
            continue
        locked[target.name] = built.lock
        files[generated] = built.text
        blobs[target.name] = built.blobs
    if problems:
        return Regenerated(ok=False, written=(), removed=(), kept=tuple(kept), problems=tuple(problems))
    lock = LockDocument(SCHEMA, series.digest, {patch.name: patch.digest for patch in series.patches}, locked)
    files[folder / LOCK] = print_lock(lock)
    if any(path not in target.blobs for target in targets(versions.upstream) for path in blobs.get(target.name, {})):
        if versions_path.parent.resolve() not in (folder.resolve(), folder.resolve().parent.parent):
            # The built-in file is another project's: this series needs its own to record blob ids in.
            hint = f"copy {versions_path} into {folder}"
            raise StoreError(str(folder), None, "there is no upstream_versions.yaml to record blob ids in", hint=hint)
        files[versions_path] = add_blobs(versions_path, blobs)
    stale = {path: content for path, content in files.items() if not path.is_file() or path.read_bytes() != content}
    removed = [path for path in sorted((folder / GENERATED).glob("*.patch")) if path not in files]
    if not check:
        write_series_files(folder, stale, removed, operation="regenerate", expected=before)
    return Regenerated(
        ok=not check or not (stale or removed),
        written=tuple(str(path) for path in sorted(stale)),
        removed=tuple(str(path) for path in removed),
        kept=tuple(kept),
        problems=(),
    )


def source_opener(
    versions: VersionsDocument,
    repository: Path | GitProgram | None,
    *,
    cache: Path | None = None,
    offline: bool = False,
    reporter: Reporter = silent,
) -> OpenSource:
    """Return a function that opens a target's upstream tree: a release from the index, anything else from git.

    ``offline`` looks for releases in the cache only. The repository is opened once, when the first target is read
    there.
    """
    clone: GitProgram | None = None
    indexes: PackageIndexes | None = None

    def open_source(target: Target) -> SourceTree | None:
        if target.release is not None:
            from patchkit.trees.archive import WheelTree  # noqa: PLC0415 - zipfile only where a wheel is read

            if offline:
                cached = cached_release(target, cache=cache)
                return None if cached is None else seen(WheelTree(cached), versions.upstream)
            from patchkit.trees import package_indexes  # noqa: PLC0415 - only where an index is asked

            nonlocal indexes
            indexes = indexes or package_indexes.PackageIndexes()
            wheel = fetch_release(versions, target, cache=cache, indexes=indexes, reporter=reporter)
            return seen(WheelTree(wheel), versions.upstream)
        if repository is None or target.commit is None:
            return None
        from patchkit.trees.git import GitTree  # noqa: PLC0415 - git only where it is asked for
        from patchkit.trees.git_program import opened  # noqa: PLC0415 - as above

        nonlocal clone
        clone = clone or opened(repository)
        return GitTree(clone, target.commit)

    return open_source


def build_target(series: Series, target: Target, tree: SourceTree) -> Built:
    """Put the whole series on a target, one patch after another, and run every check on the result.

    Raises SourceError when a hunk does not fit, the source is not the recorded one, or a check does not hold.
    """
    first: dict[str, bytes | None] = {}
    contents: dict[str, bytes | None] = {}
    patches: dict[str, PatchLock] = {}
    for patch in series.patches:
        name, pairs = _lay(patch, target, tree, first=first, contents=contents)
        if name is None:
            patches[patch.name] = PatchLock(variant=None)
            continue
        patches[patch.name] = PatchLock(
            variant=name, text=text_digest(patch.texts[name]), files=dict(sorted(pairs.items()))
        )
    applied = [patch for patch in series.patches if patches[patch.name].variant is not None]
    failed = failed_checks(run_checks(applied, target, tree, contents))
    if failed:
        raise StoreError(f"{failed[0].patch}/patch.yaml", "checks", "; ".join(problem.message for problem in failed))
    changed = {path: (first[path], contents[path]) for path in contents}
    text = print_git_patch(changed, _preamble(series, target, patches))
    blobs = {path: blob for path in first if (blob := blob_id_if_any(first[path])) is not None}
    return Built(TargetLock(text_digest(text), patches), text, blobs)


def _lay(
    patch: SeriesPatch,
    target: Target,
    tree: SourceTree,
    *,
    first: dict[str, bytes | None],
    contents: dict[str, bytes | None],
) -> tuple[str | None, dict[str, BlobPair]]:
    """Put a patch on ``contents``; return the name of its variant, None where it needs none, and what it did.

    Files that no patch has touched yet are read from ``tree``, into ``first`` as well.
    """
    name = _choose(patch, target)
    if name is None:
        return None, {}

    def before(path: str) -> bytes | None:
        if path not in contents:
            contents[path] = first[path] = tree.read(path)
            _same_as_recorded(target, path, first[path])
        return contents[path]

    layer = lay(patch, name, before)
    contents.update(layer.after)
    blobs = (
        (path, blob_id_if_any(layer.before[path]), blob_id_if_any(content)) for path, content in layer.after.items()
    )
    return name, {path: BlobPair(found, left) for path, found, left in blobs}


def _choose(patch: SeriesPatch, target: Target) -> str | None:
    """Return the name of the variant for ``target``; None when the patch is not needed there."""
    file = str(patch.folder / "patch.yaml")
    variants = variants_for(patch.document, target)
    reason = why_not_needed(patch.document.not_needed, target)
    if len(variants) > 1:
        names = ", ".join(variant.file for variant in variants)
        raise StoreError(file, "variants", f"{names} all claim {target.title}")
    if variants and reason:
        raise StoreError(file, "variants", f"{variants[0].file} claims {target.title}, and not-needed does too")
    if not variants:
        if reason is None:
            raise StoreError(file, "variants", f"no variant is for {target.title}")
        return None
    return variants[0].file


def _same_as_recorded(target: Target, path: str, content: bytes | None) -> None:
    """Refuse a source that is not the one recorded in upstream_versions.yaml."""
    recorded = target.blobs.get(path)
    if recorded is not None and recorded != blob_id_if_any(content):
        raise StoreError(
            "upstream_versions.yaml",
            f"{target.name}: blobs: {path}",
            f"records blob {recorded}, the source at hand has {blob_id_if_any(content)}",
        )


def _keep(series: Series, target: Target, old: LockDocument | None, generated: Path) -> str | None:
    """Return why the old entry of a target out of reach cannot stand; None when it can."""
    entry = old.targets.get(target.name) if old else None
    if entry is None or old is None:
        return "has no entry in the lock yet, and its source is out of reach"
    for patch in series.patches:
        name = _choose(patch, target)
        locked = entry.patches.get(patch.name)
        if locked is None or locked.variant != name:
            return f"{patch.name} changed its variant, and the source is out of reach"
        if name is not None and locked.text != text_digest(patch.texts[name]):
            return f"{patch.name}/variants/{name} changed, and the source is out of reach"
    text = generated.read_bytes() if generated.is_file() else b""
    if text_digest(text) != entry.generated:
        return f"{generated.name} is not the one that the lock names"
    return None


def _preamble(series: Series, target: Target, patches: dict[str, PatchLock]) -> bytes:
    named = ", ".join(name for name, lock in patches.items() if lock.variant is not None) or "none"
    commit = f" (commit {target.commit})" if target.commit else ""
    return (
        f"Patches for {series.document.distribution} {target.title}{commit}: {named}.\n"
        "Made by `patchkit regenerate`. Take `git apply` in a checkout of that release, or `patchkit apply`:\n"
        "in a folder that git ignores, `git apply` changes nothing and exits 0.\n\n"
    ).encode()
