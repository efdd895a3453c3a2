"""Where the user's pip looks for files, and how it gets there."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable
from dataclasses import dataclass

from patchkit.errors import IndexUnavailableError

_OWN_SETTINGS = {
    # Only what `pip config list` prints is wanted, and it prints it as a message of middling importance.
    "PIP_QUIET": "0",
    "PIP_REQUIRE_VIRTUALENV": "0",
    "PYTHONIOENCODING": "utf-8",
    # A folder called pip where patchkit is started is not pip (Python 3.11 and later take note).
    "PYTHONSAFEPATH": "1",
}
_LINE = re.compile(r"^(?P<section>:env:|[^.=\s]+)\.(?P<name>[^=\s]+)=(?P<value>['\"].*['\"])$")
_SECTIONS = ("global", "download", ":env:")
"""What counts for `pip download`, since that is what is done here; a later one wins, as pip's configuration says."""
_TRUE = ("y", "yes", "t", "true", "on", "1")
_TIMEOUT = 15.0
"""pip's own default, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipSettings:
    """pip's settings that say where files are, by the names that pip has for them."""

    index_url: str | None
    """None where the user has set none."""
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    no_index: bool = False
    trusted_hosts: tuple[str, ...] = ()
    proxy: str | None = None
    cert: str | None = None
    """File or folder of certificates."""
    client_cert: str | None = None
    timeout: float = _TIMEOUT
    """In seconds."""
    keyring: bool = True
    """Whether a keyring may be asked for a password."""


def pip_settings(*, meanwhile: Callable[[], None] = lambda: None) -> PipSettings:
    """Ask pip for its settings: those of its files and of the environment. Raises IndexUnavailableError.

    ``meanwhile`` is called while pip, a process of its own, takes its half of a second.
    """
    options: dict[str, str] = {}
    found = _parsed(_config_list(meanwhile))
    for section in _SECTIONS:
        # pip takes no notice of empty values.
        options.update({name: value for (at, name), value in found.items() if at == section and value})
    return PipSettings(
        index_url=options.get("index-url") or options.get("pypi-url"),
        extra_index_urls=tuple(options.get("extra-index-url", "").split()),
        find_links=tuple(options.get("find-links", "").split()),
        no_index=options.get("no-index", "").lower() in _TRUE,
        trusted_hosts=tuple(options.get("trusted-host", "").split()),
        proxy=options.get("proxy"),
        # pip gets there with requests, which looks at these two.
        cert=options.get("cert") or os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE"),
        client_cert=options.get("client-cert"),
        timeout=_seconds(options.get("timeout") or options.get("default-timeout")),
        keyring=options.get("keyring-provider") != "disabled",
    )


def _parsed(printed: str) -> dict[tuple[str, str], str]:
    """Return value by section and name, out of lines such as ``global.index-url='https://…'``."""
    matches = [match for line in printed.splitlines() if (match := _LINE.match(line.strip()))]
    # pip prints values as Python writes text.
    return {(match["section"], match["name"]): str(ast.literal_eval(match["value"])) for match in matches}


def _config_list(meanwhile: Callable[[], None]) -> str:
    import subprocess  # noqa: PLC0415 - needed here alone
    import sys  # noqa: PLC0415

    with subprocess.Popen(
        [sys.executable, "-m", "pip", "config", "list"],
        env={**os.environ, **_OWN_SETTINGS},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    ) as pip:
        try:
            meanwhile()
            printed, complaint = pip.communicate()
        except BaseException:
            pip.kill()
            raise
    if pip.returncode == 0:
        return printed
    said = [line.strip() for line in (complaint or printed).splitlines() if line.strip()]
    missing = "No module named pip" in complaint
    raise IndexUnavailableError(
        f"pip cannot say which package index to look at: {said[-1] if said else 'it printed nothing'}",
        hint="install pip for the Python that runs patchkit" if missing else "correct what `pip config list` says",
    )


def _seconds(value: str | None) -> float:
    try:
        return float(value) if value else _TIMEOUT
    except ValueError:
        return _TIMEOUT
