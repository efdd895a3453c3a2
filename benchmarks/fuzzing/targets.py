"""What is fuzzed: functions of bytes that must neither raise nor break their law, whatever the bytes are.

They know nothing of the fuzzer, so that the tests can replay what it found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from patchkit.core.carry import Status, carry_file, carry_patch
from patchkit.core.foreign.fitting import Misfits, fit_patches
from patchkit.core.foreign.lenient import read_foreign
from patchkit.core.lines import split_lines
from patchkit.core.model import FilePatch
from patchkit.core.unified import parse_patch, print_patch
from patchkit.errors import PatchFormatError

SEPARATOR: Final = b"\n=====8<=====\n"
"""Between the texts that one input consists of."""


class BrokenLawError(AssertionError):
    """A law of a target does not hold for some input."""


def parser(text: bytes) -> None:
    """Read ``text`` as a patch of ours: it is refused as one, or printing and reading it again gives the same patch."""
    try:
        patch = parse_patch(text, "input")
    except PatchFormatError:
        return
    printed = print_patch(patch)
    if parse_patch(printed, "printed") != patch:
        raise BrokenLawError("a patch that was printed is read as another one")


def foreign(text: bytes) -> None:
    """Read ``text`` as somebody's patch and fit it onto a base: it is refused as one, or the result is what it says."""
    patch, _, base = text.partition(SEPARATOR)
    try:
        read = read_foreign(patch, "input")
        fitted = fit_patches([read], lambda _path: base)
    except PatchFormatError:
        return
    if isinstance(fitted, Misfits):
        return
    for file in fitted.squashed():
        if None not in (file.old_path, file.new_path) and file.old_path != file.new_path:
            raise BrokenLawError(f"{file.old_path} becomes {file.new_path}, which is no patch of ours")
        if _applied(file, fitted.base[file.path]) != fitted.contents[file.path]:
            raise BrokenLawError(f"{file.path}: the hunks do not give the result")
        carry_patch(file, base)


def _applied(file: FilePatch, before: bytes | None) -> bytes | None:
    """Put the hunks where their headers say, without a look at anything else."""
    old, new = split_lines(before or b""), list[bytes]()
    at = 0
    for hunk in file.hunks:
        first = hunk.old_start - bool(hunk.old_lines)
        if first < at or old[first : first + len(hunk.old_lines)] != hunk.old_lines:
            raise BrokenLawError(f"{file.path}: a hunk does not stand where its header says")
        new += [*old[at:first], *hunk.new_lines]
        at = first + len(hunk.old_lines)
    return None if file.new_path is None else b"".join([*new, *old[at:]])


def carry(text: bytes) -> None:
    """Carry a change: nothing is raised, twice the same comes out, and where nothing stands in the way, the change."""
    base, changed, target = (*text.split(SEPARATOR, 2), b"", b"")[:3]
    result = carry_file(base, changed, target, "file.py")
    if (result.status is Status.CONFLICT) != (result.content is None):
        raise BrokenLawError(f"{result.status} with content {result.content!r}")
    if carry_file(base, changed, target, "file.py") != result:
        raise BrokenLawError("the same texts gave another answer")
    onto_base = carry_file(base, changed, base, "file.py")
    if onto_base.content != changed:
        raise BrokenLawError("a change carried to its own base is another one")
    there = carry_file(base, changed, changed, "file.py")
    if there.content != changed:
        raise BrokenLawError("a target that has the change already gets another one")


TARGETS: Final[Mapping[str, Callable[[bytes], None]]] = MappingProxyType(
    {"parser": parser, "foreign": foreign, "carry": carry}
)
