"""Carrying a series to many texts of its files, on as many processors as there are."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait

from msgspec.structs import replace

from patchkit.core.carry import Verdict
from patchkit.core.history.spans import HunkState
from patchkit.core.rebasing.rebased import HunkRebase
from patchkit.core.upstream import Target
from patchkit.operations.history_states import OUTSIDE, States
from patchkit.operations.layers import Layer
from patchkit.operations.rebase_carried import CarriedFile
from patchkit.operations.rebase_carry import carry_layer

Job = tuple[str, "str | None", "bytes | None"]
"""Path, blob id, content; None for no such file."""

_WHOLE = "<whole file>"
"""Id of the hunk of a file that one side makes or removes, when the patch names none; as ``carry_layer`` has it."""
_FEW = 6
"""Texts that are carried faster than other processes begin."""
_MOST = 6
"""Processes at most; each holds some thirty megabytes of its own."""


class Carrier:
    """The patches of a series as they lie on a base, cut into files."""

    def __init__(self, layers: Sequence[Layer], base: Target) -> None:
        self._base = base
        self._layers: dict[str, list[Layer]] = {}
        for layer in layers:
            for file in layer.text.files:
                alone = replace(layer, text=replace(layer.text, files=(file,)))
                self._layers.setdefault(file.path, []).append(alone)

    @property
    def hunks(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """Patch and id of each hunk by path, in the order of what ``states`` gives."""
        return {path: tuple(_names(layers)) for path, layers in self._layers.items()}

    def states(self, jobs: Sequence[Job]) -> Iterator[tuple[str, str | None, States]]:
        """Yield path, blob id and the states of the path's hunks for each job, in any order."""
        # Dealt out the longest first, so that every process gets about as much.
        left = {(path, blob): content for path, blob, content in sorted(jobs, key=lambda job: -len(job[2] or b""))}
        workers = min(_MOST, _processors(), len(left))
        if workers > 1 and len(left) >= _FEW and "fork" in multiprocessing.get_all_start_methods():
            # Without memory for another process, or when one is killed, the rest is carried here.
            with suppress(OSError):
                for (path, blob), states in self._forked(dict(left), workers):
                    del left[path, blob]
                    yield path, blob, states
        for (path, blob), content in left.items():
            yield path, blob, self.on(path, content)

    def _forked(
        self, jobs: Mapping[tuple[str, str | None], bytes | None], workers: int
    ) -> Iterator[tuple[tuple[str, str | None], States]]:
        """Yield what forked processes come to; they have the engine and the series in memory already.

        Pipes and no pool: nothing is locked when the user interrupts, and a process that dies just ends its pipe.
        """
        context = multiprocessing.get_context("fork")
        readers: list[Connection] = []
        processes = []
        try:
            for number in range(workers):
                reader, writer = context.Pipe(duplex=False)
                share = list(jobs.items())[number::workers]
                process = context.Process(target=self._work, args=(share, reader, writer), daemon=True)
                process.start()
                writer.close()
                processes.append(process)
                readers.append(reader)
            while readers:
                for ready in wait(readers):
                    assert isinstance(ready, Connection)  # noqa: S101 - nothing else is waited for
                    try:
                        yield ready.recv()
                    except EOFError:
                        readers.remove(ready)
        finally:
            for process in processes:
                process.terminate()
                process.join()

    def _work(
        self, share: Sequence[tuple[tuple[str, str | None], bytes | None]], reader: Connection, writer: Connection
    ) -> None:
        # A user's interruption is for the process that waits for this one.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        reader.close()
        with suppress(BrokenPipeError):
            for (path, blob), content in share:
                writer.send(((path, blob), self.on(path, content)))

    def on(self, path: str, content: bytes | None) -> States:
        """Return the states of the hunks of ``path`` on one text, each patch on what those before it leave."""
        found: list[HunkState] = []
        for layer in self._layers[path]:
            carried = carry_layer(layer, self._base, _ANY, {path: content}, {}).files[0]
            content = carried.after()
            found += _states([name for _, name in _names([layer])][:-1], carried)
        return tuple(found)


_ANY = Target("", "0", None, None, {}, None)
"""Any commit: none of them promises to run on some Python."""


def _processors() -> int:
    # Which ones this process may use is known on Linux alone.
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def _names(layers: Iterable[Layer]) -> Iterator[tuple[str, str]]:
    for layer in layers:
        (file,) = layer.text.files
        for name in dict.fromkeys(hunk.id or _WHOLE for hunk in file.hunks) or (_WHOLE,):
            yield layer.patch.name, name
        yield layer.patch.name, OUTSIDE


def _states(names: Sequence[str], file: CarriedFile) -> Iterator[HunkState]:
    by_name: dict[str, HunkRebase] = {hunk.id: hunk for hunk in file.hunks}
    for name in names:
        hunk = by_name.get(name)
        if hunk is None:
            yield HunkState(Verdict.CONFLICT.value, "the engine gives no answer for this hunk")
        else:
            told = "; ".join(f"line {alarm.line}: {alarm.message}" for alarm in hunk.alarms)
            yield HunkState(
                hunk.verdict,
                told or hunk.reason,
                tuple(dict.fromkeys(alarm.rule for alarm in hunk.alarms)),
                tuple(f"{drift.scope} ({', '.join(drift.kinds)})" for drift in hunk.drift),
            )
    told = "; ".join(f"line {alarm.line}: {alarm.message}" for alarm in file.alarms)
    rules = tuple(dict.fromkeys(alarm.rule for alarm in file.alarms))
    yield HunkState(Verdict.EXACT.value, told or "no gate has anything to say", rules)
