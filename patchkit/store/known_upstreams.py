"""Upstreams that are known by name."""

from __future__ import annotations

from pathlib import Path

from patchkit.core.upstream import MEGATRON, Upstream
from patchkit.store.documents import load_document

_FILE = Path(__file__).with_name("known_upstreams.yaml")


def known_upstreams() -> tuple[Upstream, ...]:
    """Return them without targets, Megatron-LM first."""
    return (MEGATRON, *load_document(dict[str, Upstream], _FILE).values())


def find_upstream(name: str) -> Upstream | None:
    """Return the one called ``name``, or None; capitals, hyphens and underscores make no difference."""
    return next(
        (each for each in known_upstreams() if _bare(name) in (_bare(each.name), _bare(each.distribution))), None
    )


def _bare(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
