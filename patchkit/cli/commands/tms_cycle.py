"""patchkit tms cycle.

Both worlds meet here: the series goes into a tree (operations), and the tree trains (tms). Neither knows of the other,
and what plans and writes is imported when it is asked for, so that the rest of `patchkit tms` does without.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import click

from patchkit.cli.completion import complete_target
from patchkit.cli.cycles import Cycled, cycle_report, cycled_lines
from patchkit.cli.exit_codes import ExitCode
from patchkit.cli.options import FOLDER, asked_target, finish, format_option, open_tree, patches_option, tree_options
from patchkit.cli.output import StderrReporter, echo_lines, print_json
from patchkit.cli.saver import asked_package
from patchkit.core.printing import shell_word
from patchkit.errors import UsageError
from patchkit.store.cache import default_cache
from patchkit.tms.cycle.interpreter import look_at_python
from patchkit.tms.cycle.rows import Way, cycle_rows
from patchkit.tms.cycle.trainings import Bench, choose_major

if TYPE_CHECKING:
    from patchkit.core.report import Report
    from patchkit.operations.sources import Workspace

_SWITCH = click.Choice(["on", "off", "both"])
_STATES = {"on": (True,), "off": (False,), "both": (True, False)}


@click.command("cycle")
@click.option(
    "--megatron",
    "releases",
    multiple=True,
    metavar="RELEASE",
    shell_complete=complete_target,
    help="v0.19.2, latest, ... (repeatable).",
)
@tree_options
@click.option("--git", "repository", type=FOLDER, help="Take --megatron from this clone instead of the package index.")
@patches_option
@click.option(
    "--tms", "savers", multiple=True, metavar="PATH|VERSION", help="Default: that of the Python (repeatable)."
)
@click.option("--cuda-major", type=click.IntRange(min=1), help="Default: the newest that it has a library for.")
@click.option("--interpreter", metavar="PATH", help="The Python to train with, with torch. Default: this one.")
@click.option("--flags", type=_SWITCH, default="both", show_default=True, help="The fields of the series.")
@click.option("--distributed-optimizer", "sharded", type=_SWITCH, default="both", show_default=True, help="Likewise.")
@click.option("--two-ranks", is_flag=True, help="Train with two ranks as well.")
@click.option("--no-free", is_flag=True, help="Free nothing while paused, which old builds do not survive.")
@format_option
def command(
    *,
    releases: tuple[str, ...],
    folder: Path | None,
    installed: bool,
    repository: Path | None,
    patches: Path | None,
    savers: tuple[str, ...],
    cuda_major: int | None,
    interpreter: str | None,
    flags: str,
    sharded: str,
    two_ranks: bool,
    no_free: bool,
    style: str,
) -> int:
    """Train patched Megatron on the CPU with the real library, pausing and resuming, and compare every bit.

    Megatron is a release, patched in a temporary folder, or a tree that is patched already (--in, --installed). The
    driver is simulated, and the processes are those of a Python that has the CPU build of torch.
    """
    _refuse_exclusive(releases, folder, repository, installed=installed, interpreter=interpreter)
    python = look_at_python(interpreter or sys.executable)
    packages = [asked_package(saver, verbose=style == "text") for saver in savers] or [
        python.installed_saver(cache=default_cache())
    ]
    majors = [choose_major(package, cuda_major) for package in packages]
    worlds = (1, 2) if two_ranks else (1,)
    ways = [Way(on, split, ranks) for ranks in worlds for split in _STATES[sharded] for on in _STATES[flags]]
    found: list[Cycled] = []
    with ExitStack() as trees:
        ready: list[tuple[Path, Report, str]] = []
        # Every name is found and every tree made before the first trains: a wrong one costs no table.
        for release in dict.fromkeys(releases) or (None,):
            tree, report = trees.enter_context(
                _trainable(release, folder, repository, patches, installed=installed, style=style)
            )
            if not (tree / "megatron" / "core").is_dir():
                return finish(report, style)
            ready.append((tree, report, report.target or str(release or folder)))
        for (tree, report, name), (package, major) in product(ready, zip(packages, majors, strict=True)):
            rows = cycle_rows(Bench(tree, package, major, python, default_cache()), ways, free=not no_free)
            found.append(
                Cycled(
                    megatron=name,
                    state=report.verdict,
                    saver=package.version or package.label,
                    cuda=major,
                    python=python.version,
                    torch=python.torch,
                    rows=rows,
                )
            )
            if style == "text":
                echo_lines(cycled_lines(found[-1]))
    if style == "json":
        print_json(cycle_report(found))
    return int(ExitCode.DONE if all(item.ok for item in found) else ExitCode.NO)


def _refuse_exclusive(
    releases: tuple[str, ...],
    folder: Path | None,
    repository: Path | None,
    *,
    installed: bool,
    interpreter: str | None,
) -> None:
    """Raise UsageError unless the options name one kind of Megatron."""
    installed = installed or "installed" in releases
    places = {"--in": folder is not None, "--installed": installed, "--git": repository is not None}
    chosen = [name for name, given in places.items() if given]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} exclude each other")
    if chosen and chosen[0] != "--git" and len(releases) > 1:
        raise UsageError(f"{chosen[0]} is one Megatron, and --megatron names {len(releases)}")
    if installed and interpreter is not None:
        raise UsageError(
            "--installed is the Megatron of this Python, --interpreter another one",
            hint="name the other one's site-packages folder with --in",
        )
    if not releases and chosen in ([], ["--git"]):
        raise UsageError(
            "which Megatron?", hint="name a release with --megatron v0.19.2 (or latest), or a tree with --in DIR"
        )


@contextmanager
def _trainable(
    release: str | None,
    folder: Path | None,
    repository: Path | None,
    patches: Path | None,
    *,
    installed: bool,
    style: str,
) -> Iterator[tuple[Path, Report]]:
    """Yield the folder that holds megatron/, and what was done or found there; a made one goes away again."""
    from patchkit.operations.sources import load_workspace  # noqa: PLC0415 - see above

    workspace = load_workspace(patches)
    if installed or release == "installed" or (folder is not None and folder.suffix != ".whl"):
        yield _as_it_is(workspace, release, folder, installed=installed)
        return
    with tempfile.TemporaryDirectory(prefix="patchkit-megatron-") as scratch:
        tree = Path(scratch, "tree")
        yield tree, _made(workspace, release, folder, repository, tree, style=style)


def _as_it_is(
    workspace: Workspace, release: str | None, folder: Path | None, *, installed: bool
) -> tuple[Path, Report]:
    """Return a tree that has to be patched already; one that was changed as well trains as it is, and that is told."""
    from patchkit.operations.status import status  # noqa: PLC0415 - see above
    from patchkit.trees.directory import DirectoryTree  # noqa: PLC0415 - see above

    tree = open_tree(folder, workspace.versions.upstream, installed=installed, megatron=release)
    assert isinstance(tree, DirectoryTree)  # noqa: S101 - what is no wheel is a folder
    report = status(workspace, tree, asked=asked_target(workspace, release))
    place = tree.root
    if report.verdict == "clean":
        hint = f"run `patchkit apply --in {shell_word(str(place))}`"
        raise UsageError(f"{place} is {report.target} without the series", hint=hint)
    if not report.ok:
        StderrReporter(verbose=False).note(f"{place} is not what patchkit made: {report.verdict}; it trains as it is")
    return place, report


def _made(
    workspace: Workspace, release: str | None, wheel: Path | None, repository: Path | None, tree: Path, *, style: str
) -> Report:
    """Make a patched tree of a wheel, a git revision or a release; a report that is not ok says why there is none."""
    from patchkit.operations.make import apply_export, apply_to  # noqa: PLC0415 - see above
    from patchkit.operations.sources import fetch_release, find_revision  # noqa: PLC0415 - see above

    if repository is not None:
        revision, asked = find_revision(workspace, repository, str(release))
        return apply_export(workspace, repository, revision, tree, asked=asked)
    asked = asked_target(workspace, release)
    if wheel is None:
        reporter = StderrReporter(verbose=style == "text")
        wheel = fetch_release(workspace.versions, workspace.named(str(asked)), reporter=reporter)
    return apply_to(workspace, wheel, tree, asked=asked)
