"""Answers of check-upstream that are kept by all they depend on, so that a second run computes what is new alone."""

from __future__ import annotations

import hashlib
from pathlib import Path

from patchkit.core.json_text import to_json
from patchkit.core.upstream import Target
from patchkit.core.upstream_report import TargetAnswer
from patchkit.operations.engine import engine_digest
from patchkit.operations.locked import Sources
from patchkit.store.cache import ContentCache
from patchkit.store.documents import read_file
from patchkit.trees.git_program import GitProgram


class KnownAnswers:
    """Answers by target, for one series, one list of versions and one way of reading upstream."""

    def __init__(self, folder: Path, sources: Sources, versions: Path, clone: GitProgram | None) -> None:
        self._cache = ContentCache(folder)
        told = (
            engine_digest(),
            str(sources.series.folder),
            sources.lock,
            _digest(versions),
            sorted(_digest(file) for file in (sources.series.folder / "resolutions").glob("*.yaml")),
            clone is not None,
            clone is not None and clone.shallow,
        )
        self._common = hashlib.sha256(to_json(told)).hexdigest()

    def get(self, target: Target, base: str | None) -> TargetAnswer | None:
        """Return what was found on a target before; None when that is not known."""
        return self._cache.get_as("upstream", self._key(target, base), TargetAnswer)

    def put(self, target: Target, base: str | None, answer: TargetAnswer) -> None:
        """Keep what was found on a target."""
        self._cache.put("upstream", self._key(target, base), answer)

    def _key(self, target: Target, base: str | None) -> str:
        # A wheel is known by its digests, anything else by its commit; the name decides which hunks are for it. The tag
        # of a release is told and its commit asked about, and one clone may have another than the next.
        wheels = sorted(target.release.files.items()) if target.release is not None else None
        told = (self._common, target.name, target.as_of, wheels, target.tag, target.commit, base)
        return hashlib.sha256(to_json(told)).hexdigest()


def _digest(file: Path) -> str:
    return hashlib.sha256(read_file(file)).hexdigest()
