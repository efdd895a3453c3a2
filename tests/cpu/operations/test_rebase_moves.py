"""A hunk whose file, class or function went elsewhere is told where, and not to be dropped."""

from __future__ import annotations

from typing import Any

import pytest

from patchkit.core.carry import Conflict
from patchkit.core.carry_report import PlaceReport
from patchkit.core.rebasing.rebased import HunkRebase
from patchkit.core.rebasing.renames import Rename
from patchkit.core.rebasing.spots import Spot
from patchkit.operations.rebase_carried import CarriedFile, CarriedPatch, Met, Texts
from patchkit.operations.rebase_moves import find_renames, with_moves
from patchkit.trees.memory import MemoryTree

FUNCTION = (
    "def allocate(size):\n    kind = choose(size)\n    data = zeros(size, kind)\n    register(data)\n    return data\n"
)
OTHER = "def choose(size):\n    return size > 1\n"
REASON = "both sides changed these lines"


def carried(
    before: str | None, files: dict[str, str], verdict: str = "conflict", scope: str = "allocate", reason: str = REASON
) -> CarriedPatch:
    hunk = HunkRebase(
        id="one",
        path="pkg/buffer.py",
        verdict=verdict,
        old=PlaceReport(scope, 2, 2),
        new=None,
        reason=reason,
        review=("drift: some", f"{verdict}: the variant would not have it"),
    )
    there = {} if before is None else {"pkg/buffer.py": before}
    texts = Texts("pkg/buffer.py", (OTHER + FUNCTION).encode(), b"", None if before is None else before.encode(), ())
    met = Met(Spot(Conflict(b"", b"", b""), (0, 0), (0, 0)), ("one",), lambda: None)
    file = CarriedFile(texts, (), (), () if before is None else (met,), (hunk,), ())
    nothing: Any = None
    tree = MemoryTree({path: text.encode() for path, text in {**there, **files}.items()})
    return with_moves(CarriedPatch(nothing, nothing, (file,)), tree)


def answer(before: str, files: dict[str, str], *, verdict: str = "conflict", scope: str = "allocate") -> str:
    return carried(before, files, verdict, scope).hunks[0].reason


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


def test_what_went_elsewhere_is_in_conflict_and_not_to_be_dropped() -> None:
    reason = "the target has no class or function allocate, and none of the lines around the change: drop the hunk?"
    there = carried(OTHER, {"pkg/memory.py": FUNCTION}, "obsolete", reason=reason)
    (hunk,) = there.hunks

    assert (hunk.verdict, hunk.review) == ("conflict", ("drift: some",))
    assert hunk.reason == (
        "the target has no class or function allocate, and none of the lines around the change; "
        "allocate is allocate in pkg/memory.py now"
    )
    assert (there.in_conflict, there.files[0].elsewhere) == (True, frozenset())


def test_a_definition_of_a_file_that_is_gone_is_for_a_person_to_decide() -> None:
    there = carried(None, {"pkg/memory.py": FUNCTION}, "obsolete")

    assert (there.hunks[0].verdict, there.in_conflict, there.files[0].elsewhere) == (
        "conflict",
        True,
        frozenset({"one"}),
    )
    gone = carried(None, {"pkg/memory.py": OTHER}, "obsolete")
    assert (gone.hunks[0].verdict, gone.in_conflict) == ("obsolete", False)


OLD = {"pkg/a.py": b"a = 1\nb = 2\nc = 3\n", "pkg/same.py": b"a = 1\nb = 2\nc = 3\n", "pkg/__init__.py": b""}


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ({"pkg/b.py": OLD["pkg/a.py"]}, Rename(("pkg/b.py",), 1.0)),
        ({"other/a.py": OLD["pkg/a.py"], "pkg/b.py": OLD["pkg/a.py"]}, Rename(("other/a.py",), 1.0)),
        ({"pkg/c.py": OLD["pkg/a.py"], "pkg/b.py": OLD["pkg/a.py"]}, Rename(("pkg/b.py", "pkg/c.py"), 1.0)),
        ({"pkg/b.py": b"a = 1\nb = 2\nc = 4\n", "pkg/c.py": b"a = 1\n" * 3}, Rename(("pkg/b.py",), 12 / 18)),
        ({"pkg/b.py": b"a = 1\nb = 5\nc = 4\n"}, None),
        ({"pkg/a.txt": OLD["pkg/a.py"]}, None),
        ({"pkg/same.py": OLD["pkg/a.py"]}, None),
        ({"pkg/a.py": b"x = 1\n", "pkg/b.py": OLD["pkg/a.py"]}, None),
    ],
    ids=["same text", "same name first", "both", "most of it", "too little", "another kind", "not new", "not gone"],
)
def test_a_file_that_is_gone_is_found_by_its_text(new: dict[str, bytes], expected: Rename | None) -> None:
    found = find_renames(["pkg/a.py", "pkg/__init__.py", "pkg/made.py"], MemoryTree(OLD), MemoryTree(new))

    assert found == ({"pkg/a.py": expected} if expected else {})


def test_an_empty_file_is_like_none() -> None:
    assert find_renames(["pkg/__init__.py"], MemoryTree(OLD), MemoryTree({"new/__init__.py": b""})) == {}


@pytest.mark.parametrize(
    ("rename", "said"),
    [
        (Rename(("b.py",), 1.0), "it is b.py now (the same text)"),
        (Rename(("b.py", "c.py"), 12 / 18), "it is b.py or c.py now (66 % of the text)"),
    ],
)
def test_how_much_of_the_text_is_there_is_told(rename: Rename, said: str) -> None:
    assert rename.told() == said
