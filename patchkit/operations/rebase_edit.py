"""What patch.yaml has to say once a patch is carried: which variant is for which targets, and which hunks are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from patchkit.core.rebasing.ranges import is_before, lower_bound, narrowed, split
from patchkit.core.report import Problem
from patchkit.core.series import HunkSpec, LeftOut, LockDocument, NotNeeded, PatchDocument, VariantSpec
from patchkit.core.unwritten import PROPOSED
from patchkit.core.upstream import Target
from patchkit.core.version_range import in_range
from patchkit.operations.coverage import applies, variants_for
from patchkit.store.carried import PatchEdit
from patchkit.store.edit_dir import Settled
from patchkit.store.series import SeriesPatch


class Planned(msgspec.Struct, frozen=True):
    """A change to patch.yaml."""

    edit: PatchEdit
    renamed: Mapping[str, str] = {}
    """New hunk id by old one, for hunks that stand in another scope now."""


def variant_file(target: Target) -> str:
    """Return the file name of a variant that is made for ``target``."""
    return f"{target.title.replace('/', '-')}.patch"


def plan_edit(
    patch: SeriesPatch,
    settled: Settled,
    target: Target,
    known: Sequence[Target],
    lock: LockDocument | None,
    *,
    today: str,
) -> Planned | Problem:
    """Return what changes in the patch.yaml of a patch that is settled, or why that cannot be said there."""
    planner = _Planner(patch, settled, target, known, lock)
    edit = planner.variant(PatchEdit(last_update=today))
    if isinstance(edit, Problem):
        return edit
    edit, renamed = planner.scopes(edit)
    return Planned(planner.left_out(edit), renamed)


class _Planner:
    def __init__(
        self,
        patch: SeriesPatch,
        settled: Settled,
        target: Target,
        known: Sequence[Target],
        lock: LockDocument | None,
    ) -> None:
        self._patch = patch
        self._document: PatchDocument = patch.document
        self._settled = settled
        self._target = target
        self._known = known
        self._lock = lock
        # By name the new variant serves this target alone; by range those behind it too.
        self._range = self._new_range()

    def variant(self, edit: PatchEdit) -> PatchEdit | Problem:
        """Say which variant is for the target."""
        target = self._target
        needed_on = target.name if any(target.name in entry.targets for entry in self._document.not_needed) else None
        edit = replace(edit, needed_on=needed_on)
        if self._settled.existing is not None:
            return self._serve_too(edit, self._settled.existing)
        cover, releases = self._cover(), dict(edit.releases)
        if self._range is not None and cover is not None:
            parts = split(cover.releases, target.as_of)
            assert parts is not None  # noqa: S101 - as _new_range found
            releases[cover.file] = parts[0]
        if self._settled.text:
            old = next((each for each in self._document.variants if each.file == variant_file(target)), None)
            if old is not None and not old.releases and old.targets == (target.name,):
                # The target has moved, and its own variant with it: the text alone is another one.
                return edit
            if old is not None:
                return Problem(
                    f"there is a {old.file} already, which is not for {target.title} alone",
                    patch=self._patch.name,
                    hint="give that file another name first",
                )
            new = VariantSpec(variant_file(target), self._range or "", () if self._range else (target.name,))
            behind = self._settled.report.base
            return replace(edit, variant=new, behind=self._behind(cover, behind), releases=releases)
        if cover is not None and cover.file not in releases:
            if target.release is None:
                return Problem(
                    f"every hunk is left out, and {cover.file} claims {target.title} by its range",
                    patch=self._patch.name,
                    hint="bring the ranges of patch.yaml in order by hand",
                )
            releases[cover.file] = narrowed(cover.releases, f"!={target.name}")
        gone = "; ".join(f"{name} ({why})" for name, why in self._settled.left_out.items())
        reason = f"{PROPOSED}every hunk is left out: {gone}."
        entry = NotNeeded(reason, self._range or "", () if self._range else (target.name,))
        return replace(edit, not_needed=entry, releases=releases)

    def scopes(self, edit: PatchEdit) -> tuple[PatchEdit, dict[str, str]]:
        """Give hunks that stand in another scope now another entry: one entry, one scope."""
        renamed: dict[str, str] = {}
        hunks: dict[str, HunkSpec] = {}
        for name, scope in self._settled.scopes.items():
            spec = self._document.hunk(name)
            if spec is None:
                continue
            there = self._waiting(spec, scope, renamed)
            if there is None:
                new = f"{name}-{_slug(self._target)}"
                renamed[name] = new
                hunks[name] = self._own(replace(spec, id=new, scope=scope))
            else:
                renamed[name] = there
        edit = replace(edit, hunks={**edit.hunks, **hunks})
        for name in renamed:
            edit = self._limit(edit, name)
        return edit, renamed

    def left_out(self, edit: PatchEdit) -> PatchEdit:
        """Say that hunks that are left out are not for the target, and why they were."""
        target = self._target
        kept: list[LeftOut] = []
        for name, why in self._settled.left_out.items():
            edit = self._limit(edit, name)
            if self._document.hunk(name) is not None:
                commit = target.commit or "" if target.release is None else ""
                kept.append(LeftOut(hunk=name, target=target.name, commit=commit, reason=why))
        if kept or any(entry.target == target.name for entry in self._document.left_out):
            edit = replace(edit, left_out=tuple(kept), decided_on=target.name)
        return edit

    def _cover(self) -> VariantSpec | None:
        """Return the variant whose range holds the target."""
        found = variants_for(self._document, self._target)
        return next((variant for variant in found if self._target.name not in variant.targets), None)

    def _new_range(self) -> str | None:
        """Return the range of releases that a new variant is for; None when it is for the target alone.

        It begins at the target and takes over the rest of the range that held the target, unless a release in it is
        served by the old variant already, as the lock says.
        """
        target = self._target
        if target.release is None or not any(variant.releases for variant in self._document.variants):
            return None
        cover = self._cover()
        if cover is not None:
            parts = split(cover.releases, target.as_of)
            if parts is None or self._served(cover.file, parts[1]):
                return None
            return parts[1]
        bounds = [bound for variant in self._document.variants if (bound := lower_bound(variant.releases))]
        later = sorted((bound for bound in bounds if is_before(target.as_of, bound)), key=_order)
        return f">={target.as_of}" + (f",<{later[0]}" if later else "")

    def _served(self, file: str, releases: str) -> bool:
        """Tell whether another target in ``releases`` is made with the variant ``file`` at present."""
        for other in self._known:
            locked = self._lock.targets.get(other.name) if self._lock and other.name != self._target.name else None
            mine = locked.patches.get(self._patch.name) if locked else None
            if mine is not None and mine.variant == file and in_range(other.as_of, releases):
                return True
        return False

    def _serve_too(self, edit: PatchEdit, file: str) -> PatchEdit:
        """Let a variant that is there serve the target as well."""
        if any(variant.file == file for variant in variants_for(self._document, self._target)):
            return edit
        entry = next(variant for variant in self._document.variants if variant.file == file)
        return replace(edit, targets={file: (*entry.targets, self._target.name)})

    def _behind(self, cover: VariantSpec | None, base: str | None) -> str | None:
        """Return the variant in the list behind which the new one goes: the one that it was carried from."""
        if cover is not None:
            return cover.file
        origin = next((known for known in self._known if known.name == base), None)
        found = variants_for(self._document, origin) if origin else []
        return found[0].file if found else None

    def _waiting(self, spec: HunkSpec, scope: str, renamed: Mapping[str, str]) -> str | None:
        """Return the one entry that patch.yaml has for this hunk's new scope already, if the target lacks its hunk."""
        taken = {*renamed.values(), *(hunk.id for hunk in self._settled.report.hunks)}
        found = [
            hunk.id
            for hunk in self._document.hunks
            if (hunk.file, hunk.scope, hunk.group) == (spec.file, scope, spec.group)
            and hunk.id not in taken
            and applies(hunk, self._target)
        ]
        return found[0] if len(found) == 1 else None

    def _own(self, spec: HunkSpec) -> HunkSpec:
        """Return a new entry that is for the target, and those behind it, alone."""
        if self._target.release is None:
            return replace(spec, releases="", not_on=(), only_on=(self._target.name,))
        return replace(spec, releases=self._range or f"=={self._target.name}", not_on=(), only_on=())

    def _limit(self, edit: PatchEdit, name: str) -> PatchEdit:
        """Take the target, and those that the new variant is for, out of a hunk's entry."""
        spec = self._document.hunk(name)
        if spec is None or not applies(spec, self._target):
            return edit
        if self._target.release is None:
            not_on = (*edit.hunk_not_on.get(name, spec.not_on), self._target.name)
            return replace(edit, hunk_not_on={**edit.hunk_not_on, name: not_on})
        releases = edit.hunk_releases.get(name, spec.releases)
        for clause in self._without(spec):
            releases = narrowed(releases, clause)
        return replace(edit, hunk_releases={**edit.hunk_releases, name: releases})

    def _without(self, spec: HunkSpec) -> list[str]:
        """Return the clauses that exclude what the new variant serves, and nothing that has the hunk."""
        mine = self._range or f"=={self._target.name}"
        served = [other.as_of for other in self._known if other.release and in_range(other.as_of, mine)]
        kept = [
            other for other in self._known if other.release and applies(spec, other) and not in_range(other.as_of, mine)
        ]
        if any(is_before(self._target.as_of, other.as_of) for other in kept):
            return [f"!={version}" for version in dict.fromkeys([self._target.as_of, *served])]
        return [f"<{self._target.as_of}"]


def _slug(target: Target) -> str:
    return "".join(sign if sign.isalnum() else "-" for sign in target.name.lower()).strip("-")


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
