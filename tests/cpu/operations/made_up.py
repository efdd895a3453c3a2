"""A made-up Megatron with three releases and a branch, and a made-up series of four patches for it.

Small enough to be read, and with everything that real ones have: files that several patches change, a file that a patch
creates, a hunk that moves, releases with the same files, a patch that a release does not need, upstream's own version
on a branch, and a patch that stands on another one without saying so.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from trees.repositories import git, record
from trees.snapshots import contents, lay
from trees.wheels import make_wheel

from patchkit.core.blobs import blob_id
from patchkit.core.report import Problem
from patchkit.operations.regenerate import regenerate
from patchkit.operations.sources import Workspace, load_workspace
from patchkit.trees.memory import MemoryTree

# Upstream's texts.

INIT = b'"""A made-up Megatron."""\n'
BUFFER = b'''\
"""Buffers."""


class Buffer:
    """Holds gradients and parameters."""

    def __init__(self, size):
        self.size = size
        self.kind = "buffer"

        # Gradients come first.
        self.grads = [0] * size

        # Parameters come after them.
        self.params = [1] * size

    def reload(self):
        """Make everything anew."""
        size = self.size

        self.grads = [0] * size

        self.params = [1] * size
'''
CONFIG = b'''\
"""Settings."""


class Config:
    """What can be set."""

    size = 1
    name = ""
'''
MODE = b'''\
"""How memory is watched."""

import sys

MODE = "torch"
'''
# In 2.0 there is more above the class, so that its hunks move.
BUFFER_2 = BUFFER.replace(b'"""Buffers."""\n', b'"""Buffers."""\n\nimport sys\n\nLIMIT = sys.maxsize\n')
# The branch covers reload by itself.
BUFFER_MAIN = BUFFER_2.replace(
    b"        size = self.size\n\n        self.grads = [0] * size\n",
    b"        size = self.size\n\n        with upstream():\n            self.grads = [0] * size\n",
)

_COMMON = {"megatron/core/__init__.py": INIT, "megatron/core/config.py": CONFIG}
_ONE = {**_COMMON, "megatron/core/buffer.py": BUFFER}
_TWO = {**_COMMON, "megatron/core/buffer.py": BUFFER_2, "megatron/core/mode.py": MODE}
UPSTREAM: dict[str, dict[str, bytes]] = {
    # 1.0 and 1.1 differ in a file that no patch touches.
    "1.0": {**_ONE, "megatron/core/version.py": b'VERSION = "1.0"\n'},
    "1.1": {**_ONE, "megatron/core/version.py": b'VERSION = "1.1"\n'},
    "2.0": {**_TWO, "megatron/core/version.py": b'VERSION = "2.0"\n'},
    "main": {**_TWO, "megatron/core/buffer.py": BUFFER_MAIN, "megatron/core/version.py": b'VERSION = "3.0"\n'},
}
RELEASES = ("1.0", "1.1", "2.0")

# The same with the whole series, written by hand.

PATCHED_BUFFER = BUFFER.replace(
    b"        # Gradients come first.\n        self.grads = [0] * size\n",
    b"        # Gradients come first.\n        with region():\n            self.grads = [0] * size\n",
).replace(
    b"        # Parameters come after them.\n        self.params = [1] * size\n",
    b"        # Parameters come after them.\n        with region():\n            self.params = [1] * size\n",
)
PATCHED_BUFFER = PATCHED_BUFFER.replace(
    b"        size = self.size\n\n        self.grads = [0] * size\n",
    b"        size = self.size\n\n        with region():\n            self.grads = [0] * size\n",
)
REGIONS = b'"""Where memory lies."""\n\nNAMES = ("grads", "params")\n'
PATCHED_CONFIG = CONFIG.replace(b'    name = ""\n', b'    name = ""\n    no_backup = False\n    loose = None\n')
PATCHED_MODE = MODE.replace(b'MODE = "torch"\n', b'MODE = "torch" if "saver" not in sys.modules else None\n')
_PATCHED_ONE = {
    "megatron/core/__init__.py": INIT,
    "megatron/core/buffer.py": PATCHED_BUFFER,
    "megatron/core/config.py": PATCHED_CONFIG,
    "megatron/core/regions.py": REGIONS,
}
PATCHED: dict[str, dict[str, bytes]] = {
    "1.0": {**UPSTREAM["1.0"], **_PATCHED_ONE},
    "1.1": {**UPSTREAM["1.1"], **_PATCHED_ONE},
    "2.0": {
        **UPSTREAM["2.0"],
        **_PATCHED_ONE,
        "megatron/core/buffer.py": PATCHED_BUFFER.replace(
            b'"""Buffers."""\n', b'"""Buffers."""\n\nimport sys\n\nLIMIT = sys.maxsize\n'
        ),
        "megatron/core/mode.py": PATCHED_MODE,
    },
}

# The series.

_FOLDER = Path(__file__).with_name("made_up_series")
SOURCES = {
    path.relative_to(_FOLDER).as_posix(): path.read_bytes()
    for path in sorted(_FOLDER.rglob("*"))
    if path.is_file() and path.name != "upstream_versions.yaml"
}
"""What people write, by path below the folder of the series."""
_VERSIONS = (_FOLDER / "upstream_versions.yaml").read_text()
"""With FILE and SHA of each release, and MAIN, to be filled in."""
TOUCHED = ("megatron/core/buffer.py", "megatron/core/config.py", "megatron/core/mode.py", "megatron/core/regions.py")
"""What the series touches on any target."""

MAIN_COMMIT = "0123456789abcdef0123456789abcdef01234567"


@lru_cache(maxsize=1)
def wheels() -> dict[str, tuple[str, bytes]]:
    """File name and bytes of the wheel of each release."""
    with tempfile.TemporaryDirectory() as folder:
        made = {version: make_wheel(Path(folder), version, files=UPSTREAM[version]) for version in RELEASES}
        return {version: (path.name, path.read_bytes()) for version, path in made.items()}


def wheel(folder: Path, version: str) -> Path:
    """Write the wheel of a release into ``folder``."""
    name, content = wheels()[version]
    lay(folder, {name: content})
    return folder / name


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def fill_cache(cache: Path, versions: Iterable[str] = RELEASES) -> None:
    """Put the wheels where patchkit keeps those that it has fetched."""
    for version in versions:
        name, content = wheels()[version]
        lay(cache, {f"wheels/{sha256(content)}/{name}": content})


def repository(folder: Path) -> str:
    """Make a git repository with a commit for each target, tags as upstream has them, and return the id of main."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for name, files in UPSTREAM.items():
        shutil.rmtree(folder / "megatron", ignore_errors=True)
        lay(folder, files)
        record(folder, name)
        if name in ("1.0", "1.1"):
            git(folder, "tag", f"core_v{name}")
    return git(folder, "rev-parse", "main")


def lay_sources(root: Path, commit: str = MAIN_COMMIT) -> Path:
    """Write what people write, upstream_versions.yaml included, below ``root``; return the folder of the series."""
    versions = _VERSIONS.replace("MAIN", commit)
    for version, (name, content) in wheels().items():
        versions = versions.replace(f"FILE-{version}", name)
        versions = versions.replace(f"SHA-{version}", sha256(content))
    lay(root, {"upstream_versions.yaml": versions.encode()})
    return lay(root / "patches" / "megatron", SOURCES)


@lru_cache(maxsize=1)
def _complete() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        fill_cache(root / "cache")
        commit = repository(root / "repository")
        series = lay_sources(root / "root", commit)
        done = regenerate(series, repository=root / "repository", cache=root / "cache")
        assert done.problems == ()
        return contents(root / "root")


def lay_series(root: Path) -> Path:
    """Write the series with its lock and generated patches below ``root``; return its folder."""
    return lay(root, _complete()) / "patches" / "megatron"


@lru_cache(maxsize=1)
def _kept_workspace() -> Workspace:
    with tempfile.TemporaryDirectory() as folder:
        return load_workspace(lay_series(Path(folder)))


def workspace() -> Workspace:
    """The series, loaded."""
    return _kept_workspace()


def tree(target: str, /, **changes: bytes | None) -> MemoryTree:
    """The files of a target in memory; ``changes`` are by the name of a file in megatron/core without ``.py``."""
    return changed(UPSTREAM[target], **changes)


def patched_tree(target: str, /, **changes: bytes | None) -> MemoryTree:
    """As ``tree``, with the whole series."""
    return changed(PATCHED[target], **changes)


def changed(files: dict[str, bytes], /, **changes: bytes | None) -> MemoryTree:
    """A tree of ``files`` with ``changes`` (None: without that file)."""
    now: dict[str, bytes | None] = {**files, **{path_of(name): content for name, content in changes.items()}}
    return MemoryTree({path: content for path, content in now.items() if content is not None})


def path_of(name: str) -> str:
    """The path of a file of the made-up Megatron."""
    return f"megatron/core/{name}.py"


THEIRS = ("m/theirs.py", "m/theirs_too.py")
"""Files that another series made."""


def patched_by_another(version: str) -> MemoryTree:
    """A tree that another series has patched, in files that the made-up one does not touch, with its record."""
    found = tree(version)
    pair = {"before": None, "after": blob_id(b"theirs\n")}
    patch = {"name": "theirs", "digest": "sha256:1", "variant": "v.patch", "files": dict.fromkeys(THEIRS, pair)}
    told = {"schema": 1, "tool": "0.9", "target": version, "commit": None, "series": f"sha256:{'4' * 64}"}
    found.files[found.manifest_path] = json.dumps({**told, "patches": [patch]}).encode()
    found.files |= dict.fromkeys(THEIRS, b"theirs\n")
    return found


def another_series(version: str) -> Problem:
    """What apply and revert say of such a tree."""
    series = workspace().sources.series
    ours = f"{series.folder} ({series.digest.removeprefix('sha256:')[:8]})"
    return Problem(
        f"the series 44444444 (patchkit 0.9, for {version}) has applied it, and the tree has its record: {ours} is "
        "another series",
        path=THEIRS[0],
        patch="theirs",
        hint="one tree takes one series: take that one out first, `patchkit revert --patches` with its folder",
    )
