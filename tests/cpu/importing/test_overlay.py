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
from patchkit.errors import LiveError
from patchkit.importing import overlay as overlays
from patchkit.importing.hook import LiveFinder
from patchkit.importing.interpreter import interpreter_options
from patchkit.importing.overlay import Overlay, PatchedModule, module_name, plan_overlay
from patchkit.importing.settings import START, Settings, environment, is_inherited
from patchkit.operations.apply import prepare


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
    assert module_name(path) == name


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
    ],
)
def test_a_process_patches_at_import_when_it_has_both_variables(variables: dict[str, str], inherited: bool) -> None:
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
