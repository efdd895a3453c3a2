"""What reports say of drift."""

from __future__ import annotations

import pytest

from patchkit.core.carry_report import DriftReport, drift_details, signature_parts


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
