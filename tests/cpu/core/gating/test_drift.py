from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.gating.drift import Drift, DriftKind, drift, drifts, fingerprint
from patchkit.core.gating.parsing import definitions, parse

from ..programs import edited_programs, programs

BASE = b'''\
import torch


class Buffer(Base):
    """A buffer."""

    def __init__(self, config, size=1):
        """Make it."""
        self.data = torch.zeros(size)  # on the device
        self.register(size)

    def numel(self):
        def inner(a):
            return a
        return inner(self.data.numel())


def build(config):
    return Buffer(config)
'''

FORMATTED = b'''\
import torch
class Buffer(
    Base,
):
    """Another text."""
    def __init__(
        self, config,
        size = 1,
    ):
        # a comment
        self.data = torch.zeros(
            size,
        )

        self.register((size))
    def numel(self):
        """New."""
        def inner(a):
            "New."
            return a
        return inner(self.data.numel())
def build(config): return Buffer(config)
'''

SCOPES = ("Buffer", "Buffer.__init__", "Buffer.numel", "Buffer.numel.inner", "build")


@pytest.mark.parametrize("scope", SCOPES)
def test_comments_formatting_and_docstrings_are_no_drift(scope: str) -> None:
    assert drift(BASE, FORMATTED, scope) is None
    assert fingerprint(BASE, scope) == fingerprint(FORMATTED, scope)


def changed(old: bytes, new: bytes, scope: str) -> Drift | None:
    assert old in BASE
    return drift(BASE, BASE.replace(old, new), scope)


def test_a_new_parameter() -> None:
    assert changed(b"size=1", b"size=1, dtype=None", "Buffer.__init__") == Drift(
        "Buffer.__init__",
        (DriftKind.SIGNATURE,),
        "def __init__(self, config, size=1)",
        "def __init__(self, config, size=1, dtype=None)",
    )


def test_another_statement_without_calls() -> None:
    signature = "def __init__(self, config, size=1)"

    assert changed(
        b"        self.register", b"        self.size = size\n        self.register", "Buffer.__init__"
    ) == Drift("Buffer.__init__", (DriftKind.BODY,), signature, signature)


def test_another_call() -> None:
    signature = "def __init__(self, config, size=1)"

    assert changed(b"torch.zeros(size)", b"torch.empty(size)", "Buffer.__init__") == Drift(
        "Buffer.__init__",
        (DriftKind.BODY, DriftKind.CALLS),
        signature,
        signature,
        calls_added=("torch.empty",),
        calls_removed=("torch.zeros",),
    )


def test_a_scope_that_is_gone() -> None:
    assert changed(b"def build", b"def construct", "build") == Drift(
        "build", (DriftKind.GONE,), "def build(config)", ""
    )


@pytest.mark.parametrize(
    ("old", "new", "signature"),
    [
        (b"Buffer(Base)", b"Buffer(Other)", "class Buffer(Other)"),
        (b"Buffer(Base)", b"Buffer(Base, metaclass=M)", "class Buffer(Base, metaclass=M)"),
        (b"class", b"@final\nclass", "@final class Buffer(Base)"),
    ],
)
def test_of_a_class_the_head_counts(old: bytes, new: bytes, signature: str) -> None:
    assert changed(old, new, "Buffer") == Drift("Buffer", (DriftKind.SIGNATURE,), "class Buffer(Base)", signature)


def test_of_a_class_the_members_do_not_count() -> None:
    assert changed(b"size=1", b"size=2", "Buffer") is None


def test_of_a_dataclass_the_fields_count() -> None:
    base = b"@dataclass\nclass C:\n    a: int = 0\n"

    assert drift(base, base.replace(b"0", b"1"), "C") is None
    assert drift(base, base + b"    b: int = 0\n", "C") == Drift(
        "C", (DriftKind.SIGNATURE,), "@dataclass class C() fields a", "@dataclass class C() fields a, b"
    )


def test_decorators_annotations_and_async_are_in_the_signature() -> None:
    found = fingerprint(b"@wrap(1)\nasync def f(a: int, /, *b, c=2, **d) -> None: pass\n", "f")

    assert found is not None
    assert found.signature == "@wrap(1) async def f(a: int, /, *b, c=2, **d) -> None"


def test_several_definitions_of_one_name_are_taken_together() -> None:
    base = b"if a:\n    def f(): return 1\nelse:\n    def f(): return 2\n"

    assert drift(base, base.replace(b"2", b"3"), "f") is not None
    assert drift(base, base.replace(b"1", b"3"), "f") is not None


def test_called_names_are_dotted_or_the_last_attribute() -> None:
    found = fingerprint(b"def f(a):\n    a.b.c(g(), h().i(), [1].j.k(), (lambda: l())()) \n", "f")

    assert found is not None
    assert found.calls == ("a.b.c", "g", "h", "i", "k", "l")


def test_the_signatures_around_a_scope_are_compared_too_and_no_more_of_them() -> None:
    target = (
        BASE.replace(b"Buffer(Base)", b"Buffer(Other)")
        .replace(b"size=1", b"size=2")
        .replace(b"numel(self)", b"numel(s)")
    )

    assert drifts(BASE, target, ["Buffer.numel.inner", "build"]) == {
        "Buffer.numel.inner": (
            Drift("Buffer.numel", (DriftKind.SIGNATURE,), "def numel(self)", "def numel(s)"),
            Drift("Buffer", (DriftKind.SIGNATURE,), "class Buffer(Base)", "class Buffer(Other)"),
        ),
        "build": (),
    }


def test_of_a_drift_only_around_the_scope_itself_has_none() -> None:
    assert drift(BASE, BASE.replace(b"Buffer(Base)", b"Buffer(Other)"), "Buffer.numel") is None


@pytest.mark.parametrize("scope", ["<module>", "unknown", "Buffer.unknown", ""])
def test_what_the_base_does_not_have_cannot_drift(scope: str) -> None:
    assert drift(BASE, b"", scope) is None
    assert fingerprint(BASE, scope) is None


@pytest.mark.parametrize("broken", [b"print 'Python 2'\n", b"\x00", b"<<<<<<< a\n"])
def test_a_text_that_cannot_be_read_is_none(broken: bytes) -> None:
    assert drift(broken + BASE, BASE, "build") is None
    assert drift(BASE, broken + BASE, "build") is None
    assert fingerprint(broken + BASE, "build") is None


def test_fingerprints_are_the_same_whatever_python_takes_them() -> None:
    # Taken once, on 3.11: a change here is a change of stored fingerprints.
    found = fingerprint(BASE, "Buffer.__init__")

    assert found is not None
    assert found.body == "331c7613aec5c452c0f4058f56e6acd933b257c407760d79992cb4b2ef16a3ce"


@given(programs(), st.sampled_from([b"# comment\n", b"\n\n", b"'''text'''\n"]))
def test_no_scope_drifts_when_only_text_without_meaning_is_added(program: bytes, text: bytes) -> None:
    tree = parse(program)
    assert tree is not None
    scopes = [name for name, _ in definitions(tree)]

    assert drifts(program, text + program, scopes) == dict.fromkeys(scopes, ())


@given(programs(), programs())
def test_drift_looks_at_fingerprints(one: bytes, two: bytes) -> None:
    for scope in ("a", "b", "config", "config.a", "value"):
        before, after = fingerprint(one, scope), fingerprint(two, scope)
        assert (drift(one, two, scope) is None) == (before is None or before == after)


def test_a_call_that_stands_in_what_both_have_was_not_added() -> None:
    # The statements that both versions begin and end with are left out, and they call g and a.h.
    base = b"def f(a):\n    g()\n    x = 1\n    a.h()\n"

    assert drift(base, base.replace(b"x = 1", b"x = g(a.h(), k())"), "f") == Drift(
        "f", (DriftKind.BODY, DriftKind.CALLS), "def f(a)", "def f(a)", calls_added=("k",)
    )
    assert drift(base, base.replace(b"x = 1", b"x = g(a.h())"), "f") == Drift(
        "f", (DriftKind.BODY,), "def f(a)", "def f(a)"
    )


@given(st.data(), programs())
def test_leaving_out_what_both_have_changes_no_answer(data: st.DataObject, program: bytes) -> None:
    body = b"".join(b"    " + line for line in program.splitlines(keepends=True))
    one = b"def step(self):\n" + body + b"    pass\n"
    two = data.draw(edited_programs(one))
    before, after = fingerprint(one, "step"), fingerprint(two, "step")
    if before is None or after is None:
        return

    found = drift(one, two, "step")

    assert (found is None) == (before == after)
    if found is not None:
        assert (DriftKind.BODY in found.kinds) == (before.body != after.body)
        assert found.calls_added == tuple(sorted({*after.calls} - {*before.calls}))
        assert found.calls_removed == tuple(sorted({*before.calls} - {*after.calls}))


def test_a_function_is_the_same_where_the_other_text_is_taken_whole() -> None:
    # What looks like a class begins in a string, so that chunks tell nothing of this text.
    base = b"def f():\n    x = 1\n    return x\n"

    assert drift(base, b'"""doc\nclass C:\n    def z(self): pass\n"""\n' + base, "f") is None


def test_what_is_no_python_in_both_versions_does_not_matter() -> None:
    base = b"def f():\n    print 1\n    x = 1\n"

    assert drift(base, base.replace(b"x = 1", b"x = 2"), "f") == Drift("f", (DriftKind.BODY,), "def f()", "def f()")
    assert drift(base, base.replace(b"print 1", b"print 2"), "f") is None
