"""What becomes of a command's exit status, by where it stands in the shell's syntax tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from patchkit.core.pins.model import Status

if TYPE_CHECKING:
    from ast_grep_py import SgNode

_HARMLESS: Final = frozenset({"true", ":", "echo", "printf"})
"""Commands that succeed and change nothing: behind ``||`` they turn a failure into success."""
_BODIES: Final = frozenset(
    {"program", "subshell", "compound_statement", "do_group", "else_clause", "case_item", "if_statement", "elif_clause"}
)
_LOOPS: Final = frozenset({"for_statement", "while_statement", "c_style_for_statement"})
_TOKENS: Final = frozenset({"then", "else", "elif", "do", "done", "fi", "{", "}", "(", ")", ";", ";;", "&", "\n"})


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the shell that say what a failure does."""

    errexit: bool = False
    """-e: the first failure ends the shell."""
    pipefail: bool = False


def status_of(node: SgNode, options: Options) -> Status:
    """Return what becomes of the exit status of the command at ``node``."""
    ends = options.errexit and not _is_exempt(node)
    while (parent := node.parent()) is not None:
        kind = parent.kind()
        if kind == "list" and (decided := _behind_or(node, parent)):
            return decided
        if kind == "pipeline" and not options.pipefail and _same(parent.children()[0], node):
            return Status.PIPED
        if kind == "negated_command" or _is_condition(node, parent):
            return Status.CHECKED
        if kind in _BODIES:
            if ends:
                return Status.CHECKED
            if kind == "do_group" or not _is_last(node, parent):
                return Status.LOOP if _in_loop(parent) else Status.UNCHECKED
        node = parent
    return Status.CHECKED


def _is_exempt(node: SgNode) -> bool:
    """Tell whether ``set -e`` lets a failure pass: left of && and ||, in a condition, negated (POSIX, ``set``)."""
    while (parent := node.parent()) is not None:
        if parent.kind() == "negated_command" or _is_condition(node, parent):
            return True
        if parent.kind() == "list" and _same(_sides(parent)[0], node):
            return True
        node = parent
    return False


def _behind_or(node: SgNode, parent: SgNode) -> Status | None:
    """Return what ``||`` makes of a failure on its left; None when the list does not decide."""
    left, operator, right = _sides(parent)
    if operator != "||" or right is None or not _same(left, node):
        return None
    return Status.SWALLOWED if _swallows(right) else Status.CHECKED


def _sides(node: SgNode) -> tuple[SgNode, str, SgNode | None]:
    parts = [child for child in node.children() if child.kind() != "comment"]
    operator = next((each.kind() for each in parts if each.kind() in ("&&", "||")), "")
    return parts[0], operator, parts[-1] if len(parts) > 2 else None


def _swallows(node: SgNode) -> bool:
    """Tell whether what stands behind ``||`` succeeds whatever happened."""
    commands = [each for each in [node, *node.find_all(kind="command")] if each.kind() == "command"]
    return bool(commands) and all(_succeeds(each) for each in commands)


def _succeeds(command: SgNode) -> bool:
    words = [child.text() for child in command.children()]
    return words[0] in _HARMLESS or words in (["exit", "0"], ["return", "0"])


def _is_condition(node: SgNode, parent: SgNode) -> bool:
    if parent.kind() in ("if_statement", "elif_clause"):
        return any(child.kind() == "then" for child in _after(node, parent))
    return parent.kind() in _LOOPS and node.kind() != "do_group"


def _after(node: SgNode, parent: SgNode) -> list[SgNode]:
    end = node.range().end.index
    return [child for child in parent.children() if child.range().start.index >= end]


def _is_last(node: SgNode, parent: SgNode) -> bool:
    """Tell whether no other statement follows in the same body; the other branches of an if are no followers."""
    for child in _after(node, parent):
        kind = child.kind()
        if kind in ("else_clause", "elif_clause"):
            return True
        if kind not in _TOKENS and kind != "comment":
            return False
    return True


def _in_loop(node: SgNode) -> bool:
    return node.kind() == "do_group" or any(each.kind() == "do_group" for each in node.ancestors())


def _same(one: SgNode, two: SgNode) -> bool:
    first, second = one.range(), two.range()
    return (first.start.index, first.end.index, one.kind()) == (second.start.index, second.end.index, two.kind())
