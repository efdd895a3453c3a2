"""Conflicts that a person has solved, in a form in which the same conflict is known again.

A resolution is used again only where the conflict is the same line for line, and what stands around it too, in the base
and in the target. What is not looked at: indentation that all sides have in common, blank lines at the edges of a side.
"""

# No postponed annotations here: msgspec would compile each one again at every start.
import hashlib
from collections.abc import Iterable, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from patchkit.core.lines import split_lines
from patchkit.core.marks import first_mark
from patchkit.core.merging.logical import cut_lines
from patchkit.core.rebasing.spots import Spot
from patchkit.core.series import SCHEMA, Document, Name, RelativePath, Text

AROUND = 3
"""Logical lines on each side of a conflict that have to be the same."""


class Sides(Document, frozen=True):
    """The three texts of a conflict, without the indentation that they share and blank lines at their edges."""

    base: str
    changed: str
    target: str


class Around(Document, frozen=True):
    """The logical lines before and after a conflict in one text, white space made single, blank ones left out."""

    before: tuple[str, ...]
    after: tuple[str, ...]


class Circumstances(Document, frozen=True, kw_only=True):
    """All that has to be the same for a resolution to be used again."""

    patch: Name
    hunks: Annotated[tuple[Name, ...], Meta(min_length=1)]
    """Ids of the hunks in conflict."""
    file: RelativePath
    conflict: Sides
    in_base: Around
    in_target: Around


class Resolution(Circumstances, frozen=True, kw_only=True):
    """What a person made of a conflict: a file below resolutions/, reviewed like code."""

    schema: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)]
    resolution: str
    """The lines in the place of the conflict, without the indentation that the conflict's sides share."""
    author: Text
    reason: Text
    base: Text
    """Target on which the patch was carried from."""
    target: Text
    """Target on which the conflict was solved."""


class Seen(msgspec.Struct, frozen=True):
    """A conflict as it is met: its circumstances, and the indentation taken away."""

    circumstances: Circumstances
    indentation: str

    @property
    def key(self) -> str:
        """Name of the conflict, the same wherever the circumstances are the same."""
        digest = hashlib.sha256(msgspec.json.encode(self.circumstances)).hexdigest()
        return f"{self.circumstances.hunks[0]}-{digest[:12]}"


def seen(spot: Spot, base: bytes, target: bytes, *, patch: str, hunks: Sequence[str], file: str) -> Seen | None:
    """Return how the conflict at ``spot`` is remembered; None when it cannot be: text that is not UTF-8, no hunk."""
    try:
        sides = [text.decode() for text in (spot.conflict.base, spot.conflict.changed, spot.conflict.target)]
        in_base = _around(base.decode(), spot.base, file)
        in_target = _around(target.decode(), spot.target, file)
    except UnicodeDecodeError:
        return None
    if not hunks:
        return None
    indentation = _shared(sides)
    conflict = Sides(*(_without(_stripped(side), indentation) for side in sides))
    return Seen(
        Circumstances(
            patch=patch, hunks=tuple(hunks), file=file, conflict=conflict, in_base=in_base, in_target=in_target
        ),
        indentation,
    )


def resolution(met: Seen, text: bytes, *, author: str, reason: str, base: str, target: str) -> Resolution | None:
    """Return what is to be kept of the solved conflict; ``text`` is what the person put in its place.

    None when that cannot be written down relative to the conflict: it is indented less than every side, or not UTF-8.
    Nor is a text with marks of a conflict, which nobody could tell from one that is left in the file.
    """
    try:
        solved = text.decode()
    except UnicodeDecodeError:
        return None
    if any(line.strip() and not line.startswith(met.indentation) for line in solved.split("\n")):
        return None
    sides = met.circumstances.conflict
    if any(first_mark(part.encode()) for part in (sides.base, sides.changed, sides.target, solved, reason)):
        return None
    return Resolution(
        **msgspec.structs.asdict(met.circumstances),
        schema=SCHEMA,
        resolution=_without(solved, met.indentation),
        author=author,
        reason=reason,
        base=base,
        target=target,
    )


def fits(known: Resolution, met: Seen) -> bool:
    """Tell whether a resolution may be used for a conflict: everything is the same."""
    return circumstances_of(known) == met.circumstances


def offered(known: Resolution, met: Seen) -> bool:
    """Tell whether a resolution is worth a look: the conflict is the same, and something around it is not."""
    return known.conflict == met.circumstances.conflict and not fits(known, met)


def replayed(known: Resolution, met: Seen) -> bytes:
    """Return the text of a resolution, indented as the conflict is."""
    lines = known.resolution.split("\n")
    return "\n".join(met.indentation + line if line.strip() else line for line in lines).encode()


def circumstances_of(known: Resolution) -> Circumstances:
    """Return the circumstances in which a resolution was made."""
    return Circumstances(**{name: getattr(known, name) for name in Circumstances.__struct_fields__})


def _shared(sides: Sequence[str]) -> str:
    """Return the white space with which every line of every side begins, blank lines aside."""
    heads = [line[: len(line) - len(line.lstrip(" \t"))] for side in sides for line in side.split("\n") if line.strip()]
    if not heads:
        return ""
    shortest = min(heads, key=len)
    for length in range(len(shortest), 0, -1):
        if all(head.startswith(shortest[:length]) for head in heads):
            return shortest[:length]
    return ""


def _without(text: str, indentation: str) -> str:
    return "\n".join(line.removeprefix(indentation) if line.strip() else line.strip(" \t") for line in text.split("\n"))


def _stripped(side: str) -> str:
    lines = side.split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return "".join(f"{line}\n" for line in lines)


def _around(text: str, lines: tuple[int, int], file: str) -> Around:
    """Return the logical lines around the 0-based ``lines`` (half-open); of other text than Python physical lines."""
    first, end = lines
    rows: Iterable[tuple[int, int, str]]
    if file.endswith((".py", ".pyi")):
        found = cut_lines(text)
        rows = (
            (row, row + line.text.count("\n"), line.text) for line, row in zip(found.lines, found.rows, strict=True)
        )
    else:
        rows = ((number, number, physical.decode()) for number, physical in enumerate(split_lines(text.encode())))
    said = [(start, last, " ".join(words)) for start, last, whole in rows if (words := whole.split())]
    before = [words for _, last, words in said if last < first]
    after = [words for start, _, words in said if start >= end]
    return Around(tuple(before[-AROUND:]), tuple(after[:AROUND]))
