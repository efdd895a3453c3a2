"""Both sides insert at the same place: what each brings, member by member, and in which order it goes."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from functools import cached_property

from patchkit.core.merging.lexemes import LineKind, LogicalLine

_CONTINUES = re.compile(r"\s*(?:else|elif|except|finally|case)\b")
_OPTION = re.compile(r"""\s*\w[\w.]*\.add_argument\(\s*["']([^"']+)["']""")
_LEAVES = re.compile(r"\s*(?:return|break|continue|yield)\b")
_RAISES = re.compile(r"\s*raise\b")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_STORES = (
    re.compile(r"^\s*([\w.\[\]'\", *()]+?)\s*(?::[^=\n]+)?(?:[-+*/%&|^@]|//|\*\*|>>|<<)?=(?!=)"),
    re.compile(r"\bfor\s+(.+?)\s+in\b"),
    re.compile(r"\bas\s+([\w(), ]+)"),
    re.compile(r"^\s*del\s+(.+)"),
    re.compile(r"(\w+)\s*:="),
)


class Member:
    """A statement with all that belongs to it: comments above, decorators, body, further branches, docstring below."""

    def __init__(self) -> None:
        self.lines: list[LogicalLine] = []

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for members that say the same; comments do not count."""
        return tuple(line.key for line in self.lines if line.kind is not LineKind.COMMENT)

    @property
    def code(self) -> list[LogicalLine]:
        """The lines without comments."""
        return [line for line in self.lines if line.kind is LineKind.CODE]

    @cached_property
    def head(self) -> LogicalLine | None:
        """Its first line that is neither comment nor decorator."""
        return next((line for line in self.code if not line.text.lstrip().startswith("@")), None)

    @cached_property
    def bound(self) -> set[str]:
        """What it defines in the block it stands in: names, attributes, command line options."""
        head = self.head
        if head is None:
            return set()
        if head.definition is not None:
            return {head.definition[1]}
        option = _OPTION.match(head.text)
        if option is not None:
            return {option[1]}
        return {name for line in self.code for name in _stored(line)}

    @cached_property
    def is_declaration(self) -> bool:
        """Whether it only declares, so that its order among its like says nothing: def, class, import, option."""
        head = self.head
        return head is None or head.definition is not None or head.is_import or _OPTION.match(head.text) is not None

    @cached_property
    def is_branch(self) -> bool:
        """Whether it is a further branch of the statement above it."""
        return self.head is not None and _CONTINUES.match(self.head.text) is not None

    @cached_property
    def leaves(self) -> bool:
        """Whether what stands behind it may not run."""
        if self.is_declaration:
            return False
        level = min(line.indent for line in self.code)
        return any(
            _LEAVES.match(line.text) or (line.indent == level and _RAISES.match(line.text)) for line in self.code
        )

    @cached_property
    def words(self) -> set[str]:
        """The identifiers used when it runs: of a function decorators and header, of a class its own level too."""
        head = self.head
        lines = self.code
        if head is not None and head.definition is not None:
            inner = min((line.indent for line in lines if line.indent > head.indent), default=head.indent)
            is_class = head.definition[0] == "class"
            lines = [line for line in lines if line.indent <= head.indent or (is_class and line.indent == inner)]
        return {word for line in lines for word in _WORD.findall(_without_prose(line))}


_PROSE = re.compile(r"[rRbBuU]{0,2}[\"'].*\s.*", re.DOTALL)
"""A string with a space in it, which is for people; names in f-strings are names."""


def _without_prose(line: LogicalLine) -> str:
    """Return a line of code without its comments and without the text of its strings, where that is prose."""
    kept = (lexeme for lexeme in line.lexemes if not lexeme.text.startswith("#"))
    return "".join(lexeme.space + ('""' if _PROSE.fullmatch(lexeme.text) else lexeme.text) for lexeme in kept)


def _stored(line: LogicalLine) -> set[str]:
    if line.is_import:
        names = line.text.partition("import")[2].strip(" ()\n").split(",")
        return {name.split()[-1].partition(".")[0] for name in names if name.split()}
    found: set[str] = set()
    text = _without_prose(line)
    for pattern in _STORES:
        for match in pattern.finditer(text):
            found.update(_NAME.findall(match[1]))
    return found


def members(lines: Sequence[LogicalLine]) -> list[Member]:
    """Cut inserted lines into members."""
    level = min((line.indent for line in lines if line.kind is LineKind.CODE), default=0)
    found: list[Member] = []
    open_head = False
    for line in lines:
        stripped = line.text.lstrip()
        begins = (
            line.indent <= level
            and line.kind is not LineKind.TEXT
            and not _CONTINUES.match(line.text)
            and not stripped.startswith(('"', "'"))
        )
        if not found or (begins and not open_head):
            found.append(Member())
        found[-1].lines.append(line)
        # Comments and decorators belong to what follows them.
        open_head = begins and (line.kind is LineKind.COMMENT or stripped.startswith("@"))
        if line.kind is LineKind.COMMENT and not begins:
            open_head = False
    return found


def both(
    ours: Sequence[LogicalLine],
    theirs: Sequence[LogicalLine],
    *,
    blank_below: tuple[bool, bool],
    blank_was: bool,
    wraps: bool = False,
) -> tuple[list[LogicalLine], bool] | None:
    """Return the patch's lines that the target lacks, and whether they go first; None when the two do not go together.

    The target's come first, so that it stays in the order it has, unless the patch's are indented more and belong to
    the statement above, or a comment or paragraphs tell otherwise. ``blank_below`` says whether a blank line follows
    the patch's lines and the target's, ``blank_was`` whether one did in the base. Members that both sides bring stay
    the target's. Two members of one name do not go together, nor do statements that use each other's names, whose order
    has a meaning that nobody stated. With ``wraps`` the target's lines end in a header around what follows, and the
    patch's go before them.
    """
    mine, yours = members(ours), members(theirs)
    their_keys = {member.key for member in yours if member.key}
    fresh = [member for member in mine if member.key not in their_keys]
    if not fresh:
        return [], False
    our_keys = {member.key for member in mine}
    other = [member for member in yours if not member.key or member.key not in our_keys]
    if not _go_together(fresh, other, {name for member in yours for name in member.bound}, wraps=wraps):
        return None
    lines = [line for member in fresh for line in member.lines]
    first = _goes_first(ours, theirs, (fresh, other), blank_below=blank_below, blank_was=blank_was, wraps=wraps)
    if first is None:
        return None
    if ours[0].indent == theirs[0].indent and fresh[0].is_branch != yours[0].is_branch:
        # A further branch belongs to the statement above the place, and nothing may come between.
        first = fresh[0].is_branch
    above, below = (lines, theirs) if first or wraps else (theirs, lines)
    return None if _falls_into(below, above) else (lines, first)


def _goes_first(
    ours: Sequence[LogicalLine],
    theirs: Sequence[LogicalLine],
    unlike: tuple[Sequence[Member], Sequence[Member]],
    *,
    blank_below: tuple[bool, bool],
    blank_was: bool,
    wraps: bool,
) -> bool | None:
    """Tell whether the patch's lines go first; None for comments whose place nobody knows.

    ``unlike`` are the members that only the patch, and only the target brings.
    """
    fresh, other = unlike
    above = [_is_comment(fresh[-1]), bool(other) and _is_comment(other[-1])]
    if ours[0].indent != theirs[0].indent:
        return ours[0].indent > theirs[0].indent
    if any(above) and other:
        # A comment belongs to what stands below it and goes right before that, or before a header around it.
        if all(above):
            return False if len(fresh) == len(other) == 1 else None
        heads = wraps or ours[-1].opens
        return None if blank_below[above.index(True)] else above[1] != heads
    # What begins a section or is set off by a blank line goes behind what is not, and so does what has changed whether
    # a blank line follows: next to the line that it set off, or from which it took the blank line.
    mine_parts, their_parts = (below != blank_was for below in blank_below)
    behind = _begins_section(theirs), bool(theirs[0].blank), their_parts
    return behind > (_begins_section(ours), bool(ours[0].blank), mine_parts)


def _falls_into(below: Sequence[LogicalLine], above: Sequence[LogicalLine]) -> bool:
    """Tell whether lines put below others would belong to a block or a statement of those."""
    head = next((line for line in below if line.kind is LineKind.CODE), None)
    if head is None:
        return False
    levels = [line.indent for line in above if line.kind is LineKind.CODE]
    is_branch = _CONTINUES.match(head.text) is not None
    return any(level < head.indent or (is_branch and level == head.indent) for level in levels)


def _go_together(fresh: Sequence[Member], other: Sequence[Member], taken: Set[str], *, wraps: bool) -> bool:
    """Tell whether members of the two sides can stand side by side; ``taken`` are all names that the target binds."""
    if other and any(not member.code and not _is_comment(member) for member in fresh):
        return False
    if any(member.bound & taken for member in fresh):
        return False
    # What leaves the block before a mere header leaves what follows it, as it did in the patch.
    heads = wraps and all(line.opens for member in other for line in member.code)
    if any(_apart(one, two, heads=heads) for one in fresh for two in other):
        return False
    # A dataclass takes no field without default behind one that has one.
    return {_is_bare_field(member) for member in (*fresh, *other)} != {True, False}


def _is_comment(member: Member) -> bool:
    """Tell whether a member is a comment on what stands below the place."""
    return all(line.kind is LineKind.COMMENT for line in member.lines)


def _apart(one: Member, two: Member, *, heads: bool) -> bool:
    """Tell whether two members of the two sides cannot both go in, in whatever order."""
    if _alike(one, two) or _depends(one, two) or _depends(two, one):
        return True
    if one.is_branch and two.is_branch:
        return True
    if heads:
        return False
    return (one.leaves and not two.is_declaration) or (two.leaves and not one.is_declaration)


_SECTION = re.compile(r"\s*#\s*([#=*~-])\1{3,}")


def _begins_section(lines: Sequence[LogicalLine]) -> bool:
    """Tell whether lines begin with a comment that is a rule across the page."""
    return lines[0].kind is LineKind.COMMENT and _SECTION.match(lines[0].text) is not None


_FIELD = re.compile(r"\s*\w+\s*:[^=]+$")


def _is_bare_field(member: Member) -> bool:
    """Tell whether a member declares a field without a default."""
    head = member.head
    return head is not None and not head.opens and _FIELD.match(head.text) is not None


def _alike(one: Member, two: Member) -> bool:
    """Tell whether two members could be versions of one: half of the longer one's lines are in the other."""
    keys, other = [line.key for line in one.code], {line.key for line in two.code}
    common = sum(key in other for key in keys)
    return len(keys) > 2 and 2 * common >= max(len(keys), len(other))


def _depends(one: Member, two: Member) -> bool:
    return any(name.rpartition(".")[2] in two.words for name in one.bound)


def within(few: Sequence[str], many: Sequence[str]) -> bool:
    """Tell whether all of ``few`` stand in ``many``, in that order."""
    rest = iter(many)
    return all(any(key == other for other in rest) for key in few)
