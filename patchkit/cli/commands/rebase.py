"""patchkit rebase."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import click

from patchkit.cli.completion import complete_patch, complete_target
from patchkit.cli.options import FOLDER, format_option, own_patches_option
from patchkit.cli.output import StderrReporter, print_answer
from patchkit.core.carry_report import SKIPPED, PlaceReport, drift_details
from patchkit.core.rebasing.rebased import HunkRebase, PatchRebase, Rebased
from patchkit.errors import UsageError
from patchkit.operations.rebase import abort, rebase, resume
from patchkit.operations.rebase_run import Surroundings
from patchkit.operations.rebase_session import Request
from patchkit.operations.rebase_signed import Signed
from patchkit.store.location import own_patches

_COLOURS = {
    "clean": "green",
    "accepted": "green",
    "already": "green",
    "written": "green",
    "would-write": "green",
    "review": "yellow",
    "conflict": "red",
    "differs": "red",
    "refused": "red",
    "not-needed": "bright_black",
    "kept": "bright_black",
}

_DETAILS = 300
"""Characters of what changed in a scope that are printed."""


@click.command("rebase")
@click.argument("names", nargs=-1, metavar="[PATCH]...", shell_complete=complete_patch)
@click.option(
    "--onto",
    metavar="TARGET",
    shell_complete=complete_target,
    help="A release, branch or commit; with --git any revision.",
)
@click.option(
    "--from",
    "base",
    metavar="BASE",
    shell_complete=complete_target,
    help="Target whose variants are carried. Default: the newest before.",
)
@click.option(
    "--git", "repository", type=FOLDER, help="A clone of Megatron-LM: for branches, commits, and who did what."
)
@own_patches_option
@click.option("--accept", is_flag=True, help="Write what asks for review too: drift, alarms, hunks left out.")
@click.option("--accept-resolutions", is_flag=True, help="Take remembered resolutions without a review.")
@click.option("--dry-run", is_flag=True, help="Do everything except the write.")
@click.option(
    "--edit-dir", type=FOLDER, help="Where to leave what you have to decide. Default: PATCHES/.rebase/TARGET."
)
@click.option("--continue", "go_on", is_flag=True, help="Go on from the edited files.")
@click.option("--skip", is_flag=True, help="Leave out the hunks that are still in conflict, and go on.")
@click.option("--abort", "drop", is_flag=True, help="Drop the unfinished rebase; nothing is changed.")
@click.option(
    "--accept-loss",
    "meant",
    multiple=True,
    metavar="HUNK",
    help="Lines of HUNK that had no conflict were taken out, and that is meant; with --continue.",
)
@click.option("--author", metavar="NAME <ADDRESS>", help="Who solved the conflicts. Default: as git knows you.")
@click.option("--reason", metavar="TEXT", help="Why it is right so; kept with the resolution.")
@format_option
def command(
    *,
    names: tuple[str, ...],
    onto: str | None,
    base: str | None,
    repository: Path | None,
    patches: Path | None,
    accept: bool,
    accept_resolutions: bool,
    dry_run: bool,
    edit_dir: Path | None,
    go_on: bool,
    skip: bool,
    drop: bool,
    meant: tuple[str, ...],
    author: str | None,
    reason: str | None,
    style: str,
) -> int:
    """Carry the patches of a series to another target, and make their variants for it.

    Every hunk gets a verdict. What asks for no review is written; else an edit directory is left, and nothing is
    written before --continue.
    """
    folder = patches or own_patches()
    around = Surroundings(
        today=datetime.now(tz=timezone.utc).strftime("%Y-%m-%d"),
        dry_run=dry_run,
        edit_dir=edit_dir,
        reporter=StderrReporter(verbose=style == "text"),
    )
    ways = {"--onto": onto is not None, "--continue": go_on, "--skip": skip, "--abort": drop}
    chosen = [name for name, given in ways.items() if given]
    if len(chosen) != 1:
        what = " and ".join(chosen) + " exclude each other" if chosen else "onto which target?"
        raise UsageError(what, hint="--onto TARGET begins a rebase; --continue, --skip and --abort go on with it")
    if onto is None and (names or base or repository or edit_dir):
        raise UsageError(f"{chosen[0]} goes on as the rebase began: it takes no patches, --from, --git or --edit-dir")
    if meant and not (go_on or skip):
        raise UsageError(f"--accept-loss is about edited files: {chosen[0]} has none", hint="give it with --continue")
    if onto is not None:
        result = rebase(
            folder,
            Request(
                onto=onto,
                base=base,
                patches=names,
                repository=repository,
                accept=accept,
                accept_resolutions=accept_resolutions,
            ),
            around,
        )
    elif drop:
        result = abort(folder)
    else:
        from patchkit.trees.git_identity import identity  # noqa: PLC0415 - git only where a person signs

        signed = Signed(author or identity(folder), reason, meant)
        result = resume(folder, around, signed=signed, skip=skip, accept=accept, accept_resolutions=accept_resolutions)
    return print_answer(result, _lines(result), style, result.problems)


def _lines(result: Rebased) -> Iterator[str]:
    named = result.commit is not None and not result.commit.startswith(result.target)
    commit = f" (commit {result.commit})" if named else ""
    yield f"{result.series}: onto {result.target}{commit}" if result.target else result.series
    for patch in result.patches:
        yield from _patch(patch)
    yield from (f"note: {note}" for note in result.notes)
    for path in (*result.written, *result.removed):
        verb = "would be written" if result.verdict == "would-write" else "written"
        yield f"  {path}: {'removed' if path in result.removed else verb}"
    yield click.style(result.verdict.replace("-", " "), fg=_COLOURS.get(result.verdict), bold=True)
    if result.edit_dir is not None and not result.ok:
        yield f"edit directory: {result.edit_dir} (README.md there says what to do)"
    elif result.verdict in ("review", "conflict"):
        yield "without --dry-run an edit directory would be left"


def _patch(patch: PatchRebase) -> Iterator[str]:
    parts = [click.style(patch.state, fg=_COLOURS.get(patch.state))]
    if patch.base:
        parts.append(f"from {patch.base}")
    if patch.variant:
        parts.append(f"variant {patch.variant}")
    if patch.provisional:
        parts.append("provisional: a patch below is undecided")
    if patch.reason:
        parts.append(patch.reason)
    yield f"  {patch.name}: {'; '.join(parts)}"
    # Of what is there already, only what somebody decided is told.
    hunks = [hunk for hunk in patch.hunks if patch.state != "already" or hunk.verdict == SKIPPED]
    width = max((len(hunk.id) for hunk in hunks), default=0)
    path = ""
    for hunk in hunks:
        if hunk.path != path:
            path = hunk.path
            yield f"    {path}"
        yield from _hunk(hunk, width)
    if patch.state == "already":
        return
    yield from (f"    {click.style('review', fg='yellow')} {line}" for line in patch.review)
    drifted = {drift.scope: drift_details(drift) for hunk in patch.hunks for drift in hunk.drift}
    for scope, details in drifted.items():
        if details:
            rest = " ... (the rest with --format json)" if len(details) > _DETAILS else ""
            yield f"    {scope}: {details[:_DETAILS]}{rest}"


def _hunk(hunk: HunkRebase, width: int) -> Iterator[str]:
    places = f"{_place(hunk.old)} -> {_place(hunk.new)}" if hunk.new else _place(hunk.old)
    where = [places] if hunk.old or hunk.new else []
    yield "      " + "  ".join([hunk.id.ljust(width), hunk.verdict.ljust(12), *where, hunk.reason])
    indent = " " * (width + 8)
    yield from (f"{indent}{click.style('review', fg='yellow')} {line}" for line in hunk.review)
    if hunk.drop_when:
        yield f"{indent}patch.yaml says when to drop it: {hunk.drop_when}"
    for commit in hunk.commits:
        pull = f" (pull request {commit.pull_request})" if commit.pull_request else ""
        yield f"{indent}upstream: {commit.commit} {commit.subject}{pull}"


def _place(place: PlaceReport | None) -> str:
    if place is None:
        return "nowhere"
    lines = str(place.first) if place.last <= place.first else f"{place.first}-{place.last}"
    return f"{place.scope}:{lines}"
