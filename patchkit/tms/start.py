"""From a package and a runtime to the environment of an actor, with what the loader of this machine says to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from patchkit.tms.elf import read_library
from patchkit.tms.environment import ActorEnvironment, Note, actor_environment
from patchkit.tms.fingerprints import known_builds
from patchkit.tms.identity import gather
from patchkit.tms.library import Runtime, check_loads, check_others, fitting_library, runtime_folders, try_loading
from patchkit.tms.package import Package, content_of
from patchkit.tms.verdict import SaverRecords, Standing, judge, standings


def start_environment(
    package: Package,
    runtime: Runtime,
    before: Mapping[str, str],
    records: SaverRecords,
    *,
    roots: Sequence[Path] = (),
    cpu_backup: bool = True,
    check: bool = True,
) -> ActorEnvironment:
    """Return the environment for a process that starts here instead of with ``before``.

    Libraries of CUDA that the loader does not find are looked for below ``roots`` (site-packages), where pip puts them.
    With ``check`` the loader is asked whether it takes the result. Raises TmsNotFoundError, TmsFileError, UsageError.
    """
    library = fitting_library(package, runtime, "preload")
    missing = try_loading(library, before).missing if check else ()
    found = actor_environment(
        library,
        read_library(content_of(library), str(library)),
        before,
        defects=_defects(package, records),
        cpu_backup=cpu_backup,
        library_folders=runtime_folders(missing, roots),
    )
    if not check:
        return found
    after = {**before, **found.variables}
    check_loads(library, after)
    ignored = check_others(library, after)
    notes = (Note(f"LD_PRELOAD named {entry}, which the loader leaves out: {why}") for entry, why in ignored.items())
    return replace(found, notes=(*found.notes, *notes))


def _defects(package: Package, records: SaverRecords) -> frozenset[str]:
    """Return the ids of the defects that it has or can have."""
    evidence, _ = gather(package)
    verdict = judge(evidence, known_builds(), records)
    return frozenset(
        item.id
        for item in standings(verdict, evidence, known_builds(), records)
        if item.standing is not Standing.ABSENT
    )
