from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit.errors import StoreError, UsageError
from patchkit.store.yaml_rewriting import (
    add_entry,
    flow,
    insert_entry,
    literal,
    mapping,
    plain,
    print_rewritten,
    rewrite_yaml,
)
from patchkit.store.yaml_text import parse_yaml, print_yaml

COMMENTED = b"""\
# Kept by hand.
schema: 1   # the format

releases:
  # The first one.
  - version: 0.1.0
    tag: null
    "quoted": 'single'
    date: 2026-11-29
    blobs:  # of its files
      b.py: "2"

    # Behind the blobs.
    files: {}
  - version: "0.2.0"
    note: >-
      a folded
      text
    blobs:
      b.py: 2  # behind the entry
      # Behind the blobs.

# Between the sections.
other: [a, b]
empty: {}  # nothing yet
# The end.
"""


def test_a_rewrite_that_changes_nothing_gives_the_same_bytes() -> None:
    assert rewrite_yaml(COMMENTED, "f.yaml", lambda _: None) == COMMENTED


SAID = [
    *("a", "pkg/file_1.py", "<module>", "A.b", "y", "No", "off", "null", "e5", "1.5", "2026-01-01", "", "-a", "a: b"),
    *(
        "PROPOSED: it's 'x': y",
        "PROPOSED: a # b",
        "TODO: x ",
        "A:  ",
        "A: \u00fc",
        "A: a\nb\n",
        "A: \x7f",
        "A: " + "b " * 600,
    ),
]


@pytest.mark.parametrize("text", SAID)
def test_values_are_printed_as_rewriting_prints_them(text: str) -> None:
    value = {
        "schema": 1,
        "said": text,
        "hunks": [{"id": "a", "said": text}, {"said": text, "list": [text]}],
        "none": [],
        "texts": [text],
        "variants": [{"file": text, "number": 1}],
    }

    assert print_rewritten(value, "One.\nTwo.") == rewrite_yaml(print_yaml(value, "One.\nTwo."), "", lambda _: None)


def test_entries_are_added_before_the_comments_that_stand_behind_the_mapping() -> None:
    def change(document: Any) -> None:
        for release in document["releases"]:
            add_entry(release, "blobs", "a.py", "1")
            add_entry(release, "blobs", "b.py", "never written")
            add_entry(release, "blobs", "c.py", "3e4")
        add_entry(document, "empty", "x", "y")

    expected = (
        COMMENTED.replace(b'      b.py: "2"\n', b"      b.py: \"2\"\n      a.py: '1'\n      c.py: '3e4'\n")
        .replace(b"behind the entry\n", b"behind the entry\n      a.py: '1'\n      c.py: '3e4'\n")
        .replace(b"empty: {}  # nothing yet\n", b"empty:     # nothing yet\n  x: y\n")
    )
    assert expected == rewrite_yaml(COMMENTED, "f.yaml", change)


@pytest.mark.parametrize(
    "first",
    [
        "- {a: 1}",
        "- a: 1",
        "- a: 1  # own",
        "- a: [1, 2]  # own",
        "- a: {b: [1]}",
        "- a:\n      b:\n        c: 1  # own",
        "- a:\n      - 1\n      - 2  # own",
        "- a: {}",
    ],
)
@pytest.mark.parametrize(
    ("value", "printed"),
    [({"b": 2}, "- b: 2"), ({"b": {"c": 2}}, "- b:\n      c: 2"), ({"b": ["x"]}, "- b:\n      - x")],
)
def test_an_entry_is_inserted_before_the_comment_that_stands_in_front_of_the_next(
    first: str, value: dict[str, Any], printed: str
) -> None:
    text = f"items:\n  {first}\n\n  # The second.\n  - c: 3\n\n# The end.\nmore: 1\n"
    expected = text.replace("\n\n  # The second", f"\n  {printed}\n\n  # The second")
    at_the_end = text.replace("\n\n# The end", f"\n  {printed}\n\n# The end")

    def inserted(at: int) -> str:
        return rewrite_yaml(text.encode(), "x", lambda document: insert_entry(document, "items", at, value)).decode()

    assert (inserted(1), inserted(2)) == (expected, at_the_end)


NAMES = (
    *("yes", "Yes", "NO", "on", "off", "y", "n", "true", "null", "~", "", "1e3", "1.5e+3", "0x10", "0b1", "0o7", "010"),
    *(
        "1_000",
        "12:30:45",
        "1:1",
        "1.",
        ".inf",
        ".nan",
        "2026-01-01",
        "=",
        "<<",
        "-",
        "?",
        "._",
        "...",
        "---",
        "a: b",
        "a #b",
    ),
    *("\x85", "a\u2028b\nc", "\0", "\ufeff", "\t", " a ", "a\nb\n"),
)
"""Strings that some YAML takes for something else when they have no quotes."""
strings = st.sampled_from(NAMES) | st.text(max_size=20) | st.from_regex(r"[0-9a-z:._-]{1,8}", fullmatch=True)


def rewritten(name: str, text: str) -> tuple[object, object]:
    """What a document reads as in which strings of ours stand as key, value and item, and what it was meant to be."""
    ours = {"values": [name, {"k": name, name: text}], "flow": [name, text], "block": text, "same": name}

    def change(document: Any) -> None:
        add_entry(document, "groups", name, text)
        insert_entry(document, "values", 1, mapping({"k": name, name: text}))
        document |= {"flow": flow([name, text]), "block": literal(text), "same": plain(name)}

    written = rewrite_yaml(print_yaml({"groups": {"g": "x"}, "values": [name]}, "c"), "f.yaml", change)
    again = rewrite_yaml(written, "f.yaml", lambda _: None)
    assert written == again
    return parse_yaml(written, "f.yaml"), {"groups": {"g": "x", name: text}, **ours}


@pytest.mark.parametrize("name", NAMES)
def test_a_string_that_is_written_is_read_as_that_string(name: str) -> None:
    found, meant = rewritten(name, name)

    assert found == meant


@settings(deadline=None, max_examples=50)
@given(strings.filter(lambda name: name not in ("g", "k")), strings)
def test_any_string_that_is_written_is_read_as_that_string(name: str, text: str) -> None:
    found, meant = rewritten(name, text)

    assert found == meant


def test_what_somebody_wrote_without_quotes_stays_without() -> None:
    text = b"a: yes\non: off  # soon\nb: &x 12:30\nc: *x\nd: 2026-01-01\ne: 0x1F\nf: [on, 'no', 1_000]\n"

    assert rewrite_yaml(text, "f.yaml", lambda _: None) == text


def test_malformed_yaml_is_not_rewritten() -> None:
    with pytest.raises(StoreError, match=r"^f\.yaml: not valid YAML: "):
        rewrite_yaml(b"a: [", "f.yaml", lambda _: None)


def test_a_rewrite_writes_no_text_that_nobody_could_read_again() -> None:
    def change(document: Any) -> None:
        document["name"] = "a\udcff"

    with pytest.raises(UsageError) as caught:
        rewrite_yaml(b"name: b\n", "x.yaml", change)
    assert caught.value.message == "'a\\udcff' is not UTF-8, as names and texts in YAML must be"
