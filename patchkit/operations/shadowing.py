"""What Python imports in the place of a patched file: the patch is there, and does nothing.

In one folder the import system looks for a package first, then for a compiled module, then for source
(``importlib.machinery.FileFinder``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from patchkit.core.report import Problem
from patchkit.trees.interface import SourceTree

_COMPILED = r"(?:\.[\w-]+)?\.(?:so|pyd)"
"""What the name of a compiled module ends with: it may tell the Python and the system, such as ``.abi3.so``."""


def shadowed(tree: SourceTree, paths: Iterable[str]) -> list[Problem]:
    """Return a problem for each of ``paths`` (those of patched files) that Python does not come to."""
    # Patches share folders, and each is gone through to its end.
    listed = cache(lambda folder: tuple(tree.paths(folder)))
    return [
        Problem(
            f"Python imports {other} in its place",
            path=path,
            hint=f"take {other} away, or find out what put it there: with it the patch does nothing",
        )
        for path in dict.fromkeys(paths)
        for other in _before(path, listed)
    ]


def _before(path: str, listed: Callable[[str], Iterable[str]]) -> Iterator[str]:
    if not path.endswith(".py"):
        return
    module = path.removesuffix(".py")
    folder, _, name = module.rpartition("/")
    compiled = re.compile(re.escape(name) + _COMPILED)
    package = re.compile(rf"{re.escape(name)}/__init__(?:\.py|{_COMPILED})")
    start = len(folder) + 1 if folder else 0
    for other in listed(folder):
        inside = other[start:]
        if package.fullmatch(inside) or compiled.fullmatch(inside):
            yield other
