from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from patchkit.core.model import FilePatch, Hunk, HunkLine, LineKind, Patch
from patchkit.core.series import SCHEMA, HunkSpec, NotNeeded, PatchDocument, SeriesDocument, SeriesEntry, VariantSpec
from patchkit.core.unified import parse_patch
from patchkit.core.unwritten import is_unwritten
from patchkit.core.upstream import MEGATRON, PinnedCommit, Release, Target, Upstream, VersionsDocument
from patchkit.store.documents import parse_document
from patchkit.store.new_patch import (
    extended_patch,
    extended_series,
    extended_versions,
    not_carried,
    patch_text,
    refuse_bad_name,
    series_text,
    variant_text,
    versions_text,
)
from patchkit.store.yaml_rewriting import rewrite_yaml
from patchkit.store.yaml_text import parse_yaml

DOCUMENT = PatchDocument(
    schema=SCHEMA,
    name="new",
    description="PROPOSED: a thing: with a colon",
    origin="Made up.",
    author="TODO: who",
    forwarded="no",
    applied_upstream="",
    last_update="2026-01-02",
    why="One line.\n\nAnd another: one.",
    needed_when="Always.",
    drop_when="Never.",
    hunks=(HunkSpec(id="one", group="g", file="m/a.py", scope="<module>", intent="Do it."),),
    variants=(VariantSpec("v1.patch", "", ("1.0",)),),
    not_needed=(NotNeeded("Not there.", targets=("2.0",)),),
)
COMMIT = PinnedCommit(
    name="0123abcd", commit="0123abcd" * 5, date="2026-01-02", branch="dev", as_of="0.16.0", blobs={"m/a.py": "1" * 40}
)
RELEASE = Release(
    version="1.0", tag=None, commit=None, date="2026-01-02", python="", ships=("megatron.core",), blobs={}, files={}
)
VERSIONS = VersionsDocument(SCHEMA, MEGATRON)
PATCH = b"""\
# Ours.
schema: 1
name: p
hunks:
  # The first one.
  - id: one
    releases: ">=1.0"
    intent: Do it.  # soon
  - id: two
    intent: Undo it.
variants:
  - file: v1.patch     # the first
    releases: ">=1.0"
  - file: v2.patch
    targets: [main]
# The end.
"""
_NAMES = st.from_regex(r"[a-z0-9][a-z0-9-]*", fullmatch=True)
"""What patches may be called."""
SPEC = HunkSpec(id="three", group="g", file="m/a.py", scope="f", intent="Redo it.", not_on=("main",))


# What is made new.


def test_a_new_patch_is_read_back_as_it_was_meant() -> None:
    assert parse_document(PatchDocument, patch_text(DOCUMENT), "x") == DOCUMENT


def test_what_is_empty_is_not_written() -> None:
    text = patch_text(msgspec.structs.replace(DOCUMENT, not_needed=())).decode()

    keys = ("not-needed:", "not-on:", "releases:", "checks:", "needed-when: ''", "\nupstream:")
    assert [key for key in keys if key in text] == []
    assert "applied-upstream: ''\n" in text


def test_rewriting_what_was_written_changes_no_byte() -> None:
    texts = [
        patch_text(DOCUMENT),
        series_text("m", "d", {"g": "PROPOSED: x"}, [SeriesEntry("a"), SeriesEntry("b", ("a",))]),
        versions_text(VERSIONS, (COMMIT,)),
    ]

    assert [rewrite_yaml(text, "x", lambda _: None) for text in texts] == texts


def test_a_new_series_is_read_back() -> None:
    entries = (SeriesEntry("a"), SeriesEntry("b", ("a",)))

    assert parse_document(SeriesDocument, series_text("m", "d", {"g": "x"}, entries), "x") == SeriesDocument(
        SCHEMA, "m", "d", {"g": "x"}, entries
    )


@pytest.mark.parametrize("added", [COMMIT, RELEASE])
def test_versions_with_one_target_are_read_back(added: PinnedCommit | Release) -> None:
    upstream = parse_document(VersionsDocument, versions_text(VERSIONS, (added,)), "x").upstream

    assert (*upstream.releases, *upstream.commits) == (added,)


def test_versions_of_another_upstream_say_what_it_is() -> None:
    other = Upstream("d", "r", (), name="N", packages=("s/p",), source="s", tag="{version}", version_file="s/p/v.py")
    text = versions_text(VersionsDocument(SCHEMA, other=other), (COMMIT,))

    assert parse_document(VersionsDocument, text, "x").upstream == replace(other, commits=(COMMIT,))
    assert rewrite_yaml(text, "x", lambda _: None) == text


def test_a_variant_carries_the_ids_of_its_hunks() -> None:
    file = FilePatch("m/a", "m/a", (Hunk("one", 1, 1, (HunkLine(LineKind.ADDED, b"x\n"),)),))

    assert parse_patch(variant_text([file]), "x") == Patch((file,))


# What is added to what people wrote.


def test_series_and_versions_keep_their_comments() -> None:
    series = b"# Top.\nschema: 1\ngroups:\n  g: x  # why\npatches:\n  - name: a\n"
    assert extended_series(series, "x", {"h": "y"}, [SeriesEntry("b", ("a",))]) == (
        b"# Top.\nschema: 1\ngroups:\n  g: x  # why\n  h: y\n"
        b"patches:\n  - name: a\n  - name: b\n    depends:\n      - a\n"
    )
    versions = b"# Top.\nmegatron:\n  releases:\n    - version: '1.0'  # old\n  branches: []\n"
    extended = extended_versions(versions, "x", COMMIT)

    assert extended.startswith(versions)
    assert b"  commits:\n    - name: 0123abcd\n" in extended


_ODD = ["yes", "no", "on", "off", "y", "null", "1e3", "0x10", "0b1", "007", "2026-01-01"]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.sampled_from(_ODD) | _NAMES, unique=True, min_size=1, max_size=4))
def test_a_series_may_have_patches_and_groups_of_any_name_that_is_allowed(names: list[str]) -> None:
    for name in names:
        refuse_bad_name(name)
    purposes = {name: f"what {name} is for" for name in names}
    entries = tuple(SeriesEntry(name, tuple(names[:at])) for at, name in enumerate(names))
    text = series_text("m", "m", {}, ())
    for at, name in enumerate(names):
        text = extended_series(text, "x", {name: purposes[name]}, entries[at : at + 1])
    document = parse_document(SeriesDocument, text, "x")

    assert (document.groups, document.patches) == (purposes, entries)
    assert parse_document(SeriesDocument, series_text("m", "m", purposes, entries), "x") == document
    new = replace(DOCUMENT, name=names[0], hunks=tuple(replace(SPEC, id=name, group=name) for name in names))
    assert parse_document(PatchDocument, patch_text(new), "x") == new


@pytest.mark.parametrize(
    ("version", "expected"), [("0.9.1", [0, 1, 2]), ("0.10.0rc1", [1, 0, 2]), ("0.10.1", [1, 2, 0])]
)
def test_a_release_joins_the_others_in_the_order_of_versions(version: str, expected: list[int]) -> None:
    versions = b"megatron:\n  releases:\n    - version: 0.9.2  # old\n    - version: 0.10.0\n  branches: []\n"
    release = Release(
        version=version, tag=None, commit=None, date="2026-01-02", python="", ships=("m",), blobs={}, files={}
    )
    names = [version, "0.9.2", "0.10.0"]
    extended: Any = parse_yaml(extended_versions(versions, "x", release), "x")

    assert [entry["version"] for entry in extended["megatron"]["releases"]] == [names[at] for at in expected]


def test_a_comment_in_front_of_a_release_stays_there_when_one_is_added_before_it() -> None:
    one = b"    - version: '1.0'\n      files:\n        a.whl: abc\n"
    two = b"    # The newest.\n    - version: '2.0'\n      files: {}\n"
    release = Release(
        version="1.5", tag=None, commit=None, date="2026-01-02", python="", ships=("m",), blobs={}, files={}
    )
    extended = extended_versions(b"megatron:\n  releases:\n" + one + two, "x", release)

    assert extended.startswith(b"megatron:\n  releases:\n" + one + b"    - version: '1.5'\n")
    assert extended.endswith(two)


def test_hunks_are_added_dropped_and_limited_and_nothing_else_changes() -> None:
    text = extended_patch(
        PATCH, "x", [SPEC], dropped=["two"], variants=(), limits={"one": {"releases": "", "not-on": ["main"]}}
    )

    limited = b"    intent: Do it.  # soon\n    not-on:\n      - main\n"
    added = b"  - not-on:\n      - main\n    id: three\n    group: g\n"
    added += b"    file: m/a.py\n    scope: f\n    intent: Redo it.\n"
    assert text == PATCH.replace(b'    releases: ">=1.0"\n    intent: Do it.  # soon\n', limited).replace(
        b"  - id: two\n    intent: Undo it.\n", added
    )


def test_variants_are_edited_in_place_and_new_ones_come_last() -> None:
    told = [
        {"file": "v1.patch", "releases": ">=1.0,<2.0", "targets": []},
        {"file": "v2.patch", "releases": "", "targets": ["main"]},
        {"file": "v3.patch", "releases": ">=2.0", "targets": []},
    ]

    assert extended_patch(PATCH, "x", [], dropped=(), variants=told) == PATCH.replace(
        b'    releases: ">=1.0"\n  - file: v2', b'    releases: ">=1.0,<2.0"\n  - file: v2'
    ).replace(b"    targets: [main]\n", b"    targets: [main]\n  - file: v3.patch\n    releases: '>=2.0'\n")


# What waits for a person.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PROPOSED: x", True),
        ("TODO: x", True),
        ("TODO x", False),
        ("What is PROPOSED: x", False),
        ("x", False),
        ("", False),
    ],
)
def test_texts_that_wait_for_a_person_say_so_at_their_beginning(text: str, expected: bool) -> None:
    assert is_unwritten(text) is expected


def test_targets_that_a_patch_is_not_carried_to_are_marked_as_waiting() -> None:
    target = Target("1.0", "1.0", None, None, {}, RELEASE)
    (entry,) = not_carried("p", target, ["2.0", "main"])

    assert (entry.targets, is_unwritten(entry.reason)) == (("2.0", "main"), True)
    assert entry.reason == (
        "TODO: why these do not need it, if so; it is made for v1.0 alone, and `patchkit rebase p --onto TARGET` "
        "carries it"
    )
    assert not_carried("p", target, ()) == ()
