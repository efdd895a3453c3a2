"""What the series does to every supported release, as the package index has it."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
from operations.fixtures import CACHE, fetch, load_built_in
from trees.snapshots import contents

from patchkit.cli.main import run
from patchkit.core.blobs import blob_id
from patchkit.trees.archive import WheelTree

pytestmark = pytest.mark.network

BUILT_IN = load_built_in()
LOCK = BUILT_IN.sources.lock.targets
SUPPORTED = [target.name for target in BUILT_IN.targets if target.release]

ENVIRONMENT = {
    # Without an index: what was fetched once is enough.
    "PATCHKIT_CACHE": str(CACHE),
    "PIP_NO_INDEX": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


@dataclass(frozen=True)
class Step:
    """One command of the way of a release."""

    code: int
    last_line: str
    files: dict[str, bytes]
    """All files of the tree, afterwards."""
    times: dict[str, int]
    """When each file and folder was changed."""


@dataclass(frozen=True)
class Journey:
    """The way of a release through the commands."""

    version: str
    wheel: dict[str, bytes]
    """The files of the release."""
    record_path: str
    manifest_path: str
    steps: dict[str, Step]

    @property
    def generated(self) -> Path:
        """The patch for people who only have git."""
        target = BUILT_IN.named(self.version)
        return BUILT_IN.sources.series.folder / "generated" / target.generated_name


@pytest.fixture(scope="module", params=SUPPORTED)
def journey(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Journey]:
    """Take a release through all commands once; the tests look at what came of it."""
    version: str = request.param
    source = WheelTree(fetch(version))
    folder = tmp_path_factory.mktemp("journey")
    tree = folder / "tree"
    done = Journey(
        version,
        {member.filename: source.content(member) for member in source.entries() if not member.is_dir()},
        source.record_path,
        source.manifest_path,
        {},
    )

    def seen(code: int, printed: str) -> Step:
        times = {str(path): path.lstat().st_mtime_ns for path in [tree, *tree.rglob("*")]}
        return Step(code, (printed.splitlines() or [""])[-1], contents(tree), times)

    def patchkit(*arguments: str | Path) -> Step:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = run([str(argument) for argument in arguments])
        return seen(code, out.getvalue())

    def git(*arguments: str | Path) -> Step:
        ran = subprocess.run(["git", *arguments], cwd=tree, capture_output=True, text=True, check=False)  # noqa: S607
        return seen(ran.returncode, ran.stdout + ran.stderr)

    with mock.patch.dict(os.environ, {**ENVIRONMENT, "GIT_CEILING_DIRECTORIES": str(folder)}):
        done.steps["apply"] = patchkit("apply", "--megatron", f"v{version}", "--to", tree)
        done.steps["verify"] = patchkit("verify", "--in", tree)
        done.steps["apply again"] = patchkit("apply", "--in", tree)
        done.steps["apply to it again"] = patchkit("apply", "--megatron", version, "--to", tree)
        done.steps["revert"] = patchkit("revert", "--in", tree)
        done.steps["git apply --check"] = git("apply", "--check", done.generated)
        done.steps["git apply"] = git("apply", done.generated)
    yield done
    shutil.rmtree(folder)


def test_apply_makes_the_release_with_each_file_as_the_lock_has_it_and_the_rest_as_in_the_wheel(
    journey: Journey,
) -> None:
    locked = LOCK[journey.version]
    applied = journey.steps["apply"]
    others = {path: content for path, content in applied.files.items() if path not in locked.paths}
    untouched = {path: content for path, content in journey.wheel.items() if path not in locked.paths}

    assert applied.code == 0
    assert {path: blob_id(applied.files[path]) for path in locked.paths} == {
        path: locked.chain(path)[-1] for path in locked.paths
    }
    assert {path: blob_id(journey.wheel[path]) for path in locked.paths} == {
        path: locked.chain(path)[0] for path in locked.paths
    }
    assert {**others, journey.record_path: b""} == {
        **untouched,
        journey.record_path: b"",
        journey.manifest_path: applied.files[journey.manifest_path],
    }


def test_verify_says_yes(journey: Journey) -> None:
    verified = journey.steps["verify"]

    assert (verified.code, verified.last_line) == (0, "verified")


@pytest.mark.parametrize("again", ["apply again", "apply to it again"])
def test_applying_twice_says_so_and_changes_no_byte_and_no_time(journey: Journey, again: str) -> None:
    first, second = journey.steps["apply"], journey.steps[again]

    assert (second.code, second.last_line.partition(":")[0]) == (0, "already applied")
    assert second.files == first.files
    assert second.times == first.times


def test_revert_gives_back_every_byte_of_the_release(journey: Journey) -> None:
    reverted = journey.steps["revert"]

    assert reverted.code == 0
    assert reverted.files == journey.wheel


def test_the_generated_patch_is_the_one_of_the_lock_and_git_makes_the_same_tree_with_it(journey: Journey) -> None:
    digest = hashlib.sha256(journey.generated.read_bytes()).hexdigest()
    patched = dict(journey.steps["apply"].files)
    del patched[journey.manifest_path]
    patched[journey.record_path] = journey.wheel[journey.record_path]

    assert f"sha256:{digest}" == LOCK[journey.version].generated
    assert journey.steps["git apply --check"].code == 0
    assert journey.steps["git apply --check"].files == journey.wheel
    assert journey.steps["git apply"].code == 0
    assert journey.steps["git apply"].files == patched


def test_the_way_is_taken_by_every_release_of_the_lock_and_of_upstream_versions() -> None:
    others = {target.name for target in BUILT_IN.targets if target.release is None}

    assert set(SUPPORTED) == set(LOCK) - others
    assert len(SUPPORTED) >= 21
