from __future__ import annotations

from patchkit.cli.rendering.telling import found_told, worth_telling
from patchkit.core.upstream_report import FoundRelease


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
