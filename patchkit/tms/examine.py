"""One environment, as far as it matters to torch_memory_saver: torch, the package, its library, the variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from patchkit.errors import TmsError, TmsNotFoundError
from patchkit.tms.environment import ALLOCATOR_VARIABLES, expandable_segments_in
from patchkit.tms.identity import Identity, identify
from patchkit.tms.library import Runtime, fitting_library, torch_runtime
from patchkit.tms.package import Package, installed_package
from patchkit.tms.process import Process
from patchkit.tms.verdict import SaverRecords, Standing

Verdict = Literal["ok", "look", "bad", "absent"]

_SHOWN = re.compile(r"LD_PRELOAD|TMS_\w+|NCCL_CUMEM_ENABLE|NCCL_GRAPH_REGISTER|NVTE_\w*OFFLOAD\w*")


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that was looked at."""

    subject: str
    verdict: Verdict
    text: str
    details: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    """What every rank of a job has to have alike."""


def examine_torch() -> tuple[Fact, Runtime | None]:
    """Say which torch this Python would import, without importing it, and what it is built for."""
    try:
        found = version("torch")
    except PackageNotFoundError:
        return Fact("torch", "absent", "there is no torch in this Python", facts={"torch": "absent"}), None
    try:
        runtime: Runtime | None = torch_runtime()
    except TmsNotFoundError:
        runtime = None
    built = str(runtime) if runtime else "neither CUDA nor ROCm"
    facts = {"torch": found, "torch built for": built}
    return Fact("torch", "ok" if runtime else "look", f"{found}, built for {built}", facts=facts), runtime


def examine_saver(records: SaverRecords, package: Package | None = None) -> tuple[Fact, Package | None]:
    """Say which torch_memory_saver is installed, and whether it is good enough for the series."""
    try:
        package = package or installed_package()
        identity = identify(package, records)
    except TmsNotFoundError as error:
        return Fact("torch_memory_saver", "absent", error.message, facts={"torch_memory_saver": "absent"}), None
    except TmsError as error:
        return Fact("torch_memory_saver", "bad", error.message, facts={"torch_memory_saver": "damaged"}), None
    verdicts: Mapping[bool | None, tuple[Verdict, str]] = {
        True: ("ok", "good enough for the series"),
        False: (
            "bad",
            "not good enough for the series: a paused buffer cannot be freed; 0.0.10 or b5588e83d is needed",
        ),
        None: ("look", "whether it is good enough for the series `patchkit tms identify` can try out"),
    }
    verdict, meaning = verdicts[identity.meets_minimum]
    return (
        Fact(
            "torch_memory_saver",
            verdict,
            f"{identity.version or 'of no version'}, {identity.build}: {meaning}",
            (
                f"it can be: {', '.join(each[:12] for each in identity.verdict.candidates) or 'none that is recorded'}",
                *_defects(identity),
            ),
            {
                "torch_memory_saver": identity.version or "of no version",
                "torch_memory_saver libraries": ", ".join(sorted(each.sha256[:16] for each in identity.libraries))
                or "none",
            },
        ),
        package,
    )


def _defects(identity: Identity) -> tuple[str, ...]:
    found = [each for each in identity.defects if each.standing is not Standing.ABSENT and each.fixed_in]
    return (f"defects that were fixed since: {', '.join(each.id for each in found)}",) if found else ()


def examine_preload(package: Package | None, runtime: Runtime | None, process: Process | None) -> Fact:
    """Say whether the library that this process preloads, if any, is the one that fits."""
    subject = "preload library"
    fitting: Path | None = None
    why = "there is no package" if package is None else "for which CUDA or ROCm is not known"
    if package is not None and runtime is not None:
        try:
            fitting = fitting_library(package, runtime, "preload")
        except TmsError as error:
            why = error.message
    if process is None:
        return Fact(subject, "look", "the memory map of this process cannot be read", facts={"preloaded": "unknown"})
    if process.ignored:
        text = f"LD_PRELOAD names {process.ignored[0]}, which the loader left out"
        return Fact(subject, "bad", text, facts={"preloaded": "left out"})
    if not process.mapped:
        would = f"; {fitting.name} fits" if fitting else f"; {why}"
        verdict: Verdict = "bad" if package is not None and runtime is not None and fitting is None else "look"
        verdict = "absent" if package is None else verdict
        return Fact(subject, verdict, f"none is loaded in this process{would}", facts={"preloaded": "none"})
    loaded = Path(process.mapped[0])
    facts = {"preloaded": loaded.name}
    if fitting is not None and loaded.resolve() != fitting.resolve():
        return Fact(subject, "bad", f"{loaded} is loaded, and {fitting} fits", facts=facts)
    return Fact(subject, "ok" if fitting else "look", f"{loaded} is loaded", () if fitting else (why,), facts)


def examine_variables(environment: Mapping[str, str]) -> Fact:
    """Say what the variables are that torch_memory_saver, torch's allocator and NCCL read."""
    names = sorted(name for name in environment if name in ALLOCATOR_VARIABLES or _SHOWN.fullmatch(name))
    details = tuple(f"{name}={environment[name]}" for name in names)
    facts = {name: environment[name] for name in names}
    expandable = expandable_segments_in(environment)
    tracked = environment.get("TMS_INIT_ENABLE", "0") not in ("", "0") or "torch_memory_saver" in environment.get(
        "LD_PRELOAD", ""
    )
    if expandable:
        text = f"{' and '.join(expandable)} turns expandable segments on: a pause frees nothing"
        return Fact("variables", "bad" if tracked else "look", text, details, facts)
    if environment.get("TMS_INIT_ENABLE", "0") not in ("", "0") and "torch_memory_saver" not in environment.get(
        "LD_PRELOAD", ""
    ):
        text = "TMS_INIT_ENABLE is set, and LD_PRELOAD names no library of torch_memory_saver"
        return Fact("variables", "bad", text, details, facts)
    return Fact("variables", "ok", f"{len(names)} set" if names else "none is set", details, facts)
