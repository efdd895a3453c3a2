from __future__ import annotations

import pytest

from patchkit.errors import StoreError
from patchkit.operations.layers import layers, result

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
