"""What a build can be, and which defects it then has."""

from __future__ import annotations

from dataclasses import replace

import pytest

from patchkit.tms.fingerprints import Fingerprint, known_builds
from patchkit.tms.verdict import Evidence, Standing, Verdict, judge, meets_minimum, standings

from .wheels import memory_saver

NOTHING = Evidence(None, None, frozenset(), frozenset(), (), {}, frozenset())


def full(prefix: str) -> str:
    return next(name for name in known_builds() if name == prefix or (len(name) == 40 and name.startswith(prefix)))


def built_from(prefix: str, **changes: object) -> Evidence:
    """What a build from a commit shows when pip got it from an index, so without its commit."""
    build: Fingerprint = known_builds()[full(prefix)]
    exports = frozenset(build.exports)
    seen = Evidence(build.version, None, exports, exports, build.markers, build.python, frozenset({"0" * 64}))
    return replace(seen, **changes)  # type: ignore[arg-type]


def judged(evidence: Evidence) -> tuple[list[str], bool | None]:
    """The candidates, shortened, and whether it is good enough."""
    verdict = judge(evidence, known_builds(), memory_saver())
    found = standings(verdict, evidence, known_builds(), memory_saver())
    return [name[:7] if len(name) == 40 else name for name in verdict.candidates], meets_minimum(found)


@pytest.mark.parametrize(
    ("commit", "candidates", "good"),
    [
        ("149a477", ["0.0.9", "149a477", "5d48a5f"], False),
        ("b290c85", ["b290c85"], False),
        ("106fe07", ["106fe07"], False),
        ("383bec3", ["383bec3", "9b8b788"], False),
        ("dc68769", ["dc68769"], False),
        ("d64a639", ["d64a639"], False),
        ("a193d9d", ["a193d9d"], False),
        ("6d5bce4", ["6d5bce4"], False),
        ("39093d6", ["74d68c5", "39093d6"], False),
        ("f05a875", ["f05a875"], False),
        # Their symbols and Python files are the same; only trying out tells.
        ("fdb09ad", ["fdb09ad", "b5588e8"], None),
        ("b5588e8", ["fdb09ad", "b5588e8"], None),
        ("6f3def2", ["6f3def2"], True),
        ("9efce74", ["0.0.10", "9efce74", "9bc9a44", "4a43c97"], True),
    ],
)
def test_symbols_and_python_files_tell_commits_apart(commit: str, candidates: list[str], good: bool | None) -> None:
    assert judged(built_from(commit)) == (candidates, good)


@pytest.mark.parametrize(("free", "candidates", "good"), [(True, ["b5588e8"], True), (False, ["fdb09ad"], False)])
def test_trying_out_tells_the_two_apart_that_look_the_same(free: bool, candidates: list[str], good: bool) -> None:
    assert judged(built_from("b5588e8", free_while_paused=free)) == (candidates, good)


@pytest.mark.parametrize("commit", ["dc68769", "fdb09ad", "b5588e8", "4a43c97"])
def test_the_commit_that_pip_recorded_is_believed_when_the_symbols_agree(commit: str) -> None:
    assert judged(built_from(commit, commit=full(commit)))[0] == [commit]


def test_a_recorded_commit_that_the_symbols_contradict_is_not_believed() -> None:
    evidence = built_from("dc68769", commit=full("4a43c97"))
    verdict = judge(evidence, known_builds(), memory_saver())

    assert judged(evidence) == (["dc68769"], False)
    assert verdict.reasons[0].startswith("direct_url.json names commit 4a43c9777, which is not recorded, or whose")


def test_a_commit_between_two_recorded_ones_counts_as_the_older() -> None:
    changed = {**built_from("d64a639").python, "torch_memory_saver/entrypoint.py": "1" * 64}

    assert judged(built_from("d64a639", commit="a" * 40, python=changed)) == (["d64a639"], False)


def test_the_fork_of_slime_is_known_by_its_commit_and_by_its_symbols() -> None:
    fork = "8d30c59ca12a68d9deccbc9c6599076a1218cbc5"
    exports = built_from("f05a875").exports

    assert judged(replace(NOTHING, commit=fork, exports=exports)) == (["8d30c59"], True)
    assert judged(replace(NOTHING, exports=exports, all_exports=exports | {"tms_cuMemCreate"})) == (["8d30c59"], True)


def test_the_libraries_of_a_wheel_are_known_to_the_byte_whatever_else_is_said() -> None:
    digests = frozenset(known_builds()["0.0.9.post1"].libraries)

    assert judged(built_from("4a43c97", digests=digests)) == (["0.0.9.post1"], False)


def test_a_library_of_a_wheel_among_others_proves_nothing() -> None:
    one = next(iter(known_builds()["0.0.10"].libraries))

    assert judged(built_from("dc68769", digests=frozenset({one, "0" * 64}))) == (["dc68769"], False)


def test_of_an_unknown_build_a_defect_is_absent_only_when_a_later_symbol_shows_it() -> None:
    unknown = frozenset({"tms_pause", "tms_resume", "tms_set_retain_cpu_backup", "tms_brand_new"})
    evidence = replace(NOTHING, exports=unknown, all_exports=unknown)
    verdict = judge(evidence, known_builds(), memory_saver())
    found = {item.id: item.standing for item in standings(verdict, evidence, known_builds(), memory_saver())}

    assert verdict == Verdict((), ("no recorded build has these symbols: a fork, or newer than the records",))
    assert found["double-release"] is Standing.ABSENT
    assert found["backup-repinned"] is Standing.ABSENT  # Fixed by the commit that the symbol came with.
    assert found["backup-stays-resident"] is Standing.POSSIBLE
    assert found["tracked-memory-ipc"] is Standing.POSSIBLE
    old = replace(evidence, exports=frozenset({"tms_pause", "tms_old"}), all_exports=frozenset({"tms_pause"}))
    assert judged(old) == ([], None)


def test_what_contradicts_every_candidate_leaves_none() -> None:
    verdict = judge(built_from("dc68769", free_while_paused=True), known_builds(), memory_saver())

    assert verdict.candidates == ()
    assert verdict.reasons[-1].startswith("tried out, a paused allocation could be freed, which none of")


def test_a_release_has_the_defects_that_are_recorded_for_it() -> None:
    evidence = built_from("0.0.9.post1", digests=frozenset(known_builds()["0.0.9.post1"].libraries))
    verdict = judge(evidence, known_builds(), memory_saver())
    found = standings(verdict, evidence, known_builds(), memory_saver())

    assert {item.id for item in found if item.standing is Standing.PRESENT} == {
        defect.id for defect in memory_saver().defects if "0.0.9.post1" in defect.present_in.releases
    }
    assert {item.standing for item in found} == {Standing.PRESENT, Standing.ABSENT}


@pytest.mark.parametrize(("free", "standing"), [(True, Standing.ABSENT), (False, Standing.PRESENT)])
def test_of_a_build_that_no_record_fits_trying_out_tells(free: bool, standing: Standing) -> None:
    symbols = frozenset({"tms_pause", "tms_brand_new"})
    evidence = replace(NOTHING, exports=symbols, all_exports=symbols, free_while_paused=free)
    verdict = judge(evidence, known_builds(), memory_saver())
    found = standings(verdict, evidence, known_builds(), memory_saver())

    assert (verdict.candidates, meets_minimum(found)) == ((), free)
    assert [item.standing for item in found if item.id == "double-release"] == [standing]


def test_the_fix_of_a_defect_is_named_by_release_before_commit() -> None:
    evidence = built_from("f05a875")
    found = standings(judge(evidence, known_builds(), memory_saver()), evidence, known_builds(), memory_saver())
    fixes = {item.id: item.fixed_in for item in found}

    assert (fixes["double-release"], fixes["tracked-memory-ipc"]) == ("0.0.10", None)


def test_a_library_without_a_function_of_it_is_told_from_none() -> None:
    without = judge(NOTHING, known_builds(), memory_saver()).reasons
    foreign = judge(replace(NOTHING, digests=frozenset({"0" * 64})), known_builds(), memory_saver()).reasons

    assert without == ("there is no library: only the Python files could be compared",)
    assert foreign == (
        "the library exports no function of torch_memory_saver: only the Python files could be compared",
    )


@pytest.mark.parametrize(
    ("platforms", "expected"),
    [
        ({"cuda"}, Standing.ABSENT),
        ({"rocm"}, Standing.PRESENT),
        ({"cuda", "rocm"}, Standing.PRESENT),
        # Without a library that tells, nothing is ruled out.
        (set(), Standing.PRESENT),
    ],
)
def test_a_defect_of_one_platform_is_absent_from_a_build_for_the_other(platforms: set[str], expected: Standing) -> None:
    evidence = built_from("f05a875", commit=full("f05a875"), platforms=frozenset(platforms))

    verdict = judge(evidence, known_builds(), memory_saver())
    found = {each.id: each.standing for each in standings(verdict, evidence, known_builds(), memory_saver())}

    assert {each.id for each in memory_saver().defects if each.only_on == "rocm"} == {
        "rocm-unaligned-size",
        "rocm-72-pause",
    }
    assert (found["rocm-unaligned-size"], found["rocm-72-pause"]) == (expected, expected)
    assert found["double-release"] is Standing.PRESENT
