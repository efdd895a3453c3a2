"""Results of functions of one text that are asked for again soon: bounded by the texts' length, not by their number.

Carrying a file reads the same texts in several steps, and windows of them. What is remembered depends on the text
alone, so that an answer is the same with and without.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Generic, TypeVar

Text = TypeVar("Text", str, bytes)
Result = TypeVar("Result")


def remembered(*, most: int) -> Callable[[Callable[[Text], Result]], Callable[[Text], Result]]:
    """Remember the results for texts that are together no longer than ``most``, the latest ones.

    A text that is longer than half of that is read each time. The results are shared: nobody may change them.
    """

    def decorate(function: Callable[[Text], Result]) -> Callable[[Text], Result]:
        known: _Known[Text, Result] = _Known(most // 2)

        @wraps(function)
        def recall(text: Text) -> Result:
            found = known.find(text)
            if found is None:
                found = (function(text),)
                known.keep(text, found)
            return found[0]

        return recall

    return decorate


class _Known(Generic[Text, Result]):
    """Two generations: when the younger one is full it takes the place of the older one.

    Threads may share it: each step is one step of a dictionary, and what one of them misses is read again.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._young: dict[Text, tuple[Result]] = {}
        self._old: dict[Text, tuple[Result]] = {}
        self._held = 0

    def find(self, text: Text) -> tuple[Result] | None:
        found = self._young.get(text)
        if found is None and (found := self._old.get(text)) is not None:
            self.keep(text, found)
        return found

    def keep(self, text: Text, found: tuple[Result]) -> None:
        if len(text) > self._most:
            return
        if self._held + len(text) > self._most:
            self._old, self._young, self._held = self._young, {}, 0
        self._young[text] = found
        self._held += len(text)
