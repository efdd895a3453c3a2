"""Dockerfiles to commands and copies, with BuildKit's syntax: stages, ARG and ENV, continuation lines, heredocs.

The only importer of tree-sitter and its Dockerfile grammar.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from patchkit.core.pins.model import UNKNOWN, Command, Copy, Script, Status, Word
from patchkit.core.pins.shell import SHELLS, Shell, options_in, read_shell, read_text_of
from patchkit.core.pins.words import word_in

if TYPE_CHECKING:
    from tree_sitter import Node

_ESCAPE = re.compile(r"\A(?:#[^\n]*\n)*?#\s*escape\s*=\s*`", re.IGNORECASE)
# The builder drops empty lines behind a continuation, as it drops comments there.
_EMPTY = re.compile(r"(?<=\\\n)(?:[ \t]*\n)+")
_MARKER = re.compile(r"<<-?\s*([\"']?)\w+\1")


def read_dockerfile(text: str) -> Script:
    """Read a Dockerfile; ``broken`` of the result says what does not parse, the rest is read all the same."""
    from tree_sitter import Language, Parser  # noqa: PLC0415 - only a Dockerfile needs it
    from tree_sitter_containerfile import language  # noqa: PLC0415 - as above

    source = text.encode()
    root = Parser(Language(language())).parse(source).root_node
    reader = _Reader(text, source)
    reader.read(root)
    return reader.script


@dataclass(slots=True)
class _Reader:
    text: str
    source: bytes
    script: Script = field(default_factory=lambda: Script(parents=[]))
    defaults: dict[str, Word] = field(default_factory=dict)
    """ARGs before the first FROM."""
    stages: list[tuple[str, Shell]] = field(default_factory=list)
    """Alias and state of each stage."""
    declared: set[str] = field(default_factory=set)
    """ARGs of the stage, which a build may set whether or not they have a default."""

    def read(self, root: Node) -> None:
        for node in root.children:
            if node.type in ("ERROR", "comment") or not node.is_named:
                continue
            handler = self._handlers().get(node.type.removesuffix("_instruction"))
            if handler is not None and (self.stages or node.type in ("from_instruction", "arg_instruction")):
                handler(node)
        if root.has_error:
            bad = next(_errors(root), root)
            shown = " ".join(self._of(bad).split())[:60]
            self.script.broken = (self._at(bad.start_byte), f"this is no Dockerfile from here on: {shown!r}")
        elif not self.stages:
            self.script.broken = (0, "this is no Dockerfile: it has no FROM")
        self.script.parents = self.script.parents or [None]

    def _at(self, byte: int) -> int:
        """Return the place in characters."""
        return byte if self.text.isascii() else len(self.source[:byte].decode())

    def _of(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode()

    def _word(self, node: Node, shell: Shell) -> Word:
        return word_in(self._of(node), self._at(node.start_byte), shell.variables)

    @property
    def _stage(self) -> int:
        return len(self.stages) - 1

    @property
    def _shell(self) -> Shell:
        return self.stages[-1][1]

    def _handlers(self) -> dict[str, Callable[[Node], None]]:
        return {
            "from": self._from,
            "arg": self._arg,
            "env": self._env,
            "workdir": self._workdir,
            "shell": self._set_shell,
            "copy": self._copy,
            "add": self._copy,
            "run": self._run,
            "onbuild": self._onbuild,
        }

    def _from(self, node: Node) -> None:
        spec = next((child for child in node.children if child.type == "image_spec"), None)
        alias = next((self._of(child) for child in node.children if child.type == "image_alias"), "")
        image = "" if spec is None else self._word(spec, Shell(self.defaults)).text
        names = [name.lower() for name, _ in self.stages]
        parent = len(names) - 1 - names[::-1].index(image.lower()) if image and image.lower() in names else None
        shell = Shell(folder="/") if parent is None else self.stages[parent][1].copy()
        if parent is not None:
            # ARGs end with their stage, ENV goes on (Dockerfile reference, "Scope").
            shell.variables = {name: word for name, word in shell.variables.items() if name in shell.exported}
        self.declared = set()
        self.stages.append((alias, shell))
        self.script.parents.append(parent)
        self.script.image_places.append(self._at(node.start_byte))
        self.script.images.append(image if parent is None else self.script.images[parent])

    def _arg(self, node: Node) -> None:
        for name, value in self._pairs(node, self._shell if self.stages else Shell(self.defaults)):
            if not self.stages:
                if value is not None:
                    self.defaults[name] = value
                continue
            self.declared.add(name)
            known = self.defaults.get(name) if value is None else value
            # ENV always wins over an ARG of the same name (Dockerfile reference, "Using ARG variables").
            if known is not None and name not in self._shell.exported:
                self._shell.variables[name] = known

    def _env(self, node: Node) -> None:
        for name, value in self._pairs(node, self._shell):
            if value is not None:
                self._shell.set_environment(name, value)

    def _pairs(self, node: Node, shell: Shell) -> Iterator[tuple[str, Word | None]]:
        for pair in node.children:
            if pair.type not in ("arg_pair", "env_pair"):
                continue
            parts = [child for child in pair.children if child.is_named]
            yield self._of(parts[0]), (self._word(parts[1], shell) if len(parts) > 1 else self._empty(pair))

    def _empty(self, pair: Node) -> Word | None:
        return Word("", (), "", self._at(pair.end_byte)) if self._of(pair).endswith("=") else None

    def _workdir(self, node: Node) -> None:
        path = next((child for child in node.children if child.type == "path"), None)
        self._shell.enter(UNKNOWN if path is None else self._word(path, self._shell).text)

    def _set_shell(self, node: Node) -> None:
        words = [word.text for word in self._exec(node)]
        self._shell.options = options_in(words)

    def _copy(self, node: Node) -> None:
        if any(self._of(child).startswith("--from") for child in node.children if child.type == "param"):
            return
        words = self._exec(node) or [
            self._word(child, self._shell)
            for child in node.children
            if child.type == "path" and not any(part.type == "heredoc_marker" for part in child.children)
        ]
        if len(words) > 1:
            destination = words[-1].text
            folder = "/" if destination.endswith("/") or len(words) > 2 else ""
            place = Shell(folder=self._shell.folder)
            place.enter(destination)
            self.script.copies.append(
                Copy(tuple(words[:-1]), place.folder.rstrip("/") + folder, self._stage, self._at(node.start_byte))
            )

    def _run(self, node: Node) -> None:
        inner = self._started()
        for mount in (child for child in node.children if child.type == "mount_param"):
            self._mount(mount)
        command = next((child for child in node.children if child.type == "shell_command"), None)
        body = next((child for child in node.children if child.type == "heredoc_block"), None)
        if words := self._exec(node):
            self.script.commands.append(_plain(tuple(words), inner, self._stage))
            read_text_of(self.script.commands[-1], inner, self.script)
        if command is None:
            return
        start = self._at(command.start_byte)
        text = self._joined(command)
        plain = _MARKER.sub(lambda match: " " * len(match[0]), text) if body is not None else text
        words_of_command = plain.split()
        if words_of_command:
            read_shell(plain, start, inner, self.script, self._stage)
        if body is not None and (not words_of_command or words_of_command[0].rpartition("/")[2] in SHELLS):
            within = self._started()
            if words_of_command:
                within.options = options_in(words_of_command)
            self._body(body, within)

    def _onbuild(self, node: Node) -> None:
        self.script.problems.append((self._at(node.start_byte), "not read: ONBUILD runs in the builds of other images"))

    def _started(self) -> Shell:
        """Return the shell of one RUN: ARGs are in its environment, unless they are empty."""
        shell = self._shell.copy()
        shell.exported |= self.declared
        return shell

    def _body(self, body: Node, shell: Shell) -> None:
        contents = [child for child in body.children if child.type == "heredoc_content"]
        if not contents:
            return
        start, end = self._at(contents[0].start_byte), self._at(contents[-1].end_byte)
        text = self.text[start:end]
        first = text.partition("\n")[0].strip()
        if first.startswith("#!"):
            if not any(name in SHELLS for name in re.split(r"[/\s]+", first)):
                return
            shell.options = options_in(first.split())
        read_shell(text, start, shell, self.script, self._stage)

    def _mount(self, node: Node) -> None:
        """A bind mount is a copy for the time of one command."""
        fields = dict(part.partition("=")[::2] for part in self._of(node).partition("=")[2].split(","))
        source, target = fields.get("source", fields.get("src", ".")), fields.get("target", fields.get("dst", ""))
        if fields.get("type", "bind") == "bind" and target and "from" not in fields:
            at = self._at(node.start_byte)
            self.script.copies.append(Copy((Word(source, (-1,) * len(source), source, at),), target, self._stage, at))

    def _exec(self, node: Node) -> list[Word]:
        """Return the words of the JSON form; none for the other form."""
        array = next((child for child in node.children if child.type == "json_string_array"), None)
        words = []
        for item in (child for child in (array.children if array else ()) if child.type == "json_string"):
            text, at = self._of(item), self._at(item.start_byte)
            value = json.loads(text)
            exact = value == text[1:-1]
            words.append(
                Word(value, tuple(range(at + 1, at + 1 + len(value))) if exact else (-1,) * len(value), text, at)
            )
        return words

    def _joined(self, command: Node) -> str:
        """Return the shell's text, as long as in the file, with nothing where the builder drops a line."""
        start = self._at(command.start_byte)
        characters = list(self._of(command))
        escape = "`" if _ESCAPE.match(self.text) else "\\"
        for child in command.children:
            first, last = self._at(child.start_byte) - start, self._at(child.end_byte) - start
            if child.type == "comment" and last - first > 1:
                characters[first:last] = " " * (last - first - 2) + "\\\n"
            elif child.type == "line_continuation" and characters[first] == escape:
                characters[first] = "\\"
        return _EMPTY.sub(lambda match: " " * len(match[0]), "".join(characters))


def _plain(words: tuple[Word, ...], shell: Shell, stage: int) -> Command:
    names = frozenset(name for name in shell.exported if name in shell.variables and shell.variables[name].text)
    return Command(words, shell.folder, Status.CHECKED, conditional=False, stdin=None, stage=stage, environment=names)


def _errors(node: Node) -> Iterator[Node]:
    if node.type == "ERROR" or node.is_missing:
        yield node
    for child in node.children:
        if child.has_error:
            yield from _errors(child)
