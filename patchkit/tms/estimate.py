"""Device and host bytes of one rank in each phase of a training that offloads (docs/estimate.md has the sources)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from patchkit.tms.layers import Layout, Shape
from patchkit.tms.packing import Kept, reserved
from patchkit.tms.runs import total
from patchkit.tms.tensors import Tensors, stages

PHASES = ("train", "sleep", "save", "update")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What decides how many bytes there are for a parameter."""

    parameter_bytes: int = 2
    """2 for bf16 and fp16, 4 for fp32."""
    gradient_bytes: int = 4
    """4 with accumulate_allreduce_grads_in_fp32 (grad_reduce_in_fp32), else as the parameters."""
    optimizer_bytes: int = 8
    """Adam: two moments of 4 bytes."""
    distributed_optimizer: bool = True
    """Optimizer state is shared out over the ranks of data parallelism."""
    gradient_backup: bool = True
    """Not with disable_grad_buffers_cpu_backup."""
    parameter_backup: bool = True
    """Not with disable_param_buffers_cpu_backup, which does nothing without the distributed optimizer."""
    weight_copies: int = 0
    """Copies of the parameters that the framework keeps on the host all the time, such as a restorer's."""
    backup_kept: bool = False
    """Backups stay on the host after a resume: OffloadGuard(retain_backups=True), and builds up to 0.0.9.post1."""
    region_pool: bool = False
    """Hook mode torch: the region's pool keeps what is empty, so that a pause backs it up."""
    step_bytes: int = 0
    """With it, what the first step takes of that pool for a while for an element of the optimizer's share: 4 with
    torch's AdamW, 0 with a FusedAdam or where it is not in a region."""
    activations: int = 0
    """Bytes on the device while it trains, beside all that is counted here."""
    untracked: int = 0
    """Bytes on the device that no pause frees: the CUDA context, NCCL, memory from disable()."""
    update_buffer: int = 0
    """Bytes on the device for one bucket of a weight update."""


@dataclass(frozen=True, slots=True)
class Phase:
    """Bytes by what they are for; what takes none is left out."""

    name: str
    device: Mapping[str, int]
    host: Mapping[str, int]

    @property
    def device_bytes(self) -> int:
        """All on the device."""
        return sum(self.device.values())

    @property
    def host_bytes(self) -> int:
        """All on the host."""
        return sum(self.host.values())


@dataclass(frozen=True, slots=True)
class Estimate:
    """The phases of the rank with the most parameters."""

    stage: int
    """Its pipeline stage, from 0."""
    parameters: int
    """Its parameters, those of experts included."""
    phases: tuple[Phase, ...]


def estimate(shape: Shape, layout: Layout, setting: Setting) -> Estimate:
    """Return the bytes of the rank with the most parameters. Raises UsageError for what does not divide."""
    ranks = list(stages(shape, layout))
    sizes = {id(each): sum(map(total, each)) for each in ranks}
    stage = max(range(layout.pipeline), key=lambda at: sizes[id(ranks[at])])
    dense, expert = map(total, ranks[stage])
    everything = dense + expert
    kept = _kept(dense, expert, layout, setting)
    packing = _packing(ranks[stage], layout, setting, kept)
    backed = {
        # Without the distributed optimizer they have no buffer, and its flag does nothing.
        "parameters": setting.parameter_backup or not setting.distributed_optimizer,
        "gradients": setting.gradient_backup,
        "optimizer": True,
    }
    backup = {f"backup of {part}": kept[part] for part in backed if backed[part]}
    backup["backup of packing"] = sum(packing[part] for part in backed if backed[part])
    kept = {**kept, "packing": sum(packing.values())}
    always = {"weight copies": setting.weight_copies * everything * setting.parameter_bytes}
    awake = {**always, **(backup if setting.backup_kept else {})}
    untracked = {"untracked": setting.untracked}
    # A copy on the host has no segments.
    staged = {"checkpoint": kept["optimizer"] + _shared(dense, expert, layout, setting.parameter_bytes)}
    phases = (
        _phase("train", {**kept, "activations": setting.activations, **untracked}, awake),
        _phase("sleep", untracked, {**always, **backup}),
        _phase("save", {**kept, **untracked}, {**awake, **staged}),
        _phase("update", {**untracked, "update buffer": setting.update_buffer}, {**always, **backup}),
    )
    return Estimate(stage, everything, phases)


def _kept(dense: int, expert: int, layout: Layout, setting: Setting) -> dict[str, int]:
    """What a rank holds on the device between steps."""
    everything = dense + expert
    state = setting.optimizer_bytes + _main_bytes(setting)
    return {
        "parameters": everything * setting.parameter_bytes,
        "gradients": everything * setting.gradient_bytes,
        "optimizer": _shared(dense, expert, layout, state) if setting.distributed_optimizer else everything * state,
    }


def _packing(tensors: Tensors, layout: Layout, setting: Setting, kept: Mapping[str, int]) -> dict[str, int]:
    """What torch reserves beside the bytes of each part; parameters that have no buffer are with the optimizer."""
    moment = setting.optimizer_bytes // 2
    shares = (layout.data, layout.expert_data) if setting.distributed_optimizer else None
    found = reserved(
        tensors,
        Kept(
            parameter_bytes=setting.parameter_bytes,
            gradient_bytes=setting.gradient_bytes,
            main_bytes=_main_bytes(setting),
            moments=(moment, setting.optimizer_bytes - moment),
            shares=shares,
            step_bytes=setting.step_bytes if setting.region_pool else 0,
            gives_back=not setting.region_pool,
        ),
    )
    buffers = {"gradients": found.gradients - kept["gradients"]}
    if not setting.distributed_optimizer:
        return {**buffers, "parameters": 0, "optimizer": found.rest - kept["parameters"] - kept["optimizer"]}
    parameters = found.parameters - kept["parameters"]
    return {**buffers, "parameters": parameters, "optimizer": found.rest - kept["optimizer"]}


def _main_bytes(setting: Setting) -> int:
    # Of parameters in fp32 the optimizer has no copy of its own.
    return 4 if setting.parameter_bytes < 4 else 0


def _shared(dense: int, expert: int, layout: Layout, each: int) -> int:
    """Bytes of one rank when all ranks that hold the same parameters share them out."""
    return -(-dense * each // layout.data) + -(-expert * each // layout.expert_data)


def _phase(name: str, device: Mapping[str, int], host: Mapping[str, int]) -> Phase:
    device, host = ({part: size for part, size in side.items() if size} for side in (device, host))
    return Phase(name, device, host)
