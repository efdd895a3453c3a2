from __future__ import annotations

from pathlib import Path

import pytest

from patchkit.core.series import BlobPair, LockDocument, PatchLock, TargetLock
from patchkit.errors import StoreError
from patchkit.store.lock import load_lock, print_lock, read_lock, text_digest
from patchkit.store.series import load_series

from .made_up import lay_series

OTHER = f"sha256:{'f' * 64}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return lay_series(tmp_path / "m")


def locked(folder: Path) -> LockDocument:
    """The lock that belongs to the sources, for one target."""
    series = load_series(folder)
    pairs = {"m/one.py": BlobPair("a" * 40, "b" * 40), "m/made.py": BlobPair(None, "c" * 40)}
    text = text_digest(series.patch("one").texts["v1.patch"])
    above = {"m/made.py": BlobPair("c" * 40, "d" * 40)}
    patches = {
        "one": PatchLock("v1.patch", text, pairs),
        "two": PatchLock(None),
        "three": PatchLock("v1.patch", text_digest(series.patch("three").texts["v1.patch"]), above),
        "four": PatchLock(None),
    }
    digests = {patch.name: patch.digest for patch in series.patches}
    return LockDocument(1, series.digest, digests, {"1.0": TargetLock(OTHER, patches)})


def test_a_lock_that_was_printed_is_loaded_back(folder: Path) -> None:
    lock = locked(folder)
    (folder / "lock.yaml").write_bytes(print_lock(lock))

    assert (lock, lock) == (load_lock(load_series(folder)), read_lock(folder))


def test_a_lock_is_printed_in_the_order_of_its_values_below_a_warning() -> None:
    pairs = {"m/b.py": BlobPair("a" * 40, "b" * 40), "m/a.py": BlobPair(None, "c" * 40)}
    target = TargetLock(OTHER, {"two": PatchLock("v1.patch", OTHER, pairs), "one": PatchLock(None)})

    expected = f"""\
# Written by `patchkit regenerate` from series.yaml, patch.yaml and variants/. Do not edit.
schema: 1
series: {OTHER}
patches:
  two: {OTHER}
targets:
  1.0.0:
    generated: {OTHER}
    patches:
      two:
        variant: v1.patch
        text: {OTHER}
        files:
          m/b.py:
            before: {"a" * 40}
            after: {"b" * 40}
          m/a.py:
            before: null
            after: {"c" * 40}
      one:
        variant: null
        text: null
        files: {{}}
"""
    assert expected.encode() == print_lock(LockDocument(1, OTHER, {"two": OTHER}, {"1.0.0": target}))


@pytest.mark.parametrize(
    ("edited", "changed"),
    [
        (["series.yaml"], "series.yaml"),
        (["two/patch.yaml"], "two"),
        (["two/variants/v1.patch"], "two"),
        (["three/variants/v2.patch", "one/patch.yaml"], "one, three"),
    ],
    ids=["series.yaml", "patch.yaml", "variant", "two patches"],
)
def test_a_lock_older_than_its_sources_is_refused_with_what_changed(
    folder: Path, edited: list[str], changed: str
) -> None:
    (folder / "lock.yaml").write_bytes(print_lock(locked(folder)))
    for file in edited:
        text = (folder / file).read_text()
        (folder / file).write_text(f"{text}\n")

    with pytest.raises(StoreError) as caught:
        load_lock(load_series(folder))

    path = str(folder / "lock.yaml")
    message = f"{path}: series: the lock does not belong to these sources (changed: {changed})"
    expected = (path, "series", message, f"run `patchkit regenerate --patches {folder}`")
    assert expected == (caught.value.file, caught.value.key, caught.value.message, caught.value.hint)


def test_an_old_lock_can_be_read_without_asking_whether_it_fits(folder: Path) -> None:
    lock = locked(folder)
    (folder / "lock.yaml").write_bytes(print_lock(lock))
    (folder / "series.yaml").write_text("of no importance")

    assert lock == read_lock(folder)


def test_there_may_be_no_lock_to_read_but_one_must_be_loaded(folder: Path) -> None:
    assert read_lock(folder) is None
    with pytest.raises(StoreError) as caught:
        load_lock(load_series(folder))
    assert (caught.value.message, caught.value.hint) == (
        f"{folder / 'lock.yaml'}: there is no lock yet",
        f"run `patchkit regenerate --patches {folder}`",
    )


def test_what_is_called_like_the_lock_is_not_taken_for_none(folder: Path) -> None:
    (folder / "lock.yaml").symlink_to("gone")
    with pytest.raises(StoreError) as caught:
        read_lock(folder)
    assert caught.value.message == f"{folder / 'lock.yaml'}: it is a link, and what it leads to is not there"


def test_a_malformed_lock_is_named_with_key_and_line(folder: Path) -> None:
    text = print_lock(locked(folder)).replace(b"before: null", b"before: nowhere")
    (folder / "lock.yaml").write_bytes(text)

    with pytest.raises(StoreError) as caught:
        read_lock(folder)

    assert caught.value.key == "targets[...].patches[...].files[...].before (line 9)"


@pytest.mark.parametrize(
    ("patches", "key", "problem"),
    [
        ({}, "targets.1.0.patches", "these are not the patches of series.yaml in their order"),
        (
            {"two": PatchLock(None, None, {"m/x.py": BlobPair(None, None)})},
            "targets.1.0.patches.two.files",
            "there are files, and no variant",
        ),
        (
            {"one": PatchLock("../v9.patch", OTHER)},
            "targets.1.0.patches.one.variant",
            "the patch has no variant '../v9.patch'",
        ),
        ({"one": PatchLock("v1.patch", OTHER)}, "targets.1.0.patches.one.text", "is not the digest of v1.patch"),
        ({"one": PatchLock("v1.patch", None)}, "targets.1.0.patches.one.text", "is not the digest of v1.patch"),
    ],
    ids=["no patches", "files without variant", "unknown variant", "other text", "no text"],
)
def test_a_lock_whose_digests_fit_and_whose_entries_do_not_is_refused_with_its_key(
    folder: Path, patches: dict[str, PatchLock], key: str, problem: str
) -> None:
    lock = locked(folder)
    kept = lock.targets["1.0"].patches
    entries = {name: patches.get(name, kept[name]) for name in kept} if patches else {}
    foreign = LockDocument(1, lock.series, lock.patches, {"1.0": TargetLock(OTHER, entries)})
    (folder / "lock.yaml").write_bytes(print_lock(foreign))

    with pytest.raises(StoreError) as caught:
        load_lock(load_series(folder))

    assert (caught.value.file, caught.value.key, caught.value.message, caught.value.hint) == (
        str(folder / "lock.yaml"),
        key,
        f"{folder / 'lock.yaml'}: {key}: {problem}",
        f"run `patchkit regenerate --patches {folder}`",
    )


def test_a_lock_in_which_a_patch_starts_from_what_the_one_below_does_not_leave_is_refused(folder: Path) -> None:
    lock = locked(folder)
    entries = dict(lock.targets["1.0"].patches)
    three = entries["three"]
    entries["three"] = PatchLock(three.variant, three.text, {"m/made.py": BlobPair("e" * 40, "d" * 40)})
    foreign = LockDocument(1, lock.series, lock.patches, {"1.0": TargetLock(OTHER, entries)})
    (folder / "lock.yaml").write_bytes(print_lock(foreign))

    with pytest.raises(StoreError) as caught:
        load_lock(load_series(folder))

    assert caught.value.key == "targets.1.0.patches.three.files.m/made.py.before"
