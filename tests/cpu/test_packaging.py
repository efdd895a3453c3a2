"""The wheel and the sdist work outside the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.network


def run(*command: str | Path, folder: Path) -> str:
    """Run a command in a folder without the checkout on the path, and return what it printed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PYTHON"] = sys.executable
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel made from the sdist, both looked at by twine and check-wheel-contents."""
    folder = tmp_path_factory.mktemp("dist")
    # Of a copy: a build writes patchkit/_version.py, which other tests import at the same time.
    copy = tmp_path_factory.mktemp("copy") / "patchkit"
    shutil.copytree(
        ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", "_version.py")
    )
    run("/bin/sh", copy / "tests/check-dist.sh", folder, folder=folder)
    return folder


def test_the_wheel_holds_the_series_the_versions_and_the_schemas_as_they_are_in_the_checkout(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {
            name.removeprefix("patchkit/data/"): archive.read(name)
            for name in archive.namelist()
            if name.startswith("patchkit/data/")
        }
        schemas = {name for name in archive.namelist() if name.startswith("patchkit/schemas/")}
        names = archive.namelist()
    expected = {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for path in [*(ROOT / "patches").rglob("*"), ROOT / "upstream_versions.yaml"]
        if path.is_file()
    }

    assert packed == expected
    assert schemas == {f"patchkit/schemas/{path.name}" for path in (ROOT / "patchkit" / "schemas").iterdir()}
    assert [name for name in names if name.endswith("/licenses/LICENSE")] != []


def test_the_sdist_holds_what_the_tests_need(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        tops = {name.split("/")[1] for name in archive.getnames() if "/" in name}

    needed = {"patchkit", "patches", "tests", "docs", "docs_site", "README.md", "LICENSE", "upstream_versions.yaml"}
    assert needed | {".git_archival.txt", ".gitattributes", ".github", "CONTRIBUTING.md", "changelog.d"} <= tops


def test_the_wheel_made_from_the_sdist_has_its_version(built: Path) -> None:
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")

    assert sdist.name == f"megatron_patchkit-{wheel.name.split('-')[1]}.tar.gz"


def test_an_installed_patchkit_does_the_main_job_outside_the_checkout(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    bin_folder = tmp_path / "env" / "bin"
    run(bin_folder / "python", "-m", "pip", "install", "--quiet", wheel, folder=tmp_path)

    run(bin_folder / "patchkit", "apply", "--megatron", "v0.16.1", "--to", "tree", folder=tmp_path)
    told = run(bin_folder / "patchkit", "verify", "--in", "tree", folder=tmp_path)
    version = run(bin_folder / "patchkit", "--version", folder=tmp_path)

    assert told.splitlines()[-1] == "verified"
    assert version == f"patchkit {wheel.name.split('-')[1]}\n"
