"""A tree that is a dict, for tests and for examples in the documentation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from patchkit.trees.interface import Edits, Interrupted
from patchkit.trees.paths import checked


class MemoryTree:
    """A writable tree held in memory; ``files`` is its content, by path."""

    def __init__(
        self, files: Mapping[str, bytes], label: str = "memory", manifest_path: str = ".patchkit/manifest.json"
    ) -> None:
        self.files = {checked(path): content for path, content in files.items()}
        self._label = label
        self._manifest_path = manifest_path

    @property
    def label(self) -> str:
        """What to call this tree in messages."""
        return self._label

    @property
    def manifest_path(self) -> str:
        """Path of patchkit's record of what it applied."""
        return self._manifest_path

    def read(self, path: str) -> bytes | None:
        """Return the bytes of ``path``, or None."""
        return self.files.get(checked(path))

    def paths(self, under: str = "") -> Iterator[str]:
        """Yield the paths below the folder ``under``, sorted."""
        start = f"{checked(under)}/" if under else ""
        return iter(sorted(path for path in self.files if path.startswith(start)))

    def write(self, edits: Edits, *, operation: str) -> None:  # noqa: ARG002 - a dict keeps no journal to name it in
        """Take all of ``edits``."""
        for path in edits:
            checked(path)
        for path, content in edits.items():
            if content is None:
                self.files.pop(path, None)
            else:
                self.files[path] = content

    def interrupted(self) -> Interrupted | None:
        """Return None: a write to a dict cannot be cut short."""
        return None

    def undo_interrupted(self) -> Interrupted | None:
        """Return None, as ``interrupted`` does."""
        return None
