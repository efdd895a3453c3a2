"""Patch Megatron-LM, or the upstream of another series, while it is imported: for files that nobody may write to.

``import patchkit.live`` as the first line of a script, or ``python -m patchkit.live -- script.py`` (docs/live.md).
Importing this module puts the hook into this process and sets the two variables of :func:`environment` in
``os.environ``, so that the Python processes that this one starts do the same. What is patched follows from the variable
``PATCHKIT_LIVE``; without it, it is the series that patchkit.toml or pyproject.toml names in the current folder or one
above (StoreError where it is malformed), else the built-in one, on the Megatron-LM that is imported.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from patchkit.errors import LiveError
from patchkit.importing import settings as _settings
from patchkit.importing.hook import active, install
from patchkit.importing.standing import LiveStatus, status

__all__ = ["LiveError", "LiveStatus", "environment", "status"]


def environment(before: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables for a Python process that is to patch as this one does, such as an actor of Ray.

    ``before`` is what it would have otherwise (default: ``os.environ``): its PYTHONPATH is kept behind ours.
    """
    finder = active()
    chosen = finder.settings if finder is not None else _from_environment()
    return _settings.environment(chosen, os.environ if before is None else before)


def _from_environment() -> _settings.Settings:
    text = os.environ.get(_settings.VARIABLE)
    if text:
        return _settings.parsed(text)
    # Imported here: where the variable is, nothing of this is needed.
    from pathlib import Path  # noqa: PLC0415

    from patchkit.store.settings import find_settings  # noqa: PLC0415

    found = find_settings(Path())
    # Without packages: the hook asks the series for them.
    return _settings.Settings(patches=str(found.patches.absolute()), packages=()) if found else _settings.Settings()


if __name__ == "__main__":
    from patchkit.cli.live import main

    raise SystemExit(main())

install(_from_environment())
os.environ.update(environment())
