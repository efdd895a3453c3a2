"""The git program, asked about one repository.

GitPython is left to what reads objects one by one (`trees/git.py`): importing it takes longer than most questions here.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from patchkit.errors import RevisionNotFoundError, TreeError
from patchkit.reading import read_regular
from patchkit.trees.clone_damage import damage

_OWN_SETTINGS = (
    # What is written must not depend on whose machine it is, and nobody's hooks are ours to run.
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    # Hooks may stand in settings as well (git 2.54); these two are run by what we ask for.
    "hook.post-index-change.enabled=false",
    "hook.reference-transaction.enabled=false",
    # A download would look after the clone in the background, and gc.recentObjectsHook names a program.
    "maintenance.auto=false",
    "gc.auto=0",
    "log.showSignature=false",
    # `git show` reads a file for it that a clone's settings may name, and of a device it reads for ever.
    "log.mailmap=false",
    "core.splitIndex=false",
    "i18n.commitEncoding=UTF-8",
)
_LARGEST_SETTINGS = 1 << 20
"""Bytes of a clone's settings that are looked at; larger ones may have anything in them."""
_ENGLISH = {"LANGUAGE": "C", "LC_ALL": "C"}


class GitProgram:
    """Runs git in ``repository``, a checkout or a bare repository.

    Of a partial clone, git downloads what it lacks and keeps it, unless ``download`` is False. Raises TreeError when
    there is no repository.
    """

    def __init__(self, repository: Path, *, download: bool = True) -> None:
        self.repository = repository
        folder = _git_folder(repository)
        if folder is None:
            raise TreeError(f"{repository} is not a git repository")
        self.folder = folder
        """Where the repository itself is: of a checkout, its ``.git`` or what that names."""
        self.common = _common(folder)
        """Where branches and objects are: of a linked worktree, the folder of the repository that it is linked to."""
        # A lazy fetch of a partial clone must not ask for a password; a replacement must not pass for the original.
        self.environment = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1"}
        """What git is told beside the environment of this process."""
        # Also for the git processes that others start: a download may run hooks.
        named = self._named()
        hooks = dict.fromkeys(match[1] for name in named if (match := _HOOK.fullmatch(name)))
        own = [setting for hook in hooks for setting in ((f"hook.{hook}.enabled", "false"), (f"hook.{hook}.event", ""))]
        self.environment |= _as_environment([*(_split(setting) for setting in _OWN_SETTINGS), *own])
        if not download or any(_RUNS.fullmatch(name) for name in named):
            # The variable is for git 2.44 and later; with no protocol allowed, older ones cannot fetch either.
            self.environment |= {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ""}
        if "GIT_DIR" in os.environ or not (self.common / "config").exists():
            # Inside a hook, git points everything it starts at the hook's own repository; and a bare repository without
            # settings is taken for a checkout by GitPython. Elsewhere git had better look itself: told where the
            # repository is, it does not ask who owns it (safe.directory).
            self.refuse_strangers()
            self.environment["GIT_DIR"] = os.fspath(self.folder)

    def refuse_strangers(self) -> None:
        """Raise TreeError with git's words when the repository is another user's and no safe.directory names it.

        To be asked before git is told where the repository is: then it does not ask.
        """
        _status, _out, problem = run_git(["rev-parse", "--git-dir"], self.repository, environment={"GIT_DIR": None})
        if "dubious ownership" in problem:
            raise TreeError(f"git cannot read {self.repository}: {problem}")

    def _named(self) -> Sequence[str]:
        """Return the names of the settings of this repository itself, which may be a stranger's.

        None are asked for where its files have no word of what can run something here; where git gives no answer, it is
        taken for one that names a program.
        """
        files = (self.common / "config", self.folder / "config.worktree")
        try:
            text = b"".join(read_regular(file, _LARGEST_SETTINGS) for file in files if file.is_file()).lower()
        except OSError:
            return _UNKNOWN  # git will say what is the matter, and nothing is downloaded before that
        # Of a partial clone alone git downloads.
        if not any(word in text for word in (b"promisor", b"partialclone", b"include", b"hook")):
            return ()
        environment = {"GIT_DIR": os.fspath(self.folder)}
        command = ["config", "--list", "--name-only", "--show-scope", "-z"]
        status, out, _problem = run_git(command, self.repository, environment=environment)
        fields = os.fsdecode(out).split("\0")
        scoped = zip(fields[::2], fields[1::2], strict=False)
        # A git that knows no scopes (before 2.26) is not believed.
        return [name for scope, name in scoped if scope in ("local", "worktree")] if status == 0 else _UNKNOWN

    @property
    def shallow(self) -> bool:
        """Whether the history of the clone ends somewhere."""
        return (self.common / "shallow").exists()

    @property
    def edges(self) -> frozenset[str]:
        """The commits whose parents a shallow clone lacks: to git they have none, and made all that is in them."""
        try:
            return frozenset((self.common / "shallow").read_text().split())
        except OSError:
            return frozenset()

    def commit(self, revision: str) -> str:
        """Return the id of the commit that ``revision`` names, through any tags. Raises RevisionNotFoundError."""
        asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
        status, out, problem = self.run(asked)
        if status == 0:
            return out.decode().strip()
        if status == 1:
            self.refuse_damage(revision)
            hint = f"fetch it: git -C {self.repository} fetch --tags" + (
                " --unshallow (this clone is shallow)" if self.shallow else ""
            )
            raise RevisionNotFoundError(f"{self.repository} has no revision {revision!r}", hint=hint)
        raise TreeError(f"git cannot read {self.repository}: {problem or 'it gave an unexpected answer'}")

    def refuse_damage(self, revision: str) -> None:
        """Raise RevisionNotFoundError when ``revision``, which git does not find, was lost with a part of the clone."""
        found = damage(self.run, revision)
        if found is not None:
            hint = f"git -C {self.repository} fsck says what else is; a new clone mends it"
            raise RevisionNotFoundError(f"{self.repository} is damaged: {found}", hint=hint)

    def commits(self, revisions: Sequence[str]) -> dict[str, str | None]:
        """Return the id of the commit that each revision names, through any tags; None where there is none.

        One process for all of them. Raises TreeError.
        """
        asked = "".join(f"{revision}^{{commit}}\n" for revision in revisions)
        printed = self.output("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=asked.encode())
        found = (line.split(" ") for line in os.fsdecode(printed).splitlines())
        return {
            revision: words[0] if words[1:] == ["commit"] else None
            for revision, words in zip(revisions, found, strict=True)
        }

    def output(
        self,
        *command: str,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> bytes:
        """Return what a git command prints.

        Raises TreeError with git's own words when it fails; after ``seconds``, if given, it is stopped and TimeoutError
        raised.
        """
        status, out, problem = self.run(command, stdin=stdin, environment=environment, seconds=seconds)
        if status != 0:
            raise TreeError(f"git {command[0]} failed in {self.repository}: {problem or f'exit status {status}'}")
        return out

    def run(
        self,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> tuple[int, bytes, str]:
        """Return exit status, output and complaints of a git command. Raises TimeoutError."""
        # A folder that only looks like a repository must not pass for one above it.
        above = os.pathsep.join((os.fspath(self.repository.resolve().parent), os.environ.get(_CEILING, "")))
        own = {_CEILING: above, **self.environment, **(environment or {})}
        return run_git(command, self.repository, stdin=stdin, environment=own, seconds=seconds)


_RUNS = re.compile(
    r"core\.(sshcommand|gitproxy|askpass|alternaterefscommand)|credential\.(.*\.)?helper|protocol\..*"
    r"|remote\..*\.(uploadpack|vcs)|http\.(.*\.)?cookiefile",
    re.IGNORECASE | re.DOTALL,
)
"""Settings that make a download run something, or write a file of their choice (git-config(1))."""
_HOOK = re.compile(r"hook\.(.+)\.(?:command|event)", re.IGNORECASE | re.DOTALL)
_UNKNOWN = ("core.sshcommand",)


def _split(setting: str) -> tuple[str, str]:
    key, _, value = setting.partition("=")
    return key, value


def _as_environment(settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return variables that give git settings, behind those that it is given in this way already (git-config(1))."""
    given = os.environ.get("GIT_CONFIG_COUNT", "")
    first = int(given) if given.isdecimal() else 0
    variables = {"GIT_CONFIG_COUNT": str(first + len(settings))}
    for number, (key, value) in enumerate(settings, first):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


_CEILING = "GIT_CEILING_DIRECTORIES"


def run_git(
    command: Sequence[str],
    folder: Path,
    *,
    stdin: bytes = b"",
    environment: Mapping[str, str | None] | None = None,
    seconds: float | None = None,
) -> tuple[int, bytes, str]:
    """Return exit status, output and complaints of a git command in ``folder``. Raises TreeError without git.

    ``environment`` goes over that of this process; None takes a variable out of it.
    """
    variables = {**os.environ, **_ENGLISH, **(environment or {})}
    settings = [part for setting in _OWN_SETTINGS for part in ("-c", setting)]
    try:
        done = subprocess.run(
            ["git", *settings, *command],  # noqa: S607 - the user's git, wherever it is
            check=False,
            cwd=folder,
            input=stdin,
            capture_output=True,
            env={name: value for name, value in variables.items() if value is not None},
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"git {command[0]} took longer than {seconds:g} seconds") from error
    except OSError as error:
        raise no_git() from error
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip()


def no_git() -> TreeError:
    """Return what to say where the git program cannot be run."""
    return TreeError(
        "reading a git repository needs the git program, and it cannot be run",
        hint="install git, or use a release from the package index instead",
    )


def ask_repository(repository: Path, *command: str, stdin: bytes = b"") -> bytes:
    """Return what a git command that only reads prints in ``repository``, whatever its HEAD is.

    Nothing is fetched, so that nothing is written: in a partial clone what is missing stays missing. Raises TreeError
    with git's own words.
    """
    # The first is for git 2.45 and later; to older ones a transport that is not allowed does the same.
    environment = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
    return GitProgram(repository).output(*command, stdin=stdin, environment=environment)


def ignored_files(repository: Path, folder: Path) -> frozenset[str]:
    """Return the files below ``folder`` that git ignores there by its rules, and those of ``repository``.

    The folder need not be a checkout; its own .gitignore files have their say. Raises TreeError.
    """
    program = GitProgram(repository)
    program.refuse_strangers()
    where = {"GIT_DIR": os.fspath(program.folder.resolve()), "GIT_WORK_TREE": os.fspath(folder.resolve())}
    listing = program.output("ls-files", "--others", "--ignored", "--exclude-standard", "-z", environment=where)
    return frozenset(os.fsdecode(path) for path in listing.split(b"\0") if path)


def identity(folder: Path) -> str | None:
    """Return name and address of whoever works in ``folder``, as git knows them, or None.

    What git would make up out of the names of user and machine does not count, nor does it matter whether the folder is
    in a repository.
    """
    found: list[str] = []
    for variable, setting in (("GIT_AUTHOR_NAME", "user.name"), ("GIT_AUTHOR_EMAIL", "user.email")):
        value = os.environ.get(variable)
        if not value:
            try:
                _status, printed, _problem = run_git(["config", "--get", setting], folder)
            except TreeError:
                return None
            value = os.fsdecode(printed)
        if not value:
            return None
        found.append(value.strip())
    return f"{found[0]} <{found[1]}>"


def _git_folder(repository: Path) -> Path | None:
    """Return where the repository of ``repository`` itself is; folders above are not looked at, as a typo leads there.

    git says the last word when it is asked something.
    """
    link = Path(os.path.abspath(repository), ".git")  # noqa: PTH100 - resolve() would follow links
    if link.is_file():
        about, _, where = _line(link).partition(": ")
        return link.parent / where if about == "gitdir" and where else None
    return next((folder for folder in (link, link.parent) if _is_repository(folder)), None)


def _is_repository(folder: Path) -> bool:
    common = _common(folder)
    return os.path.lexists(folder / "HEAD") and (common / "objects").is_dir() and (common / "refs").is_dir()


def _common(folder: Path) -> Path:
    return folder / _line(folder / "commondir")


def _line(file: Path) -> str:
    try:
        line = os.fsdecode(file.read_bytes()).rstrip("\r\n")
    except OSError:
        return ""
    # No file has such a name.
    return "" if "\0" in line else line
