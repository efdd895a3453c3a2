"""What is tried out on a GPU: one case for each process, or for the ranks of one training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

SMALL: Mapping[str, Any] = {
    "layers": 2, "width": 256, "heads": 4, "vocabulary": 1024, "sequence": 64, "split": True,
}  # fmt: skip
"""Two million parameters, a second buffer among them: every bit of them is compared."""
MEDIUM: Mapping[str, Any] = {
    "layers": 4, "width": 1024, "heads": 16, "vocabulary": 16384, "sequence": 128, "split": False,
}  # fmt: skip
"""84 million. Each matrix fills segments of torch, and buffers are large beside the granularity of the device, so that
the bytes can be predicted from the arguments alone."""
LARGE: Mapping[str, Any] = {
    "layers": 8, "width": 2048, "heads": 16, "vocabulary": 32768, "sequence": 256, "split": False,
}  # fmt: skip
"""0.54 billion, of the same kind: for figures."""
SIZES: Mapping[str, Mapping[str, Any]] = {"small": SMALL, "medium": MEDIUM, "large": LARGE}

DEFECTIVE = "0.0.9.post1"
"""The newest release of torch_memory_saver with the double release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What one process does, or the ranks of one training. Fields that are not told here: see trainings.Training."""

    megatron: str
    patched: bool = True
    saver: str | None = None
    """The release of torch_memory_saver; None is none."""
    hook: str = "none"
    """``preload`` or ``torch``; ``none`` without torch_memory_saver."""
    task: str = "train"
    """Key of TASKS in worker/gpu_tasks.py."""
    size: str = "small"
    """Key of SIZES."""
    grads: bool = False
    """Whether the gradients' flag is on."""
    params: bool = False
    """Whether the parameters' flag is on too."""
    sharded: bool = True
    gradients: str = "fp32"
    overlap: bool = False
    ranks: int = 1
    cycles: int = 0
    user_buffers: bool = False
    """nccl_ub."""
    free: bool = True
    restore: str = "copy"
    guard: bool = False
    open_step: bool = False
    checkpoint: bool = False
    retain: bool = False
    digests: bool = True
    backend: str = "pinned"
    """Or mmap: what kind of host memory holds backups."""
    sample: float = 0.0
    """Seconds between two readings of memory during the second pause."""
    bytes: int = 0
    """What the task ``copy`` copies."""
    expected: str = "works"
    """Or a name for what ends it: the id of a defect in upstream_versions.yaml, where it is one of those."""

    @property
    def id(self) -> str:
        """A name that is unique among cases and says what differs from the plainest one."""
        words = [self.megatron] if self.patched else [self.megatron, "unpatched"]
        words += [self.hook] if self.hook != "none" else []
        words += [self.saver] if self.saver == DEFECTIVE else []
        words += [self.task.replace(" ", "_")] if self.task != "train" else []
        words += [self.flags, *self._training_words()]
        words += [name for name in ("guard", "open_step", "checkpoint", "retain") if getattr(self, name)]
        words += [f"restore_{self.restore}"] if self.restore != "copy" else []
        words += [] if self.cycles == 3 or self.hook == "none" else [f"{self.cycles}_cycles"]
        words += ["nothing_freed"] if not self.free else []
        words += [self.backend] if self.backend != "pinned" else []
        words += ["no_digests"] if not self.digests else []
        return "-".join(words)

    @property
    def flags(self) -> str:
        """The flags in one word."""
        return "both" if self.params else "grads" if self.grads else "off"

    def _training_words(self) -> Iterator[str]:
        yield "distributed" if self.sharded else "plain"
        yield self.gradients
        if self.overlap:
            yield "overlap"
        if self.user_buffers:
            yield "nccl_ub"
        if self.ranks > 1:
            yield f"{self.ranks}_ranks"
        if self.size != "small":
            yield self.size

    @property
    def alone(self) -> bool:
        """Whether nothing else may use the device meanwhile, because its memory is measured."""
        return (self.size != "small" and self.saver is not None) or self.task in ("hook mode", "copy")

    def job(self) -> dict[str, Any]:
        """What worker/gpu.py is told."""
        told = asdict(self)
        return {
            **{name: told[name] for name in _TOLD},
            "flags": self.grads,
            "params": self.params,
            "world": self.ranks,
            "size": dict(SIZES[self.size]),
        }


_TOLD = (
    "hook", "task", "sharded", "gradients", "overlap", "user_buffers", "cycles", "free", "restore", "guard",
    "open_step", "checkpoint", "retain", "digests", "sample", "bytes",
)  # fmt: skip
