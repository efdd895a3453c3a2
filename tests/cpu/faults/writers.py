"""Which functions of the package change files, by their text, and which of them are run."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import patchkit

PACKAGE = Path(patchkit.__file__).parent

_CALLS = frozenset(
    {
        *("chmod", "copyfile", "copytree", "fchmod", "ftruncate", "hardlink_to", "link", "makedirs", "mkdir"),
        *("mkdtemp", "mkstemp", "move", "rename", "rmdir", "rmtree", "symlink", "symlink_to", "touch", "truncate"),
        *("unlink", "utime", "write_bytes", "write_text", "NamedTemporaryFile", "TemporaryDirectory", "extractall"),
    }
)
"""Names of functions and methods that change files, whatever they are called on."""
_GIT = frozenset({"commit-tree", "hash-object", "read-tree", "update-index", "update-ref", "write-tree"})
"""Commands of git that do."""
_EVENTS = frozenset(
    {
        *("os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate"),
        *("os.utime", "shutil.rmtree", "shutil.copyfile", "tempfile.mkstemp", "tempfile.mkdtemp"),
    }
)
"""What the interpreter tells of (sys.addaudithook) when a file is changed; opening one is looked at for itself."""


def writers(source: str) -> Iterator[tuple[int, str]]:
    """Yield first line, from 1, and name of each function whose own text has a call that changes files."""
    yield from _writers(ast.parse(source), 0, "")


def _writers(node: ast.AST, line: int, name: str) -> Iterator[tuple[int, str]]:
    own = False
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
            yield from _writers(child, first, f"{name}.{child.name}".lstrip("."))
            continue
        for found in _writers(child, line, name):
            own = own or found == (line, name)
            if found != (line, name):
                yield found
    if own or (isinstance(node, ast.Call) and _changes_files(node)):
        yield line, name


def _changes_files(call: ast.Call) -> bool:
    function = call.func
    called = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    words = {word.value for word in ast.walk(call) if isinstance(word, ast.Constant) and isinstance(word.value, str)}
    if called == "open":
        modes = [*call.args[isinstance(function, ast.Name) :], *(key.value for key in call.keywords)]
        text = {mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)}
        if isinstance(function, ast.Attribute) and ast.unparse(function.value) == "os":
            # Flags that have a name are taken for those of a write, unless the name says that it is a folder.
            return not {"O_RDONLY", "_FOLDER"} & set(re.findall(r"\w+", ast.unparse(call)))
        return any(set(mode) <= set("rwaxbt+") and set(mode) & set("wax+") for mode in text)
    if called in ("output", "run"):
        return bool(words & _GIT)
    if called == "replace":
        # A path has one argument, a text two; a function of its own is called by name.
        on_os = isinstance(function, ast.Attribute) and ast.unparse(function.value) == "os"
        return isinstance(function, ast.Attribute) and (on_os or (len(call.args) == 1 and not call.keywords))
    return called in _CALLS


def all_writers() -> dict[str, int]:
    """Return file and name of each such function in the package, with its first line."""
    return {
        f"{path.relative_to(PACKAGE).as_posix()}:{name}": line
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] != "core"  # pure: test_layers.py
        for line, name in writers(path.read_text())
    }


class Watch:
    """Collects the functions of the package that are at work when a file is changed, in a ``with``."""

    def __init__(self) -> None:
        self._on = False
        self.seen: set[tuple[str, int]] = set()
        """File below the package and first line of each."""
        sys.addaudithook(self._hook)

    def __enter__(self) -> None:
        self._on = True

    def __exit__(self, *_: object) -> None:
        self._on = False

    def _hook(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self._on:
            return
        opened = (
            event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        )
        started = event == "subprocess.Popen"
        if opened or started or event in _EVENTS:
            for frame in _frames():
                file = frame.f_code.co_filename
                if file.startswith(f"{PACKAGE}{os.sep}"):
                    self.seen.add((file[len(str(PACKAGE)) + 1 :], frame.f_code.co_firstlineno))
                    if not started:
                        break


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back
