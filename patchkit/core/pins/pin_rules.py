"""What is wrong with a pin by itself, and with two of the same file."""

from __future__ import annotations

from collections.abc import Iterator

from patchkit.core.memory_saver import Defect
from patchkit.core.pins.findings import Finding
from patchkit.core.pins.judging import Knowledge, finding
from patchkit.core.pins.known import (
    fixable,
    known_defect,
    smallest_commit,
    smallest_release,
    standing_of,
    where_to_look,
)
from patchkit.core.pins.model import NAMES, Pin, PinKind
from patchkit.core.pins.reading import Kind, Reading
from patchkit.core.version_range import in_range

_NEEDS_MAJOR = "build-needs-cuda-major"


def pin_findings(reading: Reading, known: Knowledge) -> Iterator[Finding]:
    """Yield what is wrong with each pin of a file, then what is wrong with pairs."""
    for pin in reading.pins:
        yield from _redirected(reading, pin)
        # What a constraints file pins is pinned.
        if pin.package not in reading.constrained:
            yield from _unpinned(reading, pin, known)
            yield from _version_range(reading, pin, known)
        yield from (_saver if pin.package == "tms" else _megatron)(reading, pin, known)
    yield from _duplicates(reading, known)


def _example(pin: Pin, known: Knowledge) -> str:
    """Return how a good pin of the same kind is written."""
    if pin.package == "megatron":
        newest = known.newest_megatron(tagged=pin.repository is not None)
        return f"megatron-core=={newest.name}" if pin.repository is None else f"git checkout {newest.tag}"
    if pin.repository is None:
        return f"torch_memory_saver=={known.newest_saver}"
    fix = next((each for each in known.saver.defects if each.id == known.minimum), None)
    return f"@{smallest_commit([fix], known.saver)} or a later commit" if fix else "a commit"


def _unpinned(reading: Reading, pin: Pin, known: Knowledge) -> Iterator[Finding]:
    name = NAMES[pin.package]
    if pin.kind is PinKind.UNKNOWN:
        yield finding(
            reading,
            pin.at,
            "pin-not-known",
            "look",
            message=f"which {name} is installed the file does not say: {pin.value}",
            why="the value comes from outside, and nothing here can be checked",
            advice="give the variable a default in this file",
        )
    if pin.kind not in (PinKind.NOTHING, PinKind.BRANCH):
        return
    of_patch = " A patch fits one text only." if pin.package == "megatron" and reading.applied else ""
    message = f"{name} is not pinned"
    if pin.kind is PinKind.BRANCH:
        message = f"{name} at {pin.value} is not pinned: a branch moves"
    yield finding(
        reading,
        pin.at,
        "unpinned",
        "look" if reading.kind is Kind.PYPROJECT else "wrong",
        message=message,
        why=f"the same file gives another {name} on another day.{of_patch}",
        advice=f"pin it: {_example(pin, known)}",
    )


def _redirected(reading: Reading, pin: Pin) -> Iterator[Finding]:
    """``pip install name>=1.0`` without quotes asks for any version, and writes to a file called ``=1.0``."""
    after = pin.command.redirected if pin.command else None
    if after is None or not after.text.startswith("=") or pin.kind is not PinKind.NOTHING:
        return
    yield finding(
        reading,
        after.at,
        "range-redirected",
        "wrong",
        message=f">{after.written} without quotes is no version range: the shell sends the output to file {after.text}",
        why="pip is asked for any version",
        advice="put the requirement in quotes",
    )


def _version_range(reading: Reading, pin: Pin, known: Knowledge) -> Iterator[Finding]:
    if pin.kind is not PinKind.RANGE:
        return
    try:
        admitted = [each.version for each in known.saver.releases if in_range(each.version, pin.value)]
    except ValueError:
        yield _strange(reading, pin, known, "is no version range")
        return
    having = [version for version in admitted if pin.package == "tms" and _has_minimum(version, known)]
    if pin.package == "tms" and admitted and having == admitted:
        yield _with_defects(reading, pin, known, _minimum(known), f"{pin.title}: every recorded release in this range")
    elif having:
        yield finding(
            reading,
            pin.at,
            "range-admits-defects",
            "look",
            message=f"{pin.title} admits {', '.join(having)}, in which {_minimum(known)[0].title}",
            why="what is installed depends on the day, on the index and on what else asks for it",
            advice=f"raise the lower bound: {_example(pin, known).replace('==', '>=')}",
        )
    elif reading.kind is not Kind.PYPROJECT:
        yield finding(
            reading,
            pin.at,
            "range",
            "look",
            message=f"{pin.title} is a range",
            why="the same file gives another version on another day",
            advice=f"pin one version: {_example(pin, known)}",
        )


def _minimum(known: Knowledge) -> tuple[Defect, ...]:
    return tuple(each for each in known.saver.defects if each.id == known.minimum)


def _has_minimum(version: str, known: Knowledge) -> bool:
    return any(version in each.present_in.releases for each in _minimum(known))


def _strange(reading: Reading, pin: Pin, known: Knowledge, what: str) -> Finding:
    # Only a commit is looked up in a clone.
    clone = f"; {where_to_look(pin, known.history)}" if pin.kind is PinKind.COMMIT else ""
    return finding(
        reading,
        pin.at,
        "unknown-pin",
        "look",
        message=f"{pin.title} {what}",
        why="nothing is known of its defects, and no patch was made for it",
        advice=f"look at what it contains{clone}",
    )


def _saver(reading: Reading, pin: Pin, known: Knowledge) -> Iterator[Finding]:
    standing = standing_of(pin, known.saver, known.history)
    if standing is None:
        if pin.kind in (PinKind.RELEASE, PinKind.COMMIT, PinKind.TAG):
            yield _strange(reading, pin, known, "is none of the recorded ones")
    elif defects := fixable(standing):
        yield _with_defects(reading, pin, known, defects, pin.title)
    yield from _build(reading, pin, standing.defects if standing else known.saver.defects)


def _with_defects(reading: Reading, pin: Pin, known: Knowledge, defects: tuple[Defect, ...], subject: str) -> Finding:
    worst = sorted(defects, key=lambda each: each.id != known.minimum)
    below = worst[0].id == known.minimum
    release, commit = smallest_release(defects, known.saver), smallest_commit(defects, known.saver)
    fixed = [release] if pin.kind is not PinKind.COMMIT else [commit[:9] if commit else None, release]
    count = f"{len(defects)} defects that were fixed since" if len(defects) > 1 else "a defect that was fixed since"
    others = f"; also {', '.join(each.id for each in worst[1:])}" if len(worst) > 1 else ""
    return finding(
        reading,
        pin.at,
        "pin-with-defects",
        "wrong" if below else "look",
        message=f"{subject} has {count}: {worst[0].title}",
        why=f"[{worst[0].id}] {worst[0].symptom}{others}",
        advice=f"pin {' or '.join(each for each in fixed if each) or 'a later build'}, or later",
        defects=[known_defect(each) for each in worst],
    )


def _build(reading: Reading, pin: Pin, defects: tuple[Defect, ...]) -> Iterator[Finding]:
    """A build from source wants to know the CUDA; ROCm's does not."""
    asks = pin.repository is not None and any(each.id == _NEEDS_MAJOR for each in defects)
    if not asks or reading.is_rocm or pin.environment is None or "TMS_CUDA_MAJOR" in pin.environment:
        return
    yield finding(
        reading,
        pin.at,
        "build-environment",
        "look",
        message=f"{pin.title} is built from source without TMS_CUDA_MAJOR",
        why="the build stops: TMS_CUDA_MAJOR env var must be set for CUDA builds",
        advice="set TMS_CUDA_MAJOR to the major of torch's CUDA; `patchkit tms build-env` prints it",
    )


def _megatron(reading: Reading, pin: Pin, known: Knowledge) -> Iterator[Finding]:
    if pin.kind not in (PinKind.RELEASE, PinKind.TAG, PinKind.COMMIT):
        return
    target = known.target(pin)
    if target is None:
        yield _strange(reading, pin, known, "is no target of the series")
    elif target.release and target.release.yanked:
        yield finding(
            reading,
            pin.at,
            "yanked",
            "wrong",
            message=f"{pin.title} was withdrawn from the index: {target.release.yanked}",
            why="it installs only by exact version, and its makers say not to use it",
            advice="pin the release that replaced it",
        )


def _duplicates(reading: Reading, known: Knowledge) -> Iterator[Finding]:
    for package in ("megatron", "tms"):
        pins = [pin for pin in reading.pins if pin.package == package and not pin.conditional]
        for at, later in enumerate(pins):
            together = reading.script.lineage(later.stage)
            earlier = next((pin for pin in reversed(pins[:at]) if pin.stage in together), None)
            if earlier is None or same_pin(earlier, later, known):
                continue
            both_ways = (earlier.folder is None) == (later.folder is None)
            line = reading.line(earlier.at)
            yield finding(
                reading,
                later.at,
                "installed-twice",
                "wrong" if both_ways else "look",
                message=f"{later.title} is installed over {earlier.title} of line {line}: the last wins"
                if later.command or earlier.command or reading.script.images
                else f"{later.title} is asked for, and {earlier.title} of line {line}: nothing satisfies both",
                why="who reads or edits the first pin changes nothing"
                if later.command or earlier.command or reading.script.images
                else "the installation stops, or takes the one that is asked for somewhere else",
                advice="keep one of the two",
            )


def same_pin(one: Pin, other: Pin, known: Knowledge) -> bool:
    """Tell whether two pins name the same thing: a release by its version, its tag or its commit, too."""
    target = known.target(one) if one.package == "megatron" else None
    if target is not None:
        return target == known.target(other)
    if one.kind is PinKind.COMMIT and other.kind is PinKind.COMMIT:
        short, long = sorted((one.value.lower(), other.value.lower()), key=len)
        return long.startswith(short)
    return (one.kind, one.value) == (other.kind, other.value)
