"""What the site is called, how it looks, and in which order its pages stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Start": ("index.md",),
    "How to": (
        "how-to/install.md",
        "how-to/framework.md",
        "how-to/ci.md",
        "how-to/edit.md",
        "drop-in.md",
        "live.md",
    ),
    "Patches": ("patches/",),
    "A series": ("rebase.md", "import.md", "capture.md", "check-upstream.md", "history.md", "carry.md"),
    "torch_memory_saver": ("tms.md", "adopting.md", "guard.md", "estimate.md", "doctor.md", "pins.md", "evidence.md"),
    "Reference": ("reference/", "troubleshooting.md", "glossary.md"),
    "Project": ("comparison.md", "reliability.md", "security.md", "architecture.md", "contributing.md", "changelog.md"),
}
"""Pages by section; ``folder/`` stands for every page in it."""
_EXTENSIONS = ("tables", "admonition", "pymdownx.highlight", "pymdownx.superfences")
OTHERS = "More"
"""The section of pages that are in no other."""


def sections(pages: Iterable[str]) -> dict[str, list[str]]:
    """Return the pages of each section, in order; raises KeyError when a page that is named is not there."""
    left = dict.fromkeys(sorted(pages))
    found: dict[str, list[str]] = {}
    for title, names in SECTIONS.items():
        found[title] = []
        for name in names:
            chosen = [page for page in left if page.startswith(name)] if name.endswith("/") else [name]
            for page in chosen:
                del left[page]
            found[title] += chosen
    if left:
        found[OTHERS] = list(left)
    return found


def navigation(pages: Mapping[str, str]) -> str:
    """Return the configuration of zensical, which reads that of MkDocs, for ``pages`` (path to text)."""
    nav: list[Any] = [{title: chosen} for title, chosen in sections(pages).items()]
    return yaml.safe_dump(
        {
            "site_name": "patchkit",
            "site_description": "Carry, apply and prove patches against NVIDIA Megatron-LM",
            "docs_dir": "docs",
            "site_dir": "site",
            # No font, script or picture of another server.
            "theme": {"name": "material", "font": False, "features": ["navigation.sections", "content.code.copy"]},
            "plugins": ["search"],
            "markdown_extensions": [*_EXTENSIONS, {"toc": {"permalink": True}}],
            "nav": nav,
        },
        sort_keys=False,
    )
