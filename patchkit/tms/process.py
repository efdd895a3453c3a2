"""Which torch_memory_saver a running process has loaded: its memory map, not what its environment asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from patchkit.errors import TmsError, TmsNotFoundError
from patchkit.tms.package import Package, mode_of

_DELETED = " (deleted)"


@dataclass(frozen=True, slots=True)
class Process:
    """What a process has loaded, and what it was told to."""

    pid: int
    mapped: tuple[str, ...]
    """Paths, in its own file system, of the libraries of torch_memory_saver in its memory."""
    replaced: tuple[str, ...]
    """Those whose file was deleted or replaced since; the process still runs the old one."""
    asked: tuple[str, ...]
    """Entries of its LD_PRELOAD at the start that name torch_memory_saver."""

    @property
    def ignored(self) -> tuple[str, ...]:
        """What LD_PRELOAD names and the loader left out."""
        there = {Path(path).name for path in self.mapped}
        return tuple(entry for entry in self.asked if Path(entry).name not in there)


def look_at(pid: int, proc: Path = Path("/proc")) -> Process:
    """Read the memory map and the environment of a process. Raises TmsError when that is not possible."""
    folder = proc / str(pid)
    try:
        maps = (folder / "maps").read_text(encoding="utf-8", errors="surrogateescape")
        environment = (folder / "environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError) as error:
        raise TmsNotFoundError(f"there is no process {pid}, or no /proc") from error
    except PermissionError as error:
        raise TmsError(f"process {pid} belongs to somebody else", hint="ask as its user, or as root") from error
    # address perms offset dev inode pathname: proc_pid_maps(5).
    paths = dict.fromkeys(
        line.split(maxsplit=5)[5] for line in maps.splitlines() if line.count("/") and len(line.split(maxsplit=5)) == 6
    )
    libraries = [path for path in paths if mode_of(Path(path.removesuffix(_DELETED)))]
    preload = next(
        (entry.removeprefix(b"LD_PRELOAD=") for entry in environment.split(b"\0") if entry.startswith(b"LD_PRELOAD=")),
        b"",
    )
    asked = [part for part in re.split(r"[:\s]+", preload.decode(errors="surrogateescape")) if part]
    return Process(
        pid=pid,
        mapped=tuple(path.removesuffix(_DELETED) for path in libraries),
        replaced=tuple(path.removesuffix(_DELETED) for path in libraries if path.endswith(_DELETED)),
        asked=tuple(part for part in asked if mode_of(Path(part))),
    )


def loaded_package(process: Process, proc: Path = Path("/proc")) -> Package:
    """Return the package that the loaded library belongs to, as the process sees its files. Raises TmsNotFoundError."""
    if not process.mapped:
        why = "its LD_PRELOAD does not name one"
        if process.asked:
            why = f"its LD_PRELOAD names {process.asked[0]}, which the loader left out"
        raise TmsNotFoundError(f"process {process.pid} has loaded no library of torch_memory_saver: {why}")
    if process.replaced:
        raise TmsError(
            f"{process.replaced[0]} was deleted or replaced since process {process.pid} loaded it",
            hint="what is installed now says nothing about that process; start it again",
        )
    library = Path(process.mapped[0])
    root = proc / str(process.pid) / "root"
    seen = root / library.relative_to("/") if root.exists() else library
    folder = seen.parent
    package = Package(
        f"process {process.pid}: {library}", folder.parent if folder.name == "torch_memory_saver" else folder
    )
    return package if (package.root / "torch_memory_saver").is_dir() else Package(package.label, folder, seen)
