"""capture: edits that a person made in a patched tree become changes to the hunks of the series."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from patchkit.core.blobs import blob_id_if_any
from patchkit.core.manifest import parse_manifest
from patchkit.core.printing import shell_word
from patchkit.core.report import Problem
from patchkit.core.series import LockDocument
from patchkit.core.upstream import Target, find_target, targets
from patchkit.errors import TreeError, UsageError
from patchkit.operations.capture_edits import Edits, PatchChange, collect
from patchkit.operations.capture_refusals import sort_out
from patchkit.operations.capture_report import Captured
from patchkit.operations.capture_sides import has_record_of_wheel
from patchkit.operations.capture_tree import Changed, Choice, compare, whole_folder
from patchkit.operations.capture_write import Writing, describe, write_changes
from patchkit.operations.coverage import refuse_bad_ranges, variants_for
from patchkit.operations.layers import Layer, layers, result
from patchkit.operations.regenerate import regenerate, source_opener
from patchkit.operations.series_files import read_series_files
from patchkit.operations.staging import Stage, ready, staged
from patchkit.progress import Reporter, silent
from patchkit.store.location import versions_file
from patchkit.store.lock import read_lock
from patchkit.store.new_patch import refuse_bad_name
from patchkit.store.series import Series, load_series
from patchkit.store.versions import load_versions
from patchkit.trees.interface import SourceTree


def capture(
    tree: SourceTree,
    folder: Path,
    megatron: str,
    *,
    today: str,
    patch: str | None = None,
    new: str | None = None,
    drop_hunks: bool = False,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    repository: Path | None = None,
    place: Path | None = None,
    dry_run: bool = False,
    cache: Path | None = None,
    reporter: Reporter = silent,
) -> Captured:
    """Bring the series in ``folder`` to what ``tree`` holds: the target ``megatron`` with the series and edits on it.

    What belongs to no patch, or to more than one, goes to ``patch`` or to a ``new`` one; without these it is a problem.
    ``place`` is the folder of the tree: where it is a git checkout, files are compared with its own history as well.
    ``exclude`` has globs of files that are not looked at, ``include`` those of new files to look at in folders that
    upstream has not. A hunk that the edits took out is dropped with ``drop_hunks`` only. Everything is written, lock
    and generated files too, or nothing. Raises UsageError, SourceError, TreeError.
    """
    if patch is not None and new is not None:
        raise UsageError("--patch and --new exclude each other")
    if new is not None:
        refuse_bad_name(new)
    folder = ready(folder, reporter, dry_run=dry_run)
    before = read_series_files(folder)
    series = load_series(folder)
    refuse_bad_ranges(series)
    versions = load_versions(versions_file(folder))
    known = targets(versions.upstream)
    target = find_target(known, megatron)
    opener = source_opener(versions, repository, cache=cache, reporter=reporter)
    source = opener(target)
    checkout = place if place is not None and (place / ".git").exists() else None
    if source is None:
        given = shell_word(str(checkout)) if checkout else "REPO"
        raise UsageError(f"{target.title} is no release on the package index", hint=f"add --git {given}")
    _refuse_other_series(tree, series)
    home = _home(series, target, patch, new)
    found = layers(series, target, source.read)
    sources = [source, *_from_git(target, repository), *_from_git(target, checkout)]
    ignored = _ignored(tree, checkout or repository, place)
    choice = Choice(tuple(map(whole_folder, include)), tuple(map(whole_folder, exclude)), ignored)
    left = result(found)
    compared = compare(tree, sources, left, series.document.package, choice)
    takeable = sort_out(
        compared.files, target, lambda path: path in left or source.read(path) is not None, versions.upstream
    )
    notes = (*compared.notes, *takeable.notes)
    about = Captured(
        ok=True, verdict="unchanged", tree=tree.label, target=target.title, series=str(folder), notes=notes
    )
    if not compared.files:
        return about
    order = [one.name for one in series.patches] + ([new] if new else [])
    edits = collect(takeable.files, found, order, home)
    edits.problems[:0] = takeable.problems
    command = _command(place or tree.label, target, folder, repository, include, exclude)
    problems = _refusals(edits, found, command, drop_hunks=drop_hunks)
    if problems:
        return msgspec.structs.replace(about, ok=False, verdict="refused", problems=problems)
    changes = {name: change for name, change in edits.patches.items() if _says_something(change)}
    with staged(folder, before) as stage:
        old = read_lock(stage.folder)
        writing = Writing(stage.folder, series, target, known, opener, today, new)
        written = write_changes(writing, changes)
        outcome = regenerate(stage.folder, repository=repository, cache=cache, reporter=reporter)
        hunks, variants = describe(written)
        variants = tuple(msgspec.structs.replace(one, reason=stage.named(one.reason)) for one in variants)
        problems = tuple(Problem(stage.named(problem)) for problem in outcome.problems)
        if problems:
            return msgspec.structs.replace(
                about, ok=False, verdict="refused", problems=problems, hunks=hunks, variants=variants
            )
        _prove(stage, old, target, compared.files)
        changed, gone = stage.changes()
        if not dry_run:
            stage.commit("capture")
    return msgspec.structs.replace(
        about,
        verdict="would-capture" if dry_run else "captured",
        hunks=hunks,
        variants=variants,
        notes=(*notes, *written.notes),
        written=tuple(str(path) for path in (*changed, *gone)),
    )


def _refuse_other_series(tree: SourceTree, series: Series) -> None:
    """Raise UsageError for a tree with patches of another series, which would all be taken for edits of this one."""
    content = tree.read(tree.manifest_path)
    if content is None:
        return
    record = parse_manifest(content, f"{tree.label}: {tree.manifest_path}")
    own = {one.name for one in series.patches}
    foreign = [applied.name for applied in record.patches if applied.name not in own]
    if foreign:
        raise UsageError(
            f"{tree.label} has another series applied, by its record: {', '.join(foreign)}",
            hint=f"name that series with --patches, or apply {series.folder} to a tree of upstream's and edit that one",
        )


def _command(  # noqa: PLR0917 - its own options
    place: Path | str,
    target: Target,
    folder: Path,
    repository: Path | None,
    include: Sequence[str],
    exclude: Sequence[str],
) -> str:
    """Return the command line that asks for the same."""
    command = f"patchkit capture --from {shell_word(str(place))} --megatron {shell_word(target.title)}"
    command += f" --patches {shell_word(str(folder))}"
    command += f" --git {shell_word(str(repository))}" if repository else ""
    command += "".join(f" --include {shell_word(glob)}" for glob in include) + "".join(
        f" --exclude {shell_word(glob)}" for glob in exclude
    )
    return command


def _from_git(target: Target, repository: Path | None) -> list[SourceTree]:
    """Return the target as a repository has it, if there is one that does: its files are not quite those of a wheel."""
    if repository is None:
        return []
    from patchkit.trees.git import GitTree  # noqa: PLC0415 - git only where it is asked for

    for revision in (target.commit, target.tag):
        with suppress(TreeError):
            return [GitTree(repository, revision)] if revision else []
    return []


def _ignored(tree: SourceTree, repository: Path | None, place: Path | None) -> frozenset[str]:
    """Return the files that git ignores in a checkout, or in a folder that was made of one."""
    if repository is None or place is None or has_record_of_wheel(tree):
        return frozenset()
    from patchkit.trees.git_ignored import ignored_files  # noqa: PLC0415 - git only where it is asked for

    return ignored_files(repository, place)


def _home(series: Series, target: Target, patch: str | None, new: str | None) -> str | None:
    """Return the patch that takes what is in question. Raises UsageError."""
    if patch is not None and not variants_for(series.patch(patch).document, target):
        raise UsageError(f"{patch} is not for {target.title}", hint="name another patch, or a new one with --new NAME")
    if new is not None and any(one.name == new for one in series.patches):
        raise UsageError(f"the series has a patch {new!r} already", hint=f"use --patch {new}")
    return patch or new


def _says_something(change: PatchChange) -> bool:
    return bool(change.replaced or change.added or change.files or change.renumbered)


def _refusals(edits: Edits, found: Sequence[Layer], command: str, *, drop_hunks: bool) -> tuple[Problem, ...]:
    """Return everything that a person must decide first; ``command`` is the command line that was given."""
    hint = f"say where it goes: {command} --patch NAME, or --new NAME for a new patch; --exclude leaves a file out"
    asked = [msgspec.structs.replace(question, hint=hint) for question in edits.questions]
    lost: list[Problem] = []
    for patch, change in edits.patches.items():
        gone = [name for name, hunk in change.replaced.items() if hunk is None]
        whole = [hunk.id for one in found if one.patch.name == patch for file in one.text.files for hunk in file.hunks]
        if whole and set(whole) == set(gone) and not (change.added or change.files):
            how = "apply it to the tree first, or take it out of series.yaml"
            lost.append(Problem("no hunk of the patch is in the tree", patch=patch, hint=how))
        elif not drop_hunks:
            how = f"if that is meant: {command} --drop-hunks"
            lost.extend(Problem("the edits take this hunk out", hunk=name, patch=patch, hint=how) for name in gone)
    return (*edits.problems, *asked, *lost)


def _prove(stage: Stage, old: LockDocument | None, target: Target, files: Sequence[Changed]) -> None:
    """Raise RuntimeError unless the written series gives the tree's text, and other variants what they gave before."""
    lock = read_lock(stage.folder)
    mine = lock.targets[target.name] if lock else None
    for file in files:
        chain = mine.chain(file.path) if mine else ()
        # A file that no patch touches any more has upstream's text, which the comparison of hunks has seen to.
        if chain and chain[-1] != blob_id_if_any(file.found):
            raise RuntimeError(f"{file.path}: the written series does not give the tree's text")
    for name, entry in (old.targets if old and lock else {}).items():
        now = lock.targets[name] if lock else entry
        same = all(now.patches[one].text == was.text for one, was in entry.patches.items())
        if same and any(now.patches[one] != was for one, was in entry.patches.items()):
            raise RuntimeError(f"{name}: the same variants give something else than before")
