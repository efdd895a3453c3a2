"""What doctor says of Megatron-LM and of the container's memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from patchkit.core.doctor import Examined
from patchkit.errors import NotATreeError, TreeError
from patchkit.operations.apply import apply_in
from patchkit.operations.doctor import examine_megatron, examine_memory
from patchkit.trees.memory import MemoryTree

from . import made_up
from .made_up import path_of

GIB = 1 << 30


def examined(tree: MemoryTree) -> Examined:
    return examine_megatron(made_up.workspace(), lambda: tree)


def test_a_patched_tree() -> None:
    tree = made_up.tree("2.0")
    assert apply_in(made_up.workspace(), tree, asked="2.0").ok
    found = examined(tree)

    assert (found.verdict, found.text) == ("ok", f"2.0 ({tree.label}): every patch that it needs is applied")
    assert found.facts["megatron"] == "2.0"
    assert found.facts["megatron files"] in found.details[-1]
    assert "by patchkit" in found.details[-1]


def test_a_tree_that_is_patched_while_it_is_imported_is_told_and_ranks_differ_in_it() -> None:
    tree = made_up.tree("2.0")
    without, live = examined(tree), examine_megatron(made_up.workspace(), lambda: tree, live=True)

    assert live.text == f"{without.text} in its files; it is patched while it is imported"
    assert live.details == (
        "PATCHKIT_LIVE is set; `python -m patchkit.live --dry-run` says what that comes to",
        *without.details,
    )
    assert live.facts == {**without.facts, "megatron patched at import": "yes"}


def test_trees_with_other_files_have_other_facts() -> None:
    clean, patched = examined(made_up.tree("2.0")), examined(made_up.patched_tree("2.0"))

    assert (clean.verdict, patched.verdict) == ("look", "ok")
    assert clean.facts["megatron files"] != patched.facts["megatron files"]


def test_a_tree_that_somebody_changed_and_one_that_nobody_knows() -> None:
    changed = made_up.patched_tree("2.0", buffer=made_up.patched_tree("2.0").files[path_of("buffer")] + b"x = 1\n")
    unknown = MemoryTree({"megatron/core/__init__.py": b"", path_of("buffer"): b"other\n"})

    assert examined(changed).verdict == "bad"
    assert examined(unknown).verdict == "look"
    assert examined(unknown).facts["megatron"] == "unknown release"


@pytest.mark.parametrize(("error", "verdict"), [(NotATreeError("not here"), "absent"), (TreeError("torn"), "bad")])
def test_a_tree_that_is_not_there_or_cannot_be_read(error: TreeError, verdict: str) -> None:
    def find() -> MemoryTree:
        raise error

    found = examine_megatron(made_up.workspace(), find)

    assert (found.verdict, found.text) == (verdict, error.message)


def lay(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("group", "files", "verdict", "text"),
    [
        ("0::/\n", {}, "ok", "no limit of a container"),
        ("0::/\n", {"memory.max": "max\n", "memory.current": "1\n"}, "ok", "no limit of a container"),
        (
            "0::/pod/job\n",
            {
                "pod/memory.max": f"{64 * GIB}\n",
                "pod/memory.current": f"{4 * GIB}\n",
                "pod/job/memory.max": f"{128 * GIB}\n",
                "pod/job/memory.current": f"{2 * GIB}\n",
            },
            "ok",
            "limited to 64.0 GiB, 4.0 GiB in use",
        ),
        (
            "0::/outside/of/the/container\n",
            {"memory.max": f"{8 * GIB}\n", "memory.current": f"{7.5 * GIB:.0f}\n"},
            "look",
            "limited to 8.0 GiB, 7.5 GiB in use",
        ),
        (
            "5:cpu,memory:/job\n2:cpuset:/\n",
            {"memory/job/memory.limit_in_bytes": f"{32 * GIB}\n", "memory/job/memory.usage_in_bytes": "0\n"},
            "ok",
            "limited to 32.0 GiB, 0.0 GiB in use",
        ),
        ("5:memory:/\n", {"memory/memory.limit_in_bytes": "9223372036854771712\n"}, "ok", "no limit of a container"),
    ],
    ids=["nothing", "max", "the smallest above", "a path of the host", "version 1", "version 1 without"],
)
def test_the_memory_that_the_container_may_use(
    tmp_path: Path, group: str, files: dict[str, str], verdict: str, text: str
) -> None:
    lay(tmp_path, {"proc/self/cgroup": group, **{f"groups/{path}": value for path, value in files.items()}})
    found = examine_memory(tmp_path / "proc", tmp_path / "groups")

    assert (found.verdict, found.text) == (verdict, text)
