from __future__ import annotations

from cli.conftest import patchkit
from operations.fixtures import built_in, hermetic, home, made_up_cache, release_wheel, series

__all__ = ["built_in", "hermetic", "home", "made_up_cache", "patchkit", "release_wheel", "series"]
