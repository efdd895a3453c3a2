"""The garbage collector during work that makes no garbage."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator

import pytest

from patchkit.core import carry
from patchkit.core.carry import CarryResult, carry_file
from patchkit.core.carrying import Carrying
from patchkit.core.uncollected import uncollected


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    yield
    gc.enable()


def test_the_collector_rests_in_the_block_and_goes_on_behind_it() -> None:
    with uncollected():
        inside = gc.isenabled()

    assert (inside, gc.isenabled()) == (False, True)


def test_the_collector_goes_on_whatever_the_block_raises() -> None:
    with pytest.raises(KeyError), uncollected():
        raise KeyError

    assert gc.isenabled()


def test_a_collector_that_the_caller_stopped_stays_stopped() -> None:
    gc.disable()
    with uncollected():
        pass

    assert not gc.isenabled()


def test_carrying_a_file_leaves_the_collector_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    class Noting(Carrying):
        def result(self) -> CarryResult:
            seen.append(gc.isenabled())
            return super().result()

    monkeypatch.setattr(carry, "Carrying", Noting)
    carry_file(b"a = 1\n", b"a = 2\n", b"a = 1\nb = 1\n", "m.py")

    assert (seen, gc.isenabled()) == ([False], True)


def test_no_tree_is_left_for_the_collector_to_go_through() -> None:
    base = b"".join(b"def f%d():\n    return g(%d)\n" % (number, number) for number in range(9))
    changed, target = base.replace(b"g(3)", b"h(3)"), base.replace(b"g(4)", b"g(4, 4)").replace(b"g(3)", b"g(3, 3)")
    before = _statements()
    carry_file(base, changed, target, "m.py")

    known = set(map(id, before))
    assert [node for node in _statements() if id(node) not in known] == []


def _statements() -> list[object]:
    # By type(), not isinstance(): some objects of other packages warn when they are asked for their class.
    gc.collect()
    return [node for node in gc.get_objects() if issubclass(type(node), ast.stmt)]
