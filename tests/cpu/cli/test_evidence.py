"""`patchkit evidence`: what it prints of reports, and its exit codes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from patchkit.cli.evidence import known_libraries
from patchkit.core.evidence import CaseReport, EvidenceReport, Process, Rule, parse_evidence, print_evidence
from patchkit.operations.sources import load_workspace

from .conftest import Command

LOCK = load_workspace().sources.lock
TARGET = LOCK.targets["0.19.2"]
NAME = "torch_memory_saver_hook_mode_preload_cu13.abi3.so"


def library(release: str) -> dict[str, str]:
    """The library for CUDA 13 in the wheel of a release, by its digest."""
    found = [digest for digest, known in known_libraries().items() if known[0] == release and known[1].endswith(NAME)]
    return {NAME: found[0]}


def process(release: str) -> Process:
    return Process(python="3.12.3", torch="2.11.0", nccl="2.28.9", gpu="NVIDIA H200", libraries=library(release))


LARGE = CaseReport(
    id="0.19.2-preload-both-medium",
    megatron="0.19.2",
    patched=True,
    saver="0.0.10",
    hook="preload",
    flags="both",
    ranks=1,
    settings={"size": "medium"},
    expected="works",
    rules=(Rule("three cycles change no bit", ok=True),),
    blobs={path: TARGET.chain(path)[-1] for path in TARGET.paths},
    given={},
    process=process("0.0.10"),
    figures={
        "pause seconds": 0.251,
        "resume seconds": 0.1,
        "device freed": 1 << 30,
        "device predicted": 1 << 30,
        "host taken": 3 << 20,
        "host predicted": 2 << 20,
    },
)
SMALL = msgspec.structs.replace(LARGE, id="0.19.2-preload-both", settings={"size": "small"})
DEFECT = msgspec.structs.replace(
    LARGE,
    id="0.19.2-preload-0.0.9.post1",
    saver="0.0.9.post1",
    flags="off",
    expected="double-release",
    process=None,
    given=library("0.0.9.post1"),
    figures={},
)
REPORT = EvidenceReport(
    tool="0.1.0",
    date="2026-11-30",
    series=LOCK.series,
    gpu="NVIDIA H200",
    gpus=1,
    driver="580.159.04",
    torch="2.11.0+cu130",
    cases=(LARGE, SMALL, DEFECT),
)
MACHINE = f"NVIDIA H200, driver 580.159.04, torch 2.11.0+cu130, 2026-11-30, series {LOCK.series[7:19]}"


def written(folder: Path, *cases: CaseReport) -> Path:
    """A report with these cases."""
    file = folder / "report.json"
    file.write_bytes(print_evidence(msgspec.structs.replace(REPORT, cases=cases)))
    return file


def test_good_reports_are_a_matrix_and_figures(patchkit: Command, tmp_path: Path) -> None:
    file = written(tmp_path, *REPORT.cases)
    ran = patchkit("evidence", file)

    assert ran.out == (
        f"{file}: {MACHINE}\n"
        "  megatron-core  torch_memory_saver  hook     flags  ranks  as it should be\n"
        "  0.19.2         0.0.10              preload  both   1      2 of 2\n"
        "  0.19.2         0.0.9.post1         preload  off    1      1 of 1\n"
        "  case                        pause s  resume s  device freed  predicted   host taken  predicted\n"
        "  0.19.2-preload-both-medium  0.25     0.10      1024.0 MiB    1024.0 MiB  3.0 MiB     2.0 MiB\n"
        "3 cases: 2 verified, 1 reproduced\n"
    )
    assert (ran.code, ran.err) == (0, "")


def test_the_same_for_a_document(patchkit: Command, tmp_path: Path) -> None:
    ran = patchkit("evidence", "--format", "markdown", written(tmp_path, SMALL))

    assert ran.out == (
        f"\n## report.json\n\n{MACHINE}.\n\n"
        "| megatron-core | torch_memory_saver | hook | flags | ranks | as it should be |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        "| 0.19.2 | 0.0.10 | preload | both | 1 | 1 of 1 |\n"
        "\n1 cases: 1 verified\n"
    )


def test_a_case_of_another_build_is_not_verified_and_that_is_the_exit_code(patchkit: Command, tmp_path: Path) -> None:
    other = msgspec.structs.replace(SMALL, process=process("0.0.9.post1"))
    ran = patchkit("evidence", written(tmp_path, other, SMALL))
    digest = library("0.0.9.post1")[NAME][:12]

    assert ran.out.splitlines()[2:] == [
        "  0.19.2         0.0.10              preload  both   1      1 of 2",
        f"  0.19.2-preload-both: not verified: {NAME} ({digest}) is of 0.0.9.post1, not 0.0.10",
        "2 cases: 1 verified, 1 not verified; this does not verify the series",
    ]
    assert ran.code == 1


def test_a_case_of_another_series_is_not_verified(patchkit: Command, tmp_path: Path) -> None:
    path = TARGET.paths[0]
    other = msgspec.structs.replace(SMALL, blobs={**SMALL.blobs, path: "0" * 40})
    ran = patchkit("evidence", "--format", "json", written(tmp_path, other))
    reason = f"{path} was 000000000000, the patched text is {str(TARGET.chain(path)[-1])[:12]}"

    found = json.loads(ran.out)
    assert found["reports"][0]["cases"][0]["reasons"] == [reason]
    assert (found["ok"], found["reports"][0]["ok"], ran.code) == (False, False, 1)


def test_a_report_without_cases_verifies_nothing(patchkit: Command, tmp_path: Path) -> None:
    ran = patchkit("evidence", written(tmp_path))

    assert (ran.out.splitlines()[-1], ran.code) == ("0 cases: none; this does not verify the series", 1)


@pytest.mark.parametrize(("content", "said"), [(b"{}", "not a report of the GPU tests"), (None, "cannot read")])
def test_what_is_no_report_is_an_error(patchkit: Command, tmp_path: Path, content: bytes | None, said: str) -> None:
    file = tmp_path / "report.json"
    if content is not None:
        file.write_bytes(content)
    ran = patchkit("evidence", file)

    assert said in ran.err
    assert str(file) in ran.err
    assert (ran.out, ran.code) == ("", 4)


EVIDENCE = Path(__file__).parents[3] / "docs" / "evidence"


def test_the_reports_of_this_project_are_about_the_series_as_it_is(patchkit: Command) -> None:
    ran = patchkit("evidence", "--format", "markdown", *sorted(EVIDENCE.glob("*.json")))
    title, _, shown = (EVIDENCE / "README.md").read_text(encoding="utf-8").partition("\n")

    assert title == "# What GPUs have shown"
    assert shown == ran.out
    assert ran.code == 0


COLUMNS = [("none", "off"), *((hook, flags) for hook in ("preload", "torch") for flags in ("off", "grads", "both"))]
AT_THE_ENDS = ("restore_main", "restore_none", "retain", "checkpoint")


def cases_by_release() -> dict[str, list[CaseReport]]:
    found: dict[str, list[CaseReport]] = {}
    for path in EVIDENCE.glob("*.json"):
        for case in parse_evidence(path.read_bytes(), path.name).cases:
            found.setdefault(case.megatron, []).append(case)
    return dict(sorted(found.items()))


def test_the_matrix_on_the_page_is_that_of_the_reports_and_has_no_empty_cell() -> None:
    page = (EVIDENCE.parent / "evidence.md").read_text(encoding="utf-8")
    shown = page.partition("| megatron-core | without TMS |")[2].partition("\n\n")[0].splitlines()[2:]
    rows = []
    for release, cases in cases_by_release().items():
        counted = Counter((case.hook, case.flags, case.ranks) for case in cases)
        assert {key[:2] for key in counted} == set(COLUMNS)
        cells = [tuple(counted[hook, flags, ranks] for ranks in (1, 2)) for hook, flags in COLUMNS]
        assert all(all(cell) for cell in cells)
        rows.append(f"| {release} | {' | '.join(f'{one} + {two}' for one, two in cells)} |")

    assert shown == rows


def test_what_is_tried_at_the_ends_of_a_run_has_the_releases_that_the_page_names() -> None:
    def releases(word: str, ranks: int) -> list[str]:
        found = cases_by_release().items()
        return [release for release, cases in found if any(word in each.id and each.ranks == ranks for each in cases)]

    six = ["0.12.3", "0.13.1", "0.14.0", "0.15.3", "0.18.2", "0.19.2"]
    assert {word: releases(word, 1) for word in AT_THE_ENDS} == dict.fromkeys(AT_THE_ENDS, six)
    four = ["0.12.3", "0.14.0", "0.18.2", "0.19.2"]
    assert {word: releases(word, 2) for word in AT_THE_ENDS} == dict.fromkeys(AT_THE_ENDS, four)
    assert [releases("open_step", ranks) for ranks in (1, 2)] == [six, ["0.14.0", "0.19.2"]]
