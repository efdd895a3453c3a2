"""What is made of a revision of a git repository: a folder with its files, or a branch on top of it.

Neither a checkout nor its index is touched.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from patchkit.core.paths import DEEPEST, is_too_deep, shown
from patchkit.core.printing import shell_word
from patchkit.errors import TreeError, UnsafePathError, UsageError
from patchkit.trees.git import LINK, SUBMODULE, GitTree
from patchkit.trees.git_folder import GitFolder, refuse_links
from patchkit.trees.git_program import GitProgram
from patchkit.trees.interface import Edits
from patchkit.trees.new_folder import new_folder
from patchkit.trees.paths import checked

_FALLBACK_COMMITTER = {"GIT_COMMITTER_NAME": "patchkit", "GIT_COMMITTER_EMAIL": "patchkit@localhost"}


@dataclass(frozen=True, slots=True)
class CommitSpec:
    """One commit to make."""

    message: str
    author_name: str
    author_email: str
    author_date: str
    """In any form that git takes, such as ``2026-11-29T12:00:00+00:00``."""
    edits: Edits


def export(tree: GitTree, destination: Path, edits: Edits) -> None:
    """Write the files of ``tree`` with ``edits`` into the new folder ``destination``; all or nothing.

    The bytes are those of the blobs: no attribute or setting that makes ``git archive`` leave out or convert files has
    a say. Links stay when they lead to a place inside; submodules become empty folders, as git makes them. Raises
    UnsafePathError, TreeError when ``destination`` is not free, WriteFailedError.
    """
    for path in edits:
        checked(path)
    entries = {entry.path: entry for entry in tree.entries()}
    modes = {path: entry.mode for path, entry in entries.items()}
    _refuse_deep(tree.label, modes)
    _refuse_links(tree.label, modes, edits)
    with new_folder(destination) as folder:
        for path, entry in entries.items():
            if entry.mode == SUBMODULE:
                folder.folder(path)
            elif entry.mode == LINK:
                folder.link(path, os.fsdecode(tree.content(entry.object_id)))
            else:
                content = edits[path] if path in edits else tree.content(entry.object_id)
                if content is not None:
                    folder.write(path, content, executable=bool(entry.mode & 0o111))
        for path, content in edits.items():
            if path not in entries and content is not None:
                folder.write(path, content)


def commit_series(repository: Path, revision: str, branch: str, commits: Sequence[CommitSpec]) -> list[str]:
    """Make ``branch`` at ``revision`` with one commit for each of ``commits``; return their ids, oldest first.

    Neither a checkout nor its index is touched; no hook runs, nothing is signed. The committer is the user's own
    identity where git knows one. Raises TreeError when the branch exists or git refuses; there is no new branch then.
    """
    tree = GitTree(repository, revision)
    program = tree.program
    ref = f"refs/heads/{branch}"
    _refuse_branch(program, repository, branch, ref)
    refuse_links(GitFolder(program.folder, program.common), ref)
    modes = {entry.path: entry.mode for entry in tree.entries()}
    _refuse_deep(tree.label, modes)
    made = [tree.commit]
    nothing = "0" * len(tree.commit)
    with tempfile.TemporaryDirectory(prefix="patchkit-") as folder:
        environment = {"GIT_INDEX_FILE": os.path.join(folder, "index"), **_committer(program)}  # noqa: PTH118 - a string
        program.output("read-tree", tree.commit, environment=environment)
        for spec in commits:
            _refuse_links(tree.label, modes, spec.edits)
            _stage(program, spec.edits, modes, environment, nothing.encode())
            made.append(_committed(program, spec, made[-1], environment))
        # An old value of zeros makes git refuse when somebody else makes the branch first (git-update-ref).
        program.output("update-ref", "-m", "patchkit: made", ref, made[-1], nothing)
    return made[1:]


def _stage(
    program: GitProgram, edits: Edits, modes: dict[str, int], environment: Mapping[str, str], nothing: bytes
) -> None:
    """Bring ``edits`` into the index of ``environment``; keep ``modes`` in step. ``nothing`` is the id of no object."""
    lines = []
    for path, content in edits.items():
        if content is None and modes.pop(checked(path), None) is not None:
            lines.append(b"0 %s\t%s\0" % (nothing, os.fsencode(path)))
    for path, content in edits.items():
        if content is not None:
            _refuse_clash(checked(path), modes)
            mode = modes.setdefault(path, 0o100644)
            blob = program.output("hash-object", "-w", "--stdin", stdin=content).strip()
            lines.append(b"%o %s\t%s\0" % (mode, blob, os.fsencode(path)))
    program.output("update-index", "-z", "--index-info", stdin=b"".join(lines), environment=environment)


def _committed(program: GitProgram, spec: CommitSpec, parent: str, environment: Mapping[str, str]) -> str:
    author = {
        "GIT_AUTHOR_NAME": spec.author_name,
        "GIT_AUTHOR_EMAIL": spec.author_email,
        "GIT_AUTHOR_DATE": spec.author_date,
    }
    content = program.output("write-tree", environment=environment).decode().strip()
    command = ["commit-tree", content, "-p", parent, "-F", "-"]
    made = program.output(*command, stdin=spec.message.encode(), environment={**environment, **author})
    return made.decode().strip()


def _committer(program: GitProgram) -> dict[str, str]:
    # useConfigOnly keeps git from making up an address out of the names of user and machine.
    status, _out, _err = program.run(["-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"])
    return {} if status == 0 else dict(_FALLBACK_COMMITTER)


def _refuse_branch(program: GitProgram, repository: Path, branch: str, ref: str) -> None:
    if branch.startswith("-") or branch == "HEAD" or program.run(["check-ref-format", ref])[0] != 0:
        raise UsageError(f"{branch!r} cannot be the name of a branch")
    if program.run(["show-ref", "--verify", "--quiet", ref])[0] == 0:
        raise TreeError(
            f"{repository} already has a branch {branch}",
            hint="name another branch, or remove this one: "
            + " ".join(map(shell_word, ("git", "-C", str(repository), "branch", "-D", branch))),
        )


def _refuse_clash(path: str, modes: Mapping[str, int]) -> None:
    # git update-index would drop what is in the way without a word.
    if path in modes:
        return
    parts = path.split("/")
    above = next((file for file in ("/".join(parts[:count]) for count in range(1, len(parts))) if file in modes), None)
    if above is not None:
        raise TreeError(f"{path} cannot be made: {above} is a file")
    if any(other.startswith(f"{path}/") for other in modes):
        raise TreeError(f"{path} cannot be made: it is a folder")


def _refuse_deep(label: str, modes: Mapping[str, int]) -> None:
    """Refuse a revision that no folder is made of, for a branch as well: who checks it out has that folder."""
    for path in modes:
        if is_too_deep(path):
            said = f"{label}: {shown(path)} is nested more than {DEEPEST} folders deep"
            raise UnsafePathError(said, hint="name another revision: no folder can be made of this one")


def _refuse_links(label: str, modes: Mapping[str, int], edits: Edits) -> None:
    for path in edits:
        if path in modes and not stat.S_ISREG(modes[path]):
            raise UnsafePathError(f"{label}: {path} is a link or a submodule, and those are not changed")
