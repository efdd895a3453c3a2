"""import: a foreign patch becomes one patch of a series, or several."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from patchkit.core.authorship import names_somebody
from patchkit.core.blobs import blob_id_if_any
from patchkit.core.marks import first_mark
from patchkit.core.report import Problem
from patchkit.core.upstream import VersionsDocument
from patchkit.errors import StoreError, UsageError
from patchkit.operations.import_files import read_files
from patchkit.operations.import_plan import plan_import, refused
from patchkit.operations.import_report import Imported
from patchkit.operations.import_write import Header, write_sources
from patchkit.operations.known import Known, load_known, shipped_versions
from patchkit.operations.regenerate import Regenerated, regenerate
from patchkit.operations.series_files import read_series_files
from patchkit.operations.staging import Stage, ready, staged
from patchkit.progress import Reporter, silent
from patchkit.store.documents import parse_document
from patchkit.store.location import SERIES, VERSIONS, versions_file
from patchkit.store.lock import read_lock
from patchkit.store.new_patch import refuse_bad_name
from patchkit.store.series import Series, load_series


def import_patches(
    paths: Sequence[Path],
    folder: Path,
    *,
    today: str,
    megatron: str | None = None,
    repository: Path | None = None,
    revision: str | None = None,
    name: str | None = None,
    split: bool = False,
    directory: str = "",
    author: str = "",
    forwarded: str = "",
    dry_run: bool = False,
    versions: bytes | None = None,
    beforehand: Callable[[], None] | None = None,
    cache: Path | None = None,
    reporter: Reporter = silent,
) -> Imported:
    """Import the patches in ``paths``, files or folders, in their order, into the series in ``folder`` (made if new).

    The base is the git ``revision``, the target ``megatron``, or what the index lines give away. Several mails become a
    patch each unless ``name`` or ``split`` is given. All files are written, lock and generated ones too, or none.
    ``today`` (YYYY-MM-DD) is the date of patches that have none, ``author`` and ``forwarded`` are what their headers
    say where the files do not; their paths are below ``directory`` of the tree. ``versions`` is the
    upstream_versions.yaml that a new series begins with (None: one that has the base alone), ``beforehand`` is called
    when nothing but the write is left to do. Raises PatchFormatError, UsageError, TreeError.
    """
    if name is not None:
        refuse_bad_name(name)
    if name is not None and split:
        raise UsageError("--name and --split exclude each other")
    _refuse_options(author, forwarded)
    folder = ready(folder, reporter, dry_run=dry_run)
    given = read_files(paths, directory)
    before = read_series_files(folder)
    known, series = _home(folder, versions)
    planned = plan_import(
        given,
        folder,
        series,
        known,
        megatron=megatron,
        repository=repository,
        revision=revision,
        name=name,
        split=split,
        cache=cache,
        reporter=reporter,
    )
    if isinstance(planned, Imported):
        return planned
    with staged(folder, before) as stage:
        if versions is not None:
            (stage.folder / VERSIONS).write_bytes(versions)
        made = write_sources(
            stage.folder,
            series,
            known,
            planned.base,
            units=planned.units,
            patches=given.patches,
            fitted=planned.fitted,
            header=Header(today, author, forwarded),
            below=planned.below,
        )
        answer = replace(planned.answer, notes=(*planned.answer.notes, *made))
        target = planned.base.target.name
        ids = {path: blob_id_if_any(content) for path, content in planned.result.items()}
        no = refused(given.patches, folder, planned.base, planned.fitted.repairs, ())
        # What follows reads all of it again: a large patch need not be in memory twice.
        del given, planned
        outcome = regenerate(stage.folder, repository=repository, cache=cache, reporter=reporter)
        problems = _unlike(stage, outcome, target, ids)
        if problems:
            return replace(no, problems=problems)
        written = tuple(str(path) for path in stage.changes()[0])
        if not dry_run:
            if beforehand is not None:
                beforehand()
            stage.commit("import")
    return replace(answer, verdict="would-import" if dry_run else "imported", written=written)


def _refuse_options(author: str, forwarded: str) -> None:
    """Raise UsageError for what no patch.yaml can say, or no commit that is made of it."""
    for option, text in (("--author", author), ("--forwarded", forwarded)):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{option} {text!r} is not UTF-8") from None
        if first_mark(text.encode()):
            raise UsageError(f"{option} {text!r} has the marks of a conflict")
    if author and not names_somebody(author):
        raise UsageError(f"--author {author!r} names nobody", hint="git takes signs from both ends of a name")


def _home(folder: Path, versions: bytes | None) -> tuple[Known, Series | None]:
    """Return the targets that are known, and the series in ``folder`` if there is one. Raises StoreError."""
    if versions is not None:
        return Known(parse_document(VersionsDocument, versions, VERSIONS), shipped_versions()), None
    known = load_known(folder)
    series = load_series(folder) if os.path.lexists(folder / SERIES) else None
    if series is not None and known.own is None:
        # What the series is for would change with the first target that is written beside it.
        hint = f"copy {versions_file(folder)} into {folder}"
        raise StoreError(str(folder), None, f"there is no {VERSIONS} of its own to write the base into", hint=hint)
    return known, series


def _unlike(stage: Stage, outcome: Regenerated, target: str, ids: Mapping[str, str | None]) -> tuple[Problem, ...]:
    """Return why the written series is not what was imported; nothing when it is, byte for byte."""
    if not outcome.ok:
        return tuple(Problem(stage.named(problem)) for problem in outcome.problems)
    lock = read_lock(stage.folder)
    chains = lock.targets[target] if lock else None
    for path, blob in ids.items():
        if chains is None or chains.chain(path)[-1:] != (blob,):
            raise RuntimeError(f"{path}: the written series gives another text than the patch")
    return ()
