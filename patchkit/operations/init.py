"""init: a project begins to keep a series: its folder, what it is for, where it is found, and what checks it."""

# No postponed annotations here: msgspec would compile each one again at every start.
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from patchkit import __version__
from patchkit.core.foreign.fitting import touched_paths
from patchkit.core.report import REPORT_SCHEMA, Item, Problem
from patchkit.core.series import SCHEMA
from patchkit.core.upstream import Megatron, Target, Upstream, VersionsDocument, targets
from patchkit.errors import PatchkitError, UsageError, WriteFailedError
from patchkit.operations.import_files import read_files
from patchkit.operations.import_patch import import_patches
from patchkit.operations.import_report import Imported
from patchkit.operations.init_targets import named_entries
from patchkit.operations.known import Known, shipped_versions
from patchkit.operations.series_files import undo_interrupted_write
from patchkit.progress import Reporter, silent
from patchkit.store.cache import default_cache
from patchkit.store.documents import parse_document, read_file
from patchkit.store.files import write_files
from patchkit.store.location import VERSIONS
from patchkit.store.new_patch import versions_text
from patchkit.store.project_files import HOOKS, WORKFLOW, hooks_text, workflow_text
from patchkit.store.settings import SETTINGS, find_settings, settings_text


class Beginning(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for."""

    project: Path
    """Top folder of the project."""
    folder: Path
    """Of the series; made."""
    upstream: Upstream
    """What is patched, without targets."""
    targets: tuple[str, ...] = ()
    """Releases, branches and commits that the series is to be made for."""
    repository: Path | None = None
    """A clone of upstream, or of a fork of it."""
    patches: tuple[Path, ...] = ()
    """Patch files to begin with."""
    base: str | None = None
    """What they were made for; None: what their index lines say."""
    directory: str = ""
    """Folder that their paths are below; see import."""
    split: bool = False
    name: str | None = None
    author: str = ""
    forwarded: str = ""
    """What the headers of their patches say; see import."""
    workflow: bool = True
    hooks: bool = True


class Initialised(Item, frozen=True, kw_only=True):
    """The answer of init."""

    schema: int = REPORT_SCHEMA
    tool: str = __version__
    command: str = "init"
    ok: bool
    verdict: str
    """made, would-make, refused."""
    series: str
    """Folder of the series."""
    upstream: str
    targets: tuple[str, ...]
    imported: Imported | None = None
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    written: tuple[str, ...] = ()


def begin_series(
    asked: Beginning, *, today: str, dry_run: bool = False, cache: Path | None = None, reporter: Reporter = silent
) -> Initialised:
    """Make the series' folder with its list of targets and, of patch files, its patches; and the project's files.

    A workflow, and settings that name a series, are left alone where there are some. Nothing is written when a patch
    does not fit. ``today`` (YYYY-MM-DD) is the date of patches that have none. Raises UsageError when there is a series
    already, and the errors of import, git and the package index.
    """
    folder = asked.folder
    if not dry_run:
        undo_interrupted_write(folder, reporter)
    for file in (folder / "series.yaml", folder / VERSIONS, folder.parent.parent / VERSIONS):
        if file.exists():
            raise UsageError(f"{file} is there already", hint="`patchkit import` adds patches to a series")
    own = _document(asked.upstream)
    known = Known(own, shipped_versions())
    entries = named_entries(
        asked.targets,
        known,
        repository=asked.repository,
        touched=_touched(asked),
        cache=cache or default_cache(),
        reporter=reporter,
    )
    text = versions_text(own, entries)
    notes: list[str] = []
    files = _project_files(asked, notes)
    beside = _Beside(folder, files)
    imported: Imported | None = None
    # The series comes last: without it the next init makes it, and leaves alone what is there of the rest.
    try:
        if asked.patches:
            imported = import_patches(
                asked.patches,
                folder,
                today=today,
                megatron=asked.base if asked.repository is None else None,
                repository=asked.repository,
                revision=asked.base if asked.repository is not None else None,
                name=asked.name,
                directory=asked.directory,
                split=asked.split,
                author=asked.author,
                forwarded=asked.forwarded,
                dry_run=dry_run,
                versions=text,
                beforehand=beside.write,
                cache=cache,
                reporter=reporter,
            )
        elif not dry_run:
            beside.write()
            write_files({folder / VERSIONS: text})
    except BaseException:
        beside.take_back()
        raise
    if not asked.patches:
        files[folder / VERSIONS] = text
    ok = imported is None or imported.ok
    listed = targets(parse_document(VersionsDocument, text, VERSIONS).upstream)
    return Initialised(
        ok=ok,
        verdict=("would-make" if dry_run else "made") if ok else "refused",
        series=str(folder),
        upstream=asked.upstream.name,
        targets=tuple(target.title for target in _with_base(listed, imported)),
        imported=imported,
        problems=imported.problems if imported else (),
        notes=tuple(notes),
        written=(*(imported.written if imported else ()), *(str(path) for path in sorted(files))) if ok else (),
    )


class _Beside:
    """The files beside a series, and the folder that they name."""

    def __init__(self, folder: Path, files: Mapping[Path, bytes]) -> None:
        self._new = [place for place in (folder, *folder.parents) if not place.exists()]
        self._files = dict(files)
        self._old: dict[Path, bytes | None] = {}

    def write(self) -> None:
        """Make them; the folder first, since without it settings that name it are an error. Raises WriteFailedError."""
        try:
            for place in reversed(self._new):
                place.mkdir()
        except OSError as error:
            raise WriteFailedError(f"cannot write {error.filename}: {error.strerror}") from error
        self._old = {path: read_file(path) if path.exists() else None for path in self._files}
        write_files(self._files)

    def take_back(self) -> None:
        """Put back what was there before, as far as that can be done."""
        for path, old in self._old.items():
            with suppress(OSError, PatchkitError):
                if path.exists() and read_file(path) == self._files[path]:
                    if old is None:
                        path.unlink()
                    else:
                        write_files({path: old})
        with suppress(OSError):
            for place in self._new:
                place.rmdir()


def _document(upstream: Upstream) -> VersionsDocument:
    bare = msgspec.structs.replace(upstream, releases=(), branches=(), commits=())
    if isinstance(bare, Megatron):
        return VersionsDocument(SCHEMA, bare)
    return VersionsDocument(SCHEMA, other=bare)


def _with_base(listed: Sequence[Target], imported: Imported | None) -> list[Target]:
    """Return the targets of the list; the base of the patches joins it."""
    base = imported.base.target if imported and imported.ok else None
    if base is None or any(target.title == base for target in listed):
        return list(listed)
    return [*listed, Target(base, "0", None, None, {}, None)]


def _touched(asked: Beginning) -> list[str]:
    """Return the paths that the patches change, as far as they can be told without the base."""
    if not asked.patches:
        return []
    top = f"{asked.upstream.package}/"
    pairs = [
        pair
        for patch in read_files(asked.patches, asked.directory).patches
        for pair in touched_paths(patch, lambda path: path.startswith(top))
    ]
    return sorted({path for pair in pairs for path in pair if path is not None})


def _project_files(asked: Beginning, notes: list[str]) -> dict[Path, bytes]:
    """Return the texts of the files beside the series; add to ``notes`` what is left alone."""
    files: dict[Path, bytes] = {}
    relative = _relative(asked.folder, asked.project)
    found = find_settings(asked.project)
    if found is not None and found.file.parent.resolve() == asked.project.resolve():
        notes.append(f"{found.file} names a series already, and is left alone: {found.patches}")
    else:
        files[asked.project / SETTINGS] = settings_text(relative)
    workflow = asked.project / WORKFLOW
    if asked.workflow and workflow.exists():
        notes.append(f"{workflow} is there already, and is left alone")
    elif asked.workflow:
        files[workflow] = workflow_text(asked.upstream.repository, relative.as_posix())
    hooks = asked.project / HOOKS
    if asked.hooks:
        old = read_file(hooks) if hooks.exists() else None
        text = hooks_text(old, str(hooks))
        if text != old:
            files[hooks] = text
    return files


def _relative(folder: Path, project: Path) -> Path:
    try:
        # Without `..`, which relative_to would let through; links stay, the workflow's checkout has them too.
        return Path(os.path.abspath(folder)).relative_to(os.path.abspath(project))  # noqa: PTH100
    except ValueError as error:
        raise UsageError(
            f"{folder} is not below {project}", hint="a series lies in the project that keeps it"
        ) from error
