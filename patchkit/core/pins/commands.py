"""What stands between a command's own words: options with their values, and git's before its verb."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from patchkit.core.pins.model import Command, Word
from patchkit.core.pins.shell import joined
from patchkit.core.pins.wrappers import unwrapped


def git_words(command: Command) -> tuple[str, Sequence[Word]] | None:
    """Return the folder that git works in and its verb with what follows; None for another program."""
    words = list(unwrapped(command))
    folder = command.folder
    if posixpath.basename(words[0].text) != "git":
        return None
    words.pop(0)
    while len(words) > 1 and words[0].text in ("-C", "-c"):
        if words[0].text == "-C":
            folder = joined(folder, words[1].text)
        words = words[2:]
    return (folder, words) if words else None


def option(words: Sequence[Word], names: Sequence[str]) -> Word | None:
    """Return the value of the first option among ``names``: ``--name value``, ``--name=value``."""
    for word, following in zip(words, [*words[1:], None], strict=True):
        name, equals, value = word.text.partition("=")
        if name in names:
            start = len(name) + 1
            return Word(value, word.origins[start:], word.written, word.at) if equals else following
    return None


def plain(words: Sequence[Word]) -> list[Word]:
    """Return the words that are no options; a lone ``-`` is none."""
    return [word for word in words if not word.text.startswith("-")]
