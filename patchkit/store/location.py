"""Where our own files are: beside the package in a checkout, inside it once installed."""

from __future__ import annotations

import shlex
from pathlib import Path

from patchkit.errors import StoreError, UsageError

VERSIONS = "upstream_versions.yaml"

_PACKAGE = Path(__file__).resolve().parent.parent


def default_patches() -> Path:
    """Return the folder of the built-in series."""
    return _data_root() / "patches" / "megatron"


def edited_patches() -> Path:
    """Return the series that somebody who edits one means: that of the current directory if it has one."""
    here = Path("patches") / "megatron"
    return here if here.is_dir() else default_patches()


def own_patches() -> Path:
    """Return the series of the current directory. Raises UsageError when there is none."""
    here = Path("patches") / "megatron"
    if not here.is_dir():
        raise UsageError(
            "which series? there is no patches/megatron here",
            hint="name its folder with --patches DIR; `patchkit init` makes one",
        )
    return here


def series_option(patches: Path) -> str:
    """Return the option that names a series in a command for a shell, a space before it; empty where none is needed."""
    project = _of_settings()
    taken_anyway = (Path("patches") / "megatron", default_patches()) if project is None else (project,)
    return "" if patches in taken_anyway else f" --patches {shlex.quote(str(patches))}"


def _of_settings() -> Path | None:
    """Return the series of the project's settings; None without any, or with some that cannot be read."""
    from patchkit.store.settings import find_settings  # noqa: PLC0415 - only where a command is suggested

    try:
        found = find_settings(Path())
    except StoreError:
        return None
    return found.patches if found else None


def versions_file(patches: Path) -> Path:
    """Return the upstream_versions.yaml that goes with a series.

    Looked for in the series' folder, then two levels up (the layout of this project), then the built-in one.
    """
    for folder in (patches, patches.parent.parent):
        if (folder / VERSIONS).is_file():
            return folder / VERSIONS
    return _data_root() / VERSIONS


def own_versions_file(patches: Path) -> Path:
    """Return the upstream_versions.yaml that goes with a series, if it may be written.

    Raises UsageError when the series has none of its own, and when it is part of an installed patchkit.
    """
    path = versions_file(patches)
    home = patches.resolve()
    if path.parent.resolve() not in (home, home.parent.parent):
        raise UsageError(
            f"{patches} has no upstream_versions.yaml of its own", hint=f"copy {path} into {patches} and try again"
        )
    if path.resolve().is_relative_to(_PACKAGE / "data"):
        raise UsageError(
            f"{path} belongs to the installed patchkit and is not changed",
            hint="work in a checkout of patchkit, or copy the series with its upstream_versions.yaml and name it with "
            "--patches DIR",
        )
    return path


def _data_root() -> Path:
    packaged = _PACKAGE / "data"
    return packaged if packaged.is_dir() else _PACKAGE.parent
