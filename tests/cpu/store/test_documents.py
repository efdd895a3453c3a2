from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from patchkit.core.series import PatchDocument, SeriesDocument, SeriesEntry
from patchkit.core.upstream import VersionsDocument
from patchkit.errors import StoreError
from patchkit.store.documents import load_document, parse_document, read_file

from .made_up import PATCH, SERIES

TEXT = PATCH.format(name="one")


@pytest.mark.parametrize(
    ("old", "new", "where", "problem"),
    [
        ("last-update: 2026-11-29\n", "", "the document (line 1)", "Object missing required field `last-update`"),
        ("why: w", "why: w\nwhyy: w", "the document (line 1)", "Object contains unknown field `whyy`"),
        ("why: w", "why: 1", "why (line 9)", "Expected `str`, got `int`"),
        ("schema: 1", "schema: 2", "schema (line 1)", "Expected `int` <= 1"),
        ("schema: 1", "schema: '1'", "schema (line 1)", "Expected `int`, got `str`"),
        ("why: w", f"why: {'1' * 40}", "why (line 9)", "Expected `str`, got `int`"),
        ("why: w", "why: &w [*w]", "line 9", "aliases make 1000002 values of it"),
        ("    scope: <module>\n", "", "hunks[0] (line 13)", "Object missing required field `scope`"),
        ("scope: <module>", "scopes: <module>", "hunks[0] (line 13)", "Object contains unknown field `scopes`"),
        ("scope: <module>", "scope: [a]", "hunks[0].scope (line 16)", "Expected `str`, got `array`"),
        ("targets: [main]", "targets: main", "variants[1].targets (line 22)", "Expected `array`, got `str`"),
        ("[main]", "[main, 1]", "variants[1].targets[1] (line 22)", "Expected `str`, got `int`"),
        ('forwarded: "no"', "forwarded: no", "forwarded (line 6)", "Expected `str`, got `bool`"),
        (TEXT, "- a\n", "the document (line 1)", "Expected `object`, got `array`"),
        ("why: w", "1: w", "the document (line 1)", "in a key: Expected `str`"),
    ],
    ids=[
        "missing key",
        "unknown key",
        "wrong type",
        "newer format",
        "format that is text",
        "number too large for any cache",
        "list that holds itself",
        "missing key further in",
        "unknown key further in",
        "wrong type further in",
        "no list",
        "wrong type in a list",
        "no text",
        "no mapping",
        "key that is no text",
    ],
)
def test_a_wrong_document_is_named_with_file_key_and_line(old: str, new: str, where: str, problem: str) -> None:
    assert TEXT.count(old) == 1

    with pytest.raises(StoreError) as caught:
        parse_document(PatchDocument, TEXT.replace(old, new).encode(), "one/patch.yaml")

    found = (caught.value.file, caught.value.key, caught.value.message)
    assert ("one/patch.yaml", where, f"one/patch.yaml: {where}: {problem}") == found


@pytest.mark.parametrize(
    ("groups", "where", "problem"),
    [
        ("{plumbing: 1}", "groups[...] (line 4)", "Expected `str`, got `int`"),
        ("{1: text}", "groups (line 4)", "in a key: Expected `str`, got `int`"),
        ("[plumbing]", "groups (line 4)", "Expected `object`, got `array`"),
    ],
    ids=["wrong value", "wrong key", "no mapping"],
)
def test_an_entry_of_a_mapping_is_named_by_the_mapping(groups: str, where: str, problem: str) -> None:
    text = SERIES.replace("groups:\n  plumbing: How the flag travels.\n", f"groups: {groups}\n")

    with pytest.raises(StoreError) as caught:
        parse_document(SeriesDocument, text.encode(), "series.yaml")

    assert (where, f"series.yaml: {where}: {problem}") == (caught.value.key, caught.value.message)


def test_malformed_yaml_in_a_document_is_named_with_its_line() -> None:
    with pytest.raises(StoreError) as caught:
        parse_document(SeriesDocument, SERIES.replace("  - name: two", " - name: two").encode(), "series.yaml")

    assert caught.value.message.startswith("series.yaml: line 8, column 2: not valid YAML: ")


def test_a_document_is_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "series.yaml").write_text(SERIES)

    entries = (
        SeriesEntry("one"),
        SeriesEntry("two", ("one",)),
        SeriesEntry("three"),
        SeriesEntry("four", ("two",)),
    )
    expected = SeriesDocument(1, "m", "m-core", {"plumbing": "How the flag travels."}, entries)
    assert expected == load_document(SeriesDocument, tmp_path / "series.yaml")


@pytest.mark.parametrize("text", [b"", b"# only words\n", b"---\n", b"~\n"])
def test_a_document_without_anything_in_it_is_told_as_that(text: bytes) -> None:
    with pytest.raises(StoreError) as caught:
        parse_document(SeriesDocument, text, "series.yaml")
    assert (caught.value.message, caught.value.hint) == (
        "series.yaml: there is nothing in it",
        "get it back from its history, or remove it where it was not meant to be",
    )


LINK = "remove the link, or put a copy of what it should lead to in its place"
PUT = "put the file that belongs there in its place"


@pytest.mark.parametrize(
    ("make", "problem", "hint"),
    [
        (lambda _: None, "No such file or directory", None),
        (Path.mkdir, "it is no regular file but a folder", PUT),
        (os.mkfifo, "it is no regular file but a named pipe", PUT),
        (lambda file: file.symlink_to("gone"), "it is a link, and what it leads to is not there", LINK),
        (lambda file: file.symlink_to(file.name), "Too many levels of symbolic links", LINK),
    ],
    ids=["nothing", "folder", "pipe", "link to nothing", "link without an end"],
)
def test_a_file_that_cannot_be_read_is_named_with_the_reason_and_what_to_do(
    tmp_path: Path, make: Callable[[Path], None], problem: str, hint: str | None
) -> None:
    path = tmp_path / "a.yaml"
    make(path)

    with pytest.raises(StoreError) as caught:
        read_file(path)

    expected = (str(path), None, f"{path}: {problem}", hint)
    assert (caught.value.file, caught.value.key, caught.value.message, caught.value.hint) == expected


def test_dates_and_versions_of_upstream_stay_text() -> None:
    text = b"""\
schema: 1
megatron:
  distribution: d
  repository: r
  releases: []
  branches:
    - {name: main, commit: 0123456789abcdef0123456789abcdef01234567, date: 2026-11-29, as-of: 0.20.0, blobs: {}}
torch-memory-saver: {distribution: d, repository: r, releases: []}
"""
    document = parse_document(VersionsDocument, text, "v.yaml")

    assert [(branch.date, branch.as_of) for branch in document.upstream.branches] == [("2026-11-29", "0.20.0")]


@pytest.mark.parametrize(
    "mark",
    ["<<<<<<< HEAD", "||||||| merged common ancestors", ">>>>>>> topic", "<<<<<<<<", ">>>>>>>>> topic", "<<<<<<<\r"],
)
@pytest.mark.parametrize("indent", ["", "  ", "\t", "        "])
def test_a_marked_conflict_is_refused_by_file_and_line(mark: str, indent: str) -> None:
    text = SERIES.replace("schema: 1\n", f"schema: 1\n{indent}{mark}\n")

    with pytest.raises(StoreError) as caught:
        parse_document(SeriesDocument, text.encode(), "series.yaml")

    assert (caught.value.message, caught.value.hint) == (
        "series.yaml: line 2: a conflict is marked here",
        "solve it and take the marks away",
    )


def test_a_conflict_within_a_text_of_several_lines_is_no_text() -> None:
    conflict = "why: |\n  w\n  <<<<<<< HEAD\n  one\n  =======\n  two\n  >>>>>>> topic\n"
    with pytest.raises(StoreError, match=r"one/patch\.yaml: line 11: a conflict is marked here"):
        parse_document(PatchDocument, TEXT.replace("why: w\n", conflict).encode(), "one/patch.yaml")


@pytest.mark.parametrize("line", ["=======", "<<<<<< six", "a <<<<<<< b", "<<<<<<<a", ">>> doctest", "|||||||||||x"])
def test_what_only_looks_like_a_mark_is_text(line: str) -> None:
    text = TEXT.replace("why: w\n", f"why: |\n  w\n  {line}\n")

    assert parse_document(PatchDocument, text.encode(), "one/patch.yaml").why == f"w\n{line}\n"
