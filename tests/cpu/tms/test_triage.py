"""What a log says."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from patchkit.errors import TmsFileError
from patchkit.tms import log_lines as module
from patchkit.tms.fingerprints import known_builds
from patchkit.tms.log_writers import rank_of
from patchkit.tms.probe import probe
from patchkit.tms.signatures import Teller, Told, known_signatures
from patchkit.tms.triage import Finding, triage
from patchkit.tms.verdict import has_defect

from .conftest import CACHE, Wheel
from .wheels import memory_saver

RAY = "(MegatronTrainRayActor pid=77, ip=10.0.0.2) "


def found(text: str | bytes) -> tuple[Finding, ...]:
    return triage(io.BytesIO(text.encode() if isinstance(text, str) else text), memory_saver()).findings


def place(what: str, file: str, function: str, line: int) -> str:
    return f"[torch_memory_saver.cpp] {what}  file=csrc/{file} func={function} line={line}\n"


def driver(code: int, function: str, line: int, file: str = "core.cpp", kind: str = "CUresult") -> str:
    text = {1: "invalid argument", 2: "out of memory"}[code]
    return place(f"{kind} error: {code} ({text})", file, function, line)


TRACEBACK_OF_REGION = """\
  File "/site/torch_memory_saver/entrypoint.py", line 40, in region
    with self._impl.region(tag=tag, enable_cpu_backup=enable_cpu_backup):
  File "/site/torch_memory_saver/entrypoint.py", line 110, in _with_region_config
    assert not self._binary_wrapper.cdll.tms_get_interesting_region()
AssertionError
"""
TRACEBACK_OF_BACKWARD = """\
  File "/site/torch/autograd/graph.py", line 829, in _engine_run_backward
    return Variable._execution_engine.run_backward(
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79.11 GiB
"""
CRASH_AT_GROUPS = """\
Fatal Python error: Segmentation fault

Thread 0x00007f (most recent call first):
  File "/site/torch/distributed/distributed_c10d.py", line 5097 in new_group
  File "/slime/utils/reloadable_process_group.py", line 68 in reload_process_groups
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (driver(1, "free", 81), "double-release"),
        (driver(1, "free", 65), "double-release"),
        (place("CUresult error  result=1", "torch_memory_saver.cpp", "free", 163), "double-release"),
        # Release in f05a875, unmap in b5588e8.
        (driver(1, "free", 104), "double-release"),
        (driver(1, "free", 118), "free-failed"),
        ("[torch_memory_saver.cpp] CUresult error: 1 (invalid argum", "driver-call-cut"),
        (
            "[torch_memory_saver.cpp] CUresult error: 1 (invalid argument)  file=csrc/core.cpp func=fr\n",
            "driver-call-cut",
        ),
        (driver(1, "free", 9999), "free-failed"),
        (driver(2, "pause", 133, kind="cudaError"), "pinned-host-memory"),
        (driver(2, "pause", 112, kind="cudaError"), "pinned-host-memory"),
        (driver(1, "pause", 133, kind="cudaError"), "pinned-host-memory"),
        (driver(2, "allocate", 66, "cpu_backup.h", "cudaError"), "pinned-host-memory"),
        (driver(1, "pause", 116, kind="cudaError"), "driver-call"),
        (driver(1, "pause", 119), "driver-call"),
        (place("Cannot pause allocation that is not active.", "core.cpp", "pause", 105), "paused-twice"),
        (place("Cannot resume allocation that is not paused. ", "core.cpp", "resume", 237), "resumed-while-active"),
        (driver(1, "cu_mem_create", 194, "utils.h"), "unaligned-size"),
        (driver(2, "cu_mem_create", 194, "utils.h"), "device-memory-fatal"),
        (driver(2, "resume", 243, kind="cudaError"), "device-memory-at-resume"),
        (
            (
                "[torch_memory_saver.cpp] cuMemCreate CUDA_ERROR_OUT_OF_MEMORY (may not be an issue e.g. torch"
                " free cache and retry)"
            ),
            "device-memory-retry",
        ),
        (place("only support interesting region", "entrypoint.cpp", "tms_torch_free", 107), "torch-mode-free"),
        (
            place(
                "get_cpu_backup_pointer: found paused allocation but cpu_backup does not exist, do you forget",
                "core.cpp",
                "get_cpu_backup_pointer",
                302,
            ),
            "backup-query",
        ),
        (TRACEBACK_OF_REGION, "nested-region"),
        ('AssertionError: TorchMemorySaver observes invalid LD_PRELOAD. You can use (LD_PRELOAD="")', "not-preloaded"),
        ("TorchMemorySaver is disabled for the current process because invalid LD_PRELOAD. You can", "disabled"),
        (
            (
                "RuntimeError: TorchMemorySaver is disabled for the current process because expandable_segments is not"
                " supported yet."
            ),
            "expandable-segments",
        ),
        (
            "python: error while loading shared libraries: libcudart.so.12: cannot open shared object file",
            "cuda-runtime-not-found",
        ),
        ("python: error while loading shared libraries: libcuda.so.1: cannot open", "driver-not-found"),
        (
            (
                "ERROR: ld.so: object '/x/torch_memory_saver_hook_mode_preload.so' from LD_PRELOAD cannot be preloaded"
                " (cannot open shared object file): ignored."
            ),
            "preload-ignored",
        ),
        (
            "OSError: /x/torch_memory_saver_hook_mode_preload.abi3.so:/y/libstdbuf.so: cannot open shared object file",
            "preload-several-entries",
        ),
        ("AttributeError: 'TorchMemorySaver' object has no attribute '_impl_ctor_kwargs'", "hook-mode-after-init"),
        ("AttributeError: 'TorchMemorySaver' object has no attribute 'get_cpu_backup'", "no-host-copy"),
        (
            (
                "    with torch_memory_saver.region(tag='a', enable_cpu_backup=False):\n"
                "TypeError: region() got an unexpected keyword argument 'enable_cpu_backup'\n"
            ),
            "no-backup-argument",
        ),
        ("RuntimeError: TMS_CUDA_MAJOR env var must be set for CUDA builds", "build-needs-cuda-major"),
        (
            "    handle = storage._share_cuda_()\nRuntimeError: CUDA error: invalid argument\n",
            "ipc-of-tracked-memory",
        ),
        ("    x.pin_memory()\nRuntimeError: CUDA error: invalid argument\n", "pinned-host-memory-torch"),
        (TRACEBACK_OF_BACKWARD, "out-of-memory-in-backward"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "out-of-memory"),
        ("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.", "out-of-memory"),
        (CRASH_AT_GROUPS, "segfault-at-process-groups"),
        ("!!!!!!! Segfault encountered !!!!!!!\nFatal Python error: Segmentation fault\n", "segfault"),
        ("ray: Task was killed due to the node running low on memory.", "host-memory-killed"),
        ("kernel: Out of memory: Killed process 12 (python)", "host-memory-killed"),
    ],
)
def test_a_line_is_known_for_what_it_is(text: str, expected: str) -> None:
    assert [item.signature.id for item in found(text)] == [expected]


def test_every_signature_has_an_example_above() -> None:
    (mark,) = (mark for mark in test_a_line_is_known_for_what_it_is.pytestmark if mark.name == "parametrize")  # type: ignore[attr-defined]

    assert {expected for _, expected in mark.args[1]} == {item.id for item in known_signatures().signatures}


@pytest.mark.parametrize(
    "text",
    [
        "iteration 3/ 10 | lm loss: 1.0 | grad norm: 0.1 |",
        "Namespace(pin_memory=True, offload_train=True)",
        "import torch_memory_saver  # done",
        'File "/site/torch_memory_saver/entrypoint.py", line 110, in _with_region_config',
        "tensor._share_cuda_() took 3 ms",
        "docs: what to do when CUDA out of memory errors show",
        "",
    ],
)
def test_an_innocent_line_is_no_finding(text: str) -> None:
    assert found(text) == ()


def test_the_anchors_hold_what_a_block_is_searched_for_first() -> None:
    anchors = known_signatures().anchors

    assert [text for key, texts in anchors.items() for text in texts if key not in text] == []


def test_the_defects_that_signatures_name_are_recorded_ones() -> None:
    named = {item.defect for item in known_signatures().signatures if item.defect}

    assert named <= {defect.id for defect in memory_saver().defects}


# --- which build it was

BEFORE_THE_FIX = "it can only come from a build before 0.0.10 and b5588e83d ("
WITH_THE_FIX = "it comes from a build with the fix of the double release: "


@pytest.mark.parametrize(
    ("line", "builds", "conclusion"),
    [
        (driver(1, "free", 65), ["0.0.9", "0.0.9.post1"], BEFORE_THE_FIX),
        (
            driver(1, "free", 81),
            ["1bc80bb", "d64a639", "cb4fa6b", "a193d9d", "6d5bce4"],
            BEFORE_THE_FIX,
        ),
        (driver(1, "free", 104), ["f05a875", "fdb09ad", "b5588e8"], "it comes from one of f05a8754d, fdb09ad34,"),
        (driver(1, "free", 118), ["0.0.10", "6f3def2", "9efce74", "9bc9a44", "4a43c97"], WITH_THE_FIX),
        (driver(1, "free", 9999), [], "no recorded build prints this at that line"),
        # The line of a failed cudaMallocHost there is the one of a failed cuMemRelease here.
        (
            driver(2, "pause", 133, kind="cudaError"),
            ["383bec3", "9b8b788", "d98c745", "dc68769", "1ee4926"],
            BEFORE_THE_FIX,
        ),
    ],
)
def test_the_line_that_it_prints_tells_the_build(line: str, builds: list[str], conclusion: str) -> None:
    (item,) = found(line)

    assert item.builds is not None
    assert [name[:7] if len(name) == 40 else name for name in item.builds] == builds
    assert (item.conclusion or "").startswith(conclusion)


def test_a_number_at_the_end_of_a_log_that_is_cut_may_have_lost_digits() -> None:
    whole = driver(1, "free", 81).rstrip("\n")
    (kept,), (lost,), (ended,) = found(whole), found(whole[:-1]), found(f"{whole[:-1]}\n")

    assert (kept.signature.id, ended.signature.id) == ("double-release", "free-failed")
    assert (lost.signature.id, lost.builds) == ("driver-call-cut", None)


def test_lines_of_one_log_together_narrow_the_build_down() -> None:
    log = driver(1, "cu_mem_create", 194, "utils.h") + driver(1, "free", 65)

    assert triage(io.BytesIO(log.encode()), memory_saver()).builds == ("0.0.9", "0.0.9.post1")


def test_lines_of_two_builds_are_two_findings() -> None:
    items = found(driver(1, "free", 65) + driver(1, "free", 81) + driver(1, "free", 65))

    assert [(item.signature.id, item.count, item.first_line) for item in items] == [
        ("double-release", 2, 1),
        ("double-release", 1, 2),
    ]
    assert triage(io.BytesIO((driver(1, "free", 65) + driver(1, "free", 81)).encode()), memory_saver()).builds == ()


def test_a_log_without_such_lines_tells_no_build() -> None:
    assert triage(io.BytesIO(b"hello\n"), memory_saver()).builds is None


@pytest.mark.parametrize("version", ["0.0.8", "0.0.9", "0.0.9.post1", "0.0.10"])
def test_what_the_real_libraries_say_is_traced_back_to_them(wheel: Wheel, version: str) -> None:
    names = ("free_while_paused", "pause_twice", "resume_of_active", "unaligned_size", "host_memory_runs_out")
    trials = probe(wheel(version), cache=CACHE, names=names).trials
    log = "".join(f"{trial.text}\n" for trial in trials if trial.outcome.value == "dies")

    builds = triage(io.BytesIO(log.encode()), memory_saver()).builds

    assert builds is not None
    assert version in builds
    assert {known_builds()[name].prints for name in builds} == {known_builds()[version].prints}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (driver(1, "free", 65), "call=cuMemUnmap fix=before"),
        (driver(1, "free", 104), "call=cuMemRelease+cuMemUnmap fix=unclear"),
        (driver(1, "free", 118), "call=cuMemUnmap+cuMemAddressFree fix=after"),
        (driver(1, "free", 9999), "call=unknown fix=unknown"),
    ],
)
def test_a_line_is_completed_by_the_call_and_the_side_of_the_fix(line: str, told: str) -> None:
    defect = next(item for item in memory_saver().defects if item.id == "double-release")
    before = frozenset(name for name in known_builds() if has_defect(name, defect))

    assert Teller(known_builds(), before).told(line.strip()).text == f"{line.strip()} {told}"


# --- ranks and counts


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        (f"{RAY}hello", "MegatronTrainRayActor pid=77 ip=10.0.0.2"),
        ("(RolloutManager pid=3) hello", "RolloutManager pid=3"),
        ("[rank3]: hello", "rank 3"),
        ("[default12]:hello", "rank 12"),
        ("0: hello [Rank 5] hello", "rank 5"),
        ("hello rank=2", "rank 2"),
        ('{"message": "hello", "rank": 4}', "rank 4"),
        ("[1,7]<stderr>:hello", "rank 7"),
        ("(Actor[rank=3] pid=5) hello", "Actor[rank=3] pid=5"),
        ("(Worker(rank=3, world=8) pid=5, ip=10.0.0.9) hello", "Worker(rank=3, world=8) pid=5 ip=10.0.0.9"),
        ("(pid=77, ip=10.0.0.9) hello", "pid=77 ip=10.0.0.9"),
        ("(see above) (Actor pid=5) hello", "Actor pid=5"),
        ("hello", ""),
    ],
)
def test_who_wrote_a_line(line: str, rank: str) -> None:
    assert rank_of(line) == rank


def test_lines_are_counted_by_rank_with_those_that_ray_leaves_out() -> None:
    line = driver(1, "free", 65).rstrip()
    log = f"\x1b[36m{RAY}\x1b[0m{line}\n[rank1]: {line}\n[rank1]: {line}\n{RAY}{line} [repeated 7x across cluster]\n"

    (item,) = found(log)

    assert (item.count, item.ranks) == (11, {"MegatronTrainRayActor pid=77 ip=10.0.0.2": 9, "rank 1": 2})
    assert (item.first_line, item.text) == (1, f"{RAY}{line}")


def test_ranks_that_share_a_line_are_told_apart() -> None:
    line = driver(1, "free", 65).rstrip()

    (item,) = found(f"[rank0]: step 1 [rank1]: {line}[rank2]: {line}{line}\n")

    assert (item.count, item.ranks, item.first_line) == (3, {"": 1, "rank 1": 1, "rank 2": 1}, 1)


def test_a_progress_bar_ends_with_a_carriage_return() -> None:
    line = driver(1, "free", 65).rstrip()

    (item,) = found(f"begin\n[rank1]: 3% |##  |\r[rank1]: 9% |### |\r[rank2]: {line}\r[rank2]: 12% |####|\r\nend\n")

    assert (item.first_line, item.text, item.ranks) == (2, f"[rank2]: {line}", {"rank 2": 1})


def test_what_a_terminal_obeys_is_no_part_of_a_line() -> None:
    line = driver(1, "free", 65).rstrip()

    (item,) = found(f"\x1b]0;training\x07\x1b[?25l\x1b[38;5;3m[rank2]:\x1b[0m {line}\x1b[K\n")

    assert (item.text, item.ranks) == (f"[rank2]: {line}", {"rank 2": 1})


@pytest.mark.parametrize("path", ["csrc/core.cpp", "/x/torch_memory_saver/csrc/core.cpp", "/my builds/csrc/core.cpp"])
def test_where_it_was_built_does_not_matter(path: str) -> None:
    (item,) = found(driver(1, "free", 65).replace("csrc/core.cpp", path))

    assert (item.signature.id, item.count, item.builds) == ("double-release", 1, ("0.0.9", "0.0.9.post1"))


def test_what_ends_a_run_comes_first() -> None:
    log = f"[torch_memory_saver.cpp] cuMemCreate CUDA_ERROR_OUT_OF_MEMORY\n{driver(1, 'free', 65)}"

    assert [item.signature.severity for item in found(log)] == ["fatal", "harmless"]
    assert triage(io.BytesIO(log.encode()), memory_saver()).fatal
    assert not triage(io.BytesIO(log.splitlines()[0].encode()), memory_saver()).fatal


# --- any bytes, any size


def long_log(seed: int) -> bytes:
    """A log in which findings and noise, lines long and short, text and junk, follow each other at random."""
    order = random.Random(seed)  # noqa: S311 - noise
    parts: list[Callable[[], bytes]] = [
        driver(1, "free", 65).encode,
        lambda: b"[rank%d]: " % order.randrange(3) + TRACEBACK_OF_BACKWARD.encode(),
        TRACEBACK_OF_REGION.encode,
        lambda: b"iteration | " * order.randrange(200) + b"\n",
        lambda: order.randbytes(order.randrange(900)).replace(b"\n", b"") + b"\n",
        lambda: b"\r\n",
        lambda: b"CUDA out of memory. then torch_memory_saver and CUDA out of memory.\n",
    ]
    # Between findings stands more than a second line is looked for in, so that none is near another's.
    return b"".join(order.choice(parts)() + b"noise " * 900 + b"\n" for _ in range(40))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("block", [1, 97, 4096, 10_000, 65_537])
def test_the_size_of_the_blocks_makes_no_difference(monkeypatch: pytest.MonkeyPatch, seed: int, block: int) -> None:
    log = long_log(seed) if block > 1 else long_log(seed)[:30_000]
    monkeypatch.setattr(module, "BLOCK", 1 << 30)
    whole = triage(io.BytesIO(log), memory_saver())
    monkeypatch.setattr(module, "BLOCK", block)

    assert triage(io.BytesIO(log), memory_saver()) == whole
    assert whole.findings != ()
    assert (whole.size, whole.lines) == (len(log), log.count(b"\n") + (not log.endswith(b"\n")))


@pytest.mark.parametrize(
    ("log", "lines"), [(b"", 0), (b"\n", 1), (b"a", 1), (b"a\nb", 2), (b"\x00\xff\xfe" * 99, 1), (b"a\n\n", 2)]
)
def test_lines_and_bytes_are_counted_whatever_they_are(log: bytes, lines: int) -> None:
    told = triage(io.BytesIO(log), memory_saver())

    assert (told.size, told.lines, told.findings) == (len(log), lines, ())


def test_a_truncated_last_line_counts_as_far_as_it_goes() -> None:
    assert found(driver(1, "free", 65)[:-1])[0].signature.id == "double-release"
    assert found(driver(1, "free", 65)[:60])[0].signature.id == "driver-call-cut"


def test_an_endless_line_is_cut_around_what_it_says() -> None:
    line = driver(1, "free", 65).rstrip().replace("csrc", "/x/torch_memory_saver/csrc")

    (item,) = found(b"x" * 3_000_000 + line.encode() + b"y" * 3_000_000)

    assert (item.signature.id, item.first_line, item.count) == ("double-release", 1, 1)
    assert item.text == f"...{'x' * 80}{line}{'y' * (400 - 3 - 80 - len(line))}"


def test_two_crashes_in_an_endless_line_are_two() -> None:
    line = driver(1, "free", 65).rstrip().encode()

    (item,) = found(b"x" * 9_000 + line + b"y" * 9_000 + line + b"z" * 9_000)

    assert item.count == 2


@pytest.mark.parametrize(
    ("start", "what", "hint"),
    [
        (gzip.compress(b"hello\n"), "the log is compressed with gzip", "zcat LOG | patchkit tms triage -"),
        (bz2.compress(b"hello\n"), "the log is compressed with bzip2", "bzcat LOG | patchkit tms triage -"),
        (lzma.compress(b"hello\n"), "the log is compressed with xz", "xzcat LOG | patchkit tms triage -"),
        (b"\x28\xb5\x2f\xfd hello", "the log is compressed with zstd", "zstdcat LOG | patchkit tms triage -"),
        (
            "hello\n".encode("utf-16"),
            "the log is UTF-16",
            "iconv -f UTF-16 -t UTF-8 LOG | patchkit tms triage -",
        ),
    ],
    ids=["gzip", "bzip2", "xz", "zstd", "UTF-16"],
)
def test_a_file_in_which_no_line_can_be_found_is_not_called_innocent(start: bytes, what: str, hint: str) -> None:
    with pytest.raises(TmsFileError) as caught:
        found(start)

    assert (caught.value.message, caught.value.hint) == (f"{what}, and its lines cannot be read", hint)


def test_the_command_that_is_hinted_at_runs_nothing_that_a_name_says(tmp_path: Path) -> None:
    path = tmp_path / "a;touch pwned;.gz"
    path.write_bytes(gzip.compress(b"hello\n"))
    with path.open("rb") as log, pytest.raises(TmsFileError) as caught:
        triage(log, memory_saver())

    assert caught.value.hint == f"zcat '{path}' | patchkit tms triage -"


def test_a_crash_that_repeats_itself_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    line = driver(1, "free", 65).rstrip()
    log = "".join(f"[rank{number % 64}]: {line}\n" for number in range(10_000)).encode()
    told: list[str] = []
    tell = Teller.told

    def counted(self: Teller, message: str, *, is_cut: bool) -> Told:
        told.append(message)
        return tell(self, message, is_cut=is_cut)

    monkeypatch.setattr(Teller, "told", counted)

    (item,) = found(log)

    assert (item.count, told) == (10_000, [line])


def test_memory_does_not_grow_with_the_log() -> None:
    script = (
        "import resource, sys; sys.path[:0] = sys.argv[1:]\n"
        "from tms.wheels import memory_saver; from patchkit.tms.triage import triage\n"
        "records = memory_saver(); before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "class Log:\n"
        "    left = 2400\n"
        "    def read(self, size):\n"
        "        self.left -= 1; return b'iteration 1 | loss |\\n' * (size // 21) if self.left else b''\n"
        "told = triage(Log(), records)\n"
        "print(told.size > 300_000_000, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000)\n"
    )
    folders = [str(Path(__file__).parents[3]), str(Path(__file__).parents[1])]
    done = subprocess.run([sys.executable, "-c", script, *folders], check=True, capture_output=True, text=True)

    assert done.stdout == "True True\n"
