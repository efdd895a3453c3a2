"""The git program, asked about one repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from patchkit.core.printing import shell_word
from patchkit.errors import RevisionNotFoundError, TreeError
from patchkit.reading import read_regular
from patchkit.trees.clone_damage import damage, damaged, hint_on
from patchkit.trees.git_folder import (
    GitFolder,
    files_read,
    files_tried,
    guessed,
    refuse_odd_files,
    refuse_odd_names,
)
from patchkit.trees.git_lenders import may_download
from patchkit.trees.git_run import PLACES, begun, ended, run_git
from patchkit.trees.git_settings import (
    FILES,
    LARGEST_SETTINGS,
    NO_FILES,
    OWN_SETTINGS,
    RUNS,
    UNKNOWN,
    as_environment,
    hooks_off,
    pairs,
)

_SOON = 60
"""Seconds for a question that takes milliseconds."""
_LONGEST = 900
"""Seconds for any question: whoever waits for longer waits for a pipe, or for a disk that does not answer."""


class GitProgram:
    """Runs git in ``repository``, a checkout or a bare repository.

    Of a partial clone, git downloads what it lacks and keeps it, unless ``download`` is False. Raises TreeError when
    there is no repository.
    """

    def __init__(self, repository: Path, *, download: bool = True) -> None:
        self.repository = repository
        refuse_odd_files(repository, files_tried(repository))
        folder = guessed(repository)
        if folder is None:
            raise TreeError(f"{repository} is not a git repository")
        refuse_odd_files(repository, files_read(folder))
        told = self._told(folder)
        if told != folder:
            refuse_odd_files(repository, files_read(told))
        self.folder, self.common = told
        """Where git says that the repository is, and what it shares with others: see GitFolder."""
        # A lazy fetch of a partial clone must not ask for a password; a replacement must not pass for the original, nor
        # a graft for a parent.
        self.environment = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": os.devnull}
        """What git is told beside the environment of this process."""
        # Everything that is started looks at the folder that was looked at here, however it would find one; inside a
        # hook, git points at the hook's own repository.
        self.environment |= {"GIT_DIR": os.fspath(self.folder), "GIT_COMMON_DIR": os.fspath(self.common)}
        if "GIT_OBJECT_DIRECTORY" in os.environ:
            self.environment["GIT_OBJECT_DIRECTORY"] = os.fspath(self.common / "objects")
        if "GIT_ALTERNATE_OBJECT_DIRECTORIES" in os.environ:
            self.environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = ""
        # Also for the git processes that others start: a download may run hooks.
        named = self._named()
        self.named = frozenset(map(str.lower, named))
        """Names of the settings that are the repository's own, in small letters, as far as they may name a file."""
        settings = [*pairs(OWN_SETTINGS), *hooks_off(named), *pairs(NO_FILES)]
        self.environment |= as_environment(settings)
        if not download or any(RUNS.fullmatch(name) for name in self.named) or not self._may_download():
            # The variable is for git 2.44 and later; with no protocol allowed, older ones cannot fetch either.
            self.environment |= {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ""}

    def _told(self, folder: GitFolder) -> GitFolder:
        """Return where git says that the repository is.

        Raises TreeError with git's words, also when it is another user's and no safe.directory names it: git asks that
        as long as it is not told where the repository is.
        """
        question = ["rev-parse", "--absolute-git-dir", "--git-common-dir"]
        environment = {**dict.fromkeys(PLACES), _CEILING: self._above()}
        try:
            status, out, problem = run_git(question, self.repository, environment=environment, seconds=_SOON)
        except TimeoutError as error:
            raise TreeError(f"git cannot read {self.repository}: {error}", hint=_WAITS) from error
        answers = os.fsdecode(out).split("\n")[:-1]
        if status != 0 or len(answers) != len(GitFolder._fields):
            problem = problem or "its path has a line break, with which git gives no clear answer"
            raise TreeError(f"git cannot read {self.repository}: {problem}")
        where = os.path.abspath(self.repository)  # noqa: PTH100 - resolve() would follow links
        found = GitFolder(*(Path(where, answer) for answer in answers))
        try:
            return folder if all(map(os.path.samefile, found, folder)) else found
        except OSError:
            return found  # git will say what is the matter with it

    def _above(self) -> str:
        """Return where git is to stop looking: a folder that only looks like a repository must not pass for another."""
        return os.pathsep.join((os.fspath(self.repository.resolve().parent), os.environ.get(_CEILING, "")))

    def _named(self) -> Sequence[str]:
        """Return the names of the settings of this repository itself, which may be a stranger's.

        None are asked for where its files have no word of what can run something here; where git gives no answer, it is
        taken for one that names a program.
        """
        files = (self.common / "config", self.folder / "config.worktree")
        try:
            text = b"".join(read_regular(file, LARGEST_SETTINGS) for file in files if file.is_file()).lower()
        except OSError:
            return UNKNOWN  # git will say what is the matter, and nothing is downloaded before that
        # Of a partial clone alone git downloads.
        if not any(word in text for word in (b"promisor", b"partialclone", b"include", b"hook", *FILES)):
            return ()
        command = ["config", "--list", "--name-only", "--show-scope", "-z"]
        try:
            status, out, _problem = run_git(command, self.repository, environment=self.environment, seconds=_SOON)
        except TimeoutError:
            return UNKNOWN
        fields = os.fsdecode(out).split("\0")
        scoped = zip(fields[::2], fields[1::2], strict=False)
        # A git that knows no scopes (before 2.26) is not believed.
        return [name for scope, name in scoped if scope in ("local", "worktree")] if status == 0 else UNKNOWN

    def _may_download(self) -> bool:
        # Whoever has no settings of its own that tell of one is no partial clone.
        return not self.named or may_download(lambda command: self.run(command, seconds=_SOON), self.repository)

    def refuse_odd_setting(self, name: str, *folders: Path) -> None:
        """Raise TreeError when a setting of the repository, its name in small letters, names a file without an end.

        A name that is relative is one of a file in the repository, or in one of ``folders``.
        """
        if name in self.named or self.named.issuperset(UNKNOWN):
            command = ["config", "--type=path", "--get-all", "-z", name]
            status, out, _problem = self.run(command, environment=self.with_files)
            values = os.fsdecode(out).split("\0") if status == 0 else []
            files = (folder / value for folder in (self.repository, *folders) for value in values if value)
            refuse_odd_files(self.repository, files)

    @property
    def with_files(self) -> dict[str, str]:
        """What lets git read the files that its settings name: those are to be looked at before."""
        # They are the last of our settings.
        return {"GIT_CONFIG_COUNT": str(int(self.environment["GIT_CONFIG_COUNT"]) - len(NO_FILES))}

    @property
    def shallow(self) -> bool:
        """Whether the history of the clone ends somewhere."""
        return (self.common / "shallow").exists()

    @property
    def edges(self) -> frozenset[str]:
        """The commits whose parents a shallow clone lacks: to git they have none, and made all that is in them."""
        try:
            return frozenset(read_regular(self.common / "shallow").decode("ascii", "replace").split())
        except OSError:
            return frozenset()

    def commit(self, revision: str) -> str:
        """Return the commit that ``revision`` names, through tags. Raises RevisionNotFoundError, DamagedCloneError."""
        status, out, problem = self._one_commit(revision)
        if status == 0:
            return out.decode().strip()
        if status > 0:  # 128 where an object cannot be read
            self.refuse_damage(revision)
        if status == 1:
            hint = f"fetch it: git -C {shell_word(str(self.repository))} fetch --tags" + (
                " --unshallow (this clone is shallow)" if self.shallow else ""
            )
            raise RevisionNotFoundError(f"{self.repository} has no revision {revision!r}", hint=hint)
        raise TreeError(f"git cannot read {self.repository}: {problem or ended(status)}")

    def _one_commit(self, revision: str) -> tuple[int, bytes, str]:
        return self.run(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"])

    def refuse_damage(self, revision: str) -> None:
        """Raise DamagedCloneError when ``revision``, which git does not find, was lost with a part of the clone."""
        if (found := damage(self.run, revision)) is not None:
            raise damaged(self.repository, found)

    def commits(self, revisions: Sequence[str]) -> dict[str, str | None]:
        """Return the id of the commit that each revision names, through any tags; None where there is none.

        One process for all of them where none is damaged. Raises TreeError.
        """
        # A line is one question, and git has no name with a line break.
        asked = [revision for revision in revisions if "\n" not in revision]
        lines = os.fsencode("".join(f"{revision}^{{commit}}\n" for revision in asked))
        command = ["cat-file", "--batch-check=%(objectname) %(objecttype)"]
        status, printed, problem = self.run(command, stdin=lines)
        if status > 0:
            # The first one that cannot be read ended git, which then says nothing of the others.
            each = {revision: self._one_commit(revision)[1].decode().strip() or None for revision in asked}
            return {**dict.fromkeys(revisions), **each}
        if status < 0:
            raise TreeError(f"git cat-file failed in {self.repository}: {problem or ended(status)}")
        found = (line.split(" ") for line in os.fsdecode(printed).split("\n")[:-1])
        return {
            **dict.fromkeys(revisions),
            **{
                revision: words[0] if words[1:] == ["commit"] else None
                for revision, words in zip(asked, found, strict=True)
            },
        }

    def output(
        self,
        *command: str,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        seconds: float | None = None,
        apart: bool = False,
    ) -> bytes:
        """Return what a git command prints.

        Raises TreeError with git's own words when it fails; after ``seconds``, if given, it is stopped and TimeoutError
        raised. ``apart`` is as ``run`` has it.
        """
        status, out, problem = self.run(command, stdin=stdin, environment=environment, seconds=seconds, apart=apart)
        if status != 0:
            hint = hint_on(problem, self.run, self.repository)
            raise TreeError(f"git {command[0]} failed in {self.repository}: {problem or ended(status)}", hint=hint)
        return out

    def run(
        self,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        seconds: float | None = None,
        apart: bool = False,
    ) -> tuple[int, bytes, str]:
        """Return exit status, output and complaints of a git command. Raises TimeoutError after ``seconds``.

        Without them a command is stopped after a quarter of an hour, and TreeError raised. ``apart`` keeps git from
        the checkout: what compares texts reads the .gitattributes there, which are whatever somebody put there.
        """
        refuse_odd_names(self.repository, GitFolder(self.folder, self.common), command, stdin)
        own = self._environment(environment or {})
        folder = self.repository
        if apart:
            # In a checkout that has none of the clone's files; with a bare repository git would do without as well.
            folder, own["GIT_WORK_TREE"] = _ROOT, os.fspath(_ROOT)
        try:
            return run_git(command, folder, stdin=stdin, environment=own, seconds=seconds or _LONGEST)
        except TimeoutError as error:
            if seconds is not None:
                raise
            raise TreeError(f"git cannot read {self.repository}: {error}", hint=_WAITS) from error

    def begin(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Begin a git command that is talked to: bytes in, bytes out, and its complaints are heard by nobody.

        Whoever begins it ends it, and looks at what it is told to read. Raises TreeError without git.
        """
        return begun(command, self.repository, self._environment({}), stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)

    @property
    def patience(self) -> float:
        """Seconds that one answer may take: longer where git may have to download it."""
        return _SOON if "GIT_NO_LAZY_FETCH" in self.environment else _LONGEST

    def _environment(self, more: Mapping[str, str]) -> dict[str, str | None]:
        return {**dict.fromkeys(PLACES), _CEILING: self._above(), **self.environment, **more}


_ROOT = Path("/")
_WAITS = "is there a named pipe among its files, or does the disk not answer?"
_CEILING = "GIT_CEILING_DIRECTORIES"


def opened(repository: Path | GitProgram, *, download: bool = True) -> GitProgram:
    """Return what runs git in ``repository``: itself, where it was opened before and its folder looked at.

    ``download`` is as GitProgram has it, for one that is opened here. Raises TreeError when there is no repository.
    """
    return repository if isinstance(repository, GitProgram) else GitProgram(repository, download=download)
