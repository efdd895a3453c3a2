"""Results of functions of texts that are asked for again soon: bounded by the texts' length, not by their number.

Carrying a file reads the same texts in several steps, and windows of them; a patch that is carried to one release after
the other meets the same functions again. What is remembered depends on the arguments alone, so that an answer is the
same with and without.

Who works on texts that are longer than what is remembered asks for room for them, so that no step has to read them
again and what is held is still a multiple of the texts' length.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final, Generic, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")

_MOST_MET: Final = 10_000
"""Forgotten texts that are known by their hash."""
_TIMES: Final = 4
"""How often a step may ask about as much text as there is room for: with an ending, beside another, in a result."""


def remembered(*, most: int, lasting: bool = True) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Remember the results for texts (``str`` or ``bytes``) that are together no longer than ``most``, the latest ones.

    Texts that are together longer than half of that are read each time, unless somebody has asked for room (see
    ``room_for``). The results are shared: nobody may change them. What is not ``lasting`` goes with the next call of
    ``forget``, until it turns out to be asked for again after one.
    """

    def decorate(function: Callable[Given, Result]) -> Callable[Given, Result]:
        known: _Known[Result] = _Known(most // 2) if lasting else _Passing(most // 2)
        _all.append(known)

        @wraps(function)
        def recall(*args: Given.args, **kwargs: Given.kwargs) -> Result:
            key = (*args, *kwargs.items()) if kwargs else args
            found = known.find(key)
            if found is None:
                found = (function(*args, **kwargs),)
                known.keep(key, found)
            return found[0]

        return recall

    return decorate


def forget() -> None:
    """Let go of what is not ``lasting``: trees, say, of which mostly only what was found in them is asked again.

    To go through them costs the garbage collector more than they save.
    """
    for each in _all:
        if isinstance(each, _Passing):
            each.forget()


@contextmanager
def room_for(*texts: bytes) -> Iterator[None]:
    """Let what is found in these texts, and in others as long, be remembered as long as the block runs.

    Behind it the limits are what they were, and what is beyond them is forgotten. Blocks within blocks add up, and so
    do those of several threads.
    """
    block = object()
    _rooms[block] = sum(map(len, texts))
    try:
        yield
    finally:
        del _rooms[block]
        for each in _all:
            each.trim()


_rooms: Final[dict[object, int]] = {}
"""The length of the texts at hand, by block; each thread has its own ones, so that no two of them set one number."""


def _size(key: tuple[Hashable, ...]) -> int:
    return max(1, sum([len(text) for text in key if isinstance(text, (str, bytes))]))


class _Known(Generic[Result]):
    """Two generations: when the younger one is full it takes the place of the older one.

    Threads may share it: each step is one step of a dictionary, and what one of them misses is read again.
    """

    def __init__(self, most: int) -> None:
        self._least = most
        self._young: dict[tuple[Hashable, ...], tuple[Result]] = {}
        self._old: dict[tuple[Hashable, ...], tuple[Result]] = {}
        self._held = self._held_before = 0
        """Characters in the younger and in the older one."""

    @property
    def _most(self) -> int:
        return max(self._least, _TIMES * sum(list(_rooms.values())))

    def keys(self) -> list[tuple[Hashable, ...]]:
        """Return whatever is known."""
        return [*self._young, *self._old]

    def find(self, key: tuple[Hashable, ...]) -> tuple[Result] | None:
        found = self._young.get(key)
        if found is None and (found := self._old.get(key)) is not None:
            self.keep(key, found)
        return found

    def keep(self, key: tuple[Hashable, ...], found: tuple[Result]) -> None:
        size, most = _size(key), self._most
        if size > most:
            return
        if self._held + size > most:
            self._old, self._held_before = self._young, self._held
            self._young, self._held = {}, 0
        self._young[key] = found
        self._held += size

    def trim(self) -> None:
        """Forget what is beyond the limit, the earliest first."""
        most = self._most
        if self._held_before > most:
            self._old, self._held_before = {}, 0
        if self._held > most:
            kept: dict[tuple[Hashable, ...], tuple[Result]] = {}
            held = 0
            for key, found in reversed([*self._young.items()]):
                held += _size(key)
                if held > most:
                    break
                kept[key] = found
            self._young, self._held = dict(reversed(kept.items())), sum(map(_size, kept))


class _Passing(_Known[Result]):
    """What is kept until it is forgotten; what is asked for again after that is known from then on."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self._passing = _Known[Result](most)
        self._met: set[int] = set()
        """Hashes of what was forgotten."""

    def find(self, key: tuple[Hashable, ...]) -> tuple[Result] | None:
        found = self._passing.find(key)
        return super().find(key) if found is None else found

    def keep(self, key: tuple[Hashable, ...], found: tuple[Result]) -> None:
        if hash(key) in self._met:
            super().keep(key, found)
        else:
            self._passing.keep(key, found)

    def forget(self) -> None:
        if len(self._met) > _MOST_MET:
            self._met = set()
        self._met.update(map(hash, self._passing.keys()))
        self._passing = _Known(self._least)

    def trim(self) -> None:
        super().trim()
        self._passing.trim()


_all: Final[list[_Known[Any]]] = []
