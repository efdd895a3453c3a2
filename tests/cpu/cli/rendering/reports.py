"""Made-up answers of check-upstream: one with everything that there is, and small ones."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from patchkit.core.carry_report import AlarmReport, CommitReport, DriftReport, PlaceReport
from patchkit.core.report import CheckReport, Problem
from patchkit.core.upstream_report import (
    ConflictReport,
    FoundRelease,
    GroupAnswer,
    HunkAnswer,
    PatchAnswer,
    State,
    TargetAnswer,
    UpstreamReport,
    worst,
)

BUFFER = "megatron/core/distributed/param_and_grad_buffer.py"
CONFIG = "megatron/core/distributed/distributed_data_parallel_config.py"

HOSTILE = (
    "a | b <script>alert(1)</script> \x1b[31mred\x1b[0m ]]> `tick` **bold** @everyone #1 \u202egnp.exe\u202c "
    "\x9b2J\x07\x00\n::error file=x::spoofed\r\n##[error]spoofed %0A $x$ &lt; \x85 \u2028 end"
)
"""What an upstream subject, or a tag's message, could hold to spoil a table, a page, a log or a terminal."""

LONG = "long " * 2_000
UNBROKEN = "x" * 10_000


def hunk(name: str, *, state: State = "fine", verdict: str = "exact", path: str = BUFFER) -> HunkAnswer:
    """A hunk of the group regions that stands where it stood."""
    place = PlaceReport("_ParamAndGradBuffer.__init__", 812, 830)
    return HunkAnswer(id=name, group="regions", path=path, state=state, verdict=verdict, old=place, new=place)


def patch(name: str, *hunks: HunkAnswer, variant: str = "v0.19.0.patch") -> PatchAnswer:
    """A patch that the lock has."""
    check = CheckReport(
        name, "data-in-region", ok=True, expected=1, found=1, at=(f"{BUFFER}:815",), intent="Bare data."
    )
    ids = tuple(each.id for each in hunks)
    group = GroupAnswer(name="regions", state="fine", verdict="carried", hunks=ids)
    return PatchAnswer(
        name=name, state="fine", verdict="recorded", variant=variant, groups=(group,), hunks=hunks, checks=(check,)
    )


def target(title: str, state: State, *patches: PatchAnswer) -> TargetAnswer:
    """A release that upstream_versions.yaml lists."""
    return TargetAnswer(
        name=title.removeprefix("v"),
        title=title,
        kind="release",
        state=state,
        as_of=title.removeprefix("v"),
        date="2026-09-01",
        tag=f"core_{title}",
        commit="0123456789abcdef0123456789abcdef01234567",
        fingerprint="f" * 64,
        new=False,
        patches=patches,
    )


def report(*targets: TargetAnswer, verdict: State | None = None, problems: tuple[Problem, ...] = ()) -> UpstreamReport:
    """A report of targets, and of what is wrong with upstream."""
    state = verdict or worst(each.state for each in targets)
    return UpstreamReport(
        tool="1.2.3",
        ok=state == "fine",
        verdict=state,
        series="patches/megatron",
        digest=f"sha256:{'d' * 64}",
        targets=targets,
        problems=problems,
    )


def fine_target(title: str = "v0.19.2") -> TargetAnswer:
    """A release on which the lock holds."""
    return target(
        title,
        "fine",
        patch("no-backup-grad-buffers", hunk("config-field", path=CONFIG), hunk("grad-data")),
        patch("no-backup-param-buffers", hunk("param-data")),
        PatchAnswer(name="tms-hook-mode", state="fine", verdict="not-needed", reason="This release sets no hook mode."),
    )


def all_fine(count: int) -> UpstreamReport:
    """A report of a number of releases of which nothing is to be said."""
    return report(*(fine_target(f"v0.{number}.0") for number in range(count)))


def _conflict() -> HunkAnswer:
    return HunkAnswer(
        id="grad-data",
        group="regions",
        path=BUFFER,
        state="broken",
        verdict="conflict",
        intent="Allocate grad_data in the region.",
        reason="both sides changed the allocation of grad_data",
        old=PlaceReport("_ParamAndGradBuffer.__init__", 812, 830),
        new=PlaceReport("_ParamAndGradBuffer._allocate", 902, 915),
        drift=(
            DriftReport(
                "_ParamAndGradBuffer.__init__",
                ("signature", "calls"),
                "(self, ddp_config, params)",
                "(self, ddp_config, params, symmetric)",
                ("nccl_allocator.init",),
                (),
            ),
        ),
        review=("drift: _ParamAndGradBuffer.__init__ changed (signature, calls)",),
        commits=(
            CommitReport("1a2b3c4d5e", "Allocate buffers symmetrically (#5103)", 5103),
            CommitReport("2b3c4d5e6f", "Split the constructor", 5200),
        ),
        next="patchkit rebase --onto 0.20.0",
        diff="@@ -812,3 +812,4 @@\n",
        diff_of="base",
        conflicts=(ConflictReport("a\nb\n", "a\nwith region:\n    b\n", "c\n", 902),),
    )


def _broken() -> TargetAnswer:
    grads = PatchAnswer(
        name="no-backup-grad-buffers",
        state="broken",
        verdict="conflict",
        base="0.19.2",
        groups=(
            GroupAnswer(name="plumbing", state="fine", verdict="carried", hunks=("config-field",)),
            GroupAnswer(name="regions", state="broken", verdict="broken", hunks=("grad-data",)),
        ),
        hunks=(hunk("config-field", verdict="moved", path=CONFIG), _conflict()),
        next="patchkit rebase --onto 0.20.0",
    )
    params = PatchAnswer(
        name="no-backup-param-buffers",
        state="broken",
        verdict="failed",
        base="0.19.2",
        variant="v0.19.0.patch",
        hunks=(hunk("param-data", verdict="merged"),),
        checks=(
            CheckReport(
                "no-backup-param-buffers",
                "data-in-region",
                ok=False,
                expected=1,
                found=2,
                at=(f"{BUFFER}:815", f"{BUFFER}:902"),
                intent="param_data is allocated outside its region.",
            ),
            CheckReport("no-backup-param-buffers", "import-guarded", ok=True, expected=0, found=0),
        ),
        provisional=True,
    )
    hook = PatchAnswer(name="tms-hook-mode", state="fine", verdict="not-needed", reason="No module sets a mode.")
    return target("v0.20.0", "broken", grads, params, hook)


def _look() -> TargetAnswer:
    upstreamed = HunkAnswer(
        id="config-field",
        group="plumbing",
        path=CONFIG,
        state="look",
        verdict="upstreamed",
        old=PlaceReport("DistributedDataParallelConfig", 40, 44),
        review=("upstreamed: the variant would not have it",),
        drop_when="The release has a field of this name\nwith default False.\n",
        next="decide whether the hunk can go",
    )
    alarmed = HunkAnswer(
        id="grad-data",
        group="regions",
        path=BUFFER,
        state="look",
        verdict="restructured",
        old=PlaceReport("_ParamAndGradBuffer.__init__", 812, 830),
        new=PlaceReport("_ParamAndGradBuffer.__init__", 840, 861),
        alarms=(AlarmReport("unbound", 843, "region", "region is not bound in _ParamAndGradBuffer.__init__"),),
        review=(
            "unbound: line 843: region is not bound in _ParamAndGradBuffer.__init__",
            "in part upstream: 1 of its 3 places",
        ),
    )
    grads = PatchAnswer(
        name="no-backup-grad-buffers",
        state="look",
        verdict="review",
        base="dev",
        groups=(
            GroupAnswer(
                name="regions",
                state="look",
                verdict="partly-upstream",
                hunks=("grad-data", "reload"),
                upstream="its own region around grad_data",
            ),
        ),
        hunks=(upstreamed, alarmed),
        alarms=(AlarmReport("duplicate", 7, "torch", f"{CONFIG}: import of torch stands twice"),),
        review=(f"duplicate: {CONFIG}: import of torch stands twice", "hunk grad-data stands in another scope"),
        next="patchkit rebase --onto main --git REPO",
    )
    carries = PatchAnswer(
        name="no-backup-param-buffers",
        state="fine",
        verdict="carries",
        base="0.19.2",
        hunks=(hunk("param-data", verdict="moved"),),
        next="patchkit rebase --onto main --git REPO",
    )
    return TargetAnswer(
        name="main",
        title="main",
        kind="branch",
        state="look",
        as_of="0.20.0",
        date="2026-11-29",
        commit="89abcdef0123456789abcdef0123456789abcdef",
        moved=True,
        fingerprint="e" * 64,
        patches=(grads, carries),
        next="patchkit rebase --onto main --git REPO",
    )


def _hostile(text: str) -> TargetAnswer:
    bad = HunkAnswer(
        id="param-data",
        group="regions",
        path=BUFFER,
        state="look",
        verdict="exact",
        intent=LONG,
        reason=text,
        old=PlaceReport("Outer.__init__", 1, 0),
        new=PlaceReport("Outer.__init__", 1, 0),
        drift=(DriftReport("Outer.__init__", ("body",), f"({UNBROKEN})", f"({UNBROKEN}, y)"),),
        review=(text,),
        commits=(CommitReport("3c4d5e6f70", text, None), CommitReport("4d5e6f7081", LONG, 7)),
    )
    params = PatchAnswer(name="no-backup-param-buffers", state="look", verdict="review", reason=text, hunks=(bad,))
    return target("v0.21.0rc1", "look", params)


def everything(text: str = HOSTILE) -> UpstreamReport:
    """A report with each kind of answer and of trouble, ``text`` wherever upstream or a patch has a say."""
    yanked = fine_target("v0.18.1")
    mechanical = fine_target("v0.19.3")
    unreachable = TargetAnswer(
        name="dev",
        title="dev",
        kind="branch",
        state="unreachable",
        reason="the repository does not answer",
        as_of="0.19.2",
        next="run again",
    )
    moved_tag = replace(
        fine_target("v0.17.1"),
        state="broken",
        problems=(
            Problem(
                "tag core_v0.17.1 is another commit than the recorded one",
                path="upstream_versions.yaml",
                hint="ask why",
            ),
        ),
    )
    targets = (
        replace(yanked, yanked="a wheel was broken"),
        fine_target("v0.19.2"),
        replace(mechanical, listed=False, next="patchkit rebase --onto 0.19.3", new=True),
        _broken(),
        _look(),
        unreachable,
        moved_tag,
        _hostile(text),
    )
    whole = report(*targets)
    return replace(
        whole,
        found=(
            FoundRelease(
                version="0.22.0", where=("index", "tag"), date="2026-11-30", tag="core_v0.22.0", commit="5" * 40
            ),
            FoundRelease(version="0.22.0rc0", where=("index",), yanked=text, pre_release=True),
        ),
        problems=(Problem("release 0.12.3 is gone from the index", hint="keep the wheel"), Problem(text, line=3)),
        notes=("pull requests were not looked up: no history at hand", text),
        written=("upstream_versions.yaml",),
    )


def many_hunks(states: Sequence[State], count: int, text: str) -> UpstreamReport:
    """A report with a target for each state, each with as many hunks of that state and one that is fine."""
    targets = []
    for number, state in enumerate(states):
        hunks = [
            HunkAnswer(
                id=f"hunk-{index}",
                group="regions",
                path=BUFFER,
                state=state,
                verdict="conflict" if state == "broken" else "merged",
                reason=text,
            )
            for index in range(count)
        ]
        whole = replace(patch("grads", *hunks, hunk("fine-one")), state=state, verdict="review")
        targets.append(target(f"v1.{number}.0", state, whole))
    return report(*targets)
