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
from patchkit.core.upstream import Target, Upstream, VersionsDocument
from patchkit.errors import PatchFormatError, StoreError, UsageError
from patchkit.operations.import_base import Base, at_hand, choose_base, newest_first
from patchkit.operations.import_files import read_files
from patchkit.operations.import_report import Imported, ProposedPatch, base_report, shown
from patchkit.operations.import_units import NoPlace, Unit, message_units, one_unit, split_units, unit_result
from patchkit.operations.import_write import Header, write_sources
from patchkit.operations.known import Known, load_known, shipped_versions
from patchkit.operations.layers import layers, result
from patchkit.operations.regenerate import Regenerated, regenerate
from patchkit.operations.series_files import read_series_files
from patchkit.operations.staging import Stage, ready, staged
from patchkit.progress import Reporter, silent
from patchkit.store.documents import parse_document
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
    folder = ready(folder, reporter, dry_run=dry_run)
    given = read_files(paths, directory)
    patches = given.patches
    before = read_series_files(folder)
    known, series = _home(folder, versions)
    if series is not None and megatron is None and revision is None:
        megatron = _stacked_on(patches, series, known, repository, cache)
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
        return _refused(patches, folder, base, fitted.repairs, _misfits(fitted, base, known.upstream))
    under = {path: patched.get(path, text) for path, text in fitted.base.items()}
    alone = under == dict(fitted.base)
    taken = {patch.name for patch in series.patches} if series else set()
    _refuse_without_lines(patches, fitted)
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
    with staged(folder, before) as stage:
        if versions is not None:
            (stage.folder / VERSIONS).write_bytes(versions)
        made = write_sources(
            stage.folder,
            series,
            known,
            base,
            units=units,
            patches=patches,
            fitted=fitted,
            header=Header(today, author, forwarded),
            below=found if stacked else (),
        )
        outcome = regenerate(stage.folder, repository=repository, cache=cache, reporter=reporter)
        problems = _unlike(stage, outcome, base.target, final)
        if problems:
            return _refused(patches, folder, base, fitted.repairs, problems)
        changed, _ = stage.changes()
        written = tuple(str(path) for path in changed)
        if not dry_run:
            if beforehand is not None:
                beforehand()
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


def _home(folder: Path, versions: bytes | None) -> tuple[Known, Series | None]:
    """Return the targets that are known, and the series in ``folder`` if there is one. Raises StoreError."""
    if versions is not None:
        return Known(parse_document(VersionsDocument, versions, VERSIONS), shipped_versions()), None
    known = load_known(folder)
    series = load_series(folder) if (folder / "series.yaml").is_file() else None
    if series is not None and known.own is None:
        # What the series is for would change with the first target that is written beside it.
        hint = f"copy {versions_file(folder)} into {folder}"
        raise StoreError(str(folder), None, f"there is no {VERSIONS} of its own to write the base into", hint=hint)
    return known, series


def _refuse_without_lines(patches: Sequence[ForeignPatch], fitted: FittedPatch) -> None:
    if not any(file.hunks for message in fitted.messages for file in message.files):
        hint = "modes, and files without a line, are nothing that a hunk can say"
        raise PatchFormatError(patches[0].name, None, "no line of text is changed", hint=hint)


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


def _stacked_on(
    patches: Sequence[ForeignPatch], series: Series, known: Known, repository: Path | None, cache: Path | None
) -> str | None:
    """Return the target on which the series leaves what the index lines name: the patch stands on the series.

    Of several, the one whose own text most of the other index lines name; a lock knows nothing of files that the series
    leaves alone.
    """
    lock = read_lock(series.folder)
    locked = lock.targets if lock is not None else {}
    found: list[tuple[Target, dict[str, str]]] = []
    for one in newest_first(known):
        if one.name not in locked:
            continue
        ends = {path: locked[one.name].chain(path)[-1] for path in locked[one.name].paths}
        wanted = pre_images(patches, _has(ends))
        mine = {path: blob for path, blob in wanted.items() if path in ends}
        fits = all(
            ends[path] is None if blob is None else (ends[path] or "").startswith(blob) for path, blob in mine.items()
        )
        if fits and any(ends[path] is not None for path in mine):
            found.append((one, {path: blob for path, blob in wanted.items() if blob is not None and path not in ends}))
    if len(found) > 1 and any(rest for _, rest in found):
        counts = [_having(target, rest, repository, cache) for target, rest in found]
        return found[counts.index(max(counts))][0].name
    return found[0][0].name if found else None


def _having(target: Target, wanted: Mapping[str, str], repository: Path | None, cache: Path | None) -> int:
    """Return how many of the texts a target has, as far as it is at hand."""
    tree = at_hand(target, repository, cache)
    if tree is None:
        return 0
    return sum((blob_id_if_any(tree.read(path)) or "").startswith(blob) for path, blob in wanted.items())


def _has(ends: Mapping[str, str | None]) -> Callable[[str], bool]:
    return lambda path: ends.get(path) is not None


def _on_top(patches: Sequence[ForeignPatch], base: Base, patched: Mapping[str, bytes | None]) -> int:
    """Return how many index lines name the text with the series on it; 0 when more of them name upstream's alone."""
    wanted = pre_images(patches, lambda path: base.tree.read(path) is not None)
    here, below = 0, 0
    for path, blob in wanted.items():
        if blob is not None:
            upstreams = base.tree.read(path)
            here += (blob_id_if_any(patched.get(path, upstreams)) or "").startswith(blob)
            below += (blob_id_if_any(upstreams) or "").startswith(blob)
    return here if here > below else 0


def _misfits(fitted: Misfits, base: Base, upstream: Upstream) -> tuple[Problem, ...]:
    """Return every hunk and file that does not fit, with what may help."""
    hint = _elsewhere(fitted, base, upstream) or _why_unfit(base)
    return tuple(
        Problem(unfit.message, unfit.path, None if unfit.hunk is None else str(unfit.hunk), unfit.line, hint=hint)
        for unfit in fitted.problems
    )


def _why_unfit(base: Base) -> str | None:
    if base.of and base.matching < base.of:
        return (
            f"{base.matching} of {base.of} index lines name the text of {base.target.title}: it is made for another "
            "base; leave --megatron and --base out, and give --git REPO to find it"
        )
    if base.target.release is not None and base_report(base).commit is None:
        return f"the wheel of {base.target.title} has {', '.join(base.target.release.ships)} alone; give --git REPO"
    return None


def _elsewhere(fitted: Misfits, base: Base, upstream: Upstream) -> str | None:
    """Return where the base has the files that it seems to lack: patches are made inside of packages, too."""
    folders = dict.fromkeys([*filter(None, [upstream.source]), *upstream.packages, *map(_above, upstream.packages)])
    paths = [unfit.path for unfit in fitted.problems if unfit.path and base.tree.read(unfit.path) is None]
    for folder in folders:
        if folder and any(base.tree.read(f"{folder}/{path}") is not None for path in paths):
            return f"it has such a file in {folder}: add --directory {folder}"
    return None


def _above(path: str) -> str:
    return path.rpartition("/")[0]


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
