"""check-upstream on a made-up Megatron with a release that the series was made for, and a newer one."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from trees.repositories import git, record
from trees.snapshots import contents, lay

import patchkit.operations.upstream_look as module
from patchkit.core.carried import Verdict
from patchkit.core.report import Problem
from patchkit.core.reported import parse_reported, print_reported
from patchkit.core.upstream import MEGATRON, Release, Target
from patchkit.core.upstream_report import FoundRelease, HunkAnswer, PatchAnswer, TargetAnswer, UpstreamReport
from patchkit.errors import DigestMismatchError, RevisionNotFoundError, TreeError, UsageError
from patchkit.operations import processes
from patchkit.operations.rebase import rebase, resume
from patchkit.operations.rebase_run import Surroundings
from patchkit.operations.rebase_session import Request
from patchkit.operations.rebase_signed import Signed
from patchkit.operations.regenerate import regenerate
from patchkit.operations.upstream_check import Discovery, check_upstream
from patchkit.operations.upstream_choice import as_carried
from patchkit.operations.upstream_news import marked, news
from patchkit.operations.upstream_next import GONE
from patchkit.operations.upstream_targets import Asked, Wanted
from patchkit.store.series import load_series
from patchkit.store.versions import load_versions

from .carried_world import CODE, CODE_1, FIRST_1, NOTES, NOTES_1, RELEASE_1, World
from .test_rebase import CLASH, DRIFTED, HAS_IT, MOVED, REFUSED

NOTHING = Discovery()


@pytest.fixture
def world(tmp_path: Path) -> Callable[[dict[str, bytes | None]], World]:
    return lambda newer: World(tmp_path / "world", newer)


def look(world: World, **asked: object) -> UpstreamReport:
    return check_upstream(world.series, Asked(**asked), NOTHING, cache=world.cache)  # type: ignore[arg-type]


def target_of(report: UpstreamReport, name: str) -> TargetAnswer:
    return next(target for target in report.targets if target.name == name)


def hunks_of(target: TargetAnswer) -> dict[str, HunkAnswer]:
    return {f"{patch.name}/{hunk.id}": hunk for patch in target.patches for hunk in patch.hunks}


def verdicts(target: TargetAnswer) -> dict[str, tuple[str, str]]:
    return {name: (hunk.verdict, hunk.state) for name, hunk in hunks_of(target).items()}


def test_a_target_with_the_recorded_text_is_proved_again(world: Callable[..., World]) -> None:
    report = look(world(MOVED), onto=("1.0",))
    target = report.targets[0]
    hunk = msgspec.to_builtins(target.patches[1].hunks[0])
    assert (report.ok, report.verdict, target.state, target.next) == (True, "fine", "fine", "")
    assert [(patch.verdict, patch.variant, [check.ok for check in patch.checks]) for patch in target.patches] == [
        ("recorded", "v1.0.patch", [True]),
        ("recorded", "v1.0.patch", []),
    ]
    assert verdicts(target) == dict.fromkeys(
        ["first/grads-region", "first/notes-colour", "second/reload-mark", "second/notes-end"], ("exact", "fine")
    )
    assert (hunk["intent"], hunk["new"]) == ("Leave a mark.", {"scope": "Buffer.reload", "first": 15, "last": 21})
    assert hunk["diff"].startswith(f"--- a/{CODE}\n+++ b/{CODE}\n@@ -15,6 +15,7 @@ reload-mark\n")


def test_other_processes_see_the_same_and_it_is_kept(
    world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = world(MOVED)
    repository = tracked(made)
    kept = made.cache / "upstream"
    monkeypatch.setattr(processes, "_processors", lambda: 1)
    alone, files = look(made, repository=repository), contents(kept)
    shutil.rmtree(kept)
    here, seen = os.getpid(), list[str]()
    at = module.Look._at

    def noted(self: module.Look, wanted: Wanted) -> module.Looked:
        seen.extend([wanted.target.name] if os.getpid() == here else [])
        return at(self, wanted)

    monkeypatch.setattr(module.Look, "_at", noted)
    monkeypatch.setattr(module, "_FEW", 2)
    monkeypatch.setattr(processes, "_processors", lambda: 3)

    assert (look(made, repository=repository), contents(kept), seen) == (alone, files, [])
    assert len(alone.targets) == len(files) == 3


def test_of_releases_only_the_base_is_held_open(world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> None:
    made = world(MOVED)
    held: list[list[str]] = []
    at = module.Look._at

    def noted(self: module.Look, wanted: Wanted) -> module.Looked:
        seen = at(self, wanted)
        held.append(sorted(self._upstream._trees))
        return seen

    monkeypatch.setattr(module.Look, "_at", noted)
    targets = [target.commit or target.name for target in look(made).targets]

    # The second is no recorded one: it is carried to from the first.
    assert held == [[], targets[:1]]


def test_a_recorded_hunk_that_stands_elsewhere_says_how_far(world: Callable[..., World]) -> None:
    made = world(MOVED)
    assert regenerate(made.series, cache=made.cache).problems == ()
    hunk = hunks_of(target_of(look(made), "2.0"))["second/reload-mark"]
    assert (hunk.verdict, hunk.state, hunk.reason) == (
        "moved",
        "fine",
        "stands +2 lines from where the variant says",
    )
    assert hunk.new is not None
    assert (hunk.new.first, hunk.new.last) == (17, 23)


def test_a_release_that_the_lock_lacks_is_carried_to(world: Callable[..., World]) -> None:
    report = look(world(MOVED))
    target = target_of(report, "2.0")
    assert (report.verdict, target.state) == ("fine", "fine")
    assert [(patch.verdict, patch.base, patch.variant) for patch in target.patches] == [
        ("carries", "1.0", "v1.0.patch"),
        ("carries", "1.0", "v1.0.patch"),
    ]
    assert verdicts(target)["first/grads-region"] == ("moved", "fine")
    # Two lines of upstream's and one of the first patch are above it.
    mark = hunks_of(target)["second/reload-mark"].new
    assert mark is not None
    assert (mark.scope, mark.first, mark.last) == ("Buffer.reload", 20, 20)
    series = f"--patches {report.series}"
    assert target.next == f"nothing to decide: `patchkit rebase --onto v2.0 {series}` writes the variants"


def test_a_conflict_has_the_three_sides_and_makes_what_lies_on_it_provisional(world: Callable[..., World]) -> None:
    report = look(world(CLASH))
    target = target_of(report, "2.0")
    hunk = hunks_of(target)["first/notes-colour"]
    assert (report.ok, report.verdict, target.state) == (False, "broken", "broken")
    assert [(patch.verdict, patch.state, patch.provisional) for patch in target.patches] == [
        ("conflict", "broken", False),
        ("carries", "fine", True),
    ]
    assert [msgspec.to_builtins(each) for each in hunk.conflicts] == [
        {"base": "colour: red\n", "changed": "colour: green\n", "target": "colour: blue\n", "line": 2}
    ]
    assert hunk.next == (
        f"`patchkit explain first/notes-colour --onto v2.0 --patches {report.series}` shows both sides"
    )
    # The hunk is shown as the base has it.
    assert "-colour: red\n+colour: green\n" in hunk.diff


def test_a_changed_scope_is_to_be_looked_at(world: Callable[..., World]) -> None:
    report = look(world(DRIFTED))
    hunk = hunks_of(target_of(report, "2.0"))["first/grads-region"]
    assert (report.ok, report.verdict) == (False, "look")
    assert (hunk.state, [drift.scope for drift in hunk.drift]) == ("look", ["Buffer.__init__"])


def test_what_upstream_has_is_told_with_the_rule_for_dropping(world: Callable[..., World]) -> None:
    target = target_of(look(world(HAS_IT)), "2.0")
    hunk = hunks_of(target)["first/notes-colour"]
    assert (hunk.verdict, hunk.state) == ("upstreamed", "look")
    assert hunk.next == "drop it for this target if this holds: Upstream has it."
    assert {group.name: group.verdict for group in target.patches[0].groups} == {"plumbing": "partly-upstream"}


def test_a_version_that_upstream_has_gone_beyond_is_upstreams(
    world: Callable[..., World], beyond: dict[str, bytes]
) -> None:
    target = target_of(look(world(beyond)), "2.0")
    hunk = hunks_of(target)["first/notes-colour"]
    assert (hunk.verdict, hunk.state) == ("superseded", "look")
    assert hunk.reason == "both sides set the version, and the target's 2.0 stays: it is higher than 1.1"
    assert hunk.next == "drop it for this target if this holds: Upstream has it."
    assert {group.name: group.verdict for group in target.patches[0].groups} == {"plumbing": "partly-upstream"}


def test_what_a_person_left_out_is_told_with_the_reason(world: Callable[..., World]) -> None:
    made = world(CLASH)
    around = Surroundings(today="2026-11-30", cache=made.cache)
    rebase(made.series, Request(onto="2.0"), around)
    signed = Signed("A U Thor <author@example.org>", "Blue will do.")
    assert resume(made.series, around, signed=signed, skip=True).verdict == "written"
    target = target_of(look(made), "2.0")
    hunk = hunks_of(target)["first/notes-colour"]
    assert (target.state, hunk.verdict, hunk.state) == ("fine", "skipped", "fine")
    assert "Blue will do." in hunk.reason


def test_a_result_that_fails_a_check_is_broken(world: Callable[..., World]) -> None:
    target = target_of(look(world(REFUSED)), "2.0")
    patch = target.patches[0]
    assert (patch.verdict, patch.state) == ("failed", "broken")
    assert [(check.id, check.ok, check.expected, check.found) for check in patch.checks] == [
        ("grads-in-region", False, 1, 2)
    ]


def test_with_a_history_the_commit_and_its_pull_request_are_named(world: Callable[..., World]) -> None:
    made = world(CLASH)
    hunk = hunks_of(target_of(look(made, repository=made.repository()), "2.0"))["first/notes-colour"]
    assert [(each.subject, each.pull_request) for each in hunk.commits] == [("Release 2.0 (#27)", 27)]


def test_a_base_can_be_named(world: Callable[..., World]) -> None:
    with_base = target_of(look(world(MOVED), onto=("2.0",), base="1.0"), "2.0")
    assert [patch.base for patch in with_base.patches] == ["1.0", "1.0"]
    with pytest.raises(UsageError, match="unknown release 'nothing'"):
        look(world(MOVED), onto=("nothing",))


def test_a_branch_in_another_encoding_is_in_nobodys_way(world: Callable[..., World]) -> None:
    made = world(MOVED)
    repository = made.repository()
    refs = os.fsencode(repository / ".git" / "refs" / "heads")
    with open(refs + b"/bad\xff", "wb") as ref:  # noqa: PTH123 - a name that is no text
        ref.write(git(repository, "rev-parse", "HEAD").encode() + b"\n")
    assert look(made, onto=("HEAD",), repository=repository).targets[0].state == "fine"


def test_a_base_that_would_give_another_text_than_the_variant_that_is_there_is_to_be_looked_at(
    world: Callable[..., World],
) -> None:
    made = world(MOVED)
    variants = made.series / "first" / "variants"
    (variants / "v2.0.patch").write_bytes(
        (variants / "v1.0.patch").read_bytes().replace(b"green", b"blue").replace(b"-8,7 +8,8", b"-10,7 +10,8")
    )
    document = made.series / "first" / "patch.yaml"
    text = document.read_text().replace('releases: ">=1.0"', 'releases: ">=1.0,<2.0"')
    document.write_text(text.replace("checks:\n", '  - file: v2.0.patch\n    releases: ">=2.0"\nchecks:\n'))
    assert regenerate(made.series, cache=made.cache).problems == ()
    target = target_of(look(made, onto=("2.0",), base="1.0"), "2.0")
    assert [(patch.state, patch.verdict, patch.reason) for patch in target.patches] == [
        ("look", "review", "carrying v1.0.patch from v1.0 would not give its text"),
        ("fine", "carries", ""),
    ]


def test_a_file_that_became_a_link_is_broken(world: Callable[..., World]) -> None:
    made = world(MOVED)
    repository = tracked(made)
    (repository / CODE).unlink()
    (repository / CODE).symlink_to("notes.md")
    commit = record(repository, "A link")
    report = look(made, repository=repository)
    target = target_of(report, "main")
    said = f"{repository}@{commit}: {CODE} is a link, and links are not followed"
    assert (report.verdict, target.state, target.problems) == ("broken", "broken", (Problem(said),))


def test_a_base_that_nobody_knows_is_a_usage_error(world: Callable[..., World]) -> None:
    made = world(MOVED)
    with pytest.raises(UsageError, match="--from: unknown release 'nothing'"):
        look(made, base="nothing")
    repository = tracked(made)
    with pytest.raises(RevisionNotFoundError, match="has no revision 'nothing'"):
        look(made, base="nothing", repository=repository)


def test_a_base_that_moves_is_looked_at_where_it_is(world: Callable[..., World]) -> None:
    made = world(MOVED)
    repository = tracked(made)
    git(repository, "branch", "old", "HEAD~1")
    (repository / NOTES).write_bytes(NOTES_1.replace(b"colour: red", b"colour: blue"))
    commit = record(repository, "Blue")
    asked = {"onto": (commit,), "base": "old", "repository": repository}
    assert target_of(look(made, **asked), commit[:8]).state == "broken"
    git(repository, "branch", "-f", "old", commit)
    again = target_of(look(made, **asked), commit[:8])
    assert [patch.verdict for patch in again.patches] == ["no-base", "no-base"]


def test_a_target_that_is_named_twice_is_looked_at_once(world: Callable[..., World]) -> None:
    report = look(world(MOVED), onto=("1.0", "v2.0", "core_v1.0", "2.0"))
    assert [target.name for target in report.targets] == ["1.0", "2.0"]


def test_the_commands_that_are_told_are_for_a_shell_and_name_the_base(world: Callable[..., World]) -> None:
    made = world(CLASH)
    repository = made.repository()
    git(repository, "branch", "a$(b)")
    target = look(made, onto=("a$(b)",), base="1.0", repository=repository).targets[0]
    hunk = hunks_of(target)["first/notes-colour"]
    options = f"--onto 'a$(b)' --from 1.0 --git {repository} --patches {made.series}"
    assert (target.next, hunk.next) == (
        f"`patchkit rebase {options}` opens an edit directory for what is in conflict",
        f"`patchkit explain first/notes-colour {options}` shows both sides",
    )


def test_the_commands_of_an_answer_that_is_kept_are_those_of_who_asks_now(
    world: Callable[..., World], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = world(CLASH)
    clone = made.repository()
    other = tmp_path / "other clone"
    shutil.copytree(clone, other)
    asked = {"onto": ("main",), "base": "1.0"}
    first = target_of(look(made, repository=clone, **asked), "main").next
    again = target_of(look(made, repository=other, **asked), "main").next
    monkeypatch.chdir(made.root)
    (made.root / "patchkit.toml").write_text(f'patches = "{made.series.relative_to(made.root)}"\n')
    asked_here = Asked(repository=other, onto=("main",), base="1.0")
    here = check_upstream(made.series.relative_to(made.root), asked_here, NOTHING, cache=made.cache)

    ends = "` opens an edit directory for what is in conflict"
    command = "`patchkit rebase --onto main --from 1.0"
    assert (first, again, target_of(here, "main").next) == (
        f"{command} --git {clone} --patches {made.series}{ends}",
        f"{command} --git '{other}' --patches {made.series}{ends}",
        f"{command} --git '{other}'{ends}",
    )


def test_what_has_nothing_to_do_any_more_is_told_as_the_engine_has_it() -> None:
    assert {Verdict.UPSTREAMED.value, Verdict.SUPERSEDED.value, Verdict.OBSOLETE.value} == GONE


def found_release(world: World, version: str) -> Release:
    """A release that the index has and the file does not: the wheel of 2.0 under another version."""
    listed = load_versions(world.root / "upstream_versions.yaml").upstream.releases[-1]
    return replace(listed, version=version, tag=None, commit=None)


@pytest.mark.parametrize(
    ("found", "looked_at"),
    [
        (["2.1"], ["1.0", "2.0", "2.1"]),
        (["2.1", "2.2"], ["1.0", "2.0", "2.1", "2.2"]),
        # Of pre-releases the newest alone, and only when it is ahead of everything.
        (["2.1.dev1", "2.1rc0"], ["1.0", "2.0", "2.1rc0"]),
        (["1.5rc0", "2.0rc1"], ["1.0", "2.0"]),
        (["2.1", "2.1rc0"], ["1.0", "2.0", "2.1"]),
    ],
)
def test_a_release_that_was_found_is_looked_at(
    world: Callable[..., World], found: list[str], looked_at: list[str]
) -> None:
    made = world(MOVED)
    discovery = Discovery(releases=tuple(found_release(made, version) for version in found))
    report = check_upstream(made.series, Asked(), discovery, cache=made.cache)
    assert [target.name for target in report.targets] == looked_at
    assert {target.listed for target in report.targets[2:]} <= {False}
    assert {target.state for target in report.targets} == {"fine"}


def test_of_thousands_of_new_releases_the_newest_are_looked_at(
    world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index that claims any number of them would keep a nightly job from its end."""
    monkeypatch.setattr(module, "fetch_releases", lambda *_args, **_options: {})
    made = world(MOVED)
    discovery = Discovery(releases=tuple(found_release(made, f"3.{number}") for number in range(5000)))
    report = check_upstream(made.series, Asked(), discovery, cache=made.cache)
    assert [target.name for target in report.targets] == [
        "1.0",
        "2.0",
        *(f"3.{number}" for number in range(4980, 5000)),
    ]
    assert report.notes[0] == (
        "not looked at, as there are 5000 new releases and the newest 20 are: v3.0 to v3.4979 (4980); "
        "--onto looks at one"
    )


def test_a_pre_release_that_was_found_can_be_named(world: Callable[..., World]) -> None:
    made = world(MOVED)
    discovery = Discovery(releases=(found_release(made, "1.5.dev3"),))
    report = check_upstream(made.series, Asked(onto=("1.5.dev3",)), discovery, cache=made.cache)
    assert [(target.title, target.state, target.listed) for target in report.targets] == [("v1.5.dev3", "fine", False)]


def test_what_is_older_than_the_series_is_told_and_not_looked_at(world: Callable[..., World]) -> None:
    made = world(MOVED)
    file = made.root / "upstream_versions.yaml"
    file.write_text(file.read_text().replace('version: "2.0"', 'version: "0.9"'))
    report = look(made)
    assert ([target.name for target in report.targets], report.ok) == (["1.0"], True)
    assert report.notes == ("not looked at, older than what the series was made for: v0.9",)
    named = look(made, onto=("0.9",)).targets[0]
    assert [patch.verdict for patch in named.patches] == ["no-base", "no-base"]
    assert (named.patches[0].reason, named.patches[0].next) == (
        "first has no variant that fits any target before v0.9",
        "name the target whose variant is to be carried with --from BASE, such as v1.0",
    )


# What is out of reach.


def without_wheel(world: World, *versions: str) -> None:
    for version in versions:
        for file in (world.cache / "wheels").glob(f"*/megatron_core-{version}-*.whl"):
            file.unlink()


def test_one_release_out_of_reach_does_not_hide_the_others(world: Callable[..., World]) -> None:
    made = world(MOVED)
    without_wheel(made, "2.0")
    report = look(made, offline=True)
    target = target_of(report, "2.0")
    assert (report.ok, report.verdict) == (True, "fine")
    assert (target.state, target.reason, target.next, target.fingerprint) == (
        "unreachable",
        "it is not in the cache",
        "look again without --offline",
        "",
    )


def test_a_recorded_release_whose_wheel_is_out_of_reach_is_read_from_the_clone(world: Callable[..., World]) -> None:
    made = world(MOVED)
    repository = made.repository()
    without_wheel(made, "1.0", "2.0")
    report = look(made, offline=True, repository=repository)
    known, unknown = target_of(report, "1.0"), target_of(report, "2.0")
    assert (known.state, {patch.verdict for patch in known.patches}) == ("fine", {"recorded"})
    assert report.notes == (f"v1.0: its wheel is out of reach, and commit {str(known.commit)[:10]} was read instead",)
    assert "upstream" not in {path.split("/")[0] for path in contents(made.cache)}  # it was not the wheel
    # The lock does not say what text 2.0 has.
    assert (unknown.state, unknown.reason) == ("unreachable", "it is not in the cache")


def test_a_wheel_with_other_bytes_is_broken_whatever_the_clone_has(
    world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = world(MOVED)
    repository = made.repository()
    failed = {"1.0": DigestMismatchError("other bytes"), "2.0": TreeError("no answer")}
    monkeypatch.setattr("patchkit.operations.upstream_look.fetch_releases", lambda *_args, **_options: failed)
    report = look(made, repository=repository)
    assert [(target.state, target.reason) for target in report.targets] == [
        ("broken", "other bytes"),
        ("unreachable", "no answer"),
    ]


def test_a_target_that_was_named_and_is_out_of_reach_is_to_be_looked_at(world: Callable[..., World]) -> None:
    made = world(MOVED)
    without_wheel(made, "2.0")
    reports = [look(made, offline=True, onto=names) for names in (("1.0",), ("1.0", "2.0"), ("2.0",))]
    assert [report.verdict for report in reports] == ["fine", "look", "unreachable"]


def test_nothing_in_reach_is_no_yes(world: Callable[..., World]) -> None:
    made = world(MOVED)
    without_wheel(made, "1.0", "2.0")
    report = look(made, offline=True)
    assert (report.ok, report.verdict) == (False, "unreachable")


def test_what_is_out_of_reach_is_not_remembered(world: Callable[..., World]) -> None:
    made = world(MOVED)
    kept = {path: (made.cache / path).read_bytes() for path in contents(made.cache) if path.startswith("wheels/")}
    without_wheel(made, "2.0")
    look(made, offline=True)
    lay(made.cache, kept)
    assert target_of(look(made, offline=True), "2.0").state == "fine"


def test_an_answer_that_lacks_a_base_out_of_reach_is_not_remembered(world: Callable[..., World]) -> None:
    made = world(MOVED)
    kept = {path: (made.cache / path).read_bytes() for path in contents(made.cache) if path.startswith("wheels/")}
    without_wheel(made, "1.0")
    for base in (None, "1.0"):
        report = look(made, offline=True, base=base, onto=("2.0",))
        without = target_of(report, "2.0")
        assert report.notes == ("v2.0: nothing could be carried from 1.0, out of reach",)
        assert [patch.verdict for patch in without.patches] == ["no-base", "no-base"]
    lay(made.cache, kept)
    for base in (None, "1.0"):
        again = target_of(look(made, offline=True, base=base, onto=("2.0",)), "2.0")
        assert [patch.verdict for patch in again.patches] == ["carries", "carries"]


def test_a_broken_clone_is_an_error(world: Callable[..., World], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(TreeError, match="is not a git repository"):
        look(world(MOVED), repository=tmp_path / "empty", onto=("some-branch",))


def test_a_release_with_another_text_than_recorded_is_told_loudly(world: Callable[..., World]) -> None:
    made = world(MOVED)
    lock = made.series / "lock.yaml"
    blob = hashlib.sha1(b"blob %d\0" % len(CODE_1) + CODE_1).hexdigest()  # noqa: S324 - git's own
    assert blob in lock.read_text()
    lock.write_text(lock.read_text().replace(blob, "e" * 40))
    report = look(made, onto=("1.0",))
    assert (report.ok, report.verdict, report.targets[0].state) == (False, "broken", "broken")
    assert report.targets[0].problems == (
        Problem(
            f"v1.0 is not what was recorded: {CODE} has other text than upstream_versions.yaml says",
            path=CODE,
            hint="find out who changed it, the tag or the wheel, before you use it; "
            f"then `patchkit regenerate --patches {made.series}`",
        ),
    )


# Branches.


def tracked(world: World) -> Path:
    """Make the repository's main a tracked branch that the series was made for."""
    repository = world.repository()
    file = world.root / "upstream_versions.yaml"
    head = git(repository, "rev-parse", "HEAD").strip()
    branch = (
        "  branches:\n    - name: main\n"
        f'      commit: "{head}"\n      date: 2026-01-02\n      as-of: "2.0"\n      blobs: {{}}\n'
    )
    text = file.read_text()
    file.write_text(text.replace("torch-memory-saver:\n", branch + "torch-memory-saver:\n", 1))
    assert regenerate(world.series, repository=repository, cache=world.cache).problems == ()
    return repository


def tag_found(commit: str) -> Discovery:
    found = FoundRelease(version="2.1", where=("tag",), tag="core_v2.1", commit=commit, pre_release=False)
    return Discovery(found=(found,))


def test_a_tag_on_what_is_a_target_already_is_no_second_one(world: Callable[..., World]) -> None:
    made = world(MOVED)
    repository = tracked(made)
    (repository / NOTES).write_bytes(NOTES_1.replace(b"colour: red", b"colour: blue"))
    moved = record(repository, "Blue (#9)")
    beside = git(repository, "rev-parse", "main~1")
    git(repository, "checkout", "-q", "--detach", beside)
    git(repository, "commit", "-q", "--allow-empty", "-m", "beside")
    names = []
    for commit in (moved, git(repository, "rev-parse", "HEAD")):
        asked = Asked(repository=repository)
        report = check_upstream(made.series, asked, tag_found(commit), cache=made.cache)
        names.append([target.name for target in report.targets])
    assert names == [["1.0", "2.0", "main"], ["1.0", "2.0", "core_v2.1", "main"]]


def test_a_tag_with_the_text_of_a_branch_is_carried_to_from_there(world: Callable[..., World]) -> None:
    """The nearest release is another text; what patch.yaml says of the branch by name is what there is to decide."""
    made = world(MOVED)
    repository = made.repository()
    (repository / NOTES).write_bytes(NOTES_1.replace(b"colour: red", b"colour: blue"))
    head = record(repository, "Blue (#9)")
    file = made.root / "upstream_versions.yaml"
    main = f'name: main, commit: "{head}", date: 2026-01-02, as-of: "2.0", blobs: {{}}'
    branches = f"  branches:\n    - {{{main}}}\ntorch-memory-saver:\n"
    file.write_text(file.read_text().replace("torch-memory-saver:\n", branches, 1))
    patch = made.series / "first" / "patch.yaml"
    text = patch.read_text().replace("intent: Another colour.", "intent: Another colour.\n    not-on: [main]")
    patch.write_text(text.replace("variants:\n", "variants:\n  - file: main.patch\n    targets: [main]\n"))
    own = FIRST_1[: FIRST_1.index(b"--- a/megatron/core/notes.md")]
    (made.series / "first" / "variants" / "main.patch").write_bytes(own)
    assert regenerate(made.series, repository=repository, cache=made.cache).problems == ()
    git(repository, "checkout", "-q", "--detach")
    git(repository, "commit", "-q", "--allow-empty", "-m", "Release")
    discovery = tag_found(git(repository, "rev-parse", "HEAD"))

    def look_at_the_tag() -> TargetAnswer:
        report = check_upstream(made.series, Asked(repository=repository), discovery, cache=made.cache)
        return target_of(report, "core_v2.1")

    target = look_at_the_tag()
    assert [(patch.base, patch.verdict, patch.reason) for patch in target.patches] == [
        ("main", "review", ""),
        ("main", "carries", ""),
    ]
    (review,) = target.patches[0].review
    assert review == (
        "patch.yaml has a hunk notes-colour for core_v2.1, and not for main (not-on), which this is carried from: "
        "enter core_v2.1 in its not-on too, or write it by hand if core_v2.1 needs it"
    )
    patch.write_text(patch.read_text().replace("not-on: [main]", "not-on: [main, core_v2.1]"))
    assert regenerate(made.series, repository=repository, cache=made.cache).problems == ()
    assert (look_at_the_tag().state, [patch.variant for patch in look_at_the_tag().patches]) == (
        "fine",
        ["main.patch", "v1.0.patch"],
    )


def test_a_branch_is_looked_at_where_it_is_now(world: Callable[..., World]) -> None:
    made = world(MOVED)
    repository = tracked(made)
    before = target_of(look(made, repository=repository), "main")
    assert (before.state, before.moved, before.kind) == ("fine", False, "branch")
    (repository / NOTES).write_bytes(NOTES_1.replace(b"colour: red", b"colour: blue"))
    commit = record(repository, "Blue (#9)")
    after = target_of(look(made, repository=repository), "main")
    assert (after.state, after.moved, after.commit) == ("broken", True, commit)
    assert [patch.base for patch in after.patches] == ["main", "main"]
    assert [each.pull_request for each in hunks_of(after)["first/notes-colour"].commits] == [9]
    assert after.next.startswith(f"`patchkit rebase --onto {commit[:12]} --from main --git {repository} --patches ")


@pytest.mark.parametrize("base", [None, "1.0"])
def test_a_variant_that_still_fits_a_branch_hides_no_drift(world: Callable[..., World], base: str | None) -> None:
    made = world(MOVED)
    repository = tracked(made)
    file = repository / CODE
    # Farther from the hunk than its context reaches.
    file.write_bytes(
        file.read_bytes().replace(b"def __init__(self, size, kind):", b"def __init__(self, size, kind, at):")
    )
    record(repository, "Another argument")
    target = target_of(look(made, repository=repository, base=base), "main")
    hunk = hunks_of(target)["first/grads-region"]
    assert (target.state, target.moved, target.patches[0].verdict) == ("look", True, "review")
    assert (hunk.state, [drift.kinds for drift in hunk.drift]) == ("look", [("signature",)])


def test_a_branch_that_moved_elsewhere_is_no_news(world: Callable[..., World]) -> None:
    made = world(MOVED)
    repository = tracked(made)
    before = target_of(look(made, repository=repository), "main")
    (repository / "README.md").write_bytes(b"Hello.\n")
    commit = record(repository, "Say hello")
    after = target_of(look(made, repository=repository), "main")
    assert (after.commit, after.moved, after.fingerprint) == (commit, False, before.fingerprint)


@pytest.mark.parametrize("head", ["main", "nothing-yet"])
def test_in_a_checkout_the_branch_is_the_remotes_whatever_is_checked_out(
    world: Callable[..., World], tmp_path: Path, head: str
) -> None:
    made = world(MOVED)
    origin = tracked(made)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", origin, clone)
    (clone / NOTES).write_bytes(NOTES_1.replace(b"colour: red", b"colour: blue"))
    record(clone, "Mine")
    git(clone, "symbolic-ref", "HEAD", f"refs/heads/{head}")
    target = target_of(look(made, repository=clone), "main")
    assert (target.commit, target.state, target.moved) == (git(origin, "rev-parse", "main"), "fine", False)


def test_a_branch_that_is_gone_is_out_of_reach_although_it_was_looked_at_before(world: Callable[..., World]) -> None:
    made = world(MOVED)
    repository = tracked(made)
    assert target_of(look(made, repository=repository), "main").state == "fine"
    git(repository, "branch", "-m", "main", "other")
    target = target_of(look(made, repository=repository), "main")
    assert (target.state, target.reason, target.fingerprint) == ("unreachable", f"{repository} has no branch main", "")


def test_a_branch_whose_commit_a_damaged_clone_lost_is_told_as_that(
    world: Callable[..., World], tmp_path: Path
) -> None:
    made = world(MOVED)
    clone = tmp_path / "clone.git"
    git(tmp_path, "clone", "-q", "--bare", tracked(made).as_uri(), clone)
    commit = git(clone, "rev-parse", "main")
    for folder in (clone / "objects").iterdir():
        shutil.rmtree(folder)
    report = look(made, repository=clone)
    target = target_of(report, "main")
    why = f"{clone} is damaged: refs/heads/main is {commit}, which is not there"
    hint = f"git -C {clone} fsck says what is damaged; a new clone mends it"
    assert (target.state, target.reason, target.fingerprint) == ("broken", why, "")
    assert (report.ok, report.verdict, target.problems) == (False, "broken", (Problem(why, hint=hint),))


@pytest.mark.parametrize("what", ["main:megatron", "main:megatron/core/notes.md"])
def test_a_branch_of_which_a_damaged_clone_lost_a_file_is_told_as_that(
    world: Callable[..., World], tmp_path: Path, what: str
) -> None:
    made = world(MOVED)
    origin = tracked(made)
    (origin / NOTES).write_bytes(NOTES_1.replace(b"colour: red", b"colour: blue"))
    commit, lost = record(origin, "Blue"), git(origin, "rev-parse", what)
    (origin / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    report = look(made, repository=origin)
    target = target_of(report, "main")
    assert (report.verdict, target.state, target.commit, len(target.problems)) == ("broken", "broken", commit, 1)
    assert (f" of {origin}" in target.problems[0].message, lost in target.problems[0].message) == (True, True)
    assert target.problems[0].hint == f"git -C {origin} fsck says what is damaged; a new clone mends it"


def test_no_older_base_is_taken_where_a_damaged_clone_lost_one(world: Callable[..., World]) -> None:
    made = world(MOVED)
    origin = tracked(made)
    (origin / NOTES).write_bytes(NOTES_1.replace(b"colour: red", b"colour: blue"))
    old, new = git(origin, "rev-parse", "main:megatron/core/buffer.py"), record(origin, "Blue")
    (origin / ".git" / "objects" / old[:2] / old[2:]).unlink()
    assert target_of(look(made, onto=(new,), repository=origin), new[:8]).state == "broken"


def test_without_a_repository_branches_are_told_as_not_looked_at(world: Callable[..., World]) -> None:
    made = world(MOVED)
    tracked(made)
    target = target_of(look(made), "main")
    assert (target.state, target.reason, target.next) == (
        "unreachable",
        "a branch is read from a clone, and none was given",
        "give a clone of Megatron-LM with --git REPO",
    )


def test_a_partial_clone_is_left_as_it_is_and_says_what_it_lacks(world: Callable[..., World], tmp_path: Path) -> None:
    made = world(MOVED)
    repository = tracked(made)
    (repository / NOTES).write_bytes(NOTES_1.replace(b"colour: red", b"colour: blue"))
    record(repository, "Blue (#9)")
    whole = target_of(look(made, repository=repository), "main")
    git(repository, "config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    git(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", f"file://{repository}", str(partial))
    before = contents(partial)
    shutil.rmtree(made.cache / "upstream")
    target = target_of(look(made, repository=partial), "main")
    assert (whole.state, target.state) == ("broken", "unreachable")
    assert re.match(r"git cannot read megatron/core/buffer\.py \([0-9a-f]{40}\) of .*/partial@", target.reason)
    assert f"git -C {partial} fetch --refetch --no-filter" in target.next
    assert contents(partial) == before


def test_looking_writes_nothing(world: Callable[..., World]) -> None:
    made = world(MOVED)
    repository = tracked(made)
    (repository / NOTES).write_bytes(NOTES_1.replace(b"colour: red", b"colour: blue"))
    record(repository, "Blue (#9)")
    before = contents(repository), made.sources()
    look(made, repository=repository)
    assert (contents(repository), made.sources()) == before


# What is remembered.


def test_a_second_run_computes_nothing(world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> None:
    made = world(CLASH)
    first = look(made)

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(module, "carried", never)
    monkeypatch.setattr(module, "recorded", never)
    assert look(made) == first


def test_what_one_clone_knows_of_a_release_is_not_told_of_another(world: Callable[..., World]) -> None:
    made = world(CLASH)
    repository = made.repository()
    release = load_versions(made.root / "upstream_versions.yaml").upstream.releases[-1]
    told = []
    for tag in ("core_v2.1", "core_v2.1-again"):
        git(repository, "commit", "-q", "--allow-empty", "-m", tag)
        commit = git(repository, "rev-parse", "HEAD")
        discovery = Discovery(releases=(replace(release, version="2.1", tag=tag, commit=commit),))
        report = check_upstream(made.series, Asked(repository=repository), discovery, cache=made.cache)
        answer = target_of(report, "2.1")
        told.append((answer.state, answer.tag, answer.commit == commit))
    assert told == [("broken", "core_v2.1", True), ("broken", "core_v2.1-again", True)]


def test_a_clone_that_lacks_history_leaves_nothing_for_one_that_has_it(
    world: Callable[..., World], tmp_path: Path
) -> None:
    made = world({})
    whole = made.repository()
    git(whole, "checkout", "-q", "--orphan", "other")
    record(whole, "Begin anew")
    (whole / NOTES).write_bytes(CLASH[NOTES])
    commit = record(whole, "Blue (#9)")
    part = tmp_path / "part"
    git(tmp_path, "clone", "-q", "--bare", "--single-branch", "--no-tags", "-b", "other", f"file://{whole}", str(part))
    told = []
    for repository in (part, whole, part):
        report = look(made, repository=repository, onto=(commit,), base="1.0")
        named = hunks_of(report.targets[0])["first/notes-colour"].commits
        told.append(([each.subject for each in named], len(report.notes)))
    assert told == [([], 1), (["Blue (#9)"], 0), (["Blue (#9)"], 0)]


def test_a_partial_clone_leaves_nothing_for_one_that_has_all_texts(world: Callable[..., World], tmp_path: Path) -> None:
    made = world({})
    whole = made.repository()
    (whole / NOTES).write_bytes(CLASH[NOTES])
    record(whole, "Blue (#9)")
    (whole / NOTES).write_bytes(CLASH[NOTES].replace(b"depth: 4", b"depth: 7"))
    commit = record(whole, "End")
    git(whole, "config", "uploadpack.allowFilter", "true")
    part = tmp_path / "part"
    # The checkout brings the newest texts; those between them and the base are what git would compare.
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{whole}", str(part))
    told = []
    for repository in (part, whole, part):
        report = look(made, repository=repository, onto=(commit,), base="1.0")
        named = hunks_of(report.targets[0])["first/notes-colour"].commits
        told.append(([each.subject for each in named], report.notes))
    why = "git gave no answer, as in a clone that lacks old texts"
    note = f"{commit[:8]}: first: no commits are named for notes-colour: {why}"
    assert told == [([], (note,)), (["Blue (#9)"], ()), (["Blue (#9)"], ())]


def test_a_worktree_of_a_shallow_clone_leaves_nothing_for_a_whole_one(
    world: Callable[..., World], tmp_path: Path
) -> None:
    made = world({})
    whole = made.repository()
    git(whole, "tag", "base", "HEAD~1")
    (whole / NOTES).write_bytes(CLASH[NOTES])
    record(whole, "Blue (#9)")
    (whole / NOTES).write_bytes(CLASH[NOTES].replace(b"depth: 4", b"depth: 7"))
    commit = record(whole, "End")
    shallow, linked = tmp_path / "shallow", tmp_path / "linked"
    git(tmp_path, "clone", "-q", "--bare", "--depth=1", f"file://{whole}", str(shallow))
    git(shallow, "fetch", "-q", "--depth=1", "origin", "tag", "base")
    git(shallow, "worktree", "add", "-q", str(linked), commit)
    told = []
    for repository in (linked, whole, linked):
        report = look(made, repository=repository, onto=(commit,), base="1.0")
        subjects = [each.subject for each in hunks_of(report.targets[0])["first/notes-colour"].commits]
        told.append((subjects, report.notes))
    note = (
        f"{commit[:8]}: first: no commits are named for notes-colour: the clone is shallow, and lacks commits between"
    )
    # Nothing of it is kept: somebody may have deepened the clone.
    assert told == [([], (note,)), (["Blue (#9)"], ()), ([], (note,))]


def test_a_shallow_clone_without_the_base_says_that_it_is_shallow(world: Callable[..., World], tmp_path: Path) -> None:
    made = world({})
    whole = made.repository()
    (whole / NOTES).write_bytes(CLASH[NOTES])
    commit = record(whole, "Blue (#9)")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--bare", "--depth=1", f"file://{whole}", str(shallow))
    report = look(made, repository=shallow, onto=(commit,), base="1.0")
    base = git(whole, "rev-parse", "HEAD~2")
    why = f"{shallow} has no revision {base!r}, and is shallow"
    assert report.notes == (f"{commit[:8]}: first: upstream's commits are not named: {why}",)


def test_a_release_that_was_yanked_since_it_was_looked_at_is_told_as_that(world: Callable[..., World]) -> None:
    made = world(MOVED)
    release = found_release(made, "2.1")
    told = []
    for yanked in (None, "wrong version"):
        discovery = Discovery(releases=(replace(release, yanked=yanked),))
        told.append(check_upstream(made.series, Asked(), discovery, cache=made.cache).targets[-1].yanked)
    assert told == [None, "wrong version"]


def test_an_edit_of_the_series_is_looked_at_anew(world: Callable[..., World]) -> None:
    made = world(MOVED)
    look(made)
    file = made.series / "first" / "variants" / "v1.0.patch"
    file.write_bytes(file.read_bytes().replace(b"colour: green", b"colour: violet"))
    assert regenerate(made.series, cache=made.cache).problems == ()
    assert "+colour: violet\n" in hunks_of(target_of(look(made), "2.0"))["first/notes-colour"].diff


def test_news_is_what_was_not_reported(world: Callable[..., World]) -> None:
    made = world(CLASH)
    report = look(made)
    first = news(report, {})
    assert ([target.name for target in first.report.targets], first.report.ok, first.anything) == (
        ["1.0", "2.0"],
        False,
        True,
    )
    second = news(report, first.known)
    assert (second.report.targets, second.report.ok, second.report.verdict, second.anything) == (
        (),
        True,
        "fine",
        False,
    )
    assert second.known == first.known
    assert [target.new for target in marked(report, first.known).targets] == [False, False]


def test_what_goes_back_to_an_earlier_state_is_news_again() -> None:
    def answer(fingerprint: str) -> UpstreamReport:
        target = TargetAnswer(
            name="main", title="main", kind="branch", state="fine", as_of="1", fingerprint=fingerprint
        )
        return UpstreamReport(tool="1", ok=True, verdict="fine", series="s", digest="d", targets=(target,))

    first = news(answer("a" * 16), {})
    second = news(answer("b" * 16), first.known)
    third = news(answer("a" * 16), second.known)
    assert [each.anything for each in (first, second, third)] == [True, True, True]


def test_a_target_out_of_reach_is_no_news_and_stays_known() -> None:
    target = TargetAnswer(name="main", title="main", kind="branch", state="unreachable", as_of="1")
    report = UpstreamReport(tool="1", ok=True, verdict="fine", series="s", digest="d", targets=(target,))
    found = news(report, {"main": ["a" * 16]})
    assert (found.report.targets, dict(found.known), found.anything) == ((), {"main": frozenset({"a" * 16})}, False)


def test_a_target_that_is_not_what_was_recorded_is_told_each_time() -> None:
    problem = Problem("core_v1.0 is another text")
    target = TargetAnswer(name="1.0", title="v1.0", kind="release", state="broken", as_of="1.0", problems=(problem,))
    report = UpstreamReport(tool="1", ok=False, verdict="broken", series="s", digest="d", targets=(target,))
    first = news(report, {})
    second = news(report, first.known)
    assert [(each.report.targets, each.report.ok) for each in (first, second)] == [((target,), False)] * 2


def test_a_problem_of_upstream_is_reported_once() -> None:
    problem = Problem("core_v1.0 has moved")
    report = UpstreamReport(tool="1", ok=False, verdict="broken", series="s", digest="d", problems=(problem,))
    first = news(report, {})
    second = news(report, first.known)
    assert [(each.report.problems, each.report.ok) for each in (first, second)] == [((problem,), False), ((), True)]


def test_the_same_problem_of_two_files_is_two() -> None:
    problems = tuple(Problem("another file at core_v1.0 than was recorded", path=path) for path in (CODE, NOTES))
    report = UpstreamReport(tool="1", ok=False, verdict="broken", series="s", digest="d", problems=problems[:1])
    known = news(report, {}).known
    assert news(replace(report, problems=problems), known).report.problems == problems[1:]


def test_a_fault_of_the_clone_is_reported_until_it_is_mended() -> None:
    moved, lost = Problem("core_v1.0 has moved"), Problem("clone is damaged: main is lost")
    report = UpstreamReport(tool="1", ok=False, verdict="broken", series="s", digest="d", problems=(lost, moved))
    first = news(report, {}, [lost])
    second = news(report, first.known, [lost])
    assert [(each.report.problems, each.report.ok, each.anything) for each in (first, second)] == [
        ((lost, moved), False, True),
        ((lost,), False, True),
    ]
    assert not news(replace(report, problems=(moved,)), second.known).anything


def test_a_target_of_any_name_is_known_afterwards_beside_the_problems_of_upstream() -> None:
    targets = tuple(
        TargetAnswer(name=name, title=name, kind="revision", state="fine", as_of="1.0", fingerprint="a" * 16)
        for name in ("upstream", "main@{1 day ago}", "#12")
    )
    problems = (Problem("core_v1.0 has moved"),)
    report = UpstreamReport(
        tool="1", ok=False, verdict="broken", series="s", digest="d", targets=targets, problems=problems
    )
    for each in (report, replace(report, problems=())):
        known = parse_reported(print_reported(news(each, {}).known), "state")
        assert not news(each, known).anything


def test_a_patch_without_a_base_is_told_and_the_rest_goes_on(world: Callable[..., World]) -> None:
    made = world(MOVED)
    report = look(made, onto=("1.0",), base="2.0")
    patches: list[PatchAnswer] = list(report.targets[0].patches)
    assert [(patch.state, patch.verdict) for patch in patches] == [("fine", "carries"), ("fine", "carries")]


# What rebase takes, and how it is called.


def test_a_release_of_which_the_wheel_lacks_files_is_the_commit_of_its_tag() -> None:
    release = Release(
        version="2.0",
        tag="core_v2.0",
        commit="2" * 40,
        date="2026-01-01",
        python="",
        ships=("megatron.core",),
        blobs={},
        files={},
    )
    target = Target("2.0", "2.0", "core_v2.0", "2" * 40, {}, release)
    wanted = Wanted(target=target, kind="release", listed=False)
    paths = ["megatron/core/a.py", "megatron/training/b.py"]

    (taken,) = as_carried([wanted], paths, (), MEGATRON, with_clone=True)
    assert (taken.target.name, taken.target.as_of, taken.kind) == ("core_v2.0", "2.0", "revision")
    (lacking,) = as_carried([wanted], paths, (), MEGATRON, with_clone=False)
    assert lacking.missing == "the wheel of v2.0 has no megatron/training/b.py: it ships megatron.core"
    assert as_carried([wanted], paths[:1], (), MEGATRON, with_clone=False) == [wanted]
    # The series has carried to this commit already: it is that target, and no second one.
    mine = Target("core_v2.0", "2.0", None, "2" * 40, {}, None)
    assert as_carried([wanted], paths, (mine,), MEGATRON, with_clone=True) == []


def test_an_unwritten_rule_is_no_condition_for_dropping(world: Callable[..., World]) -> None:
    made = world(HAS_IT)
    file = made.series / "first" / "patch.yaml"
    file.write_bytes(file.read_bytes().replace(b"drop-when: Upstream has it.", b"drop-when: 'TODO: when'"))
    lock = made.series / "lock.yaml"
    old = load_series(made.series)
    lock.write_text(lock.read_text().replace(load_lock_text(lock), old.digest))
    hunk = hunks_of(target_of(look(made), "2.0"))["first/notes-colour"]
    assert hunk.next == "drop it for this target if that is right: patch.yaml does not say when"


def load_lock_text(lock: Path) -> str:
    """The digest of the series that a lock names."""
    return next(line.split()[1] for line in lock.read_text().splitlines() if line.startswith("series:"))


EXTRA = "megatron/core/extra.py"
IN_THE_WAY = [
    pytest.param({f"{EXTRA}/__init__.py": b"HERE = 1\n"}, EXTRA, "the target has a folder there", id="a folder"),
    pytest.param(
        {"megatron/core/tools": b"#!/bin/sh\n"},
        "megatron/core/tools/extra.py",
        "the target has a file megatron/core/tools, and no folder",
        id="a file above it",
    ),
]


def makes_a_file(made: World, path: str, releases: dict[str, dict[str, bytes]]) -> None:
    """Let the second patch make a file, and regenerate the series for ``releases``."""
    document, variant = made.series / "second" / "patch.yaml", made.series / "second" / "variants" / "v1.0.patch"
    spec = f"  - id: extra-file\n    group: plumbing\n    file: {path}\n    scope: <module>\n    intent: More.\n"
    document.write_text(document.read_text().replace("variants:\n", f"{spec}variants:\n"))
    variant.write_text(f"{variant.read_text()}--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@ extra-file\n+EXTRA = 1\n")
    made._versions(releases)
    assert regenerate(made.series, cache=made.cache).problems == ()


@pytest.mark.parametrize(("newer", "path", "reason"), IN_THE_WAY)
def test_a_file_that_cannot_be_made_on_the_target_is_a_conflict(
    world: Callable[..., World], newer: dict[str, bytes], path: str, reason: str
) -> None:
    made = world(newer)
    makes_a_file(made, path, {"1.0": RELEASE_1})
    made._versions({"1.0": RELEASE_1, "2.0": made.release_2})
    target = target_of(look(made), "2.0")
    hunk = hunks_of(target)["second/extra-file"]

    assert (target.state, hunk.state, hunk.verdict, hunk.reason) == ("broken", "broken", "conflict", reason)
    before = made.sources()
    stopped = rebase(made.series, Request(onto="2.0", accept=True), Surroundings(today="2026-11-30", cache=made.cache))
    assert (stopped.verdict, made.sources()) == ("conflict", before)


@pytest.mark.parametrize(("newer", "path", "reason"), IN_THE_WAY)
def test_nor_is_a_target_fine_that_the_lock_has(
    world: Callable[..., World], newer: dict[str, bytes], path: str, reason: str
) -> None:
    made = world(newer)
    makes_a_file(made, path, {"1.0": RELEASE_1, "2.0": made.release_2})
    target = target_of(look(made), "2.0")
    second = target.patches[1]

    assert (target.state, second.verdict, second.reason) == ("broken", "failed", f"{path}: {reason}")


def test_a_file_that_nothing_is_in_the_way_of_is_made(world: Callable[..., World]) -> None:
    made = world({"megatron/core/extra.pyx": b"", "megatron/core/other/extra.py": b""})
    makes_a_file(made, EXTRA, {"1.0": RELEASE_1})
    made._versions({"1.0": RELEASE_1, "2.0": made.release_2})

    assert verdicts(target_of(look(made), "2.0"))["second/extra-file"] == ("exact", "fine")
