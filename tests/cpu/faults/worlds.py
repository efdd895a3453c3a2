"""The worlds in which commands that write are run."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

from operations import made_up
from operations.carried_world import NOTES, NOTES_1, World
from operations.history_world import BLUE, FIRST, SPARE, There, text
from trees.repositories import git, record
from trees.snapshots import lay
from trees.wheels import make_wheel

from patchkit.cli.main import run
from patchkit.trees.archive import WheelTree, unpack


def filled(root: Path, command: Sequence[str]) -> list[str]:
    """Return a command line for the world in ``root``."""
    return [word.replace("{root}", str(root)) for word in command]


def prepare(root: Path, *command: str, code: int = 0) -> None:
    """Run a command that makes a part of a world."""
    kept = os.environ.get("PATCHKIT_CACHE")
    os.environ["PATCHKIT_CACHE"] = str(root / "cache")
    try:
        assert run(filled(root, command)) == code, command
    finally:
        if kept is None:
            del os.environ["PATCHKIT_CACHE"]
        else:
            os.environ["PATCHKIT_CACHE"] = kept


def series(root: Path) -> None:
    made_up.lay_series(root)
    made_up.fill_cache(root / "cache")


def folder(root: Path) -> None:
    series(root)
    lay(root / "tree", made_up.UPSTREAM["2.0"])


def installed(root: Path) -> None:
    series(root)
    unpack(WheelTree(made_up.wheel(root / "cache" / "made", "2.0")), root / "site-packages", {})
    lay(root / "site-packages", {"megatron/core/__pycache__/buffer.cpython-311.pyc": b"compiled"})


def applied(root: Path) -> None:
    folder(root)
    prepare(root, "apply", "--patches", "{root}/patches/megatron", "--in", "{root}/tree")


def repository(root: Path) -> None:
    series(root)
    made_up.repository(root / "repository")


def linked(root: Path) -> None:
    """A clone with a link in it."""
    repository(root)
    (root / "repository" / "link").symlink_to("megatron")
    record(root / "repository", "a link")
    git(root / "repository", "tag", "-f", "core_v1.1")


def cut_short(root: Path) -> None:
    """A tree to which a series was being applied when the power went."""
    folder(root)
    child = os.fork()
    if child == 0:
        rename, renamed = os.replace, count(1)

        def dying(*words: Any, **options: Any) -> None:
            if "dst_dir_fd" in options and next(renamed) == 3:
                os._exit(9)
            rename(*words, **options)

        with mock.patch("patchkit.trees.transaction.os.replace", dying):
            prepare(root, "apply", "--patches", "{root}/patches/megatron", "--in", "{root}/tree")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def stale(root: Path) -> None:
    """A series whose generated files and lock do not follow from its sources."""
    repository(root)
    for file in sorted((root / "patches" / "megatron" / "generated").iterdir())[:2]:
        file.write_bytes(b"stale\n")
    (root / "patches" / "megatron" / "lock.yaml").unlink()


def carried(root: Path) -> None:
    World(root, {})


def clash(root: Path) -> None:
    World(root, {NOTES: NOTES_1.replace(b"colour: red", b"colour: blue")})


def asking(root: Path) -> None:
    """A rebase that asks about a conflict."""
    clash(root)
    prepare(root, "rebase", "--patches", "{root}/patches/megatron", "--onto", "v2.0", code=1)


def asking_elsewhere(root: Path) -> None:
    """The same, in a folder of the user's choice, beside what two removals that were killed left of it."""
    clash(root)
    prepare(
        root,
        *("rebase", "--patches", "{root}/patches/megatron", "--onto", "v2.0", "--edit-dir", "{root}/edit"),
        code=1,
    )
    shutil.copytree(root / "edit", root / ".edit.patchkit-0123abcd")
    (root / ".edit.patchkit-0123abce").mkdir()


def decided(root: Path) -> None:
    """A rebase in which a person has settled the conflict."""
    asking(root)
    file = root / "patches" / "megatron" / ".rebase" / "2.0" / "first" / NOTES
    file.write_bytes(NOTES_1.replace(b"red", b"green"))


def foreign(root: Path) -> None:
    made_up.fill_cache(root / "cache")
    repository = root / "repository"
    made_up.repository(repository)
    git(repository, "checkout", "-q", "main~1")
    config = made_up.CONFIG.replace(b"size = 1\n", b"size = 1\n    keep_quiet = False\n")
    lay(repository, {made_up.path_of("config"): config})
    lay(repository, {made_up.path_of("mode"): made_up.MODE.replace(b'"torch"', b'keep_quiet or "torch"')})
    (root / "big.patch").write_text(git(repository, "diff") + "\n")
    git(repository, "checkout", "-q", "-f", "main")


def edited(root: Path) -> None:
    """A tree with an edit of what the series puts there."""
    made_up.repository(root / "repository")
    applied(root)
    file = root / "tree" / made_up.path_of("mode")
    file.write_bytes(file.read_bytes().replace(b"else None", b"else 0"))


def pins(root: Path) -> None:
    series(root)
    lay(root, {"requirements.txt": b"torch_memory_saver==0.0.9\nmegatron-core==0.16.1\n"})


def reports(root: Path) -> None:
    carried(root)
    lay(root, {"page.html": b"the page of yesterday\n"})


def listed(root: Path) -> None:
    """A series, and its upstream's releases on an index; what the cache has of one is damaged."""
    made_up.lay_series(root)
    for version in made_up.RELEASES:
        made_up.wheel(root / "links", version)
    name, content = made_up.wheels()["2.0"]
    lay(root / "cache" / "wheels" / made_up.sha256(content), {name: content[:-9]})


def newer(root: Path) -> None:
    """A series whose upstream has made a release since."""
    repository(root)
    make_wheel(root / "links", "2.1", files=made_up.UPSTREAM["main"])
    git(root / "repository", "tag", "core_v2.1", "main")


def project(root: Path) -> None:
    """A folder in which a series is to be kept, a patch of somebody's, and where it comes from."""
    repository = root / "repository"
    made_up.repository(repository)
    git(repository, "checkout", "-q", "core_v1.1")
    lay(repository, {made_up.path_of("config"): made_up.CONFIG.replace(b"size = 1", b"size = 2")})
    (root / "big.patch").write_text(git(repository, "diff") + "\n")
    git(repository, "checkout", "-q", "-f", "main")
    (root / "project").mkdir()
    for version in made_up.RELEASES:
        made_up.wheel(root / "links", version)


def imported_into(root: Path) -> None:
    """A series, and a patch of somebody's to be added to it."""
    repository(root)
    lay(root / "repository", {made_up.path_of("version"): b'VERSION = "3.0"\nEDITED = True\n'})
    told = git(root / "repository", "diff").replace("3.0", "2.0")
    (root / "big.patch").write_text(
        "\n".join(line for line in told.splitlines() if not line.startswith("index")) + "\n"
    )


def renewed(root: Path) -> None:
    """A tree with an edit that is to be a patch of its own."""
    made_up.repository(root / "repository")
    applied(root)
    file = root / "tree" / made_up.path_of("version")
    file.write_bytes(file.read_bytes() + b"\n\nEDITED = True\n")


def past(root: Path) -> None:
    """A series, and a clone with commits since that broke it."""
    there = There(root)
    there.clone.name(
        "heads/main", there.clone.chain(["Blue", "Spare"], [text(notes=BLUE), text(SPARE, BLUE)], there.base)[-1]
    )
    assert FIRST


def importable(root: Path) -> None:
    """Megatron as it is installed, for an import that patches it."""
    installed(root)


def saver(root: Path) -> None:
    """A wheel of torch_memory_saver."""
    root.joinpath("cache").mkdir()
    with zipfile.ZipFile(root / "torch_memory_saver-0.0.9-cp39-abi3-manylinux2014_x86_64.whl", "w") as wheel:
        wheel.writestr("torch_memory_saver/__init__.py", "")
        wheel.writestr("torch_memory_saver-0.0.9.dist-info/METADATA", "Name: torch_memory_saver\nVersion: 0.0.9\n")


def empty(root: Path) -> None:
    """No cache yet."""
    lay(root, {"cache/wheels/none": b""})


def arguments(root: Path) -> None:
    """Arguments of Megatron."""
    told = {
        "num_layers": 2,
        "hidden_size": 64,
        "num_attention_heads": 4,
        "bf16": True,
        "use_distributed_optimizer": True,
    }
    told |= {"world_size": 2, "padded_vocab_size": 128, "ffn_hidden_size": 256}
    lay(root, {"arguments.json": json.dumps(told).encode(), "bars.svg": b"the bars of yesterday\n"})
