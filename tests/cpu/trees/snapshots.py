"""A folder as a value."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patchkit.folders import remove


def lay(root: Path, files: dict[str, bytes], *, mode: int = 0o644) -> Path:
    """Make ``files`` below ``root``."""
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
        (root / path).chmod(mode)
    return root


def snapshot(root: Path) -> dict[str, tuple[int, bytes] | str]:
    """Everything below ``root``: mode and content of files, ``folder``, or where a link leads."""
    found: dict[str, tuple[int, bytes] | str] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[name] = f"link to {path.readlink()}"
        elif path.is_dir():
            found[name] = "folder"
        else:
            found[name] = (stat.S_IMODE(path.stat().st_mode), path.read_bytes())
    return found


def contents(root: Path) -> dict[str, bytes]:
    """The files below ``root``, by path."""
    return {name: value[1] for name, value in snapshot(root).items() if isinstance(value, tuple)}


@contextmanager
def nested(folder: Path, depth: int) -> Iterator[None]:
    """Have so many folders ``a`` in each other below ``folder`` for a while, with a file in the last.

    They are made by descriptors, since the path may be longer than any system takes. What is left of them goes away:
    pytest clears its folders by recursion.
    """
    folder.mkdir(parents=True, exist_ok=True)
    place = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("a", dir_fd=place)
        inner = os.open("a", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(os.open("f", os.O_WRONLY | os.O_CREAT, dir_fd=place))
    os.close(place)
    try:
        yield
    finally:
        if (folder / "a").exists():
            remove(folder / "a")
