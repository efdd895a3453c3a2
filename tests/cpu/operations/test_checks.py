"""The checks of the series that patchkit ships notice what they are there for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
import yaml

from patchkit.core.invariants import CheckResult, PythonText, matching_lines, run_check
from patchkit.core.series import CheckSpec
from patchkit.errors import StoreError
from patchkit.operations.apply import apply_in
from patchkit.operations.checks import run_checks
from patchkit.operations.coverage import applies
from patchkit.store.series import load_series
from patchkit.trees.archive import WheelTree
from patchkit.trees.memory import MemoryTree

from . import made_up
from .fixtures import fetch, load_built_in

CASES = Path(__file__).parents[1] / "cases" / "mutations.yaml"
MUTATIONS: list[dict[str, str]] = yaml.safe_load(CASES.read_bytes())
RELEASES = {target.name for target in load_built_in().targets if target.release}
TARGETS = sorted({mutation["target"] for mutation in MUTATIONS} & RELEASES)


@cache
def patched(version: str) -> Mapping[str, PythonText]:
    """The Python sources of a release with the whole series."""
    wheel = WheelTree(fetch(version))
    tree = MemoryTree({path: wheel.read(path) or b"" for path in wheel.paths("megatron") if path.endswith(".py")})
    assert apply_in(load_built_in(), tree, asked=version).ok
    return {path: PythonText(content) for path, content in tree.files.items() if path.endswith(".py")}


def check_of(patch: str, name: str) -> CheckSpec:
    document = load_built_in().sources.series.patch(patch).document
    return next(check for check in document.checks if check.id == name)


@pytest.mark.network
@pytest.mark.parametrize("version", TARGETS)
def test_each_recorded_mutation_is_noticed_by_its_check_which_holds_without_it(version: str) -> None:
    target = load_built_in().named(version)
    before: dict[tuple[str, str], CheckResult] = {}
    wrong: list[tuple[str, str, str]] = []
    for mutation in [mutation for mutation in MUTATIONS if mutation["target"] == version]:
        patch, name, file = mutation["patch"], mutation["check"], mutation["file"]
        check, files = check_of(patch, name), patched(version)
        if (patch, name) not in before:
            before[patch, name] = run_check(patch, check, files)
        text = files[file].content if file in files else b""
        old, new = mutation["replace"].encode(), mutation["with"].encode()
        after = run_check(patch, check, {**files, file: PythonText(text.replace(old, new))})
        if not applies(check, target):
            wrong.append((patch, name, "the check is not for this target"))
        elif text.count(old) != 1:
            wrong.append((patch, name, f"{mutation['replace']!r} is there {text.count(old)} times"))
        elif not before[patch, name].ok:
            wrong.append((patch, name, f"does not hold without the mutation: {before[patch, name].found}"))
        elif after.ok or len(after.found) == check.count:
            wrong.append((patch, name, f"holds with {mutation['with']!r}"))

    assert wrong == []


def test_no_mutation_is_dropped_and_every_check_has_one() -> None:
    left_out = [mutation for mutation in MUTATIONS if mutation["target"] not in RELEASES]
    checks = {
        (patch.name, check.id) for patch in load_built_in().sources.series.patches for check in patch.document.checks
    }

    # Branches and commits need a clone; whoever adds a mutation says so here.
    assert (len(MUTATIONS), len(left_out)) == (141, 42)
    assert {mutation["target"] for mutation in left_out} == {"main", "dev", "1dcf0dafa"}
    assert {(mutation["patch"], mutation["check"]) for mutation in MUTATIONS} == checks


# How checks are chosen and run.


def checked(
    tree: MemoryTree, *names: str, target: str = "2.0", planned: dict[str, bytes | None] | None = None
) -> list[tuple[str, int, tuple[str, ...]]]:
    workspace = made_up.workspace()
    patches = [workspace.sources.series.patch(name) for name in names]
    reports = run_checks(patches, workspace.named(target), tree, planned or {})
    return [(report.id, report.found, report.at) for report in reports]


def test_the_checks_of_a_target_are_run_and_one_that_needs_another_patch_only_with_it() -> None:
    tree = made_up.patched_tree("2.0")
    buffer = made_up.path_of("buffer")

    assert checked(tree, "grads") == [
        ("grads-in-region", 2, (f"{buffer}:16", f"{buffer}:27")),
        ("flag-is-off", 1, (f"{made_up.path_of('config')}:9",)),
    ]
    assert checked(tree, "params") == []
    assert [name for name, _, _ in checked(tree, "grads", "params")] == [
        "grads-in-region",
        "flag-is-off",
        "params-in-region",
    ]
    assert [name for name, _, _ in checked(tree, "grads", target="main")] == ["flag-is-off"]


def test_planned_bytes_stand_for_those_of_the_tree_new_and_removed_files_too() -> None:
    other, more = made_up.path_of("other"), made_up.path_of("more")
    tree = made_up.patched_tree("2.0", other=b'MODE = "torch"\n')

    assert checked(tree, "mode") == [("no-other-mode", 1, (f"{other}:1",))]
    assert checked(tree, "mode", planned={other: b""}) == [("no-other-mode", 0, ())]
    assert checked(tree, "mode", planned={other: None}) == [("no-other-mode", 0, ())]
    assert checked(tree, "mode", planned={more: b'\nMODE = "torch"\n'}) == [
        ("no-other-mode", 2, (f"{more}:2", f"{other}:1"))
    ]


def test_a_file_that_a_check_names_and_nobody_has_is_said_to_be_missing() -> None:
    config = made_up.path_of("config")

    assert checked(made_up.patched_tree("2.0", config=None), "grads")[1] == ("flag-is-off", 0, (f"{config}: missing",))


def test_results_are_kept_by_rule_and_text_and_a_changed_text_is_looked_at_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATCHKIT_CACHE", str(tmp_path))
    looked: list[str] = []

    def counted(check: CheckSpec, text: PythonText) -> list[int]:
        looked.append(check.id)
        return matching_lines(check, text)

    monkeypatch.setattr("patchkit.operations.checks.matching_lines", counted)
    tree = made_up.patched_tree("2.0")
    first = checked(tree, "grads")
    assert (first, looked) == (checked(tree, "grads"), ["grads-in-region", "flag-is-off"])

    tree.files[made_up.path_of("config")] += b"# mine\n"
    assert checked(tree, "grads") == first
    assert looked == ["grads-in-region", "flag-is-off", "flag-is-off"]


def test_a_cache_that_cannot_be_written_changes_no_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("PATCHKIT_CACHE", str(tmp_path / "file"))

    assert [found for _, found, _ in checked(made_up.patched_tree("2.0"), "grads", "params", "mode")] == [2, 1, 1, 0]


def test_a_rule_that_ast_grep_refuses_names_the_file_and_the_check(tmp_path: Path) -> None:
    folder = made_up.lay_sources(tmp_path)
    file = folder / "mode" / "patch.yaml"
    file.write_bytes(file.read_bytes().replace(b'pattern: MODE = "torch"', b"kind: nothing"))
    patch = load_series(folder).patch("mode")

    with pytest.raises(StoreError) as caught:
        run_checks([patch], made_up.workspace().named("2.0"), made_up.patched_tree("2.0", other=b"MODE = 1\n"), {})

    assert caught.value.message.startswith(
        f"{file}: checks[0].rule: ast-grep refuses the rule of check no-other-mode: "
    )
    assert "\n" not in caught.value.message
