"""What the report with everything looks like in each form, kept in ``golden/``.

``python -m cli.rendering.golden`` in tests/cpu writes the files anew; read the difference before you commit it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"

NAMES: Mapping[str, str] = {
    "text": "text.txt",
    "markdown": "markdown.md",
    "junit": "junit.xml",
    "sarif": "sarif.json",
    "github": "github.txt",
}
"""Form to file; JSON is held against the report itself."""


def golden(style: str) -> str:
    """What a form has to give."""
    return (FOLDER / NAMES[style]).read_bytes().decode()


if __name__ == "__main__":
    from patchkit.cli.rendering.renderers import render

    from .reports import everything

    for form, name in NAMES.items():
        (FOLDER / name).write_bytes(render(everything(), form).encode())
