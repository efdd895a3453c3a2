from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from patchkit.core.version_range import in_range


@pytest.mark.parametrize(
    ("version", "specifier", "inside"),
    [
        ("0.13.0", "", True),
        ("0.13.0", ">=0.13.0", True),
        ("0.13.0", ">0.13.0", False),
        ("0.13.0", ">=0.12.0,<0.13.0", False),
        ("0.12.3", ">=0.12.0,<0.13.0", True),
        ("0.9.0", "<0.13.0", True),
        ("0.13.0", "==0.13.*", True),
        ("0.13.0", "!=0.13.0", False),
        ("0.13", ">=0.13.0", True),
        ("0.13.0", "<=0.13", True),
        ("0.13.1", "<=0.13", False),
        ("0.13.0", " >= 0.12 , < 0.14 ", True),
        ("0.9", "<0.10", True),
        ("0.20.0rc1", ">=0.19.0", True),
        ("0.20.0rc1", ">=0.20.0", False),
    ],
)
def test_ranges_are_those_of_pep_440_with_pre_releases(version: str, specifier: str, inside: bool) -> None:
    assert inside == in_range(version, specifier)


versions = st.lists(st.integers(0, 12), min_size=1, max_size=4).map(lambda numbers: ".".join(map(str, numbers)))
specifiers = st.lists(
    st.builds("{}{}{}".format, st.sampled_from(["", " "]), st.sampled_from([">=", "<=", ">", "<"]), versions),
    max_size=3,
).map(",".join)


@settings(deadline=None, max_examples=300)
@given(versions, specifiers)
def test_plain_ranges_mean_what_packaging_says(version: str, specifier: str) -> None:
    assert SpecifierSet(specifier).contains(version, prereleases=True) == in_range(version, specifier)


@pytest.mark.parametrize("specifier", ["", ">=0.12.0,<0.13.0"])
def test_plain_ranges_need_no_packaging(monkeypatch: pytest.MonkeyPatch, specifier: str) -> None:
    monkeypatch.setattr("packaging.specifiers.SpecifierSet", lambda _: pytest.fail("loaded"))

    assert in_range("0.12.3", specifier)
