from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from trees.repositories import git, without_alternates
from trees.snapshots import snapshot

from patchkit.core.history.graph import Graph
from patchkit.core.history_report import BreakReport, Counts, HistoryReport, HunkHistory
from patchkit.errors import DamagedCloneError, RevisionNotFoundError, TreeError, UsageError
from patchkit.operations import history as history_module
from patchkit.operations import history_carry, history_states, processes
from patchkit.operations.history import HistoryRequest, history, history_of_refs
from patchkit.operations.regenerate import regenerate
from patchkit.trees.git_log import read_graph

from .carried_world import CODE, CODE_1, INFO, NOTES, NOTES_1, RELEASE_1
from .history_world import BLUE, FIRST, GREEN, HEADED, OTHER, SPARE, There, text


@pytest.fixture
def there(tmp_path: Path) -> There:
    return There(tmp_path)


def hunk(report: HistoryReport, name: str) -> HunkHistory:
    return next(each for each in report.hunks if each.id == name)


def strip(report: HistoryReport, name: str) -> list[str]:
    """What is shown of a hunk at each place of the line."""
    return [span.state.shown for span in hunk(report, name).spans for _ in range(span.first, span.end)]


def broken(each: BreakReport | None) -> tuple[str | None, tuple[str, ...], bool, str | None]:
    """Where, by what inside, whether the merge itself did it, and where it was good again; by subject."""
    assert each is not None
    return (
        each.at.subject if each.at else None,
        tuple(place.subject for place in each.within),
        each.itself,
        each.healed.subject if each.healed else None,
    )


def test_every_commit_of_the_line_that_touches_a_file_has_a_state_of_every_hunk(there: There) -> None:
    tip = there.clone.chain(
        ["Head it (#1)", "Say nothing", "Check sizes (#2)", "Paint it (#3)"],
        [text(notes=HEADED), text(notes=HEADED, **OTHER), text(SPARE, HEADED), text(SPARE, BLUE)],
        there.base,
    )[-1]
    report = there.ask(tip)

    assert [place.subject for place in report.line] == [
        "Release 1.0",
        "Head it (#1)",
        "Check sizes (#2)",
        "Paint it (#3)",
    ]
    assert [(place.date, place.pull_request) for place in report.line] == [
        ("2026-01-03", None),
        ("2026-01-04", 1),
        ("2026-01-06", 2),
        ("2026-01-07", 3),
    ]
    assert {each.id: strip(report, each.id) for each in report.hunks} == {
        "grads-region": ["exact", "exact", "merged", "merged"],
        "notes-colour": ["exact", "merged", "merged", "conflict"],
        "reload-mark": ["exact"] * 4,
        "notes-end": ["exact", "moved", "moved", "exact"],
    }
    assert [span.state.drift for span in hunk(report, "grads-region").spans] == [(), ("Buffer.__init__ (body, calls)",)]
    assert broken(hunk(report, "notes-colour").first_bad) == ("Paint it (#3)", (), False, None)
    assert [each.first_bad for each in report.hunks if each.id != "notes-colour"] == [None] * 3
    assert (report.verdict, report.base, report.notes) == ("broken", "1.0", ())
    assert report.counts == Counts(commits=4, line=4, touching=3, texts=5, carried=5)


def test_a_pull_request_and_the_states_are_told_of_commits_beside_the_line_too(there: There) -> None:
    side = there.clone.commit("Paint it (#7)", text(notes=BLUE), there.base)
    tip = there.clone.commit("Merge pull request #8 from x", text(notes=BLUE), there.base, side)
    report = there.ask(tip)

    shown = [
        (each.place.subject, each.place.pull_request, each.place.merge, each.on_line, each.states)
        for each in report.commits
    ]
    states = {"first/notes-colour": "conflict", "second/notes-end": "exact"}
    assert shown == [
        ("Paint it (#7)", 7, False, False, states),
        ("Merge pull request #8 from x", 8, True, True, states),
    ]


def test_inside_of_a_merge_the_change_that_did_it_is_named(there: There) -> None:
    ours = there.clone.commit("Check sizes", text(SPARE), there.base)
    pulled = there.clone.chain(
        ["Head it (#1)", "Paint it (#2)", "Say nothing (#3)"],
        [text(notes=HEADED), text(notes=BLUE), text(notes=BLUE, **OTHER)],
        there.base,
    )[-1]
    report = there.ask(there.clone.commit("[dev] pull main 260220", text(SPARE, BLUE), ours, pulled))

    assert broken(hunk(report, "notes-colour").first_bad) == (
        "[dev] pull main 260220",
        ("Paint it (#2)",),
        False,
        None,
    )
    assert hunk(report, "grads-region").first_bad is None


def test_a_merge_inside_of_a_merge_is_gone_into(there: There) -> None:
    feature = there.clone.commit("Paint it", text(notes=BLUE), there.base)
    main = there.clone.commit("Check sizes", text(SPARE), there.base)
    inner = there.clone.commit("Merge branch 'feature'", text(SPARE, BLUE), main, feature)
    dev = there.clone.commit("Read", text(**OTHER), there.base)
    report = there.ask(there.clone.commit("chore: sync main", text(SPARE, BLUE, **OTHER), dev, inner))

    expected = ("chore: sync main", ("Merge branch 'feature'", "Paint it"), False, None)
    assert broken(hunk(report, "notes-colour").first_bad) == expected


def test_a_merge_whose_sides_are_both_good_did_it_itself(there: There) -> None:
    ours = there.clone.commit("Head it", text(notes=HEADED), there.base)
    theirs = there.clone.commit("Check sizes", text(SPARE), there.base)
    report = there.ask(there.clone.commit("Merge, and paint", text(SPARE, BLUE), ours, theirs))
    found = hunk(report, "notes-colour").first_bad

    assert broken(found) == ("Merge, and paint", (), True, None)
    assert found is not None
    assert found.why == "no commit that it brought leaves the hunk bad by itself"


def test_a_span_that_healed_is_told_apart_from_the_last_one(there: There) -> None:
    tip = there.clone.chain(
        ["Paint it", "Revert paint", "Head it", "Paint it again", "Nowhere"],
        [text(notes=BLUE), FIRST, text(notes=HEADED), text(notes=BLUE), text(notes=BLUE.replace(b"here", b"gone"))],
        there.base,
    )[-1]
    report = there.ask(tip)
    colour, end = hunk(report, "notes-colour"), hunk(report, "notes-end")

    assert [broken(each) for each in colour.healed] == [("Paint it", (), False, "Revert paint")]
    assert broken(colour.first_bad) == ("Paint it again", (), False, None)
    assert (end.healed, broken(end.first_bad)) == ((), ("Nowhere", (), False, None))


def test_what_healed_is_not_bad_at_the_end(there: There) -> None:
    report = there.ask(there.clone.chain(["Paint it", "Revert"], [text(notes=BLUE), FIRST], there.base)[-1])

    assert (report.verdict, hunk(report, "notes-colour").first_bad) == ("whole", None)
    assert [broken(each) for each in hunk(report, "notes-colour").healed] == [("Paint it", (), False, "Revert")]


def test_what_upstream_has_is_not_bad(there: There) -> None:
    report = there.ask(there.clone.commit("Paint it green", text(notes=GREEN), there.base))

    assert (report.verdict, strip(report, "notes-colour")) == ("whole", ["exact", "upstreamed"])


def test_of_a_file_that_is_gone_every_hunk_is_obsolete(there: There) -> None:
    report = there.ask(there.clone.commit("Drop notes", text(notes=None), there.base))

    assert {each.id: strip(report, each.id)[-1] for each in report.hunks} == {
        "grads-region": "exact",
        "notes-colour": "obsolete",
        "reload-mark": "exact",
        "notes-end": "obsolete",
    }
    found = hunk(report, "notes-end").first_bad
    assert found is not None
    assert (found.state.reason, found.why) == ("the target has no such file", "")


def test_where_a_renamed_file_went_is_told(there: There) -> None:
    new = "megatron/core/memos.md"
    report = there.ask(there.clone.commit("Rename", text(notes=None, **{new: HEADED}), there.base))
    found = hunk(report, "notes-colour").first_bad

    assert found is not None
    assert (found.state.shown, found.why) == ("obsolete", f"it moved the file to {new}")


def test_a_beginning_off_the_line_is_told_and_the_line_begins_where_the_two_part(there: There) -> None:
    release = there.clone.commit("Release branch", text(notes=HEADED), there.base)
    there.clone.name("tags/core_v1.1", release)
    report = there.ask(there.clone.commit("Paint it", text(notes=BLUE), there.base), span="core_v1.1..main")

    assert [place.subject for place in report.line] == ["Release 1.0", "Paint it"]
    told = f"core_v1.1 is not on the line to main: it begins where they part, {there.base[:10]}"
    assert report.notes == (told,)


def test_a_hunk_that_is_bad_where_the_line_begins_has_no_first_bad_commit(there: There) -> None:
    blue = there.clone.commit("Paint it", text(notes=BLUE), there.base)
    there.clone.name("heads/blue", blue)
    report = there.ask(there.clone.commit("Check sizes", text(SPARE, BLUE), blue), span="blue..main")

    assert broken(hunk(report, "notes-colour").first_bad) == (None, (), False, None)


def test_the_order_of_committers_clocks_does_not_matter(there: There) -> None:
    later = there.clone.commit("Later", text(notes=HEADED), there.base)
    there.clone.time -= 30 * 86_400
    report = there.ask(there.clone.commit("Paint it, long ago", text(notes=BLUE), later))

    assert [place.subject for place in report.line] == ["Release 1.0", "Later", "Paint it, long ago"]
    assert broken(hunk(report, "notes-colour").first_bad) == ("Paint it, long ago", (), False, None)


def test_a_parent_with_a_later_clock_than_its_child_is_still_its_parent(there: There) -> None:
    # By date alone, git would print the fork before the commit of the line that rests on it.
    fork = there.clone.commit("Fork", text(notes=BLUE), there.base)
    there.clone.time -= 30 * 86_400
    line = there.clone.commit("Check sizes, long ago", text(SPARE, BLUE), fork)
    there.clone.time += 40 * 86_400
    side = there.clone.commit("Read", text(notes=BLUE, **OTHER), fork)
    report = there.ask(there.clone.commit("Merge", text(SPARE, BLUE, **OTHER), line, side))

    assert [place.subject for place in report.line] == ["Release 1.0", "Fork", "Check sizes, long ago"]
    assert strip(report, "notes-colour") == ["exact", "conflict", "conflict"]


def test_a_file_that_takes_the_place_of_another_one_is_no_rename(there: There) -> None:
    gone = {path: content for path, content in FIRST.items() if path != CODE}
    taken = {path: content for path, content in gone.items() if path != NOTES} | {CODE: NOTES_1}
    report = there.ask(there.clone.chain(["Drop code", "Notes as code"], [gone, taken], there.base)[-1])

    assert strip(report, "notes-end") == ["exact", "exact", "obsolete"]
    assert strip(report, "grads-region")[:2] == ["exact", "obsolete"]


def test_tags_of_releases_are_marked_whether_on_the_line_or_only_of_its_time(there: There) -> None:
    one = there.clone.commit("Head it", text(notes=HEADED), there.base)
    there.clone.name("tags/core_v1.1rc0", one)
    there.clone.name("tags/core_v1.1", there.clone.commit("Release 1.1", text(**OTHER), one))
    blue = there.clone.commit("Paint it", text(notes=BLUE), one)
    there.clone.name("tags/core_v1.2", there.clone.commit("Release 1.2", text(**OTHER), blue))
    report = there.ask(there.clone.commit("Read", text(notes=BLUE, **OTHER), blue))
    there.clone.name("tags/core_v1.3", there.clone.commit("Release 1.3", text(**OTHER), blue))

    assert [(mark.tag, mark.date, mark.on_line) for mark in there.ask().marks] == [
        ("core_v1.0", "2026-01-03", True),
        ("core_v1.1", "2026-01-05", False),
        ("core_v1.2", "2026-01-07", False),
    ]
    assert (report.line[-1].subject, report.tip.subject if report.tip else "") == ("Paint it", "Read")


# The base.


def test_the_base_is_the_target_of_the_beginning_or_what_was_asked_for(there: There) -> None:
    headed = there.clone.commit("Head it", text(notes=HEADED), there.base)
    there.clone.name("heads/headed", headed)
    tip = there.clone.commit("Check sizes", text(SPARE, HEADED), headed)
    alike = there.ask(tip)
    as_of = there.ask(span="headed..main")
    asked = there.ask(span="headed..main", base="headed")

    assert (alike.base, alike.base_reason) == ("1.0", "its texts are those at the beginning")
    assert (as_of.base, as_of.base_reason) == ("1.0", "the newest release up to 1.0, as the beginning calls itself")
    assert (asked.base, asked.base_reason) == (headed[:8], "asked for")
    assert (strip(as_of, "notes-end"), strip(asked, "notes-end")) == (["moved"] * 2, ["exact"] * 2)


def test_the_base_of_other_texts_is_the_release_that_they_call_themselves(there: There) -> None:
    newer = there.world.release_2
    second = there.clone.commit("Release 2.0", newer, there.base)
    there.world._versions({"1.0": RELEASE_1, "2.0": newer}, {"1.0": f'"{there.base}"', "2.0": f'"{second}"'})
    assert regenerate(there.world.series, cache=there.world.cache).problems == ()
    found = {}
    for version in (b"MAJOR = 1\nMINOR = 7\n", b"MAJOR = 2\nMINOR = 1\n", b"MAJOR = 0\nMINOR = 9\n"):
        begin = there.clone.commit("Begin", text(notes=HEADED, **{INFO: version}), there.base)
        there.clone.name("heads/begin", begin)
        try:
            found[version[:9]] = there.ask(there.clone.commit("Go on", text(), begin), span="begin..main").base
        except UsageError as error:
            found[version[:9]] = error.message

    assert found == {
        b"MAJOR = 1": "1.0",
        b"MAJOR = 2": "2.0",
        b"MAJOR = 0": "no target of the series is as old as begin, which calls itself 0.9",
    }


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({INFO: b"MAJOR = 0\nMINOR = 9\n"}, r"no patch of the series is for [0-9a-f]{8}"),
        ({NOTES: BLUE}, r"the series does not fit .*first/variants/v1\.0\.patch: megatron/core/notes.md, hunk"),
    ],
)
def test_a_base_that_the_series_is_not_for_is_refused(there: There, files: dict[str, bytes], told: str) -> None:
    there.clone.name("heads/other", there.clone.commit("Other", {**FIRST, **files}, there.base))
    with pytest.raises(UsageError, match=told):
        there.ask(there.clone.commit("Paint it", text(notes=BLUE), there.base), base="other")


def test_a_base_whose_texts_are_not_those_of_the_lock_is_refused(there: There) -> None:
    moved = there.clone.commit("Release 1.0 again", text(notes=HEADED))
    there.world._versions({"1.0": RELEASE_1, "2.0": there.world.release_2}, {"1.0": f'"{moved}"'})
    tip = there.clone.commit("Paint it", text(notes=BLUE), moved)

    with pytest.raises(TreeError, match=r"megatron/core/notes.md is not v1\.0's: it is blob"):
        there.ask(tip)


# Ranges.


@pytest.mark.parametrize("span", ["main", "core_v1.0...main", "a..b..c"])
def test_what_is_no_range_is_refused(there: There, span: str) -> None:
    there.clone.name("heads/main", there.base)
    with pytest.raises(UsageError, match="is no range"):
        there.ask(span=span)


def test_a_range_without_a_commit_is_refused(there: There) -> None:
    tip = there.clone.commit("Paint it", text(notes=BLUE), there.base)
    with pytest.raises(UsageError, match=r"main\.\.core_v1\.0 holds no commit"):
        there.ask(tip, span="main..core_v1.0")


@pytest.mark.parametrize("span", [None, "1.0..", "core_v1.0..main"])
def test_a_clone_that_lost_its_releases_is_damaged_and_not_without_any(there: There, span: str | None) -> None:
    there.clone.name("heads/main", there.base)
    without_alternates(there.clone.folder)
    with pytest.raises(DamagedCloneError) as caught:
        there.ask(span=span)  # type: ignore[arg-type]
    said = caught.value.message.partition(" (git: error: ")[0]
    assert said == f"{there.clone.folder} is damaged: core_v1.0 is {there.base}, which is not there"
    assert caught.value.hint == f"git -C {there.clone.folder} fsck says what is damaged; a new clone mends it"


def test_an_unknown_revision_is_named(there: There) -> None:
    with pytest.raises(RevisionNotFoundError, match="no revision 'nowhere'"):
        there.ask(there.base, span="nowhere..main")


def test_the_default_range_goes_from_the_newest_release_of_the_clone_to_its_head(there: There) -> None:
    report = there.ask(there.clone.commit("Paint it", text(notes=BLUE), there.base), span=None)  # type: ignore[arg-type]

    assert report.span == "core_v1.0..HEAD"
    assert [place.subject for place in report.line] == ["Release 1.0", "Paint it"]


def test_a_target_may_be_named_as_people_do(there: There) -> None:
    report = there.ask(there.clone.commit("Paint it", text(notes=BLUE), there.base), span="v1.0..")

    assert [place.subject for place in report.line] == ["Release 1.0", "Paint it"]


# What is remembered.


def test_a_text_is_carried_once_whatever_commit_or_range_has_it(there: There, monkeypatch: pytest.MonkeyPatch) -> None:
    tip = there.clone.chain(
        ["Paint it", "Revert", "Paint it"], [text(notes=BLUE), FIRST, text(notes=BLUE)], there.base
    )[-1]
    first = there.ask(tip)
    monkeypatch.setattr(history_carry, "carry_layer", None)
    again = there.ask()

    assert (first.counts.texts, first.counts.carried, again.counts.carried) == (3, 3, 0)
    assert (again.hunks, again.line, again.commits) == (first.hunks, first.line, first.commits)
    monkeypatch.undo()
    assert there.ask(there.clone.commit("Head it", text(notes=HEADED), tip)).counts.carried == 1


def test_the_engine_is_loaded_while_git_looks_and_only_when_nothing_is_known(
    there: There, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    beside: list[int] = []

    def load(name: str) -> None:
        loaded.append(name)
        # Longer than git takes here: whoever does not wait for it begins processes beside a thread.
        time.sleep(0.3)
        loaded.append("done")

    def look(*arguments: Any) -> Graph:
        loaded.append("git")
        return read_graph(*arguments)

    def deal(*arguments: Any, **named: Any) -> Iterator[tuple[int, Any]]:
        beside.append(threading.active_count())
        return processes.dealt_out(*arguments, **named)

    monkeypatch.setattr(history_states, "import_module", load)
    monkeypatch.setattr(history_module, "read_graph", look)
    monkeypatch.setattr(history_carry, "dealt_out", deal)
    tip = there.clone.commit("Paint it", text(notes=BLUE), there.base)
    alone = threading.active_count()
    there.ask(tip)

    assert (loaded, beside) == (["patchkit.operations.history_carry", "git", "done"], [alone])
    there.ask()
    assert (loaded, beside) == (["patchkit.operations.history_carry", "git", "done", "git"], [alone])


def test_another_series_engine_or_base_shares_nothing(there: There, monkeypatch: pytest.MonkeyPatch) -> None:
    tip = there.clone.commit("Paint it", text(notes=BLUE), there.base)
    there.ask(tip)
    monkeypatch.setattr("patchkit.operations.history_states.engine_digest", lambda: "another")

    assert there.ask().counts.carried == 3
    assert there.ask().counts.carried == 0
    assert there.ask(base="main~1").counts.carried == 0
    assert there.ask(span="main~1..main", base="core_v1.0").counts.carried == 0


@pytest.fixture
def many(there: There) -> str:
    """A tip with more texts before it than one process carries alone."""
    texts = [text(CODE_1.replace(b"size", b"size_%d" % number), HEADED * number) for number in range(1, 5)]
    return there.clone.chain([f"Change {number}" for number in range(4)], texts, there.base)[-1]


def test_an_interruption_ends_the_other_processes_and_keeps_what_they_did(
    there: There, many: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[object] = []

    def interrupted(readers: list[multiprocessing.connection.Connection]) -> list[object]:
        waits.append(readers)
        if len(waits) == 3:
            raise KeyboardInterrupt
        return list(multiprocessing.connection.wait(readers))

    monkeypatch.setattr(processes, "_processors", lambda: 2)
    monkeypatch.setattr(processes, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        there.ask(many)
    monkeypatch.undo()

    assert multiprocessing.active_children() == []
    assert 0 < there.ask().counts.carried < there.ask(many).counts.texts


def test_what_was_carried_before_an_interruption_is_kept(there: There, monkeypatch: pytest.MonkeyPatch) -> None:
    tip = there.clone.chain(["Head it", "Paint it"], [text(notes=HEADED), text(notes=BLUE)], there.base)[-1]
    carry = history_carry.Carrier.on
    carried: list[str] = []

    def on(self: history_carry.Carrier, path: str, content: bytes | None) -> object:
        if len(carried) == 3:
            raise KeyboardInterrupt
        carried.append(path)
        return carry(self, path, content)

    monkeypatch.setattr(processes, "_processors", lambda: 1)
    monkeypatch.setattr(history_carry.Carrier, "on", on)
    with pytest.raises(KeyboardInterrupt):
        there.ask(tip)
    monkeypatch.undo()

    assert there.ask().counts == Counts(commits=2, line=2, touching=2, texts=4, carried=1)


@pytest.mark.parametrize("content", [b"", b"\xc1", msgspec.msgpack.encode({"hunks": 5}), msgspec.msgpack.encode([1])])
def test_what_is_remembered_and_damaged_is_carried_again(there: There, content: bytes) -> None:
    first = there.ask(there.clone.commit("Paint it", text(notes=BLUE), there.base))
    for file in (there.world.cache / "history").iterdir():
        file.write_bytes(content)

    assert there.ask() == first


@pytest.mark.parametrize("killed", [False, True])
def test_other_processes_come_to_the_same_and_may_be_killed(
    there: There, many: str, killed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_processors", lambda: 1)
    alone = there.ask(many)
    shutil.rmtree(there.world.cache / "history")
    here = os.getpid()
    carried_here: list[str] = []
    carry = history_carry.Carrier.on

    def on(self: history_carry.Carrier, path: str, content: bytes | None) -> object:
        if os.getpid() == here:
            carried_here.append(path)
        elif killed:
            os._exit(1)
        return carry(self, path, content)

    monkeypatch.setattr(history_carry.Carrier, "on", on)
    monkeypatch.setattr(processes, "_processors", lambda: 3)

    assert there.ask() == alone
    assert (len(carried_here) > 0) is killed


# Every branch and tag.


def test_over_all_branches_and_tags_texts_are_counted_not_commits(there: There) -> None:
    blue = there.clone.commit("Paint it", text(notes=BLUE), there.base)
    there.clone.name("heads/main", there.clone.commit("Check sizes", text(SPARE, BLUE), blue))
    there.clone.name("heads/other", there.clone.commit("Paint it as well", text(notes=BLUE), there.base))
    there.clone.name("tags/gone", there.clone.commit("Drop notes", text(notes=None), there.base))
    there.clone.name("pull/1/head", there.clone.commit("Paint it green", text(notes=GREEN), there.base))
    request = HistoryRequest(repository=there.clone.folder, patches=there.world.series)
    report = history_of_refs(request, cache=there.world.cache)

    assert (report.source, report.span, report.verdict) == ("refs", "every branch and tag", "broken")
    assert report.counts == Counts(commits=5, touching=4, texts=4, carried=4)
    assert {each.id: each.counts for each in report.hunks} == {
        "grads-region": {"exact": 1, "merged": 1},
        "notes-colour": {"exact": 1, "conflict": 1, "obsolete": 1},
        "reload-mark": {"exact": 2},
        "notes-end": {"exact": 2, "obsolete": 1},
    }
    assert [each.place.subject for each in report.commits] == [
        "Release 1.0",
        "Release 1.0",
        "Paint it",
        "Check sizes",
        "Drop notes",
    ]


def test_of_the_commits_that_brought_a_text_the_oldest_is_named(there: There) -> None:
    blue = there.clone.commit("Blue", text(notes=BLUE), there.base)
    green = there.clone.commit("Green", text(notes=GREEN), there.base)
    there.clone.name("heads/one", there.clone.commit("Blue again", text(notes=BLUE), green))
    there.clone.name("heads/two", there.clone.commit("Green again", text(notes=GREEN), blue))
    request = HistoryRequest(repository=there.clone.folder, patches=there.world.series)
    report = history_of_refs(request, cache=there.world.cache)

    assert [each.place.subject for each in report.commits] == ["Release 1.0", "Release 1.0", "Blue", "Green"]


# Repositories of other kinds, and none of them is written to.


@pytest.fixture
def painted(there: There) -> There:
    chain = there.clone.chain(
        ["Head it", "Paint it", "Check sizes"], [text(notes=HEADED), text(notes=BLUE), text(SPARE, BLUE)], there.base
    )
    there.clone.name("heads/main", chain[-1])
    return there


def of(there: There, repository: Path, span: str) -> HistoryReport:
    request = HistoryRequest(repository=repository, patches=there.world.series, span=span)
    return history(request, cache=there.world.cache)


def test_reading_writes_nothing_to_a_checkout(painted: There, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    git(tmp_path, "clone", "-q", painted.clone.folder, checkout)
    (checkout / NOTES).write_bytes(b"edited\n")
    before = snapshot(checkout)
    report = of(painted, checkout, "core_v1.0..")

    assert snapshot(checkout) == before
    assert report.hunks == painted.ask().hunks


def test_a_shallow_clone_begins_where_it_does_and_says_so(painted: There, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--bare", "--depth=2", "--no-tags", f"file://{painted.clone.folder}", shallow)
    git(shallow, "fetch", "-q", "--depth=1", "origin", "tag", "core_v1.0")
    before = snapshot(shallow)
    report = of(painted, shallow, "core_v1.0..main")

    assert [place.subject for place in report.line] == ["Paint it", "Check sizes"]
    name = report.line[0].name
    assert report.notes == (f"the line begins with {name}, not with core_v1.0: the clone is shallow",)
    first_bad = hunk(report, "notes-colour").first_bad
    assert broken(first_bad) == (None, (), False, None)
    assert first_bad is not None
    assert first_bad.why == "what was before is not known: the clone is shallow"
    assert snapshot(shallow) == before


def test_in_a_shallow_clone_its_edge_is_not_the_change_that_broke_a_hunk(there: There, tmp_path: Path) -> None:
    side = there.clone.chain(["Paint it", "Head it"], [text(notes=BLUE), text(notes=BLUE, **OTHER)], there.base)[-1]
    line = there.clone.chain(["Check", "Read"], [text(SPARE), text(SPARE, **OTHER)], there.base)[-1]
    there.clone.name("heads/main", there.clone.commit("Pull", text(SPARE, BLUE, **OTHER), line, side))
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--bare", "--depth=2", "--no-tags", f"file://{there.clone.folder}", shallow)
    git(shallow, "fetch", "-q", "--depth=1", "origin", "tag", "core_v1.0")
    found = hunk(of(there, shallow, "core_v1.0..main"), "notes-colour").first_bad
    whole = hunk(there.ask(), "notes-colour").first_bad

    assert broken(whole) == ("Pull", ("Paint it",), False, None)
    assert broken(found) == ("Pull", (), False, None)
    assert found is not None
    request = HistoryRequest(repository=shallow, patches=there.world.series)
    assert history_of_refs(request, cache=there.world.cache).notes == (
        "the clone is shallow: texts that are older than it are not counted",
    )
    assert found.why == f"what was before {side[:10]}, which it brought, is not known: the clone is shallow"


@pytest.mark.parametrize("have", [False, True])
def test_a_partial_clone_is_read_as_it_is(
    painted: There, tmp_path: Path, have: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    partial = tmp_path / "partial"
    git(painted.clone.folder, "config", "uploadpack.allowFilter", "true")
    git(painted.clone.folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", f"file://{painted.clone.folder}", partial)
    if have:
        git(partial, "log", "-p", "--format=", "main", "--", "megatron")
        git(partial, "show", "core_v1.0:megatron/core/package_info.py")
    before = snapshot(partial)
    if have:
        assert of(painted, partial, "core_v1.0..main").hunks == painted.ask().hunks
    else:
        with pytest.raises(TreeError, match=r"git cannot read megatron/core/\w+\.py \([0-9a-f]{40}\)") as caught:
            of(painted, partial, "core_v1.0..main")
        assert "is a partial clone, and lacks objects; fetch the rest with" in (caught.value.hint or "")
    assert snapshot(partial) == before
