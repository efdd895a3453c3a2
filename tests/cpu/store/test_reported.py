from __future__ import annotations

import os
from pathlib import Path

import pytest

from patchkit.errors import StoreError
from patchkit.store.documents import read_file
from patchkit.store.reported import load_reported


def test_a_state_file_that_is_no_regular_file_is_told_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "state")

    with pytest.raises(StoreError) as raised:
        load_reported(tmp_path / "state")

    assert raised.value.message == f"{tmp_path / 'state'}: cannot be read: it is no regular file but a named pipe"


@pytest.mark.parametrize("name", ["series.yaml", "lock.yaml", "patch.yaml", "upstream_versions.yaml", "patchkit.toml"])
def test_one_of_our_files_that_is_no_regular_file_is_told_and_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)

    with pytest.raises(StoreError) as raised:
        read_file(tmp_path / name)

    assert raised.value.message == f"{tmp_path / name}: it is no regular file but a named pipe"
