from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.series import Applicability, PatchDocument, VariantSpec
from patchkit.core.upstream import Release, Target
from patchkit.operations.applicability import applicability, split_variant
from patchkit.operations.coverage import applies, variants_for
from patchkit.store.documents import parse_document

from .made_up import SOURCES


def release(version: str) -> Target:
    entry = Release(version=version, tag=None, commit=None, date="", python="", ships=(), blobs={}, files={})
    return Target(version, version, None, None, {}, entry)


def branch(name: str, as_of: str) -> Target:
    return Target(name, as_of, None, None, {}, None)


RELEASES = tuple(release(version) for version in ("1.0", "1.1", "2.0", "2.1", "3.0"))
MAIN, DEV = branch("main", "3.0"), branch("dev", "2.0")
ALL = (*RELEASES, MAIN, DEV)
DOCUMENT = parse_document(PatchDocument, SOURCES["loose/patch.yaml"], "x")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ([target.name for target in ALL], Applicability()),
        (["main"], Applicability(only_on=("main",))),
        (["2.0", "2.1", "dev"], Applicability(releases=">=2.0,<3.0")),
        (["2.0", "2.1"], Applicability(releases=">=2.0,<3.0", not_on=("dev",))),
        (["3.0", "main"], Applicability(releases=">=3.0")),
        (["1.0"], Applicability(releases="<1.1")),
        (["1.0", "2.0", "dev"], Applicability(releases="!=1.1,<2.1")),
        # The branch is as of a release that is left out: no range has the one without the other.
        (["1.0", "main"], None),
        (["1.0", "1.1", "2.0", "2.1", "dev", "main"], None),
    ],
)
def test_ranges_are_found_for_targets(wanted: list[str], expected: Applicability | None) -> None:
    assert applicability(wanted, ALL) == expected


@given(st.sets(st.sampled_from([target.name for target in ALL])))
def test_what_is_found_holds_for_exactly_these_targets(wanted: set[str]) -> None:
    found = applicability(wanted, ALL)

    if found is not None:
        assert {target.name for target in ALL if applies(found, target)} == wanted
    elif not any(name in wanted for name in ("main", "dev")):
        # Releases alone can always be told, branches aside.
        assert not wanted


def variants(*specs: VariantSpec) -> PatchDocument:
    return msgspec.structs.replace(DOCUMENT, variants=specs)


V1, V2 = VariantSpec("v1.patch", "<2.0"), VariantSpec("v2.patch", ">=2.0")


@pytest.mark.parametrize(
    ("moved", "expected"),
    [
        # A range is cut in two where the releases allow it,
        (["3.0", "main"], (VariantSpec("v2.patch", ">=2.0,<3.0"), VariantSpec("new.patch", ">=3.0"))),
        (["2.0", "2.1", "dev"], (VariantSpec("v2.patch", ">=3.0"), VariantSpec("new.patch", ">=2.0,<3.0"))),
        # branches that go the other way are named,
        (["3.0"], (VariantSpec("v2.patch", ">=2.0,<3.0", ("main",)), VariantSpec("new.patch", ">=3.0"))),
        # and where releases lie between each other, all that go are named.
        (["2.1"], (VariantSpec("v2.patch", ">=2.0"), VariantSpec("new.patch", "", ("2.1",)))),
        (["main"], (VariantSpec("v2.patch", ">=2.0"), VariantSpec("new.patch", "", ("main",)))),
    ],
)
def test_a_variant_is_divided(moved: list[str], expected: tuple[VariantSpec, ...]) -> None:
    assert split_variant(variants(V1, V2), V2, "new.patch", moved, ALL) == (V1, *expected)


def test_a_variant_that_names_its_targets_gives_some_away() -> None:
    old = VariantSpec("v1.patch", "", ("1.0", "main", "dev"))

    assert split_variant(variants(old), old, "new.patch", ["main"], ALL) == (
        VariantSpec("v1.patch", "", ("1.0", "dev")),
        VariantSpec("new.patch", "", ("main",)),
    )


@given(st.sets(st.sampled_from(["2.0", "2.1", "3.0", "main", "dev"]), min_size=1, max_size=4))
def test_every_target_has_the_variant_it_is_meant_to_have_and_one_alone(moved: set[str]) -> None:
    document = variants(V1, V2)
    changed = msgspec.structs.replace(document, variants=split_variant(document, V2, "new.patch", moved, ALL))
    expected = {
        target.name: ["new.patch" if target.name in moved else "v1.patch" if target.name < "2" else "v2.patch"]
        for target in ALL
    }

    assert {target.name: [one.file for one in variants_for(changed, target)] for target in ALL} == expected
