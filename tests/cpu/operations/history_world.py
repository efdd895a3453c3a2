"""A series made for one release, and a clone with a history after it."""

from __future__ import annotations

from pathlib import Path

from trees.histories import Histories

from patchkit.core.history_report import HistoryReport
from patchkit.operations.history import HistoryRequest, history

from .carried_world import CODE, CODE_1, NOTES, NOTES_1, RELEASE_1, World

# What upstream may do, one thing each. There are two hunks in CODE, grads-region and reload-mark, and two in NOTES,
# notes-colour and notes-end.


def text(code: bytes = CODE_1, notes: bytes | None = NOTES_1, **more: bytes) -> dict[str, bytes]:
    files = {**RELEASE_1, CODE: code, **({NOTES: notes} if notes is not None else {}), **more}
    return files if notes is not None else {path: text for path, text in files.items() if path != NOTES}


FIRST = text()
BLUE = NOTES_1.replace(b"colour: red", b"colour: blue")
GREEN = NOTES_1.replace(b"colour: red", b"colour: green")
HEADED = b"title: notes\n" + NOTES_1
SPARE = CODE_1.replace(b"        self.size = size\n", b"        self.size = check(size)\n", 1)
OTHER = {"README.md": b"Read.\n"}


class There:
    """A series made for release 1.0, and a clone with a history."""

    def __init__(self, root: Path) -> None:
        self.world = World(root / "world", {})
        self.clone = Histories(root / "clone")
        self.base = self.clone.commit("Release 1.0", FIRST)
        self.clone.name("tags/core_v1.0", self.base)
        self.world._versions({"1.0": RELEASE_1, "2.0": self.world.release_2}, {"1.0": f'"{self.base}"'})

    def ask(self, tip: str | None = None, span: str = "core_v1.0..main", **asked: object) -> HistoryReport:
        if tip is not None:
            self.clone.name("heads/main", tip)
        request = HistoryRequest(
            repository=self.clone.folder,
            patches=self.world.series,
            span=span,
            **asked,  # type: ignore[arg-type]  # of a test's own table
        )
        return history(request, cache=self.world.cache)
