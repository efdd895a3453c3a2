"""The release tags of a clone, and which files they hold."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from patchkit.core.history.graph import Blobs
from patchkit.errors import TreeError
from patchkit.trees import git_texts
from patchkit.trees.clone_damage import damaged
from patchkit.trees.git import GitTree
from patchkit.trees.git_program import GitProgram, opened
from patchkit.trees.git_run import ended
from patchkit.trees.git_times import day, seconds

_FORMAT = "%00".join(
    f"%({star}{field})" for field in ("objectname", "objecttype", "committerdate:unix") for star in ("", "*")
)

# The first is for git 2.45 and later; to older ones a transport that is not allowed does the same.
_AS_IT_IS = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
"""What keeps git from fetching what is missing."""


@dataclass(frozen=True, slots=True)
class ReleaseTag:
    """A tag, as written, and where it leads."""

    name: str
    version: str
    """PEP 440, normalised."""
    commit: str
    date: str
    """UTC day of the commit, the committer's; empty where git tells no time of ours."""
    pre_release: bool


def release_tags(repository: Path | GitProgram, pattern: str) -> tuple[ReleaseTag, ...]:
    """Return the release tags of a clone, by version: those written like ``pattern``, such as ``core_v{version}``.

    What has no PEP 440 version in that place is no release.

    One git process, and one more where tags are objects. Raises TreeError when ``repository`` is none or git gives no
    answer, DamagedCloneError when it says that it cannot: what a tag leads to is lost or not what its id says, or the
    list of tags is none.
    """
    from packaging.version import Version  # noqa: PLC0415 - needed here alone

    before, after = pattern.split("{version}")
    clone = opened(repository)
    asked = ["for-each-ref", f"--format={_FORMAT}%00%(refname:strip=2)", f"refs/tags/{before}*"]
    status, printed, problem = clone.run(asked, environment=_AS_IT_IS)
    if status > 0:
        # A clone of any kind has what its tags name.
        raise damaged(clone.repository, f"its release tags cannot be read (git: {problem})")
    if status < 0:
        raise TreeError(f"git for-each-ref failed in {clone.repository}: {problem or ended(status)}")
    found: list[tuple[Version, ReleaseTag]] = []
    annotated: dict[str, str] = {}
    # No other line break ends a line: the name of a tag may have those of Unicode.
    for line in os.fsdecode(printed).split("\n")[:-1]:
        *of_object, name = line.split("\0")
        if not name.endswith(after):
            continue
        try:
            version = Version(name[len(before) : len(name) - len(after)])
        except ValueError:
            # InvalidVersion is one; so is a number of too many digits.
            continue
        # An annotated tag is an object of its own; what it leads to is told behind the star.
        commit, kind, time = of_object[1::2] if of_object[1] else of_object[::2]
        if kind == "commit":
            if of_object[1]:
                annotated[f"refs/tags/{name}"] = commit
            date = day(seconds(time))
            found.append((version, ReleaseTag(name, str(version), commit, date, version.is_prerelease)))
    _hold(opened(repository), annotated)
    return tuple(tag for _, tag in sorted(found, key=lambda pair: (pair[0], pair[1].name)))


def _hold(program: GitProgram, annotated: Mapping[str, str]) -> None:
    """Raise DamagedCloneError unless each tag, told with the commit that it was listed with, leads there.

    Whoever lists tags believes an object in the place of a tag's; whoever follows one looks at its id.
    """
    followed = program.commits(list(annotated)) if annotated else {}
    for name, commit in annotated.items():
        if followed[name] != commit:
            program.refuse_damage(name)
            raise damaged(program.repository, f"{name} was listed with {commit}, and leads to {followed[name]}")


def blobs_at(
    repository: Path | GitProgram, wanted: Mapping[str, Iterable[str]]
) -> tuple[dict[str, Blobs], tuple[str, ...]]:
    """Return the blob id of paths, by commit, None where a commit has no such file; and the commits out of reach.

    ``wanted`` is paths by commit. No content is read, so that a clone without blobs will do; the folders on the way are
    held against their ids, and a commit of which one is missing, or another one, is out of reach. Two git processes
    when all is there. Nothing is fetched, unless ``repository`` was opened for that.
    """
    if not wanted:
        return {}, ()
    paths = {commit: tuple(each) for commit, each in wanted.items()}
    trees = GitTree.several(opened(repository, download=False), paths)
    asked = sorted({path for each in paths.values() for path in each})
    try:
        found = git_texts.blobs_at(trees[0], [tree.commit for tree in trees], asked) if trees else {}
    except TreeError:
        found = {}
        for tree in trees:
            with suppress(TreeError):
                found |= git_texts.blobs_at(tree, [tree.commit], paths[tree.commit])
    return (
        {commit: {path: found[commit].get(path) for path in each} for commit, each in paths.items() if commit in found},
        tuple(commit for commit in paths if commit not in found),
    )


def _ask(repository: Path | GitProgram, *command: str) -> bytes:
    """Return what a git command that only reads prints in ``repository``, whatever its HEAD is.

    Nothing is fetched, so that nothing is written: in a partial clone what is missing stays missing. Raises TreeError
    with git's own words.
    """
    return opened(repository).output(*command, environment=_AS_IT_IS)
