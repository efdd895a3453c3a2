from __future__ import annotations

from .carried_world import beyond
from .fixtures import built_in, hermetic, home, made_up_cache, release_wheel, series

__all__ = ["beyond", "built_in", "hermetic", "home", "made_up_cache", "release_wheel", "series"]
