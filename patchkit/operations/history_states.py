"""What becomes of every hunk of a series on any text of a file: carried once for each text, and remembered."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final

import msgspec

from patchkit.core.history.spans import HunkState
from patchkit.core.upstream import Target
from patchkit.errors import UsageError
from patchkit.operations.engine import engine_digest
from patchkit.progress import Reporter, silent
from patchkit.store.cache import ContentCache
from patchkit.store.series import Series

if TYPE_CHECKING:
    from patchkit.operations.layers import Layer

KIND = "history"
"""Kind of the cache's entries."""

_ENGINE: Final = "patchkit.operations.history_carry"
"""The module that carries, with all of the engine below it: a fifth of a second to load."""

OUTSIDE = "(outside of the hunks)"
"""Stands for a hunk where a gate fired on lines of a file that belong to none."""

Job = tuple[str, "str | None", "bytes | None"]
"""Path, blob id, content; None for no such file."""

States = tuple[HunkState, ...]
"""One for each hunk of a file, in the order of its rows."""


class Row(msgspec.Struct, frozen=True):
    """A hunk of the series as it lies on the base."""

    patch: str
    id: str
    group: str
    path: str


class Link(msgspec.Struct, frozen=True):
    """What one patch makes of one file of the base."""

    patch: str
    digest: str
    """Of the patch's sources."""
    variant: str
    """Digest of the variant's text."""
    before: str | None
    after: str | None
    """Blob ids."""


class Chain(msgspec.Struct, frozen=True):
    """What the patches of a series make of one file of the base, in their order."""

    path: str
    links: tuple[Link, ...]

    @property
    def key(self) -> str:
        """Name everything that the states on a blob depend on, the blob aside."""
        told = msgspec.json.encode([engine_digest(), self.path, self.links])
        return hashlib.sha256(told).hexdigest()


class _Known(msgspec.Struct):
    """What is remembered of one file."""

    hunks: tuple[tuple[str, str, str], ...] = ()
    """Patch, id and group of each hunk."""
    blobs: dict[str, States] = {}
    """By blob id; the empty one stands for no file."""


class StateTable:
    """The states of hunks by path and blob id.

    ``chains`` tell what the series does to the base; ``load`` gives the patches themselves, and is called only when a
    text was never seen before. With ``names`` of patches their hunks alone are told, on what the patches before them
    leave. Raises UsageError for a name that the series does not have, and when the base does not need one of them.
    """

    def __init__(
        self,
        series: Series,
        base: Target,
        chains: Sequence[Chain],
        load: Callable[[], Sequence[Layer]],
        cache: Path,
        *,
        names: Sequence[str] = (),
        reporter: Reporter = silent,
    ) -> None:
        self._series = series
        self._asked = [series.patch(name).name for name in names or (patch.name for patch in series.patches)]
        self._base = base
        self._load = load
        self._cache = ContentCache(cache)
        self._reporter = reporter
        self._chains = {chain.path: chain for chain in chains if any(link.patch in self._asked for link in chain.links)}
        unneeded = set(names) - {link.patch for chain in chains for link in chain.links}
        if unneeded:
            raise UsageError(
                f"{base.title} does not need {', '.join(sorted(unneeded))}", hint="name another base with --from BASE"
            )
        self._known = {path: self._remembered(chain) for path, chain in self._chains.items()}
        self._places = self._placed()
        self._engine: Thread | None = None
        self.carried = 0
        """Texts that the series was carried to by this object; the others were known."""

    def expect(self) -> None:
        """Load the engine while git looks for the texts, if nothing is known of some file and it will be needed."""
        if self._engine is None and not all(known.blobs for known in self._known.values()):
            self._engine = Thread(target=import_module, args=(_ENGINE,), daemon=True)
            self._engine.start()

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file that the patches asked about touch on the base."""
        return tuple(self._chains)

    def rows(self) -> Iterator[Row]:
        """Yield the hunks asked about, patch by patch and in one by the order of the files. Call ``learn`` before."""
        order = {patch.name: number for number, patch in enumerate(self._series.patches)}
        rows = [
            Row(*hunk, path) for path, known in self._known.items() for hunk in known.hunks if hunk[0] in self._asked
        ]
        yield from sorted(rows, key=lambda row: order[row.patch])

    def learn(
        self,
        wanted: Mapping[str, Iterable[str | None]],
        read: Callable[[Mapping[str, str]], Iterable[Mapping[str, bytes]]],
    ) -> None:
        """Carry the series to every blob of ``wanted`` (by path) that is not known yet.

        ``read`` gives the content of blobs, asked for as path by blob id, in as many batches as it likes.
        """
        missing = [
            (path, blob)
            for path, blobs in wanted.items()
            for blob in dict.fromkeys([*blobs, None])
            if (blob or "") not in self._known[path].blobs
        ]
        if not missing:
            return
        batches = _batches(missing, read)
        jobs = next(batches)  # while the engine is loaded
        if self._engine is not None:
            self._engine.join()  # processes are begun next, and none with a thread beside it
        from patchkit.operations.history_carry import Carrier  # noqa: PLC0415 - the engine only where a text is new

        carrier = Carrier(self._load(), self._base)
        count = sum(blob is not None for _path, blob in missing)
        self._reporter.step(f"carrying the series to {count} texts")
        for path, known in self._known.items():
            known.hunks = tuple((patch, name, self._group(patch, name)) for patch, name in carrier.hunks[path])
        self._places = self._placed()
        try:
            while jobs:
                for path, blob, states in carrier.states(jobs):
                    self._known[path].blobs[blob or ""] = states
                # Let go first: the next ones take as much memory.
                jobs = []
                jobs = next(batches, [])
        finally:
            # Interrupted after minutes, the next run goes on from here.
            for path in dict.fromkeys(path for path, _blob in missing):
                self._keep(path)
        self.carried += count

    def of(self, row: Row, blob: str | None) -> HunkState:
        """Return the state of a hunk on a blob of its file that was learnt."""
        return self._known[row.path].blobs[blob or ""][self._places[row.path, row.patch, row.id]]

    def _placed(self) -> Mapping[tuple[str, str, str], int]:
        """Return where the state of a hunk stands among those of its file, by path, patch and id."""
        return {
            (path, *hunk[:2]): number for path, known in self._known.items() for number, hunk in enumerate(known.hunks)
        }

    def _group(self, patch: str, hunk: str) -> str:
        told = self._series.patch(patch).document.hunks
        return next((spec.group for spec in told if spec.id == hunk), "")

    def _remembered(self, chain: Chain) -> _Known:
        return self._cache.get_as(KIND, chain.key, _Known) or _Known()

    def _keep(self, path: str) -> None:
        # Another process may have learnt other blobs meanwhile.
        chain = self._chains[path]
        other = self._remembered(chain)
        known = self._known[path]
        known.blobs = {**other.blobs, **known.blobs}
        self._cache.put(KIND, chain.key, known)


def _batches(
    missing: Sequence[tuple[str, str | None]], read: Callable[[Mapping[str, str]], Iterable[Mapping[str, bytes]]]
) -> Iterator[list[Job]]:
    """Yield what is to be carried: path, blob id and content; first of all with it what is no file."""
    jobs: list[Job] = [(path, None, None) for path, blob in missing if blob is None]
    paths: dict[str, list[str]] = {}
    for path, blob in missing:
        if blob is not None:
            paths.setdefault(blob, []).append(path)
    for texts in read({blob: of[0] for blob, of in paths.items()}):
        jobs += [(path, blob, content) for blob, content in texts.items() for path in paths[blob]]
        yield jobs
        jobs = []
    if jobs:
        yield jobs
