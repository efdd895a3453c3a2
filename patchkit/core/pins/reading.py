"""One install file, read: its pins, the patches that it applies, and what could not be understood."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from patchkit.core.pins.dockerfile import read_dockerfile
from patchkit.core.pins.documents import Read, Scalar, read_conda, read_pyproject, read_requirements
from patchkit.core.pins.installs import included_by, installed_by
from patchkit.core.pins.model import Applied, Include, Package, Pin, Script
from patchkit.core.pins.patching import applied_by
from patchkit.core.pins.shell import SHELLS, read_script


class Kind(Enum):
    """What a file is."""

    DOCKERFILE = "dockerfile"
    REQUIREMENTS = "requirements"
    PYPROJECT = "pyproject"
    CONDA = "conda"
    SHELL = "shell"


_BY_NAME = (
    (re.compile(r"^(dockerfile|containerfile)(?![a-z])|[._-](dockerfile|containerfile)$"), Kind.DOCKERFILE),
    (re.compile(r"\.toml$"), Kind.PYPROJECT),
    (re.compile(r"\.ya?ml$"), Kind.CONDA),
    (re.compile(r"\.(ba)?sh$"), Kind.SHELL),
    (re.compile(r"\.(txt|in)$"), Kind.REQUIREMENTS),
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What one file says."""

    path: str
    kind: Kind
    text: str
    pins: tuple[Pin, ...]
    script: Script
    """Empty for a file that runs nothing."""
    applied: tuple[Applied, ...]
    problems: tuple[tuple[int, str], ...]
    """0-based places that were not understood, and why."""
    broken: tuple[int, str] | None
    """Where and why the whole does not parse."""
    includes: tuple[Include, ...] = ()
    """Requirements and constraints files that it has read."""
    constraint: bool = False
    """Whether it is a constraints file of another one, and so installs nothing by itself."""
    constrained: frozenset[Package] = frozenset()
    """What its constraints files pin to one version."""

    def line(self, at: int) -> int:
        """Return the 1-based line of a place."""
        return self.text.count("\n", 0, at) + 1

    @property
    def is_rocm(self) -> bool:
        """Whether it is for AMD's GPUs, by its name or its images."""
        words = re.split(r"[^a-z0-9]+", " ".join([self.path.rpartition("/")[2], *self.script.images]).lower())
        return any(re.match(r"rocm|amd$|hip$|mi\d{3}|gfx\d", word) for word in words)


def kind_of(path: str, text: str) -> Kind | None:
    """Return what a file is by its name, or by its first line; None when neither says."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    by_name = next((kind for pattern, kind in _BY_NAME if pattern.search(name)), None)
    first = text.partition("\n")[0]
    if by_name is None and first.startswith("#!") and any(word in SHELLS for word in re.split(r"[/\s]+", first)):
        return Kind.SHELL
    return by_name


def read(path: str, kind: Kind, text: str, scalars: Sequence[Scalar] = ()) -> Reading:
    """Read a file; ``scalars`` are the texts in it when it is YAML."""
    # A byte order mark belongs to no word; a blank keeps every place.
    marked, text = text, f" {text[1:]}" if text.startswith("\ufeff") else text
    if kind in (Kind.DOCKERFILE, Kind.SHELL):
        script = read_dockerfile(text) if kind is Kind.DOCKERFILE else read_script(text)
        pins = tuple(installed_by(script))
        applied = tuple(applied_by(script))
        problems, includes = tuple(script.problems), tuple(included_by(script))
        return Reading(path, kind, marked, pins, script, applied, problems, script.broken, includes)
    try:
        found, read_too = _listed(kind, text, scalars)
    except ValueError as error:
        line = re.search(r"at line (\d+)", str(error))
        at = _place_of_line(text, int(line[1])) if line else 0
        return unreadable(path, kind, text, at, f"this is no TOML: {error}")
    # An extra or a group is installed on top of what every installation has.
    script = Script(parents=[None, *[0] * max((pin.stage for pin in found), default=0)])
    return Reading(path, kind, marked, tuple(found), script, (), (), None, tuple(read_too))


def unreadable(path: str, kind: Kind, text: str, at: int, problem: str) -> Reading:
    """Return what is known of a file that does not parse as a whole: where, and why."""
    return Reading(path, kind, text, (), Script(), (), (), (at, problem))


def _listed(kind: Kind, text: str, scalars: Sequence[Scalar]) -> Read:
    if kind is Kind.PYPROJECT:
        return read_pyproject(text)
    return read_conda(scalars) if kind is Kind.CONDA else read_requirements(text)


def _place_of_line(text: str, line: int) -> int:
    return sum(len(each) for each in text.splitlines(keepends=True)[: line - 1])
