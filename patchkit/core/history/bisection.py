"""Where along a row of versions an answer changes, found by looking at as few of them as possible."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

Answer = TypeVar("Answer", bound=Hashable)


def bisected(count: int, ask: Callable[[int], Answer]) -> dict[int, Answer]:
    """Return the answers by index for those of ``count`` versions that had to be asked about.

    Both ends are; between two with different answers their middle, and so on until they are neighbours. Versions
    between two with equal answers are not looked at: what changes there and changes back is not seen.
    """
    answers: dict[int, Answer] = {}

    def answer(index: int) -> Answer:
        if index not in answers:
            answers[index] = ask(index)
        return answers[index]

    left = [(0, count - 1)] if count else []
    while left:
        first, last = left.pop()
        if answer(first) != answer(last) and last - first > 1:
            middle = (first + last) // 2
            left += [(middle, last), (first, middle)]
    return dict(sorted(answers.items()))
