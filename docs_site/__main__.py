"""python -m docs_site DIR."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from docs_site.contents import navigation
from docs_site.pages import all_pages

ROOT = Path(__file__).resolve().parents[1]
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""What zensical colours its warnings with, wherever they go."""


def build(destination: Path) -> str:
    """Build the site into the new folder ``destination``; return what zensical said.

    Raises FileExistsError, and RuntimeError when zensical finds anything to warn of, such as a link that leads nowhere.
    """
    if destination.exists():
        raise FileExistsError(f"{destination} exists")
    with tempfile.TemporaryDirectory() as folder:
        stage = Path(folder)
        shutil.copytree(ROOT / "docs", stage / "docs", ignore=shutil.ignore_patterns("*.md"))
        pages = all_pages(ROOT)
        for name, text in pages.items():
            (stage / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
            (stage / "docs" / name).write_text(text, encoding="utf-8")
        (stage / "mkdocs.yml").write_text(navigation(pages), encoding="utf-8")
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        done = subprocess.run(command, cwd=stage, capture_output=True, text=True, check=False)
        said = _COLOUR.sub("", done.stdout + done.stderr)
        if done.returncode != 0:
            raise RuntimeError(said)
        shutil.copytree(stage / "site", destination)
        return said


if __name__ == "__main__":
    build(Path(sys.argv[1]))
