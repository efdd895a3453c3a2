from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from trees.faults import full_disk, tripped
from trees.repositories import git
from trees.snapshots import contents, lay

from patchkit.core.blobs import blob_id
from patchkit.errors import IndexUnavailableError, PatchFormatError, RevisionNotFoundError, StoreError, WriteFailedError
from patchkit.operations.regenerate import Regenerated, regenerate
from patchkit.operations.sources import load_workspace
from patchkit.store.series import load_series

from . import made_up
from .made_up import PATCHED, RELEASES, TOUCHED, UPSTREAM, path_of


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    made_up.repository(tmp_path / "repository")
    return tmp_path / "repository"


def edit(series: Path, file: str, old: str, new: str) -> None:
    text = (series / file).read_text()
    assert text.count(old) == 1
    (series / file).write_text(text.replace(old, new))


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


# What comes out.


@pytest.mark.parametrize("version", RELEASES)
def test_the_generated_patch_turns_the_release_into_what_was_written_by_hand(
    series: Path, tmp_path: Path, version: str
) -> None:
    tree = lay(tmp_path / "tree", UPSTREAM[version])
    for options in (["--check"], []):
        subprocess.run(
            ["git", "apply", *options, series / "generated" / f"core_v{version}.patch"],  # noqa: S607
            cwd=tree,
            check=True,
            env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)},
        )

    assert contents(tree) == PATCHED[version]


@pytest.mark.parametrize("version", RELEASES)
def test_the_lock_has_the_blob_ids_before_and_after_and_the_digests(series: Path, version: str) -> None:
    lock = yaml.safe_load((series / "lock.yaml").read_bytes())
    target = lock["targets"][version]
    upstream, patched = UPSTREAM[version], PATCHED[version]
    between_buffer = patched[path_of("buffer")].replace(
        b"with region():\n            self.params = [1] * size\n", b"self.params = [1] * size\n"
    )
    between_config = patched[path_of("config")].replace(b"    loose = None\n", b"")
    variants = {
        "grads": ("v1.patch", ("buffer", "config")),
        "params": ("v1.patch", ("buffer", "regions")),
        "loose": ("v1.patch", ("config",)),
        "mode": ("v2.patch", ("mode",)) if version == "2.0" else (None, ()),
    }
    steps = {
        ("grads", "buffer"): (upstream[path_of("buffer")], between_buffer),
        ("grads", "config"): (upstream[path_of("config")], between_config),
        ("params", "buffer"): (between_buffer, patched[path_of("buffer")]),
        ("params", "regions"): (None, patched[path_of("regions")]),
        ("loose", "config"): (between_config, patched[path_of("config")]),
        ("mode", "mode"): (upstream.get(path_of("mode"), b""), patched.get(path_of("mode"), b"")),
    }

    assert target == {
        "generated": sha256((series / "generated" / f"core_v{version}.patch").read_bytes()),
        "patches": {
            name: {
                "variant": variant,
                "text": variant and sha256((series / name / "variants" / variant).read_bytes()),
                "files": {
                    path_of(file): {
                        "before": None if steps[name, file][0] is None else blob_id(steps[name, file][0] or b""),
                        "after": blob_id(steps[name, file][1]),
                    }
                    for file in files
                },
            }
            for name, (variant, files) in variants.items()
        },
    }
    assert list(lock["targets"]) == ["1.0", "1.1", "2.0", "main"]
    loaded = load_series(series)
    assert (lock["schema"], lock["series"]) == (1, loaded.digest)
    assert lock["patches"] == {patch.name: patch.digest for patch in loaded.patches}


def test_the_generated_patches_are_called_as_upstream_calls_the_targets_and_say_what_they_are(series: Path) -> None:
    generated = {path.name: path.read_text() for path in (series / "generated").iterdir()}

    assert set(generated) == {"core_v1.0.patch", "core_v1.1.patch", "core_v2.0.patch", "main.patch"}
    assert generated["core_v1.0.patch"].startswith(
        "Patches for megatron-core v1.0 (commit 1000000000000000000000000000000000000000): grads, params, loose.\n"
        "Made by `patchkit regenerate`. Take `git apply` in a checkout of that release, or `patchkit apply`:\n"
        "in a folder that git ignores, `git apply` changes nothing and exits 0.\n"
        "\n"
        "diff --git a/megatron/core/buffer.py b/megatron/core/buffer.py\n"
        f"index {blob_id(made_up.BUFFER)}..{blob_id(made_up.PATCHED_BUFFER)} 100644\n"
        "--- a/megatron/core/buffer.py\n"
    )
    assert generated["core_v2.0.patch"].startswith("Patches for megatron-core v2.0: grads, params, loose, mode.\n")


def test_the_blob_ids_are_added_to_the_versions_with_its_comments_kept(series: Path) -> None:
    text = (series.parents[1] / "upstream_versions.yaml").read_text()
    blobs = {
        entry.get("version", entry.get("name")): entry["blobs"]
        for section in ("releases", "branches")
        for entry in yaml.safe_load(text)["megatron"][section]
    }

    assert blobs == {
        name: {path: blob_id(files[path]) for path in TOUCHED if path in files} for name, files in UPSTREAM.items()
    }
    comments = ["# What we know. This comment stays.", "# the index gives none", "# The newest one has no tag."]
    assert [comment in text for comment in comments] == [True] * 3
    assert text.startswith("# What we know. This comment stays.\nschema: 1\n")
    assert '      python: ""  # the index gives none\n' in text
    assert '    # The newest one has no tag.\n    - version: "2.0"\n      tag: null\n' in text


def test_blob_ids_are_not_written_into_the_file_of_another_project(
    series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without a file of its own a series is read with the built-in one, which is not its to change.
    versions = series.parents[1] / "upstream_versions.yaml"
    elsewhere = tmp_path / "elsewhere.yaml"
    lines = [line for line in versions.read_text().splitlines(keepends=True) if path_of("buffer") not in line]
    elsewhere.write_text("".join(lines))
    versions.unlink()
    monkeypatch.setattr("patchkit.operations.regenerate.versions_file", lambda _folder: elsewhere)

    with pytest.raises(StoreError) as caught:
        regenerate(series)

    assert caught.value.message == f"{series}: there is no upstream_versions.yaml to record blob ids in"
    assert elsewhere.read_text() == "".join(lines)


# Doing it again.


def test_doing_it_twice_gives_the_same_bytes_and_writes_nothing(series: Path, repository: Path) -> None:
    before = contents(series.parents[1])
    times = {path: path.stat().st_mtime_ns for path in series.rglob("*")}

    assert regenerate(series, repository=repository) == Regenerated(
        ok=True, written=(), removed=(), kept=(), problems=()
    )
    assert contents(series.parents[1]) == before
    assert {path: path.stat().st_mtime_ns for path in series.rglob("*")} == times


def test_from_nothing_the_same_bytes_come_out_again(series: Path, repository: Path, tmp_path: Path) -> None:
    commit = git(repository, "rev-parse", "main")
    fresh = made_up.lay_sources(tmp_path / "fresh", commit)
    names = ["core_v1.0.patch", "core_v1.1.patch", "core_v2.0.patch", "main.patch"]

    done = regenerate(fresh, repository=repository)
    assert done.ok
    assert done.written == (
        *(str(fresh / "generated" / name) for name in names),
        str(fresh / "lock.yaml"),
        str(fresh.parents[1] / "upstream_versions.yaml"),
    )
    assert contents(fresh.parents[1]) == contents(series.parents[1])


def test_check_says_yes_when_all_is_up_to_date_and_writes_nothing(series: Path, repository: Path) -> None:
    assert regenerate(series, repository=repository, check=True) == Regenerated(
        ok=True, written=(), removed=(), kept=(), problems=()
    )


def test_check_names_what_an_edit_makes_out_of_date_and_writes_nothing(series: Path, repository: Path) -> None:
    edit(series, "mode/variants/v2.patch", "sys.modules else None", "sys.modules else 1")
    before = contents(series.parents[1])
    found = regenerate(series, repository=repository, check=True)
    stale = (
        str(series / "generated" / "core_v2.0.patch"),
        str(series / "generated" / "main.patch"),
        str(series / "lock.yaml"),
    )

    assert found == Regenerated(ok=False, written=stale, removed=(), kept=(), problems=())
    assert contents(series.parents[1]) == before
    assert regenerate(series, repository=repository).written == stale
    assert regenerate(series, repository=repository, check=True).ok
    assert b"sys.modules else 1" in (series / "generated" / "core_v2.0.patch").read_bytes()


def test_a_generated_patch_that_no_target_needs_is_removed(series: Path, repository: Path) -> None:
    lay(series, {"generated/core_v0.1.patch": b"old\n"})
    old = (str(series / "generated" / "core_v0.1.patch"),)

    assert (regenerate(series, repository=repository, check=True).ok, (Path(old[0])).exists()) == (False, True)
    assert regenerate(series, repository=repository).removed == old
    assert not Path(old[0]).exists()


def test_a_generated_patch_that_somebody_edited_is_made_again(series: Path, repository: Path) -> None:
    generated = series / "generated" / "core_v1.0.patch"
    text = generated.read_bytes()
    generated.write_bytes(text + b"# mine\n")

    assert regenerate(series, repository=repository, check=True).written == (str(generated),)
    assert regenerate(series, repository=repository).ok
    assert generated.read_bytes() == text


# Targets out of reach.


def test_a_target_out_of_reach_is_kept_as_it_is(series: Path) -> None:
    before = contents(series.parents[1])

    assert regenerate(series, check=True) == Regenerated(ok=True, written=(), removed=(), kept=("main",), problems=())
    assert regenerate(series).kept == ("main",)
    assert contents(series.parents[1]) == before


def test_an_edit_that_a_target_out_of_reach_does_not_use_is_made_without_it(series: Path) -> None:
    edit(series, "grads/patch.yaml", "Allocate gradients in the region.", "Have gradients in the region.")
    main = (series / "generated" / "main.patch").read_bytes()
    done = regenerate(series)

    assert (done.ok, done.written, done.kept) == (True, (str(series / "lock.yaml"),), ("main",))
    assert (series / "generated" / "main.patch").read_bytes() == main
    assert load_workspace(series).sources.lock.targets["main"].generated == sha256(main)


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        (
            "mode/variants/v2.patch",
            "sys.modules else None",
            "sys.modules else 1",
            "main: mode/variants/v2.patch changed, and the source is out of reach; give --git REPO",
        ),
        (
            "mode/patch.yaml",
            'releases: ">=2.0"',
            'releases: ">=2.0,<3.0"\n  - file: other.patch\n    targets: [main]',
            "main: mode changed its variant, and the source is out of reach; give --git REPO",
        ),
        (
            "generated/main.patch",
            'MODE = "torch"\n',
            'MODE = "torch"\n\n',
            "main: main.patch is not the one that the lock names; give --git REPO",
        ),
    ],
)
def test_a_change_to_a_target_out_of_reach_is_an_error_and_nothing_is_written(
    series: Path, file: str, old: str, new: str, problem: str
) -> None:
    edit(series, file, old, new)
    shutil.copy(series / "mode/variants/v2.patch", series / "mode/variants/other.patch")
    before = contents(series.parents[1])

    for check in (True, False):
        found = regenerate(series, check=check)
        assert found == Regenerated(ok=False, written=(), removed=(), kept=(), problems=(problem,))
    assert contents(series.parents[1]) == before


def test_a_target_out_of_reach_that_was_never_locked_is_an_error(tmp_path: Path) -> None:
    fresh = made_up.lay_sources(tmp_path)
    found = regenerate(fresh)

    assert found.problems == ("main: has no entry in the lock yet, and its source is out of reach; give --git REPO",)
    assert not (fresh / "lock.yaml").exists()


# What stops it.


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        (
            ("mode/variants/v2.patch", '-MODE = "torch"\n', '-MODE = "other"\n'),
            [
                f"{name}: FOLDER/mode/variants/v2.patch: {path_of('mode')}, hunk mode-guard: "
                "its old lines are nowhere in the file"
                for name in ("v2.0", "main")
            ],
        ),
        (
            ("grads/patch.yaml", "scope: Buffer.reload", "scope: Buffer.renew"),
            [
                f"{name}: FOLDER/grads/variants/v1.patch: {path_of('buffer')}, hunk grads-reload: "
                "the file has no such scope"
                for name in ("v1.0", "v1.1", "v2.0")
            ],
        ),
        (
            ("grads/patch.yaml", "count: 2", "count: 3"),
            [
                f"{name}: grads/patch.yaml: checks: check grads-in-region expects 3 matches and finds 2 "
                f"({path_of('buffer')}:{line}, {path_of('buffer')}:{line + 11})"
                for name, line in (("v1.0", 12), ("v1.1", 12), ("v2.0", 16))
            ],
        ),
        (
            ("mode/patch.yaml", 'releases: ">=2.0"', 'releases: ">2.0"'),
            ["v2.0: FOLDER/mode/patch.yaml: variants: no variant is for v2.0"],
        ),
        (
            ("mode/patch.yaml", 'releases: "<2.0"', 'releases: "<=2.0"'),
            ["v2.0: FOLDER/mode/patch.yaml: variants: v2.patch claims v2.0, and not-needed does too"],
        ),
        (
            ("grads/patch.yaml", "targets: [main]\nupstream", 'releases: ">=3.0"\nupstream'),
            ["main: FOLDER/grads/patch.yaml: variants: v1.patch, main.patch all claim main"],
        ),
    ],
)
def test_what_does_not_fit_is_told_of_each_target_and_nothing_is_written(
    series: Path, repository: Path, change: tuple[str, str, str], problems: list[str]
) -> None:
    edit(series, *change)
    before = contents(series.parents[1])
    found = regenerate(series, repository=repository)

    assert (found.ok, found.written) == (False, ())
    assert [problem.replace(str(series), "FOLDER") for problem in found.problems] == problems
    assert contents(series.parents[1]) == before


def test_a_source_that_is_not_the_recorded_one_is_told(series: Path, repository: Path) -> None:
    versions = series.parents[1] / "upstream_versions.yaml"
    recorded, other = blob_id(made_up.MODE), blob_id(b"other")
    first, _, rest = versions.read_text().partition(recorded)
    versions.write_text(first + other + rest)
    where = f"v2.0: upstream_versions.yaml: 2.0: blobs: {path_of('mode')}"

    assert regenerate(series, repository=repository).problems == (
        f"{where}: records blob {other}, the source at hand has {recorded}",
    )


def test_a_malformed_variant_is_an_error_that_names_file_and_line(series: Path, repository: Path) -> None:
    edit(series, "mode/variants/v2.patch", "@@ -2,4 +2,4 @@", "@@ -2,4 +2,5 @@")

    with pytest.raises(PatchFormatError) as caught:
        regenerate(series, repository=repository)
    assert caught.value.message == (
        f"{series}/mode/variants/v2.patch:3: the counts in the hunk header disagree with the hunk's body"
    )


def test_a_version_range_that_is_none_is_an_error_that_names_file_and_key(series: Path) -> None:
    edit(series, "mode/patch.yaml", 'releases: "<2.0"', 'releases: "<two"')

    with pytest.raises(StoreError) as caught:
        regenerate(series)
    assert caught.value.message == (
        f"{series}/mode/patch.yaml: not-needed[0].releases: '<two' is no PEP 440 version specifier"
    )


def test_a_release_that_cannot_be_had_is_no_reason_to_leave_it_out(
    series: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made_up.fill_cache(tmp_path / "cache", ["1.0", "1.1"])
    monkeypatch.setenv("PATCHKIT_CACHE", str(tmp_path / "cache"))
    before = contents(series)

    with pytest.raises(IndexUnavailableError):
        regenerate(series)
    assert contents(series) == before


def test_a_commit_that_the_clone_does_not_have_is_an_error(tmp_path: Path, repository: Path) -> None:
    fresh = made_up.lay_sources(tmp_path / "fresh")

    with pytest.raises(RevisionNotFoundError) as caught:
        regenerate(fresh, repository=repository)
    assert caught.value.message == f"{repository} has no revision '{made_up.MAIN_COMMIT}'"


def test_a_disk_that_is_full_leaves_everything_as_it_was(series: Path) -> None:
    edit(series, "grads/patch.yaml", "Allocate gradients in the region.", "Have gradients in the region.")
    before = contents(series)

    with tripped(lambda _: True, full_disk), pytest.raises(WriteFailedError) as caught:
        regenerate(series)
    assert (
        caught.value.message == f"cannot write to {series.parent.parent}: No space left on device; nothing was changed"
    )
    assert contents(series) == before
