"""Which series a project keeps: `patchkit.toml`, or `[tool.patchkit]` in pyproject.toml."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from patchkit.errors import StoreError
from patchkit.store.documents import read_file

SETTINGS = "patchkit.toml"
_PROJECT = "pyproject.toml"
_LARGEST = {SETTINGS: 1 << 20, _PROJECT: 4 << 20}
"""Bytes: pyproject.toml has the settings of many programs, ours has one line."""


class Settings(msgspec.Struct, frozen=True):
    """What a project says."""

    file: Path
    """Where it says so."""
    patches: Path
    """Folder of its series; relative only where the file lies in a relative ``start``."""


def find_settings(start: Path) -> Settings | None:
    """Return what the nearest settings file says, in ``start`` or a folder above it; None when there is none.

    In one folder `patchkit.toml` goes before pyproject.toml, of which only a table `tool.patchkit` counts. The one key
    is `patches`, a folder relative to the file. Raises StoreError, which names the file and the key.
    """
    for folder in (start, *start.absolute().parents):
        file = folder / SETTINGS
        # A folder or a dangling link of this name is an error when it is read, and no reason to take another series; so
        # it is with the other one.
        if os.path.lexists(file):
            return _settings(file, _parsed(file))
        file = folder / _PROJECT
        # Most projects have such a file and nothing of ours in it; parsing TOML takes longer than a small command.
        if os.path.lexists(file) and b"patchkit" in read_file(file, _LARGEST[file.name]):
            table = _parsed(file).get("tool", {})
            if isinstance(table, dict) and "patchkit" in table:
                return _settings(file, table["patchkit"], "tool.patchkit.")
    return None


def settings_text(patches: Path) -> bytes:
    """Return a new `patchkit.toml` for the series in ``patches``, a path relative to it."""
    return (
        "# Where patchkit's commands find the series of this project; they look from the current folder upward.\n"
        f"patches = {_quoted(patches.as_posix())}\n"
    ).encode()


def _parsed(file: Path) -> dict[str, Any]:
    from patchkit.core.toml_text import TomlLimitError, parse_toml  # noqa: PLC0415 - only where there is a settings file

    try:
        return parse_toml(read_file(file, _LARGEST[file.name]).decode())
    except TomlLimitError as error:
        raise StoreError(str(file), None, str(error)) from error
    except ValueError as error:
        # Also for bytes that are no UTF-8, and a number of more digits than Python reads.
        raise StoreError(str(file), None, f"it is no TOML: {error}") from error


def _settings(file: Path, table: object, prefix: str = "") -> Settings:
    if not isinstance(table, dict):
        raise StoreError(str(file), prefix.rstrip("."), "it must be a table")
    for key in table:
        if key != "patches":
            raise StoreError(str(file), f"{prefix}{key}", "there is no such setting; the one there is is `patches`")
    patches = table.get("patches")
    if not isinstance(patches, str) or not patches:
        raise StoreError(str(file), f"{prefix}patches", "it must be there, and name the folder of a series")
    folder = file.parent / patches
    # Unlike Path's, this takes every name: one that is too long, say, is that of no folder.
    if not os.path.isdir(folder):  # noqa: PTH112
        hint = "name the folder of the series as it is to be found from that of this file"
        raise StoreError(str(file), f"{prefix}patches", f"there is no folder {folder}", hint=hint)
    # A path of one part has no grandparent, where the list of upstream's releases may lie.
    return Settings(file, folder if len(folder.parts) > 1 else folder.absolute())


def _quoted(text: str) -> str:
    # The escapes of a JSON string are among those of TOML.
    return msgspec.json.encode(text).decode()
