"""What install files say, as values: words that know where their characters come from, commands, pins, patches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

UNKNOWN = "\0"
"""Stands in a word's text for something that the file does not say, such as the value of an unset variable."""

Package = Literal["megatron", "tms"]


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command after expansion."""

    text: str
    """With ``UNKNOWN`` for what is not known."""
    origins: tuple[int, ...]
    """For each character of ``text`` its 0-based place in the file; -1 for one that stands nowhere in it."""
    written: str
    """As the file has it, before expansion."""
    at: int
    """0-based place in the file."""

    @property
    def known(self) -> bool:
        """Whether all of it is known."""
        return UNKNOWN not in self.text

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """Return where characters ``start`` to ``end`` stand in the file; None unless side by side in one place."""
        places = self.origins[start:end]
        if not places or places[0] < 0 or any(place != places[0] + step for step, place in enumerate(places)):
            return None
        return places[0], places[-1] + 1


def literal(text: str, at: int, *, shift: int = 0) -> Word:
    """Return a word that stands as it is at place ``at``; ``shift`` characters (a quote) stand before its text."""
    return Word(text, tuple(range(at + shift, at + shift + len(text))), text, at)


class Status(Enum):
    """What becomes of a command's exit status."""

    CHECKED = "checked"
    """A failure stops the build or the script, or is looked at."""
    SWALLOWED = "swallowed"
    """``|| true``, ``|| echo ...``: a failure is turned into success."""
    LOOP = "loop"
    """In a loop that goes on after a failure."""
    PIPED = "piped"
    """In a pipeline, of which only the last command's status counts."""
    UNCHECKED = "unchecked"
    """Another command follows whatever happens."""


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command."""

    words: tuple[Word, ...]
    folder: str
    """Where it runs, as far as the file says; UNKNOWN inside when it does not say."""
    status: Status
    conditional: bool
    """Whether it stands in a branch of an if or a case."""
    stdin: Word | None
    """File that its standard input comes from."""
    stage: int
    """0-based stage of a Dockerfile; 0 elsewhere."""
    environment: frozenset[str]
    """Names of the variables that are known to be set for it."""
    redirected: Word | None = None
    """File that its standard output goes to."""

    @property
    def at(self) -> int:
        """0-based place in the file."""
        return self.words[0].at


@dataclass(frozen=True, slots=True)
class Copy:
    """A COPY or ADD of a Dockerfile, or a mount."""

    sources: tuple[Word, ...]
    destination: str
    stage: int
    at: int


@dataclass(slots=True)
class Script:
    """What was read of a Dockerfile or a shell script."""

    commands: list[Command] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    parents: list[int | None] = field(default_factory=lambda: [None])
    """For each stage the stage that it begins from; None for one that begins from an image."""
    images: list[str] = field(default_factory=list)
    """Image of each stage, as far as it is known."""
    image_places: list[int] = field(default_factory=list)
    """0-based place of each stage's FROM."""
    problems: list[tuple[int, str]] = field(default_factory=list)
    """Places that could not be understood, and why."""
    broken: tuple[int, str] | None = None
    """The file as a whole does not parse: where, and why."""

    def lineage(self, stage: int) -> tuple[int, ...]:
        """Return ``stage`` and the stages that it is made from."""
        found = [stage]
        while (parent := self.parents[found[-1]]) is not None:
            found.append(parent)
        return tuple(found)


class PinKind(Enum):
    """How an installation names what it installs."""

    RELEASE = "release"
    """One version: ``==0.0.10``."""
    RANGE = "range"
    """A range of versions."""
    COMMIT = "commit"
    TAG = "tag"
    """A release's tag in the repository."""
    BRANCH = "branch"
    """Another name in a repository, which moves."""
    NOTHING = "nothing"
    """Whatever is newest."""
    UNKNOWN = "unknown"
    """A variable whose value the file does not say."""


@dataclass(frozen=True, slots=True)
class Pin:
    """One installation of Megatron-LM or torch_memory_saver."""

    package: Package
    kind: PinKind
    value: str
    """Version, range, commit or name; the variable's text for UNKNOWN; empty for NOTHING."""
    span: tuple[int, int] | None
    """Where ``value`` stands in the file; None when it is put together from several places, or there is none."""
    at: int
    """0-based place of the installation."""
    repository: str | None = None
    """URL for an installation from git."""
    conditional: bool = False
    stage: int = 0
    environment: frozenset[str] | None = None
    """Variables that are known to be set for it; None where a file cannot say so."""
    command: Command | None = None
    folder: str | None = None
    """Base name of the clone's folder, for a clone."""

    @property
    def title(self) -> str:
        """How people write it."""
        name = NAMES[self.package]
        value = self.value if len(self.value) <= _SHOWN else f"{self.value[: _SHOWN - 3]}..."
        match self.kind:
            case PinKind.NOTHING:
                return name
            case PinKind.RELEASE | PinKind.RANGE:
                return f"{name} {value}"
            case PinKind.COMMIT:
                return f"{name} at {value[:12]}"
            case PinKind.TAG | PinKind.BRANCH:
                return f"{name} at {value}"
            case PinKind.UNKNOWN:
                return f"{name} ({value})"


_SHOWN = 100
"""Characters of a value that a title has."""
NAMES: Mapping[Package, str] = {"megatron": "Megatron-LM", "tms": "torch_memory_saver"}


@dataclass(frozen=True, slots=True)
class Include:
    """A requirements or constraints file that a file has read: ``-r base.txt``, ``-c constraints.txt``."""

    name: str
    """As it is written, with ``UNKNOWN`` for what is not known."""
    at: int
    """0-based place."""
    constraint: bool = False
    """Whether it installs nothing by itself."""
    command: Command | None = None
    """The installation that reads it; None in a file that is no script."""


@dataclass(frozen=True, slots=True)
class Applied:
    """A command that applies a patch, and what is wrong with its options."""

    command: Command
    tool: Literal["git apply", "git am", "patch"]
    files: tuple[Word, ...]
    """Patch files, as the command names them; empty when they come from somewhere else."""
    folder: str
    loose: tuple[str, ...]
    """Options that make it take what does not fit."""
