"""The exceptions of patchkit: what no report can say.

A patch that does not fit is an answer and lives in a report; an exception means that a question could not be asked (our
files are malformed, a tree cannot be read). ``patchkit.cli.exit_codes`` maps each branch of this tree to an exit code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class PatchkitError(Exception):
    """Base of every error patchkit raises on purpose.

    ``hint`` is what the user can do about it; it is shown apart from the message.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        """A worker's error is pickled for its driver; that of Exception would call constructors with a text alone."""
        return _unpickled, (type(self), self.args, vars(self))


def _unpickled(kind: type[PatchkitError], arguments: tuple[Any, ...], facts: Mapping[str, Any]) -> PatchkitError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments  # That of OSError leaves them out.
    vars(error).update(facts)
    return error


class UsageError(PatchkitError):
    """The request makes no sense as it stands (unknown release, options that exclude each other)."""


class SourceError(PatchkitError):
    """One of *our* files (patches, lock, upstream_versions.yaml) is malformed."""


class PatchFormatError(SourceError):
    """A unified diff is malformed; ``line`` is 1-based in ``file``."""

    def __init__(self, file: str, line: int | None, message: str, *, hint: str | None = None) -> None:
        where = file if line is None else f"{file}:{line}"
        super().__init__(f"{where}: {message}", hint=hint)
        self.file = file
        self.line = line
        self._said = message

    def at(self, line: int | None) -> PatchFormatError:
        """Return the same error at another line: that of the file which the text was decoded from."""
        return PatchFormatError(self.file, line, self._said, hint=self.hint)


class StoreError(SourceError):
    """A YAML file is malformed; ``key`` is the path of the offending key, such as ``hunks[2].scope``."""

    def __init__(self, file: str, key: str | None, message: str, *, hint: str | None = None) -> None:
        where = file if not key else f"{file}: {key}"
        super().__init__(f"{where}: {message}", hint=hint)
        self.file = file
        self.key = key


class TreeError(PatchkitError):
    """Upstream or the target tree cannot be read or written."""


class NotATreeError(TreeError):
    """The place named holds no Megatron tree."""


class RevisionNotFoundError(TreeError):
    """A git repository does not have the revision asked for."""


class DamagedCloneError(TreeError):
    """A git repository has lost objects, or has others than their ids say; not that nobody fetched them.

    No RevisionNotFoundError: nobody goes on with the next name, or the next release, as if the first had never been
    there.
    """


class ArchiveError(TreeError):
    """A wheel is damaged or not a wheel."""


class UnsafePathError(TreeError):
    """A path would leave the root of its tree (absolute, ``..``, or through a link)."""


class IndexUnavailableError(TreeError):
    """The package index did not answer, or does not have the file."""


class DigestMismatchError(TreeError):
    """Bytes from the index are not those that upstream_versions.yaml records."""


class TreeBusyError(TreeError):
    """Another patchkit process is writing to the same tree."""


class WriteFailedError(TreeError):
    """Writing failed (read-only, full disk); nothing was changed, or the change was undone."""


class InterruptedWriteError(TreeError):
    """An earlier write was cut short and cannot be undone without a person's decision."""


class LiveError(TreeError, RuntimeError):
    """What is imported was to be patched, and cannot be.

    No ImportError: code that does without a missing Megatron would go on without the patches. The hint is part of the
    text, since a traceback shows nothing else.
    """

    def __str__(self) -> str:
        """Return message and hint."""
        return self.message if self.hint is None else f"{self.message}\n  hint: {self.hint}"


class TmsError(PatchkitError):
    """torch_memory_saver cannot be asked: it is not there, cannot be read, or cannot be run."""


class TmsNotFoundError(TmsError, FileNotFoundError):
    """There is no torch_memory_saver, or no library of it that this process can load."""


class TmsFileError(TmsError):
    """A file is no library or wheel of torch_memory_saver, or is damaged."""


class SimulatorError(TmsError):
    """The stand-in for the CUDA driver cannot be built or run."""


class GuardError(PatchkitError, RuntimeError):
    """A use of torch_memory_saver at run time that would end the process, or lose or write wrong data."""


class OrderError(GuardError):
    """A call came in the wrong order.

    ``tag`` is the memory it is about, ``rule`` what holds, ``here`` the place of this call and ``earlier`` that of the
    call that made it wrong, each as file:line; None when there was none.
    """

    def __init__(
        self, call: str, *, tag: str, rule: str, here: str, earlier: str | None = None, hint: str | None = None
    ) -> None:
        before = f" (earlier: {earlier})" if earlier else ""
        super().__init__(f"{call} at {here}{before}: tag {tag}: {rule}", hint=hint)
        self.tag = tag
        self.rule = rule
        self.here = here
        self.earlier = earlier


class PausedError(OrderError):
    """Memory is used while it is paused."""


class UnrestoredError(OrderError):
    """Memory without backup is read after it was resumed and before its contents were restored."""


class MissingRestorerError(OrderError):
    """Memory without backup would be paused, and nobody would restore its contents."""


class HeldError(OrderError):
    """Memory would be paused in a section that needs it."""


class DirtyGradientsError(OrderError):
    """Gradients of an open step would be lost."""


class ContentsError(OrderError):
    """Memory holds something else than what is to be read, such as the weights of another model."""


class HostMemoryError(OrderError):
    """The host has no room for the copies that a pause makes."""


class TrackedGrowthError(OrderError):
    """Memory was allocated under a tag while it was paused."""


class DeviceMemoryError(OrderError):
    """The device has no room for what a resume maps again."""


class PlacementError(GuardError):
    """Buffers are not where they should be; ``buffers`` are their names."""

    def __init__(self, message: str, buffers: tuple[str, ...], *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.buffers = buffers


class CapabilityError(GuardError):
    """This build of torch_memory_saver cannot do what is asked of it."""


class GuardUseError(GuardError):
    """A guard is used where it knows nothing: beside another one, or in a process that was forked off."""


class RanksDisagreeError(GuardError):
    """Ranks that should be alike are not; ``values`` has what each of them said."""

    def __init__(self, message: str, values: tuple[Any, ...], *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.values = values


class ArgumentRuleError(UsageError):
    """Arguments that cannot work together; ``violations`` has a sentence for each rule."""

    def __init__(self, violations: tuple[str, ...]) -> None:
        super().__init__("; ".join(violations))
        self.violations = violations


class TrainerError(TmsError):
    """The Python that is to train on the CPU lacks something, or cannot import Megatron."""
