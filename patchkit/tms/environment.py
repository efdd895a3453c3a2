"""The environment that an actor with torch_memory_saver has to be started in."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from patchkit.errors import UsageError
from patchkit.tms.elf import Library

ALLOCATOR_VARIABLES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
"""Where torch reads its allocator's settings: the first since 2.11, the others before and still."""

_SEPARATORS = re.compile(r"[:\s]+")


@dataclass(frozen=True, slots=True)
class Note:
    """Something to know about an environment."""

    text: str
    defect: str | None = None
    """Its id in upstream_versions.yaml, when it is a defect of torch_memory_saver."""


@dataclass(frozen=True, slots=True)
class ActorEnvironment:
    """What to set, and what to know."""

    variables: Mapping[str, str]
    """To be set on top of what is there; nothing else has to change."""
    notes: tuple[Note, ...]


def merged_preload(library: Path, before: str) -> str:
    """Return an LD_PRELOAD with ``library`` first and whatever else was in ``before``, in its order, each once.

    Other libraries of torch_memory_saver go: two of them would hook each other. Entries are separated by colons, which
    torch_memory_saver can read; the loader also takes blanks. Raises UsageError when a path holds a separator.
    """
    if _SEPARATORS.search(str(library)):
        raise UsageError(
            f"LD_PRELOAD cannot name {library}: a colon or a blank ends an entry",
            hint="install the environment in a folder without them, or link the library from one",
        )
    entries = [entry for entry in _SEPARATORS.split(before) if entry and not _is_saver(entry)]
    return ":".join(dict.fromkeys([str(library), *entries]))


def _is_saver(entry: str) -> bool:
    return Path(entry).name.startswith("torch_memory_saver_")


def actor_environment(
    library: Path,
    elf: Library,
    before: Mapping[str, str],
    *,
    defects: Collection[str] = (),
    cpu_backup: bool = True,
    library_folders: Sequence[Path] = (),
) -> ActorEnvironment:
    """Return the environment for a process that preloads ``library``.

    ``elf`` is what is in it; ``before`` is the environment that the process would have otherwise; ``defects`` are the
    ids of those that it has or can have; ``cpu_backup`` is what holds outside regions; ``library_folders`` go on
    LD_LIBRARY_PATH, for libraries that the loader does not find. Raises UsageError for expandable segments, which go
    around the library, unless it can track them.
    """
    notes = list(_expandable_segments(elf, before))
    preload = merged_preload(library, before.get("LD_PRELOAD", ""))
    variables = {
        "LD_PRELOAD": preload,
        "TMS_INIT_ENABLE": "1",
        "TMS_INIT_ENABLE_CPU_BACKUP": "1" if cpu_backup else "0",
    }
    if library_folders:
        folders = [*map(str, library_folders), *before.get("LD_LIBRARY_PATH", "").split(":")]
        variables["LD_LIBRARY_PATH"] = ":".join(dict.fromkeys(folder for folder in folders if folder))
    notes += _preload_notes(preload, defects)
    notes += _region_notes(elf, defects)
    notes += _nccl_notes(before)
    return ActorEnvironment(variables, tuple(notes))


def expandable_segments_in(before: Mapping[str, str]) -> list[str]:
    """Return the variables of ``before`` that turn expandable segments on."""
    return [name for name in ALLOCATOR_VARIABLES if _turns_on(before.get(name, ""))]


def _turns_on(settings: str) -> bool:
    """Tell whether allocator settings turn expandable segments on.

    Torch drops blanks, takes the last of several, and knows True and False only. Any other spelling counts as on: torch
    refuses it today, at the first allocation.
    """
    entries = [entry.partition(":") for entry in "".join(settings.split()).casefold().split(",")]
    values = [value for name, _, value in entries if name == "expandable_segments"]
    return bool(values) and values[-1] != "false"


def _expandable_segments(elf: Library, before: Mapping[str, str]) -> Sequence[Note]:
    found = expandable_segments_in(before)
    if not found:
        return ()
    if "tms_cuMemCreate" in elf.exports:
        text = "this build tracks expandable segments, but then a region has no memory pool of its own"
        return (Note(text, "expandable-segments-no-pool"),)
    raise UsageError(
        f"{' and '.join(found)}: with expandable segments torch maps memory itself, and a pause frees nothing",
        hint="take expandable_segments out, or set it to False, for processes that preload torch_memory_saver",
    )


def _preload_notes(preload: str, defects: Collection[str]) -> list[Note]:
    notes = []
    entries = preload.split(":")
    if len(entries) > 1 and "preload-multiple-entries" in defects:
        text = f"LD_PRELOAD has {len(entries)} entries, and this build takes the variable as one path"
        notes.append(Note(text, "preload-multiple-entries"))
    # The package counts the entries whose path, not name, holds its own name, and wants one.
    taken = [entry for entry in entries[1:] if "torch_memory_saver" in entry]
    if taken:
        notes.append(
            Note(f"{taken[0]} has torch_memory_saver in its path, which the package takes for its own library")
        )
    return notes


def _region_notes(elf: Library, defects: Collection[str]) -> list[Note]:
    if "tms_region_enter" in elf.exports:
        return [Note("this build, 0.0.8 or older, knows no TMS_INIT variables: only what is in regions is tracked")]
    if "nested-region-assert" in defects:
        text = "with TMS_INIT_ENABLE=1 every region() of this build fails: it cannot be entered while one is active"
        return [Note(text, "nested-region-assert")]
    return []


def _nccl_notes(before: Mapping[str, str]) -> list[Note]:
    notes = []
    if "NCCL_CUMEM_ENABLE" not in before:
        notes.append(
            Note(
                "NCCL_CUMEM_ENABLE is not set: frameworks set it to 0 where memory is paused, so that NCCL keeps no"
                " mapping of it; multi-node NVLink (GB200, GB300) needs 1, and then process groups have to be destroyed"
                " before a pause"
            )
        )
    if before.get("NCCL_GRAPH_REGISTER") != "0":
        text = "with NCCL calls in CUDA graphs set NCCL_GRAPH_REGISTER=0: a replay after a resume can hang"
        notes.append(Note(text, "nccl-graph-hang"))
    return notes


def as_shell(environment: ActorEnvironment) -> str:
    """Return lines for ``eval`` in a POSIX shell."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environment.variables.items())


def as_dotenv(environment: ActorEnvironment) -> str:
    """Return the text of a .env file; single quotes keep a value as it is."""
    for name, value in environment.variables.items():
        if "'" in value or "\n" in value:
            raise UsageError(f"a .env file cannot hold the value of {name}: {value}")
    return "".join(f"{name}='{value}'\n" for name, value in environment.variables.items())


def as_ray(environment: ActorEnvironment) -> str:
    """Return a runtime environment for Ray (``ray.remote(runtime_env=...)``, ``--runtime-env-json``) as JSON."""
    return json.dumps({"env_vars": dict(environment.variables)}, indent=2) + "\n"


def as_json(environment: ActorEnvironment) -> str:
    """Return variables and notes as JSON."""
    notes = [{"text": note.text, "defect": note.defect} for note in environment.notes]
    return json.dumps({"variables": dict(environment.variables), "notes": notes}, indent=2) + "\n"


FORMATS: Mapping[str, Callable[[ActorEnvironment], str]] = {
    "shell": as_shell,
    "json": as_json,
    "ray": as_ray,
    "dotenv": as_dotenv,
}
