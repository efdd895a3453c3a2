"""Entry point of the ``patchkit`` command."""

from __future__ import annotations

import sys

from patchkit import __version__


def main() -> int:
    """Run the command line and return its exit code."""
    if sys.argv[1:] == ["--version"]:
        # Asked by scripts at every start; the command line library would take longer than the answer.
        sys.stdout.write(f"patchkit {__version__}\n")
        return 0
    from patchkit.cli.main import run  # noqa: PLC0415 - see above

    return run(sys.argv[1:])


if __name__ == "__main__":
    raise SystemExit(main())
