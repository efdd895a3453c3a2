"""What gates say of a planned result."""

from __future__ import annotations

import enum

import msgspec


class Rule(enum.Enum):
    """What an alarm is about; the value is what reports print."""

    SYNTAX = "syntax"
    """The result is no Python although the target is."""
    UNBOUND = "unbound"
    """A name is read that nothing binds, or before anything can have bound it."""
    POSSIBLY_UNBOUND = "possibly-unbound"
    """A local is read that some path to the read does not bind."""
    DUPLICATE = "duplicate"
    """A definition, import, field, parameter, keyword, key, entry or option stands twice."""
    MISPLACED = "misplaced"
    """A decorator, a clause (else, except ...) or a field stands where neither side has it and where it is wrong."""
    UNREACHABLE = "unreachable"
    """A statement stands behind one that leaves its block, and on neither side did."""
    UPSTREAMED = "upstreamed"
    """Statements that the patch adds, and that the target has already, stand twice."""
    STALE_REFERENCE = "stale-reference"
    """What the patch adds uses something that its base had and the target has not."""
    REMOVED_STILL_USED = "removed-still-used"
    """The patch takes something away that the target uses where the base did not."""
    FOREIGN_BASE = "foreign-base"
    """The patch's base and the target are not versions of one file."""
    UNCHECKED = "unchecked"
    """The running Python cannot read a text that the result has to be compared with."""


class Alarm(msgspec.Struct, frozen=True):
    """One thing that is wrong with a result."""

    rule: Rule
    line: int
    """1-based line in the result."""
    name: str
    """What it is about: a name, an attribute, a keyword, an option; for a run of statements the scope."""
    message: str
    """One sentence for a person, without the line."""
    harmless: bool = False
    """Whether the result does what it would do without it, as when one name is imported twice from one place."""
