"""Every rank's facts, gathered with torch.distributed; the only importer of torch."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import timedelta

import msgspec

from patchkit.core.doctor import RankFacts
from patchkit.errors import UsageError


def this_rank() -> int:
    """Return the rank that torchrun gave to this process. Raises UsageError without one."""
    missing = [name for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") if not os.environ.get(name)]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise UsageError(
            f"--fleet compares the ranks of a job, and {', '.join(missing)} {verb} not set",
            hint="start it with torchrun: torchrun --nproc-per-node 8 -m patchkit doctor --fleet",
        )
    wrong = [name for name in ("RANK", "WORLD_SIZE", "MASTER_PORT") if not os.environ[name].isdecimal()]
    if wrong:
        raise UsageError(f"{wrong[0]} is {os.environ[wrong[0]]!r}, and has to be a number")
    return int(os.environ["RANK"])


def gather(
    own: RankFacts, tell: Callable[[Sequence[RankFacts]], None] | None = None, *, seconds: float = 120
) -> list[RankFacts]:
    """Return what every rank has, in the order of ranks; each rank gets all of it.

    Over gloo, so that no GPU is needed and none is touched. Rank 0 calls ``tell`` with it, and the others wait:
    torchrun ends all ranks when the first one exits with 1. Raises UsageError without torch, and when a rank does not
    come within ``seconds``.
    """
    try:
        import torch.distributed as dist  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415
    except ImportError as error:
        raise UsageError("--fleet needs torch, and this Python has none") from error
    texts: list[str] = [""] * int(os.environ["WORLD_SIZE"])
    try:
        dist.init_process_group("gloo", timeout=timedelta(seconds=seconds))
        try:
            dist.all_gather_object(texts, msgspec.json.encode(own).decode())
            found = [msgspec.json.decode(text, type=RankFacts) for text in texts]
            if own.rank == 0 and tell is not None:
                tell(found)
            dist.barrier()
        finally:
            dist.destroy_process_group()
    except RuntimeError as error:
        raise UsageError(f"the ranks did not meet: {str(error).splitlines()[0]}") from error
    return found
