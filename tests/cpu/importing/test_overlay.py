"""What a plan is at import: which file is which module, and what an import cannot give."""

from __future__ import annotations

from importlib.machinery import PathFinder
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from operations import made_up
from trees.snapshots import lay

from patchkit.core.report import Report
from patchkit.core.upstream import MEGATRON, Upstream
from patchkit.errors import LiveError
from patchkit.importing import overlay as overlays
from patchkit.importing.hook import LiveFinder
from patchkit.importing.interpreter import interpreter_options
from patchkit.importing.overlay import Overlay, PatchedModule, folder_of, module_name, plan_overlay
from patchkit.importing.settings import BUILT_IN, START, Settings, environment, is_inherited, parsed
from patchkit.operations.apply import prepare
from patchkit.operations.sources import Workspace
from patchkit.trees.layout import open_folder

BOX = Upstream("tool-box", "https://example.org/box", name="Box", packages=("src/box/core",), source="src")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("megatron/core/config.py", "megatron.core.config"),
        ("megatron/core/__init__.py", "megatron.core"),
        ("megatron/__init__.py", "megatron"),
        ("megatron/core/table.txt", None),
        ("megatron/core/helpers.cpp", None),
        ("megatron/core/no-module.py", None),
        ("pretrain_gpt.py", None),
        ("tools/megatron/x.py", None),
    ],
)
def test_a_file_of_the_package_is_a_module(path: str, name: str | None) -> None:
    assert module_name(path, MEGATRON) == name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("src/box/core/run.py", "box.core.run"),
        ("src/box/__init__.py", "box"),
        ("box/core/run.py", None),
        ("src/other/run.py", None),
        ("src/setup.py", None),
        ("tests/box/run.py", None),
    ],
)
def test_a_module_has_the_name_that_it_has_without_the_folder_of_its_packages(path: str, name: str | None) -> None:
    assert module_name(path, BOX) == name


def test_the_packages_of_the_built_in_series_are_those_of_megatron(built_in: Workspace) -> None:
    assert built_in.versions.upstream.shipped == BUILT_IN


@pytest.mark.parametrize("below", ["src/", ""])
def test_the_folder_that_imports_look_in_is_that_of_the_packages(tmp_path: Path, below: str) -> None:
    tree = open_folder(lay(tmp_path, {f"{below}box/core/__init__.py": b""}), BOX)

    assert folder_of(tree, BOX) == tmp_path / below


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings("installed", None, ("one", "two")),
        Settings("v1.0", "/series", (), ("box/core", "lid")),
    ],
)
def test_settings_go_from_process_to_process_whole(settings: Settings) -> None:
    assert parsed(environment(settings, {})["PATCHKIT_LIVE"]) == settings


def test_a_patched_file_that_is_no_module_is_refused(
    series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = lay(tmp_path / "tree", made_up.UPSTREAM["1.0"])

    def with_a_script(*arguments: Any, **options: Any) -> Any:
        ready = prepare(*arguments, **options)
        assert not isinstance(ready, Report)
        edits = {**ready.edits, "pretrain_gpt.py": b""}
        return SimpleNamespace(edits=edits, report=ready.report, idle_verdict=ready.idle_verdict)

    monkeypatch.setattr(overlays, "prepare", with_a_script)

    with pytest.raises(LiveError, match=r"^pretrain_gpt\.py is no module of the package megatron, so it cannot"):
        plan_overlay(tree, Settings(patches=str(series)))


def test_a_module_that_the_patches_remove_is_not_found(tmp_path: Path) -> None:
    lay(tmp_path, made_up.UPSTREAM["1.0"])
    origin = tmp_path / "megatron/core/config.py"
    finder = LiveFinder(Settings())
    report = Report(tool="", command="apply", ok=True, verdict="", tree="", series="")
    finder.overlay = Overlay(tmp_path, report, {"megatron.core.config": PatchedModule(origin, None, str(origin))})
    path = [str(origin.parent)]

    assert PathFinder.find_spec("megatron.core.config", path) is not None
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'megatron\.core\.config' \(the patches remove"):
        finder.find_spec("megatron.core.config", path)


@pytest.mark.parametrize(
    ("variables", "inherited"),
    [
        (environment(Settings(), {}), True),
        (environment(Settings(), {"PYTHONPATH": "/a"}), True),
        ({"PATCHKIT_LIVE": "1", "PYTHONPATH": "/a"}, False),
        ({"PYTHONPATH": START}, False),
        (environment(Settings(patches="/series", packages=("box/core",)), {}), False),
        ({"PATCHKIT_LIVE": '{"patches": "/series"}', "PYTHONPATH": START}, True),
        ({"PATCHKIT_LIVE": "yes", "PYTHONPATH": START}, True),
    ],
)
def test_a_process_patches_megatron_at_import_when_it_has_both_variables_and_they_may_mean_it(
    variables: dict[str, str], inherited: bool
) -> None:
    assert is_inherited(variables) == inherited


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("python -m patchkit.live", []),
        ("python -mpatchkit.live", []),
        ("python -um patchkit.live", ["-u"]),
        ("python -umpatchkit.live", ["-u"]),
        ("python -X dev -W error -m patchkit.live", ["-X", "dev", "-W", "error"]),
        ("python -X importtime -B -m patchkit.live", ["-X", "importtime", "-B"]),
    ],
)
def test_the_options_of_the_interpreter_are_kept(words: str, options: list[str]) -> None:
    arguments = ["--", "-m", "patchkit.live", "-um"]

    assert interpreter_options([*words.split(), *arguments], len(arguments)) == options
