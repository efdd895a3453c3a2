"""Proposals how to cut a big patch into feature patches.

Hunks belong together when they use a name that the patch brings in, one that no touched file of the base has. Of what
is left, hunks that do the same at several places are one patch; the rest joins the only feature in its function, or the
rest of its file. These are guesses for a person to judge: what is
certain is only that every hunk is in exactly one proposal, so that their sum is the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush

import msgspec

from patchkit.core.foreign.identifiers import defined, names, slug, words
from patchkit.core.lines import split_lines
from patchkit.core.model import Hunk, LineKind
from patchkit.core.parts import of_part, parts_of
from patchkit.core.scopes import MODULE

_OFTEN = 3
"""Hunks in more than one file that make one change before it is a feature of its own."""
_LARGEST = 200
"""Hunks of a group that is looked at for bridges, which takes time with the cube of their number."""


class ScopedHunk(msgspec.Struct, frozen=True):
    """A hunk, and where it stands."""

    path: str
    scope: str
    hunk: Hunk


_Change = tuple[frozenset[bytes], frozenset[bytes]]


class Proposal(msgspec.Struct, frozen=True):
    """One feature patch."""

    name: str
    hunks: tuple[int, ...]
    """Positions in the sequence that was given, ascending."""
    names: tuple[str, ...]
    """New names that its hunks share or bring in, the most used first."""
    reason: str
    depends: tuple[str, ...] = ()
    """Names of proposals that define what this one uses; they stand before it."""


def propose(
    hunks: Sequence[ScopedHunk], base: Mapping[str, bytes | None], used: Iterable[str] = ()
) -> tuple[Proposal, ...]:
    """Return the proposed patches in an order in which each stands behind those it depends on.

    ``base`` is the text of every touched file before the change; no proposal gets a name of ``used``.
    """
    added = [added_names(hunk) for hunk in hunks]
    known: set[str] = set()
    for content in base.values() if any(added) else ():
        known.update(*map(_names_in, parts_of(content or b"")))
    new = [found - known for found in added]
    uses = _users(new)
    clusters = [part for cluster in _linked(range(len(hunks)), new) for part in _cut_at_bridges(cluster, new)]
    clusters = _merged_rest(hunks, clusters)
    clusters, needs = _ordered(hunks, clusters, new)
    taken = _Names(used)
    made: list[Proposal] = []
    for cluster, needed in zip(clusters, needs, strict=True):
        inside = Counter(name for at in cluster for name in new[at])
        ranked = tuple(sorted(inside, key=lambda name: (-inside[name], -len(uses[name]), name)))
        name = taken.unique(_title(hunks, cluster, inside))
        depends = tuple(made[other].name for other in needed)
        made.append(Proposal(name, cluster, ranked, _reason(hunks, cluster, inside, ranked), depends))
    return tuple(made)


def hunk_ids(hunks: Sequence[ScopedHunk], proposals: Sequence[Proposal], taken: Iterable[str] = ()) -> dict[int, str]:
    """Return a readable id for every hunk by its position, unique among all and not in ``taken``."""
    used = _Names(taken)
    ids: dict[int, str] = {}
    for proposal in proposals:
        ranks = {name: rank for rank, name in enumerate(proposal.names)}
        for at in proposal.hunks:
            hunk = hunks[at]
            added = added_names(hunk)
            own = min(added & ranks.keys(), key=ranks.__getitem__, default="")
            if added and not own and not proposal.names:
                own = next(iter(sorted(added - names(_side(hunk, LineKind.REMOVED, LineKind.CONTEXT)))), "")
            place = _place(hunk)
            what = [] if set(words(own)) <= set(words(place)) else [own]
            ids[at] = used.unique(slug(place, *what, limit=56))
    return ids


def added_names(hunk: ScopedHunk) -> frozenset[str]:
    """Return the names in the lines that a hunk adds; none for text that is not code."""
    if not hunk.path.endswith((".py", ".pyi", ".cpp", ".cu", ".h", ".cuh", ".sh")):
        return frozenset()
    return names(_side(hunk, LineKind.ADDED))


@of_part
def _names_in(text: bytes) -> frozenset[str]:
    return names(split_lines(text))


def _side(hunk: ScopedHunk, *kinds: LineKind) -> list[bytes]:
    return [line.text for line in hunk.hunk.lines if line.kind in kinds]


def _place(hunk: ScopedHunk) -> str:
    """Return what to call the place of a hunk: its function, with the class when the name alone says little."""
    if hunk.scope == MODULE:
        parts = hunk.path.rsplit(".", 1)[0].split("/")
        return parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]
    parts = hunk.scope.split(".")
    short = parts[-1].startswith("__") or parts[-1] in ("forward", "backward", "load", "save", "state_dict", "step")
    return " ".join(parts[-2:] if short else parts[-1:])


def _users(new: Sequence[frozenset[str]]) -> dict[str, list[int]]:
    users: dict[str, list[int]] = {}
    for at, found in enumerate(new):
        for name in found:
            users.setdefault(name, []).append(at)
    return users


def _linked(members: Iterable[int], new: Sequence[frozenset[str]]) -> list[tuple[int, ...]]:
    """Return the groups of hunks that are connected by names, in order of their first hunk."""
    groups: dict[int, list[int]] = {}
    home: dict[int, int] = {}
    using: dict[str, int] = {}
    for at in members:
        groups[at], home[at] = [at], at
        for name in new[at]:
            one, other = home[at], home[using.setdefault(name, at)]
            if one != other:
                small, large = sorted((one, other), key=lambda group: len(groups[group]))
                home |= dict.fromkeys(groups[small], large)
                groups[large] += groups.pop(small)
    return sorted(tuple(sorted(group)) for group in groups.values())


def _cut_at_bridges(cluster: tuple[int, ...], new: Sequence[frozenset[str]]) -> list[tuple[int, ...]]:
    """Cut a group where one hunk alone holds two features together, such as the config that has a field of each.

    The hunk stays with the feature whose names it shares most; the other one will depend on it.
    """
    for bridge in cluster if len(cluster) <= _LARGEST else ():
        parts = _linked([at for at in cluster if at != bridge], new)
        features = [part for part in parts if len(part) > 1]
        if len(features) < 2:
            continue
        shared = [sum(len(new[at] & new[bridge]) for at in part) for part in features]
        home = features[shared.index(max(shared))]
        kept = tuple(sorted({bridge, *home, *(at for part in parts if len(part) == 1 for at in part)}))
        others = [part for part in features if part is not home]
        return [piece for part in sorted([kept, *others]) for piece in _cut_at_bridges(part, new)]
    return [cluster]


def _merged_rest(hunks: Sequence[ScopedHunk], clusters: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Give hunks that no name links to others a place: the one feature in their function, or the rest of their file."""
    features = [list(cluster) for cluster in clusters if len(cluster) > 1]
    inside: dict[tuple[str, str], list[list[int]]] = {}
    for feature in features:
        for where in {(hunks[at].path, hunks[at].scope) for at in feature}:
            inside.setdefault(where, []).append(feature)
    repeated = _repeated(hunks, [cluster[0] for cluster in clusters if len(cluster) == 1])
    placed = {at for group in repeated for at in group}
    rest: dict[str, list[int]] = {}
    for cluster in clusters:
        at = cluster[0]
        if len(cluster) > 1 or at in placed:
            continue
        near = inside.get((hunks[at].path, hunks[at].scope), [])
        if hunks[at].scope != MODULE and len(near) == 1:
            near[0].append(at)
        else:
            rest.setdefault(hunks[at].path, []).append(at)
    return sorted(tuple(sorted(group)) for group in (*features, *repeated, *rest.values()))


def _repeated(hunks: Sequence[ScopedHunk], members: Iterable[int]) -> list[list[int]]:
    """Return the groups of hunks that make the same change, such as to take one decorator off many functions."""
    groups: dict[_Change, list[int]] = {}
    for at in members:
        groups.setdefault(_change(hunks[at]), []).append(at)
    return [group for group in groups.values() if len(group) >= _OFTEN and len({hunks[at].path for at in group}) > 1]


def _change(hunk: ScopedHunk) -> _Change:
    """Return the lines that a hunk takes out and those that it adds, without indentation; blank ones do not count."""
    removed, added = (
        frozenset(text for line in _side(hunk, kind) if (text := line.strip()))
        for kind in (LineKind.REMOVED, LineKind.ADDED)
    )
    return removed, added


def _same_change(hunks: Sequence[ScopedHunk], cluster: tuple[int, ...]) -> _Change | None:
    """Return the one change that all hunks of a cluster make; None when they make several."""
    changes = {_change(hunks[at]) for at in cluster} if len(cluster) >= _OFTEN else set()
    return changes.pop() if len(changes) == 1 else None


def _ordered(
    hunks: Sequence[ScopedHunk], clusters: list[tuple[int, ...]], new: Sequence[frozenset[str]]
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Return the clusters, each behind those it depends on, and where these are; a circle becomes one cluster."""
    while True:
        needs = _needs(hunks, clusters, new)
        order = _dependencies_first(needs)
        if len(order) == len(clusters):
            place = {old: position for position, old in enumerate(order)}
            return (
                [clusters[at] for at in order],
                [tuple(sorted(place[other] for other in needs[at])) for at in order],
            )
        stuck = sorted(set(range(len(clusters))) - set(order))
        merged = tuple(sorted(hunk for at in stuck for hunk in clusters[at]))
        clusters = sorted([*(clusters[at] for at in order), merged])


def _dependencies_first(needs: Sequence[set[int]]) -> list[int]:
    """Return the positions in their order, but each behind those it needs; without those that need each other."""
    waits = [len(needed) for needed in needs]
    needing: dict[int, list[int]] = {}
    for at, needed in enumerate(needs):
        for other in needed:
            needing.setdefault(other, []).append(at)
    ready = [at for at, count in enumerate(waits) if not count]
    heapify(ready)
    order: list[int] = []
    while ready:
        order.append(heappop(ready))
        for at in needing.get(order[-1], ()):
            waits[at] -= 1
            if not waits[at]:
                heappush(ready, at)
    return order


def _needs(
    hunks: Sequence[ScopedHunk], clusters: list[tuple[int, ...]], new: Sequence[frozenset[str]]
) -> list[set[int]]:
    """Return for each cluster those that define a new name which it uses and does not define."""
    defines = [
        {name for at in cluster if new[at] for name in defined(_side(hunks[at], LineKind.ADDED)) & new[at]}
        for cluster in clusters
    ]
    used = [{name for at in cluster for name in new[at]} for cluster in clusters]
    defining: dict[str, list[int]] = {}
    for at, found in enumerate(defines):
        for name in found:
            defining.setdefault(name, []).append(at)
    return [
        {other for name in names_used - own for other in defining.get(name, ())}
        for names_used, own in zip(used, defines, strict=True)
    ]


def _title(hunks: Sequence[ScopedHunk], cluster: tuple[int, ...], inside: Counter[str]) -> str:
    """Return a name for a feature: words that its most used new names share, or the place of its hunks."""
    if inside and len(cluster) > 1 and max(inside.values()) > 1:
        most = max(inside.values())
        top = sorted((name for name, count in inside.items() if count * 3 >= most * 2), key=lambda name: -inside[name])
        shared = [word for word in words(top[0]) if all(word in words(name) for name in top)]
        best = min((name for name in top if inside[name] == most), key=lambda name: (-len(name), name))
        return slug(*shared) if len(shared) > 1 else slug(best)
    change = _same_change(hunks, cluster)
    if change is not None:
        removed, added = change
        return slug("without" if not added else "with", *sorted(names(sorted(added or removed)))[:3])
    places = {_place(hunks[at]) for at in cluster}
    if len(places) == 1:
        return slug(*places)
    return slug(_place(msgspec.structs.replace(hunks[cluster[0]], scope=MODULE)))


def _reason(
    hunks: Sequence[ScopedHunk], cluster: tuple[int, ...], inside: Counter[str], ranked: tuple[str, ...]
) -> str:
    shared = [name for name in ranked if inside[name] > 1]
    if shared:
        more = f" and {len(shared) - 3} more" if len(shared) > 3 else ""
        return f"shares {', '.join(shared[:3])}{more}"
    change = _same_change(hunks, cluster)
    if change is not None:
        removed, added = (b" / ".join(sorted(lines)).decode("utf-8", "replace") for lines in change)
        what = " and ".join(f"{verb} {text}" for verb, text in (("takes out", removed), ("adds", added)) if text)
        return f"the same change at {len(cluster)} places: {what or 'blank lines'}"
    files = sorted({hunks[at].path.rsplit("/", 1)[-1] for at in cluster})
    scopes = sorted({hunks[at].scope for at in cluster})
    where = scopes[0] if len(scopes) == 1 and scopes[0] != MODULE else ", ".join(files)
    if ranked:
        return f"in {where}, brings in {', '.join(ranked[:3])}"
    return f"what is left in {where}: no new name links it to another hunk"


class _Names:
    """Names that are taken."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}
        """The first number that may be free behind a name."""

    def unique(self, name: str) -> str:
        """Take ``name``, with a number behind it if it is taken, and return it."""
        made, number = name, self._next.get(name, 2)
        while made in self._taken:
            made = f"{name}-{number}"
            number += 1
        self._taken.add(made)
        self._next[name] = number
        return made
