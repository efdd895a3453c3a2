"""Ranks against each other."""

from __future__ import annotations

from patchkit.core.doctor import Difference, Examined, RankFacts, RankReport, compare, digest_of, report

USUAL = {"torch": "2.11.0", "preloaded": "cu13.so"}
OTHER = {"torch": "2.11.0", "preloaded": "cu12.so", "LD_PRELOAD": "/x"}


def rank(number: int, facts: dict[str, str], *bad: str) -> RankFacts:
    return RankFacts(number, f"node{number}", bad, facts)


def test_nothing_but_bad_makes_an_environment_bad() -> None:
    lines = [Examined(subject=word, verdict=word, text="") for word in ("ok", "look", "absent")]

    assert report(lines, "1").ok
    assert not report([*lines, Examined(subject="x", verdict="bad", text="")], "1").ok


def test_the_digest_is_of_the_facts_and_not_of_their_order() -> None:
    assert digest_of({"a": "1", "b": "2"}) == digest_of({"b": "2", "a": "1"})
    assert digest_of({"a": "1", "b": "2"}) != digest_of({"a": "12", "b": ""})


def test_a_rank_that_differs_from_most_is_named_with_what_differs() -> None:
    found = compare([rank(0, OTHER), rank(1, USUAL), rank(2, USUAL)], "1")

    assert (found.ok, found.usual) == (False, digest_of(USUAL))
    assert found.ranks == (
        RankReport(
            rank=0,
            host="node0",
            digest=digest_of(OTHER),
            differences=(Difference("LD_PRELOAD", "/x", None), Difference("preloaded", "cu12.so", "cu13.so")),
        ),
        RankReport(rank=1, host="node1", digest=digest_of(USUAL)),
        RankReport(rank=2, host="node2", digest=digest_of(USUAL)),
    )


def test_of_two_equally_common_the_lower_ranks_is_the_usual() -> None:
    assert compare([rank(0, OTHER), rank(1, USUAL)], "1").usual == digest_of(OTHER)


def test_alike_is_not_enough_when_something_is_bad() -> None:
    assert compare([rank(0, USUAL), rank(1, USUAL)], "1").ok
    assert not compare([rank(0, USUAL), rank(1, USUAL, "Megatron-LM")], "1").ok
