"""A made-up Megatron with one release that a series was made for, and a newer one to carry the series to."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest
from trees.repositories import git, record
from trees.snapshots import contents, lay
from trees.wheels import make_wheel

from patchkit.operations.regenerate import regenerate

CODE, NOTES, INFO = "megatron/core/buffer.py", "megatron/core/notes.md", "megatron/core/package_info.py"


def spaced(diff: bytes) -> bytes:
    """Give blank context lines their space, which no source file here may end a line with."""
    return diff.replace(b"\n\n", b"\n \n").replace(b"\n\n", b"\n \n")


CODE_1 = b'''\
"""Buffers."""


class Buffer:
    """Holds memory."""

    def __init__(self, size, kind):
        self.size = size
        self.kind = kind

        self.grads = make(size)

    def reload(self):
        """Make it anew."""
        size = self.size
        self.grads = make(size)


def make(size):
    """Return memory."""
    return [0] * size
'''
NOTES_1 = b"""\
name: buffer
colour: red
weight: 1

shape: round
height: 2
width: 3
depth: 4

end: here
"""
RELEASE_1 = {CODE: CODE_1, NOTES: NOTES_1, INFO: b"MAJOR = 1\nMINOR = 0\n"}

SERIES = b"""\
schema: 1
package: megatron
distribution: megatron-core
groups:
  plumbing: All of it.
patches:
  - name: first
  - name: second
    depends: [first]
"""
_HEADER = """\
schema: 1
name: {name}
description: Something.
origin: Made up.
author: a made-up author
forwarded: "no"
applied-upstream: ""
last-update: 2026-01-02
why: |
  Because.
needed-when: Always.
drop-when: Upstream has it.
"""
FIRST = (
    _HEADER.format(name="first")
    + """\
hunks:
  # What lies where.
  - id: grads-region
    group: plumbing
    file: megatron/core/buffer.py
    scope: Buffer.__init__
    intent: Allocate in the region.
    drop-when: Upstream allocates in a region.
  - id: notes-colour
    group: plumbing
    file: megatron/core/notes.md
    scope: <module>
    intent: Another colour.
variants:
  - file: v1.0.patch     # the first one
    releases: ">=1.0"
checks:
  - id: grads-in-region
    files: [megatron/core/buffer.py]
    count: 1
    intent: Something lies outside the region.
    rule:
      pattern: |
        with region():
            self.grads = $VALUE
"""
).encode()
FIRST_1 = spaced(b"""\
--- a/megatron/core/buffer.py
+++ b/megatron/core/buffer.py
@@ -8,7 +8,8 @@ grads-region
         self.size = size
         self.kind = kind

-        self.grads = make(size)
+        with region():
+            self.grads = make(size)

     def reload(self):
         \"\"\"Make it anew.\"\"\"
--- a/megatron/core/notes.md
+++ b/megatron/core/notes.md
@@ -1,5 +1,5 @@ notes-colour
 name: buffer
-colour: red
+colour: green
 weight: 1

 shape: round
""")
SECOND = (
    _HEADER.format(name="second")
    + """\
hunks:
  - id: reload-mark
    group: plumbing
    file: megatron/core/buffer.py
    scope: Buffer.reload
    intent: Leave a mark.
  - id: notes-end
    group: plumbing
    file: megatron/core/notes.md
    scope: <module>
    intent: Another end.
variants:
  - file: v1.0.patch
    releases: ">=1.0"
"""
).encode()
SECOND_1 = spaced(b"""\
--- a/megatron/core/buffer.py
+++ b/megatron/core/buffer.py
@@ -15,6 +15,7 @@ reload-mark
         \"\"\"Make it anew.\"\"\"
         size = self.size
         self.grads = make(size)
+        self.marked = True


 def make(size):
--- a/megatron/core/notes.md
+++ b/megatron/core/notes.md
@@ -7,4 +7,4 @@ notes-end
 width: 3
 depth: 4

-end: here
+end: there
""")
SOURCES = {
    "series.yaml": SERIES,
    "first/patch.yaml": FIRST,
    "first/variants/v1.0.patch": FIRST_1,
    "second/patch.yaml": SECOND,
    "second/variants/v1.0.patch": SECOND_1,
}

_VERSIONS = """\
# What we know. This comment stays.
schema: 1
megatron:
  distribution: megatron-core
  repository: https://example.org/megatron
  releases:
"""
_RELEASE = """\
    - version: "{version}"
      tag: core_v{version}
      commit: {commit}
      date: 2026-01-01
      python: ">=3.10"
      ships: [megatron.core]
      blobs: {{}}
      files:
        {file}: {sha}
"""
_SAVER = """\
torch-memory-saver:
  distribution: torch-memory-saver
  repository: https://example.org/saver
  releases: []
"""


class World:
    """A series' folder, a cache with the wheels of two releases, and on demand a git repository with both."""

    def __init__(self, root: Path, newer: dict[str, bytes | None]) -> None:
        self.root = root
        self.cache = root / "cache"
        self.series = root / "patches" / "megatron"
        files = {**RELEASE_1, INFO: b"MAJOR = 2\nMINOR = 0\n", **newer}
        self.release_2 = {path: text for path, text in files.items() if text is not None}
        lay(root, _made_for_1())
        self._versions({"1.0": RELEASE_1, "2.0": self.release_2})

    def _versions(self, releases: dict[str, dict[str, bytes]], commits: dict[str, str] | None = None) -> None:
        text = _VERSIONS
        for version, files in releases.items():
            name, content = _wheel(version, tuple(files.items()))
            lay(self.cache, {f"wheels/{_sha(content)}/{name}": content})
            commit = (commits or {}).get(version, "null")
            text += _RELEASE.format(version=version, commit=commit, file=name, sha=_sha(content))
        (self.root / "upstream_versions.yaml").write_text(text + _SAVER)

    def repository(self) -> Path:
        """Make a git repository with a commit for each release, which the versions then name."""
        folder = self.root / "repository"
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
        commits = {}
        for version, files in (("1.0", RELEASE_1), ("2.0", self.release_2)):
            for path in contents(folder / "megatron") if (folder / "megatron").is_dir() else ():
                (folder / "megatron" / path).unlink()
            lay(folder, files)
            commits[version] = f'"{record(folder, f"Release {version} (#{version[0]}7)")}"'
        self._versions({"1.0": RELEASE_1, "2.0": self.release_2}, commits)
        return folder

    def sources(self) -> dict[str, bytes]:
        """Everything of the series, the unfinished rebase aside."""
        return {path: text for path, text in contents(self.series).items() if not path.startswith(".rebase/")}


@lru_cache(maxsize=1)
def _made_for_1() -> dict[str, bytes]:
    """The series with its lock and generated patches, as it was when there was one release."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        lay(root / "patches" / "megatron", SOURCES)
        name, content = _wheel("1.0", tuple(RELEASE_1.items()))
        lay(root / "cache", {f"wheels/{_sha(content)}/{name}": content})
        release = _RELEASE.format(version="1.0", commit="null", file=name, sha=_sha(content))
        (root / "upstream_versions.yaml").write_text(_VERSIONS + release + _SAVER)
        done = regenerate(root / "patches" / "megatron", cache=root / "cache")
        assert done.problems == ()
        return contents(root)


@lru_cache(maxsize=64)
def _wheel(version: str, files: tuple[tuple[str, bytes], ...]) -> tuple[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = make_wheel(Path(folder), version, files=dict(files))
        return path.name, path.read_bytes()


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def beyond(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    """What upstream changed, in worlds where the colour is the package's version: it has one that is higher."""
    named = {
        b"notes.md": b"__init__.py",
        b"name: buffer": b"name = 'buffer'",
        b"colour: red": b"__version__ = '1.0'",
        b"colour: green": b"__version__ = '1.1'",
    }

    def told(text: bytes) -> bytes:
        for old, new in named.items():
            text = text.replace(old, new)
        return text

    monkeypatch.setitem(globals(), "SOURCES", {path: told(text) for path, text in SOURCES.items()})
    release = {told(path.encode()).decode(): told(text) for path, text in RELEASE_1.items()}
    monkeypatch.setitem(globals(), "RELEASE_1", release)
    _made_for_1.cache_clear()
    path = "megatron/core/__init__.py"
    yield {path: release[path].replace(b"__version__ = '1.0'", b"__version__ = '2.0'")}
    _made_for_1.cache_clear()
