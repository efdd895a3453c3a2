"""What a person finds in the edit directory: files to edit, a README, and scopes side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from patchkit.core import scopes
from patchkit.core.rebasing.markers import Labels, render
from patchkit.core.rebasing.memory import Resolution
from patchkit.core.rebasing.rebased import HunkRebase, PatchRebase
from patchkit.core.rebasing.side_by_side import WIDTH, side_by_side
from patchkit.core.upstream import Target
from patchkit.operations.rebase_carried import CarriedFile, CarriedPatch
from patchkit.store.edit_dir import README, REVIEW
from patchkit.store.location import series_option


def drafts(carried: CarriedPatch, target: Target) -> dict[str, bytes]:
    """Return the files to edit, by path: carried as far as possible, what is left marked in git's diff3 style."""
    return {file.path: draft for file in carried.files if (draft := _draft(carried, file, target)) is not None}


def _draft(carried: CarriedPatch, file: CarriedFile, target: Target) -> bytes | None:
    if file.parts is None:
        return None
    name = carried.layer.patch.name
    labels = [
        Labels(
            f"{target.title}",
            f"{carried.base.title}, which {name} was made for",
            f"{name}: {', '.join(met.ids)}",
        )
        for met in file.met
    ]
    return render(file.parts, labels)


def pages(
    carried: CarriedPatch, report: PatchRebase, target: Target, resolutions: Mapping[str, Resolution], *, series: Path
) -> dict[str, bytes]:
    """Return what there is to read, by name in the edit directory."""
    found: dict[str, bytes] = {}
    beside: dict[str, str] = {}
    for file in carried.files:
        for hunk in file.hunks:
            if not hunk.drift or hunk.old is None:
                continue
            name = f"{REVIEW}/{report.name}/{PurePosixPath(file.path).stem}.{hunk.old.scope}.txt"
            if name not in found:
                found[name] = _page(carried, file, hunk, target)
            beside[hunk.id] = name
    readme = _readme(carried, report, target, resolutions, beside=beside, series=series)
    found[README] = ("\n".join(readme) + "\n").encode("utf-8", "surrogateescape")
    return found


def _page(carried: CarriedPatch, file: CarriedFile, hunk: HunkRebase, target: Target) -> bytes:
    """Return the scope of a hunk in base and target side by side."""
    name, line = (hunk.old.scope, hunk.old.first) if hunk.old else (scopes.MODULE, 0)
    old = _scope(file.texts.base or b"", name, line)
    # Where the hunk went is looked for by name: its lines in the result are not those of the target.
    new = _scope(file.texts.before or b"", hunk.new.scope if hunk.new else name, 0)
    title = f"{file.path}: {name}, in which {carried.layer.patch.name} changes something"
    heads = f"      {carried.base.title.ljust(WIDTH)}         {target.title}"
    told = [f"drift: {drift.scope}: {', '.join(drift.kinds)}" for drift in hunk.drift]
    rows = side_by_side(old[1], new[1], first_old=old[0], first_new=new[0])
    return ("\n".join([title, *told, "", heads, *rows]) + "\n").encode("utf-8", "surrogateescape")


def _scope(content: bytes, name: str, line: int) -> tuple[int, list[str]]:
    """Return the 1-based first line and the lines of a scope; of several with one name that around ``line``."""
    lines = content.decode("utf-8", "surrogateescape").split("\n")
    found = scopes.named(content, name)
    if not found or name == scopes.MODULE:
        return 1, []
    chosen = next((scope for scope in found if scope.first < line <= scope.last + 1), found[0])
    return chosen.first + 1, lines[chosen.first : chosen.last + 1]


def _readme(
    carried: CarriedPatch,
    report: PatchRebase,
    target: Target,
    resolutions: Mapping[str, Resolution],
    *,
    beside: Mapping[str, str],
    series: Path,
) -> Iterator[str]:
    name, option = report.name, series_option(series)
    yield f"# {name} on {target.title}"
    yield ""
    yield f"Carried from {carried.base.title} ({carried.layer.variant}). Nothing of the series has been changed so far."
    yield ""
    if report.reason:
        yield f"What keeps it from being written: {report.reason}"
        yield ""
    if carried.in_conflict:
        yield f"1. Edit the files below `{name}/`. Where the patch and {target.title} could not be brought together,"
        yield "   there are marks: first the target's lines, then the base's, then what the patch makes of those."
        yield f"2. `patchkit rebase --continue{option} --reason 'why it is right so'` goes on. What you did is kept"
        yield "   below resolutions/ of the series, and used again only where conflict and surroundings are the same."
    else:
        yield f"1. Look at what is listed here. The files below `{name}/` are the result, and may be edited."
        yield f"2. `patchkit rebase --continue{option} --accept` goes on with them."
    yield f"3. `patchkit rebase --skip{option} --reason 'why'` leaves out the hunks that are still in conflict;"
    yield f"   `patchkit rebase --abort{option}` drops everything."
    yield "4. Lines that had no conflict are not taken out by the way: see `--accept-loss` of `--help`."
    yield ""
    yield "## Hunks"
    yield ""
    for hunk in report.hunks:
        yield from _hunk(hunk, beside.get(hunk.id))
    for line in report.review:
        yield f"- {line}"
    yield from _offers(carried, resolutions)


def _hunk(hunk: HunkRebase, page: str | None) -> Iterator[str]:
    place = f", {hunk.new.scope} line {hunk.new.first}" if hunk.new else ""
    yield f"- {hunk.id} ({hunk.path}{place}): {hunk.verdict}: {hunk.reason}"
    for line in hunk.review:
        yield f"  - {line}"
    if hunk.drop_when:
        yield f"  - patch.yaml says when to drop it: {hunk.drop_when}"
    for commit in hunk.commits:
        pull = f", pull request {commit.pull_request}" if commit.pull_request else ""
        yield f"  - upstream: {commit.commit} {commit.subject}{pull}"
    if page:
        yield f"  - side by side: {page}"


def _offers(carried: CarriedPatch, resolutions: Mapping[str, Resolution]) -> Iterator[str]:
    """Show what was made of the same conflict elsewhere; it is not used, since what stands around it differs."""
    keys = dict.fromkeys(key for file in carried.files for met in file.met for key in met.offers)
    if not keys:
        return
    yield ""
    yield "## Solved before, in other surroundings"
    for key in keys:
        known = resolutions[key]
        yield ""
        yield f"{key}, by {known.author}, {known.base} to {known.target}: {' '.join(known.reason.split())}"
        yield ""
        yield from (f"    {line}" for line in known.resolution.rstrip("\n").split("\n"))
