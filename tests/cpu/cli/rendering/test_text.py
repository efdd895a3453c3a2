from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from patchkit.cli.rendering.telling import is_quiet
from patchkit.cli.rendering.text import render_text
from patchkit.core.report import Problem
from patchkit.core.upstream_report import FoundRelease, PatchAnswer, TargetAnswer, UpstreamReport

from .golden import golden
from .reports import BUFFER, UNBROKEN, all_fine, everything, fine_target, hunk, report


def text(answer: UpstreamReport, *, width: int = 80) -> str:
    return render_text(answer, colour=False, width=width)


def test_everything_as_text() -> None:
    assert text(everything()) == golden("text")


@pytest.mark.parametrize(
    ("count", "expected"), [(25, "25 targets, 3 patches: fine\n"), (1, "1 target, 3 patches: fine\n")]
)
def test_when_all_is_fine_one_line_says_so(count: int, expected: str) -> None:
    assert text(all_fine(count)) == expected


def test_the_line_names_what_is_new_among_what_was_reported_before() -> None:
    old, *fresh = fine_target("main"), *(replace(fine_target(f"v0.{number}.0"), new=True) for number in range(9))
    assert text(report(old, fresh[0])) == "2 targets, 3 patches: fine (new: v0.0.0)\n"
    assert text(report(old, *fresh)) == (
        "10 targets, 3 patches: fine (new: v0.0.0, v0.1.0, v0.2.0, v0.3.0, v0.4.0, v0.5.0, v0.6.0, v0.7.0, 1 more)\n"
    )


def test_few_targets_that_are_all_there_is_are_named_and_many_are_not() -> None:
    fresh = [replace(fine_target(f"v0.{number}.0"), new=True) for number in range(9)]
    assert text(report(fresh[0], replace(fresh[1], title="a\x1bb"))) == "2 targets, 3 patches: fine (v0.0.0, a\\x1bb)\n"
    assert text(report(*fresh)) == "9 targets, 3 patches: fine\n"


def test_a_fine_target_with_something_to_do_keeps_its_line() -> None:
    carried = replace(fine_target("v0.20.0"), next="patchkit rebase --onto 0.20.0")

    assert text(report(fine_target(), carried)) == (
        "v0.20.0: next: patchkit rebase --onto 0.20.0\n2 targets, 3 patches: fine\n"
    )


def test_a_fine_patch_with_something_to_do_is_told_beside_the_others() -> None:
    (first, second, third) = fine_target().patches
    patches = (
        replace(first, state="look", verdict="review"),
        replace(second, next="this"),
        replace(third, next="that"),
    )

    assert text(report(replace(fine_target(), state="look", patches=patches, next="that"))).splitlines()[-6:] == [
        "  ! look  no-backup-grad-buffers  review; variant v0.19.0.patch",
        "    + fine: 2 of 2 hunks",
        "  no-backup-param-buffers: next: this",
        "  next: that",
        "",
        "look: 1 look",
    ]


def test_a_report_of_nothing_is_quiet_and_no_text() -> None:
    assert (is_quiet(report()), text(report())) == (True, "")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            replace(report(), found=(FoundRelease(version="1.0", where=("index",)),)),
            "patches/megatron: 0 targets, 0 patches\n\nnew release: 1.0 (index)\nfine\n",
        ),
        (
            replace(report(), problems=(Problem("it is gone"),), verdict="broken"),
            "patches/megatron: 0 targets, 0 patches\n\nproblem: it is gone\nbroken: it is gone\n",
        ),
        (
            replace(report(), notes=("the index was not asked",)),
            "patches/megatron: 0 targets, 0 patches\n\nnote: the index was not asked\nfine\n",
        ),
        (
            replace(report(), written=("a.yaml",)),
            "patches/megatron: 0 targets, 0 patches\n\nwritten: a.yaml\nfine\n",
        ),
    ],
    ids=["found", "problem", "note", "written"],
)
def test_whatever_there_is_to_say_is_said_without_a_target(answer: UpstreamReport, expected: str) -> None:
    assert (is_quiet(answer), text(answer)) == (False, expected)


def test_a_problem_of_a_fine_target_is_told() -> None:
    moved = replace(fine_target(), problems=(Problem("the tag moved"),))

    assert "  problem: the tag moved\n" in text(report(moved))


def test_lines_keep_to_the_width_except_for_what_is_never_cut() -> None:
    longer = [line.split() for line in text(everything()).splitlines() if len(line) > 80]

    # Where a hunk stands, and a signature without a blank in it.
    assert [line for line in longer if "->" not in line and len(line) > 1] == []


def test_paths_and_ids_are_whole_on_the_narrowest_terminal() -> None:
    narrow = text(everything(), width=1)

    assert [
        word
        for word in (f"{BUFFER}\n", "no-backup-param-buffers", "config-field", "data-in-region")
        if word not in narrow
    ] == []


def test_a_path_is_whole_however_long_it_is() -> None:
    (first, *_) = fine_target().patches
    odd = replace(first, state="look", hunks=(hunk("one", state="look", path=UNBROKEN + BUFFER),))

    assert f" {UNBROKEN}{BUFFER}\n" in text(report(replace(fine_target(), state="look", patches=(odd,))))


def test_patches_are_named_in_the_table_where_there_is_room_and_numbered_where_not() -> None:
    wide, narrow = text(everything(), width=120).splitlines(), text(everything()).splitlines()

    assert wide[1].split() == ["target", "no-backup-grad-buffers", "no-backup-param-buffers", "tms-hook-mode"]
    assert narrow[1:5] == [
        "1 no-backup-grad-buffers",
        "2 no-backup-param-buffers",
        "3 tms-hook-mode",
        "target                  1                    2                  3",
    ]


@pytest.mark.parametrize("answer", [everything(), all_fine(3)], ids=["everything", "fine"])
def test_colour_adds_nothing_but_colour(answer: UpstreamReport) -> None:
    coloured = render_text(answer, colour=True, width=80)
    plain = "".join(f"{line.rstrip()}\n" for line in re.sub(r"\x1b\[[\d;]*m", "", coloured).splitlines())

    assert (plain, "\x1b[3" in coloured, "\x1b" in text(answer)) == (text(answer), True, False)


@pytest.mark.parametrize("colour", [True, False])
def test_the_environment_has_no_say(monkeypatch: pytest.MonkeyPatch, *, colour: bool) -> None:
    expected = render_text(everything(), colour=colour, width=80)
    for name, value in {"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": "20", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)

    assert render_text(everything(), colour=colour, width=80) == expected


def test_what_upstream_says_never_begins_a_workflow_command() -> None:
    lines = text(everything(), width=40).splitlines()

    assert [line for line in lines if line.lstrip().startswith("::") or "##[" in line] == []


def test_where_words_are_too_wide_the_matrix_has_signs() -> None:
    patches = [PatchAnswer(name=f"patch-number-{number}", state="look", verdict="review") for number in range(12)]
    target = TargetAnswer(name="1.0", title="v1.0", kind="release", state="look", as_of="1.0", patches=(*patches,))
    lines = render_text(replace(report(target), verdict="look", ok=False), colour=False, width=80).splitlines()

    at = next(number for number, line in enumerate(lines) if line.startswith("target"))
    assert lines[at].split() == ["target", *map(str, range(1, 13))]
    assert lines[at + 1].split() == ["!", "v1.0", *["!"] * 12]
    assert max(map(len, lines[at : at + 2])) <= 80
