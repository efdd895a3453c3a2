"""Pins in install files: read the files, the patches that they name and the clones; judge; bring pins forward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from patchkit import __version__
from patchkit.core.paths import is_glob
from patchkit.core.pins.bump import Bump, asked_fixes, edited, plan_bumps
from patchkit.core.pins.check import judge, pins_of
from patchkit.core.pins.findings import BumpsReport, PinsReport
from patchkit.core.pins.judging import Knowledge
from patchkit.core.pins.patching import places
from patchkit.core.pins.reading import Kind, Reading
from patchkit.core.upstream import VersionsDocument, targets
from patchkit.errors import RevisionNotFoundError, TreeError
from patchkit.operations.pin_files import contexts, read_install_file, read_with_includes
from patchkit.store.files import write_files
from patchkit.trees.git import GitTree

_LARGEST = 64 << 20
"""Bytes of a patch that are read; a larger file is none that was made for Megatron-LM."""


class Clones:
    """Git repositories, asked one after the other; a commit counts where it is."""

    def __init__(self, repositories: Sequence[Path]) -> None:
        self._repositories = repositories
        self._opened: dict[tuple[Path, str], GitTree | None] = {}

    @property
    def clones(self) -> tuple[str, ...]:
        """Their paths."""
        return tuple(map(str, self._repositories))

    def contains(self, revision: str, commit: str) -> bool | None:
        """Tell whether ``commit`` is in the history of ``revision``; None when no clone has both. Raises TreeError."""
        for repository in self._repositories:
            tree, other = self._tree(repository, revision), self._tree(repository, commit)
            if tree is not None and other is not None:
                return not tree.ask("rev-list", "--max-count=1", other.commit, f"^{tree.commit}").strip()
        return None

    def blob(self, revision: str, path: str) -> str | None:
        """Return the blob id of a path; empty for no such file, None when no clone has the revision."""
        for repository in self._repositories:
            tree = self._tree(repository, revision)
            if tree is not None:
                return tree.blob_id(path) or ""
        return None

    def _tree(self, repository: Path, revision: str) -> GitTree | None:
        key = repository, revision
        if key not in self._opened:
            try:
                self._opened[key] = GitTree(repository, revision)
            except RevisionNotFoundError:
                self._opened[key] = None
        return self._opened[key]


def check_pins(
    files: Sequence[Path],
    versions: VersionsDocument,
    *,
    minimum: str,
    clones: Sequence[Path] = (),
    context: Path | None = None,
    kind: Kind | None = None,
) -> PinsReport:
    """Judge the files together. ``minimum`` is the defect that a torch_memory_saver for the series must not have.

    Raises TreeError for a file that cannot be read, UsageError for one of which it is not known what it is.
    """
    read_files = read_with_includes(files, kind, context)
    readings = [reading for _, reading in read_files]
    known = Knowledge(
        saver=versions.torch_memory_saver,
        targets=targets(versions.upstream),
        minimum=minimum,
        history=Clones(clones),
        patches={reading.path: _patches(path, reading, context) for path, reading in read_files},
    )
    findings = judge(readings, known)
    return PinsReport(
        tool=__version__,
        ok=not any(each.level == "wrong" for each in findings),
        files=tuple(reading.path for reading in readings),
        pins=pins_of(readings),
        findings=findings,
    )


def bump_pins(
    path: Path,
    versions: VersionsDocument,
    *,
    fixes: Sequence[str],
    clones: Sequence[Path] = (),
    write: bool = False,
    kind: Kind | None = None,
) -> BumpsReport:
    """Say where each pin of torch_memory_saver has to move for ``fixes``, and with ``write`` move them, all or none.

    Raises TreeError, UsageError, and WriteFailedError, after which the file is as it was.
    """
    records = versions.torch_memory_saver
    wanted = asked_fixes(fixes, records)
    reading = read_install_file(path, kind)
    if reading.broken is not None:
        at, problem = reading.broken
        raise TreeError(f"{path}:{reading.line(at)}: {problem}", hint="a file that does not parse is not edited")
    bumps = plan_bumps(reading, wanted, records, Clones(clones))
    ok = bool(bumps) and all(bump.report.verdict != "refused" for bump in bumps)
    return BumpsReport(
        tool=__version__,
        ok=ok,
        fixes=tuple(each.id for each in wanted),
        pins=tuple(bump.report for bump in bumps),
        written=_written(path, reading, bumps) if write and ok else (),
    )


def _written(path: Path, reading: Reading, bumps: Sequence[Bump]) -> tuple[str, ...]:
    if not any(bump.edit for bump in bumps):
        return ()
    # A link stays one: what it leads to is rewritten.
    write_files({path.resolve(): edited(reading.text, bumps).encode()})
    return (str(path),)


def _patches(path: Path, reading: Reading, context: Path | None) -> Mapping[str, bytes]:
    """Return the patch files that a file names, by what it calls them, from the folder where the build runs."""
    folders = [context] if context is not None else contexts(path)
    found: dict[str, bytes] = {}
    for applied in reading.applied:
        for file in applied.files:
            for place in places(applied.command, file.text, reading.script):
                content = None if place.startswith("/") else _read_below(folders, place)
                if content is not None:
                    found[place] = content
                    break
    return found


def _read_below(folders: Sequence[Path], place: str) -> bytes | None:
    """Return what the first folder has at ``place``; several files of a glob as one text, as a loop applies them."""
    for folder in folders:
        paths = [
            path for path in (sorted(folder.glob(place)) if is_glob(place) else [folder / place]) if path.is_file()
        ]
        if paths and sum(path.stat().st_size for path in paths) <= _LARGEST:
            try:
                return b"".join(path.read_bytes() for path in paths)
            except OSError as error:
                raise TreeError(f"cannot read {error.filename}: {error.strerror}") from error
    return None
