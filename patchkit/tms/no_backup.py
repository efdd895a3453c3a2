"""Switching the flags of the no-backup patches on, by whatever way this Megatron takes them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import MutableMapping
from typing import Any

from patchkit.errors import ArgumentRuleError, CapabilityError
from patchkit.tms.arguments import GRAD, PARAM


def enable_no_backup(
    target: Any, *, ddp_class: type | None = None, grad: bool = True, param: bool = False
) -> dict[str, bool]:
    """Set the flags where this Megatron looks for them; return keywords for the constructor of DDP.

    ``target`` is a DistributedDataParallelConfig, or the keywords that DDP will be called with, which may hold one as
    ``ddp_config``. A field of the config goes first, and then nothing is returned; else a keyword that the constructor
    of ``ddp_class`` names (``**kwargs`` is no evidence), which is also put into ``target`` when that is a mapping.
    Raises CapabilityError when there is neither, or the config is frozen, ArgumentRuleError with nccl_ub and for a
    class instead of an object of it or the reverse, and then sets nothing.
    """
    wanted = [name for name, on in ((GRAD, grad), (PARAM, param)) if on]
    is_mapping = isinstance(target, MutableMapping)
    config = target.get("ddp_config") if is_mapping else target
    if isinstance(config, type):
        raise ArgumentRuleError((f"a config is expected, not the class {config.__name__}: all would have the flags",))
    if ddp_class is not None and not isinstance(ddp_class, type):
        raise ArgumentRuleError((f"ddp_class is a class, not an object of {type(ddp_class).__name__}",))
    if wanted and getattr(config, "nccl_ub", False):
        raise ArgumentRuleError(
            (f"{' and '.join(wanted)} cannot work: nccl_ub allocates the buffers in a pool of NCCL",)
        )
    fields = [name for name in wanted if _has_field(config, name)]
    keywords = [name for name in wanted if name not in fields]
    missing = [name for name in keywords if not _takes(ddp_class, name)]
    if missing:
        where = "the config" if ddp_class is None else f"the config and the constructor of {ddp_class.__name__}"
        raise CapabilityError(
            f"this Megatron has no {' or '.join(missing)}: looked at {where}",
            hint="apply the no-backup patches: patchkit apply",
        )
    off = [name for name in fields if getattr(config, name) is not True]
    if off and _is_frozen(config):
        raise CapabilityError(
            f"{type(config).__name__} is frozen: {' and '.join(off)} cannot be set any more",
            hint="give them to its constructor",
        )
    for name in off:
        setattr(config, name, True)
    given = dict.fromkeys(keywords, True)
    if is_mapping:
        target.update(given)
    return given


def _has_field(config: object, name: str) -> bool:
    if dataclasses.is_dataclass(config):
        return name in {each.name for each in dataclasses.fields(config)}
    return config is not None and hasattr(config, name)


def _is_frozen(config: Any) -> bool:
    parameters = getattr(type(config), "__dataclass_params__", None)
    return bool(getattr(parameters, "frozen", False))


def _takes(ddp_class: type | None, name: str) -> bool:
    return ddp_class is not None and name in inspect.signature(ddp_class).parameters
