from __future__ import annotations

import pytest
from msgspec.structs import replace

from patchkit.errors import StoreError
from patchkit.operations.layers import layers, result
from patchkit.operations.regenerate import build_target
from patchkit.trees.memory import MemoryTree

from .made_up import PATCHED, RELEASES, TOUCHED, UPSTREAM, path_of, workspace


@pytest.mark.parametrize("version", RELEASES)
def test_the_last_layer_of_each_file_leaves_what_was_written_by_hand(version: str) -> None:
    series = workspace().sources.series
    found = layers(series, workspace().named(version), UPSTREAM[version].get)

    assert result(found) == {path: PATCHED[version][path] for path in TOUCHED if path in PATCHED[version]}


def test_each_patch_finds_what_the_one_below_it_left() -> None:
    found = layers(workspace().sources.series, workspace().named("2.0"), UPSTREAM["2.0"].get)
    config = [one for one in found if path_of("config") in one.after]

    assert [(one.patch.name, one.variant) for one in found] == [
        ("grads", "v1.patch"),
        ("params", "v1.patch"),
        ("loose", "v1.patch"),
        ("mode", "v2.patch"),
    ]
    assert config[1].before[path_of("config")] == config[0].after[path_of("config")]
    assert [spot.line for spot in config[1].placed[path_of("config")]] == [7]


def test_a_hunk_that_does_not_fit_is_an_error_that_names_it() -> None:
    with pytest.raises(
        StoreError, match=r"v1\.patch: megatron/core/config\.py, hunk grads-config: v2\.0: its old lines"
    ):
        layers(workspace().sources.series, workspace().named("2.0"), {**UPSTREAM["2.0"], path_of("config"): b"\n"}.get)


def test_a_hunk_that_could_stand_in_several_places_is_told_with_their_lines_by_layers_and_regenerate() -> None:
    twice = {**UPSTREAM["2.0"], path_of("mode"): b"# one more line\n" + UPSTREAM["2.0"][path_of("mode")] * 2}
    target = replace(workspace().named("2.0"), blobs={})
    sources = workspace().sources.series
    said = "its old lines are in its scope more than once (lines 3, 8)"
    with pytest.raises(StoreError) as caught:
        layers(sources, target, twice.get)
    assert (
        caught.value.message
        == f"{sources.folder}/mode/variants/v2.patch: {path_of('mode')}, hunk mode-guard: v2.0: {said}"
    )
    with pytest.raises(StoreError) as caught:
        build_target(sources, target, MemoryTree(twice))
    assert (
        caught.value.message == f"{sources.folder}/mode/variants/v2.patch: {path_of('mode')}, hunk mode-guard: {said}"
    )
