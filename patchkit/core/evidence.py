"""What was tried out on a machine with a GPU, and whether that says something about the series of today.

A report ties every result to what really ran: the texts of Megatron by blob id, and the libraries of torch_memory_saver
in the process by digest. A result counts only when both are what it claims to be about.
"""

# No postponed annotations here: msgspec would compile each one again at every start.
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from patchkit.core.series import LockDocument
from patchkit.errors import TreeError

EVIDENCE_SCHEMA = 1
WORKS = "works"
"""What is expected of a case that shows no defect."""


class Part(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """Base of the parts of a report."""


class Rule(Part, frozen=True):
    """One rule that was tried out on a case."""

    name: str
    ok: bool
    detail: str = ""
    """Why not."""


class Process(Part, frozen=True):
    """What really ran, as its first rank saw it."""

    python: str
    torch: str
    nccl: str | None
    gpu: str | None
    libraries: dict[str, str]
    """SHA-256 by name of the libraries of torch_memory_saver that were in its memory."""


class CaseReport(Part, frozen=True, kw_only=True):
    """One case."""

    id: str
    megatron: str
    """The release that it is about."""
    patched: bool
    saver: str | None
    """The release of torch_memory_saver that it is about; None without."""
    hook: str
    """preload, torch or none."""
    flags: str
    """off, grads or both."""
    ranks: Annotated[int, Meta(ge=1)]
    settings: dict[str, str | bool]
    """Everything else that was chosen."""
    expected: str
    """``works``, or the id of the defect that ends it."""
    rules: tuple[Rule, ...]
    blobs: dict[str, str | None]
    """Git blob id of every file that the series touches, as it lay in the tree; None where there was none."""
    given: dict[str, str]
    """SHA-256 by name of the library of torch_memory_saver that its process was given for its hook mode."""
    process: Process | None
    """None when it died."""
    figures: dict[str, float]
    """Bytes and seconds."""

    @property
    def ok(self) -> bool:
        """Whether every rule holds; a case without rules shows nothing."""
        return bool(self.rules) and all(rule.ok for rule in self.rules)


class EvidenceReport(Part, frozen=True, kw_only=True):
    """Everything that was tried out in one go."""

    schema: Annotated[int, Meta(ge=EVIDENCE_SCHEMA, le=EVIDENCE_SCHEMA)] = EVIDENCE_SCHEMA
    tool: str
    """patchkit's version."""
    date: str
    """The UTC day."""
    series: str
    """Digest of the series."""
    gpu: str
    gpus: int
    driver: str
    torch: str
    cases: tuple[CaseReport, ...]


def parse_evidence(content: bytes, where: str) -> EvidenceReport:
    """Parse a report. Raises TreeError that names the file and the key."""
    try:
        return msgspec.json.decode(content, type=EvidenceReport)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TreeError(f"{where}: not a report of the GPU tests: {error}") from error


def print_evidence(report: EvidenceReport) -> bytes:
    """Print a report; the same value always gives the same bytes."""
    return msgspec.json.format(msgspec.json.encode(report, order="sorted"), indent=1) + b"\n"


class Standing(str, Enum):
    """What a case shows."""

    VERIFIED = "verified"
    """It holds, of what it claims to be about."""
    REPRODUCED = "reproduced"
    """It shows the defect that it was made to show."""
    FAILED = "failed"
    UNVERIFIED = "not verified"
    """It may hold, but something else ran."""


class Judged(msgspec.Struct, frozen=True):
    """A case, and what it shows."""

    case: CaseReport
    standing: Standing
    reasons: tuple[str, ...]
    """Why it is not verified, or what does not hold."""

    @property
    def good(self) -> bool:
        """Whether it is as it should be."""
        return self.standing in (Standing.VERIFIED, Standing.REPRODUCED)


def judge_evidence(
    report: EvidenceReport, lock: LockDocument, libraries: Mapping[str, tuple[str, str]]
) -> tuple[Judged, ...]:
    """Say what each case shows of the series in ``lock``.

    ``libraries`` has, by SHA-256, the release of torch_memory_saver that a library is of, and its name there.
    """
    return tuple(_judged(case, lock, libraries) for case in report.cases)


def _judged(case: CaseReport, lock: LockDocument, libraries: Mapping[str, tuple[str, str]]) -> Judged:
    failed = tuple(f"{rule.name}: {rule.detail or 'does not hold'}" for rule in case.rules if not rule.ok)
    others = (*_other_megatron(case, lock), *_other_machine(case), *_other_saver(case, libraries))
    if not case.rules:
        failed = ("no rule was tried out on it",)
    if failed:
        return Judged(case, Standing.FAILED, (*failed, *others))
    if others:
        return Judged(case, Standing.UNVERIFIED, others)
    return Judged(case, Standing.VERIFIED if case.expected == WORKS else Standing.REPRODUCED, ())


def _other_megatron(case: CaseReport, lock: LockDocument) -> Iterator[str]:
    """Yield what of Megatron's text is not that of the release, with or without the series of today."""
    target = lock.targets.get(case.megatron)
    if target is None:
        yield f"the series is not made for megatron-core {case.megatron}"
        return
    for path in target.paths:
        chain = target.chain(path)
        wanted = chain[-1] if case.patched else chain[0]
        if path in case.blobs and case.blobs[path] is None and path.startswith(_OPTIONAL):
            continue
        found = case.blobs.get(path)
        if found != wanted:
            state = "patched" if case.patched else "released"
            yield f"{path} was {_short(found)}, the {state} text is {_short(wanted)}"


_OPTIONAL = ("megatron/training/",)
"""What the wheels of some releases leave out."""


def _other_machine(case: CaseReport) -> Iterator[str]:
    """Yield why nobody knows that the case ran to its end, on a GPU."""
    if case.process is None and case.expected == WORKS:
        yield "its process left nothing to look at"
    if case.process is not None and case.process.gpu is None:
        yield "there was no GPU in its process"


def _other_saver(case: CaseReport, libraries: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """Yield what was in the process that is not of the release of torch_memory_saver that the case is about."""
    # A defect that ends the process leaves nothing to look at but what it was started with.
    loaded = case.given if case.process is None else case.process.libraries
    if case.saver is None:
        yield from (f"{name} was in the process, which should have had none" for name in loaded)
        return
    if not any(f"hook_mode_{case.hook}" in name for name in loaded):
        yield f"no library of torch_memory_saver for hook mode {case.hook} was in the process"
    for name, digest in loaded.items():
        release, _ = libraries.get(digest, (None, name))
        if release is None:
            yield f"{name} ({digest[:12]}) is of no release on the index, so not known to be {case.saver}"
        elif release != case.saver:
            yield f"{name} ({digest[:12]}) is of {release}, not {case.saver}"


def _short(blob: str | None) -> str:
    return "not there" if blob is None else blob[:12]


def settings_of(fields: Mapping[str, Any], told: frozenset[str]) -> dict[str, str | bool]:
    """Return the fields of a case that a report has no place of its own for, as text or truth."""
    return {
        name: value if isinstance(value, bool) else str(value) for name, value in fields.items() if name not in told
    }
