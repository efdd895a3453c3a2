"""Carrying a series to many texts of its files, on as many processors as there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from patchkit.core.carry import Verdict
from patchkit.core.history.spans import HunkState
from patchkit.core.rebasing.rebased import HunkRebase
from patchkit.core.upstream import Target
from patchkit.operations.history_states import OUTSIDE, Job, States
from patchkit.operations.layers import Layer
from patchkit.operations.processes import dealt_out
from patchkit.operations.rebase_carried import CarriedFile
from patchkit.operations.rebase_carry import carry_layer

_WHOLE = "<whole file>"
"""Id of the hunk of a file that one side makes or removes, when the patch names none; as ``carry_layer`` has it."""
_FEW = 6
"""Texts that are carried faster than other processes begin."""


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
        # Texts of one file are carried in a row, each after the one before it: the engine remembers what they share.
        in_a_row = sorted(jobs, key=lambda job: (job[2] is None, job[0]))
        for at, states in dealt_out(in_a_row, lambda job: self.on(job[0], job[2]), few=_FEW, in_runs=True):
            path, blob, _content = in_a_row[at]
            yield path, blob, states

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
