"""Known lines of logs: what each is a sign of, and what to do. The data are in data/signatures.json."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property
from importlib.resources import files
from typing import Literal

import msgspec

from patchkit.tms.fingerprints import Fingerprint

Severity = Literal["fatal", "harmless"]

FIX = "double-release"
"""The defect that splits the builds into those before the fix and those after."""


class Signature(msgspec.Struct, frozen=True, kw_only=True, dict=True, forbid_unknown_fields=True):
    """A kind of line that is a sign of something."""

    id: str
    severity: Severity
    title: str
    line: str
    """Regular expression for the line, as ``told`` completes it."""
    near: str | None = None
    """Regular expression for a line shortly before or after it, when the line alone says too little."""
    frames: str | None = None
    """Regular expression for a line of the frames above the line; what is only near may be another rank's."""
    defect: str | None = None
    """Its id in upstream_versions.yaml, when it is a defect of torch_memory_saver."""
    cause: str
    advice: str

    @cached_property
    def _line(self) -> re.Pattern[str]:
        return re.compile(self.line)

    @cached_property
    def _near(self) -> re.Pattern[str] | None:
        return re.compile(self.near, re.MULTILINE) if self.near else None

    @cached_property
    def frame(self) -> re.Pattern[str] | None:
        """``frames``, if any, compiled."""
        return re.compile(self.frames) if self.frames else None

    def is_line(self, line: str) -> bool:
        """Tell whether a completed line is one of this kind, as far as the line tells."""
        return self._line.search(line) is not None

    def place_in(self, line: str) -> int:
        """Return where in a line of this kind stands what makes it one."""
        found = self._line.search(line)
        return found.start() if found else 0

    def is_near(self, surroundings: bytes) -> bool:
        """Tell whether the second line that it takes, if any, is in the text around the first."""
        return self._near is None or self._near.search(surroundings.decode(errors="replace")) is not None


class Signatures(msgspec.Struct, frozen=True):
    """All of them."""

    anchors: Mapping[str, tuple[str, ...]]
    """Each line that matters holds one of the texts in the tuples, and each of these holds its key.

    So the rest of a log is skipped at the speed of a search, and most blocks of it are searched for the keys only.
    """
    signatures: tuple[Signature, ...]
    """The first that fits a line counts."""


@cache
def known_signatures() -> Signatures:
    """Return what is known."""
    text = files("patchkit.tms").joinpath("data", "signatures.json").read_bytes()
    return msgspec.json.decode(text, type=Signatures)


_PLACE = re.compile(
    r"\[torch_memory_saver\.cpp\] (?P<what>.*?)\s*"
    r"file=(?:[^\n]*?/)?(?P<file>[\w.]+) func=(?P<function>\w+) line=(?P<line>\d+)"
)

Place = tuple[str, str, int]
"""File, function and line."""


class Told(msgspec.Struct, frozen=True):
    """A line, completed by what is known of the place that printed it."""

    text: str
    builds: tuple[str, ...] | None
    """Which builds print this at that place; None when the line tells no place, empty when none is recorded."""


class Teller:
    """What the fingerprints say of the place that a line names."""

    def __init__(self, builds: Mapping[str, Fingerprint], before_fix: frozenset[str]) -> None:
        """``before_fix`` are the builds with the double release."""
        self._builds = tuple(builds)
        self._before_fix = before_fix
        self._prints: dict[Place, list[tuple[str, str]]] = {}
        for name, build in builds.items():
            for printed in build.prints:
                place = printed.file, printed.function, printed.line
                self._prints.setdefault(place, []).append((name, printed.what))

    def told(self, line: str, *, is_cut: bool = False) -> Told:
        """Complete a line of torch_memory_saver: ``call=`` the call that failed, ``fix=`` before, after or unclear.

        A line that names no place is returned as it is; the number of one that is cut may have lost digits, and
        where no build prints it, it names no place.
        """
        found = _PLACE.search(line)
        if not found:
            return Told(line, None)
        kind = found["what"].split()[0] if found["what"] else ""
        # "CUresult error: 1 (...)" is recorded as the call that gives it; other texts stand as they are.
        is_error = re.match(r"(CUresult|cudaError) error", found["what"]) is not None
        calls: dict[str, list[str]] = {}
        for name, what in self._prints.get((found["file"], found["function"], int(found["line"][:9])), ()):
            if is_error and what.startswith(f"{kind} "):
                calls.setdefault(what.removeprefix(f"{kind} "), []).append(name)
            elif not is_error and found["what"].startswith(what):
                calls.setdefault("", []).append(name)
        names = tuple(name for name in self._builds if any(name in those for those in calls.values()))
        if is_cut and not names and found.end() == len(line):
            return Told(line[: found.start("file")], None)
        call = "+".join(name for name in calls if name) or "unknown"
        return Told(f"{line} call={call} fix={_side(names, self._before_fix)}", names)


def _side(names: tuple[str, ...], before_fix: frozenset[str]) -> str:
    if not names:
        return "unknown"
    before = [name for name in names if name in before_fix]
    if not before:
        return "after"
    return "before" if len(before) == len(names) else "unclear"
