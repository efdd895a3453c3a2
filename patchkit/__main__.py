"""Entry point of the ``patchkit`` command."""

from __future__ import annotations

import gc
import sys

from patchkit import __version__

_INTERRUPTED = 130
"""``ExitCode.INTERRUPTED``, whose module is not there yet."""
_MANY = 50_000
"""Objects made before the collector looks for garbage: some megabytes."""


def main() -> int:
    """Run the command line and return its exit code."""
    try:
        if sys.argv[1:] == ["--version"]:
            # Asked by scripts at every start; the command line library would take longer than the answer.
            sys.stdout.write(f"patchkit {__version__}\n")
            return 0
        # What is imported lives until the end, and a collector that goes through it finds nothing.
        gc.set_threshold(_MANY)
        from patchkit.cli.main import run  # noqa: PLC0415 - see above

        return run(sys.argv[1:])
    except KeyboardInterrupt:
        # Most of a short command's time goes into imports, before anything else could hear of it.
        return _INTERRUPTED


if __name__ == "__main__":
    raise SystemExit(main())
