"""What is said of a file of ours that cannot be read, and what can be done about it."""

from __future__ import annotations

import errno
from pathlib import Path

from patchkit.errors import StoreError
from patchkit.folders import TOO_DEEP
from patchkit.reading import OddFileError

_LINK = "remove the link, or put a copy of what it should lead to in its place"
_HINTS = {
    errno.EACCES: "make it readable for the user who runs this",
    errno.EPERM: "make it readable for the user who runs this",
    errno.ELOOP: _LINK,
    errno.EFBIG: "see what it is: nothing of ours is so large",
    errno.ENAMETOOLONG: TOO_DEEP,
}


def unreadable(path: Path, error: OSError, what: str = "") -> StoreError:
    """Return the error for a file or folder of ours that could not be read; ``what`` goes before the reason."""
    reason, hint = error.strerror or str(error), _HINTS.get(error.errno or 0)
    if isinstance(error, OddFileError) and error.errno != errno.EFBIG:
        hint = "put the file that belongs there in its place"
    elif isinstance(error, FileNotFoundError) and path.is_symlink():
        reason, hint = "it is a link, and what it leads to is not there", _LINK
    return StoreError(str(path), None, f"{what}{reason}", hint=hint)
