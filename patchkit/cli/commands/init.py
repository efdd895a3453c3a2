"""patchkit init."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import click
import msgspec

from patchkit.cli.commands.import_ import import_lines
from patchkit.cli.completion import complete_target
from patchkit.cli.options import FOLDER, PATH, format_option
from patchkit.cli.output import StderrReporter, bounded, print_answer
from patchkit.core.upstream import Megatron, Upstream
from patchkit.errors import UsageError
from patchkit.operations.init import Beginning, Initialised, begin_series
from patchkit.store.known_upstreams import find_upstream, known_upstreams

_NEEDED = {"repository": "--repository URL", "packages": "--package PATH"}
"""What an upstream that is not known by name has at least, and the option that says it."""


@click.command("init")
@click.option(
    "--megatron",
    "--release",
    "targets",
    multiple=True,
    metavar="RELEASE",
    shell_complete=complete_target,
    help="A release, branch or commit that the series is to be made for (repeatable).",
)
@click.option("--git", "repository", type=FOLDER, help="A clone of upstream or a fork, for branches, tags and commits.")
@click.option("--from", "files", multiple=True, type=PATH, metavar="FILE", help="A patch to begin with (repeatable).")
@click.option("--base", metavar="REV", help="With --from: what it was made for. Default: what its index lines say.")
@click.option("--split", is_flag=True, help="With --from: cut it into the feature patches that import proposes.")
@click.option("--name", help="With --from: name of the one patch that is made of it.")
@click.option(
    "--directory", default="", metavar="DIR", help="With --from: its paths are below DIR, as git apply has it."
)
@click.option("--author", default="", metavar="NAME", help="With --from: who wrote it, if the file does not say.")
@click.option("--forwarded", default="", metavar="TEXT", help="With --from: was upstream asked? no, or where.")
@click.option("--patches", type=FOLDER, help="Folder of the series. Default: patches/, and in it the upstream's name.")
@click.option("--upstream", default="Megatron-LM", show_default=True, help="What is patched; see docs/adoption.md.")
@click.option("--repository", "address", metavar="URL", help="Where the upstream is cloned from.")
@click.option("--distribution", help="Its name on the package index; empty when it is on none.")
@click.option("--package", "packages", multiple=True, metavar="PATH", help="A folder that each tree has (repeatable).")
@click.option("--source", metavar="PATH", help="Folder of the repository that is the top of the wheel, such as src.")
@click.option("--tag", metavar="PATTERN", help="How release tags are written, such as v{version}.")
@click.option("--version-file", metavar="PATH", help="File that says of which version a commit is.")
@click.option("--workflow/--no-workflow", default=True, help="Whether a workflow of GitHub is made.")
@click.option("--pre-commit/--no-pre-commit", "hooks", default=True, help="Whether hooks of pre-commit are made.")
@click.option("--dry-run", is_flag=True, help="Do everything except the write.")
@format_option
def command(
    *,
    targets: tuple[str, ...],
    repository: Path | None,
    files: tuple[Path, ...],
    base: str | None,
    split: bool,
    name: str | None,
    directory: str,
    author: str,
    forwarded: str,
    patches: Path | None,
    upstream: str,
    address: str | None,
    distribution: str | None,
    packages: tuple[str, ...],
    source: str | None,
    tag: str | None,
    version_file: str | None,
    workflow: bool,
    hooks: bool,
    dry_run: bool,
    style: str,
) -> int:
    """Begin to keep a series in the current folder: its patches, what it is made for, and what checks it.

    Made are the folder of the series with upstream_versions.yaml, patchkit.toml, by which every command finds it, a
    workflow of GitHub and hooks of pre-commit. With --from the series begins with the patches of others.
    """
    if not files and (base or split or name or author or forwarded):
        raise UsageError("--base, --split, --name, --author and --forwarded are about the patches of --from")
    described = _described(
        upstream,
        repository=address,
        distribution=distribution,
        packages=packages or None,
        source=source,
        tag=tag,
        version_file=version_file,
    )
    folder = patches or _folder(described)
    result = begin_series(
        Beginning(
            project=Path(),
            folder=folder,
            upstream=described,
            targets=targets,
            repository=repository,
            patches=files,
            base=base,
            split=split,
            name=name,
            directory=directory,
            author=author,
            forwarded=forwarded,
            workflow=workflow,
            hooks=hooks,
        ),
        today=datetime.now(tz=timezone.utc).strftime("%Y-%m-%d"),
        dry_run=dry_run,
        reporter=StderrReporter(verbose=style == "text"),
    )
    return print_answer(result, _lines(result, files), style, result.problems)


def _folder(upstream: Upstream) -> Path:
    """Return where a series of an upstream lies by default: patches/megatron, patches/sglang."""
    name = upstream.package if isinstance(upstream, Megatron) else upstream.short.lower()
    return Path("patches", re.sub(r"[^a-z0-9.]+", "-", name))


def _described(name: str, **said: object) -> Upstream:
    """Return the upstream that the options describe: one that is known by name, with what they say otherwise.

    Raises UsageError when they do not say enough, or what cannot be.
    """
    known = find_upstream(name)
    changes = {key.replace("_", "-"): _bare(value) for key, value in said.items() if value is not None}
    missing = [option for key, option in _NEEDED.items() if known is None and key not in changes]
    if missing:
        names = ", ".join(each.name for each in known_upstreams())
        raise UsageError(
            f"{name} is no upstream that patchkit knows by name",
            hint=f"describe it with {' and '.join(missing)}; known are {names}",
        )
    value = {"name": name, "distribution": ""} if known is None else msgspec.to_builtins(known)
    try:
        return msgspec.convert({**value, **changes}, Upstream if known is None else type(known))
    except msgspec.ValidationError as error:
        if "$.tag" in str(error):
            raise UsageError(f"--tag {said['tag']}: a tag is written with {{version}}, once") from error
        raise UsageError(f"there can be no such upstream: {error}") from error


def _bare(value: object) -> object:
    """Return a folder, or several, without the slash that a shell puts behind it."""
    if isinstance(value, str):
        return value if len(value) < 2 else value.rstrip("/")
    return tuple(map(_bare, value)) if isinstance(value, tuple) else value


def _lines(result: Initialised, files: tuple[Path, ...]) -> Iterator[str]:
    if result.imported is not None:
        yield from import_lines(result.imported, files)
    if not result.ok:
        return
    targets = ", ".join(result.targets) or "no target yet"
    yield f"{result.series}: a series for {result.upstream}, made for {targets}"
    yield from bounded([f"note: {note}" for note in result.notes])
    verb = "would be written" if result.verdict == "would-make" else "written"
    beside = [path for path in result.written if result.imported is None or path not in result.imported.written]
    yield f"{verb}: {', '.join(beside)}"
    if result.imported is None:
        yield "next: patchkit import FILE makes the first patch of the series"
