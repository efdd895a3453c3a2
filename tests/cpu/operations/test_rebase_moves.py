"""A hunk whose class or function went to another file is told where."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from patchkit.core.rebasing.rebased import HunkRebase, PatchRebase, PlaceReport
from patchkit.operations.rebase_carry import CarriedPatch, Texts
from patchkit.operations.rebase_moves import with_moves
from patchkit.trees.memory import MemoryTree

FUNCTION = (
    "def allocate(size):\n    kind = choose(size)\n    data = zeros(size, kind)\n    register(data)\n    return data\n"
)
OTHER = "def choose(size):\n    return size > 1\n"
REASON = "both sides changed these lines"


def answer(before: str, files: dict[str, str], *, verdict: str = "conflict", scope: str = "allocate") -> str:
    hunk = HunkRebase(
        id="one", path="pkg/buffer.py", verdict=verdict, old=PlaceReport(scope, 2, 2), new=None, reason=REASON
    )
    texts = Texts("pkg/buffer.py", (OTHER + FUNCTION).encode(), b"", before.encode(), ())
    carried = cast("CarriedPatch", SimpleNamespace(files=(SimpleNamespace(path="pkg/buffer.py", texts=texts),)))
    tree: Any = MemoryTree({path: text.encode() for path, text in {"pkg/buffer.py": before, **files}.items()})
    return with_moves(PatchRebase(name="p", state="conflict", hunks=(hunk,)), carried, tree).hunks[0].reason


def test_the_file_and_the_name_are_told_where_the_definition_stands_now() -> None:
    moved = FUNCTION.replace("register(data)", "register(data, kind)")
    assert answer(OTHER, {"pkg/memory.py": moved, "pkg/c.py": "# allocate\n"}) == (
        f"{REASON}; allocate is allocate in pkg/memory.py now"
    )


def test_a_method_is_told_with_its_class() -> None:
    method = "class Pool:\n" + "".join(f"    {line}\n" for line in FUNCTION.splitlines())
    assert answer(OTHER, {"pkg/memory.py": method}) == f"{REASON}; allocate is Pool.allocate in pkg/memory.py now"


def test_nothing_is_told_when_the_definition_is_in_its_file_still() -> None:
    assert answer(FUNCTION, {"pkg/memory.py": FUNCTION}) == REASON


def test_nothing_is_told_when_two_files_have_it_or_one_has_another_thing_of_that_name() -> None:
    assert answer(OTHER, {"pkg/a.py": FUNCTION, "pkg/b.py": FUNCTION}) == REASON
    assert answer(OTHER, {"pkg/a.py": "def allocate():\n    pass\n"}) == REASON


def test_nothing_is_told_of_a_hunk_that_has_a_place_or_stands_at_module_level() -> None:
    assert answer(OTHER, {"pkg/a.py": FUNCTION}, verdict="moved") == REASON
    assert answer(OTHER, {"pkg/a.py": FUNCTION}, scope="<module>") == REASON
