from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.rebasing.memory import Around, Resolution, Sides
from patchkit.errors import StoreError
from patchkit.store.documents import parse_document
from patchkit.store.memory import load_resolutions, print_resolution, resolution_file


def kept(text: str = "if x:\n    a = 3\n") -> Resolution:
    return Resolution(
        schema=1,
        patch="first",
        hunks=("one",),
        file="m/a.py",
        conflict=Sides("a = 1\n", "a = 2\n", ""),
        in_base=Around(("x = 1",), ()),
        in_target=Around((), ("y: 2",)),
        resolution=text,
        author="A U Thor <author@example.org>",
        reason="It must be so.\nReally.",
        base="v1.0",
        target="v2.0",
    )


def test_a_resolution_reads_like_text() -> None:
    assert (
        print_resolution(kept()).decode()
        == """\
# A conflict that a person has solved, kept by `patchkit rebase`. It is used again only where the conflict and the
# lines around it are the same. Delete the file to be asked again.
schema: 1
patch: first
hunks:
- one
file: m/a.py
author: A U Thor <author@example.org>
reason: |-
  It must be so.
  Really.
base: v1.0
target: v2.0
conflict:
  base: |
    a = 1
  changed: |
    a = 2
  target: ''
in-base:
  before:
  - x = 1
  after: []
in-target:
  before: []
  after:
  - 'y: 2'
resolution: |
  if x:
      a = 3
"""
    )


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_whatever_was_written_is_read_back(text: str) -> None:
    assert parse_document(Resolution, print_resolution(kept(text)), "file") == kept(text)


def test_resolutions_are_known_by_the_name_of_their_file(tmp_path: Path) -> None:
    assert load_resolutions(tmp_path) == {}
    file = tmp_path / resolution_file("one-0123456789ab")
    file.parent.mkdir()
    file.write_bytes(print_resolution(kept()))

    assert load_resolutions(tmp_path) == {"one-0123456789ab": kept()}


def test_a_resolution_that_says_something_else_is_refused_with_file_and_key(tmp_path: Path) -> None:
    file = tmp_path / resolution_file("one")
    file.parent.mkdir()
    file.write_bytes(print_resolution(kept()).replace(b"author:", b"autor:"))
    with pytest.raises(StoreError, match=r"one\.yaml.*autor"):
        load_resolutions(tmp_path)
