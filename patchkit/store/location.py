"""Where our own files are: beside the package in a checkout, inside it once installed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from patchkit.core.printing import shell_word
from patchkit.errors import StoreError, UsageError
from patchkit.reading import kind_of
from patchkit.store.unreadable import unreadable

SERIES = "series.yaml"
"""Name of the file that makes a folder a series."""
VERSIONS = "upstream_versions.yaml"

_HERE = Path("patches") / "megatron"
_PACKAGE = Path(__file__).resolve().parent.parent


def default_patches() -> Path:
    """Return the folder of the built-in series."""
    return _data_root() / "patches" / "megatron"


def edited_patches() -> Path:
    """Return the series that somebody who edits one means: that of the current directory if it has one.

    Raises StoreError.
    """
    return folder_here() or default_patches()


def own_patches() -> Path:
    """Return the series of the current directory. Raises UsageError when there is none, StoreError."""
    here = folder_here()
    if here is None:
        raise UsageError(
            "which series? there is no patches/megatron here",
            hint="name its folder with --patches DIR; `patchkit init` makes one",
        )
    return here


def series_here() -> Path | None:
    """Return the series of the current directory: patches/megatron, where something in it is called series.yaml.

    None without one, and for the built-in series in a checkout of patchkit. Raises StoreError.
    """
    here = folder_here()
    if here is None or not os.path.lexists(here / SERIES) or here.samefile(default_patches()):
        return None
    return here


def folder_here() -> Path | None:
    """Return patches/megatron of the current directory; None when it has none.

    Raises StoreError where what is called so is no folder, or leads nowhere: nobody is to take another series for it.
    """
    for place in (_HERE.parent, _HERE):
        try:
            mode = place.stat().st_mode
        except FileNotFoundError as error:
            if not place.is_symlink():
                return None
            raise unreadable(place, error) from error
        except OSError as error:
            raise unreadable(place, error) from error
        if stat.S_ISDIR(mode):
            continue
        if place != _HERE:
            return None  # a file of somebody else's may well be called patches
        hint = "put it elsewhere, or name the folder of the series with --patches DIR"
        raise StoreError(str(place), None, f"it is no folder, as a series is, but {kind_of(mode)}", hint=hint)
    return _HERE


def series_option(patches: Path) -> str:
    """Return the option that names a series in a command for a shell, a space before it; empty where none is needed."""
    project = _of_settings()
    taken_anyway = (_HERE, default_patches()) if project is None else (project,)
    return "" if patches in taken_anyway else f" --patches {shell_word(str(patches))}"


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
        # Whatever has its name: with the list of another upstream a series would be taken for something else.
        if os.path.lexists(folder / VERSIONS):
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
