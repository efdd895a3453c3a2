"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc

import click

from patchkit.cli.live import command as live
from patchkit.cli.main import patchkit


def command_pages() -> dict[str, str]:
    """Return a page for each command, the commands of a group on the group's."""
    context = click.Context(patchkit, info_name="patchkit")
    pages = {"reference/live.md": _page(live, click.Context(live, info_name="python -m patchkit.live"))}
    for name in patchkit.list_commands(context):
        command = patchkit.get_command(context, name)
        assert command is not None  # noqa: S101 - it is listed
        pages[f"reference/{name}.md"] = _page(command, click.Context(command, parent=context, info_name=name))
    return pages


def _page(command: click.Command, context: click.Context) -> str:
    return "\n".join(_section(command, context, 1)) + "\n"


def _section(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    # click does not wrap its own usage line when it has room for it.
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    yield f"{'#' * level} {context.command_path}\n"
    yield f"```console\n$ {usage}\n```\n"
    yield _escaped(cleandoc(command.help or "")) + "\n"
    options = [param for param in command.get_params(context) if isinstance(param, click.Option) and not param.hidden]
    yield "| option | |\n| --- | --- |"
    for option in options:
        record = option.get_help_record(context)
        assert record is not None  # noqa: S101 - it is not hidden
        names, told = record
        # A bar in code is none of the table's (Python-Markdown).
        yield f"| `{names}` | {_cell(told)} |"
    yield ""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None  # noqa: S101 - it is listed
            yield from _section(inner, click.Context(inner, parent=context, info_name=name), level + 1)


def _cell(text: str) -> str:
    return _escaped(text).replace("|", "\\|").replace("\n", " ")


def _escaped(text: str) -> str:
    """Return text as Markdown that shows it: words like <module> are no tags, and a star is one."""
    parts = text.split("`")
    plain = (part.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_") for part in parts[::2])
    code = [f"`{part}`" for part in parts[1::2]]
    return "".join(a + b for a, b in zip(plain, [*code, ""], strict=True)) if len(parts) % 2 else text
