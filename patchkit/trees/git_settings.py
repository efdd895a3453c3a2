"""What git is told by settings, and which of a clone's own could run or read something (git-config(1))."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable

OWN_SETTINGS = (
    # What is written must not depend on whose machine it is, and nobody's hooks are ours to run.
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    # Hooks may stand in settings as well (git 2.54); these two are run by what we ask for.
    "hook.post-index-change.enabled=false",
    "hook.reference-transaction.enabled=false",
    # A download would look after the clone in the background, and gc.recentObjectsHook names a program.
    "maintenance.auto=false",
    "gc.auto=0",
    "log.showSignature=false",
    # A commit without parents brings all that it has.
    "log.showRoot=true",
    # Else a reference of the name of an id is looked for, as a file of any kind in the clone.
    "core.warnAmbiguousRefs=false",
    # `git show` reads a file for it that a clone's settings may name, and of a device it reads for ever.
    "log.mailmap=false",
    # `git blame` cannot be told to go without.
    "mailmap.file=/dev/null",
    "mailmap.blob=",
    # With a single path, `git log` would look for its older names, and leave out commits that it does not reach so.
    "log.follow=false",
    "format.pretty=medium",
    "diff.orderFile=/dev/null",
    # Of the empty one that it is given.
    "advice.graftFileDeprecated=false",
    "core.splitIndex=false",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
)
NO_FILES = ("core.attributesFile=/dev/null", "core.excludesFile=/dev/null")
"""Files that git may read for a question of ours, and that a clone's settings may name; what they say changes no answer
but which files are ignored."""
LARGEST_SETTINGS = 1 << 20
"""Bytes of a clone's settings that are looked at; larger ones may have anything in them."""
RUNS = re.compile(
    r"core\.(sshcommand|gitproxy|askpass|alternaterefscommand)|credential\.(.*\.)?helper|protocol\..*"
    r"|remote\..*\.(uploadpack|vcs)|http\.(.*\.)?cookiefile",
    re.IGNORECASE | re.DOTALL,
)
"""Settings that make a download run something, or write a file of their choice (git-config(1))."""
_HOOK = re.compile(r"hook\.(.+)\.(?:command|event)", re.IGNORECASE | re.DOTALL)
FILES = (b"ignorerevsfile", b"excludesfile")
"""In the settings that name a file which is read for a question of ours."""
UNKNOWN = ("core.sshcommand",)


def hooks_off(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return settings by which git runs none of the hooks that settings of these names make."""
    hooks = dict.fromkeys(match[1] for name in names if (match := _HOOK.fullmatch(name)))
    return [setting for hook in hooks for setting in ((f"hook.{hook}.enabled", "false"), (f"hook.{hook}.event", ""))]


def pairs(settings: Iterable[str]) -> list[tuple[str, str]]:
    """Return name and value of settings that are written as ``name=value``."""
    return [(name, value) for name, _, value in (setting.partition("=") for setting in settings)]


def as_environment(settings: Collection[tuple[str, str]]) -> dict[str, str]:
    """Return variables that give git settings, behind those that it is given in this way already (git-config(1))."""
    given = os.environ.get("GIT_CONFIG_COUNT", "")
    first = int(given) if given.isdecimal() else 0
    variables = {"GIT_CONFIG_COUNT": str(first + len(settings))}
    for number, (key, value) in enumerate(settings, first):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables
