"""How the file of a release comes from a server, or a folder, and what of it is believed."""

from __future__ import annotations

import base64
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from patchkit.errors import DigestMismatchError, IndexUnavailableError, WriteFailedError
from patchkit.trees import index_download
from patchkit.trees.index import fetch_wheel
from patchkit.trees.index_client import Clients
from patchkit.trees.index_pages import LARGEST_WHEEL, IndexFile
from patchkit.trees.package_indexes import PackageIndexes
from patchkit.trees.pip_settings import PipSettings

from .indexes import HTML, JSON, Index, anchor, html_page, index, json_file, json_page, lay_index, quick_settings
from .snapshots import contents, snapshot
from .wheels import make_wheel, sha256

PAGE = "/simple/megatron-core/"
HINT = "a release that is in the cache already, or a clone given with --git REPO, needs no network"
A = "a" * 64


@pytest.fixture(autouse=True)
def quick_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("patchkit.trees.package_indexes.pip_settings", quick_settings)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of a few hundred bytes comes in many of them, as one of some MiB does."""
    monkeypatch.setattr(index_download, "_PIECE", 16)


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return make_wheel(tmp_path / "made")


def digest(wheel: Path) -> str:
    return sha256(wheel.read_bytes())


def fetch(cache: Path, wheel: Path, **options: object) -> Path:
    return fetch_wheel("megatron-core", "1.2", {wheel.name: digest(wheel)}, cache=cache, **options)  # type: ignore[arg-type]


def paths(server: Index) -> list[str]:
    return [path for path, _ in server.asked]


def test_a_wheel_comes_from_the_server_that_the_page_names_and_is_kept(
    tmp_path: Path, server: Index, wheel: Path
) -> None:
    server.serve_wheels(wheel)
    found = fetch(tmp_path / "cache", wheel)

    assert contents(tmp_path / "cache") == {f"wheels/{digest(wheel)}/{wheel.name}": wheel.read_bytes()}
    assert found == tmp_path / "cache" / "wheels" / digest(wheel) / wheel.name
    assert paths(server) == [PAGE, f"/files/{wheel.name}"]


def test_whoever_fetches_several_asks_pip_and_for_the_page_once(
    tmp_path: Path, server: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels = [make_wheel(tmp_path, tag=f"cp3{minor}-none-any") for minor in (10, 11, 12)]
    server.serve_wheels(*wheels)
    with PackageIndexes() as indexes:
        for wheel in wheels:
            fetch(tmp_path / "cache", wheel, indexes=indexes)
            # What pip would say now is of no interest.
            monkeypatch.setenv("PIP_NO_INDEX", "1")
        received = indexes.received

    assert paths(server) == [PAGE, *(f"/files/{wheel.name}" for wheel in wheels)]
    assert received == sum(wheel.stat().st_size for wheel in wheels)


@pytest.mark.parametrize("troubles", [[503], [0], [0, 502]])
def test_a_server_in_trouble_or_a_connection_that_breaks_is_asked_again_from_the_beginning(
    tmp_path: Path, server: Index, wheel: Path, troubles: list[int]
) -> None:
    server.serve_wheels(wheel)
    path = f"/files/{wheel.name}"
    server.claims[path] = wheel.stat().st_size
    server.troubles[path] = list(troubles)

    assert fetch(tmp_path / "cache", wheel).read_bytes() == wheel.read_bytes()
    assert paths(server) == [PAGE, *[path] * (len(troubles) + 1)]


def test_a_connection_that_breaks_each_time_is_told_as_that_and_leaves_nothing(
    tmp_path: Path, server: Index, wheel: Path
) -> None:
    server.serve_wheels(wheel)
    server.troubles[f"/files/{wheel.name}"] = [0, 0, 0]
    server.claims[f"/files/{wheel.name}"] = size = wheel.stat().st_size

    with pytest.raises(IndexUnavailableError) as caught:
        fetch(tmp_path / "cache", wheel)

    sizes = f"received {size // 2} bytes, expected {size}"
    broken = f"peer closed connection without sending complete message body ({sizes})"
    assert (caught.value.message, caught.value.hint) == (
        f"megatron-core 1.2 ({wheel.name}) is not to be had: cannot download {server.url}/files/{wheel.name}: {broken}",
        HINT,
    )
    assert snapshot(tmp_path / "cache") == {}


def test_a_file_that_the_index_names_and_does_not_have_is_told_with_its_place(
    tmp_path: Path, server: Index, wheel: Path
) -> None:
    server.serve_wheels(wheel)
    # What is behind the path may be a password.
    page = json_file(wheel.name, digest(wheel), url=f"http://me:secret@{server.url[7:]}/gone/{wheel.name}?token=secret")
    server.serve(PAGE, json_page(page), kind=JSON)

    with pytest.raises(IndexUnavailableError) as caught:
        fetch(tmp_path / "cache", wheel)

    place = f"http://***@{server.url[7:]}/gone/{wheel.name}"
    said = f"megatron-core 1.2 ({wheel.name}) is not to be had: cannot download {place}: HTTP 404 Not Found"
    assert caught.value.message == said
    assert snapshot(tmp_path / "cache") == {}


def test_a_file_that_one_index_does_not_have_comes_from_the_next(
    tmp_path: Path, server: Index, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.serve_wheels(wheel)
    server.serve(f"/files/{wheel.name}", b"", status=404)
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))

    assert fetch(tmp_path / "cache", wheel).read_bytes() == wheel.read_bytes()


def test_an_index_behind_one_that_has_the_file_is_not_asked(
    tmp_path: Path, server: Index, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.serve_wheels(wheel)
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{server.url}/other")
    fetch(tmp_path / "cache", wheel)

    assert paths(server) == [PAGE, f"/files/{wheel.name}"]


def test_other_bytes_than_those_recorded_are_refused_and_not_kept(tmp_path: Path, server: Index, wheel: Path) -> None:
    server.serve_wheels(wheel)
    server.serve(f"/files/{wheel.name}", b"tampered", kind="application/octet-stream")

    with pytest.raises(DigestMismatchError) as caught:
        fetch(tmp_path / "cache", wheel)

    digests = f"expected SHA-256 {digest(wheel)}, got {sha256(b'tampered')}"
    assert (caught.value.message, caught.value.hint) == (
        f"{wheel.name} from the package index is not the file that was recorded: {digests}",
        "do not use it before you know who changed it, the index or upstream",
    )
    assert snapshot(tmp_path / "cache") == {}


def test_a_file_that_the_index_has_with_another_digest_is_refused_unread(
    tmp_path: Path, server: Index, wheel: Path
) -> None:
    server.serve_wheels(wheel, page=json_page(json_file(wheel.name, A)))

    with pytest.raises(DigestMismatchError) as caught:
        fetch(tmp_path / "cache", wheel)

    assert caught.value.message == (
        f"{wheel.name} from the package index is not the file that was recorded: expected SHA-256 {digest(wheel)}, got "
        f"{A}"
    )
    assert paths(server) == [PAGE]


def test_the_file_with_the_recorded_digest_is_taken_whichever_index_has_it(
    tmp_path: Path, server: Index, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.serve_wheels(wheel, page=json_page(json_file(wheel.name, A)))
    extra = lay_index(tmp_path / "extra", html_page(anchor(wheel.name, digest(wheel))))
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", extra)
    (tmp_path / "files").symlink_to(wheel.parent)

    assert fetch(tmp_path / "cache", wheel).read_bytes() == wheel.read_bytes()
    assert paths(server) == [PAGE]


@pytest.mark.parametrize("told", ["", "#md5=00000000000000000000000000000000"])
def test_a_file_whose_sha256_the_index_does_not_tell_is_held_against_the_recorded_one(
    tmp_path: Path, server: Index, wheel: Path, told: str
) -> None:
    other = make_wheel(tmp_path, tag=f"cp3{sys.version_info.minor}-none-any")
    names = other.name, wheel.name
    server.serve_wheels(wheel, other)
    server.serve(PAGE, html_page(*(f'<a href="/files/{name}{told}">x</a>' for name in names)), kind=HTML)
    fetch(tmp_path / "cache", wheel)
    server.serve(f"/files/{wheel.name}", b"tampered")

    assert contents(tmp_path / "cache") == {f"wheels/{digest(wheel)}/{wheel.name}": wheel.read_bytes()}
    with pytest.raises(DigestMismatchError):
        fetch(tmp_path / "other", wheel)
    assert snapshot(tmp_path / "other") == {}


@pytest.mark.parametrize("is_claimed", [True, False])
def test_a_file_without_end_is_not_written_to_its_end(
    tmp_path: Path, server: Index, wheel: Path, is_claimed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.serve_wheels(wheel)
    if is_claimed:
        server.claims[f"/files/{wheel.name}"] = LARGEST_WHEEL + 1
    else:
        server.claims[f"/files/{wheel.name}"] = -1
        monkeypatch.setattr(index_download, "LARGEST_WHEEL", wheel.stat().st_size - 1)
    with pytest.raises(IndexUnavailableError) as caught:
        fetch(tmp_path / "cache", wheel)

    assert caught.value.message == (
        f"megatron-core 1.2 ({wheel.name}) is not to be had: cannot download {server.url}/files/{wheel.name}: it is "
        f"larger than {1024 if is_claimed else 0} MiB"
    )
    assert snapshot(tmp_path / "cache") == {}


def test_a_file_that_moved_is_followed(tmp_path: Path, server: Index, wheel: Path) -> None:
    server.serve_wheels(wheel)
    server.serve(f"/files/{wheel.name}", b"", kind=f"/else/{wheel.name}", status=302)
    server.serve(f"/else/{wheel.name}", wheel.read_bytes())

    assert fetch(tmp_path / "cache", wheel).read_bytes() == wheel.read_bytes()


def answered(request: httpx2.Request) -> httpx2.Response:
    if request.url.scheme == "https":
        return httpx2.Response(302, headers={"Location": f"http://plain.invalid/{request.url.path}"})
    return httpx2.Response(200, stream=httpx2.ByteStream(b"a"))


@pytest.fixture
def bare_redirects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers of https that all lead to one without."""
    monkeypatch.setattr(httpx2.HTTPTransport, "handle_request", lambda _, request: answered(request))


@pytest.mark.usefixtures("bare_redirects")
@pytest.mark.parametrize("trusted", [(), ("plain.invalid",)])
def test_a_way_out_of_https_is_gone_only_to_a_host_that_pip_trusts(tmp_path: Path, trusted: tuple[str, ...]) -> None:
    clients = Clients(PipSettings(index_url=None, trusted_hosts=trusted), [])
    file = IndexFile("a.whl", "1", "", "", "", None, "https://index.invalid/a.whl")

    def download() -> None:
        index_download.download(clients, file, tmp_path / "a.whl", sha256(b"a"), counted=lambda _: None)

    if trusted:
        download()
        assert (tmp_path / "a.whl").read_bytes() == b"a"
        return
    with pytest.raises(IndexUnavailableError) as caught:
        download()
    assert caught.value.message == (
        "cannot download https://index.invalid/a.whl: it leads from https to http://plain.invalid, which pip does not "
        "trust (trusted-host)"
    )
    assert (tmp_path / "a.whl").read_bytes() == b""


@pytest.mark.usefixtures("bare_redirects")
def test_a_page_of_an_index_does_not_lead_out_of_https_either(
    tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.invalid/simple")
    with pytest.raises(IndexUnavailableError) as caught:
        fetch(tmp_path / "cache", wheel)

    assert caught.value.message == (
        f"cannot reach the package index for megatron-core 1.2 ({wheel.name}): no answer from "
        "https://index.invalid/simple: it leads from https to http://plain.invalid, which pip does not trust "
        "(trusted-host)"
    )


def test_a_password_goes_to_the_host_of_its_index_and_to_no_other(
    tmp_path: Path, server: Index, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with index() as elsewhere:
        elsewhere.serve_wheels(wheel)
        server.serve_wheels(wheel)
        beside = json_file(wheel.name, digest(wheel))
        far = json_file(wheel.name, digest(wheel), url=f"{elsewhere.url}/files/{wheel.name}")
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url.replace('//', '//me:secret@')}/simple")
        for file in (beside, far):
            server.serve(PAGE, json_page(file), kind=JSON)
            fetch(tmp_path / str(file["url"] == far["url"]), wheel)

        given = f"Basic {base64.b64encode(b'me:secret').decode()}"
        assert server.asked == [(PAGE, given), (f"/files/{wheel.name}", given), (PAGE, given)]
        assert elsewhere.asked == [(f"/files/{wheel.name}", None)]


@pytest.mark.parametrize("what", ["pipe", "folder"])
def test_what_is_no_file_in_a_folder_of_links_is_refused(
    tmp_path: Path, wheel: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", lay_index(tmp_path / "index", html_page(anchor(wheel.name, digest(wheel)))))
    place = tmp_path / "index" / "megatron-core" / ".." / ".." / "files" / wheel.name
    (tmp_path / "files").mkdir()
    if what == "pipe":
        os.mkfifo(place)
    else:
        place.mkdir()
    with pytest.raises(IndexUnavailableError) as caught:
        fetch(tmp_path / "cache", wheel)

    kind = "a named pipe" if what == "pipe" else "a folder"
    assert caught.value.message == (
        f"megatron-core 1.2 ({wheel.name}) is not to be had: cannot download file://{tmp_path}/files/{wheel.name}: it "
        f"is no regular file but {kind}"
    )


@contextmanager
def small_disk() -> Iterator[None]:
    """No file may have more than 100 bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_without_room_is_a_write_failure_and_leaves_nothing(tmp_path: Path, server: Index, wheel: Path) -> None:
    server.serve_wheels(wheel)
    with small_disk(), pytest.raises(WriteFailedError) as caught:
        fetch(tmp_path / "cache", wheel)

    assert caught.value.message == f"cannot keep {wheel.name} in {tmp_path}/cache: File too large"
    assert snapshot(tmp_path / "cache") == {}


def test_a_download_that_is_given_up_ends(tmp_path: Path, server: Index, wheel: Path) -> None:
    server.serve_wheels(wheel)
    with PackageIndexes() as indexes:
        indexes.give_up()
        with pytest.raises(IndexUnavailableError):
            fetch(tmp_path / "cache", wheel, indexes=indexes)
    assert snapshot(tmp_path / "cache") == {}
