"""What reports say of drift."""

from __future__ import annotations

import pytest

from patchkit.core.carry_report import DriftReport, drift_details, short_signatures, signature_parts


@pytest.mark.parametrize(
    ("signature", "parts"),
    [
        ("def f()", ["def f"]),
        (
            "def f(self, a: Dict[str, int]=None, *, b=(1, 2)) -> Tuple[int, int]",
            [
                "def f",
                "self",
                "a: Dict[str, int]=None",
                "*",
                "b=(1, 2)",
                "-> Tuple[int, int]",
            ],
        ),
        ("class A(Base, metaclass=Meta)", ["class A", "Base", "metaclass=Meta"]),
        ("class A", ["class A"]),
        ("def f(a=',)', b='\\'(')", ["def f", "a=',)'", "b='\\'('"]),
    ],
)
def test_a_signature_is_cut_at_its_own_commas(signature: str, parts: list[str]) -> None:
    assert signature_parts(signature) == parts


def test_only_what_is_different_is_told() -> None:
    drift = DriftReport(
        "A.f", ("signature", "calls"), "def f(a, b: int) -> X", "def f(a, b: str, c=1) -> X", ("one",), ("two",)
    )
    assert drift_details(drift) == "+b: str +c=1 -b: int +one() -two()"


FIELDS = ", ".join(f"field_{number}" for number in range(99))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (f"fields {FIELDS}, old", f"fields new, {FIELDS}", "fields: +new, -old"),
        (f"fields {FIELDS}", f"fields {FIELDS}, one, two", "fields: +one, +two"),
        ("fields a, b", "fields b, a", "fields: in another order"),
        ("fields a", "", "fields: -a"),
        ("fields ", "fields a", "fields: +a"),
    ],
)
@pytest.mark.parametrize("head", ["@dataclass class A(Base)", "@dataclass(frozen=True) class A()"])
def test_of_fields_those_that_came_and_went_are_told(head: str, old: str, new: str, told: str) -> None:
    drift = DriftReport("A", ("signature",), f"{head} {old}" if old else head, f"{head} {new}" if new else head)
    assert drift_details(drift) == told


def test_a_dataclass_that_changed_its_head_too_is_told_by_both() -> None:
    drift = DriftReport("A", ("signature",), "@dataclass class A(B) fields a, b", "@dataclass class A(C) fields a, c")
    assert drift_details(drift) == "+C -B fields: +c, -b"


def test_several_definitions_are_told_by_what_is_different_in_any() -> None:
    drift = DriftReport("f", ("signature",), "def f(a: int)\ndef f(a: str)", "def f(a: int)\ndef f(a: str, b=1)")
    assert drift_details(drift) == "+b=1"


def test_a_parameter_named_fields_is_none() -> None:
    drift = DriftReport("f", ("signature",), "def f(fields) -> X", "def f(fields, a) -> X")
    assert drift_details(drift) == "+a"


@pytest.mark.parametrize(
    ("old", "new", "short"),
    [
        ("A() fields a, b, c", "A() fields a, d, c", ("A() fields b, ...", "A() fields d, ...")),
        ("A() fields a", "A() fields b", ("A() fields a", "A() fields b")),
        ("A() fields a", "A() fields a, b", ("A() fields ...", "A() fields b, ...")),
        ("A() fields a, b", "", ("A() fields a, b", "")),
        ("def f(a)", "def f(b)", ("def f(a)", "def f(b)")),
    ],
)
def test_a_signature_is_shown_with_the_fields_that_the_other_lacks(old: str, new: str, short: tuple[str, str]) -> None:
    assert short_signatures(old, new) == short
