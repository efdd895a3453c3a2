"""Whether a patch and the checkout that it is applied to belong together, by the blob ids in its index lines."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from patchkit.core.pins.findings import Finding
from patchkit.core.pins.judging import Knowledge, finding
from patchkit.core.pins.known import where_to_look
from patchkit.core.pins.model import UNKNOWN, Applied, Pin, PinKind, Word
from patchkit.core.pins.patching import Texts, named_texts, places
from patchkit.core.pins.reading import Reading
from patchkit.core.upstream import Target

_LOOSE_ENDS = {PinKind.NOTHING, PinKind.BRANCH, PinKind.UNKNOWN, PinKind.RANGE}


@dataclass(frozen=True, slots=True)
class _Patch:
    """A patch file that a command applies."""

    applied: Applied
    shown: str
    """What to call it."""
    content: bytes | None
    """None when it was not found."""
    texts: Texts | None
    """None when it is no patch."""

    @property
    def at(self) -> int:
        return self.applied.command.at


def base_findings(reading: Reading, known: Knowledge) -> Iterator[Finding]:
    """Hold each patch of Megatron-LM against what is checked out, and those after it against what it leaves."""
    left: dict[str, dict[str, str]] = {}
    for applied in reading.applied:
        if not applied.files and _in_clone(reading, applied):
            unread = _Patch(applied, "what standard input holds", None, None)
            yield _not_known(reading, unread, f"{unread.shown} was not found", "apply a file")
        for file in applied.files:
            patch = _found(reading, known, applied, file)
            if not _is_for_megatron(reading, patch, file):
                continue
            doubt = _doubt(reading, known, patch)
            if doubt is not None:
                yield doubt
            elif patch.texts:
                there = left.setdefault(applied.folder, {})
                yield from _held(reading, known, patch, there)
                there.update({path: after for path, (_before, after) in patch.texts.items()})


def _found(reading: Reading, known: Knowledge, applied: Applied, file: Word) -> _Patch:
    contents = known.patches.get(reading.path, {})
    name = next((place for place in places(applied.command, file.text, reading.script) if place in contents), None)
    if name is None:
        return _Patch(applied, file.written, None, None)
    return _Patch(applied, name, contents[name], named_texts(contents[name], name))


def _is_for_megatron(reading: Reading, patch: _Patch, file: Word) -> bool:
    """Tell whether it changes Megatron-LM: by its paths; unread, by its name and the folder that it is applied in."""
    if patch.content is not None:
        return b"\n+++ b/megatron/" in patch.content or b"\n--- a/megatron/" in patch.content
    return _in_clone(reading, patch.applied) or "megatron" in posixpath.basename(file.text).lower()


def _in_clone(reading: Reading, applied: Applied) -> bool:
    folders = {pin.folder for pin in reading.pins if pin.package == "megatron" and pin.folder}
    return _name(applied.folder) in folders


def _name(folder: str) -> str:
    return posixpath.basename(posixpath.normpath(folder))


def _doubt(reading: Reading, known: Knowledge, patch: _Patch) -> Finding | None:
    """Return why patch and checkout cannot be compared; None when they can."""
    if patch.content is None:
        advice = "name the folder that the build runs in with --context DIR"
        return _not_known(reading, patch, f"{patch.shown} was not found", advice)
    if patch.texts is None:
        return finding(
            reading,
            patch.at,
            "no-patch",
            "wrong",
            message=f"{patch.shown} is no unified diff that can be read",
            why="git apply takes it for corrupt, or applies nothing",
            advice="make it again with git diff; `patchkit import` says what is wrong with it",
        )
    if not patch.texts:
        return _not_known(
            reading, patch, f"{patch.shown} has no index lines", "make it with git diff, which writes them"
        )
    pin = _checked_out(reading, patch)
    if pin is None or pin.kind in _LOOSE_ENDS:
        what = "what it is applied to is not in this file" if pin is None else "what it is applied to is not pinned"
        fitting = _fitting(patch.texts, known.targets)
        advice = f"pin what it was made for: {fitting}" if fitting else "pin what it was made for"
        return _not_known(reading, patch, f"{patch.shown}: {what}", advice)
    if not any(_blob(path, pin, known) is not None for path in patch.texts):
        advice = where_to_look(pin, known.history)
        return _not_known(reading, patch, f"{patch.shown}: the text of {pin.title} is not at hand", advice)
    return None


def _not_known(reading: Reading, patch: _Patch, message: str, advice: str) -> Finding:
    why = "whether patch and checkout belong together could not be found out"
    return finding(reading, patch.at, "base-not-known", "look", message=message, why=why, advice=advice)


def _held(reading: Reading, known: Knowledge, patch: _Patch, left: Mapping[str, str]) -> Iterator[Finding]:
    pin, texts = _checked_out(reading, patch), patch.texts
    if pin is None or texts is None:
        return
    here = {path: left.get(path) or _blob(path, pin, known) for path in texts}
    compared = {path: blob for path, blob in here.items() if blob is not None}
    other = [path for path, blob in compared.items() if not _same_text(blob, texts[path][0])]
    if not other:
        return
    fitting = _fitting(texts, known.targets)
    instead = f"check out what its index lines name ({fitting})" if fitting else "find its base"
    yield finding(
        reading,
        patch.at,
        "wrong-base",
        "wrong",
        message=f"{patch.shown} was made for another text than {pin.title} (line {reading.line(pin.at)}): "
        f"{len(other)} of {len(compared)} files, {other[0]} first",
        why="hunks conflict, or apply where they do not belong",
        advice=f"{instead}, or rebase it onto {pin.title}",
    )


def _same_text(one: str, other: str) -> bool:
    """Compare blob ids, either of which may be abbreviated; an empty one is that of no file."""
    return bool(one and other) and (one.startswith(other) or other.startswith(one))


def _checked_out(reading: Reading, patch: _Patch) -> Pin | None:
    """Return the newest pin of Megatron-LM before the patch, in what its stage is made from.

    In a clone's folder that of the clone, elsewhere that of an installation by pip; a folder that the file does not
    name can be either.
    """
    lineage = reading.script.lineage(patch.applied.command.stage)
    pins = [pin for pin in reading.pins if pin.package == "megatron" and pin.stage in lineage and pin.at < patch.at]
    folder = patch.applied.folder
    if _name(folder) in {pin.folder for pin in pins}:
        pins = [pin for pin in pins if pin.folder == _name(folder)]
    elif UNKNOWN not in folder:
        pins = [pin for pin in pins if pin.folder is None]
    return pins[-1] if pins else None


def _blob(path: str, pin: Pin, known: Knowledge) -> str | None:
    """Return the blob id; empty when there is no such file, None when that is not known."""
    target = known.target(pin)
    if target is not None and path in target.blobs:
        return target.blobs[path]
    names = dict.fromkeys((target.commit, target.tag, pin.value) if target else (pin.value,))
    return next((blob for name in names if name and (blob := known.history.blob(name, path)) is not None), None)


def _fitting(texts: Texts, targets: tuple[Target, ...]) -> str:
    """Return the targets that have every text that a patch names, as far as they are recorded."""
    fitting = []
    for target in targets:
        shared = [path for path in texts if path in target.blobs]
        if shared and all(_same_text(target.blobs[path], texts[path][0]) for path in shared):
            fitting.append(target.title)
    return ", ".join(fitting[:4]) + (f" and {len(fitting) - 4} more" if len(fitting) > 4 else "")
