"""Reports for pages."""

from __future__ import annotations

from patchkit.core.carry_report import AlarmReport, CommitReport, DriftReport
from patchkit.core.report import CheckReport, Problem
from patchkit.core.upstream_report import (
    ConflictReport,
    FoundRelease,
    GroupAnswer,
    HunkAnswer,
    PatchAnswer,
    TargetAnswer,
    UpstreamReport,
)

DIFF = "--- a/buffer.py\n+++ b/buffer.py\n@@ -1,2 +1,2 @@ grads\n context\n-old\n+new\n"
HOSTILE = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'> \"quoted\" \u202ereversed\x1b[31m"


def hunk(name: str, verdict: str = "exact", state: str = "fine", **more: object) -> HunkAnswer:
    """One hunk."""
    told = {"group": "regions", "path": "megatron/buffer.py", "intent": f"What {name} is for.", "diff": DIFF, **more}
    return HunkAnswer(id=name, verdict=verdict, state=state, **told)  # type: ignore[arg-type]


CONFLICT = hunk(
    "grads",
    "conflict",
    "broken",
    reason="both sides changed these lines",
    drift=(DriftReport("Buffer.f", ("signature",), "def f(self)", "def f(self, more)"),),
    alarms=(AlarmReport("unbound", 7, "name", "nothing binds name"),),
    commits=(CommitReport("abc1234", "Rewrite the buffer (#42)", 42),),
    conflicts=(ConflictReport("        base line\n", "    patch line\n        more\n", "\tupstream line\n", 12),),
    next="explain it",
)


def target(name: str, *patches: PatchAnswer, state: str = "fine", **more: object) -> TargetAnswer:
    """One release."""
    told = {"title": f"v{name}", "kind": "release", "as_of": name, "date": "2026-01-02", **more}
    return TargetAnswer(name=name, state=state, patches=patches, **told)  # type: ignore[arg-type]


def patch(name: str, *hunks: HunkAnswer, verdict: str = "recorded", state: str = "fine", **more: object) -> PatchAnswer:
    """One patch."""
    return PatchAnswer(name=name, verdict=verdict, state=state, hunks=hunks, **more)  # type: ignore[arg-type]


def report(*targets: TargetAnswer, **more: object) -> UpstreamReport:
    """A whole answer."""
    told = {"ok": False, "verdict": "broken", "series": "patches/megatron", "digest": "sha256:12", **more}
    return UpstreamReport(tool="1.2.3", targets=targets, **told)  # type: ignore[arg-type]


MIXED = report(
    target(
        "1.0",
        patch(
            "grads", hunk("grads"), hunk("docs"), hunk("old-only"), checks=(CheckReport("grads", "one", True, 1, 1),)
        ),
        patch("params", hunk("params")),
    ),
    target(
        "1.1", patch("grads", hunk("grads"), hunk("docs", "moved")), patch("params", hunk("params")), yanked="broken"
    ),
    target(
        "2.0",
        patch(
            "grads",
            CONFLICT,
            hunk("docs", "restructured", "look", review=("drift: Buffer changed",)),
            verdict="conflict",
            state="broken",
            groups=(GroupAnswer(name="regions", state="broken", verdict="broken", hunks=("grads", "docs")),),
        ),
        patch("params", hunk("params", "upstreamed", "look", next="drop it"), verdict="review", state="look"),
        state="broken",
        listed=False,
        next="rebase",
    ),
    target(
        "main",
        state="unreachable",
        title="main",
        kind="branch",
        reason="there is no clone",
    ),
    problems=(Problem("core_v1.0 has moved", hint="find out why"),),
    found=(FoundRelease(version="2.0", where=("index",), date="2026-02-03"),),
    notes=("the clone is shallow",),
    repository="https://example.org/megatron",
)
