"""What came of the cases, as a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import patchkit
from patchkit.core.blobs import blob_id
from patchkit.core.evidence import CaseReport, EvidenceReport, Process, Rule, settings_of
from patchkit.core.state import touched_paths
from patchkit.operations.sources import Workspace
from patchkit.tms.cycle.cases import Case
from patchkit.tms.cycle.on_gpu import Answered, Site, given_library
from patchkit.tms.package import content_of, sha256

# What a report says in a place of its own.
TOLD = frozenset({"megatron", "patched", "saver", "hook", "grads", "params", "ranks", "expected"})


class Recorder:
    """Answers and rules by case, in the order in which they came."""

    def __init__(self, site: Site, workspace: Workspace, day: str) -> None:
        self._day = day
        self._site = site
        self._workspace = workspace
        self._answers: dict[Case, Answered] = {}
        self._rules: dict[Case, list[Rule]] = {}

    def see(self, case: Case, answered: Answered) -> None:
        """Note what came of a case."""
        self._answers[case] = answered

    def note(self, case: Case, rule: Rule) -> None:
        """Note whether a rule holds of it."""
        self._rules.setdefault(case, []).append(rule)

    def report(self) -> EvidenceReport:
        """Everything that a rule was tried out on."""
        return EvidenceReport(
            tool=patchkit.__version__,
            date=self._day,
            series=self._workspace.sources.series.digest,
            gpu=self._site.machine.gpu,
            gpus=self._site.machine.gpus,
            driver=self._site.machine.driver,
            torch=self._site.machine.torch,
            cases=tuple(self._case(case) for case in self._rules if case in self._answers),
        )

    def _case(self, case: Case) -> CaseReport:
        answered = self._answers[case]
        first = answered.answers[0] if answered.answers else {}
        library = given_library(self._site, case)
        process = first.get("process")
        return CaseReport(
            id=case.id,
            megatron=case.megatron,
            patched=case.patched,
            saver=case.saver,
            hook=case.hook,
            flags=case.flags,
            ranks=case.ranks,
            settings=settings_of(asdict(case), TOLD),
            expected=case.expected,
            rules=tuple(self._rules[case]),
            blobs=blobs(self._site.trees[case.megatron, case.patched], self._workspace),
            given={} if library is None else {library.name: sha256(content_of(library))},
            process=None if process is None else Process(**process),
            # Beside others on the device, neither bytes nor seconds are those of the case.
            figures=figures(first) if case.alone else {},
        )


def blobs(tree: Path, workspace: Workspace) -> dict[str, str | None]:
    """Git blob id of every file that the series touches on some target."""
    found: dict[str, str | None] = {}
    for path in touched_paths(workspace.sources.lock):
        file = tree / path
        found[path] = blob_id(file.read_bytes()) if file.is_file() else None
    return found


def figures(answer: Mapping[str, Any]) -> dict[str, float]:
    """Bytes and seconds of one rank: means over its pauses."""
    cycles = answer.get("cycles") or ()
    if not cycles:
        return {}

    def mean(value: Callable[[Mapping[str, Any]], float]) -> float:
        return round(sum(map(value, cycles)) / len(cycles), 4)

    found = {
        "parameters": float(answer["parameters"]),
        "pause seconds": mean(lambda cycle: cycle["pause seconds"]),
        "resume seconds": mean(lambda cycle: cycle["resume seconds"]),
        "device freed": mean(lambda cycle: cycle["before"]["device"] - cycle["paused"]["device"]),
        "host taken": mean(lambda cycle: cycle["paused"]["host"] - cycle["before"]["host"]),
    }
    if all(cycle["tracked"] for cycle in cycles):
        found["device predicted"] = mean(lambda cycle: cycle["tracked"]["device"])
        found["host predicted"] = mean(lambda cycle: cycle["tracked"]["host"])
    return found


def table(report: EvidenceReport) -> Iterator[str]:
    """The short table: how many cases of each kind are as they should be, then every one that is not."""
    groups: dict[tuple[str, ...], list[CaseReport]] = {}
    for case in report.cases:
        key: tuple[str, ...] = (case.megatron, case.saver or "-", case.hook, case.flags, str(case.ranks))
        groups.setdefault(key, []).append(case)
    yield f"{report.gpu}, driver {report.driver}, torch {report.torch}"
    for key, cases in sorted(groups.items()):
        good = sum(case.ok for case in cases)
        yield f"{key[0]:<8} {key[1]:<12} {key[2]:<8} {key[3]:<6} {key[4]} ranks: {good} of {len(cases)}"
    for case in report.cases:
        for rule in case.rules:
            if not rule.ok:
                yield f"RED {case.id}: {rule.name}: {rule.detail[:160]}"
