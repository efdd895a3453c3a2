"""How a tree differs from what a series makes of a target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from patchkit.core.kept_names import leads_into_git, why_kept
from patchkit.core.paths import matches
from patchkit.operations.capture_sides import Upstream, executables, has_record_of_wheel, is_leftover, others, rebuilt
from patchkit.trees.interface import SourceTree


class Changed(msgspec.Struct, frozen=True):
    """A file that is not what the series leaves."""

    path: str
    expected: bytes | None
    """None when there should be no such file."""
    found: bytes | None


class Compared(msgspec.Struct, frozen=True):
    """What the comparison gave."""

    files: tuple[Changed, ...]
    """Sorted by path."""
    notes: tuple[str, ...]


class Choice(msgspec.Struct, frozen=True):
    """What the user, and git, say about paths."""

    include: tuple[str, ...] = ()
    """Globs of new files to look at in folders that upstream has not."""
    exclude: tuple[str, ...] = ()
    """Globs of files that are none of the series' business."""
    ignored: frozenset[str] = frozenset()
    """Files of the tree that git would ignore."""


def whole_folder(pattern: str) -> str:
    """Return a glob as the user wrote it; a folder, with a slash at its end, stands for every file below it."""
    return f"{pattern}**" if pattern.endswith("/") else pattern


def compare(
    tree: SourceTree,
    sources: Sequence[SourceTree],
    expected: Mapping[str, bytes | None],
    package: str,
    choice: Choice | None = None,
) -> Compared:
    """Compare every file with ``expected`` and, where that does not name it, with upstream's.

    ``sources`` are trees of upstream's target: its wheel has fewer files than the repository, and a version stamp in
    some of them. A file that is as one of them has it is unchanged. In a whole checkout (a repository is among the
    sources, and the tree has most of what lies at its top) every file counts, elsewhere those below the folder
    ``package``. What is not compared is named in notes.
    """
    sides = _Sides(tree, sources, expected, package, choice or Choice())
    found: list[Changed] = []
    for path in sides.paths:
        if sides.is_left_out(path):
            continue
        now = tree.read(path)
        if path in expected:
            if expected[path] != now:
                found.append(Changed(path, expected[path], now))
        elif not sides.is_upstreams(path, now) and not sides.is_built(path):
            found.append(Changed(path, sides.upstreams_text(path), now))
    sides.leave_out_others()
    notes = [f"{why}: {_listed(paths)}" for why, paths in sides.left_out.items()]
    modes = sides.modes(found)
    if modes:
        notes.append(f"executable or not, which no diff of a series can say, and not captured: {_listed(modes)}")
    return Compared(tuple(found), tuple(notes))


@dataclass
class _Sides:
    """The tree and upstream's trees, as lists of paths."""

    tree: SourceTree
    sources: Sequence[SourceTree]
    expected: Mapping[str, bytes | None]
    package: str
    choice: Choice
    left_out: dict[str, list[str]] = field(default_factory=dict)
    """What is not compared, by reason."""

    def __post_init__(self) -> None:
        """List both sides, all of them in a whole checkout."""
        self.of_wheel = has_record_of_wheel(self.tree)
        everywhere = [Upstream(source, self.package, whole=not self.of_wheel) for source in self.sources]
        checkouts = [upstream for upstream in everywhere if upstream.whole]
        all_mine = frozenset() if self.of_wheel else frozenset(self.tree.paths()) - {self.tree.manifest_path}
        self.whole = any(upstream.is_checked_out(all_mine) for upstream in checkouts)
        self.knows_all = self.of_wheel or bool(checkouts)
        inside = f"{self.package}/"
        self.upstreams = (
            everywhere if self.whole else [Upstream(source, self.package, whole=False) for source in self.sources]
        )
        self.checkouts = [upstream for upstream in self.upstreams if upstream.whole]
        self.mine = all_mine if self.whole else frozenset(self.tree.paths(self.package))
        self.mine |= {path for path in self.expected if not path.startswith(inside)}
        self.theirs = frozenset().union(*(upstream.paths for upstream in self.upstreams))
        self.their_folders = _folders({*self.theirs, *self.expected})
        self.my_folders = _folders(self.mine)
        outside = [path for path in all_mine if not path.startswith(inside) and path not in self.expected]
        self.how_much = "no whole checkout" if checkouts else "without --git REPO"
        if not self.whole:
            for path in outside:
                self._leave_out_outside(path)

    @property
    def paths(self) -> list[str]:
        """Every path of either side."""
        return sorted({*self.theirs, *self.mine, *self.expected})

    def _leave_out(self, why: str, path: str) -> bool:
        self.left_out.setdefault(why, []).append(path)
        return True

    def _leave_out_outside(self, path: str) -> None:
        top, slash, _rest = path.partition("/")
        self._leave_out(f"outside {self.package}/, and not compared ({self.how_much})", top + slash)

    def is_left_out(self, path: str) -> bool:
        """Tell whether a path is not compared, and note why."""
        if self._is_unwanted(path):
            return True
        if path in self.expected:
            return False
        folder = path.rpartition("/")[0]
        if folder not in self.my_folders:
            return self._leave_out(f"not in {self.tree.label}, and not compared", f"{folder}/")
        return path not in self.theirs and self._is_nobodys(path, folder)

    def _is_unwanted(self, path: str) -> bool:
        """Tell whether a name, the user or git says that a path is not compared, and note it."""
        if why_kept(path):
            if not leads_into_git(path):
                return self._leave_out("patchkit's own, and left out", path)
            # A worktree or submodule has a file .git that says where its repository is; that needs no word.
            return ".git" in path.split("/") or self._leave_out("git's own to some systems, and left out", path)
        if any(matches(pattern, path) for pattern in self.choice.exclude):
            return self._leave_out("left out by --exclude", path)
        if path in self.expected or path not in self.choice.ignored:
            return False
        known = any(path in upstream.paths for upstream in self.checkouts)
        return not known and self._leave_out("ignored by git, and left out", path)

    def leave_out_others(self) -> None:
        """Note links, pipes and such that upstream has not."""
        for path, text in others(self.tree, self.package if self.of_wheel else "").items():
            if path in self.theirs or path in self.expected:
                continue  # what stands in the place of a file is no file to be read
            if text is not None and any(upstream.has_link(path, text) for upstream in self.upstreams):
                continue
            if not self.whole and not path.startswith(f"{self.package}/"):
                self._leave_out_outside(path)
            elif not self._is_unwanted(path) and not self._is_nobodys(path, path.rpartition("/")[0]):
                what = "pipes, sockets or devices" if text is None else "links"
                self._leave_out(f"{what}, which no diff of a series can carry, and left out", path)

    def _is_nobodys(self, path: str, folder: str) -> bool:
        """Tell whether a file that upstream has not is none that a person made for the series, and note why."""
        if is_leftover(path):
            return self._leave_out("left behind by a tool, and left out", path)
        if folder not in self.their_folders and not any(matches(pattern, path) for pattern in self.choice.include):
            return self._leave_out("not upstream's, and not compared (--include GLOB takes them)", f"{folder}/")
        if not self.knows_all and not path.endswith(".py") and not rebuilt(path, self.theirs):
            return self._leave_out("no Python, which wheels leave out, and not compared (without --git REPO)", path)
        return False

    def is_built(self, path: str) -> bool:
        """Tell whether a path that is not as upstream has it is an extension module of upstream's, and note it."""
        if not rebuilt(path, self.theirs):
            return False
        why = "compiled" if path in self.mine else f"not in {self.tree.label}"
        return self._leave_out(f"{why}, and not compared", path)

    def is_upstreams(self, path: str, now: bytes | None) -> bool:
        """Tell whether a file is just as one of upstream's trees has it; None stands for no such file."""
        if now is None and self.checkouts:
            return all(path not in upstream.paths for upstream in self.checkouts)
        return any(upstream.has(path, now) for upstream in self.upstreams)

    def upstreams_text(self, path: str) -> bytes | None:
        """Return upstream's text, that of the first tree that has the file."""
        return next((upstream.read(path) for upstream in self.upstreams if path in upstream.paths), None)

    def modes(self, changed: Sequence[Changed]) -> list[str]:
        """Return the files that may be executed and should not, or the other way round."""
        mine = executables(self.tree, "" if self.whole else self.package)
        # On some file systems every file is executable, and that says nothing.
        if mine is None or self.mine <= mine:
            return []
        found: list[str] = []
        # A wheel has modes of its own: some of those that the repository has are lost when it is built.
        alike = [upstream for upstream in self.upstreams if upstream.of_repository is not self.of_wheel]
        for path in sorted(self.mine & self.theirs):
            known = {upstream.is_executable(path) for upstream in alike if path in upstream.paths}
            if known == {path not in mine}:
                found.append(path)
        return found + [file.path for file in changed if file.expected is None and file.path in mine]


def _folders(paths: Iterable[str]) -> set[str]:
    return {path.rpartition("/")[0] for path in paths}


def _listed(paths: Sequence[str]) -> str:
    """Return the first few of the paths, folders inside other folders left out."""
    unique = sorted(set(paths))
    top = [
        path
        for path in unique
        if not any(path != other and path.startswith(other) for other in unique if other[-1] == "/")
    ]
    return ", ".join(top[:5]) + (f" and {len(top) - 5} more" if len(top) > 5 else "")
