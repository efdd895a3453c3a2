from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from patchkit.cli.rendering.github import render_github
from patchkit.cli.rendering.places import places_of
from patchkit.core.report import Problem
from patchkit.core.upstream_report import State, UpstreamReport

from .golden import golden
from .reports import BUFFER, CONFIG, HOSTILE, all_fine, everything, fine_target, many_hunks, report


def rendered(answer: UpstreamReport, folder: str = "patches/megatron") -> str:
    return render_github(answer, places_of(answer, folder))


def command(line: str) -> tuple[str, dict[str, str], str] | None:
    """Name, properties and message of a command, read as the runner does (ActionCommand.TryParseV2)."""
    if not line.lstrip().startswith("::"):
        return None
    head, _, message = line.lstrip()[2:].partition("::")
    name, _, given = head.partition(" ")
    properties = dict(each.split("=", 1) for each in given.split(",") if each)
    return name, {key: unescaped(value, ":,") for key, value in properties.items()}, unescaped(message)


def unescaped(text: str, more: str = "") -> str:
    for character in ["\r", "\n", *more, "%"]:
        text = text.replace(f"%{ord(character):02X}", character)
    return text


def commands(answer: UpstreamReport) -> list[tuple[str, dict[str, str], str]]:
    return [found for found in map(command, rendered(answer).splitlines()) if found]


def test_everything_as_annotations() -> None:
    assert rendered(everything()) == golden("github")


def test_the_gravest_come_first_and_upstream_before_targets_patches_and_hunks() -> None:
    assert [(name, properties["title"]) for name, properties, _ in commands(everything())] == [
        ("error", "upstream"),
        ("error", "upstream"),
        ("error", "v0.17.1: broken"),
        ("error", "v0.20.0: no-backup-param-buffers (provisional): check data-in-region"),
        ("error", "v0.20.0: no-backup-grad-buffers/grad-data: conflict"),
        ("warning", "main: no-backup-grad-buffers: review"),
        ("warning", "v0.21.0rc1: no-backup-param-buffers: review"),
        ("warning", "main: no-backup-grad-buffers/config-field: upstreamed"),
        ("warning", "main: no-backup-grad-buffers/grad-data: restructured"),
        ("warning", "v0.21.0rc1: no-backup-param-buffers/param-data: exact"),
        ("notice", "new release"),
        ("notice", "new release"),
        ("notice", "note"),
        ("notice", "note"),
        ("notice", "dev: unreachable"),
        ("notice", "v0.19.3: fine"),
    ]


REST = """\
review: upstreamed: the variant would not have it
drop when: The release has a field of this name with default False.
next: decide whether the hunk can go"""


def test_a_message_has_a_line_for_each_sentence_and_the_place_of_the_hunk() -> None:
    answer = everything()
    lines = {"no-backup-grad-buffers/patch.yaml": {"hunks/config-field": 17}}
    text = render_github(answer, places_of(answer, "patches/megatron", lines))
    (found,) = [each for each in map(command, text.splitlines()) if each and "config-field" in each[1]["title"]]

    assert found == (
        "warning",
        {
            "file": "patches/megatron/no-backup-grad-buffers/patch.yaml",
            "line": "17",
            "title": "main: no-backup-grad-buffers/config-field: upstreamed",
        },
        f"place: {CONFIG} DistributedDataParallelConfig:40-44\n{REST}",
    )


def test_properties_are_escaped_more_than_messages() -> None:
    (line,) = rendered(many_hunks(["broken"], 1, "50%: a, b"), "a,b: c%\x1b").splitlines()

    assert line == (
        "::error file=a%2Cb%3A c%25\\x1b/grads/patch.yaml,line=1,title=v1.0.0%3A grads/hunk-0%3A conflict::"
        f"place: {BUFFER} nowhere%0Areason: 50%25: a, b"
    )


def test_a_command_in_a_message_a_title_or_the_name_of_a_folder_is_defused() -> None:
    said = many_hunks(["broken"], 1, "a ##[error]b ::error::c")
    (line,) = rendered(said, "x##[y").splitlines()

    reason = "reason: a ## [error]b : :error::c"
    title = "v1.0.0%3A grads/hunk-0%3A conflict"
    assert line == f"::error title={title}::place: {BUFFER} nowhere%0A{reason}"
    named = replace(report(fine_target(title="a##[b")), verdict="fine")
    assert [each for each in rendered(named).splitlines() if "##[" in each] == []


def test_what_is_fine_has_no_annotation() -> None:
    assert rendered(all_fine(3)) == ""


def test_a_problem_of_a_fine_target_is_a_warning() -> None:
    moved = replace(fine_target(), problems=(Problem("the tag moved"),))

    assert [(name, message) for name, _, message in commands(report(moved))] == [("warning", "problem: the tag moved")]


def test_a_series_outside_of_the_repository_has_no_file() -> None:
    found = map(command, rendered(everything(), "/elsewhere/megatron").splitlines())

    assert {tuple(each[1]) for each in found if each} == {("title",)}


@pytest.mark.parametrize(
    ("states", "count", "shown", "last"),
    [
        (["broken"], 10, {"error": 10}, None),
        (["broken"], 11, {"error": 10, "notice": 1}, "1 error more: see the lines above this one"),
        (
            ["broken", "look"],
            30,
            {"error": 10, "warning": 10, "notice": 1},
            "20 errors, 20 warnings more: see the lines above this one",
        ),
    ],
)
def test_no_more_than_github_shows_are_annotations_and_the_rest_is_counted_and_printed(
    states: list[State], count: int, shown: dict[str, int], last: str | None
) -> None:
    answer = many_hunks(states, count, HOSTILE)
    found = commands(answer)
    plain = [line for line in rendered(answer).splitlines() if command(line) is None]

    assert Counter(name for name, _, _ in found) == shown
    assert [line for line in plain if "##[" in line] == []
    assert len(plain) == len(states) * count - sum(number for name, number in shown.items() if name != "notice")
    assert (found[-1][2] if last else None) == last


def test_notices_leave_room_for_the_last_one() -> None:
    answer = replace(report(), notes=tuple(f"note {number}" for number in range(20)))
    found = commands(answer)

    assert [name for name, _, _ in found] == ["notice"] * 10
    assert found[-1][2] == "11 notices more: see the lines above this one"


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(
        st.text(),
        st.sampled_from(
            ["%0A::error::x", "a\r\n::stop-commands::t", ",title=x::y", "%3A%25", "##[error]x", "a ##[group]"]
        ),
    )
)
def test_no_text_makes_a_command_of_its_own(text: str) -> None:
    answer = many_hunks(["broken"], 12, text)
    lines = rendered(answer).split("\n")

    assert [bool(command(line)) for line in lines] == [True] * 10 + [False] * 2 + [True, False]
    assert {command(line)[1]["file"] for line in lines[:10]} == {"patches/megatron/grads/patch.yaml"}  # type: ignore[index]
    assert [line for line in lines if "##[" in line] == []
