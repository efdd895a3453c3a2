"""Where the edit directory of a rebase may be, and what to do where it cannot be written."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from patchkit.errors import TreeError, UsageError
from patchkit.reading import kind_of
from patchkit.store.edit_room import ROOM, folder_for, leads_into_room
from patchkit.store.location import series_option


def free_place(series: Path, folder: Path | None, name: str) -> Path:
    """Return where the edit directory for the target ``name`` is to be, without links: ``folder``, or in the room.

    Raises UsageError where there is something already, and as ``refuse_unfit`` does.
    """
    place = series / ROOM / folder_for(name) if folder is None else folder.resolve()
    if folder is not None:
        refuse_unfit(series, folder)
    else:
        for link in (place.parent, place):
            if link.is_symlink():
                raise UsageError(f"{link} is a link, and links are not followed", hint="remove it")
        place = place.resolve()
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise UsageError(f"{place} is not empty", hint="name a new folder with --edit-dir, or remove that one")
    return place


def refuse_unfit(series: Path, folder: Path) -> None:
    """Raise UsageError for an edit directory in the series: every name there means something, or may come to.

    So it does in the room of another series, whose next rebase that ends takes away all that is there, and where no
    folder can be made: open.yaml would be written, and nothing else.
    """
    place = folder.resolve()
    hint = "name a folder outside of it with --edit-dir, or leave that out: the series has a place for it"
    if place.is_relative_to(series.resolve()):
        raise UsageError(
            f"{folder} lies in the folder of the series, where it would be taken for a part of it", hint=hint
        )
    if any(map(leads_into_room, place.parts)):
        raise UsageError(
            f"{folder} is in a folder called {ROOM}, as each series has one for its own unfinished rebases", hint=hint
        )
    hindrance = _in_the_way(place)
    if hindrance is not None:
        raise UsageError(f"{folder} cannot be a folder: {hindrance}", hint="name another place with --edit-dir")


def way_on(series: Path, *, is_new: bool) -> str:
    """Return what to do about an edit directory that could not be written: one that ``is_new`` has no state yet."""
    if is_new:
        return f"`patchkit rebase --abort{series_option(series)}` drops what is left of it, and the series is as it was"
    return f"`patchkit rebase --continue{series_option(series)}` goes on once that is mended"


def unlisted(error: OSError) -> TreeError:
    """Return the error for the folder around an edit directory that could not be listed: a rest there would be lost."""
    said = f"cannot list {error.filename}: {error.strerror or error}"
    return TreeError(said, hint="make it readable, and run this again")


def _in_the_way(place: Path) -> str | None:
    """Return why no folder can be made at ``place``, whose links are resolved; None where one can, or is there."""
    for above in (place, *place.parents):
        try:
            mode = above.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            return f"{error.strerror or error} ({above})"
        if not stat.S_ISDIR(mode):
            return f"{above} is {kind_of(mode)}"
        if above != place and not os.access(above, os.W_OK | os.X_OK):
            return f"nothing can be made in {above}"
        return None
    return None
