"""Every page of the site as Markdown, by its path in the site."""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

from docs_site.commands import command_pages
from docs_site.formats import format_page
from docs_site.series import patch_pages

_OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""Pages outside of docs/, by their path in the repository."""
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
_FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)


def all_pages(root: Path) -> dict[str, str]:
    """Return the written pages of the repository in ``root``, and those that are made."""
    written = {path.relative_to(root).as_posix(): path for path in sorted((root / "docs").rglob("*.md"))}
    written |= {name: root / name for name in _OUTSIDE if name != "README.md"}
    # A README in a folder would be the page of the folder, which may be another's.
    places = {name: name.removeprefix("docs/").replace("/README.md", "/records.md") for name in written} | _OUTSIDE
    pages = {places[name]: relinked(path.read_text(encoding="utf-8"), name, places) for name, path in written.items()}
    made = {**command_pages(), "reference/files.md": format_page(), **patch_pages()}
    return {**pages, **made}


def relinked(text: str, page: str, places: dict[str, str]) -> str:
    """Return a page of the repository with its links to other pages as they are in the site.

    ``page`` and the keys of ``places`` are paths in the repository, the values paths in the site.
    """

    def link(match: re.Match[str]) -> str:
        target = match[2]
        name = normpath(join(dirname(page), target))
        if name not in places:
            return match[0]
        return match[1] + relpath(places[name], dirname(places[page]) or ".") + match[3]

    parts = _FENCE.split(text)
    return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in parts)
