"""Work that the garbage collector stays out of.

A tree of ``ast`` or a row of logical lines is thousands of objects without a cycle among them, all of which live until
the work is done. While they are made, the collector goes through them time and again and finds nothing: a fifth of what
carrying a file takes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Stop the collector for the block; it goes on afterwards if it was on before, whatever the block raises.

    Who asks for it must not make many cycles: they stay in memory until the end of the block. The setting is the whole
    process's. Of several threads the first one to end lets the collector go on, which costs the others time only.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
