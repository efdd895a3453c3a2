from __future__ import annotations

from .fixtures import built_in, hermetic, home, made_up_cache, release_wheel, series

__all__ = ["built_in", "hermetic", "home", "made_up_cache", "release_wheel", "series"]
