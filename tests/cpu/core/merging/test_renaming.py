from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit.core.merging.renames import Rename
from patchkit.core.merging.renaming import may_rename, renames

from ..programs import changed_programs, edited_programs, programs

BASE = b"_CUDA = None\n\n\ndef state():\n    return _CUDA\n\n\ndef reset():\n    pass\n"
CHANGED = BASE.replace(b"    pass\n", b"    global _CUDA\n    _CUDA = None\n")
TARGET = BASE.replace(b"_CUDA", b"_DEVICE")


def _renames(*texts: bytes) -> list[Rename]:
    return renames(*(text.decode() for text in texts))


def test_a_name_that_the_target_calls_otherwise_everywhere_is_found() -> None:
    assert may_rename(BASE, CHANGED, TARGET)
    assert _renames(BASE, CHANGED, TARGET) == [Rename("_CUDA", "_DEVICE", is_attribute=False)]


@pytest.mark.parametrize(
    ("changed", "target"),
    [
        (CHANGED, BASE.replace(b"pass", b"return 1")),
        (CHANGED, TARGET.replace(b"pass", b"_CUDA = 1")),
        (BASE.replace(b"pass", b"other()"), TARGET),
        (CHANGED, BASE.replace(b"return _CUDA", b"return _DEVICE")),
    ],
    ids=["no line with it went", "the target has it", "no line of the patch has it", "one line of it went"],
)
def test_the_quick_look_sees_where_there_is_nothing_to_find(changed: bytes, target: bytes) -> None:
    assert not may_rename(BASE, changed, target)
    assert _renames(BASE, changed, target) == []


@settings(deadline=None)
@given(st.data())
def test_the_quick_look_passes_over_no_name_that_is_found(data: st.DataObject) -> None:
    base, changed = data.draw(changed_programs())
    name = data.draw(st.sampled_from([b"config", b"value", b"a", b"b"]))
    target = data.draw(edited_programs(base)).replace(name, b"_other")
    # Names are said often, and by lines of both kinds of endings.
    more = (name + b" = 1\nprint(" + name + b")\n" + data.draw(programs())) * data.draw(st.integers(0, 1))
    ending = data.draw(st.sampled_from([b"\n", b"\r\n"]))
    texts = (
        base + more,
        changed + more + name + b"()\n",
        (target + more.replace(name, b"_other")).replace(b"\n", ending),
    )

    if _renames(*texts):
        assert may_rename(*texts)


@pytest.mark.parametrize("count", [1, 30, 31, 2000], ids=["one", "few", "many", "very many"])
def test_of_many_names_one_that_was_renamed_is_found_as_of_few(count: int) -> None:
    def text(renamed: bytes, *more: bytes) -> bytes:
        names = [renamed, *(b"name_%d" % number for number in range(1, count))]
        lines = [b"%s = 1\nprint(%s)\n" % (name, name) for name in (*names, *more)]
        return b"".join(lines) + b"call(" + b", ".join(names) + b")\n"

    base, target = text(b"name_0"), text(b"other_0")
    changed = base.replace(b"print(", b"echo(") + b"name_0()\n"

    assert may_rename(base, changed, target)
    assert _renames(base, changed, target) == [Rename("name_0", "other_0", is_attribute=False)]
    kept = target + b"name_0 = 2\n"
    assert not may_rename(base, changed, kept)
    assert _renames(base, changed, kept) == []
