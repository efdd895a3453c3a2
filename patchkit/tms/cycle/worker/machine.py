"""A machine on which Megatron trains without CUDA: what is missing is replaced before its import.

Every replacement is either a no-op on a CPU (streams, pinning, compilation) or sends to the CPU
what Megatron wants on the current device. Nothing of Megatron itself is touched, except one fallback
of 0.12 that refuses to quantize an empty list.
"""

import importlib
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

STAND_INS = Path(__file__).parent / "stand_ins"
"""Packages that Megatron imports, and what runs here does not need."""

# Optional accelerators: with them absent, every machine takes the same plain PyTorch path.
ABSENT = ("transformer_engine", "transformer_engine_torch", "apex", "amp_C", "flash_attn", "flashinfer")


def put_packages(tree: Path, *folders: Path, stand_ins: bool = True) -> None:
    """Take ``megatron`` from ``tree`` and nothing else from there, and other packages from ``folders`` first.

    A tree may be a site-packages folder with a torch of its own. ``stand_ins`` is for machines without a GPU.
    """
    sys.path[:0] = [str(folder) for folder in (*folders, *((STAND_INS,) if stand_ins else ()))]
    # Megatron is a namespace package, which other folders on the path could add to.
    put_package("megatron", tree / "megatron")
    for name in ABSENT:
        sys.modules[name] = None  # type: ignore[assignment]
    if not hasattr(typing, "override"):
        # Some releases take it from Python 3.12 on; nothing else that runs here needs that version.
        vars(typing)["override"] = lambda function: function


def put_package(name: str, folder: Path) -> None:
    """Take a package from ``folder``, and nothing from beside it."""
    package = ModuleType(name)
    package.__path__ = [str(folder)]
    sys.modules[name] = package


def pretend_cuda() -> None:
    """Replace what Megatron takes from torch on a machine with a GPU."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    skip_compilation()
    nothing: Callable[..., None] = lambda *_args, **_options: None  # noqa: E731
    stream = SimpleNamespace(wait_stream=nothing, wait_event=nothing, synchronize=nothing)
    torch.cuda.current_device = lambda: torch.device("cpu")
    torch.cuda.current_stream = lambda *_args: stream
    torch.cuda.synchronize = nothing
    torch.cuda.empty_cache = nothing
    torch.Tensor.cuda = lambda tensor, *_args, **_options: tensor
    # A copy, because offloading frees the original; `.cpu()` of a CPU tensor is that tensor.
    torch.Tensor.pin_memory = lambda tensor, *_args: tensor.clone()
    plain_type = torch.Tensor.type

    def type_name(tensor: Any, *args: Any, **options: Any) -> Any:
        """The mixed-precision optimizer takes parameters by names such as torch.cuda.FloatTensor."""
        answer = plain_type(tensor, *args, **options)
        if isinstance(answer, str) and not answer.startswith("torch.cuda."):
            return answer.replace("torch.", "torch.cuda.", 1)
        return answer

    torch.Tensor.type = type_name


def cuda_means_cpu() -> Any:
    """A mode under which ``device="cuda"`` makes tensors on the CPU."""
    overrides = importlib.import_module("torch.overrides")

    def dispatch(
        _mode: Any,
        function: Callable[..., Any],
        _types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        options = dict(kwargs or {})
        if str(options.get("device")).startswith("cuda"):
            options["device"] = "cpu"
        return function(*args, **options)

    return type("CudaMeansCpu", (overrides.TorchFunctionMode,), {"__torch_function__": dispatch})()


def skip_compilation() -> None:
    """Leave functions as they are: compiled and plain ones give the same types, and the compiler takes seconds."""
    torch: Any = importlib.import_module("torch")

    def unchanged(function: Any = None, *_args: Any, **_options: Any) -> Any:
        return function if function is not None else unchanged

    compiler: Any = ModuleType("torch._dynamo")
    compiler.__path__ = []
    compiler.disable = unchanged
    compiler.allow_in_graph = unchanged
    compiler.graph_break = lambda *_args, **_options: None
    compiler.mark_static_address = lambda *_args, **_options: None
    compiler.is_compiling = lambda: False
    compiler.trace_rules = SimpleNamespace(clear_lru_cache=lambda: None)
    sys.modules["torch._dynamo"] = compiler
    torch._dynamo = compiler
    torch.compile = unchanged


def start_one_rank() -> None:
    """A process group of this process alone, and Megatron's groups in it."""
    distributed = importlib.import_module("torch.distributed")
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    start_groups()


def start_groups() -> None:
    """Megatron's groups in the one that there is, and its generators."""
    importlib.import_module("megatron.core.parallel_state").initialize_model_parallel()
    # The inference tracker has a fork that does nothing; the other one keeps CUDA generators.
    random = importlib.import_module("megatron.core.tensor_parallel.random")
    random.initialize_rng_tracker(inference_rng_tracker=True)
    _allow_nothing_to_quantize()


def _allow_nothing_to_quantize() -> None:
    """0.12's distributed optimizer calls this with empty lists, and the fallback raises even so."""
    fp8_utils: Any = importlib.import_module("megatron.core.fp8_utils")
    quantize = fp8_utils._quantize_param_shard_impl

    def quantize_if_any(model_params: Sequence[Any], *args: Any, **options: Any) -> Any:
        return quantize(model_params, *args, **options) if model_params else None

    fp8_utils._quantize_param_shard_impl = quantize_if_any
