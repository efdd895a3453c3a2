"""Which cases there are: releases, hook modes, flags, ways to train and ranks. The matrix is data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from patchkit.tms.cycle.cases import DEFECTIVE, Case


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
