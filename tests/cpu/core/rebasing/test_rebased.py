from __future__ import annotations

import pytest

from patchkit.core.carry import CarriedHunk, Place, Verdict
from patchkit.core.rebasing.rebased import one_hunk

UP, GONE, MOVED, MET = Verdict.UPSTREAMED, Verdict.OBSOLETE, Verdict.MOVED, Verdict.CONFLICT
BEYOND = Verdict.SUPERSEDED


def carried(*verdicts: Verdict) -> list[CarriedHunk]:
    return [
        CarriedHunk(at, verdict, Place("f", at, at), None, f"why {verdict.value}")
        for at, verdict in enumerate(verdicts)
    ]


@pytest.mark.parametrize(
    ("verdicts", "verdict", "review"),
    [
        ((MOVED, MOVED), "moved", ()),
        ((UP, UP), "upstreamed", ("upstreamed: the variant would not have it",)),
        ((GONE,), "obsolete", ("obsolete: the variant would not have it",)),
        ((UP, MOVED), "moved", ("in part upstreamed: 1 of its 2 places: why upstreamed",)),
        ((BEYOND,), "superseded", ("superseded: the variant would not have it",)),
        ((BEYOND, MOVED), "moved", ("in part superseded: 1 of its 2 places: why superseded",)),
        ((GONE, MOVED, GONE), "moved", ("in part obsolete: 2 of its 3 places: why obsolete",)),
        ((GONE, MET), "conflict", ("in part obsolete: 1 of its 2 places: why obsolete",)),
        (
            (UP, GONE),
            "obsolete",
            (
                "in part upstreamed: 1 of its 2 places: why upstreamed",
                "obsolete: the variant would not have it",
            ),
        ),
    ],
)
def test_the_verdict_of_several_places_is_the_worst_and_what_is_gone_is_told(
    verdicts: tuple[Verdict, ...], verdict: str, review: tuple[str, ...]
) -> None:
    hunk = one_hunk("one", "m/a.py", carried(*verdicts))

    assert (hunk.verdict, hunk.review) == (verdict, review)
