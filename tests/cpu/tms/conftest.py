from __future__ import annotations

import shutil
import subprocess
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from patchkit.cli.main import run
from patchkit.store.cache import default_cache
from patchkit.tms.package import Package, package_at
from patchkit.tms.simulator.build import simulator

from .wheels import fetch_saver

CACHE = default_cache()

Wheel = Callable[[str], Package]
MakeLibrary = Callable[..., Path]


@pytest.fixture
def wheel() -> Wheel:
    """A release of torch_memory_saver for 64-bit Intel, unpacked."""
    return lambda version: package_at(fetch_saver(version)[-1], cache=CACHE)


@pytest.fixture
def installed(tmp_path: Path) -> Callable[[str], Path]:
    """A site-packages folder with a release in it, to be changed."""

    def install(version: str) -> Path:
        site = tmp_path / "site-packages"
        with zipfile.ZipFile(fetch_saver(version)[-1]) as archive:
            archive.extractall(site)
        (metadata,) = site.glob("*.dist-info")
        (metadata / "INSTALLER").write_text("pip\n")
        return site

    return install


@pytest.fixture(scope="session")
def simulated() -> Path:
    """The folder with the simulator."""
    return simulator(CACHE)


@pytest.fixture
def make_library(tmp_path: Path) -> MakeLibrary:
    """Build a library that needs others and exports functions which do nothing."""

    def make(path: Path, needed: Sequence[str] = (), exports: Sequence[str] = ()) -> Path:
        compiler = shutil.which("cc") or "gcc"
        folder = tmp_path / "needed"
        folder.mkdir(exist_ok=True)
        for name in needed:
            empty = [compiler, "-shared", "-nostdlib", "-x", "c", "/dev/null", f"-Wl,-soname,{name}", "-o", name]
            subprocess.run(empty, cwd=folder, check=True)
        source = folder / "source.c"
        source.write_text("".join(f"void {name}(void) {{}}\n" for name in exports))
        path.parent.mkdir(parents=True, exist_ok=True)
        command = [compiler, "-shared", "-nostdlib", "-Wl,--no-as-needed", "-o", str(path), str(source)]
        subprocess.run([*command, *(str(folder / name) for name in needed)], check=True)
        return path

    return make


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command line in this process; return code, output and errors."""

    def ran(*words: str | Path) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([str(word) for word in words])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return ran
