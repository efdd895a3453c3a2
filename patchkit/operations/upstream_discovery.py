"""What check-upstream asks of discovery: releases beside the listed ones, and what contradicts the file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from patchkit.errors import UsageError
from patchkit.operations.discover import discover
from patchkit.operations.upstream_check import Discovery
from patchkit.progress import Reporter, silent
from patchkit.store.location import versions_file
from patchkit.store.versions import load_versions
from patchkit.trees.git_program import GitProgram

if TYPE_CHECKING:
    from patchkit.trees.package_indexes import PackageIndexes


def look_around(
    folder: Path,
    *,
    repository: Path | GitProgram | None = None,
    pre: bool = False,
    offline: bool = False,
    update: bool = False,
    indexes: PackageIndexes | None = None,
    reporter: Reporter = silent,
) -> Discovery:
    """Look for releases that the series in ``folder`` does not list; with ``update`` list them.

    ``offline`` asks no package index; whoever asks more of them gives the ``indexes``. Raises UsageError when the file
    is not the series' own and when ``update`` could add nothing, SourceError, TreeError.
    """
    if update and offline:
        raise UsageError(
            "--update and --offline exclude each other: digests of a release's wheels are those of the index"
        )
    found = discover(
        load_versions(versions_file(folder)),
        repository=repository,
        pre=pre,
        offline=offline,
        indexes=indexes,
        reporter=reporter,
    )
    answer = Discovery(
        found=found.found,
        releases=tuple(release for each in found.found if (release := found.release(each)) is not None),
        problems=found.problems,
        faults=found.faults,
        notes=found.notes,
        answered=(offline or found.index) and (repository is None or found.tags),
    )
    if not update or not found.found:
        return answer
    from patchkit.operations.update_versions import update as write  # noqa: PLC0415 - only --update writes

    done = write(folder, found, repository=repository, indexes=indexes, reporter=reporter)
    return replace(
        answer,
        found=tuple(each for each in found.found if each.version not in done.added),
        releases=tuple(each for each in answer.releases if each.version not in done.added),
        problems=(*answer.problems, *done.problems),
        notes=(*answer.notes, *done.notes, *(f"v{version} was added to {done.written[0]}" for version in done.added)),
        written=done.written,
    )
