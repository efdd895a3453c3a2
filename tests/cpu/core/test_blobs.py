from __future__ import annotations

import subprocess
from pathlib import Path

from patchkit.core.blobs import blob_id

from .texts import random_changes


def test_an_empty_text_has_the_id_that_every_git_repository_knows() -> None:
    assert blob_id(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


def test_ids_are_those_of_git_hash_object(tmp_path: Path) -> None:
    texts = [text for change in random_changes(100, seed=1) for text in change if text is not None]
    texts += [bytes(range(256)), b"\0", b"long\n" * 100_000]
    for number, text in enumerate(texts):
        (tmp_path / str(number)).write_bytes(text)

    told = subprocess.run(
        ["git", "hash-object", "--no-filters", "--stdin-paths"],  # noqa: S607 - whichever git the user has
        cwd=tmp_path,
        input="".join(f"{number}\n" for number in range(len(texts))),
        capture_output=True,
        check=True,
        text=True,
    )

    assert told.stdout.splitlines() == [blob_id(text) for text in texts]
