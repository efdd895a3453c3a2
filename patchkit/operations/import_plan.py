"""What import makes of patch files, before anything is written: the base, the new patches, what there is to say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from patchkit.core.blobs import blob_id_if_any
from patchkit.core.foreign.diffs import ForeignPatch, Repair
from patchkit.core.foreign.fitting import FittedPatch, Misfits, fit_patches, pre_images
from patchkit.core.foreign.identifiers import slug
from patchkit.core.report import Problem
from patchkit.core.series import ROOMS, no_name
from patchkit.core.upstream import Target, Upstream
from patchkit.errors import PatchFormatError, UsageError
from patchkit.operations.import_base import Base, at_hand, choose_base, newest_first
from patchkit.operations.import_files import ReadFiles
from patchkit.operations.import_report import Imported, base_report, shown
from patchkit.operations.import_units import (
    Laid,
    NoPlace,
    Unit,
    lay,
    message_units,
    one_unit,
    proposed_units,
    split_units,
    unit_result,
)
from patchkit.operations.import_wheel import unlike_wheel
from patchkit.operations.known import Known
from patchkit.operations.layers import Layer, layers, result
from patchkit.progress import Reporter
from patchkit.store.lock import read_lock
from patchkit.store.series import Series


@dataclass(frozen=True, slots=True)
class Planned:
    """Everything fits."""

    base: Base
    fitted: FittedPatch
    units: Sequence[Unit]
    below: tuple[Layer, ...]
    """The patches of the series that the new ones were made on top of."""
    result: Mapping[str, bytes | None]
    """What the new patches leave, by path."""
    answer: Imported
    """What there is to say, as if all were written."""


def plan_import(
    given: ReadFiles,
    folder: Path,
    series: Series | None,
    known: Known,
    *,
    megatron: str | None,
    repository: Path | None,
    revision: str | None,
    name: str | None,
    split: bool,
    cache: Path | None,
    reporter: Reporter,
) -> Planned | Imported:
    """Find the base and make patches for the ``series`` in ``folder`` (None: there is none yet), or say why not.

    The rest is as for ``import_patches``.
    """
    patches = given.patches
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
        return refused(patches, folder, base, fitted.repairs, _misfits(fitted, base, known.upstream))
    other = unlike_wheel(patches, fitted.base, base, known, cache=cache, reporter=reporter)
    if other:
        return refused(patches, folder, base, fitted.repairs, other)
    under = {path: patched.get(path, text) for path, text in fitted.base.items()}
    alone = under == dict(fitted.base)
    taken = {*ROOMS, *(patch.name for patch in (series.patches if series else ()))}
    _refuse_without_lines(patches, fitted)
    each = not split and name is None and len(fitted.messages) > 1
    laid = None if each else lay(fitted.squashed(), under)
    units = (
        message_units(fitted, under, set(taken))
        if laid is None
        else _units(patches, fitted, laid, taken, name=name, split=split)
    )
    if isinstance(units, NoPlace):
        problem = Problem(f"it fits {base.target.title}, not what the series leaves of it: {units.reason}", units.path)
        return refused(patches, folder, base, fitted.repairs, (problem,))
    final = _proved(units, under, fitted, alone=alone)
    alternative = proposed_units(laid, taken, final) if not split and isinstance(laid, Laid) else []
    answer = Imported(
        ok=True,
        verdict="imported",
        series=str(folder),
        base=base_report(base),
        files=len(fitted.base),
        hunks=sum(len(unit.scoped) for unit in units),
        repairs=fitted.repairs,
        patches=tuple(shown(unit) for unit in units),
        proposed=tuple(shown(unit) for unit in alternative) if len(alternative) > 1 else (),
        notes=(*given.notes, *fitted.notes),
    )
    return Planned(base, fitted, units, found if stacked else (), final, answer)


def _refuse_without_lines(patches: Sequence[ForeignPatch], fitted: FittedPatch) -> None:
    if not any(file.hunks for message in fitted.messages for file in message.files):
        hint = "modes, and files without a line, are nothing that a hunk can say"
        raise PatchFormatError(patches[0].name, None, "no line of text is changed", hint=hint)


def _units(
    patches: Sequence[ForeignPatch],
    fitted: FittedPatch,
    laid: Laid | NoPlace,
    taken: set[str],
    *,
    name: str | None,
    split: bool,
) -> list[Unit] | NoPlace:
    subject = fitted.messages[0].message.subject if len(fitted.messages) == 1 else ""
    chosen = name or slug(subject or Path(patches[0].name).stem)
    if not split and chosen in ROOMS:
        raise UsageError(no_name(chosen), hint="give it another one with --name")
    if not split and chosen in taken:
        raise UsageError(f"the series has a patch {chosen!r} already", hint="name this one with --name")
    if isinstance(laid, NoPlace):
        return laid
    return split_units(laid, taken) if split else [one_unit(laid, chosen)]


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


def refused(
    patches: Sequence[ForeignPatch],
    folder: Path,
    base: Base,
    repairs: tuple[Repair, ...],
    problems: tuple[Problem, ...],
) -> Imported:
    """Return the answer that nothing is imported, and why."""
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
