"""A small series on disk."""

from __future__ import annotations

from pathlib import Path

SERIES = """\
schema: 1
package: m
distribution: m-core
groups:
  plumbing: How the flag travels.
patches:
  - name: one
  - name: two
    depends: [one]
  - name: three
  - name: four
    depends: [two]
"""

PATCH = """\
schema: 1
name: {name}
description: d
origin: o
author: a
forwarded: "no"
applied-upstream: ""
last-update: 2026-11-29
why: w
needed-when: n
drop-when: d
hunks:
  - id: hunk
    group: plumbing
    file: m/{name}.py
    scope: <module>
    intent: i
variants:
  - file: v1.patch
    releases: ">=1"
  - file: v2.patch
    targets: [main]
"""

VARIANT = """\
--- a/m/{name}.py
+++ b/m/{name}.py
@@ -1 +1 @@ hunk
-old
+new
"""


def lay_series(folder: Path) -> Path:
    """Write the series, with two variants a patch."""
    folder.mkdir(parents=True)
    (folder / "series.yaml").write_text(SERIES)
    for name in ("one", "two", "three", "four"):
        (folder / name / "variants").mkdir(parents=True)
        (folder / name / "patch.yaml").write_text(PATCH.format(name=name))
        for variant in ("v1", "v2"):
            (folder / name / "variants" / f"{variant}.patch").write_text(VARIANT.format(name=name))
    return folder
