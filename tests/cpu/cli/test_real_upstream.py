"""A second upstream that is real: pluggy, whose repository keeps its package in `src` and calls a tag `1.5.0`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from unittest import mock

import pytest
from operations.fixtures import CACHE, ENVIRONMENT
from trees.repositories import git, record
from trees.snapshots import contents, lay

import patchkit as package
from patchkit.trees.archive import WheelTree, unpack
from patchkit.trees.index import fetch_wheel

from .conftest import Command

pytestmark = pytest.mark.network

RELEASES = {
    "1.5.0": "44e1ad92c8ca002de6377e165f3e0f1be63266ab4d554740532335b9d75ea669",
    "1.6.0": "e920276dd6813095e9377c0bc5566d94c932c33b27a3e3945d8389c374dd4746",
}
UPSTREAM = (
    *("--upstream", "Pluggy", "--repository", "https://github.com/pytest-dev/pluggy", "--distribution", "pluggy"),
    *("--package", "src/pluggy", "--source", "src", "--tag", "{version}"),
)
# 1.6.0 moves both places by some lines and changes much around them.
EDITS = {
    "_hooks.py": (b"_call_history.append((kwargs, ", b"_call_history.append((dict(kwargs), "),
    "_manager.py": (b"return self._name2plugin.get(name)\n", b"return self._name2plugin.get(name.strip())\n"),
}


@cache
def wheel(version: str) -> Path:
    """A release, from the cache of whoever runs the tests or through their pip."""
    with mock.patch.dict(os.environ, ENVIRONMENT, clear=True):
        return fetch_wheel("pluggy", version, {f"pluggy-{version}-py3-none-any.whl": RELEASES[version]}, cache=CACHE)


def edited(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files of a release with both edits made, each once."""
    changed = dict(files)
    for name, (old, new) in EDITS.items():
        assert changed[f"pluggy/{name}"].count(old) == 1
        changed[f"pluggy/{name}"] = changed[f"pluggy/{name}"].replace(old, new)
    return changed


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with the package of each release under its tag."""
    folder = tmp_path / "clone"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for version in RELEASES:
        unpack(WheelTree(wheel(version)), tmp_path / version, {})
        package_files = contents(tmp_path / version / "pluggy")
        record(lay(folder, {f"src/pluggy/{path}": text for path, text in package_files.items()}), version)
        git(folder, "tag", version)
    return folder


def test_a_series_for_pluggy_goes_from_a_patch_file_to_an_installed_release_and_back(
    patchkit: Command, clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = tmp_path / "links"
    links.mkdir()
    for version in RELEASES:
        (links / wheel(version).name).symlink_to(wheel(version))
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    monkeypatch.setenv("PATCHKIT_CACHE", str(tmp_path / "cache"))
    git(clone, "checkout", "-q", "1.5.0")
    lay(clone / "src", edited(contents(clone / "src")))
    (tmp_path / "two.patch").write_text(git(clone, "diff") + "\n")
    git(clone, "checkout", "-q", "-f", "main")
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)

    begun = patchkit("init", *UPSTREAM, "--git", clone, "--from", tmp_path / "two.patch", "--release", "1.5.0")
    assert (begun.code, begun.out.splitlines()[-2]) == (0, "patches/pluggy: a series for Pluggy, made for v1.5.0")

    # The release that the list lacks is found, and the series carries to it.
    upstream = patchkit("check-upstream", "--git", clone, "--format", "json")
    told = json.loads(upstream.out)
    assert upstream.code == 0, upstream.err
    assert [(each["version"], each["tag"]) for each in told["found"]] == [("1.6.0", "1.6.0")]
    assert patchkit("check-upstream", "--git", clone, "--update").code == 0
    assert patchkit("rebase", "--onto", "1.6.0").code == 0

    for version in RELEASES:
        before = contents(tmp_path / version)
        assert patchkit("apply", "--in", tmp_path / version).code == 0
        after = contents(tmp_path / version)
        assert {path: after[path] for path in before if not path.endswith("RECORD")} == {
            path: text for path, text in edited(before).items() if not path.endswith("RECORD")
        }
        assert patchkit("verify", "--in", tmp_path / version).code == 0
        assert patchkit("apply", "--in", tmp_path / version).out.endswith("already applied\n")
        assert patchkit("revert", "--in", tmp_path / version).code == 0
        assert contents(tmp_path / version) == before

    made = patchkit("apply", "--release", "1.6.0", "--wheel", tmp_path / "out")
    assert made.code == 0, made.err
    (built,) = (tmp_path / "out").iterdir()
    assert patchkit("verify", "--in", built).code == 0

    # Read only: patched while it is imported.
    code = (
        "import patchkit.live as live, pluggy, inspect; print(live.status().modules, pluggy.__version__, "
        "'strip' in inspect.getsource(pluggy.PluginManager.get_plugin))"
    )
    series = {"patches": str(project / "patches/pluggy")}
    path = os.pathsep.join([str(tmp_path / "1.6.0"), str(Path(package.__file__).parents[1])])
    variables = {**os.environ, "PYTHONPATH": path, "PATCHKIT_LIVE": json.dumps(series)}
    live = subprocess.run([sys.executable, "-Bc", code], env=variables, check=False, capture_output=True, text=True)
    modules = {"pluggy._hooks": "patched", "pluggy._manager": "patched"}
    assert (live.stdout, live.stderr) == (f"{modules} 1.6.0 True\n", "")
