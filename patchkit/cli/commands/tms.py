"""patchkit tms."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import click
from msgspec import structs

from patchkit.cli.commands import tms_cycle
from patchkit.cli.estimate import keeps_backups, precision, print_estimate, read_arguments, write_pictures
from patchkit.cli.exit_codes import ExitCode
from patchkit.cli.options import format_option
from patchkit.cli.output import echo_lines, echo_note, print_json
from patchkit.cli.saver import (
    asked_environment,
    asked_package,
    asked_runtime,
    build_lines,
    identity_lines,
    place_option,
    probe_lines,
    records,
    runtime_options,
    triage_lines,
)
from patchkit.cli.tms_reports import BuildEnvReport, identify_report, probe_report, triage_report
from patchkit.errors import TmsError, UsageError
from patchkit.store.cache import default_cache
from patchkit.tms.build import build_needs, needs_as_shell
from patchkit.tms.environment import FORMATS
from patchkit.tms.estimate import Setting, estimate
from patchkit.tms.identity import Identity, identify
from patchkit.tms.library import HookMode, check_loads, fitting_library
from patchkit.tms.package import Package
from patchkit.tms.probe import can_free_while_paused, probe
from patchkit.tms.process import loaded_package, look_at
from patchkit.tms.shape import from_megatron
from patchkit.tms.triage import triage


@click.group("tms")
def command() -> None:
    """Ask about torch_memory_saver: which library, which build, what it does, what a log says. No GPU is needed."""


command.add_command(tms_cycle.command)


@command.command("path")
@runtime_options
@place_option
@click.option(
    "--mode", type=click.Choice(["preload", "torch"]), default="preload", show_default=True, help="The hook mode."
)
@click.option("--no-check", is_flag=True, help="Do not ask the loader whether it takes the library.")
def path_command(*, cuda_major: int | None, rocm: bool, place: str | None, mode: HookMode, no_check: bool) -> int:
    """Print the library that fits this process, for LD_PRELOAD. Ask on the node that loads it."""
    runtime = asked_runtime(cuda_major, rocm=rocm)
    library = fitting_library(asked_package(place, verbose=False), runtime, mode)
    if not no_check:
        check_loads(library)
    click.echo(library)
    return int(ExitCode.DONE)


@command.command("env")
@runtime_options
@place_option
@click.option("--format", "style", type=click.Choice(sorted(FORMATS)), default="shell", show_default=True)
@click.option("--no-cpu-backup", is_flag=True, help="No backup outside regions (TMS_INIT_ENABLE_CPU_BACKUP=0).")
@click.option("--no-check", is_flag=True, help="Do not ask the loader whether it takes the library.")
def env_command(
    *, cuda_major: int | None, rocm: bool, place: str | None, style: str, no_cpu_backup: bool, no_check: bool
) -> int:
    """Print the environment for an actor: `eval "$(patchkit tms env)"`. Notes go to standard error."""
    package, runtime = asked_package(place, verbose=False), asked_runtime(cuda_major, rocm=rocm)
    found = asked_environment(package, runtime, cpu_backup=not no_cpu_backup, check=not no_check)
    click.echo(FORMATS[style](found), nl=False)
    return int(ExitCode.DONE)


@command.command("build-env")
@runtime_options
@click.option("--format", "style", type=click.Choice(["text", "shell", "json"]), default="text", show_default=True)
def build_env_command(*, cuda_major: int | None, rocm: bool, style: str) -> int:
    """Say what a build from source needs here and why: `eval "$(patchkit tms build-env --format shell)"`.

    Exits 1 when something is missing that no variable sets.
    """
    needs = build_needs(asked_runtime(cuda_major, rocm=rocm), os.environ)
    ok = all(need.ok or need.set_to for need in needs)
    if style == "json":
        print_json(BuildEnvReport(ok=ok, needs=needs))
    elif style == "shell":
        click.echo(needs_as_shell(needs), nl=False)
    else:
        echo_lines(build_lines(needs))
    return int(ExitCode.DONE if ok else ExitCode.NO)


@command.command("identify")
@click.argument("place", required=False, metavar="[PATH|VERSION]")
@click.option("--pid", type=click.IntRange(min=1), help="What that process has loaded, by its memory map.")
@click.option("--probe/--no-probe", "try_out", default=True, help="Try it out where symbols do not tell. Default: yes.")
@format_option
def identify_command(*, place: str | None, pid: int | None, try_out: bool, style: str) -> int:
    """Say which torch_memory_saver is there, which defects it has, and whether it is good enough for the series."""
    if pid is not None and place is not None:
        raise click.UsageError("--pid and a path exclude each other")
    package = loaded_package(look_at(pid)) if pid is not None else asked_package(place, verbose=style == "text")
    identity = identify(package, records())
    if identity.meets_minimum is None and try_out:
        identity = _tried_out(package, identity)
    if style == "json":
        print_json(identify_report(identity))
    else:
        echo_lines(identity_lines(identity))
    return int(ExitCode.DONE if identity.meets_minimum else ExitCode.NO)


def _tried_out(package: Package, identity: Identity) -> Identity:
    try:
        outcome = can_free_while_paused(package, cache=default_cache())
    except TmsError as error:
        return structs.replace(identity, notes=(*identity.notes, f"not tried out: {error.message}"))
    return identify(package, records(), free_while_paused=outcome)


@command.command("probe")
@click.argument("place", required=False, metavar="[PATH|VERSION]")
@click.option("--cuda-major", type=click.IntRange(min=1), help="Default: the newest that it has a library for.")
@format_option
def probe_command(*, place: str | None, cuda_major: int | None, style: str) -> int:
    """Try the real library out under a simulated CUDA driver, in processes of their own."""
    package = asked_package(place, verbose=style == "text")
    probed = probe(package, cache=default_cache(), major=cuda_major)
    if style == "json":
        print_json(probe_report(probed))
    else:
        echo_lines(probe_lines(probed))
    return int(ExitCode.DONE if probed.good_enough else ExitCode.NO)


@command.command("triage")
@click.argument("logs", nargs=-1, required=True, type=click.File("rb"), metavar="LOG...")
@format_option
def triage_command(*, logs: tuple[BinaryIO, ...], style: str) -> int:
    """Say what logs tell about torch_memory_saver: causes, counts by rank, what to do. - is standard input."""
    found = [(str(getattr(log, "name", "-")), triage(log, records())) for log in logs]
    if style == "json":
        print_json(triage_report(found))
    else:
        for name, item in found:
            echo_lines(triage_lines(name, item))
    return int(ExitCode.NO if any(item.fatal for _, item in found) else ExitCode.DONE)


@command.command("estimate")
@click.argument("config", required=False, type=click.Path(path_type=Path), metavar="[CONFIG.json]")
@click.option("--set", "assignments", multiple=True, metavar="NAME=VALUE", help="An argument of Megatron, by its name.")
@click.option("--no-grad-backup", is_flag=True, help="With disable_grad_buffers_cpu_backup.")
@click.option("--no-param-backup", is_flag=True, help="With disable_param_buffers_cpu_backup.")
@click.option(
    "--weight-copies", type=click.IntRange(min=0), help="Copies of weights on the host. Default: a restorer's."
)
@click.option(
    "--retain-backups",
    is_flag=True,
    help="Backups stay on the host after a resume, as with OffloadGuard(retain_backups=True) and retain_cpu_backup.",
)
@click.option(
    "--tms", "version", metavar="VERSION", help="The release of torch_memory_saver; before 0.0.10 backups always stay."
)
@click.option(
    "--hook-mode",
    type=click.Choice(["preload", "torch"]),
    default="preload",
    help="With torch a region's pool keeps what is empty. Default: preload.",
)
@click.option(
    "--step-bytes",
    type=click.IntRange(min=0),
    default=0,
    metavar="BYTES",
    help="What a step in a region takes for an element, with --hook-mode torch: 4 with AdamW of torch.",
)
@click.option(
    "--activations", type=click.IntRange(min=0), default=0, metavar="BYTES", help="On the device in training."
)
@click.option("--untracked", type=click.IntRange(min=0), default=0, metavar="BYTES", help="On the device all the time.")
@click.option(
    "--svg",
    "--png",
    "pictures",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the bars as a picture too; FILE.png is a PNG, anything else an SVG. Can be repeated.",
)
@format_option
def estimate_command(
    *,
    config: Path | None,
    assignments: tuple[str, ...],
    no_grad_backup: bool,
    no_param_backup: bool,
    weight_copies: int | None,
    retain_backups: bool,
    version: str | None,
    hook_mode: str,
    step_bytes: int,
    activations: int,
    untracked: int,
    pictures: tuple[Path, ...],
    style: str,
) -> int:
    """Estimate the device and host memory of a rank in each phase, from Megatron's arguments (docs/estimate.md)."""
    if step_bytes and hook_mode != "torch":
        raise UsageError("--step-bytes is about --hook-mode torch: else what a step had is given back")
    arguments = read_arguments(config, assignments)
    bytes_of = precision(arguments)
    if no_param_backup and not bytes_of["distributed_optimizer"]:
        echo_note("--no-param-backup does nothing without use_distributed_optimizer")
        no_param_backup = False
    setting = Setting(
        **bytes_of,
        gradient_backup=not no_grad_backup,
        parameter_backup=not no_param_backup,
        weight_copies=int(no_param_backup) if weight_copies is None else weight_copies,
        backup_kept=retain_backups or (version is not None and keeps_backups(version)),
        region_pool=hook_mode == "torch",
        step_bytes=step_bytes,
        activations=activations,
        untracked=untracked,
    )
    found = estimate(*from_megatron(arguments), setting)
    for name in arguments.idle:
        echo_note(f"nothing here depends on {name}; is that its name in Megatron's namespace?")
    write_pictures(pictures, found)
    if style == "json":
        print_json(found)
    else:
        print_estimate(found)
    return int(ExitCode.DONE)
