"""A page for each patch of the built-in series, from its patch.yaml and the lock."""

from __future__ import annotations

from collections.abc import Iterator

from patchkit.operations.coverage import applies, why_not_needed
from patchkit.operations.sources import Workspace, load_workspace
from patchkit.operations.supported import supported
from patchkit.store.series import SeriesPatch


def patch_pages() -> dict[str, str]:
    """Return the pages by their path in the site."""
    workspace = load_workspace()
    return {
        f"patches/{patch.name}.md": "\n".join(_page(workspace, patch)) + "\n"
        for patch in workspace.sources.series.patches
    }


def _page(workspace: Workspace, patch: SeriesPatch) -> Iterator[str]:
    document = patch.document
    yield f"# {patch.name}\n\n{_text(document.description)}\n"
    yield _text(document.why) + "\n"
    yield f"**Needed when.** {_text(document.needed_when)}\n\n**Drop when.** {_text(document.drop_when)}\n"
    yield f"**Origin.** {_text(document.origin)}\n"
    yield f"Forwarded: {document.forwarded}. Last update: {document.last_update}."
    yield f"Depends on: {', '.join(f'[{name}]({name}.md)' for name in patch.depends) or 'nothing'}.\n"
    yield "## Releases\n\n| target | date | variant | hunks | files |\n| --- | --- | --- | --- | --- |"
    for row in supported(workspace):
        target = workspace.named(row.target)
        locked = workspace.sources.lock.targets[row.target].patches[patch.name]
        if locked.variant is None:
            reason = why_not_needed(document.not_needed, target) or ""
            yield f"| `{target.title}` | {row.date} | not needed: {_cell(reason)} | | |"
            continue
        variant = patch.variant(locked.variant)
        hunks = sum(len(file.hunks) for file in variant.files)
        yield f"| `{target.title}` | {row.date} | `{locked.variant}` | {hunks} | {len(locked.files)} |"
    yield "\n## Hunks\n\n| hunk | group | where | what for | releases |\n| --- | --- | --- | --- | --- |"
    for hunk in document.hunks:
        where = f"`{hunk.file}`, `{hunk.scope}`"
        yield f"| `{hunk.id}` | {hunk.group} | {where} | {_cell(hunk.intent)} | {_releases(hunk.releases)} |"
    yield "\n## What upstream has\n" if document.upstream else ""
    for has in document.upstream:
        told = f" (#{has.pull_request})" if has.pull_request else ""
        groups = "; ".join(f"{group}: {_cell(text)}" for group, text in has.groups.items())
        yield f"- `{has.target}`{told}: {groups}"
    yield "\n## Checks\n\nThey hold on the planned text before anything is written, and `verify` asks again.\n"
    yield "| check | matches | what for | targets |\n| --- | --- | --- | --- |"
    for check in document.checks:
        count = sum(applies(check, workspace.named(name)) for name in workspace.sources.lock.targets)
        yield f"| `{check.id}` | {check.count} | {_cell(check.intent)} | {count} |"


def _text(text: str) -> str:
    return text.strip().replace("<", "&lt;").replace("*", "\\*").replace("__", "\\_\\_")


def _cell(text: str) -> str:
    return _text(text).replace("|", "\\|").replace("\n", " ")


def _releases(specifier: str) -> str:
    return f"`{specifier}`" if specifier else "all"
