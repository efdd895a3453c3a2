from __future__ import annotations

import pytest

from patchkit import carry_file
from patchkit.core.carried import Status, Verdict

BASE = b"_CUDA = None\n\n\ndef state():\n    return _CUDA\n\n\ndef reset():\n    pass\n"
TARGET = BASE.replace(b"_CUDA", b"_DEVICE")


def patched(line: bytes) -> bytes:
    return BASE.replace(b"    pass\n", line)


def test_a_hunk_says_which_name_it_took_over() -> None:
    result = carry_file(BASE, patched(b"    global _CUDA\n    _CUDA = None\n"), TARGET, "x.py")

    assert result.content == TARGET.replace(b"    pass\n", b"    global _DEVICE\n    _DEVICE = None\n")
    (hunk,) = result.hunks
    assert hunk.verdict is Verdict.RESTRUCTURED
    assert hunk.reason == "the target has the same lines at the same place; _CUDA is _DEVICE in the target"


@pytest.mark.parametrize(
    ("line", "target"),
    [
        (b"    print('_CUDA', _CUDA)\n", TARGET),
        (b"    _CUDA = _DEVICE = None\n", TARGET),
        (b"    print(_CUDA)\n", TARGET.replace(b"return _DEVICE", b"return 1")),
        (b"    print(_CUDA)\n", TARGET.replace(b"return _DEVICE", b"return _OTHER")),
        (b"    print(_CUDA)\n", TARGET.replace(b"_DEVICE = None", b"_DEVICE = None\n_CUDA = 1")),
        (b"    print(a._CUDA)\n", TARGET),
    ],
    ids=["in a string", "known to the patch", "dropped once", "two names", "both names live", "an attribute"],
)
def test_a_name_that_is_not_surely_renamed_stays(line: bytes, target: bytes) -> None:
    result = carry_file(BASE, patched(line), target, "x.py")

    assert result.content == target.replace(b"    pass\n", line)
    assert result.status in (Status.CLEAN, Status.REVIEW)
