"""How the commands of `patchkit tms` name a torch_memory_saver, and the texts that they print."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from patchkit.cli.output import StderrReporter, echo_note
from patchkit.cli.rendering.printable import one_line
from patchkit.core.memory_saver import MemorySaver
from patchkit.errors import TmsNotFoundError, UsageError
from patchkit.store.cache import default_cache
from patchkit.store.location import default_patches, versions_file
from patchkit.store.versions import load_versions
from patchkit.tms.build import Need
from patchkit.tms.environment import ActorEnvironment
from patchkit.tms.identity import Identity
from patchkit.tms.library import Cuda, Rocm, Runtime, torch_runtime
from patchkit.tms.package import Package, installed_package, package_at
from patchkit.tms.probe import MODES, Outcome, Probed
from patchkit.tms.start import start_environment
from patchkit.tms.triage import Triage, short

F = TypeVar("F", bound=Callable[..., Any])

_VERSION = re.compile(r"v?\d+(\.\w+)+")
"""What can only be meant as a release, when there is no file of that name."""


def runtime_options(function: F) -> F:
    """Add ``--cuda-major`` and ``--rocm``."""
    function = click.option("--rocm", is_flag=True, help="The process runs on ROCm.")(function)
    return click.option(
        "--cuda-major", type=click.IntRange(min=1), help="CUDA of the process. Default: that of this Python's torch."
    )(function)


def place_option(function: F) -> F:
    """Add ``--in``."""
    return click.option(
        "--in", "place", metavar="PATH", help="Another than this Python's: a folder, a library, a wheel."
    )(function)


def asked_runtime(cuda_major: int | None, *, rocm: bool) -> Runtime:
    """Return what the options say, or what torch is built for. Raises UsageError, TmsNotFoundError."""
    if rocm and cuda_major:
        raise UsageError("--rocm and --cuda-major exclude each other")
    if rocm:
        return Rocm()
    return Cuda(cuda_major) if cuda_major else torch_runtime()


def records() -> MemorySaver:
    """Return what upstream_versions.yaml says of torch_memory_saver."""
    return load_versions(versions_file(default_patches())).torch_memory_saver


def asked_package(place: str | None, *, verbose: bool) -> Package:
    """Return the one at a path, of a version on the index, or of this Python. Raises TmsNotFoundError, TreeError."""
    if place is None:
        return installed_package()
    releases = records().releases
    release = next((item for item in releases if item.version == place.removeprefix("v")), None)
    if release is None and not Path(place).exists() and _VERSION.fullmatch(place):
        known = ", ".join(item.version for item in releases)
        raise TmsNotFoundError(f"{place} is no recorded release of torch_memory_saver", hint=f"recorded: {known}")
    if release is None or Path(place).exists():
        return package_at(Path(place), cache=default_cache())
    from patchkit.trees.index import fetch_wheel  # noqa: PLC0415 - only where the index is asked

    wheel = fetch_wheel(
        records().distribution,
        release.version,
        release.files,
        cache=default_cache(),
        exact_platform=True,
        reporter=StderrReporter(verbose=verbose),
    )
    return package_at(wheel, cache=default_cache())


def asked_environment(package: Package, runtime: Runtime, *, cpu_backup: bool, check: bool = True) -> ActorEnvironment:
    """Return the environment for a process that starts from this one, and print its notes on standard error.

    Raises TmsNotFoundError, TmsFileError, UsageError.
    """
    roots = [Path(entry) for entry in sys.path if entry]
    found = start_environment(package, runtime, os.environ, records(), roots=roots, cpu_backup=cpu_backup, check=check)
    for note in found.notes:
        echo_note(note.text + (f" [{note.defect}]" if note.defect else ""))
    return found


def identity_lines(identity: Identity) -> Iterator[str]:
    """Yield what `identify` says."""
    yield f"{identity.label}: torch_memory_saver {identity.version or 'of no version'}, {identity.build}"
    yield f"  from {identity.origin}"
    for library in identity.libraries:
        known = f", as in {library.known_as.partition(':')[0]}" if library.known_as else ""
        yield f"  {Path(library.path).name}  {library.linked_against}  sha256 {library.sha256[:16]}{known}"
    candidates = ", ".join(map(short, identity.verdict.candidates)) or "none that is recorded"
    yield f"it can be: {candidates}"
    for reason in (*identity.verdict.reasons, *identity.notes):
        yield f"  {reason}"
    # Without a library there is nothing that could have them.
    for standing in ("present", "possible") if identity.libraries else ():
        found = [item for item in identity.defects if item.standing.value == standing]
        if found:
            yield f"defects, {standing}:"
        for item in found:
            fixed = f"fixed in {short(item.fixed_in)}" if item.fixed_in else "not fixed"
            yield f"  {item.id}: {item.title} ({fixed})"
    yield {
        True: "good enough for the series",
        False: "not good enough for the series: it needs 0.0.10, or b5588e83d or later",
        None: "whether it is good enough for the series is not known: let patchkit tms probe try it out",
    }[identity.meets_minimum]


def build_lines(needs: Sequence[Need]) -> Iterator[str]:
    """Yield what `build-env` says."""
    for need in needs:
        state = need.found or "not set" if need.set_to or need.name.isupper() else need.found or "not found"
        change = f"; set it to {need.set_to}" if need.set_to and not need.ok else ""
        yield f"{'ok' if need.ok else 'missing'}: {need.name}: {one_line(state)}{change}"
        yield f"  {one_line(need.why)}"


def probe_lines(probed: Probed) -> Iterator[str]:
    """Yield what `probe` says: a table of scenarios and hook modes, then what did not work."""
    modes = [mode for mode in MODES if mode in probed.libraries]
    yield f"{probed.label}: torch_memory_saver {probed.version or 'of no version'}, CUDA {probed.major}, simulated"
    titles = {trial.name: trial.title for trial in probed.trials}
    width = max(map(len, titles.values()), default=0)
    yield f"  {'':{width}}  " + "  ".join(f"{mode:<8}" for mode in modes).rstrip()
    for name, title in titles.items():
        cells = [found.value if (found := probed.outcome(name, mode)) else "-" for mode in modes]
        yield f"  {title:{width}}  " + "  ".join(f"{cell:<8}" for cell in cells).rstrip()
    for trial in probed.trials:
        if not trial.ok and trial.outcome is not Outcome.MISSING:
            yield f"{trial.title}, {trial.mode}: {one_line(trial.text, 200)}"
    yield "good enough for the series" if probed.good_enough else "not good enough for the series"


def triage_lines(name: str, found: Triage) -> Iterator[str]:
    """Yield what `triage` says of one log."""
    yield f"{name}: {found.lines} lines, {found.size} bytes"
    for item in found.findings:
        signature = item.signature
        times = "once" if item.count == 1 else f"{item.count} times"
        of = f" [{signature.defect}]" if signature.defect else ""
        yield f"{signature.severity}: {signature.title}, {times}{of}"
        yield f"  line {item.first_line}: {one_line(item.text, 300)}"
        ranks = [f"{rank or 'no rank'}: {count}" for rank, count in item.ranks.items()]
        yield f"  by {', '.join(ranks[:8])}" + (f" and {len(ranks) - 8} more" if len(ranks) > 8 else "")
        yield f"  cause: {signature.cause}"
        if item.conclusion:
            yield f"  build: {item.conclusion}"
        yield f"  to do: {signature.advice}"
    if not found.findings:
        yield "nothing known of torch_memory_saver"
