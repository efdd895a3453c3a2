"""What a case shows: only what really ran counts, and only for what it claims to be about."""

from __future__ import annotations

from typing import Any

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest

from patchkit.core.evidence import (
    CaseReport,
    EvidenceReport,
    Process,
    Rule,
    Standing,
    judge_evidence,
    parse_evidence,
    print_evidence,
)
from patchkit.core.series import BlobPair, LockDocument, PatchLock, TargetLock
from patchkit.errors import TreeError
from patchkit.store.schemas import schema_texts

RELEASED, BETWEEN, PATCHED, OTHER = ("1" * 40, "2" * 40, "3" * 40, "4" * 40)
FILE, TRAINING = "megatron/core/a.py", "megatron/training/b.py"
NEW, OLD, STRANGE = ("a" * 64, "b" * 64, "c" * 64)
LIBRARY = "torch_memory_saver_hook_mode_preload_cu13.abi3.so"
LIBRARIES = {NEW: ("0.0.10", LIBRARY), OLD: ("0.0.9.post1", LIBRARY)}


def patch(files: dict[str, tuple[str, str]]) -> PatchLock:
    return PatchLock(
        variant="v.patch",
        text="sha256:" + "0" * 64,
        files={path: BlobPair(before=before, after=after) for path, (before, after) in files.items()},
    )


LOCK = LockDocument(
    schema=1,
    series="sha256:" + "0" * 64,
    patches={},
    targets={
        "0.19.2": TargetLock(
            generated="sha256:" + "0" * 64,
            patches={
                "one": patch({FILE: (RELEASED, BETWEEN)}),
                "two": patch({FILE: (BETWEEN, PATCHED), TRAINING: (RELEASED, PATCHED)}),
            },
        )
    },
)


def process(**libraries: str) -> Process:
    return Process(python="3.12.3", torch="2.11.0", nccl="2.28", gpu="GPU", libraries=libraries)


CASE = CaseReport(
    id="case",
    megatron="0.19.2",
    patched=True,
    saver="0.0.10",
    hook="preload",
    flags="both",
    ranks=1,
    settings={"size": "small", "sharded": True},
    expected="works",
    rules=(Rule("three cycles change no bit", ok=True),),
    blobs={FILE: PATCHED, TRAINING: PATCHED},
    given={LIBRARY: NEW},
    process=process(**{LIBRARY: NEW}),
    figures={"pause seconds": 0.2},
)
REPORT = EvidenceReport(
    tool="0.1.0",
    date="2026-11-30",
    series="sha256:" + "0" * 64,
    gpu="GPU",
    gpus=1,
    driver="1",
    torch="2.11.0",
    cases=(CASE,),
)


def judged(**changes: Any) -> tuple[Standing, tuple[str, ...]]:
    case = msgspec.structs.replace(CASE, **changes)
    found = judge_evidence(msgspec.structs.replace(REPORT, cases=(case,)), LOCK, LIBRARIES)[0]
    assert found.good is (found.standing in (Standing.VERIFIED, Standing.REPRODUCED))
    return found.standing, found.reasons


GOOD: dict[str, dict[str, Any]] = {
    "patched": {},
    "as released": {"patched": False, "blobs": {FILE: RELEASED, TRAINING: RELEASED}},
    "a wheel without megatron.training": {"blobs": {FILE: PATCHED, TRAINING: None}},
    "a file that this release does not have": {"blobs": {FILE: PATCHED, TRAINING: PATCHED, "megatron/core/c.py": None}},
    "without torch_memory_saver": {"saver": None, "hook": "none", "process": process(), "given": {}},
    "a defect that the process outlived": {
        "saver": "0.0.9.post1",
        "expected": "nested-region-assert",
        "process": process(**{LIBRARY: OLD}),
    },
    "a defect that ended the process": {
        "saver": "0.0.9.post1",
        "expected": "double-release",
        "process": None,
        "given": {LIBRARY: OLD},
    },
}


@pytest.mark.parametrize("name", GOOD)
def test_what_ran_is_what_it_claims_to_be_about(name: str) -> None:
    defect = GOOD[name].get("expected", "works") != "works"

    assert judged(**GOOD[name]) == (Standing.REPRODUCED if defect else Standing.VERIFIED, ())


UNVERIFIED: dict[str, tuple[dict[str, Any], str]] = {
    "text of an older series": (
        {"blobs": {FILE: BETWEEN, TRAINING: PATCHED}},
        f"{FILE} was 222222222222, the patched text is 333333333333",
    ),
    "a tree that was never patched": (
        {"blobs": {FILE: PATCHED, TRAINING: RELEASED}},
        f"{TRAINING} was 111111111111, the patched text is 333333333333",
    ),
    "a tree that should not be patched": (
        {"patched": False, "blobs": {FILE: PATCHED, TRAINING: RELEASED}},
        f"{FILE} was 333333333333, the released text is 111111111111",
    ),
    "a file that is not there": (
        {"blobs": {FILE: None, TRAINING: PATCHED}},
        f"{FILE} was not there, the patched text is 333333333333",
    ),
    "a file that nobody looked at": (
        {"blobs": {FILE: PATCHED}},
        f"{TRAINING} was not there, the patched text is 333333333333",
    ),
    "a release that the series has no text for": (
        {"megatron": "0.1.0"},
        "the series is not made for megatron-core 0.1.0",
    ),
    "another release of torch_memory_saver": (
        {"process": process(**{LIBRARY: OLD})},
        f"{LIBRARY} (bbbbbbbbbbbb) is of 0.0.9.post1, not 0.0.10",
    ),
    "a build of nobody knows what": (
        {"process": process(**{LIBRARY: STRANGE})},
        f"{LIBRARY} (cccccccccccc) is of no release on the index, so not known to be 0.0.10",
    ),
    "no library at all": (
        {"process": process()},
        "no library of torch_memory_saver for hook mode preload was in the process",
    ),
    "the library of the other hook mode": (
        {"hook": "torch"},
        "no library of torch_memory_saver for hook mode torch was in the process",
    ),
    "a library where there should be none": (
        {"saver": None, "hook": "none"},
        f"{LIBRARY} was in the process, which should have had none",
    ),
    "a process that left nothing and should have worked": (
        {"process": None},
        "its process left nothing to look at",
    ),
    "a process without a GPU": (
        {"process": msgspec.structs.replace(process(**{LIBRARY: NEW}), gpu=None)},
        "there was no GPU in its process",
    ),
    "a defect of a build that does not have it": (
        {"saver": "0.0.9.post1", "expected": "double-release", "process": None},
        f"{LIBRARY} (aaaaaaaaaaaa) is of 0.0.10, not 0.0.9.post1",
    ),
}


@pytest.mark.parametrize("name", UNVERIFIED)
def test_nothing_is_verified_when_something_else_ran(name: str) -> None:
    changes, reason = UNVERIFIED[name]

    assert judged(**changes) == (Standing.UNVERIFIED, (reason,))


def test_a_rule_that_does_not_hold_fails_the_case_whatever_ran() -> None:
    rules = (Rule("one", ok=True), Rule("two", ok=False, detail="rank 0, step 1: losses"), Rule("three", ok=False))

    assert judged(rules=rules) == (Standing.FAILED, ("two: rank 0, step 1: losses", "three: does not hold"))
    assert judged(rules=rules[1:2], megatron="0.1.0")[1] == (
        "two: rank 0, step 1: losses",
        "the series is not made for megatron-core 0.1.0",
    )


def test_a_case_that_no_rule_was_tried_out_on_shows_nothing() -> None:
    assert judged(rules=()) == (Standing.FAILED, ("no rule was tried out on it",))


def test_a_report_is_read_as_it_was_written() -> None:
    assert parse_evidence(print_evidence(REPORT), "report.json") == REPORT


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (b'"schema": 1', b'"schema": 2', "report.json: not a report of the GPU tests: Expected `int` <= 1"),
        (b'"ranks": 1', b'"ranks": 0', "report.json: not a report of the GPU tests: Expected `int` >= 1"),
        (b'"hook"', b'"hooks"', "report.json: not a report of the GPU tests: Object contains unknown field `hooks`"),
        (b"{", b"", "report.json: not a report of the GPU tests: "),
        (b"GPU", b"\xff", "report.json: not a report of the GPU tests: "),
    ],
)
def test_what_is_no_report_is_refused_by_file_and_key(before: bytes, after: bytes, said: str) -> None:
    with pytest.raises(TreeError) as caught:
        parse_evidence(print_evidence(REPORT).replace(before, after, 1), "report.json")

    assert caught.value.message.startswith(said)


def test_the_shipped_schema_takes_what_is_written() -> None:
    schema = msgspec.json.decode(schema_texts()["evidence_report.schema.json"])

    jsonschema.Draft202012Validator(schema).validate(msgspec.json.decode(print_evidence(REPORT)))
