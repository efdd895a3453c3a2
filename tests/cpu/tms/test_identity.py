"""Which torch_memory_saver is installed, from its files."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from patchkit.errors import TmsFileError, TmsNotFoundError
from patchkit.tms.identity import Identity, identify
from patchkit.tms.package import package_at

from .conftest import CACHE, MakeLibrary
from .wheels import VERSIONS, fetch_saver, memory_saver

Install = Callable[[str], Path]


def identity(path: Path) -> Identity:
    return identify(package_at(path, cache=CACHE), memory_saver())


@pytest.mark.parametrize("version", VERSIONS)
def test_an_index_wheel_is_known_to_the_byte(installed: Install, version: str) -> None:
    found = identity(installed(version))

    assert (found.version, found.build, found.verdict.candidates) == (version, "index wheel", (version,))
    assert found.origin.startswith("a package index (no direct_url.json)")
    assert all(item.known_as for item in found.libraries)
    assert found.meets_minimum is (version == "0.0.10")
    assert found.notes == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_wheel_file_is_identified_without_installing_it(version: str) -> None:
    found = identity(fetch_saver(version)[-1])

    assert (found.origin, found.verdict.candidates) == ("a wheel that is not installed", (version,))


def pinned(site: Path, commit: str) -> None:
    (metadata,) = site.glob("*.dist-info")
    url = {"url": "https://github.com/x/y", "vcs_info": {"vcs": "git", "commit_id": commit, "requested_revision": "v1"}}
    (metadata / "direct_url.json").write_text(json.dumps(url))


def test_a_git_pin_beside_the_libraries_of_the_index_is_found_out(installed: Install) -> None:
    site = installed("0.0.9.post1")
    pinned(site, "b5588e83de86412a48689a6583a4b567e75f7acc")

    found = identity(site)

    assert found.origin == ("git+https://github.com/x/y at b5588e83de86412a48689a6583a4b567e75f7acc (asked for v1)")
    assert (found.verdict.candidates, found.meets_minimum) == (("0.0.9.post1",), False)
    assert "direct_url.json names commit b5588e83d, but the libraries are not built from it" in found.verdict.reasons


def test_libraries_of_two_installations_are_told(installed: Install, tmp_path: Path) -> None:
    site = installed("0.0.10")
    library = site / "torch_memory_saver_hook_mode_preload_cu12.abi3.so"
    with library.open("ab") as file:
        file.write(b"\0")

    found = identity(site)

    assert found.notes == (
        f"{library.name}: not from the index, although the other libraries are; two installations were mixed",
    )


def test_a_package_without_libraries_is_never_good_enough(installed: Install) -> None:
    site = installed("0.0.10")
    for library in site.glob("*.so"):
        library.unlink()

    found = identity(site)

    assert (found.build, found.libraries, found.meets_minimum) == ("python only", (), False)
    assert found.notes == ("nothing is tracked, and preloading fails: there is no library",)


def test_one_library_alone_is_identified_by_its_symbols(installed: Install, tmp_path: Path) -> None:
    site = installed("0.0.9")
    alone = tmp_path / "alone.so"
    shutil.copy(site / "torch_memory_saver_hook_mode_preload.abi3.so", alone)

    found = identity(alone)

    assert (found.build, found.version, found.verdict.candidates) == ("a library", None, ("0.0.9",))


def test_a_build_from_source_has_one_library_for_each_mode(make_library: MakeLibrary, tmp_path: Path) -> None:
    site = tmp_path / "site"
    exports = ["tms_pause", "tms_resume", "tms_never_seen"]
    make_library(
        site / "torch_memory_saver_hook_mode_preload_cu13.abi3.so", ["libcuda.so.1", "libcudart.so.13"], exports
    )

    found = identity(site)

    assert (found.build, found.verdict.candidates, found.meets_minimum) == ("source build", (), None)
    assert found.origin == "no metadata of pip"


def test_two_installations_over_each_other_are_refused(installed: Install) -> None:
    site = installed("0.0.10")
    (site / "torch_memory_saver-0.0.9.dist-info").mkdir()

    with pytest.raises(TmsFileError, match=r"two installations .*0\.0\.10\.dist-info, torch_memory_saver-0\.0\.9"):
        identity(site)


@pytest.mark.parametrize("text", ["{", "[]", "\x00", pytest.param("[" * 100_000, id="nested too deep")])
def test_a_damaged_record_of_pip_is_told(installed: Install, text: str) -> None:
    site = installed("0.0.10")
    (metadata,) = site.glob("*.dist-info")
    (metadata / "direct_url.json").write_text(text)

    with pytest.raises(TmsFileError, match=r"direct_url\.json"):
        identity(site)


def test_a_record_of_pip_without_a_commit_names_none(installed: Install) -> None:
    site = installed("0.0.10")
    (metadata,) = site.glob("*.dist-info")
    (metadata / "direct_url.json").write_text('{"url": "file:///a", "vcs_info": {"commit_id": 7}}')

    assert (identity(site).origin, identity(site).meets_minimum) == ("file:///a", True)


def test_a_wheel_with_a_damaged_member_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    content = bytearray(fetch_saver("0.0.9")[-1].read_bytes())
    content[5000:6000] = b"\xff" * 1000
    damaged = tmp_path / "torch_memory_saver-0.0.9-cp39-abi3-manylinux2014_x86_64.whl"
    damaged.write_bytes(content)

    with pytest.raises(TmsFileError, match="is damaged or no wheel"):
        package_at(damaged, cache=tmp_path / "cache")
    assert list((tmp_path / "cache" / "tms-wheels").iterdir()) == []


def test_a_wheel_of_something_else_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a-1-py3-none-any.whl", "w") as archive:
        archive.writestr("a/__init__.py", "")

    with pytest.raises(TmsFileError, match="is no wheel of torch_memory_saver"):
        package_at(tmp_path / "a-1-py3-none-any.whl", cache=tmp_path / "cache")


def test_a_wheel_that_unpacks_to_more_than_a_gigabyte_is_refused_before_it_is(tmp_path: Path) -> None:
    name = "torch_memory_saver_cpp.abi3.so"
    with zipfile.ZipFile(tmp_path / "a.whl", "w", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w") as member:
        for _ in range(1025):
            member.write(bytes(1 << 20))

    with pytest.raises(TmsFileError, match=r"a\.whl would unpack to more than 1024 MiB"):
        package_at(tmp_path / "a.whl", cache=tmp_path / "cache")
    assert list((tmp_path / "cache" / "tms-wheels").iterdir()) == []


def test_a_file_that_cannot_be_read_is_told(installed: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    site = installed("0.0.9")

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("patchkit.tms.package.read_regular", refuse)
    with pytest.raises(TmsFileError, match=r"cannot read .*\.so: Permission denied"):
        identity(site)


def test_what_holds_no_torch_memory_saver_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TmsNotFoundError, match="does not exist"):
        identity(tmp_path / "nowhere")
    with pytest.raises(TmsNotFoundError, match="holds no torch_memory_saver"):
        identity(tmp_path)
    (tmp_path / "a.whl").write_bytes(b"PK\x03\x04 cut")
    with pytest.raises(TmsFileError, match=r"a\.whl is damaged or no wheel"):
        identity(tmp_path / "a.whl")
    (tmp_path / "a.so").write_bytes(b"text")
    with pytest.raises(TmsFileError, match="no intact ELF library"):
        identity(tmp_path / "a.so")


def test_libraries_for_two_cudas_are_no_build_from_source(make_library: MakeLibrary, tmp_path: Path) -> None:
    name = "torch_memory_saver_hook_mode_preload_cu{}.abi3.so"
    for major in (12, 13):
        needed = ["libcuda.so.1", f"libcudart.so.{major}"]
        make_library(tmp_path / "site" / name.format(major), needed, ["tms_pause"])

    assert identity(tmp_path / "site").build == "index wheel"
    (tmp_path / "site" / name.format(12)).unlink()
    assert identity(tmp_path / "site").build == "source build"


@pytest.mark.parametrize(
    ("needed", "standing"),
    [
        (["libcuda.so.1", "libcudart.so.13"], "absent"),
        (["libcuda.so.1"], "absent"),
        (["libamdhip64.so.7"], "possible"),
        (["libc.so.6"], "possible"),
    ],
)
def test_what_a_library_needs_rules_defects_of_the_other_platform_out(
    make_library: MakeLibrary, tmp_path: Path, needed: list[str], standing: str
) -> None:
    site = tmp_path / "site"
    make_library(site / "torch_memory_saver_hook_mode_preload.abi3.so", needed, ["tms_pause", "tms_never_seen"])

    found = {each.id: each.standing.value for each in identity(site).defects}

    assert (found["rocm-72-pause"], found["double-release"]) == (standing, "possible")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("large.so", "cannot read {path}: it is larger than 256 MiB"),
        ("large.whl", "{path} is larger than 1024 MiB, which no wheel of torch_memory_saver is"),
    ],
)
def test_a_library_or_wheel_that_is_far_too_large_is_refused_before_it_is_read(
    tmp_path: Path, name: str, problem: str
) -> None:
    large = tmp_path / name
    large.touch()
    os.truncate(large, 4 << 30)

    with pytest.raises(TmsFileError) as raised:
        identity(large)

    assert raised.value.message == problem.format(path=large)
