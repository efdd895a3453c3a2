"""Base images that decide what is installed, where the file itself pins nothing of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from patchkit.core.pins.findings import Finding
from patchkit.core.pins.judging import finding
from patchkit.core.pins.model import NAMES, UNKNOWN, Package
from patchkit.core.pins.reading import Reading

_BOTH: tuple[Package, ...] = ("megatron", "tms")
_BRINGS: Mapping[str, tuple[Package, ...]] = {
    "slime": _BOTH,
    "miles": _BOTH,
    "verl": _BOTH,
    "sglang": ("tms",),
    "nemo": ("megatron",),
    "megatron": ("megatron",),
}
"""What images of these frameworks and engines have installed, by a word of their names; a tag says which."""


def image_findings(reading: Reading) -> Iterator[Finding]:
    """Yield the base images whose Megatron-LM or torch_memory_saver no line of the file replaces.

    Images are not fetched, so that what they have is said to be unknown.
    """
    script = reading.script
    for stage, at in enumerate(script.image_places):
        if script.parents[stage] is not None:
            continue
        image = script.images[stage]
        pinned = {pin.package for pin in reading.pins if stage in script.lineage(pin.stage)}
        missing = [package for package in _brought(reading, stage, image) if package not in pinned]
        if not missing:
            continue
        what = " and ".join(NAMES[package] for package in missing)
        yield finding(
            reading,
            at,
            "base-image",
            "look",
            message=f"which {what} {image.replace(UNKNOWN, '?')} has was not looked into",
            why="nothing in this file installs another, so the tag of the image decides",
            advice="ask `patchkit doctor` in the image, or install pinned ones here",
        )


def _brought(reading: Reading, stage: int, image: str) -> tuple[Package, ...]:
    """Return what an image can have installed: by its name, or, where nothing is installed at all, anything."""
    # Neither the registry, told from a folder by its dot or port, nor the tag is part of what it is called.
    words = re.split(r"[^a-z0-9]+", re.sub(r"^[^/]*[.:][^/]*/|@.*|:[^/]*$", "", image.lower()))
    by_name = {package for word in words for package in _BRINGS.get(word, ())}
    is_last = stage == reading.script.lineage(len(reading.script.parents) - 1)[-1]
    if is_last and not reading.pins and not reading.includes and image.lower() != "scratch":
        return _BOTH
    return tuple(package for package in _BOTH if package in by_name)
