"""A revision is called as git knows it, or as people call the release of which it has the tag."""

from __future__ import annotations

import pytest

from patchkit.core.upstream import MEGATRON
from patchkit.errors import RevisionNotFoundError
from patchkit.operations.revisions import revision_called


class Clone:
    """A clone with some names; it remembers what it was asked for."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.asked: list[str] = []

    def find(self, name: str) -> str:
        self.asked.append(name)
        if name not in self.names:
            raise RevisionNotFoundError(f"no revision {name!r}", hint="fetch it")
        return name


@pytest.mark.parametrize("asked", ["0.16.0", "v0.16.0", "core_0.16.0"])
def test_a_release_is_found_by_its_tag(asked: str) -> None:
    clone = Clone("core_v0.16.0")

    assert revision_called(asked, MEGATRON, clone.find) == "core_v0.16.0"
    assert clone.asked == [asked, "core_v0.16.0"]


def test_a_name_that_git_knows_is_that_and_no_release() -> None:
    clone = Clone("v0.16.0", "core_v0.16.0")

    assert revision_called("v0.16.0", MEGATRON, clone.find) == "v0.16.0"
    assert clone.asked == ["v0.16.0"]


def test_an_error_names_what_was_asked_for_and_the_tag() -> None:
    with pytest.raises(RevisionNotFoundError) as caught:
        revision_called("v0.16.0", MEGATRON, Clone().find)

    assert (caught.value.message, caught.value.hint) == ("no revision 'v0.16.0', and no tag 'core_v0.16.0'", "fetch it")


@pytest.mark.parametrize("asked", ["main", "core_v0.16.0", "abcdef1", "v", "0.16.0-dirty"])
def test_what_no_release_is_called_by_another_name_is_looked_for_once(asked: str) -> None:
    clone = Clone()
    with pytest.raises(RevisionNotFoundError, match=f"^no revision '{asked}'$"):
        revision_called(asked, MEGATRON, clone.find)

    assert clone.asked == [asked]
