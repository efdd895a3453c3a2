"""The cases: manifests of commit ids, and the four texts that a clone of Megatron-LM has for each.

A case is one file. Its change is the step from ``source_parent:path`` (base) to ``source:path`` (changed), carried
onto ``target_parent:target_path`` (target), and ``target:target_path`` is what a human made of it, where a human did.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from types import TracebackType

import msgspec

MANIFESTS = Path(__file__).with_name("manifests")


class Family(Enum):
    """Where the human's answer comes from."""

    BACKPORT = "backport"
    """Both commits are on branches of Megatron-LM itself."""
    REBASE = "rebase"
    """One of the two commits is on a pull request's branch."""
    MERGE = "merge"
    """Both sides of a human's merge changed the file; a uniform sample."""
    MERGE_CONFLICT = "merge_conflict"
    """As MERGE, but only files that ``git merge-file`` cannot merge."""
    RELEASE_JUMP = "release_jump"
    """A commit carried one or two releases up or down; no human did that, so there is no answer."""


class Case(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of a manifest. Commits are 40 hex digits."""

    id: str
    family: Family
    source: str
    source_parent: str
    target_parent: str
    path: str
    target: str | None = None
    """None in RELEASE_JUMP."""
    target_path: str | None = None
    """Only where the file has another name than ``path`` in the target."""
    human_exact: bool = False
    """The manifest's maker found that some line-based tool reaches the human's file, so that a clean result which
    differs from it is a mistake of the tool, not an addition of the human."""


class Texts(msgspec.Struct, frozen=True):
    """The contents of one case."""

    base: bytes
    changed: bytes
    target: bytes
    human: bytes | None


class Blobs:
    """Contents by ``commit:path`` out of one ``git cat-file --batch`` process; a context manager."""

    def __init__(self, repository: Path) -> None:
        # core.deltaBaseCacheLimit: versions of one file are asked for together, and rebuild each other's deltas.
        command = ["git", "-C", str(repository), "-c", "core.deltaBaseCacheLimit=512m", "cat-file", "--batch"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Blobs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def read(self, commit: str, path: str) -> bytes | None:
        """Return the file's content, or None where the clone has no such commit or file."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{commit}:{path}\n".encode())
        self._process.stdin.flush()
        header = self._process.stdout.readline().split()
        if len(header) != 3 or not header[2].isdigit():
            if not header:
                raise SystemExit("git cat-file ended; is --git a repository?")
            return None
        content = self._process.stdout.read(int(header[2]))
        self._process.stdout.read(1)
        return content if header[1] == b"blob" else None

    def texts(self, case: Case) -> Texts | None:
        """Return the case's contents, or None when the clone lacks one of them (pull requests' refs, say)."""
        target_path = case.target_path or case.path
        base = self.read(case.source_parent, case.path)
        changed = self.read(case.source, case.path)
        target = self.read(case.target_parent, target_path)
        human = self.read(case.target, target_path) if case.target else None
        if base is None or changed is None or target is None or (case.target and human is None):
            return None
        return Texts(base, changed, target, human)


def load_cases(families: Iterable[str] = (), ids: Iterable[str] = (), manifests: Path = MANIFESTS) -> list[Case]:
    """Read every ``*.jsonl`` in ``manifests``; no families or ids means all. Sorted by path, for git's caches."""
    wanted_families, wanted_ids = set(families), set(ids)
    decode = msgspec.json.Decoder(Case).decode
    cases = [
        case
        for manifest in sorted(manifests.glob("*.jsonl"))
        for case in map(decode, manifest.read_bytes().splitlines())
        if (not wanted_families or case.family.value in wanted_families) and (not wanted_ids or case.id in wanted_ids)
    ]
    return sorted(cases, key=lambda case: (case.path, case.id))


def with_texts(repository: Path, cases: Iterable[Case], missing: list[str]) -> Iterator[tuple[Case, Texts]]:
    """Yield the cases that the clone has; ids of the others are appended to ``missing``."""
    with Blobs(repository) as blobs:
        for case in cases:
            texts = blobs.texts(case)
            if texts is None:
                missing.append(case.id)
            else:
                yield case, texts
