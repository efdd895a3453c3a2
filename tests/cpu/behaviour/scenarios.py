"""What the worker can be asked to do in a Megatron tree; each answer is data for JSON.

Three kinds of answers: what was trained (digests), what was allocated where (regions), and what was
refused (the error, and that nothing was allocated before it).
"""

import contextlib
import dataclasses
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any
from unittest import mock

from allocations import Recorder, identity

from patchkit.tms.cycle.worker import training

GRADS = "disable_grad_buffers_cpu_backup"
PARAMS = "disable_param_buffers_cpu_backup"
BUFFER_MODULE = "megatron.core.distributed.param_and_grad_buffer"
CONTEXT_MODULE = "megatron.core.inference.contexts.dynamic_context"
TRAINING_MODULE = "megatron.training.training"
SAVER = "torch_memory_saver"

Answer = dict[str, Any]
Options = Mapping[str, Any]
Situation = Callable[[], contextlib.AbstractContextManager[None]]
SHARDED: Options = {"use_distributed_optimizer": True, "grad_reduce_in_fp32": True}
NONE: Options = {}


def _nothing() -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext()


def saver() -> Any:
    """The recording stand-in; one object for the whole process."""
    return importlib.import_module(SAVER).torch_memory_saver


@contextlib.contextmanager
def without_saver() -> Iterator[None]:
    """As where torch_memory_saver is not installed, also for a module that looked at its import."""
    module = importlib.import_module(BUFFER_MODULE)
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(sys.modules, {SAVER: None}))
        if hasattr(module, "HAVE_TORCH_MEMORY_SAVER"):
            stack.enter_context(mock.patch.object(module, "HAVE_TORCH_MEMORY_SAVER", new=False))
        yield


@contextlib.contextmanager
def mxfp8_parameters() -> Iterator[None]:
    """Parameters pass for MXFP8 where the buffer decides what it allocates."""
    module = importlib.import_module(BUFFER_MODULE)
    with mock.patch.object(module, "is_mxfp8tensor", new=_passes):
        yield


def _passes(_tensor: Any) -> bool:
    return True


# What was trained.


def trained(name: str, flags: Options = NONE) -> Answer:
    """Digests of every step, and every allocation of it, of one variant of training."""
    variant = training.VARIANTS[name]
    with Recorder(saver()) as recorder:
        ddp = training.make_ddp({**variant.config, **flags}, variant.keywords)
        steps = training.train(ddp, reload=variant.reload)
    return {"steps": steps, "allocations": recorder.sizes(), "regions": recorder.regions({})}


def on_and_off(name: str) -> Answer:
    """The digests of one variant with both flags and without."""
    flags = {"off": NONE, "on": {GRADS: True, PARAMS: True}}
    return {state: trained(name, chosen)["steps"] for state, chosen in flags.items()}


def interface() -> Answer:
    """The fields of the configuration and the parameters of both constructors, with their defaults."""
    distributed = importlib.import_module("megatron.core.distributed")
    buffer = importlib.import_module(BUFFER_MODULE)._ParamAndGradBuffer
    return {
        "config": [
            [item.name, repr(item.default)] for item in dataclasses.fields(distributed.DistributedDataParallelConfig)
        ],
        "ddp": _parameters(distributed.DistributedDataParallel),
        "buffer": _parameters(buffer),
    }


def _parameters(function: Any) -> list[list[str]]:
    return [[name, repr(parameter.default)] for name, parameter in inspect.signature(function).parameters.items()]


def imports() -> Answer:
    """The modules of Megatron and of torch_memory_saver after training with the flags off.

    torch_memory_saver is unloaded first, because the context of inference imports it by itself.
    """
    for name in [name for name in sys.modules if name.partition(".")[0] == SAVER]:
        del sys.modules[name]
    importlib.reload(importlib.import_module(BUFFER_MODULE))
    training.train(training.make_ddp(SHARDED, NONE), reload=False)
    return {"modules": sorted(name for name in sys.modules if name.startswith(("megatron", SAVER)))}


# What was allocated where.


def _names(ddp_buffers: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[int, str]:
    """Storage to the name it has in the test."""
    names = {}
    for label, buffer in ddp_buffers.items():
        for attribute in ("grad_data", "param_data", "shared_buffer"):
            tensor = getattr(buffer, attribute, None)
            if tensor is not None:
                names[identity(tensor.untyped_storage())] = f"{label}.{attribute}"
    for name, parameter in parameters.items():
        main_grad = getattr(parameter, "main_grad", None)
        if main_grad is not None:
            names.setdefault(identity(main_grad.untyped_storage()), f"{name}.main_grad")
    return names


def built(config: Options = NONE, keywords: Options = NONE, *, mxfp8: bool = False) -> Answer:
    """Regions of the construction of DDP, and the buffers allocated outside of them."""
    with mxfp8_parameters() if mxfp8 else _nothing(), Recorder(saver()) as recorder:
        ddp = training.make_ddp(config, keywords)
    names = _names(training.buffers(ddp), dict(ddp.module.named_parameters()))
    return {"regions": recorder.regions(names), "outside": recorder.outside(names)}


def built_buffer(config: Options = NONE, keywords: Options = NONE) -> Answer:
    """The same for a single buffer."""
    build = training.make_buffer(config, keywords)
    with Recorder(saver()) as recorder:
        buffer = build()
    names = _names({"buffer": buffer}, {})
    return {"regions": recorder.regions(names), "outside": recorder.outside(names)}


def reloaded(config: Options, *, mxfp8: bool = False, parts: tuple[str, ...] = ("params", "grads")) -> Answer:
    """Regions of a reload of buffers that were built with the flags, and that it kept the values."""
    with mxfp8_parameters() if mxfp8 else _nothing():
        ddp = training.make_ddp(config, NONE)
    names = _names(training.buffers(ddp), {})
    moves = {"move_params": "params" in parts, "move_grads": "grads" in parts}
    before = {name: training.digest(parameter) for name, parameter in ddp.module.named_parameters()}
    with Recorder(saver()) as recorder:
        for buffer in training.buffers(ddp).values():
            buffer.offload_to_cpu(**moves)
            buffer.reload_from_cpu(**moves)
    after = {name: training.digest(parameter) for name, parameter in ddp.module.named_parameters()}
    # Simulated MXFP8 parameters live in the buffer that is freed; real ones have their own memory.
    kept = {} if mxfp8 else {"parameters kept": before == after}
    return {"regions": recorder.regions(names), "outside": recorder.outside(names), **kept}


def restored_gradients(config: Options) -> Answer:
    """Regions of DDP's own pair of methods for the gradients."""
    ddp = training.make_ddp(config, NONE)
    names = _names(training.buffers(ddp), {})
    with Recorder(saver()) as recorder:
        ddp.offload_grad_buffers()
        ddp.restore_grad_buffers()
    return {"regions": recorder.regions(names), "outside": recorder.outside(names)}


# What was refused.


def refused(build: Callable[[], Any], situation: contextlib.AbstractContextManager[None]) -> Answer:
    """The error of ``build`` in that situation, and what had been allocated when it came."""
    error: Answer = {"raised": None, "message": ""}
    with Recorder(saver()) as recorder, situation:
        try:
            build()
        except Exception as reason:  # the type is the answer
            error = {"raised": type(reason).__name__, "message": str(reason)}
    return {**error, "allocated": recorder.sizes(), "regions": recorder.regions({})}


def refused_config(**config: Any) -> Answer:
    """The answer of the configuration alone."""
    distributed = importlib.import_module("megatron.core.distributed")
    return refused(lambda: distributed.DistributedDataParallelConfig(**config), _nothing())


def refused_buffer(
    config: Options = NONE,
    keywords: Options = NONE,
    *,
    nccl_ub: bool = False,
    situation: Situation = _nothing,
) -> Answer:
    """The answer of the constructor of a buffer whose arguments are ready."""
    return refused(training.make_buffer(config, keywords, nccl_ub=nccl_ub), situation())


def refused_ddp(config: Options, keywords: Options, situation: Situation = _nothing) -> Answer:
    """The answer of DDP; the allocations of the model itself are not counted."""
    distributed = importlib.import_module("megatron.core.distributed")
    ddp_config = distributed.DistributedDataParallelConfig(**config)
    transformer_config, model = training.make_model()
    return refused(
        lambda: distributed.DistributedDataParallel(transformer_config, ddp_config, model, **keywords),
        situation(),
    )


# The hook mode of torch_memory_saver.

HOOK_CASES: Mapping[str, Callable[[], contextlib.AbstractContextManager[Any]]] = {
    "plain": lambda: _preload(""),
    "other preload": lambda: _preload("/usr/lib/libjemalloc.so.2"),
    "preload": lambda: _preload("/usr/lib/torch_memory_saver_hook_mode_preload.abi3.so"),
    "preload among others": lambda: _preload(
        "/usr/lib/libjemalloc.so.2:/usr/lib/torch_memory_saver_hook_mode_preload_cu12.abi3.so"
    ),
    "initialised": lambda: mock.patch.object(saver(), "_impl", object()),
    "missing": lambda: mock.patch.dict(sys.modules, {SAVER: None}),
}


def _preload(value: str) -> contextlib.AbstractContextManager[Any]:
    """The environment of such a process; nothing is preloaded here."""
    return mock.patch.dict(os.environ, {"LD_PRELOAD": value})


def hook_modes(name: str) -> Answer:
    """Per case, the modes that importing the module set, and whether it then believes to have the library."""
    module = importlib.import_module(name)

    modes = saver().hook_modes
    answers = {}
    for case, situation in HOOK_CASES.items():
        modes.clear()
        with situation():
            importlib.reload(module)
        answers[case] = {"set": list(modes), "have": module.HAVE_TORCH_MEMORY_SAVER}
    return answers


def _both(value: bool) -> dict[str, bool]:
    return {GRADS: value, PARAMS: value}


_MXFP8: Options = {
    **SHARDED,
    "fp8_param_gather": True,
    "reuse_grad_buf_for_mxfp8_param_ag": True,
    # One of the pinned commits demands it.
    "overlap_param_gather": True,
    "overlap_grad_reduce": True,
}
_EXTRA: Options = {
    "use_distributed_optimizer": True,
    "param_name_patterns_for_fp32_local_accumulation": ("all",),
}

# Overlapping changes only when the communication starts; these cover every allocation.
FLAGGED = ("all_reduce", "sharded", "extra_main_grads", "sharded_reloaded")

SCENARIOS: dict[str, Callable[[], Answer]] = {
    "interface": interface,
    **{f"trained {name}": partial(trained, name) for name in training.VARIANTS},
    **{f"{name}, on and off": partial(on_and_off, name) for name in FLAGGED},
    # Where the flag comes from.
    "no flag": partial(built, SHARDED),
    "no flag, buffer": partial(built_buffer, SHARDED),
    "flags false": partial(built, {**SHARDED, **_both(False)}, _both(False)),
    "grads by config": partial(built, {**SHARDED, GRADS: True}),
    "grads by ddp keyword": partial(built, SHARDED, {GRADS: True}),
    "grads by buffer config": partial(built_buffer, {**SHARDED, GRADS: True}),
    "grads by buffer keyword": partial(built_buffer, SHARDED, {GRADS: True}),
    "params by config": partial(built, {**SHARDED, PARAMS: True}),
    "params by ddp keyword": partial(built, SHARDED, {PARAMS: True}),
    "params by buffer config": partial(built_buffer, {**SHARDED, PARAMS: True}),
    "params by buffer keyword": partial(built_buffer, SHARDED, {PARAMS: True}),
    "both by config": partial(built, {**SHARDED, **_both(True)}),
    "both by ddp keyword": partial(built, SHARDED, _both(True)),
    "both by buffer keyword": partial(built_buffer, SHARDED, _both(True)),
    "grads by config, params by ddp keyword": partial(built, {**SHARDED, GRADS: True}, {PARAMS: True}),
    "config true, ddp keyword false": partial(built, {**SHARDED, **_both(True)}, _both(False)),
    # Without the distributed optimizer.
    "grads, unsharded": partial(built, {GRADS: True}),
    "params, unsharded": partial(built, {PARAMS: True}),
    "both, unsharded": partial(built, _both(True)),
    # FP32 gradients beside the buffer.
    "extra main grads, no flag": partial(built, _EXTRA),
    "extra main grads, grads": partial(built, {**_EXTRA, GRADS: True}),
    "extra main grads, params": partial(built, {**_EXTRA, PARAMS: True}),
    "extra main grads, both": partial(built, {**_EXTRA, **_both(True)}),
    # One allocation for parameters and gradients.
    "mxfp8, no flag": partial(built, _MXFP8, mxfp8=True),
    "mxfp8, both": partial(built, {**_MXFP8, **_both(True)}, mxfp8=True),
    "mxfp8, both, bf16 gradients": partial(built, {**_MXFP8, "grad_reduce_in_fp32": False, **_both(True)}, mxfp8=True),
    "mxfp8, grads, unsharded": partial(built, {GRADS: True}, mxfp8=True),
    "mxfp8, grads only": partial(refused_buffer, {**_MXFP8, GRADS: True}, situation=mxfp8_parameters),
    "mxfp8, params only": partial(refused_buffer, {**_MXFP8, PARAMS: True}, situation=mxfp8_parameters),
    "mxfp8, grads only by keyword": partial(refused_buffer, _MXFP8, {GRADS: True}, situation=mxfp8_parameters),
    "mxfp8, params only by keyword": partial(refused_buffer, _MXFP8, {PARAMS: True}, situation=mxfp8_parameters),
    # Megatron's own offload and reload.
    "reload, no flag": partial(reloaded, SHARDED),
    "reload, grads": partial(reloaded, {**SHARDED, GRADS: True}),
    "reload, params": partial(reloaded, {**SHARDED, PARAMS: True}),
    "reload, both": partial(reloaded, {**SHARDED, **_both(True)}),
    "reload, mxfp8": partial(reloaded, {**_MXFP8, **_both(True)}, mxfp8=True),
    "reload of parameters, mxfp8": partial(reloaded, {**_MXFP8, **_both(True)}, mxfp8=True, parts=("params",)),
    "restore of gradients, no flag": partial(restored_gradients, SHARDED),
    "restore of gradients, grads": partial(restored_gradients, {**SHARDED, GRADS: True}),
    # What excludes the flags.
    **{
        f"{flag} with {field}": partial(refused_config, **{flag: True, field: True})
        for flag in (GRADS, PARAMS)
        for field in ("nccl_ub", "use_megatron_fsdp", "use_custom_fsdp")
    },
    **{
        f"{field} alone": partial(refused_config, **{field: True})
        for field in ("nccl_ub", "use_megatron_fsdp", "use_custom_fsdp")
    },
    **{
        f"{flag} by {way} with nccl_ub as argument": partial(refused_buffer, *options, nccl_ub=True)
        for flag in (GRADS, PARAMS)
        for way, options in {
            "config": ({**SHARDED, flag: True}, NONE),
            "keyword": (SHARDED, {flag: True}),
        }.items()
    },
    **{
        f"{flag} by ddp keyword with nccl_ub": partial(refused_ddp, {**SHARDED, "nccl_ub": True}, {flag: True})
        for flag in (GRADS, PARAMS)
    },
    # torch_memory_saver is not installed.
    **{
        f"{flag} by {way}, saver missing": partial(refused_buffer, *options, situation=without_saver)
        for flag in (GRADS, PARAMS)
        for way, options in {
            "config": ({**SHARDED, flag: True}, NONE),
            "keyword": (SHARDED, {flag: True}),
        }.items()
    },
    **{
        f"{flag} by ddp keyword, saver missing": partial(refused_ddp, SHARDED, {flag: True}, situation=without_saver)
        for flag in (GRADS, PARAMS)
    },
    "no flag, saver missing": partial(refused_ddp, SHARDED, NONE, situation=without_saver),
    "params, unsharded, saver missing": partial(refused_ddp, {PARAMS: True}, NONE, situation=without_saver),
    # These reload modules, so they come last.
    "imports": imports,
    "hook mode of the inference context": partial(hook_modes, CONTEXT_MODULE),
    "hook mode of training": partial(hook_modes, TRAINING_MODULE),
}
