from __future__ import annotations

import pytest
from msgspec.structs import replace

from patchkit.cli.rendering.renderers import render
from patchkit.cli.rendering.telling import found_told, verdict_told, worth_telling
from patchkit.core.report import Problem
from patchkit.core.upstream_report import FoundRelease

from .reports import patch, report, target


def test_of_hundreds_of_pre_releases_the_latest_are_told() -> None:
    pre = [
        FoundRelease(version=f"0.20.0.dev{day}", where=("index",), date=f"2026-10-{day:02}", pre_release=True)
        for day in range(1, 10)
    ]
    final = FoundRelease(version="0.20.0", where=("index",), date="2026-09-01")

    shown, others = worth_telling([*pre, final])

    assert (shown, others) == ([*pre[4:], final], "4 older pre-releases")
    assert [told.text for told in found_told([*pre, final])][-2:] == [
        "0.20.0 (index, 2026-09-01)",
        "4 older pre-releases",
    ]
    assert worth_telling(pre[:5]) == (pre[:5], "")


def test_of_thousands_of_new_releases_the_newest_are_told() -> None:
    found = [FoundRelease(version=f"1.{number}", where=("index",), date="2027-01-02") for number in range(5000)]
    pre = FoundRelease(version="2.0rc1", where=("index",), date="2027-01-03", pre_release=True)

    assert worth_telling([*found, pre]) == ([*found[4980:], pre], "4980 older releases")
    assert worth_telling(found[:20]) == (found[:20], "")


MOVED = Problem("the tag core_v2.0 has moved: commit 1234 is recorded, a clone has 5678")


def test_a_verdict_names_what_is_broken_where_no_patch_is() -> None:
    """Whoever reads "broken: 2 fine" is none the wiser."""
    fine = [target("v1.0", "fine"), target("v2.0", "fine")]
    broken = replace(target("v3.0", "broken"), problems=(Problem("v3.0 is not what was recorded: a.py"),))
    many = [Problem(f"v{number} was yanked: oops") for number in (1, 1, 2, 3, 4, 5)]

    assert verdict_told(report(*fine)) == "2 fine"
    assert verdict_told(report(*fine, problems=(MOVED,))) == "the tag core_v2.0 has moved; 2 fine"
    assert verdict_told(report(fine[0], replace(fine[1], problems=(MOVED,)))) == "the tag core_v2.0 has moved; 2 fine"
    assert verdict_told(report(*fine, broken)) == "1 broken, 2 fine"
    assert (
        verdict_told(report(problems=tuple(many))) == "v1 was yanked, v2 was yanked, v3 was yanked, and 2 problems more"
    )


@pytest.mark.parametrize(
    ("style", "summary"),
    [
        ("text", "broken: the tag core_v2.0 has moved; 1 fine"),
        ("markdown", "1 target, 1 patch: the tag core\\_v2.0 has moved; 1 fine"),
        ("html", "1 target, 1 patch: the tag core_v2.0 has moved; 1 fine</p>"),
        ("junit", f'<failure type="problem" message="{MOVED.message}">problem: {MOVED.message}</failure>'),
        ("github", f"::error file=patches/megatron/series.yaml,line=1,title=upstream::problem: {MOVED.message}"),
        ("sarif", f'"text": "{MOVED.message}"'),
        ("json", f'"message": "{MOVED.message}"'),
    ],
)
def test_every_form_says_that_a_tag_has_moved(style: str, summary: str) -> None:
    told = report(target("v1.0", "fine", patch("first")), verdict="broken", problems=(MOVED,))

    assert summary in [line.strip().removesuffix(",") for line in render(told, style).splitlines()]
