"""The wheel of a release, from the package index that the user's pip is set up for, kept in a cache by digest."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.errors import DigestMismatchError, IndexUnavailableError, TreeError, UsageError, WriteFailedError
from patchkit.progress import Reporter, silent
from patchkit.reading import sha256_of
from patchkit.trees.paths import checked
from patchkit.unfinished import sweep, unfinished

if TYPE_CHECKING:
    from packaging.tags import Tag

_NO_NETWORK = "a release that is in the cache already, or a clone given with --git REPO, needs no network"
_OWN_SETTINGS = {
    # Constraints are about what gets installed, and one on this distribution would hide the release; images of
    # frameworks set such a file for everything. Nothing is installed here, so no virtual environment is needed either.
    "PIP_CONSTRAINT": os.devnull,
    "PIP_REQUIRE_VIRTUALENV": "0",
    # The reason for a failure is read from what pip says.
    "PIP_QUIET": "0",
    "PYTHONIOENCODING": "utf-8",
    # A folder called pip where patchkit is started is not pip (Python 3.11 and later take note).
    "PYTHONSAFEPATH": "1",
}
"""What is set otherwise than the user has it; where to look for files, and how to get there, is never touched."""
_UNREACHABLE = re.compile(
    r"NewConnectionError|ConnectionError|connection broken|Connection refused|Connection to .* timed out"
    r"|ReadTimeout|ConnectTimeout|Network is unreachable|Name or service not known|name resolution|ProxyError|SSLError"
    r"|CERTIFICATE_VERIFY_FAILED|Could not fetch URL|HTTP error|(?:4\d\d|5\d\d) (?:Client|Server) Error"
    r"|not a trusted or secure host",
    re.IGNORECASE,
)
"""What pip prints when an index gave no answer; its last line then speaks of a version that it could not find."""
_NOT_THERE = "404 Client Error"
"""An answer all the same: one index of several need not have everything."""


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
    reporter: Reporter = silent,
) -> Path:
    """Return the path, in ``cache``, of a wheel of ``version``; ask the index only when it is not there.

    ``files`` tells the SHA-256 of each wheel. Taken is the one that fits ``python`` (such as ``3.12``; None: this one)
    on this machine. Unless ``exact_platform``, any will do when none fits or when it is in the cache already: the
    Python source is the same in all. Raises IndexUnavailableError, DigestMismatchError, WriteFailedError, UsageError on
    a ``python`` that is no version.
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
        _download(distribution, version, best, cache)
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


def _download(distribution: str, version: str, wheel: _Wheel, cache: Path) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    with unfinished(cache / _FETCHING, folder=True) as folder:
        requirements = folder / "requirements.txt"
        requirements.write_text(f"{distribution}=={version} --hash=sha256:{wheel.sha256}\n", encoding="utf-8")
        status, printed = _pip(requirements, wheel, folder)
        fetched = folder / wheel.name
        if status != 0:
            raise _refusal(distribution, version, wheel, printed)
        if not fetched.is_file():
            raise IndexUnavailableError(
                f"pip was asked for {wheel.name} and brought another file: {_last_line(printed)}"
            )
        found = sha256_of(fetched)
        if found != wheel.sha256:
            raise _mismatch(wheel, found)
        kept = _place(cache, wheel)
        kept.parent.mkdir(parents=True, exist_ok=True)
        fetched.replace(kept)


def _pip(requirements: Path, wheel: _Wheel, folder: Path) -> tuple[int, str]:
    """Run pip as the user has set it up; return its exit status and what it printed."""
    import subprocess  # noqa: PLC0415 - needed on a miss alone
    import sys  # noqa: PLC0415

    command = [sys.executable, "-m", "pip", "download", "--dest", str(folder), "--requirement", str(requirements)]
    command += ["--no-deps", "--only-binary=:all:", "--require-hashes", "--no-input", "--disable-pip-version-check"]
    # The file is chosen by its digest already; megatron-core has wheels for Pythons that its own metadata excludes.
    command += ["--ignore-requires-python", "--retries", "2", "--progress-bar", "off"]
    # Twice verbose, pip says of each index why it got no page from it.
    command += ["-vv", *_platform_options(wheel.tags)]
    environment = {**os.environ, **_OWN_SETTINGS}
    done = subprocess.run(
        command,
        check=False,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    return done.returncode, done.stdout


def _platform_options(tags: frozenset[Tag]) -> list[str]:
    """Return the options that make pip take the file with ``tags``, whatever it runs on."""
    best = max(tags, key=str)
    language, digits = best.interpreter[:2], best.interpreter[2:]
    options = ["--implementation", language, "--python-version", digits[:1] + (f".{digits[1:]}" if digits[1:] else "")]
    for abi in sorted({tag.abi for tag in tags}):
        options += ["--abi", abi]
    for platform in sorted({tag.platform for tag in tags}):
        options += ["--platform", platform]
    return options


def _refusal(distribution: str, version: str, wheel: _Wheel, printed: str) -> TreeError:
    """Return the error that says why pip did not bring the file."""
    what = f"{distribution} {version} ({wheel.name})"
    if "DO NOT MATCH THE HASHES" in printed:
        got = re.search(r"Got\s+([0-9a-f]{64})", printed)
        return _mismatch(wheel, got[1] if got else "another one")
    if "No module named pip" in printed:
        return IndexUnavailableError(
            f"{what} is not in the cache, and this Python has no pip to fetch it with",
            hint=f"install pip; {_NO_NETWORK}",
        )
    unreachable = [line for line in printed.splitlines() if _UNREACHABLE.search(line) and _NOT_THERE not in line]
    if unreachable:
        said = " ".join(unreachable[-1].split()).removesuffix(" - skipping")
        return IndexUnavailableError(f"cannot reach the package index for {what}: {said}", hint=_NO_NETWORK)
    if re.search(r"No matching distribution|Could not find a version|ResolutionImpossible", printed):
        return IndexUnavailableError(
            f"the package index does not have {what}: {_decisive_line(printed)}",
            hint=f"pip's index-url, extra-index-url and find-links say where to look; {_NO_NETWORK}",
        )
    return IndexUnavailableError(f"pip cannot fetch {what}: {_decisive_line(printed)}", hint=_NO_NETWORK)


def _mismatch(wheel: _Wheel, got: str) -> DigestMismatchError:
    wanted = f"expected SHA-256 {wheel.sha256}, got {got}"
    return DigestMismatchError(
        f"{wheel.name} from the package index is not the file that was recorded: {wanted}",
        hint="do not use it before you know who changed it, the index or upstream",
    )


def _decisive_line(printed: str) -> str:
    """Return the first line that pip marks as an error, else its last."""
    errors = [line for line in printed.splitlines() if line.lower().startswith("error")]
    return " ".join(errors[0].split()) if errors else _last_line(printed)


def _last_line(printed: str) -> str:
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    return lines[-1] if lines else "it printed nothing"
