"""Commands to pins: pip and uv, conda, clones with their checkout."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace

from patchkit.core.pins.commands import git_words, option, plain
from patchkit.core.pins.model import Command, Include, Package, Pin, PinKind, Script, Word
from patchkit.core.pins.requirement import canonical, repository_package, requirement_pin, revision_pin, version_pin
from patchkit.core.pins.wrappers import unwrapped

_PIP = re.compile(r"pip[\d.]*")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_REQUIREMENTS = ("-r", "--requirement", "--requirements")
_CONSTRAINTS = ("-c", "--constraint", "--constraints")
_CONDA = frozenset({"conda", "mamba", "micromamba"})


def installed_by(script: Script) -> list[Pin]:
    """Return every installation of Megatron-LM and torch_memory_saver, in the file's order."""
    found: list[Pin] = []
    for position, command in enumerate(script.commands):
        words = unwrapped(command)
        requirements = _requirements(words)
        pins = [pin for word in requirements if (pin := requirement_pin(word))]
        if requirements and posixpath.basename(words[0].text) in _CONDA:
            pins = [pin for word in requirements if (pin := conda_pin(word))]
        clone = _clone(words, script, position)
        found.extend(
            replace(
                pin,
                conditional=command.conditional,
                stage=command.stage,
                environment=command.environment,
                command=command,
            )
            for pin in (*pins, *([clone] if clone else ()))
        )
    for copy in script.copies:
        found.extend(replace(pin, stage=copy.stage) for word in copy.sources if (pin := _added(word)))
    return sorted(found, key=lambda pin: pin.at)


def included_by(script: Script) -> list[Include]:
    """Return the requirements and constraints files that installations read, in the file's order."""
    found = []
    for command in script.commands:
        words = unwrapped(command)
        if not installs(words) or posixpath.basename(words[0].text) in _CONDA:
            continue
        for word, following in zip(words, [*words[1:], None], strict=True):
            name, _, value = word.text.partition("=")
            if name not in (*_REQUIREMENTS, *_CONSTRAINTS):
                name, value = word.text[:2], word.text[2:]
                if word.text.startswith("--") or name not in ("-r", "-c"):
                    continue
            text = value or (following.text if following else "")
            found.append(Include(text, word.at, constraint=name in _CONSTRAINTS, command=command))
    return found


def conda_pin(word: Word) -> Pin | None:
    """Return what conda's ``name=version=build`` pins, or ``name>=version``."""
    match = re.match(r"(?:[\w.-]+::)?([\w.-]+?)\s*(?:([=<>!~].*)|$)", word.text)
    if match is None or canonical(match[1]) not in ("torch-memory-saver", "megatron-core"):
        return None
    package: Package = "tms" if canonical(match[1]) == "torch-memory-saver" else "megatron"
    exact = re.fullmatch(r"=([^=*,]+)(?:=[^=]*)?", match[2] or "")
    if exact and word.known:
        start = match.start(2) + exact.start(1)
        return Pin(package, PinKind.RELEASE, exact[1], word.span(start, start + len(exact[1])), word.at)
    return version_pin(package, word, match.end(1), len(word.text), word.at)


def _requirements(words: Sequence[Word]) -> Sequence[Word]:
    """Return the arguments of an installation; none for another command."""
    texts = [word.text for word in words]
    verb = installs(words)
    if verb is None:
        return ()
    behind = words[texts.index(verb) + 1 :]
    # The value of -r or -c is no requirement.
    return plain(
        [
            word
            for word, before in zip(behind, ["", *(each.text for each in behind)], strict=False)
            if before not in (*_REQUIREMENTS, *_CONSTRAINTS)
        ]
    )


def installs(words: Sequence[Word]) -> str | None:
    """Return the verb with which a command installs packages: install, add; None for another command."""
    texts = [word.text for word in words]
    program = posixpath.basename(texts[0])
    if _PYTHON.fullmatch(program) and "-m" in texts and _PIP.fullmatch((texts[texts.index("-m") + 1 :] or [""])[0]):
        program = "pip"
    is_pip = _PIP.fullmatch(program) or program in _CONDA or (program == "uv" and "pip" in texts)
    verb = "install" if is_pip else "add" if program in ("uv", "poetry", "pdm") else None
    return verb if verb in texts else None


def _clone(words: Sequence[Word], script: Script, position: int) -> Pin | None:
    command = script.commands[position]
    texts = [word.text for word in words]
    if texts[:2] != ["git", "clone"]:
        return None
    url = next((word for word in words[2:] if repository_package(word.text)), None)
    package = repository_package(url.text) if url else None
    if url is None or package is None:
        return None
    behind = plain(words[list(words).index(url) + 1 :])
    folder = behind[0].text if behind else re.split(r"[/:]", url.text.rstrip("/"))[-1]
    name = posixpath.basename(posixpath.normpath(folder)).removesuffix(".git")
    ref = option(words, ("-b", "--branch", "--revision"))
    later = [each for each in script.commands[position + 1 :] if command.stage in script.lineage(each.stage)]
    checkout = next((word for each in later if (word := _checkout(each, name))), None)
    if checkout is not None and checkout.text == "FETCH_HEAD":
        checkout = next((word for each in later if (word := _fetched(each, name))), None)
    word = checkout or ref
    if word is None:
        return replace(revision_pin(package, "", None, command.at, repository=url.text), folder=name)
    pin = revision_pin(
        package, word.text, word.span(0, len(word.text)), command.at, repository=url.text, written=word.written
    )
    return replace(pin, folder=name, at=word.at)


def _checkout(command: Command, clone: str) -> Word | None:
    arguments = _in_clone(command, ("checkout", "switch", "reset"), clone)
    if arguments is None or any(word.text == "--" for word in arguments):
        return None
    made = any(word.text in ("-b", "-B", "-c", "-C") for word in arguments)
    names = plain(arguments)
    return names[-1] if len(names) > made else None


def _fetched(command: Command, clone: str) -> Word | None:
    names = plain(_in_clone(command, ("fetch", "pull"), clone) or ())
    return names[-1] if len(names) > 1 else None


def _in_clone(command: Command, verbs: Sequence[str], clone: str) -> Sequence[Word] | None:
    """Return what follows one of git's ``verbs`` when it runs in the clone's folder."""
    found = git_words(command)
    if found is None or found[1][0].text not in verbs or posixpath.basename(posixpath.normpath(found[0])) != clone:
        return None
    return found[1][1:]


def _added(word: Word) -> Pin | None:
    """Return what ADD takes from a repository: ``https://.../Megatron-LM.git#core_v0.16.1``, or an archive of it."""
    if "/archive/" in word.text and (pin := requirement_pin(word)):
        return pin
    url, mark, ref = word.text.partition("#")
    package = repository_package(url) if "://" in url or url.startswith("git@") else None
    if package is None:
        return None
    ref = ref.partition(":")[0]
    span = word.span(len(url) + len(mark), len(url) + len(mark) + len(ref))
    return revision_pin(package, ref, span, word.at, repository=url, written=word.written)
