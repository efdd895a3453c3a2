"""The digest of the engine, under which answers are kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from trees.snapshots import lay

import patchkit
from patchkit.operations import engine

FILES = {
    "patchkit/__init__.py": b"__version__ = '1'\n",
    "patchkit/core/carry.py": b"1\n",
    "patchkit/cli/main.py": b"1\n",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lay(tmp_path / "package", FILES)
    monkeypatch.setenv("PATCHKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(patchkit, "__file__", str(tmp_path / "package" / "patchkit" / "__init__.py"))
    return tmp_path / "package"


def digest() -> str:
    engine.engine_digest.cache_clear()
    try:
        return engine.engine_digest()
    finally:
        engine.engine_digest.cache_clear()


def test_the_same_code_elsewhere_and_at_another_time_is_the_same_engine(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = digest()
    os.utime(root / "patchkit/core/carry.py", (1, 1))
    assert digest() == before
    lay(tmp_path / "elsewhere", FILES)
    monkeypatch.setattr(patchkit, "__file__", str(tmp_path / "elsewhere" / "patchkit" / "__init__.py"))
    assert digest() == before


@pytest.mark.parametrize("path", ["patchkit/core/carry.py", "patchkit/__init__.py", "patchkit/trees/new.py"])
def test_other_code_is_another_engine(root: Path, path: str) -> None:
    before = digest()
    lay(root, {path: b"2\n"})
    os.utime(root / path, (2, 2))
    assert digest() != before


def test_other_code_of_the_same_size_and_time_is_another_engine(root: Path) -> None:
    # As where a build gives all files one time, or the clock was set back.
    file = root / "patchkit/core/carry.py"
    os.utime(file, (1, 1))
    before, changed = digest(), file.stat().st_ctime_ns
    # The kernel's clock moves every few milliseconds.
    while file.stat().st_ctime_ns == changed:
        lay(root, {"patchkit/core/carry.py": b"2\n"})
        os.utime(file, (1, 1))
    assert (file.stat().st_size, digest() == before) == (2, False)


def test_what_only_prints_is_no_part_of_it(root: Path) -> None:
    before = digest()
    lay(root, {"patchkit/cli/main.py": b"2\n"})
    assert digest() == before


def test_what_was_read_is_not_read_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest()
    monkeypatch.delattr(engine, "_read")
    assert digest() == before


def test_another_build_of_a_library_is_another_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path, {"made_up_library/__init__.py": b"", "made_up_library/native.so": b"1"})
    monkeypatch.syspath_prepend(str(tmp_path))
    digests = []
    for content in (b"1", b"22"):
        lay(tmp_path, {"made_up_library/native.so": content})
        engine.library_digest.cache_clear()
        digests.append(engine.library_digest("made_up_library"))
    engine.library_digest.cache_clear()

    assert len(set(digests)) == 2
