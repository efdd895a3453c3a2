"""import: a foreign patch becomes one patch of a series, or several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from patchkit.core.blobs import blob_id_if_any
from patchkit.core.foreign.diffs import ForeignPatch, Repair
from patchkit.core.foreign.fitting import FittedPatch, Misfits, fit_patches, pre_images
from patchkit.core.foreign.identifiers import slug
from patchkit.core.report import Problem
from patchkit.core.upstream import Target
from patchkit.errors import PatchFormatError, StoreError, UsageError
from patchkit.operations.import_base import Base, choose_base, newest_first
from patchkit.operations.import_files import read_files
from patchkit.operations.import_report import Imported, ProposedPatch, base_report, shown
from patchkit.operations.import_units import NoPlace, Unit, message_units, one_unit, split_units, unit_result
from patchkit.operations.import_write import write_sources
from patchkit.operations.known import Known, load_known
from patchkit.operations.layers import layers, result
from patchkit.operations.regenerate import Regenerated, regenerate
from patchkit.operations.staging import Stage, ready, staged
from patchkit.progress import Reporter, silent
from patchkit.store.location import VERSIONS, versions_file
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
    dry_run: bool = False,
    cache: Path | None = None,
    reporter: Reporter = silent,
) -> Imported:
    """Import the patches in ``paths``, files or folders, in their order, into the series in ``folder`` (made if new).

    The base is the git ``revision``, the target ``megatron``, or what the index lines give away. Several mails become a
    patch each unless ``name`` or ``split`` is given. All files are written, lock and generated ones too, or none.
    ``today`` (YYYY-MM-DD) is the date of patches that have none. Raises PatchFormatError, UsageError, TreeError.
    """
    if name is not None:
        refuse_bad_name(name)
    if name is not None and split:
        raise UsageError("--name and --split exclude each other")
    folder = ready(folder, reporter, dry_run=dry_run)
    given = read_files(paths)
    patches = given.patches
    known = load_known(folder)
    series = load_series(folder) if (folder / "series.yaml").is_file() else None
    if series is not None and known.own is None:
        # What the series is for would change with the first target that is written beside it.
        hint = f"copy {versions_file(folder)} into {folder}"
        raise StoreError(str(folder), None, f"there is no {VERSIONS} of its own to write the base into", hint=hint)
    if series is not None and megatron is None and revision is None:
        megatron = _stacked_on(patches, series, known)
    base = choose_base(
        patches, known, megatron=megatron, repository=repository, revision=revision, cache=cache, reporter=reporter
    )
    found = layers(series, base.target, base.tree.read) if series is not None else ()
    patched = result(found)
    stacked = _on_top(patches, base, patched)
    if stacked:
        base = replace(base, how="what the series leaves of it, which the index lines name", matching=stacked)

    def read(path: str) -> bytes | None:
        return patched[path] if stacked and path in patched else base.tree.read(path)

    fitted = fit_patches(patches, read)
    if isinstance(fitted, Misfits):
        return _refused(patches, folder, base, fitted.repairs, _misfits(fitted, base))
    under = {path: patched.get(path, text) for path, text in fitted.base.items()}
    alone = under == dict(fitted.base)
    taken = {patch.name for patch in series.patches} if series else set()
    if not any(file.hunks for message in fitted.messages for file in message.files):
        hint = "modes, and files without a line, are nothing that a hunk can say"
        raise PatchFormatError(patches[0].name, None, "no line of text is changed", hint=hint)
    units = _units(patches, fitted, under, taken, name=name, split=split)
    if isinstance(units, NoPlace):
        problem = Problem(f"it fits {base.target.title}, not what the series leaves of it: {units.reason}", units.path)
        return _refused(patches, folder, base, fitted.repairs, (problem,))
    final = _proved(units, under, fitted, alone=alone)
    proposed: tuple[ProposedPatch, ...] = ()
    if not split and len(units) == 1:
        alternative = split_units(fitted, under, taken)
        if not isinstance(alternative, NoPlace) and len(alternative) > 1:
            _proved(alternative, under, fitted, alone=alone)
            proposed = tuple(shown(unit) for unit in alternative)
    with staged(folder) as stage:
        made = write_sources(
            stage.folder,
            series,
            known,
            base,
            units=units,
            patches=patches,
            fitted=fitted,
            today=today,
            below=found if stacked else (),
        )
        outcome = regenerate(stage.folder, repository=repository, cache=cache, reporter=reporter)
        problems = _unlike(stage, outcome, base.target, final)
        if problems:
            return _refused(patches, folder, base, fitted.repairs, problems)
        changed, _ = stage.changes()
        written = tuple(str(path) for path in changed)
        if not dry_run:
            stage.commit("import")
    return Imported(
        ok=True,
        verdict="would-import" if dry_run else "imported",
        series=str(folder),
        base=base_report(base),
        files=len(fitted.base),
        hunks=sum(len(unit.scoped) for unit in units),
        repairs=fitted.repairs,
        patches=tuple(shown(unit) for unit in units),
        proposed=proposed,
        notes=(*given.notes, *fitted.notes, *made),
        written=written,
    )


def _units(
    patches: Sequence[ForeignPatch],
    fitted: FittedPatch,
    under: Mapping[str, bytes | None],
    taken: set[str],
    *,
    name: str | None,
    split: bool,
) -> list[Unit] | NoPlace:
    if split:
        return split_units(fitted, under, taken)
    if name is None and len(fitted.messages) > 1:
        return message_units(fitted, under, set(taken))
    subject = fitted.messages[0].message.subject if len(fitted.messages) == 1 else ""
    chosen = name or slug(subject or Path(patches[0].name).stem)
    if chosen in taken:
        raise UsageError(f"the series has a patch {chosen!r} already", hint="name this one with --name")
    return one_unit(fitted, chosen, under)


def _proved(
    units: Sequence[Unit], under: Mapping[str, bytes | None], fitted: FittedPatch, *, alone: bool
) -> dict[str, bytes | None]:
    """Apply the new patches one after another and return what they leave; it must be what the whole leaves."""
    contents = dict(under)
    for unit in units:
        contents.update(unit_result(unit, contents))
    if alone and {path: contents[path] for path in fitted.contents} != dict(fitted.contents):
        raise RuntimeError("the sum of the patches differs from the patch")
    return {path: contents[path] for path in fitted.contents}


def _stacked_on(patches: Sequence[ForeignPatch], series: Series, known: Known) -> str | None:
    """Return the target on which the series leaves what the index lines name: the patch stands on the series."""
    lock = read_lock(series.folder)
    locked = lock.targets if lock is not None else {}
    for name in (one.name for one in newest_first(known) if one.name in locked):
        target = locked[name]
        ends = {path: target.chain(path)[-1] for path in target.paths}
        wanted = pre_images(patches, _has(ends))
        fits = all(
            ends.get(path) is None if blob is None else (ends.get(path) or "").startswith(blob)
            for path, blob in wanted.items()
        )
        if fits and any(ends.get(path) is not None for path in wanted):
            return name
    return None


def _has(ends: Mapping[str, str | None]) -> Callable[[str], bool]:
    return lambda path: ends.get(path) is not None


def _on_top(patches: Sequence[ForeignPatch], base: Base, patched: Mapping[str, bytes | None]) -> int:
    """Return how many index lines name what the series leaves; 0 when more of them name upstream's text."""
    wanted = pre_images(patches, lambda path: base.tree.read(path) is not None)
    here, below = 0, 0
    for path, blob in wanted.items():
        if path in patched and blob is not None:
            here += (blob_id_if_any(patched[path]) or "").startswith(blob)
            below += (blob_id_if_any(base.tree.read(path)) or "").startswith(blob)
    return here if here > below else 0


def _misfits(fitted: Misfits, base: Base) -> tuple[Problem, ...]:
    """Return every hunk and file that does not fit, with what may help."""
    hint = None
    if base.target.release is not None and base_report(base).commit is None:
        hint = f"the wheel of {base.target.title} has {', '.join(base.target.release.ships)} alone; give --git REPO"
    if base.of and base.matching < base.of:
        hint = (
            f"{base.matching} of {base.of} index lines name the text of {base.target.title}: it is made for another "
            "base; leave --megatron and --base out, and give --git REPO to find it"
        )
    return tuple(
        Problem(unfit.message, unfit.path, None if unfit.hunk is None else str(unfit.hunk), unfit.line, hint=hint)
        for unfit in fitted.problems
    )


def _unlike(
    stage: Stage, outcome: Regenerated, target: Target, final: Mapping[str, bytes | None]
) -> tuple[Problem, ...]:
    """Return why the written series is not what was imported; nothing when it is, byte for byte."""
    if not outcome.ok:
        return tuple(Problem(stage.named(problem)) for problem in outcome.problems)
    lock = read_lock(stage.folder)
    chains = lock.targets[target.name] if lock else None
    for path, content in final.items():
        if chains is None or chains.chain(path)[-1:] != (blob_id_if_any(content),):
            raise RuntimeError(f"{path}: the written series gives another text than the patch")
    return ()


def _refused(
    patches: Sequence[ForeignPatch],
    folder: Path,
    base: Base,
    repairs: tuple[Repair, ...],
    problems: tuple[Problem, ...],
) -> Imported:
    files = [file for patch in patches for message in patch.messages for file in message.files]
    return Imported(
        ok=False,
        verdict="refused",
        series=str(folder),
        base=base_report(base),
        files=len({file.new_path or file.old_path for file in files}),
        hunks=sum(len(file.hunks) for file in files),
        repairs=repairs,
        problems=problems,
    )
