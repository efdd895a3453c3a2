from __future__ import annotations

import errno
import os
import sys
import threading
from pathlib import Path

import pytest

from patchkit.errors import DigestMismatchError, IndexUnavailableError, UnsafePathError, UsageError, WriteFailedError
from patchkit.trees.index import cached_wheel, fetch_wheel

from .indexes import Index
from .reporters import Told
from .snapshots import contents, snapshot
from .wheels import make_wheel, sha256

LINUX = "manylinux_2_5_x86_64.manylinux1_x86_64"
HINT = "a release that is in the cache already, or a clone given with --git REPO, needs no network"


@pytest.fixture
def links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip is set up to look into, and into nothing else."""
    folder = tmp_path / "links"
    folder.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def digests(*wheels: Path) -> dict[str, str]:
    return {wheel.name: sha256(wheel.read_bytes()) for wheel in wheels}


def put(cache: Path, wheel: Path) -> Path:
    """Put ``wheel`` where the cache keeps it."""
    kept = cache / "wheels" / sha256(wheel.read_bytes()) / wheel.name
    kept.parent.mkdir(parents=True)
    kept.write_bytes(wheel.read_bytes())
    return kept


def fetch(cache: Path, files: dict[str, str], version: str = "1.2", **options: object) -> Path:
    return fetch_wheel("megatron-core", version, files, cache=cache, **options)  # type: ignore[arg-type]


def test_a_wheel_comes_from_where_pip_looks_and_is_kept_under_its_digest(tmp_path: Path, links: Path) -> None:
    wheel = make_wheel(links)
    told = Told()
    found = fetch(tmp_path / "cache", digests(wheel), reporter=told)

    assert found == tmp_path / "cache" / "wheels" / sha256(wheel.read_bytes()) / wheel.name
    assert contents(tmp_path / "cache") == {found.relative_to(tmp_path / "cache").as_posix(): wheel.read_bytes()}
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["wheels"]
    assert told.lines == [f"step: downloading {wheel.name}"]


@pytest.mark.parametrize(
    "tag",
    [
        f"cp312-cp312-{LINUX}",
        "cp38-abi3-manylinux_2_17_x86_64",
        f"cp313-cp313t-{LINUX}",
        "cp312-cp312-win_amd64",
        "py2.py3-none-any",
    ],
)
def test_a_wheel_for_another_python_comes_too(tmp_path: Path, links: Path, tag: str) -> None:
    wheel = make_wheel(links, tag=tag)

    assert fetch(tmp_path / "cache", digests(wheel)).read_bytes() == wheel.read_bytes()


@pytest.mark.usefixtures("no_pip")
def test_what_is_in_the_cache_needs_neither_network_nor_pip(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path)
    kept = put(tmp_path / "cache", wheel)
    told = Told()

    assert fetch(tmp_path / "cache", digests(wheel), reporter=told) == kept
    assert told.lines == []


@pytest.mark.usefixtures("no_pip")
def test_any_wheel_of_the_release_in_the_cache_will_do_for_its_source(tmp_path: Path) -> None:
    fitting, other = make_wheel(tmp_path), make_wheel(tmp_path, tag="cp36-cp36m-win_amd64")
    kept = put(tmp_path / "cache", other)

    assert fetch(tmp_path / "cache", digests(fitting, other)) == kept


@pytest.mark.usefixtures("no_pip")
def test_the_cache_alone_can_be_asked(tmp_path: Path) -> None:
    wheels = [make_wheel(tmp_path, tag=f"cp{minor}-cp{minor}-{LINUX}") for minor in ("311", "312", "313")]
    damaged = put(tmp_path / "cache", wheels[2])
    damaged.write_bytes(b"damaged")
    kept = put(tmp_path / "cache", wheels[0])

    assert cached_wheel(digests(*wheels), tmp_path / "cache") == kept
    assert cached_wheel(digests(wheels[1]), tmp_path / "cache") is None


def test_a_wheel_whose_metadata_excludes_its_own_python_comes_all_the_same(tmp_path: Path, links: Path) -> None:
    wheel = make_wheel(links, tag=f"cp310-cp310-{LINUX}", requires=">=3.12")

    assert fetch(tmp_path / "cache", digests(wheel), python="3.10").read_bytes() == wheel.read_bytes()


def test_an_exact_platform_is_fetched_although_another_is_in_the_cache(tmp_path: Path, links: Path) -> None:
    fitting, other = make_wheel(links), make_wheel(tmp_path, tag="cp36-cp36m-win_amd64")
    put(tmp_path / "cache", other)

    assert fetch(tmp_path / "cache", digests(fitting, other), exact_platform=True).name == fitting.name


def test_a_damaged_file_in_the_cache_is_fetched_again_with_a_note(tmp_path: Path, links: Path) -> None:
    wheel = make_wheel(links)
    kept = put(tmp_path / "cache", wheel)
    kept.write_bytes(b"damaged")
    told = Told()

    assert fetch(tmp_path / "cache", digests(wheel), reporter=told).read_bytes() == wheel.read_bytes()
    assert told.lines == [
        f"note: {kept} in the cache is damaged and is fetched again",
        f"step: downloading {wheel.name}",
    ]


@pytest.mark.usefixtures("no_pip")
@pytest.mark.parametrize(
    ("python", "tags", "chosen"),
    [
        ("3.12", [f"cp311-cp311-{LINUX}", f"cp312-cp312-{LINUX}", f"cp313-cp313-{LINUX}"], 1),
        ("3.12", ["py3-none-any", f"cp312-cp312-{LINUX}"], 1),
        ("3.12", [f"cp310-abi3-{LINUX}", f"cp311-cp311-{LINUX}"], 0),
        ("3.10", ["py3-none-any", f"cp312-cp312-{LINUX}"], 0),
        ("3.9", [f"cp39-cp39-{LINUX}", f"cp310-cp310-{LINUX}"], 0),
        # Nothing fits: the newest for 64-bit Intel.
        ("3.6", [f"cp39-cp39-{LINUX}", f"cp310-cp310-{LINUX}", "cp312-cp312-manylinux_2_17_aarch64"], 1),
        ("3.6", ["cp310-cp310-win_arm64", "cp39-cp39-win_arm64"], 0),
    ],
)
def test_the_wheel_that_fits_best_is_chosen(tmp_path: Path, python: str, tags: list[str], chosen: int) -> None:
    wheels = [make_wheel(tmp_path / str(place), tag=tag) for place, tag in enumerate(tags)]
    for wheel in wheels:
        put(tmp_path / "cache", wheel)

    assert fetch(tmp_path / "cache", digests(*wheels), python=python).name == wheels[chosen].name


@pytest.mark.usefixtures("no_pip")
def test_without_a_python_the_one_that_runs_counts(tmp_path: Path) -> None:
    this, other = (f"{sys.version_info.minor + step}" for step in (0, 1))
    wheels = [make_wheel(tmp_path, tag=f"cp3{minor}-cp3{minor}-{LINUX}") for minor in (this, other)]
    for wheel in wheels:
        put(tmp_path / "cache", wheel)

    assert fetch(tmp_path / "cache", digests(*wheels)).name == wheels[0].name


@pytest.mark.usefixtures("no_pip")
@pytest.mark.parametrize(
    ("tags", "there"),
    [
        (
            ["cp36-cp36m-win_amd64", "cp37-cp37m-win_amd64"],
            "megatron_core-1.2-cp36-cp36m-win_amd64.whl, megatron_core-1.2-cp37-cp37m-win_amd64.whl",
        ),
        ([], "no wheel at all"),
    ],
)
def test_an_exact_platform_that_no_wheel_is_for_lists_what_there_is(
    tmp_path: Path, tags: list[str], there: str
) -> None:
    files = digests(*[make_wheel(tmp_path, tag=tag) for tag in tags])

    with pytest.raises(IndexUnavailableError) as caught:
        fetch(tmp_path / "cache", files, python="3.12", exact_platform=True)

    wanted = f"megatron-core 1.2 has no wheel for Python 3.12 on this machine; there is: {there}"
    assert caught.value.message == wanted


@pytest.mark.parametrize("python", ["", "3", "3.x", "cp312", "3.12.1"])
def test_what_is_no_python_version_is_a_usage_error(tmp_path: Path, python: str) -> None:
    with pytest.raises(UsageError) as caught:
        fetch(tmp_path / "cache", digests(make_wheel(tmp_path)), python=python)

    assert caught.value.message == f"{python!r} is not a version of Python such as 3.12"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("x.zip", UsageError),
        (f"megatron_core-{'9' * 5000}-py3-none-any.whl", UnsafePathError),
        ("../a-1-py3-none-any.whl", UnsafePathError),
    ],
    ids=["no wheel", "a version without end", "upwards"],
)
def test_a_recorded_name_that_is_none_of_a_wheel_is_refused(tmp_path: Path, name: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        fetch(tmp_path / "cache", {name: "0" * 64})


def test_other_bytes_than_those_recorded_are_refused_and_not_kept(tmp_path: Path, links: Path) -> None:
    wheel = make_wheel(links)

    with pytest.raises(DigestMismatchError) as caught:
        fetch(tmp_path / "cache", {wheel.name: "0" * 64})

    assert caught.value.message == (
        f"{wheel.name} from the package index is not the file that was recorded: "
        f"expected SHA-256 {'0' * 64}, got {sha256(wheel.read_bytes())}"
    )
    assert snapshot(tmp_path / "cache") == {}


def test_a_release_the_index_does_not_have_is_said_with_where_it_was_looked_for(tmp_path: Path, links: Path) -> None:
    make_wheel(links, "1.2")
    missing = make_wheel(tmp_path, "9.9")

    with pytest.raises(IndexUnavailableError) as caught:
        fetch(tmp_path / "cache", digests(missing), "9.9")

    assert (caught.value.message, caught.value.hint) == (
        f"the package index does not have megatron-core 9.9 ({missing.name}): {links} answered without it",
        f"pip's index-url, extra-index-url and find-links say where to look; {HINT}",
    )


def test_where_pip_is_set_up_for_no_place_that_is_said(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path)
    with pytest.raises(IndexUnavailableError) as caught:
        fetch(tmp_path / "cache", digests(wheel))

    said = f"the package index does not have megatron-core 1.2 ({wheel.name}): pip is set up to ask none"
    assert caught.value.message == said


def test_an_index_that_cannot_be_reached_is_told_from_one_that_does_not_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setattr("patchkit.trees.index_client._PAUSE", 0)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
    wheel = make_wheel(tmp_path)

    with pytest.raises(IndexUnavailableError) as caught:
        fetch(tmp_path / "cache", digests(wheel))

    why = "no answer from http://127.0.0.1:1/simple: [Errno 111] Connection refused"
    assert (caught.value.message, caught.value.hint) == (
        f"cannot reach the package index for megatron-core 1.2 ({wheel.name}): {why}",
        HINT,
    )


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (503, "cannot reach the package index for WHAT: no answer from URL: HTTP 503 Service Unavailable"),
        (403, "cannot reach the package index for WHAT: no answer from URL: HTTP 403 Forbidden"),
        (404, "the package index does not have WHAT: URL answered without it"),
    ],
)
def test_an_index_that_fails_or_forbids_counts_as_not_reached_and_one_that_says_no_as_not_having_it(
    tmp_path: Path, server: Index, status: int, said: str
) -> None:
    server.serve("/simple/megatron-core/", b"", status=status)
    wheel = make_wheel(tmp_path)

    with pytest.raises(IndexUnavailableError) as caught:
        fetch(tmp_path / "cache", digests(wheel))

    what = f"megatron-core 1.2 ({wheel.name})"
    assert caught.value.message == said.replace("WHAT", what).replace("URL", f"{server.url}/simple")


def test_the_index_url_of_the_user_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = make_wheel(tmp_path / "simple" / "megatron-core")
    page = f'<a href="{wheel.name}#sha256={sha256(wheel.read_bytes())}">{wheel.name}</a>'
    (wheel.parent / "index.html").write_text(f"<!DOCTYPE html><html><body>{page}</body></html>")
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "simple").as_uri())

    assert fetch(tmp_path / "cache", digests(wheel)).read_bytes() == wheel.read_bytes()


def test_settings_about_installing_do_not_stand_in_the_way(
    tmp_path: Path, links: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = make_wheel(links)
    (tmp_path / "constraints").write_text("megatron-core==9.9\n")
    (tmp_path / "settings").write_text(f"[global]\nconstraint = {tmp_path}/constraints\nrequire-virtualenv = true\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "settings"))

    assert fetch(tmp_path / "cache", digests(wheel)).read_bytes() == wheel.read_bytes()


def test_no_virtual_environment_is_required_since_nothing_is_installed(
    tmp_path: Path, links: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = make_wheel(links)
    monkeypatch.setenv("PIP_REQUIRE_VIRTUALENV", "1")
    python = tmp_path / "python"
    # No virtual environment: pip refuses to do anything in it unless it is told otherwise.
    python.write_text(f'#!/bin/sh\n[ "$PIP_REQUIRE_VIRTUALENV" = 0 ] && exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))

    assert fetch(tmp_path / "cache", digests(wheel)).read_bytes() == wheel.read_bytes()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="older Pythons look for pip in the working folder first")
def test_a_folder_called_pip_where_we_are_started_is_not_run(
    tmp_path: Path, links: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = make_wheel(links)
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__init__.py").write_text("")
    (tmp_path / "pip" / "__main__.py").write_text("raise SystemExit('not pip')\n")
    monkeypatch.chdir(tmp_path)

    assert fetch(tmp_path / "cache", digests(wheel)).read_bytes() == wheel.read_bytes()


def test_a_python_without_pip_is_explained(tmp_path: Path, links: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = make_wheel(links)
    python = tmp_path / "python"
    real = sys.executable
    python.write_text(f'#!/bin/sh\nexec {real} -S -I "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))

    with pytest.raises(IndexUnavailableError) as caught:
        fetch(tmp_path / "cache", digests(wheel))

    assert (caught.value.message, caught.value.hint) == (
        f"pip cannot say which package index to look at: {real}: No module named pip",
        "install pip for the Python that runs patchkit",
    )


def test_a_cache_that_cannot_be_written_is_a_write_failure(
    tmp_path: Path, links: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = make_wheel(links)

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(WriteFailedError) as caught:
        fetch(tmp_path / "cache", digests(wheel))

    assert caught.value.message == f"cannot keep {wheel.name} in {tmp_path}/cache: Read-only file system"


def test_two_at_once_both_get_the_whole_file(tmp_path: Path, links: Path) -> None:
    wheel = make_wheel(links)
    found: list[bytes] = []
    workers = [
        threading.Thread(target=lambda: found.append(fetch(tmp_path / "cache", digests(wheel)).read_bytes()))
        for _ in range(2)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert found == [wheel.read_bytes()] * 2
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["wheels"]
