"""Saying for which targets something holds: the inverse of reading ranges."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

import msgspec

from patchkit.core.series import Applicability, PatchDocument, VariantSpec
from patchkit.core.upstream import Target
from patchkit.core.version_range import in_range
from patchkit.operations.coverage import applies, variants_for


def applicability(wanted: Collection[str], of: Sequence[Target]) -> Applicability | None:
    """Return what holds for the targets called ``wanted`` and for no other of ``of``; None when nothing says that.

    ``of`` has releases in the order of their versions.
    """
    releases = [target for target in of if target.release is not None]
    others = [target for target in of if target.release is None]
    inside = [at for at, target in enumerate(releases) if target.name in wanted]
    candidates = [Applicability(), Applicability(only_on=tuple(one.name for one in others if one.name in wanted))]
    if inside:
        clauses = [f">={releases[inside[0]].name}"] if inside[0] else []
        clauses += [f"!={releases[at].name}" for at in range(inside[0], inside[-1]) if at not in inside]
        after = [f"<{releases[inside[-1] + 1].name}"] if inside[-1] + 1 < len(releases) else []
        without = [f"!={target.name}" for target in releases if target.name not in wanted]
        candidates += [Applicability(releases=",".join([*clauses, *after])), Applicability(releases=",".join(without))]
    for candidate in candidates:
        held = candidate
        if not candidate.only_on:
            left_out = (one for one in others if one.name not in wanted and applies(candidate, one))
            held = msgspec.structs.replace(candidate, not_on=tuple(one.name for one in left_out))
        if all(applies(held, target) == (target.name in wanted) for target in of):
            return held
    return None


def split_variant(
    document: PatchDocument, old: VariantSpec, new_file: str, moved: Collection[str], known: Sequence[Target]
) -> tuple[VariantSpec, ...]:
    """Return the variants of a patch when the targets called ``moved`` go from ``old`` to the new file.

    Ranges are cut in two where the releases allow it; otherwise the new variant names its targets one by one.
    """
    served = [target for target in known if old in variants_for(document, target)]
    for candidate in (*_ranges(old, new_file, served, moved), _named(old, new_file, served, moved)):
        variants = tuple(
            part
            for variant in document.variants
            for part in (candidate if variant == old else (variant,))
            if part.releases or part.targets
        )
        changed = msgspec.structs.replace(document, variants=variants)
        if all(
            [variant.file for variant in variants_for(changed, target)]
            == [new_file if target.name in moved else old.file]
            for target in served
        ):
            return variants
    raise RuntimeError(f"{old.file}: its targets cannot be divided")


def _named(
    old: VariantSpec, new_file: str, served: Sequence[Target], moved: Collection[str]
) -> tuple[VariantSpec, VariantSpec]:
    names = tuple(target.name for target in served if target.name in moved)
    rest = tuple(name for name in old.targets if name not in moved)
    return VariantSpec(old.file, old.releases, rest), VariantSpec(new_file, "", names)


def _ranges(
    old: VariantSpec, new_file: str, served: Sequence[Target], moved: Collection[str]
) -> list[tuple[VariantSpec, VariantSpec]]:
    """Return the cut of a range at the one release where what moves begins or ends."""
    releases = [target.name for target in served if target.release is not None and target.name not in old.targets]
    goes = [name in moved for name in releases]
    if not old.releases or len(set(goes)) != 2 or sum(one != two for one, two in pairwise(goes)) != 1:
        return []
    clauses = [clause.strip() for clause in old.releases.split(",")]
    lower = [clause for clause in clauses if clause.startswith(">")]
    upper = [clause for clause in clauses if not clause.startswith(">")]
    border = releases[goes.index(not goes[0])]
    first, second = ",".join([*lower, f"<{border}"]), ",".join([f">={border}", *upper])
    kept, gone = (second, first) if goes[0] else (first, second)
    stay = [name for name in old.targets if name not in moved]
    go: list[str] = []
    # Branches and commits go by their as-of version; those that would go the wrong way are named.
    for target in served:
        if target.release is None and target.name not in old.targets:
            mine, name = (go, gone) if target.name in moved else (stay, kept)
            if not in_range(target.as_of, name):
                mine.append(target.name)
    go += [name for name in old.targets if name in moved]
    return [(VariantSpec(old.file, kept, tuple(stay)), VariantSpec(new_file, gone, tuple(go)))]
