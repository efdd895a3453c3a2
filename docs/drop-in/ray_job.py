"""Actors that patch Megatron-LM while they import it. In the driver, which imports no Megatron-LM itself, too."""

import patchkit.live  # first: what imports Megatron-LM before it is refused

import ray

MEGATRON = "/root/Megatron-LM"

ray.init(runtime_env={"env_vars": patchkit.live.environment({"PYTHONPATH": MEGATRON})})


@ray.remote
class Trainer:
    """Holds a model."""

    def __init__(self) -> None:
        import megatron.core.distributed  # noqa: F401

        status = patchkit.live.status()
        if not status.ok:
            raise RuntimeError(status.problems)
