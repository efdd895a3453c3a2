"""Shell text to commands: their words, where they run, and what becomes of their exit status."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from patchkit.core.pins.model import UNKNOWN, Command, Script, Status, Word
from patchkit.core.pins.status import Options, status_of
from patchkit.core.pins.words import parse_shell, word_of, words_of
from patchkit.core.pins.wrappers import unwrapped

if TYPE_CHECKING:
    from ast_grep_py import SgNode

SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh"})
_TEXT_FOLLOWS: Final = re.compile(r"-[a-z]*c[a-z]*")
_MOST_ROUNDS: Final = 64
"""Rounds of a loop, in all loops around it, in which it is read for each word."""
_BRANCHES: Final = frozenset({"if_statement", "elif_clause", "else_clause", "case_item"})
_UNREAD: Final = frozenset({"command_substitution", "process_substitution"})
_ENDS: Final = frozenset({"fi", "done", "esac", "then", "do", ")", "}"})
"""What the parser makes up where it is missing."""
_WORDS: Final = frozenset({"variable_assignment", "file_redirect", "heredoc_redirect", "herestring_redirect"})


@dataclass(slots=True)
class Shell:
    """What a shell knows at one place of a script."""

    variables: dict[str, Word] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    folder: str = UNKNOWN
    options: Options = field(default_factory=Options)
    arrays: dict[str, tuple[Word, ...]] = field(default_factory=dict)

    def copy(self) -> Shell:
        """Return one of its own, for a subshell."""
        return Shell(dict(self.variables), set(self.exported), self.folder, self.options, dict(self.arrays))

    def set_environment(self, name: str, value: Word) -> None:
        """Set a variable for everything that is started."""
        self.variables[name] = value
        self.exported.add(name)

    def enter(self, folder: str) -> None:
        """Go to ``folder``."""
        self.folder = joined(self.folder, folder)


def joined(folder: str, path: str) -> str:
    """Return ``path`` as seen from ``folder``, without dots."""
    if path.startswith(UNKNOWN):
        return path
    return posixpath.normpath(posixpath.join(folder, path)) if path else folder


def options_in(words: list[str]) -> Options:
    """Return the options of a shell's command line: ``bash -euo pipefail``."""
    flags = "".join(word[1:] for word in words if word.startswith("-") and not word.startswith("--"))
    return Options(errexit="e" in flags or "errexit" in words, pipefail="pipefail" in words)


def read_script(text: str) -> Script:
    """Read a shell script: what it runs, line by line, as if nothing failed."""
    first = text.partition("\n")[0]
    shell = Shell(options=options_in(first.split()) if first.startswith("#!") else Shell().options)
    script = Script()
    read_shell(text, 0, shell, script)
    return script


def read_shell(text: str, base: int, shell: Shell, script: Script, stage: int = 0) -> None:
    """Add what ``text``, ``base`` characters into the file, runs to ``script``; ``shell`` is changed as it goes."""
    root = parse_shell(text)
    for error in root.find_all(kind="ERROR"):
        shown = " ".join(error.text().split())[:60]
        script.problems.append((base + error.range().start.index, f"not understood as shell: {shown!r}"))
    try:
        _Reader(text, base, script, stage).walk(root, shell, conditional=False)
    except RecursionError:
        script.problems.append((base, "nested too deeply to be read"))


@dataclass(slots=True)
class _Reader:
    text: str
    base: int
    script: Script
    stage: int
    rounds: int = 1
    """How often the place that is read is read, by the loops around it."""

    def walk(self, node: SgNode, shell: Shell, *, conditional: bool) -> None:
        kind = node.kind()
        if kind in _UNREAD:
            return
        if kind in _ENDS and not node.text():
            self.script.problems.append((self._at(node), f"not understood as shell: {kind!r} is missing"))
        if kind == "command":
            self._command(node, shell, conditional=conditional)
        elif kind == "variable_assignment":
            self._assign(node, shell)
        elif kind == "declaration_command":
            self._declare(node, shell)
        elif kind == "subshell":
            inner = shell.copy()
            for child in node.children():
                self.walk(child, inner, conditional=conditional)
        elif kind == "for_statement":
            self._loop(node, shell, conditional=conditional)
        else:
            self._children(node, shell, conditional=conditional or kind in _BRANCHES)

    def _at(self, node: SgNode) -> int:
        return self.base + node.range().start.index

    def _children(self, node: SgNode, shell: Shell, *, conditional: bool) -> None:
        fallback = False
        for child in node.children():
            fallback = fallback or child.kind() == "||"
            self.walk(child, shell, conditional=conditional or (fallback and node.kind() == "list"))

    def _word(self, node: SgNode, shell: Shell) -> Word:
        return word_of(node, self.base, shell.variables)

    def _assign(self, node: SgNode, shell: Shell) -> tuple[str, Word] | None:
        parts = node.children()
        if parts[0].kind() != "variable_name" or parts[1].kind() not in ("=", "+="):
            return None
        name, more = parts[0].text(), parts[1].kind() == "+="
        if len(parts) > 2 and parts[2].kind() == "array":
            self._assign_array(name, parts[2], shell, more=more)
            return None
        end = self.base + parts[1].range().end.index
        value = self._word(parts[2], shell) if len(parts) > 2 else Word("", (), "", end)
        if more:
            before = shell.variables.get(name, Word(UNKNOWN, (-1,), "", end))
            value = Word(before.text + value.text, before.origins + value.origins, value.written, value.at)
        shell.variables[name] = value
        return name, value

    def _assign_array(self, name: str, node: SgNode, shell: Shell, *, more: bool) -> None:
        before = shell.arrays.get(name) if more else ()
        if before is None:
            return
        elements = [child for child in node.children() if child.kind() not in ("(", ")", "comment")]
        shell.arrays[name] = (*before, *(word for each in elements for word in self._words(each, shell)))
        # Without an index the name is the first element.
        if shell.arrays[name]:
            shell.variables[name] = shell.arrays[name][0]

    def _declare(self, node: SgNode, shell: Shell) -> None:
        exports = node.children()[0].text() == "export"
        for child in node.children()[1:]:
            name = child.text()
            if child.kind() == "variable_assignment":
                name = (self._assign(child, shell) or ("",))[0]
            if exports:
                shell.exported.add(name)

    def _words(self, node: SgNode, shell: Shell) -> list[Word]:
        return words_of(node, self.base, shell.variables, shell.arrays)

    def _loop(self, node: SgNode, shell: Shell, *, conditional: bool) -> None:
        """A loop over words is read once for each of them; over more than a few, once without knowing which."""
        parts = node.children()
        name = next(part.text() for part in parts if part.kind() == "variable_name")
        kinds = [part.kind() for part in parts]
        values = parts[kinds.index("in") + 1 : kinds.index("do_group")] if "in" in kinds else []
        inside = [part for part in values if part.kind() not in (";", "\n", "comment")]
        words = [word for part in inside for word in self._words(part, shell)]
        rounds = self.rounds * len(words)
        if not 0 < rounds <= _MOST_ROUNDS:
            shell.variables.pop(name, None)
            self._children(node, shell, conditional=conditional)
            return
        outside, self.rounds = self.rounds, rounds
        for word in words:
            shell.variables[name] = word
            self._children(node, shell, conditional=conditional)
        self.rounds = outside

    def _command(self, node: SgNode, shell: Shell, *, conditional: bool) -> None:
        children = node.children()
        own = shell.copy()
        names = {name for name in shell.exported if shell.variables.get(name) is None or shell.variables[name].text}
        for child in children:
            if child.kind() == "variable_assignment" and (assigned := self._assign(child, own)) and assigned[1].text:
                names.add(assigned[0])
        words = tuple(word for child in children if child.kind() not in _WORDS for word in self._words(child, shell))
        if not words:
            return
        before, after = self._redirects(node, shell)
        self.script.commands.append(
            Command(
                words=words,
                folder=shell.folder,
                status=status_of(node, shell.options),
                conditional=conditional,
                stdin=before,
                stage=self.stage,
                environment=frozenset(names),
                redirected=after,
            )
        )
        self._heredoc(node, words, shell)
        read_text_of(self.script.commands[-1], shell, self.script)
        _obey([word.text for word in words], shell)

    def _redirects(self, node: SgNode, shell: Shell) -> tuple[Word | None, Word | None]:
        """Return the files that standard input comes from and standard output goes to."""
        found: dict[str, Word] = {}
        for redirect in [*node.children(), *_around(node)]:
            if redirect.kind() == "file_redirect":
                parts = redirect.children()
                found.setdefault(parts[0].text(), self._word(parts[-1], shell))
        return found.get("<"), found.get(">")

    def _heredoc(self, node: SgNode, words: tuple[Word, ...], shell: Shell) -> None:
        """Read what is handed to another shell."""
        if posixpath.basename(words[0].text) not in SHELLS:
            return
        for redirect in _around(node):
            for body in redirect.children() if redirect.kind() == "heredoc_redirect" else ():
                if body.kind() == "heredoc_body":
                    inner = shell.copy()
                    inner.options = options_in([word.text for word in words])
                    read_shell(body.text(), self.base + body.range().start.index, inner, self.script, self.stage)


def read_text_of(command: Command, shell: Shell, script: Script) -> None:
    """Read the text that a command hands to a shell: ``bash -c '...'``, ``eval '...'``.

    What becomes of the whole becomes of each command in it. Text whose characters do not stand side by side in the
    file cannot be placed, and is told.
    """
    words = list(unwrapped(command))
    inner = shell.copy()
    if posixpath.basename(words[0].text) in SHELLS | {"su", "runuser"}:
        at = next((at for at, word in enumerate(words) if _TEXT_FOLLOWS.fullmatch(word.text)), len(words))
        inner.options = options_in([word.text for word in words[: at + 1]])
        text = words[at + 1] if at + 1 < len(words) else None
    else:
        text = words[1] if words[0].text == "eval" and len(words) == 2 else None
    if text is None or not text.text:
        return
    span = text.span(0, len(text.text))
    if span is None:
        script.problems.append((command.at, f"not read: the text that {words[0].text} is given"))
        return
    before = len(script.commands)
    read_shell(text.text, span[0], inner, script, command.stage)
    for at in range(before, len(script.commands)):
        own = script.commands[at]
        status = command.status if own.status is Status.CHECKED else own.status
        script.commands[at] = replace(own, status=status, conditional=own.conditional or command.conditional)


def _around(node: SgNode) -> list[SgNode]:
    """Return what stands beside a command with its redirections: of a list, the grammar takes them for the whole."""
    parent = node.parent()
    while parent is not None and parent.kind() in ("list", "pipeline"):
        if parent.range().end.index != node.range().end.index:
            return []
        node, parent = parent, parent.parent()
    return parent.children() if parent is not None and parent.kind() == "redirected_statement" else []


def _obey(words: list[str], shell: Shell) -> None:
    """Do what a command does to the shell itself."""
    match words:
        case ["cd", folder] | ["cd", "--", folder] | ["pushd", folder]:
            shell.enter(folder)
        case ["set", *flags]:
            on = options_in(flags)
            off = "".join(flag[1:] for flag in flags if flag.startswith("+"))
            shell.options = replace(
                shell.options,
                errexit=(shell.options.errexit or on.errexit) and "e" not in off,
                pipefail=shell.options.pipefail or on.pipefail,
            )
        case ["unset", *names]:
            for name in names:
                shell.variables.pop(name, None)
                shell.exported.discard(name)
        case _:
            pass
