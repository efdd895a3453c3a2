from __future__ import annotations

import ast

import pytest

from patchkit.core.gating.focus import head_of
from patchkit.core.gating.moved_heads import _heads_in, heads_moved, parameters
from patchkit.core.gating.passing import Calls, excerpt, misled

FILE = """\
@decorated
def f(a, old=1):
    return a


class C:
    def __init__(self, a, old=1):
        self.a = a

    def m(self, a, old=1, **more):
        return a

    def n(self, x):
        first(x)
        return x


@dataclass
class Config:
    a: int = 1
    old: int = 2


class D(C):
    def __init__(self, x):
        self.x = x


def g(x):
    first(x)
    return x
"""


def found(changed: str, target: str, result: str) -> list[tuple[str, str, bool]]:
    names = heads_moved(FILE.encode(), changed.encode(), target.encode())
    sides = [Calls(ast.parse(excerpt(text.encode(), names)), names) for text in (changed, target, result)]
    return [(call.callee, problem, is_patchs) for call, problem, is_patchs in misled(*sides)]


def both(call: str, old: str, new: str) -> set[tuple[str, str]]:
    """What is found, whichever side adds the call while the other one rewords signatures."""
    calling = FILE.replace("first(x)", f"{call}; first(x)")
    reworded, result = FILE.replace(old, new), calling.replace(old, new)

    one, two = found(calling, reworded, result), found(reworded, calling, result)

    assert [(callee, problem, not is_patchs) for callee, problem, is_patchs in one] == two
    assert all(is_patchs for *_, is_patchs in one)
    return {(callee, problem) for callee, problem, _ in one}


@pytest.mark.parametrize(
    ("call", "callees"),
    [
        ("f(x, old=2)", {"f"}),
        ("C(x, old=2)", {"C"}),
        ("x.m(x, old=2)", {".m"}),
        # In C it is that of C, in g that of whatever self may be.
        ("self.m(x, old=2)", {"C.m", ".m"}),
        ("partial(f, old=2)", {"f"}),
        ("Config(old=2)", set()),
    ],
)
def test_a_keyword_that_the_other_side_renamed(call: str, callees: set[str]) -> None:
    assert both(call, "a, old=1", "a, new=1") == {(callee, "takes no old") for callee in callees}


def test_a_field_that_the_other_side_renamed() -> None:
    assert both("Config(old=2)", "old: int", "new: int") == {("Config", "takes no old")}
    assert both("Config(1, 2)", "    old: int", "    new: int = 3\n    old: int") == {
        ("Config", "passes as new what was written for old")
    }


def test_the_constructor_of_a_base() -> None:
    calling = FILE.replace("self.x = x", "super().__init__(x, old=2)")
    reworded, result = (text.replace("a, old=1", "a, new=1") for text in (FILE, calling))

    assert found(calling, reworded, result) == [("C.__init__", "takes no old", True)]


def test_what_the_other_side_passes_itself_goes_through() -> None:
    calling = FILE.replace("first(x)", "f(x, old=2); first(x)")
    reworded, result = (text.replace("f(a, old=1)", "f(*a, **more)") for text in (FILE, calling))

    assert found(calling, reworded, result) != []
    assert found(calling, reworded + "f(1, old=3)\n", result + "f(1, old=3)\n") == []


CLASS = """\
class C:
    x = 1

    def __init__(self):
        one()

    def a(self):
        call(1)

    def b(self):
        g(1)
"""


@pytest.mark.parametrize(("name", "shown"), [("call", {"a"}), ("C", {"__init__"}), ("g", {"b"}), ("one", {"__init__"})])
def test_an_excerpt_has_the_functions_with_a_name_and_the_constructor_of_a_class(name: str, shown: set[str]) -> None:
    bodies = {"__init__": "(self):\n        one()\n", "a": "(self):\n        call(1)\n", "b": "(self):\n        g(1)\n"}
    expected = CLASS
    for function, body in bodies.items():
        if function not in shown:
            # As many lines as there were.
            expected = expected.replace(f"{function}{body}", f"{function}(*_a,**_k):pass\n\n")

    assert excerpt(CLASS.encode(), frozenset({name.encode()})).decode() == expected


def test_what_the_author_calls_so_is_fine() -> None:
    # The patch leaves a call as it was although it changed the signature.
    base = FILE + "f(1, old=2)\n"
    changed = base.replace("f(a, old=1)", "f(a, new=1)")
    target = base.replace("first(x)", "second(x)")

    names = frozenset({b"f"})
    sides = [
        Calls(ast.parse(excerpt(text.encode(), names)), names)
        for text in (changed, target, changed.replace("first(x)", "second(x)"))
    ]

    assert list(misled(*sides)) == []


@pytest.mark.parametrize(
    ("call", "callees"),
    [
        ("f(x, 2)", {"f"}),
        ("C(x, 2)", {"C"}),
        ("x.m(x, 2)", {".m"}),
        ("partial(f, x, 2)", {"f"}),
        # What comes before the new parameter, goes by name, or is not counted.
        ("f(x)", set()),
        ("f(x, old=2)", set()),
        ("f(*x, 2)", set()),
        ("other(x, 2)", set()),
    ],
)
def test_a_position_that_the_other_side_shifted(call: str, callees: set[str]) -> None:
    problem = "passes as new what was written for old"

    assert both(call, "a, old=1", "a, new=0, old=1") == {(callee, problem) for callee in callees}
    # At the end a parameter misleads nobody.
    assert both(call, "a, old=1", "a, old=1, new=0") == set()


def test_by_another_name_at_the_same_place_a_parameter_is_the_same() -> None:
    assert both("f(x, 2)", "a, old=1", "a, new=1") == set()


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"deff(self,a,b:Dict[str,int]=(1,2),*,c=g(1,d),**k)->X[a,b]:", b"self a b * c **k"),
        (b"deff(a,/,b,*args,):", b"a / b *args"),
        (b"deff():", b""),
        (b"deff", b""),
    ],
)
def test_the_parameters_of_a_head(head: bytes, expected: bytes) -> None:
    assert b" ".join(parameters(head)) == expected


def test_only_what_one_side_changed_and_the_other_calls_is_looked_at() -> None:
    base = FILE.encode()
    calling, changed = base.replace(b"first(x)", b"f(x)"), base.replace(b"f(a, old=1)", b"f(a, new=1)")

    assert heads_moved(base, calling, changed) == heads_moved(base, changed, calling) == {b"f"}
    assert heads_moved(base, calling, base) == heads_moved(base, changed, base) == frozenset()
    assert heads_moved(base, calling, base.replace(b"f(a, old=1)", b"f(a, old=1, new=1)")) == frozenset()


@pytest.mark.parametrize(
    ("text", "is_call"),
    [
        (b"x = f(1)", True),
        (b"x = self.f(1)", True),
        (b"partial(f, 1)", True),
        (b"functools.partial(self.f, 1)", True),
        (b"def f(a):", False),
        (b"class f(a):", False),
        (b"x = off(1)", False),
        (b"x = f_(1)", False),
        (b"x = f", False),
        (b"g(f, 1)", False),
        (b"partial(g, f)", False),
        (b"def f(a): return f(a)", True),
    ],
)
def test_who_calls_a_function_or_gives_it_to_partial(text: bytes, is_call: bool) -> None:
    base = b"def f(a):\n    return a\n\nx = None\n"
    calling, changed = base.replace(b"x = None", text), base.replace(b"def f(a)", b"def f(b)")

    assert heads_moved(base, calling, changed) == (frozenset({b"f"}) if is_call else frozenset())


def test_a_head_with_its_body_on_the_line_ends_there_however_many_follow() -> None:
    # A search that went on to the end of the text would take hours.
    texts = b"def f(a): pass\n" * 200_000, b'x = "' + b"def f " * 500_000 + b'"\n'

    assert [_heads_in(text) for text in texts] == [((b"f", b"deff(a):pass"),) * 200_000, ()]
    assert head_of(b"def f(a): return 1\ndef g(b):\n    return 2\n") == b"deff(a):return1"
