from __future__ import annotations

import json
from pathlib import Path

import pytest
from operations.history_world import BLUE, HEADED, SPARE, There, text
from trees.snapshots import snapshot

from .conftest import Command

EVIL = "Paint it \x1b[31mred <b>&\x07 (#3)"


@pytest.fixture
def there(tmp_path: Path) -> There:
    made = There(tmp_path)
    side = made.clone.commit(EVIL, text(notes=BLUE), made.base)
    ours = made.clone.commit("Check sizes (#2)", text(SPARE, HEADED), made.base)
    tip = made.clone.commit("[dev] pull main", text(SPARE, BLUE), ours, side)
    made.clone.name("heads/main", tip)
    return made


@pytest.fixture
def history(patchkit: Command, monkeypatch: pytest.MonkeyPatch, there: There) -> Command:
    """Run ``patchkit history`` on the series and the clone."""
    monkeypatch.setenv("PATCHKIT_CACHE", str(there.world.cache))
    common = ("--patches", there.world.series, "--git", there.clone.folder)
    return lambda *arguments: patchkit("history", *common, *arguments)


def test_the_text_has_a_strip_for_each_hunk_and_what_broke_it(history: Command, there: There) -> None:
    ran = history("--range", "core_v1.0..main")
    ids = [there.clone._git("rev-parse", revision)[:10] for revision in ("core_v1.0", "main", "main^1", "main^2")]
    base, tip, ours, side = ids

    assert ran.code == 0
    assert ran.out.splitlines() == [
        f"{there.world.series}: core_v1.0..main, carried from 1.0 (its texts are those at the beginning)",
        "3 commits, 2 on the line; 3 touch the files of the series; 5 texts, 5 carried now",
        f"                    2026-01-03 {base} to 2026-01-06 {tip}",
        "  first",
        "    megatron/core/buffer.py",
        "      grads-region  egg  merged",
        "    megatron/core/notes.md",
        "      notes-colour  egC  conflict",
        "                    both sides changed these lines, or lines side by side",
        f"                    conflict since 2026-01-06 {tip} [dev] pull main",
        rf"                    brought by 2026-01-04 {side} Paint it \x1b[31mred <b>&\x07 (#3)",
        "  second",
        "    megatron/core/buffer.py",
        "      reload-mark   eee  exact",
        "    megatron/core/notes.md",
        "      notes-end     eme  exact",
        "e exact  m moved  g merged  r restructured  u upstreamed  v superseded  O obsolete  C conflict  A alarm",
        "what changed on the line:",
        f"  2026-01-05 {ours} Check sizes (#2)",
        "    e>g  grads-region, notes-colour",
        "    e>m  notes-end",
        f"  2026-01-06 {tip} [dev] pull main",
        "    g>C  notes-colour",
        "    m>e  notes-end",
        "broken: 1 of 4 hunks bad at the end",
    ]


def test_the_json_is_the_report(history: Command) -> None:
    ran = history("--range", "core_v1.0..main", "--format", "json")
    told = json.loads(ran.out)
    colour = next(hunk for hunk in told["hunks"] if hunk["id"] == "notes-colour")

    assert (ran.code, ran.err) == (0, "")
    assert (told["schema"], told["command"], told["ok"], told["verdict"]) == (1, "history", True, "broken")
    assert colour["first-bad"]["at"]["subject"] == "[dev] pull main"
    assert [(place["pull-request"], place["merge"]) for place in colour["first-bad"]["within"]] == [(3, False)]
    assert [(span["first"], span["end"], span["state"]["shown"]) for span in colour["spans"]] == [
        (0, 1, "exact"),
        (1, 2, "merged"),
        (2, 3, "conflict"),
    ]
    assert [commit["states"] for commit in told["commits"] if not commit["on-line"]] == [
        {"first/notes-colour": "conflict", "second/notes-end": "exact"}
    ]


def test_the_picture_may_be_printed_or_written_beside_another_form(history: Command, tmp_path: Path) -> None:
    printed = history("--range", "core_v1.0..main", "--format", "svg")
    beside = history("--range", "core_v1.0..main", "--svg", tmp_path / "line.svg")

    assert (printed.code, beside.code) == (0, 0)
    assert beside.out.splitlines()[-1] == "broken: 1 of 4 hunks bad at the end"
    assert (tmp_path / "line.svg").read_text() == printed.out
    assert printed.out.startswith("<svg ")


def test_of_named_patches_alone_the_hunks_are_told_on_what_those_before_them_leave(history: Command) -> None:
    whole = json.loads(history("--range", "core_v1.0..main", "--format", "json").out)
    ran = history("second", "--range", "core_v1.0..main", "--format", "json")
    told = json.loads(ran.out)

    assert (ran.code, told["patches"], told["verdict"], whole["patches"]) == (0, ["second"], "whole", [])
    assert told["hunks"] == [hunk for hunk in whole["hunks"] if hunk["patch"] == "second"]
    assert [commit["states"] for commit in told["commits"]] == [
        {name: state for name, state in commit["states"].items() if name.startswith("second/")}
        for commit in whole["commits"]
    ]
    assert told["counts"]["carried"] == 0  # one file's patches are carried together, and this one was


def test_named_patches_stand_in_the_text_and_are_counted(history: Command, there: There) -> None:
    ran = history("second", "--all")

    assert ran.code == 0
    assert ran.out.splitlines()[:2] == [
        f"{there.world.series} (second): every branch and tag, carried from 1.0 (its texts are those at the beginning)",
        "4 commits; 3 touch their files; 5 texts, 5 carried now",
    ]
    assert ran.out.splitlines()[-1] == "whole: 0 of 2 hunks bad on some text"


def test_over_all_branches_and_tags_states_are_counted(history: Command) -> None:
    ran = history("--all")

    assert ran.code == 0
    assert ran.out.splitlines()[1] == "4 commits; 3 touch the files of the series; 5 texts, 5 carried now"
    assert "      notes-colour  1 exact, 1 conflict, 1 merged" in ran.out.splitlines()
    assert ran.out.splitlines()[-1] == "broken: 1 of 4 hunks bad on some text"


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--range", "main"], 2, "'main' is no range"),
        (["--range", "main..core_v1.0"], 2, "main..core_v1.0 holds no commit"),
        (["--range", "nowhere..main"], 4, "has no revision 'nowhere'"),
        (["--from", "nowhere", "--range", "core_v1.0..main"], 2, "unknown release 'nowhere'"),
        (["--all", "--range", "core_v1.0..main"], 2, "it takes no --range"),
        (["--all", "--format", "svg"], 2, "there is no timeline"),
        (["--index"], 2, "--git and --index exclude each other"),
        (["third", "--range", "core_v1.0..main"], 2, "the series has no patch 'third'"),
    ],
)
def test_refusals_have_their_exit_codes(history: Command, arguments: list[str], code: int, told: str) -> None:
    ran = history(*arguments)

    assert ran.code == code
    assert told in ran.err


def test_without_a_clone_or_the_index_there_is_nothing_to_look_at(patchkit: Command) -> None:
    ran = patchkit("history")

    assert (ran.code, "a history of what?" in ran.err) == (2, True)


def test_a_clone_is_not_written_to(history: Command, there: There) -> None:
    before = snapshot(there.clone.folder)
    history("--range", "core_v1.0..main")
    history("--all")

    assert snapshot(there.clone.folder) == before


def test_a_picture_that_cannot_be_written_ends_with_4(history: Command, tmp_path: Path) -> None:
    ran = history("--range", "core_v1.0..main", "--svg", tmp_path / "no" / "line.svg")

    assert (ran.code, ran.out) == (4, "")
