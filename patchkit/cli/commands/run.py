"""patchkit run."""

from __future__ import annotations

import os
import sys

import click

from patchkit.cli.saver import asked_environment, asked_package, asked_runtime, place_option, runtime_options
from patchkit.errors import UsageError


@click.command("run", context_settings={"allow_interspersed_args": False})
@runtime_options
@place_option
@click.option("--no-cpu-backup", is_flag=True, help="No backup outside regions (TMS_INIT_ENABLE_CPU_BACKUP=0).")
@click.option("--no-check", is_flag=True, help="Do not ask the loader whether it takes the library.")
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
def command(
    *,
    cuda_major: int | None,
    rocm: bool,
    place: str | None,
    no_cpu_backup: bool,
    no_check: bool,
    words: tuple[str, ...],
) -> int:
    """Run a command with torch_memory_saver preloaded, in what `patchkit tms env` prints."""
    package, runtime = asked_package(place, verbose=False), asked_runtime(cuda_major, rocm=rocm)
    found = asked_environment(package, runtime, cpu_backup=not no_cpu_backup, check=not no_check)
    sys.stdout.flush()
    try:
        os.execvpe(words[0], words, {**os.environ, **found.variables})  # noqa: S606 - it takes this process' place
    except OSError as error:
        raise UsageError(f"cannot run {words[0]}: {error.strerror}") from error
