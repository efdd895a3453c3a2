"""The recorded builds agree with what is known of them from elsewhere, and with the wheels of the index."""

from __future__ import annotations

import hashlib
import zipfile

import pytest

from patchkit.tms.elf import read_library
from patchkit.tms.fingerprints import MARKERS, interface_of, known_builds

from .wheels import VERSIONS, fetch_saver, memory_saver

# Lines of `func=free` by unmap and release, of `Cannot pause`, and of a failed cudaMallocHost, as seen in reports.
LINES = {
    "0.0.9": (65, 66, 105, 112),
    "0.0.9.post1": (65, 66, 105, 112),
    "5d48a5f": (70, 71, 110, 117),
    "383bec3": (86, 87, 126, 133),
    "9b8b788": (86, 87, 126, 133),
    "dc68769": (86, 87, 126, 133),
    "d64a639": (80, 81, 118, 125),
    "a193d9d": (80, 81, 118, 125),
    "6d5bce4": (80, 81, 118, 125),
    "74d68c5": (87, 88, 129, 136),
    "f05a875": (103, 104, 146, 153),
    "b5588e8": (104, 105, 148, 155),
    "6f3def2": (115, 116, 185, 192),
    "9efce74": (118, 119, 185, 66),
    "0.0.10": (118, 119, 185, 66),
}


def line_of(build: str, function: str, what: str) -> list[int]:
    name = next(name for name in known_builds() if name == build or (len(name) == 40 and name.startswith(build)))
    return [item.line for item in known_builds()[name].prints if (item.function, item.what) == (function, what)]


@pytest.mark.parametrize("build", LINES)
def test_the_lines_that_a_build_prints_are_those_of_reports(build: str) -> None:
    unmap, release, pause, pin = LINES[build]

    assert line_of(build, "free", "CUresult cuMemUnmap") == [unmap]
    assert line_of(build, "free", "CUresult cuMemRelease") == [release]
    assert line_of(build, "pause", "Cannot pause allocation that is not active.") == [pause]
    pinning = "allocate" if pin == 66 else "pause"
    assert line_of(build, pinning, "cudaError cudaMallocHost") == [pin]


def test_every_recorded_release_and_commit_of_the_repository_has_a_fingerprint() -> None:
    saver = memory_saver()
    fork = "8d30c59ca12a68d9deccbc9c6599076a1218cbc5"  # It is in another repository.

    assert list(known_builds()) == [
        *(release.version for release in saver.releases),
        *(commit.id for commit in saver.commits if commit.id != fork),
    ]


@pytest.mark.parametrize(
    ("symbol", "first"),
    [
        ("set_memory_margin_bytes", "383bec3"),
        ("tms_get_cpu_backup_pointer", "d98c745"),
        ("tms_get_current_tag", "d64a639"),
        ("tms_get_enable_disk_backup", "74d68c5"),
        ("tms_set_retain_cpu_backup", "6f3def2"),
        ("tms_get_cpu_backup_backend", "9efce74"),
    ],
)
def test_a_symbol_came_with_a_commit_and_stayed(symbol: str, first: str) -> None:
    commits = [name for name in known_builds() if len(name) == 40]
    having = [name for name in commits if symbol in known_builds()[name].exports]

    assert having[0].startswith(first)
    assert having == commits[commits.index(having[0]) :]


@pytest.mark.network
@pytest.mark.parametrize("version", VERSIONS)
def test_the_recorded_digests_symbols_and_files_are_those_of_the_wheels(version: str) -> None:
    build = known_builds()[version]
    digests, exports, markers, python = set(), set(), set(), {}
    for wheel in fetch_saver(version):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                content = archive.read(name)
                if name.endswith(".py"):
                    python[name] = hashlib.sha256(content).hexdigest()
                if name.endswith(".so"):
                    library = read_library(content, name)
                    digests.add(hashlib.sha256(content).hexdigest())
                    exports.add(tuple(sorted(interface_of(library.exports))))
                    markers.add(tuple(marker for marker in MARKERS if marker in library.imports))

    assert (digests, exports, markers, python) == (
        set(build.libraries),
        {build.exports},
        {build.markers},
        dict(build.python),
    )
