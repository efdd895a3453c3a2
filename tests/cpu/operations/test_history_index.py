from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from trees.snapshots import lay
from trees.wheels import make_wheel

from patchkit.core.history_report import HistoryReport
from patchkit.errors import UsageError
from patchkit.operations.history_index import BuildsRequest, history_of_builds

from .carried_world import CODE, CODE_1, NOTES, NOTES_1, RELEASE_1, World

BLUE = NOTES_1.replace(b"colour: red", b"colour: blue")
GREEN = NOTES_1.replace(b"colour: red", b"colour: green")
HEADED = b"title: notes\n" + NOTES_1
NOWHERE = BLUE.replace(b"end: here", b"end: nowhere")
WIDER = CODE_1.replace(b'"""Buffers."""\n', b'"""Buffers."""\n\nimport sys\n')


@dataclass(frozen=True)
class Listed:
    version: str
    date: str
    files: Mapping[str, str]


class Index:
    """Builds of release 1.0's successor; ``kept`` wheels are in the cache, and no other can be had."""

    def __init__(self, root: Path, notes: Sequence[bytes], kept: Sequence[int]) -> None:
        self.world = World(root / "world", {})
        self.builds: list[Listed] = []
        for number, text in enumerate(notes):
            version = "1.0" if number == 0 else f"1.1.dev2026010{number}"
            files = {**RELEASE_1, NOTES: text, CODE: CODE_1 if number < 3 else WIDER}
            content = make_wheel(root / "made", version, files=files).read_bytes()
            name, digest = f"megatron_core-{version}-py3-none-any.whl", hashlib.sha256(content).hexdigest()
            if number in kept:
                lay(self.world.cache, {f"wheels/{digest}/{name}": content})
            self.builds.append(Listed(version, f"2026-01-0{number + 1}", {name: digest}))

    def ask(self, span: str | None = None, base: str | None = None, names: tuple[str, ...] = ()) -> HistoryReport:
        request = BuildsRequest(span=span, base=base, patches=self.world.series, names=names)
        # The order of the list does not matter.
        return history_of_builds(request, lambda _: self.builds[::-1], cache=self.world.cache)


def test_two_neighbours_are_named_and_only_what_tells_them_is_fetched(tmp_path: Path) -> None:
    # Ends 0 and 7, then the middles 3, 5 and 4: 1, 2 and 6 are not to be had.
    index = Index(tmp_path, [NOTES_1, NOTES_1, HEADED, HEADED, HEADED, BLUE, BLUE, BLUE], [0, 3, 4, 5, 7])
    report = index.ask()

    assert [place.name for place in report.line] == [
        "1.0",
        *(f"1.1.dev2026010{number}" for number in (3, 4, 5, 7)),
    ]
    assert (report.source, report.span, report.verdict) == ("index", "1.0..1.1.dev20260107", "broken")
    assert (report.counts.commits, report.counts.line) == (8, 5)
    colour = next(hunk for hunk in report.hunks if hunk.id == "notes-colour")
    assert colour.first_bad is not None
    assert (colour.first_bad.at, colour.first_bad.after) == (report.line[3], report.line[2])
    assert (colour.first_bad.at.date if colour.first_bad.at else "", colour.first_bad.healed) == ("2026-01-06", None)
    assert [hunk.id for hunk in report.hunks if hunk.first_bad] == ["notes-colour"]


def test_every_hunk_is_told_by_itself(tmp_path: Path) -> None:
    index = Index(tmp_path, [NOTES_1, NOTES_1, BLUE, BLUE, NOWHERE, NOWHERE], [0, 1, 2, 3, 4, 5])
    report = index.ask()
    broke = {
        hunk.id: (hunk.first_bad.after.name, hunk.first_bad.at.name)
        for hunk in report.hunks
        if hunk.first_bad and hunk.first_bad.at and hunk.first_bad.after
    }

    assert broke == {
        "notes-colour": ("1.1.dev20260101", "1.1.dev20260102"),
        "notes-end": ("1.1.dev20260103", "1.1.dev20260104"),
    }


def test_where_nothing_breaks_both_ends_are_enough_though_lines_moved(tmp_path: Path) -> None:
    report = Index(tmp_path, [NOTES_1] * 3 + [HEADED] * 5, [0, 7]).ask()

    assert (report.verdict, [place.name for place in report.line]) == ("whole", ["1.0", "1.1.dev20260107"])


def test_for_named_patches_nothing_is_fetched_that_tells_of_others_alone(tmp_path: Path) -> None:
    index = Index(tmp_path, [NOTES_1] * 3 + [BLUE] * 5, [0, 7])  # a hunk of the first patch broke between the two
    report = index.ask(names=("second",))

    assert (report.verdict, [place.name for place in report.line]) == ("whole", ["1.0", "1.1.dev20260107"])
    assert [(hunk.patch, hunk.id) for hunk in report.hunks] == [("second", "reload-mark"), ("second", "notes-end")]


def test_that_upstream_has_a_hunk_is_looked_for_as_well(tmp_path: Path) -> None:
    report = Index(tmp_path, [NOTES_1, NOTES_1, GREEN, GREEN], [0, 1, 2, 3]).ask()
    colour = next(hunk for hunk in report.hunks if hunk.id == "notes-colour")

    assert report.verdict == "whole"
    assert [span.state.shown for span in colour.spans] == ["exact", "upstreamed"]
    assert report.line[colour.spans[1].first].name == "1.1.dev20260102"


def test_a_range_may_begin_and_end_anywhere_and_the_base_is_the_release_before(tmp_path: Path) -> None:
    index = Index(tmp_path, [NOTES_1, BLUE, BLUE, BLUE], [0, 1, 2])
    report = index.ask("1.1.dev20260101..1.1.dev20260102")
    colour = next(hunk for hunk in report.hunks if hunk.id == "notes-colour")

    assert (report.base, report.base_reason) == ("1.0", "the newest release up to 1.1.dev20260101")
    assert colour.first_bad is not None
    assert (colour.first_bad.at, colour.first_bad.after) == (None, None)
    assert index.ask("v1.0..1.1.dev20260101", base="core_v1.0").base_reason == "asked for"


@pytest.mark.parametrize(
    ("span", "told"),
    [
        ("1.0", "is no range of builds"),
        ("1.0...1.1", "is no range of builds"),
        ("main..dev", "'main' is no version"),
        ("1.1.dev20260101..1.0", "holds fewer than the two builds"),
        ("1.0..1.0", "holds fewer than the two builds"),
    ],
)
def test_what_is_no_range_of_two_builds_is_refused(tmp_path: Path, span: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Index(tmp_path, [NOTES_1, BLUE], [0, 1]).ask(span)


@pytest.mark.parametrize(
    ("span", "missing", "near"),
    [
        ("1.0..1.2", "1.2", "the nearest is 1.1.dev20260102"),
        ("0.9..", "0.9", "the nearest is 1.0"),
        ("1.0.post1..", "1.0.post1", "the nearest are 1.0 and 1.1.dev20260101"),
    ],
)
def test_an_end_that_is_no_build_is_told_with_the_nearest_ones(
    tmp_path: Path, span: str, missing: str, near: str
) -> None:
    with pytest.raises(UsageError) as caught:
        Index(tmp_path, [NOTES_1, BLUE, BLUE], [0, 1, 2]).ask(span)

    assert (caught.value.message, caught.value.hint) == (
        f"there is no megatron-core {missing} to be had, an end of the range",
        near,
    )
