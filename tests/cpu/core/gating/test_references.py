from __future__ import annotations

import ast
import re

import pytest

from patchkit.core.gating.references import Reference, has_word, removed_attributes, stale_attributes

BASE = b"""\
class C:
    def __init__(self):
        self.count = 0

    def size(self):
        return 1
"""


def stale(base: bytes, changed: bytes, target: bytes, result: bytes) -> list[Reference]:
    return list(stale_attributes(base, changed, target, result, lambda: ast.parse(result)))


def removed(changed: bytes, target: bytes, result: bytes) -> list[Reference]:
    return list(removed_attributes(changed, target, result, ast.parse))


@pytest.mark.parametrize(("old", "use"), [(b"count", b"self.count"), (b"size", b"self.size()")])
def test_an_attribute_that_upstream_renamed_is_stale(old: bytes, use: bytes) -> None:
    added = b"\n    def more(self):\n        return " + use + b"\n"
    target = BASE.replace(old, b"renamed")

    assert stale(BASE, BASE + added, target, target + added) == [
        Reference(9, old.decode(), f"{old.decode()} is used here, and the target has it no more")
    ]


@pytest.mark.parametrize("name", [b"k", b"fn", b"_k"])
@pytest.mark.parametrize("others", [0, 40], ids=["few", "many"])
@pytest.mark.parametrize("bound", [b"    %s: int = 0\n", b"    def __init__(self):\n        self.%s = 0\n"])
def test_a_name_of_one_letter_is_a_name(name: bytes, others: int, bound: bytes) -> None:
    base = b"class C:\n" + bound % name + b"\n    def size(self):\n        return 1\n"
    target = base.replace(bound % name, bound % b"renamed")
    more = b"".join(b"        call_%d()\n" % number for number in range(others))
    added = b"\n    def more(self):\n" + more + b"        return self." + name + b"\n"

    message = f"{name.decode()} is used here, and the target has it no more"
    line = (target + added).count(b"\n")
    assert stale(base, base + added, target, target + added) == [Reference(line, name.decode(), message)]
    # As a local it says nothing.
    local = b"\n    def more(self):\n        " + name + b" = 1\n        return " + name + b"\n"
    assert stale(base, base + local, target, target + local) == []


def test_an_attribute_that_the_result_binds_is_not_stale() -> None:
    added = b"\n    def more(self):\n        self.count = 1\n        return self.count\n"
    target = BASE.replace(b"count", b"renamed")

    assert stale(BASE, BASE + added, target, target + added) == []


@pytest.mark.parametrize(
    ("imports", "old", "use", "there", "is_stale"),
    [
        # A field of an object of the same name, which the target reads no more.
        ("", "config.depth", "config.depth", "1", True),
        ("", "config.depth", "self.config.depth", "config.width", True),
        ("", "self.config.depth", "config.depth", "1", True),
        # Of another object, or mentioned still.
        ("", "layer.depth", "config.depth", "1", False),
        ("", "config.depth", "config.depth", "'depth'", False),
        # A command line option makes a field, dashes and all, but where it names another one.
        ("", "args.pin_memory", "args.pin_memory", "add('--pin-memory', type=int)", False),
        ("", "args.pin_memory", "args.pin_memory", "add('--pin-memory', dest='pinned')", True),
        ("", "args.pin_memory", "args.pin_memory", "add('--no-pin-memory')", True),
        # What is called, or comes from a module, may live on without this file: it takes something new in its place.
        ("", "hidden.sum()", "hidden.sum()", "1", False),
        ("", "hidden.sum()", "hidden.sum()", "hidden.mean()", True),
        ("", "hidden.sum() + hidden.mean()", "hidden.sum()", "hidden.mean()", False),
        ("import math\n", "math.inf", "math.inf", "1", False),
        ("from a import state\n", "state.rank", "state.rank", "state.place", True),
        ("from a import state\n", "state.rank()", "state.rank()", "state.get_rank()", True),
        ("from a import state\n", "state.rank()", "state.rank()", "other.get_rank()", False),
        # What something gives that has no name.
        ("", "f().depth", "f().depth", "1", False),
    ],
)
def test_an_attribute_that_the_base_only_used(imports: str, old: str, use: str, there: str, is_stale: bool) -> None:
    base, target = (f"{imports}def f(config):\n    return {value}\n".encode() for value in (old, there))
    added = f"def g(config):\n    return {use} + 1\n".encode()
    name = re.split(r"\W", use.removesuffix("()"))[-1]
    expected = Reference(4 + len(imports.splitlines()), name, f"{name} is used here, and the target has it no more")

    assert stale(base, base + added, target, target + added) == [expected] * is_stale


def test_a_word_in_a_comment_is_no_use() -> None:
    added = b"\n    # count is gone\n"
    target = BASE.replace(b"count", b"renamed")

    assert stale(BASE, BASE + added, target, target + added) == []


def test_an_attribute_that_the_patch_removes_and_upstream_uses_anew() -> None:
    changed = BASE.replace(b"        self.count = 0\n", b"        pass\n")
    use = b"\n    def more(self):\n        return self.count\n"

    assert removed(changed, BASE + use, changed + use) == [
        Reference(9, "count", "nothing binds count any more, and the target uses it here")
    ]


def test_an_attribute_that_the_author_still_reads_is_inherited() -> None:
    use = b"\n    def more(self):\n        return self.count\n"
    changed = BASE.replace(b"        self.count = 0\n", b"        pass\n") + use

    assert removed(changed, BASE + use + use, changed + use) == []


def test_an_attribute_that_is_bound_in_another_way_is_there() -> None:
    use = b"\n    def more(self):\n        return self.count\n"
    changed = BASE.replace(b"        self.count = 0\n", b"        self.count, other = 0, 1\n")

    assert removed(BASE.replace(b"count", b"other"), BASE + use, changed + use) == []


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"self.count", True),
        (b"count", True),
        (b"recount counts count_ _count", False),
        (b"recount count", True),
        (b"caf\xc3\xa9count", False),
    ],
)
def test_a_word_is_no_part_of_another(content: bytes, expected: bool) -> None:
    assert has_word(content, b"count") is expected
