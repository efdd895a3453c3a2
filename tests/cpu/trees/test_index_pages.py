"""An index is asked each time; what is kept of a page is taken only where it is still the same."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from patchkit.errors import IndexUnavailableError
from patchkit.store.cache import ContentCache
from patchkit.trees import index_reading, index_session
from patchkit.trees.index_listing import Listing, list_releases
from patchkit.trees.index_pages import IndexFile
from patchkit.trees.package_indexes import PackageIndexes

from .indexes import JSON, Index, json_file, json_page, quick_settings

PAGE = "/simple/megatron-core/"
A, B = "a" * 64, "b" * 64


@pytest.fixture(autouse=True)
def quick_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("patchkit.trees.package_indexes.pip_settings", quick_settings)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were read in pages."""
    names: list[str] = []

    def note(*told: str) -> IndexFile:
        names.append(told[0])
        return IndexFile(*told)

    monkeypatch.setattr(index_reading, "IndexFile", note)
    return names


def name(version: str) -> str:
    return f"megatron_core-{version}-py3-none-any.whl"


def serve(server: Index, *versions: str, etag: str | None = None, digest: str = A) -> None:
    server.serve(PAGE, json_page(*(json_file(name(version), digest) for version in versions)), kind=JSON)
    if etag is not None:
        server.etags[PAGE] = etag


def listed(cache: Path) -> Listing:
    with PackageIndexes(ContentCache(cache)) as indexes:
        return list_releases("megatron-core", indexes=indexes)


def versions(listing: Listing) -> list[str]:
    return [release.version for release in listing.releases]


@pytest.mark.parametrize(("etag", "sent"), [(None, [200, 200]), ('"1"', [200, 304]), ('W/"1"', [200, 304])])
def test_a_page_that_is_still_the_same_is_not_read_again_and_with_an_etag_not_sent(
    tmp_path: Path, server: Index, read: list[str], etag: str | None, sent: list[int]
) -> None:
    serve(server, "1.0", "1.1", etag=etag)
    first = listed(tmp_path)
    assert sorted(read) == [name("1.0"), name("1.1")]
    read.clear()

    assert listed(tmp_path) == first
    assert (read, server.sent) == ([], sent)


@pytest.mark.parametrize("etags", [(None, None), ('"1"', '"2"'), ('"1"', None)])
def test_a_page_that_changed_is_read_and_then_kept(
    tmp_path: Path, server: Index, read: list[str], etags: tuple[str | None, str | None]
) -> None:
    serve(server, "1.0", etag=etags[0])
    assert versions(listed(tmp_path)) == ["1.0"]
    server.etags.clear()
    serve(server, "1.0", "1.1", etag=etags[1])

    assert versions(listed(tmp_path)) == ["1.0", "1.1"]
    read.clear()
    assert versions(listed(tmp_path)) == ["1.0", "1.1"]
    assert read == []


def test_a_page_that_moved_under_the_old_name_of_its_state_is_not_the_old_one(tmp_path: Path, server: Index) -> None:
    serve(server, "1.0", etag='"1"')
    listed(tmp_path)
    server.serve(PAGE, b"", kind="/elsewhere/", status=301)
    del server.etags[PAGE]
    server.serve("/elsewhere/", json_page(json_file(name("2.0"), B)), kind=JSON)
    server.etags["/elsewhere/"] = '"1"'

    assert versions(listed(tmp_path)) == ["2.0"]
    assert server.sent == [200, 301, 304, 301, 200]


def test_an_index_that_gives_no_answer_now_is_told_whatever_is_kept(tmp_path: Path, server: Index) -> None:
    serve(server, "1.0")
    listed(tmp_path)
    server.serve(PAGE, b"", status=503)

    with pytest.raises(IndexUnavailableError) as caught:
        listed(tmp_path)
    assert caught.value.message == (
        f"no package index has megatron-core: no answer from {server.url}/simple: HTTP 503 Service Unavailable"
    )


def test_a_kept_page_that_is_damaged_or_of_another_reader_is_read_again(
    tmp_path: Path, server: Index, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(server, "1.0", etag='"1"')
    first = listed(tmp_path)
    (kept,) = (tmp_path / "pages").iterdir()
    kept.write_bytes(b"damaged")
    read.clear()
    assert (listed(tmp_path), read) == (first, [name("1.0")])
    read.clear()
    monkeypatch.setattr(index_session, "_reader", lambda: "another")

    assert (listed(tmp_path), read, server.sent) == (first, [name("1.0")], [200, 200, 200])


@pytest.mark.parametrize("etag", ['"\xe9"', '"\x01"', '"a\tb"', f'"{"x" * 600}"'])
def test_an_etag_that_cannot_be_sent_back_is_neither_kept_nor_sent(tmp_path: Path, server: Index, etag: str) -> None:
    serve(server, "1.0", etag=etag)
    first = listed(tmp_path)
    (kept,) = (tmp_path / "pages").iterdir()

    assert msgspec.msgpack.decode(kept.read_bytes())["etag"] == ""
    assert (listed(tmp_path), server.sent) == (first, [200, 200])


@pytest.mark.parametrize(
    ("of", "value"),
    [
        ("etag", "x\r\nHost: evil"),
        ("etag", "\u2603"),
        ("version", "garbage"),
        ("version", "9" * 5000),
        ("name", "../../x.whl"),
        ("sha256", "../../x"),
        ("date", "\x1b[31m"),
        ("url", "file:///etc/passwd"),
        ("url", "http://[bad"),
    ],
)
def test_a_kept_page_that_says_what_none_can_is_read_anew(
    tmp_path: Path, server: Index, read: list[str], of: str, value: str
) -> None:
    serve(server, "1.0", etag='"1"')
    first = listed(tmp_path)
    (kept,) = (tmp_path / "pages").iterdir()
    page = msgspec.msgpack.decode(kept.read_bytes())
    (page if of == "etag" else page["files"][0])[of] = value
    kept.write_bytes(msgspec.msgpack.encode(page))
    read.clear()

    assert (listed(tmp_path), read, server.sent) == (first, [name("1.0")], [200, 200])


def test_no_password_is_kept(tmp_path: Path, server: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(server, "1.0")
    monkeypatch.setenv("PIP_INDEX_URL", f"{server.url.replace('//', '//me:secret@')}/simple")
    listed(tmp_path)
    (kept,) = (tmp_path / "pages").iterdir()
    assert b"secret" not in kept.read_bytes()
    kept.unlink()
    url = f"https://me:secret@files.invalid/{name('1.0')}"
    server.serve(PAGE, json_page(json_file(name("1.0"), A, url=url)), kind=JSON)
    listed(tmp_path)

    assert list((tmp_path / "pages").iterdir()) == []


def test_a_process_that_was_forked_off_asks_over_connections_of_its_own(tmp_path: Path, server: Index) -> None:
    serve(server, "1.0")
    with PackageIndexes() as indexes:
        before = indexes.sources()[0]
        indexes.files(before, "megatron-core")
        child = os.fork()
        if child == 0:
            # As little as can be: what is wrong here is told by the status.
            own = indexes.sources()[0]
            os._exit(0 if own is not before and len(indexes.files(own, "megatron-core")) == 1 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert indexes.sources()[0] is before
    assert [path for path, _ in server.asked] == [PAGE, PAGE]
