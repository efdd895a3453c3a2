"""Trees: files made, removed, renamed, copied, given other modes, emptied, with names that need quotes.

git makes the diff of two trees and applies it; our readers have to come to the same files. Modes are not carried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from patchkit.core.difference import difference, print_git_patch
from patchkit.core.foreign.fitting import FittedPatch, Misfits, fit_patches
from patchkit.core.foreign.lenient import read_foreign
from patchkit.core.model import Patch
from patchkit.core.placement import FilePlaced, place_file
from patchkit.core.unified import parse_patch, print_patch
from patchkit.errors import PatchFormatError

from .kinds import change_kinds
from .outcome import Outcome
from .programs import GIT, at_once, git_apply, gnu_patch, held, lay
from .programs import run as program
from .texts import Maker

FAMILY = "tree"

EMPTY: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""git's id of a tree without files."""
QUOTE_LESS: Final = "core.quotePath=false"
NAMES: Final = (
    "plain.py",
    "two words.py",
    "tab\there.py",
    'quote"d.py',
    "caf\u00e9.py",
    "\u96ea/\u5c71.py",
    "deep/er/still.py",
    "line\nbreak.py",
    " blank first",
    "blank last ",
    "-dash",
    "a b/c d.py",
    "x b/x",
    "a",
    "b",
    "{brace},comma;.py",
    "back\\slash.py",
    "raw\udcff.py",
    "bell\x07\x1f\x7f.py",
    "it's.py",
    "#hash#",
    "~tilde",
)
OPTIONS: Final = (
    (),
    ("-M",),
    ("-M50%", "-C", "--find-copies-harder"),
    ("--no-renames",),
    ("-M", "--unified=1"),
    ("-M", QUOTE_LESS),
)


class File(NamedTuple):
    """A file of a tree."""

    text: bytes
    mode: int


Tree = dict[str, File]


def trees(make: Maker) -> tuple[Tree, Tree, Sequence[str]]:
    """Return two trees and options for git's diff of them."""
    random = make.random
    while True:
        old: Tree = {}
        for _ in range(random.randrange(1, 4)):
            _add(random, old, File(make.text(), random.choice((0o644, 0o644, 0o755))))
        new = dict(old)
        for _ in range(random.randrange(1, 3)):
            _change(make, new)
        if old != new and _fits(old, new):
            return old, new, random.choice(OPTIONS)


def _add(random: Random, tree: Tree, file: File) -> None:
    tree[random.choice(NAMES)] = file


def _change(make: Maker, tree: Tree) -> None:
    random = make.random
    if not tree:
        return
    name = random.choice(sorted(tree))
    file = tree[name]
    kind = random.choice(
        ("edit", "edit", "make", "make empty", "remove", "rename", "rename", "copy", "mode", "mode and edit")
    )
    if kind in ("edit", "mode and edit"):
        file = file._replace(text=make.edited(file.text))
    if kind in ("mode", "mode and edit"):
        file = file._replace(mode=file.mode ^ 0o111)
    if kind == "make":
        _add(random, tree, File(make.text(), 0o644))
    elif kind == "make empty":
        _add(random, tree, File(b"", 0o644))
    elif kind in ("remove", "rename"):
        del tree[name]
    else:
        tree[name] = file
    if kind in ("rename", "copy"):
        text = make.edited(file.text, most=1) if random.random() < 0.6 else file.text
        _add(random, tree, file._replace(text=text))


def _fits(*both: Tree) -> bool:
    """Tell whether no name is a folder of another one, in either tree or between them."""
    names = {name for tree in both for name in tree}
    return not any(other.startswith(name + "/") for name in names for other in names)


def run(numbers: Sequence[int], makers: Mapping[int, Maker], folder: Path) -> Iterator[Outcome]:
    """Compare a batch; ``folder`` is made."""
    made = {number: trees(makers[number]) for number in numbers}
    repository = _Repository(folder / "repository")
    before = repository.tree(folder / "a", {number: old for number, (old, _, _) in made.items()})
    after = repository.tree(folder / "b", {number: new for number, (_, new, _) in made.items()})

    def case(number: int) -> Outcome:
        old, new, options = made[number]
        sides = [f"{tree}:{number}" if files else EMPTY for tree, files in ((before, old), (after, new))]
        room = folder / str(number)
        rule, problem = compared(old, new, repository.diff(sides, options), room)
        problem = problem or _printed(old, new, room)
        return Outcome(FAMILY, number, "" if problem else rule, problem, kinds(old, new))

    yield from at_once(case, numbers)


class _Repository:
    """A repository that the trees are put into, so that git finds out what was renamed and copied."""

    def __init__(self, place: Path) -> None:
        place.mkdir(parents=True)
        self._place = place
        program(place, ["git", "init", "-q", "."])

    def tree(self, folder: Path, files: Mapping[int, Tree]) -> str:
        """Put the files of every case into a tree, each below its number; return the tree's id."""
        folder.mkdir()
        for number, each in files.items():
            _lay(folder / str(number), each)
        git = ["git", "--git-dir", f"{self._place}/.git", "--work-tree", "."]
        program(folder, [*git, "add", "-A", "-f", "."])
        return program(folder, [*git, "write-tree"]).stdout.decode().strip()

    def diff(self, sides: Sequence[str], options: Sequence[str]) -> bytes:
        """Return git's diff of two trees."""
        flags = [word for word in options if word != QUOTE_LESS]
        quoting = ["-c", QUOTE_LESS] if QUOTE_LESS in options else []
        return program(self._place, [*GIT, *quoting, "diff", "--text", "--full-index", *flags, *sides]).stdout


def _lay(folder: Path, tree: Tree) -> Path:
    lay(folder, {name: file.text for name, file in tree.items()})
    for name, file in tree.items():
        (folder / name).chmod(file.mode)
    return folder


def texts(tree: Tree) -> dict[str, bytes]:
    """Return the texts of a tree's files."""
    return {name: file.text for name, file in tree.items()}


def kinds(old: Tree, new: Tree) -> frozenset[str]:
    """Return what happens to the files of a tree, and what is odd about their texts."""
    found: set[str] = set()
    for name in {*old, *new}:
        before, after = old.get(name), new.get(name)
        if before != after:
            found |= change_kinds(before and before.text, after and after.text)
        if before is not None and after is not None and before.mode != after.mode:
            found.add("mode change")
    made = [file.text for name, file in new.items() if name not in old]
    for name, file in old.items():
        if any(_is_like(file.text, text) for text in made):
            found.add("copy" if name in new else "rename")
    return frozenset(found)


def _is_like(one: bytes, two: bytes) -> bool:
    """Tell whether most lines of two texts are the same."""
    lines, others = Counter(one.split(b"\n")), Counter(two.split(b"\n"))
    return bool(one) and 2 * (lines & others).total() > max(lines.total(), others.total())


def compared(old: Tree, new: Tree, text: bytes, room: Path) -> tuple[str, str]:
    """Return the rule by which our readers differ from git, and what no rule covers."""
    place = _lay(room / "applied", old)
    ran = git_apply(place, text)
    if ran.returncode or held(place) != texts(new):
        return "", f"git does not apply its own diff: {ran.stderr[:200]!r}"
    strict = _strict(text, texts(old))
    if strict not in (None, texts(new)):
        return "", f"our own reader comes to other files: {sorted(strict or ())}"
    try:
        fitted = fit_patches([read_foreign(text, "p")], texts(old).get)
    except PatchFormatError as error:
        known = "leads out of the tree" in error.message or "is not UTF-8" in error.message
        return ("names", "") if known else ("", f"import: {error.message}")
    problem = _imported(fitted, texts(old), texts(new))
    if problem:
        return "", problem
    modes = {name: file.mode for name, file in new.items()} != {
        name: old[name].mode if name in old else 0o644 for name in new
    }
    return ("modes" if modes else "same"), ""


def _imported(fitted: FittedPatch | Misfits, old: dict[str, bytes], new: dict[str, bytes]) -> str:
    """Return what is wrong with an imported patch; empty when nothing is."""
    if isinstance(fitted, Misfits):
        return f"import: {fitted.problems}"
    after = {**old, **fitted.contents}
    if {name: content for name, content in after.items() if content is not None} != new:
        return f"import comes to other files: {sorted(fitted.contents)}"
    return f"import repairs what is whole: {fitted.repairs}" if fitted.repairs else ""


def _strict(text: bytes, old: dict[str, bytes]) -> dict[str, bytes] | None:
    """Return what our reader of variants comes to; None where it refuses, as it does with everything but changes."""
    try:
        patch = parse_patch(text, "p")
    except PatchFormatError:
        return None
    after = dict(old)
    for file in patch.files:
        placed = place_file(file, after.pop(file.path, None), {})
        if not isinstance(placed, FilePlaced):
            return {}
        if placed.content is not None:
            after[file.path] = placed.content
    return after


def _printed(old: Tree, new: Tree, room: Path) -> str:
    """Return what is wrong with the diff that we print of the same two trees; empty when nothing is."""
    before, after = texts(old), texts(new)
    sides = {name: (before.get(name), after.get(name)) for name in {*before, *after}}
    sides = {name: side for name, side in sides.items() if side[0] != side[1]}
    if not sides:
        return ""
    text = print_git_patch(sides, b"")
    place = lay(room / "ours", before)
    ran = git_apply(place, text)
    if ran.returncode or held(place) != after:
        return f"git does not apply what we print: {ran.stderr[:200]!r}"
    if _strict(text, before) != after:
        return "we do not read what we print"
    place = lay(room / "patch", before)
    ran = gnu_patch(place, text)
    if ran.returncode or held(place) != after:
        return f"patch does not apply what we print: {ran.stdout[:200]!r} {ran.stderr[:200]!r} {sorted(sides)}"
    plain = [part for part in (difference(*side, name) for name, side in sorted(sides.items())) if part and part.hunks]
    if plain and parse_patch(print_patch(Patch(tuple(plain))), "p").files != tuple(plain):
        return "printed without git's headers, it is read as another one"
    return ""
