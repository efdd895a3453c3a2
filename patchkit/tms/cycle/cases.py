"""What is tried out on a GPU: one case for each process, or for the ranks of one training. The matrix is data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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
    """Key of TASKS in worker/gpu.py."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What was asked for."""

    megatrons: Sequence[str]
    """Releases, oldest first."""
    saver: str
    hooks: Sequence[str]
    ranks: Sequence[int]
    full: bool = False
    """Whether every release gets every way to train, not only the oldest and the newest."""

    @property
    def ends(self) -> tuple[str, ...]:
        """The oldest release and the newest."""
        return tuple(dict.fromkeys([self.megatrons[0], self.megatrons[-1]]))

    def ways(self, megatron: str, ranks: int) -> Iterable[Mapping[str, Any]]:
        """The ways to train a release; two ranks of the oldest one get few of them too."""
        ends = self.ends if ranks == 1 else self.ends[-1:]
        return WAYS if self.full or megatron in ends else FEW


WAYS: Sequence[Mapping[str, Any]] = [
    {"sharded": sharded, "gradients": gradients, "overlap": overlap}
    for sharded in (True, False)
    for gradients in ("fp32", "bf16")
    for overlap in (False, True)
]
FEW: Sequence[Mapping[str, Any]] = [WAYS[0], WAYS[3], WAYS[4]]
"""Each value of each at least once."""
FLAGS: Sequence[Mapping[str, Any]] = [{}, {"grads": True}, {"grads": True, "params": True}]


def unpatched(case: Case) -> Case:
    """What a training is compared with: the release as it is, without torch_memory_saver and pauses."""
    return Case(
        megatron=case.megatron,
        patched=False,
        sharded=case.sharded,
        gradients=case.gradients,
        overlap=case.overlap,
        user_buffers=case.user_buffers,
        ranks=case.ranks,
        size=case.size,
        digests=case.digests,
    )


def flags_off(plan: Plan) -> list[Case]:
    """Patched trees, without flags and without torch_memory_saver."""
    return [
        Case(megatron=megatron, ranks=ranks, **way)
        for ranks in plan.ranks
        for megatron in plan.megatrons
        for way in plan.ways(megatron, ranks)
    ]


def cycles(plan: Plan) -> list[Case]:
    """Trainings with three pauses, in every way and with all flags that do something there."""
    return [
        Case(megatron=megatron, saver=plan.saver, hook=hook, ranks=ranks, cycles=3, **way, **flags)
        for ranks in plan.ranks
        for megatron in plan.megatrons
        for hook in plan.hooks
        for way in plan.ways(megatron, ranks)
        for flags in FLAGS
        if way["sharded"] or "params" not in flags
    ]


def allocations(plan: Plan) -> list[Case]:
    """A larger model for each release, hook mode and flags, whose memory is measured."""
    return [
        Case(megatron=megatron, saver=plan.saver, hook=hook, size="medium", cycles=2, digests=False, **flags)
        for megatron in plan.megatrons
        for hook in plan.hooks
        for flags in FLAGS
        if 1 in plan.ranks
        # Between the ends, hook mode torch has one case: what it tracks is what it is told to.
        if plan.full or megatron in plan.ends or hook == "preload" or "params" in flags
    ]


def _both(plan: Plan, **fields: Any) -> list[Case]:
    """Both flags, the distributed optimizer: the oldest release and the newest, in every hook mode and on all ranks."""
    return [
        replace(
            Case(megatron=megatron, saver=plan.saver, hook=hook, ranks=ranks, cycles=3, grads=True, params=True),
            **fields,
        )
        for ranks in plan.ranks
        for megatron in plan.ends
        for hook in plan.hooks
    ]


def from_main(plan: Plan) -> list[Case]:
    """Parameters restored from the main parameters of the optimizer."""
    return _both(plan, restore="main")


def unrestored(plan: Plan) -> list[Case]:
    """Nobody restores the parameters, so that equality elsewhere means something."""
    return _both(plan, restore="none", cycles=1)


def guarded(plan: Plan) -> list[Case]:
    """The guard pauses, and refuses to while gradients are accumulated."""
    return _both(plan, guard=True, open_step=True)


def retained(plan: Plan) -> list[Case]:
    """Backups stay on the host."""
    return _both(plan, retain=True)


def checkpoints(plan: Plan) -> list[Case]:
    """A checkpoint between cycles."""
    return [*_both(plan, checkpoint=True), *_both(plan, checkpoint=True, sharded=False, params=False)]


def hook_modes(plan: Plan) -> list[Case]:
    """What a process that preloads the library has after Megatron is imported."""
    return [
        Case(megatron=megatron, saver=plan.saver, hook="preload", task="hook mode")
        for megatron in plan.megatrons
        if "preload" in plan.hooks and 1 in plan.ranks
    ]


def double_releases(plan: Plan) -> list[Case]:
    """Memory freed while it is paused, in a build that cannot do that."""
    return [
        Case(megatron=megatron, saver=DEFECTIVE, hook="preload", cycles=3, expected="double-release")
        for megatron in plan.ends
        if "preload" in plan.hooks and 1 in plan.ranks
    ]


def nested_regions(plan: Plan) -> list[Case]:
    """The flags in a build that knows no region in a tracked process."""
    return [replace(case, grads=True, params=True, expected="nested-region-assert") for case in double_releases(plan)]


def _from(plan: Plan, *first: int) -> list[str]:
    """The releases from one on."""
    return [megatron for megatron in plan.megatrons if tuple(map(int, megatron.split(".")[:2])) >= first]


def refusals(plan: Plan) -> list[Case]:
    """The flags together with nccl_ub. Before 0.14 it cannot do without NVLink multicast."""
    return [Case(megatron=megatron, task="refuse") for megatron in _from(plan, 0, 14) if 1 in plan.ranks]


def user_buffers(plan: Plan) -> list[Case]:
    """nccl_ub without the flags: trained on two ranks, patched, and with pauses. 0.14 wants Apex for it."""
    found = []
    for megatron in _from(plan, 0, 15) if 2 in plan.ranks else ():
        plain = Case(megatron=megatron, ranks=2, user_buffers=True)
        hooks = [hook for hook in plan.hooks if hook != "torch" or megatron in _from(plan, 0, 18)]
        found += [plain, *(replace(plain, saver=plan.saver, hook=hook, cycles=3) for hook in hooks)]
    return found


def dropped_pools(plan: Plan) -> list[Case]:
    """nccl_ub where DDP is made in a region of hook mode torch, of releases that drop NCCL's pool after its use.

    torch 2.11 asserts that no pool goes away while another one is in use, with the series and without.
    """
    return [
        Case(
            megatron=megatron,
            patched=patched,
            saver=plan.saver,
            hook="torch",
            ranks=2,
            user_buffers=True,
            cycles=3,
            expected="nccl-pool-dropped-in-region",
        )
        for megatron in _from(plan, 0, 15)
        if megatron not in _from(plan, 0, 18) and 2 in plan.ranks and "torch" in plan.hooks
        for patched in (False, True)
    ]
