from __future__ import annotations

import msgspec

from patchkit.operations.unwritten import unwritten

from .made_up import workspace


def test_a_series_that_people_wrote_has_nothing_that_waits() -> None:
    series = workspace().sources.series

    assert [found for patch in series.patches for found in unwritten(patch.document)] == []
    assert list(unwritten(series.document)) == []


def test_every_marked_text_is_named_by_its_key() -> None:
    document = workspace().sources.series.patch("grads").document
    hunk = msgspec.structs.replace(document.hunks[1], intent="PROPOSED: do it")
    marked = msgspec.structs.replace(
        document,
        author="TODO: who",
        hunks=(document.hunks[0], hunk, *document.hunks[2:]),
        why="Not TODO: at its start.",
    )

    assert list(unwritten(marked)) == [("author", "TODO: who"), ("hunks[1].intent", "PROPOSED: do it")]
    series = msgspec.structs.replace(workspace().sources.series.document, groups={"g": "PROPOSED: x"})
    assert list(unwritten(series)) == [("groups.g", "PROPOSED: x")]
