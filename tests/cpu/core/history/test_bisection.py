from __future__ import annotations

import pytest

from patchkit.core.history.bisection import bisected


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ("", []),
        ("a", [0]),
        ("ab", [0, 1]),
        ("aaaaaaaaaaaaaaaa", [0, 15]),
        ("aaaaaaaaaaabbbbb", [0, 7, 9, 10, 11, 15]),
        ("abbbbbbbbbbbbbbb", [0, 1, 3, 7, 15]),
        # Two changes: both are found where the ends and the middles tell them.
        ("aabbbbbbcccccccc", [0, 1, 2, 3, 7, 8, 9, 11, 15]),
        # Between two equal answers nobody looks.
        ("aaaaxaaaaaaaaaaa", [0, 15]),
    ],
)
def test_only_versions_between_different_answers_are_asked_about(answers: str, asked: list[int]) -> None:
    calls: list[int] = []

    def ask(index: int) -> str:
        calls.append(index)
        return answers[index]

    found = bisected(len(answers), ask)

    assert (list(found), sorted(calls)) == (asked, asked)
    assert all(answers[index] == answer for index, answer in found.items())
