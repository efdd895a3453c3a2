"""The options of the GPU tests are looked at before a GPU is used: what is wrong with them is said at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def asked(*options: str | Path) -> subprocess.CompletedProcess[str]:
    """Collect the GPU tests, and run none."""
    words = [sys.executable, "-m", "pytest", "tests/gpu", "-p", "no:cacheprovider", "-q", *map(str, options)]
    return subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True)


def test_what_cannot_work_is_refused_before_anything_runs(tmp_path: Path) -> None:
    """A report that cannot be written would be found out when the last case is done."""
    (tmp_path / "file").write_text("")
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "machine.json").write_text("{}")
    done = asked(
        *("--megatron", "0.11.0", "--megatron", "main", "--tms", "0.0.7", "--at-once", "0"),
        *("--wheels", tmp_path / "none", "--replay", tmp_path, "--answers", tmp_path / "answers"),
        *("--report", tmp_path / "file" / "r.json"),
    )
    lines = [line.removeprefix("ERROR: ") for line in done.stderr.splitlines() if line]

    assert done.returncode == 4
    assert lines[0].startswith("--megatron 0.11.0: unknown release '0.11.0'; supported: v0.12.0, ")
    assert lines[1:] == [
        "--megatron main: a release is expected: branches and commits have no wheel",
        "--tms 0.0.7: no recorded release of torch_memory_saver; there is: 0.0.8, 0.0.9, 0.0.9.post1, 0.0.10",
        "--at-once 0: at least one case at a time",
        f"--wheels {tmp_path / 'none'}: no folder",
        f"--replay {tmp_path}: it holds no answers of GPU tests (machine.json is missing)",
        f"--answers {tmp_path / 'answers'}: it is there already, and a new folder is expected",
        f"--report {tmp_path / 'file' / 'r.json'}: it cannot be written there",
    ]


def test_a_release_goes_by_its_tag_as_well(tmp_path: Path) -> None:
    empty, new = tmp_path / "empty", tmp_path / "new" / "r.json"
    empty.mkdir()
    done = asked("--collect-only", "--megatron", "v0.14.0", "--answers", empty, "--report", new)

    assert done.returncode == 0, done.stdout
    assert "[0.14.0-" in done.stdout
    assert "v0.14.0" not in done.stdout
    assert not new.parent.exists()
