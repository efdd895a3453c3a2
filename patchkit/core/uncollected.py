"""Work that the garbage collector stays out of.

A tree of ``ast`` is thousands of objects without a cycle among them, all of which live until the work is done. While
they are made, the collector goes through them time and again and finds nothing: a fifth of what carrying a file takes.
It goes through what is left of them behind the work as well, so the trees are let go before it may.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from patchkit.core.remembered import forget


@contextmanager
def uncollected() -> Iterator[None]:
    """Stop the collector for the block; it goes on afterwards if it was on before, whatever the block raises.

    Before it goes on, what need not last is forgotten.

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
        forget()
        gc.enable()
