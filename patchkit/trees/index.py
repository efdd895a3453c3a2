"""The wheel of a release, from the package index that the user's pip is set up for, kept in a cache by digest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.errors import IndexUnavailableError, UsageError, WriteFailedError
from patchkit.progress import Reporter, silent
from patchkit.reading import sha256_of
from patchkit.trees.index_download import mismatch
from patchkit.trees.index_places import some_of
from patchkit.trees.package_indexes import PackageIndexes
from patchkit.trees.paths import checked
from patchkit.unfinished import sweep, unfinished

if TYPE_CHECKING:
    from packaging.tags import Tag

    from patchkit.trees.index_pages import IndexFile

_NO_NETWORK = "a release that is in the cache already, or a clone given with --git REPO, needs no network"


@dataclass(frozen=True, slots=True)
class _Wheel:
    """One wheel file of a release."""

    name: str
    sha256: str
    tags: frozenset[Tag]


_FETCHING = "fetching"


def fetch_wheel(
    distribution: str,
    version: str,
    files: Mapping[str, str],
    *,
    cache: Path,
    python: str | None = None,
    exact_platform: bool = False,
    indexes: PackageIndexes | None = None,
    reporter: Reporter = silent,
) -> Path:
    """Return the path, in ``cache``, of a wheel of ``version``; ask the index only when it is not there.

    ``files`` tells the SHA-256 of each wheel. Taken is the one that fits ``python`` (such as ``3.12``; None: this one)
    on this machine. Unless ``exact_platform``, any will do when none fits or when it is in the cache already: the
    Python source is the same in all. Whoever fetches several gives the ``indexes`` to ask. Raises
    IndexUnavailableError, DigestMismatchError, WriteFailedError, UsageError on a ``python`` that is no version and on a
    place of pip's settings that cannot be asked.
    """
    wheels = _by_fitness(distribution, version, files, python, exact_platform=exact_platform)
    # A process that was killed with its wheel in place left the folder that it had fetched it into.
    sweep(cache / _FETCHING)
    for wheel in wheels:
        if _is_kept(_place(cache, wheel), wheel.sha256, reporter):
            return _place(cache, wheel)
    best = wheels[0]
    reporter.step(f"downloading {best.name}")
    try:
        with nullcontext(indexes) if indexes is not None else PackageIndexes() as asking:
            _download(distribution, version, best, cache, asking)
    except OSError as error:
        raise WriteFailedError(f"cannot keep {best.name} in {cache}: {error.strerror}") from error
    return _place(cache, best)


def cached_wheel(files: Mapping[str, str], cache: Path) -> Path | None:
    """Return a wheel out of ``files`` (name to SHA-256) that is in ``cache`` undamaged, or None; ask no index."""
    for name, sha256 in sorted(files.items(), reverse=True):
        place = cache / "wheels" / sha256 / checked(name)
        if _is_kept(place, sha256, silent):
            return place
    return None


def _place(cache: Path, wheel: _Wheel) -> Path:
    return cache / "wheels" / wheel.sha256 / wheel.name


def _by_fitness(
    distribution: str, version: str, files: Mapping[str, str], python: str | None, *, exact_platform: bool
) -> list[_Wheel]:
    """Return the wheels that will do, best first; at least one."""
    wheels = [_parsed(name, sha256) for name, sha256 in sorted(files.items())]
    rank = {tag: place for place, tag in reversed(list(enumerate(_tags(python))))}
    fitting = [wheel for wheel in wheels if not rank.keys().isdisjoint(wheel.tags)]
    fitting.sort(key=lambda wheel: min(rank[tag] for tag in wheel.tags if tag in rank))
    if not exact_platform:
        fitting += sorted((wheel for wheel in wheels if wheel not in fitting), key=_newness, reverse=True)
    if not fitting:
        listing = ", ".join(wheel.name for wheel in wheels) or "no wheel at all"
        wanted = f"{distribution} {version} has no wheel for Python {python or _this_python()} on this machine"
        hint = "choose another Python or release, or build from a clone given with --git REPO"
        raise IndexUnavailableError(f"{wanted}; there is: {listing}", hint=hint)
    return fitting


def _parsed(name: str, sha256: str) -> _Wheel:
    from packaging.utils import parse_wheel_filename  # noqa: PLC0415 - needed here alone

    try:
        return _Wheel(checked(name), sha256, parse_wheel_filename(name)[3])
    except ValueError as error:
        # InvalidWheelFilename is one.
        raise UsageError(f"{name} is not the name of a wheel") from error


def _tags(python: str | None) -> Iterable[Tag]:
    """Return what this machine takes for ``python``, best first."""
    from packaging import tags  # noqa: PLC0415 - slow, and needed here alone

    if python is None:
        return tags.sys_tags()
    parts = python.split(".")
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        raise UsageError(f"{python!r} is not a version of Python such as 3.12")
    numbers = [int(part) for part in parts]
    interpreter = f"cp{parts[0]}{parts[1]}"
    return [*tags.cpython_tags(numbers), *tags.compatible_tags(numbers, interpreter)]


def _this_python() -> str:
    import sys  # noqa: PLC0415 - needed for one message

    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _newness(wheel: _Wheel) -> tuple[bool, int, str]:
    """Order wheels that do not fit: those for 64-bit Intel, then the newest CPython; the name makes it one answer."""
    digits = [re.fullmatch(r"cp3(\d{1,9})", tag.interpreter) for tag in wheel.tags]
    newest = max((int(match[1]) for match in digits if match), default=0)
    return any(tag.platform.endswith("x86_64") for tag in wheel.tags), newest, wheel.name


def _is_kept(path: Path, sha256: str, reporter: Reporter) -> bool:
    try:
        found = sha256_of(path)
    except OSError:
        return False
    if found == sha256:
        return True
    reporter.note(f"{path} in the cache is damaged and is fetched again")
    with suppress(OSError):
        path.unlink()
    return False


def _download(distribution: str, version: str, wheel: _Wheel, cache: Path, indexes: PackageIndexes) -> None:
    what = f"{distribution} {version} ({wheel.name})"
    cache.mkdir(parents=True, exist_ok=True)
    refusals: list[IndexUnavailableError] = []
    with unfinished(cache / _FETCHING, folder=True) as folder:
        fetched = folder / wheel.name
        for file in _offered(what, wheel, distribution, indexes):
            fetched.unlink(missing_ok=True)
            try:
                indexes.download(file, fetched, wheel.sha256)
            except IndexUnavailableError as error:
                refusals.append(error)
                continue
            kept = _place(cache, wheel)
            kept.parent.mkdir(parents=True, exist_ok=True)
            fetched.replace(kept)
            return
    told = "; ".join(error.message for error in refusals)
    raise IndexUnavailableError(f"{what} is not to be had: {told}", hint=_NO_NETWORK)


def _offered(what: str, wheel: _Wheel, distribution: str, indexes: PackageIndexes) -> Iterator[IndexFile]:
    """Yield, at least once, the files that may be ``wheel``, in pip's order; sources behind them are not asked.

    As for pip, one of another digest counts only where no source has the right one, and one without a digest is
    looked at. Raises IndexUnavailableError, DigestMismatchError.
    """
    problems: list[str] = []
    answered: list[str] = []
    unsaid: list[IndexFile] = []
    others: list[str] = []
    is_offered = False
    for source in indexes.sources():
        named = [file for file in indexes.files(source, distribution) if file.name == wheel.name]
        if source.problem is not None:
            problems.append(f"no answer from {source.label}: {source.problem}")
        else:
            without = f" (left out: {some_of(source.left_out)})" if source.left_out else ""
            answered.append(f"{source.label}{without}")
        for file in named:
            if file.sha256 == wheel.sha256:
                is_offered = True
                yield file
        unsaid += [file for file in named if not file.sha256]
        others += [file.sha256 for file in named if file.sha256 not in ("", wheel.sha256)]
    if unsaid:
        yield from unsaid
    elif others and not is_offered:
        raise mismatch(wheel.name, wheel.sha256, others[0])
    elif problems and not is_offered:
        raise IndexUnavailableError(
            f"cannot reach the package index for {what}: {'; '.join(problems)}", hint=_NO_NETWORK
        )
    elif not is_offered:
        why = f"{', '.join(answered)} answered without it" if answered else "pip is set up to ask none"
        raise IndexUnavailableError(
            f"the package index does not have {what}: {why}",
            hint=f"pip's index-url, extra-index-url and find-links say where to look; {_NO_NETWORK}",
        )
