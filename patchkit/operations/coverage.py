"""Which variant of a patch is for which target, and which hunks it must have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from patchkit.core.series import Applicability, HunkSpec, NotNeeded, PatchDocument, VariantSpec
from patchkit.core.unwritten import is_unwritten
from patchkit.core.upstream import Target
from patchkit.core.version_range import in_range
from patchkit.errors import StoreError
from patchkit.store.series import Series


def applies(what: Applicability, target: Target) -> bool:
    """Tell whether a hunk or check is for ``target``."""
    if what.only_on:
        return target.release is None and target.name in what.only_on
    if target.release is None and target.name in what.not_on:
        return False
    return in_range(target.as_of, what.releases)


def variants_for(document: PatchDocument, target: Target) -> list[VariantSpec]:
    """Return the variants that claim ``target``: one, if the ranges are in order.

    A variant that names the target wins over those whose range holds it.
    """
    named = [variant for variant in document.variants if target.name in variant.targets]
    if named:
        return named
    return [variant for variant in document.variants if variant.releases and in_range(target.as_of, variant.releases)]


def why_not_needed(not_needed: Iterable[NotNeeded], target: Target) -> str | None:
    """Return why ``target`` does not need the patch, or None when it does."""
    for entry in not_needed:
        if target.name in entry.targets or (entry.releases and in_range(target.as_of, entry.releases)):
            return entry.reason
    return None


def is_uncarried(document: PatchDocument, target: Target) -> bool:
    """Tell whether a patch is out on ``target`` only since nobody has carried it there yet.

    It is entered as not needed then, with a reason that waits for a person.
    """
    return is_unwritten(why_not_needed(document.not_needed, target) or "")


def left_out_before(document: PatchDocument, target: Target) -> dict[str, str]:
    """Return why hunks were left out in an earlier rebase onto ``target``, by id."""
    return {
        entry.hunk: entry.reason
        for entry in document.left_out
        if entry.target == target.name and (target.release is not None or entry.commit == target.commit)
    }


def expected_hunks(document: PatchDocument, target: Target) -> list[HunkSpec]:
    """Return the hunks that the variant for ``target`` must have, no more and no less."""
    taken: set[str] = set()
    kept: set[str] = set()
    for has in document.upstream:
        if has.target == target.name:
            taken.update(has.groups)
            kept.update(has.keep)
    return [hunk for hunk in document.hunks if applies(hunk, target) and (hunk.group not in taken or hunk.id in kept)]


def bad_ranges(document: PatchDocument) -> Iterator[tuple[str, str]]:
    """Yield key and text of each version range that is none."""
    ranges = [
        *((f"hunks[{at}].releases", hunk.releases) for at, hunk in enumerate(document.hunks)),
        *((f"checks[{at}].releases", check.releases) for at, check in enumerate(document.checks)),
        *((f"variants[{at}].releases", variant.releases) for at, variant in enumerate(document.variants)),
        *((f"not-needed[{at}].releases", entry.releases) for at, entry in enumerate(document.not_needed)),
    ]
    yield from ((key, specifier) for key, specifier in ranges if not _is_range(specifier))


def _is_range(specifier: str) -> bool:
    try:
        in_range("0", specifier)
    except ValueError:
        return False
    return True


def refuse_bad_ranges(series: Series) -> None:
    """Raise StoreError for the first version range of a series that is none."""
    for patch in series.patches:
        for key, specifier in bad_ranges(patch.document):
            where = str(patch.folder / "patch.yaml")
            raise StoreError(where, key, f"{specifier!r} is no PEP 440 version specifier")
