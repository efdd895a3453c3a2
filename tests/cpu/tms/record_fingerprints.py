"""Make patchkit/tms/data/fingerprints.json again: what tells the builds of torch_memory_saver apart.

    cd tests/cpu; python -m tms.record_fingerprints --git CLONE_OF_TORCH_MEMORY_SAVER > fingerprints.json

Commits are those of upstream_versions.yaml that the clone has; wheels of the releases come through pip. What a source
prints is taken from the C preprocessor: it is what the compiler sees, lines of macros over several lines included.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from patchkit.tms.elf import read_library
from patchkit.tms.fingerprints import MARKERS, interface_of

from .wheels import fetch_saver, memory_saver

# The commit each release was built from; upstream_versions.yaml tells how that is known.
RELEASES = {"0.0.8": "f515992", "0.0.9": "0f3d6ed", "0.0.9.post1": "0c88c35", "0.0.10": "4a43c97"}

_WORDS_OF_CONTROL = {"if", "for", "while", "switch", "catch"}
_FUNCTION = re.compile(r"(\w+)\s*\([^;{}]*\)\s*(?:const\s*)?(?::[^{;]*)?\{")
_PRINTED = re.compile(r'" line=" << (\d+)')
_MESSAGE = re.compile(r'"\[torch_memory_saver\.cpp\] ?"? ?(?:<< ?)?"?([^"]*)"')
_CALL = re.compile(r"__result = \(+(?:\w+::)*(\w+)")
_BUILT_TEXT = re.compile(r'std::string\("([^"]*)"')
_FILE = re.compile(r'" file=" << "([^"]*)"')


class Clone:
    """A clone of torch_memory_saver."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def git(self, *arguments: str) -> bytes:
        done = subprocess.run(["git", "-C", str(self.folder), *arguments], check=True, capture_output=True)  # noqa: S607 - the git of whoever records
        return done.stdout

    def has(self, commit: str) -> bool:
        command = ["git", "-C", str(self.folder), "cat-file", "-e", commit]
        return subprocess.run(command, check=False, capture_output=True).returncode == 0

    def unpack(self, commit: str, into: Path) -> None:
        import tarfile

        with tarfile.open(fileobj=io.BytesIO(self.git("archive", commit))) as archive:
            archive.extractall(into, filter="data")


def printed_lines(csrc: Path) -> list[list[object]]:
    """Every place of the C++ sources that prints its own line: file, function, line, text or call that failed."""
    places: set[tuple[str, str, int, str]] = set()
    with tempfile.TemporaryDirectory() as headers:
        for name in ("cuda.h", "cuda_runtime_api.h", "cuda_runtime.h"):
            Path(headers, name).write_text("")
        for source in sorted(csrc.glob("*.cpp")):
            for mode in ("PRELOAD", "TORCH"):
                command = ["gcc", "-E", "-P", "-nostdinc", "-I", headers, "-DUSE_CUDA=1", f"-DTMS_HOOK_MODE_{mode}=1"]
                text = subprocess.run(
                    [*command, without_system_headers(source, Path(headers))],
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
                places |= set(places_in(text))
    return [list(place) for place in sorted(places)]


def without_system_headers(source: Path, headers: Path) -> str:
    """Give every header of the standard library that is asked for as an empty file."""
    for file in source.parent.iterdir():
        for name in re.findall(r"#include <([^>]+)>", file.read_text()):
            place = headers / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
    return str(source)


def places_in(text: str) -> list[tuple[str, str, int, str]]:
    functions = [m for m in _FUNCTION.finditer(text) if m[1] not in _WORDS_OF_CONTROL]
    places = []
    for found in _PRINTED.finditer(text):
        function = [m[1] for m in functions if m.start() < found.start()][-1]
        before = text[max(0, found.start() - 2000) : found.start()]
        message = list(_MESSAGE.finditer(before))[-1]
        what = message[1].strip()
        if what.rstrip(":").endswith("error"):
            what = f"{what.split()[0]} {list(_CALL.finditer(before))[-1][1]}"
        elif built := _BUILT_TEXT.search(before, message.start()):
            what = built[1].strip()
        file = list(_FILE.finditer(before))[-1][1]
        places.append((Path(file).name, function, int(found[1]), what))
    return places


def fingerprint(clone: Clone, commit: str) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        clone.unpack(commit, root)
        version = re.search(r"version='([^']+)'", (root / "setup.py").read_text())
        sources = "\n".join(path.read_text() for path in sorted((root / "csrc").iterdir()))
        python = {
            path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted((root / "torch_memory_saver").rglob("*.py"))
        }
        return {
            "version": version[1] if version else "",
            "exports": declared(sources),
            "markers": [name for name in MARKERS if re.search(rf"\b{name}\(", sources)],
            "python": python,
            "prints": printed_lines(root / "csrc"),
        }


def declared(sources: str) -> list[str]:
    sources = re.sub(r"#if defined\(USE_XPU\)\n.*?#endif", "", sources, flags=re.DOTALL)
    names = re.findall(
        r"^\s*(?:void|bool|int|const char\*|uint8_t\*|uint64_t) (tms_\w+|set_memory_margin_bytes)\(",
        sources,
        re.MULTILINE,
    )
    return sorted(set(interface_of(names)))


def release(clone: Clone, version: str) -> dict[str, object]:
    """As a commit, but exports, Python files and digests are those of the wheels."""
    known = fingerprint(clone, RELEASES[version])
    libraries: dict[str, str] = {}
    for wheel in fetch_saver(version):
        with zipfile.ZipFile(wheel) as archive:
            files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
        for name, content in files.items():
            if name.endswith(".so"):
                libraries[hashlib.sha256(content).hexdigest()] = f"{wheel.name}:{name}"
                library = read_library(content, name)
                known["exports"] = sorted(interface_of(library.exports))
                known["markers"] = [marker for marker in MARKERS if marker in library.imports]
        known["python"] = {
            name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items()) if name.endswith(".py")
        }
    return {**known, "version": version, "libraries": dict(sorted(libraries.items(), key=lambda item: item[1]))}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--git", type=Path, required=True)
    clone = Clone(parser.parse_args().git)
    found: dict[str, object] = {version: release(clone, version) for version in RELEASES}
    for commit in memory_saver().commits:
        if clone.has(commit.id):
            found[commit.id] = fingerprint(clone, commit.id)
    # A line for each build: a change of the recording shows as the builds that it changed.
    lines = [f"{json.dumps(name)}: {json.dumps(build, separators=(',', ':'))}" for name, build in found.items()]
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
