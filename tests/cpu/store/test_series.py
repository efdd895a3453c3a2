from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from patchkit.core.series import ROOMS, no_name
from patchkit.core.unified import parse_patch
from patchkit.errors import PatchFormatError, StoreError, UsageError
from patchkit.store.series import Series, SeriesPatch, load_series

from .made_up import PATCH, SERIES, VARIANT, lay_series


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return lay_series(tmp_path / "patches" / "m")


def names(patches: tuple[SeriesPatch, ...]) -> list[str]:
    return [patch.name for patch in patches]


def test_patches_are_loaded_in_the_order_of_the_series(folder: Path) -> None:
    series = load_series(folder)

    found = [(patch.name, patch.folder, patch.depends, dict(patch.scopes)) for patch in series.patches]
    assert [
        ("one", folder / "one", (), {"hunk": "<module>"}),
        ("two", folder / "two", ("one",), {"hunk": "<module>"}),
        ("three", folder / "three", (), {"hunk": "<module>"}),
        ("four", folder / "four", ("two",), {"hunk": "<module>"}),
    ] == found


def test_a_patch_has_the_texts_of_the_variants_that_it_names(folder: Path) -> None:
    (folder / "one" / "variants" / "unnamed.patch").write_text("garbage")
    text = VARIANT.format(name="one").encode()

    assert {"v1.patch": text, "v2.patch": text} == load_series(folder).patch("one").texts


def test_a_variant_is_parsed_when_it_is_asked_for(folder: Path) -> None:
    (folder / "one" / "variants" / "v2.patch").write_text("--- a/m/one.py\n+++ b/m/one.py\n@@ -1,2 +1 @@\n-a\n+b\n")
    patch = load_series(folder).patch("one")

    assert parse_patch(VARIANT.format(name="one").encode(), "") == patch.variant("v1.patch")
    with pytest.raises(PatchFormatError) as caught:
        patch.variant("v2.patch")
    assert (str(folder / "one" / "variants" / "v2.patch"), 3) == (caught.value.file, caught.value.line)


@pytest.mark.parametrize(
    ("asked", "with_dependencies", "with_dependents"),
    [
        ([], ["one", "two", "three", "four"], ["one", "two", "three", "four"]),
        (["one"], ["one"], ["one", "two", "four"]),
        (["two"], ["one", "two"], ["two", "four"]),
        (["three"], ["three"], ["three"]),
        (["four"], ["one", "two", "four"], ["four"]),
        (["three", "two"], ["one", "two", "three"], ["two", "three", "four"]),
        (["four", "one", "four"], ["one", "two", "four"], ["one", "two", "four"]),
    ],
    ids=lambda value: "+".join(value) or "none",
)
def test_what_a_patch_needs_and_what_needs_it_come_along_in_series_order(
    folder: Path, asked: list[str], with_dependencies: list[str], with_dependents: list[str]
) -> None:
    series = load_series(folder)

    found = (names(series.with_dependencies(asked)), names(series.with_dependents(asked)))
    assert (with_dependencies, with_dependents) == found


@pytest.mark.parametrize(
    "ask",
    [
        lambda series: series.patch("five"),
        lambda series: series.with_dependencies(["one", "five"]),
        lambda series: series.with_dependents(["one", "five"]),
    ],
    ids=["one", "with dependencies", "with dependents"],
)
def test_an_unknown_patch_is_a_usage_error_that_lists_the_known_ones(
    folder: Path, ask: Callable[[Series], object]
) -> None:
    with pytest.raises(UsageError) as caught:
        ask(load_series(folder))

    expected = ("the series has no patch 'five'", "patches: one, two, three, four")
    assert expected == (caught.value.message, caught.value.hint)


@pytest.mark.parametrize(
    ("file", "old", "new", "where", "key", "problem"),
    [
        ("series.yaml", "- name: three", "- name: one", "series.yaml", "patches[2].name", "'one' is there twice"),
        (
            "series.yaml",
            "[one]",
            "[three]",
            "series.yaml",
            "patches[1].depends",
            "'two' depends on 'three', which does not stand before it",
        ),
        (
            "series.yaml",
            "[one]",
            "[two]",
            "series.yaml",
            "patches[1].depends",
            "'two' depends on 'two', which does not stand before it",
        ),
        (
            "series.yaml",
            "[one]",
            "[five]",
            "series.yaml",
            "patches[1].depends",
            "'two' depends on 'five', which does not stand before it",
        ),
        ("series.yaml", "- name: three", "- name: five", "five/patch.yaml", None, "No such file or directory"),
        *(
            ("series.yaml", "- name: three", f"- name: {room}", "series.yaml", "patches[2] (line 10)", no_name(room))
            for room in sorted(ROOMS)
        ),
        ("two/patch.yaml", "name: two", "name: too", "two/patch.yaml", "name", "'too' differs from the folder 'two'"),
        ("two/patch.yaml", "v2.patch", "v3.patch", "two/variants/v3.patch", None, "No such file or directory"),
        (
            "two/patch.yaml",
            "why: w\n",
            "",
            "two/patch.yaml",
            "the document (line 1)",
            "Object missing required field `why`",
        ),
    ],
    ids=[
        "patch twice",
        "depends on a later one",
        "depends on itself",
        "depends on an unknown one",
        "no folder",
        *(f"called {room}" for room in sorted(ROOMS)),
        "folder of another name",
        "no variant",
        "wrong document",
    ],
)
def test_a_wrong_series_is_named_with_file_and_key(  # noqa: PLR0917 - the columns of the table
    folder: Path, file: str, old: str, new: str, where: str, key: str | None, problem: str
) -> None:
    text = (folder / file).read_text()
    (folder / file).write_text(text.replace(old, new, 1))

    with pytest.raises(StoreError) as caught:
        load_series(folder)

    path = str(folder / where)
    message = f"{path}: {key}: {problem}" if key else f"{path}: {problem}"
    assert (path, key, message) == (caught.value.file, caught.value.key, caught.value.message)


def digests(folder: Path) -> dict[str, str]:
    """The digest of the series and of each patch."""
    series = load_series(folder)
    return {"series": series.digest} | {patch.name: patch.digest for patch in series.patches}


def test_a_digest_depends_on_the_sources_alone(folder: Path, tmp_path: Path) -> None:
    other = lay_series(tmp_path / "elsewhere")
    (other / "lock.yaml").write_text("of no importance")
    (other / "one" / "README").write_text("of no importance")

    assert digests(folder) == digests(other)
    assert [digest[:7] for digest in digests(folder).values()] == ["sha256:"] * 5
    assert [len(digest) for digest in digests(folder).values()] == [71] * 5


def test_a_digest_is_that_of_names_and_contents_so_that_every_lock_stays_valid(tmp_path: Path) -> None:
    found = digests(lay_series(tmp_path / "m"))

    assert found == {
        "series": "sha256:0e7d01e854b01fde693a46b35f6f7da9e656b8d323ec693818cfcbb6baf3dc19",
        "one": "sha256:36478c5ae887653233ef1b8acb0edb7111fa2edfa99bb17063dd9d83c84727ba",
        "two": "sha256:34fccbf4e6ff14b8b21bf13c2919d2a862b299db220dcb4d18c42662057f72ee",
        "three": "sha256:8ce6b55ccc2c7a9064451c9261429fd683455e916eeb08c8105417ce78a4673b",
        "four": "sha256:c4355a9ae4069697ba0f6cc3fbbf874a7fd70dd16ecb75a707dc0f639593b513",
    }


@pytest.mark.parametrize("variant", ["v1.patch", "v2.patch"])
def test_any_changed_byte_of_a_variant_changes_the_digests_of_its_patch_and_of_the_series(
    folder: Path, variant: str
) -> None:
    path = folder / "two" / "variants" / variant
    text = path.read_bytes()
    before = digests(folder)
    seen = {before["series"]}
    for position in range(len(text)):
        path.write_bytes(text[:position] + bytes([text[position] ^ 1]) + text[position + 1 :])
        after = digests(folder)
        seen.add(after["series"])
        assert {"series", "two"} == {name for name in before if before[name] != after[name]}

    assert len(text) + 1 == len(seen)


@pytest.mark.parametrize(
    ("file", "text", "changed"),
    [
        ("series.yaml", f"# a comment\n{SERIES}", {"series"}),
        ("one/patch.yaml", f"# a comment\n{PATCH.format(name='one')}", {"series", "one"}),
        ("one/variants/v1.patch", f"\n{VARIANT.format(name='one')}", {"series", "one"}),
        ("one/variants/v2.patch", VARIANT.format(name="one"), set()),
    ],
    ids=["series.yaml", "patch.yaml", "variant", "the same bytes"],
)
def test_each_source_counts_in_its_own_digest(folder: Path, file: str, text: str, changed: set[str]) -> None:
    before = digests(folder)
    (folder / file).write_text(text)

    after = digests(folder)
    assert changed == {name for name in before if before[name] != after[name]}


def test_variants_that_exchange_their_texts_change_the_digest(folder: Path) -> None:
    one, two = folder / "one" / "variants" / "v1.patch", folder / "one" / "variants" / "v2.patch"
    one.write_text("first\n")
    two.write_text("second\n")
    before = digests(folder)
    one.write_text("second\n")
    two.write_text("first\n")

    assert {"series", "one"} == {name for name, digest in digests(folder).items() if before[name] != digest}


def test_variants_that_are_too_large_together_are_not_read(folder: Path) -> None:
    for name in ("one", "two", "three"):
        for file in ("v1.patch", "v2.patch"):
            os.truncate(folder / name / "variants" / file, 250 << 20)
    with pytest.raises(StoreError) as caught:
        load_series(folder)

    assert caught.value.message == f"{folder}: its files have more than 1024 MiB together"
