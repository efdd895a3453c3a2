from __future__ import annotations

import pytest

from patchkit.core.series import BlobPair, LockDocument, PatchLock, TargetLock
from patchkit.core.state import (
    Ambiguous,
    Recognised,
    State,
    Unknown,
    file_state,
    hunk_states,
    patch_state,
    recognise,
    step_of,
    touched_paths,
)
from patchkit.core.unified import parse_patch

SHA = f"sha256:{0:064}"


def target(generated: str = SHA, **patches: dict[str, str]) -> TargetLock:
    """A target's lock: ``one={"a.py": "0>1"}`` takes a.py from blob 0 to blob 1; ``-`` is no file."""
    locked = {
        name: PatchLock(variant="v.patch", files={k: pair(v) for k, v in files.items()})
        for name, files in patches.items()
    }
    return TargetLock(generated=generated, patches=locked)


def pair(text: str) -> BlobPair:
    before, after = (None if blob == "-" else blob for blob in text.split(">"))
    return BlobPair(before=before, after=after)


def lock(**targets: TargetLock) -> LockDocument:
    return LockDocument(schema=1, series=SHA, patches={}, targets=targets)


STACKED = target(one={"a.py": "0>1", "b.py": "5>6"}, two={"c.py": "8>9"}, three={"a.py": "1>2", "new.py": "->7"})


def test_a_chain_runs_from_the_text_of_upstream_to_that_of_the_last_patch() -> None:
    chains = {path: STACKED.chain(path) for path in (*STACKED.paths, "other.py")}

    assert chains == {
        "a.py": ("0", "1", "2"),
        "b.py": ("5", "6"),
        "c.py": ("8", "9"),
        "new.py": (None, "7"),
        "other.py": (),
    }


def test_touched_paths_are_those_of_all_targets_once_and_sorted() -> None:
    both = lock(x=target(one={"b.py": "0>1"}), y=target(one={"a.py": "0>1", "b.py": "3>4"}))

    assert touched_paths(both) == ("a.py", "b.py")


@pytest.mark.parametrize(
    ("patch", "path", "step"),
    [("one", "a.py", 0), ("three", "a.py", 1), ("two", "c.py", 0), ("three", "new.py", 0), ("two", "a.py", 1)],
)
def test_the_step_of_a_patch_counts_the_earlier_patches_of_the_same_file(patch: str, path: str, step: int) -> None:
    assert step == step_of(STACKED, patch, path)


@pytest.mark.parametrize(
    ("patch", "path", "states"),
    [
        (
            "one",
            "a.py",
            {"0": "clean", "1": "applied", "2": "applied", "9": "modified", None: "missing"},
        ),
        (
            "three",
            "a.py",
            {"0": "clean", "1": "clean", "2": "applied", "9": "modified", None: "missing"},
        ),
        ("three", "new.py", {None: "clean", "7": "applied", "9": "modified"}),
    ],
    ids=["first of two", "second of two", "made file"],
)
def test_the_state_of_a_file_follows_from_its_blob(patch: str, path: str, states: dict[str | None, str]) -> None:
    assert states == {blob: file_state(STACKED, patch, path, blob).value for blob in states}


@pytest.mark.parametrize(
    ("files", "state"),
    [
        ([], State.NOT_NEEDED),
        ([State.CLEAN], State.CLEAN),
        ([State.CLEAN, State.CLEAN], State.CLEAN),
        ([State.APPLIED, State.APPLIED], State.APPLIED),
        ([State.CLEAN, State.APPLIED], State.PARTLY),
        ([State.APPLIED, State.MODIFIED], State.MODIFIED),
        ([State.CLEAN, State.MISSING], State.MODIFIED),
        ([State.MISSING], State.MODIFIED),
        ([State.MODIFIED], State.MODIFIED),
    ],
    ids=lambda value: value.value if isinstance(value, State) else "+".join(state.value for state in value) or "none",
)
def test_the_state_of_a_patch_follows_from_those_of_its_files(files: list[State], state: State) -> None:
    assert state == patch_state(files)


OLD = target(one={"a.py": "a0>a1", "b.py": "b0>b1"})
NEW = target(one={"a.py": "a0>a1", "b.py": "b5>b6"}, two={"c.py": "c0>c1"})
OTHER_TEXT = target(one={"a.py": "a0>a9", "b.py": "b0>b1"})
SMALL = target(one={"a.py": "a0>a1"})


@pytest.mark.parametrize(
    ("locked", "blobs", "expected"),
    [
        (lock(old=OLD, new=NEW), {"a.py": "a0", "b.py": "b0"}, Recognised("old", ())),
        (lock(old=OLD, new=NEW), {"a.py": "a1", "b.py": "b0"}, Recognised("old", ())),
        (lock(old=OLD, new=NEW), {"a.py": "a1", "b.py": "b6", "c.py": "c0"}, Recognised("new", ())),
        (lock(a=OLD, b=OLD, c=OLD), {"a.py": "a0", "b.py": "b1"}, Recognised("c", ("a", "b"))),
        (
            lock(a=OLD, b=target(f"sha256:{1:064}", one={"a.py": "a0>a1", "b.py": "b0>b1"})),
            {"a.py": "a0", "b.py": "b0"},
            Recognised("b", ("a",)),
        ),
        (lock(a=OLD, b=OTHER_TEXT), {"a.py": "a0", "b.py": "b0"}, Ambiguous(("a", "b"))),
        (lock(a=OLD, b=OTHER_TEXT), {"a.py": "a1", "b.py": "b0"}, Recognised("a", ())),
        (lock(a=OLD, b=SMALL), {"a.py": "a0", "b.py": "b0"}, Recognised("a", ())),
        (lock(a=OLD, b=SMALL), {"a.py": "a0", "b.py": "zz"}, Recognised("b", ())),
        (lock(a=target(one={"a.py": "-> a1".replace(" ", "")})), {"a.py": None}, Recognised("a", ())),
        (lock(a=OLD), {"a.py": "a0", "b.py": None}, Unknown("a", ("b.py",))),
        (lock(a=OLD), {"a.py": "a0"}, Unknown("a", ("b.py",))),
        (lock(old=OLD, new=NEW), {"a.py": "a0", "b.py": "zz", "c.py": "c0"}, Unknown("new", ("b.py",))),
        (lock(old=OLD, new=NEW), {"a.py": "a0", "b.py": "zz", "c.py": "zz"}, Unknown("new", ("b.py", "c.py"))),
        (lock(old=OLD, new=OLD), {"a.py": "zz", "b.py": "b0"}, Unknown("new", ("a.py",))),
        (lock(old=OLD, new=NEW), {"a.py": "zz", "b.py": "zz", "c.py": None}, Unknown(None, ("a.py", "b.py"))),
        (lock(old=OLD), {"a.py": None, "b.py": None}, Unknown(None, ())),
        (lock(), {"a.py": "a0"}, Unknown(None, ("a.py",))),
    ],
    ids=[
        "upstream's text",
        "one file patched",
        "other files patched",
        "the last of equal targets",
        "the generated text alone differs",
        "equal files, other patches",
        "a patched file decides",
        "the target that explains more files",
        "the target that explains fewer files",
        "file to be made",
        "file missing",
        "file not read",
        "nearest: most files known",
        "nearest: as many known, the last",
        "nearest: the last of equal targets",
        "all files strange",
        "no file at all",
        "no target",
    ],
)
def test_a_tree_is_recognised_by_its_blobs(
    locked: LockDocument, blobs: dict[str, str | None], expected: Recognised | Ambiguous | Unknown
) -> None:
    assert expected == recognise(locked, blobs)


PATCH = parse_patch(
    b"--- a/x.py\n+++ b/x.py\n"
    b"@@ -1,2 +1,3 @@ add\n def f():\n+    a()\n     b()\n"
    b"@@ -5,2 +6 @@ remove\n def g():\n-    c()\n"
    b"@@ -8 +8 @@ change\n-x = 1\n+x = 2\n",
    "p",
).files[0]
SCOPES = {"add": "f", "remove": "g", "change": "<module>"}


@pytest.mark.parametrize(
    ("content", "states"),
    [
        (b"def f():\n    b()\n\n\ndef g():\n    c()\n\nx = 1\n", ["clean", "clean", "clean"]),
        (b"def f():\n    a()\n    b()\n\n\ndef g():\n\nx = 2\n", ["applied", "applied", "applied"]),
        (b"# new\ndef f():\n    a()\n    b()\n\ndef g():\n    c()\n\nx = 3\n", ["applied", "clean", "modified"]),
        (b"def g():\n    c()\n\ndef h():\n    b()\nx = 1\nx = 1\n", ["modified", "clean", "modified"]),
        (b"", ["modified", "modified", "modified"]),
    ],
    ids=["clean", "applied", "mixed and moved", "scope gone, two places", "empty"],
)
def test_each_hunk_of_a_file_in_doubt_has_a_state_of_its_own(content: bytes, states: list[str]) -> None:
    found = {name: state.value for name, state in hunk_states(PATCH, content, SCOPES).items()}

    assert dict(zip(SCOPES, states, strict=True)) == found


@pytest.mark.parametrize(
    ("content", "state"), [(b"made\n", State.APPLIED), (b"other\n", State.MODIFIED), (b"", State.MODIFIED)]
)
def test_a_file_that_should_have_been_made_is_never_clean_when_it_is_there(content: bytes, state: State) -> None:
    made = parse_patch(b"--- /dev/null\n+++ b/x.py\n@@ -0,0 +1 @@ h\n+made\n", "p").files[0]

    assert {"h": state} == hunk_states(made, content, {})
