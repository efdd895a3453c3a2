"""An index that lies: nothing of this machine is read for it, it is held to bounds, and what it says is told."""

from __future__ import annotations

import gzip
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from patchkit.errors import IndexUnavailableError, UsageError
from patchkit.trees.index import fetch_wheel
from patchkit.trees.index_client import Clients
from patchkit.trees.index_listing import Listing, list_releases

from .indexes import HTML, JSON, Index, anchor, html_page, json_file, json_page, lay_index, quick_settings
from .reporters import Told
from .wheels import make_wheel, sha256

PAGE = "/simple/megatron-core/"
A = "a" * 64
MIB = 1 << 20


@pytest.fixture(autouse=True)
def quick_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("patchkit.trees.package_indexes.pip_settings", quick_settings)


def name(version: str) -> str:
    return f"megatron_core-{version}-py3-none-any.whl"


def told(reporter: Told) -> list[str]:
    return [line.removeprefix("note: ") for line in reporter.lines if line.startswith("note: ")]


def link(url: str) -> str:
    return f'<a href="{url}">x</a>'


def versions(listing: Listing) -> list[str]:
    return [release.version for release in listing.releases]


def problem(server: Index) -> str:
    """What is said of the one index, which gives no answer."""
    with pytest.raises(IndexUnavailableError) as caught:
        list_releases("megatron-core")
    begin = f"no package index has megatron-core: no answer from {server.url}/simple: "
    assert caught.value.message.startswith(begin)
    return caught.value.message.removeprefix(begin)


@pytest.mark.parametrize("host", ["", "localhost"])
def test_a_page_does_not_lead_to_a_file_of_this_machine(tmp_path: Path, server: Index, host: str) -> None:
    page = tmp_path / "page.html"
    page.write_bytes(html_page(link(f"{server.url}/{name('1.0')}#sha256={A}")))
    server.serve(PAGE, b"", kind=f"file://{host}{page}", status=302)

    assert problem(server) == (f"it leads to file://{host}{page}, which is not followed: it is neither http nor https")


def test_a_file_does_not_lead_to_one_of_this_machine(tmp_path: Path, server: Index) -> None:
    wheel = make_wheel(tmp_path / "made")
    server.serve_wheels(wheel)
    server.serve(f"/files/{wheel.name}", b"", kind=f"file://localhost{wheel}", status=302)
    with pytest.raises(IndexUnavailableError) as caught:
        fetch_wheel("megatron-core", "1.2", {wheel.name: sha256(wheel.read_bytes())}, cache=tmp_path / "cache")

    assert caught.value.message == (
        f"megatron-core 1.2 ({wheel.name}) is not to be had: cannot download {server.url}/files/{wheel.name}: it leads "
        f"to file://localhost{wheel}, which is not followed: it is neither http nor https"
    )


@pytest.mark.parametrize("base", ["", '<base href="file:///tmp/">'])
def test_a_link_of_a_server_to_a_file_is_left_out_and_one_of_a_folder_is_not(
    tmp_path: Path, server: Index, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_wheel(tmp_path / "made", "1.0")
    to = made.as_uri() if not base else made.name
    server.serve(PAGE, html_page(base, link(to), link(f"{server.url}/{name('2.0')}#sha256={A}")), kind=HTML)
    notes = Told()
    listing = list_releases("megatron-core", reporter=notes)
    assert (versions(listing), listing.complete, told(notes)) == (
        ["2.0"],
        True,
        [f"left out of what {server.url}/simple has: {to} (it is neither http nor https)"],
    )
    monkeypatch.setenv("PIP_INDEX_URL", lay_index(tmp_path / "index", html_page(link(made.as_uri()))))

    assert versions(list_releases("megatron-core")) == ["1.0"]


BAD_LINKS = {
    f"http://[::1/{name('1.0')}": "it is no URL",
    f"http://host:abc/{name('1.0')}": "its port is none",
    f"http://{'a' * 300}/{name('1.0')}": "its host has a longer name than there can be",
    f"file://other/{name('1.0')}": "it is neither http nor https",
    f"javascript:/{name('1.0')}": "it is neither http nor https",
    f"http://host/a\x1bb/{name('1.0')}": "it has control characters",
    f"/{name('1.0')}#sha256=zz": "its SHA-256 is none",
    f"/{name('9' * 300)}": "it has a name that no wheel has",
    "/megatron_core-%1b-py3-none-any.whl": "it has a name that no wheel has",
    "/megatron_core-1.0-any.whl": "it has a name that no wheel has",
}


@pytest.mark.parametrize("url", BAD_LINKS)
def test_one_link_that_cannot_be_taken_does_not_hide_the_others_and_is_told(server: Index, url: str) -> None:
    server.serve(PAGE, html_page(link(url), anchor(name("2.0"), A)))
    notes = Told()

    assert versions(list_releases("megatron-core", reporter=notes)) == ["2.0"]
    shown = url.partition("#sha")[0][:255]
    assert told(notes) == [f"left out of what {server.url}/simple has: {shown} ({BAD_LINKS[url]})"]


def test_a_json_page_is_read_as_far_as_it_can_be_and_no_more_than_three_links_are_told(server: Index) -> None:
    bad: list[dict[str, object]] = [{"filename": name("1.0")}]
    bad += [json_file(name(f"1.{minor}"), A, upload_time="soon") for minor in range(4)]
    server.serve(PAGE, json_page(*bad, json_file(name("2.0"), A)), kind=JSON)
    notes = Told()
    listing = list_releases("megatron-core", reporter=notes)

    shown = [
        f"{name('1.0')} (it has no URL)",
        *(f"../../files/{name(f'1.{minor}')} (its upload-time is none)" for minor in range(2)),
    ]
    assert versions(listing) == ["2.0"]
    assert told(notes) == [f"left out of what {server.url}/simple has: {', '.join(shown)} and 2 more"]


def test_a_wheel_that_is_not_offered_is_told_with_the_link_that_was_left_out(tmp_path: Path, server: Index) -> None:
    server.serve(PAGE, html_page(link(f"file:///{name('1.2')}")))
    with pytest.raises(IndexUnavailableError) as caught:
        fetch_wheel("megatron-core", "1.2", {name("1.2"): A}, cache=tmp_path / "cache")

    assert caught.value.message == (
        f"the package index does not have megatron-core 1.2 ({name('1.2')}): {server.url}/simple (left out: "
        f"file:///{name('1.2')} (it is neither http nor https)) answered without it"
    )


@pytest.mark.parametrize("is_packed", [True, False])
def test_a_page_without_end_is_not_read_to_its_end(server: Index, is_packed: bool) -> None:
    body = html_page(" " * (64 * MIB))
    server.serve(PAGE, gzip.compress(body) if is_packed else body)
    server.headers[PAGE] = {"Content-Encoding": "gzip"} if is_packed else {}

    assert problem(server) == "it is larger than 64 MiB"


def test_a_packed_page_of_many_pieces_is_unpacked(server: Index) -> None:
    body = html_page(anchor(name("1.0"), A), os.urandom(MIB).hex(), anchor(name("2.0"), A))
    server.serve(PAGE, gzip.compress(body))
    server.headers[PAGE] = {"Content-Encoding": "gzip"}

    assert versions(list_releases("megatron-core")) == ["1.0", "2.0"]


@pytest.mark.parametrize(
    ("packing", "said"),
    [
        ("gzip, gzip", "it is packed as gzip, gzip, which was not asked for"),
        ("zstd", "it is packed as zstd, which was not asked for"),
        ("gzip", "its answer cannot be unpacked (Error -3 while decompressing data: incorrect header check)"),
    ],
)
def test_a_page_is_unpacked_once_and_only_as_was_asked_for(server: Index, packing: str, said: str) -> None:
    server.serve(PAGE, html_page(anchor(name("1.0"), A)))
    server.headers[PAGE] = {"Content-Encoding": packing}

    assert problem(server) == said


def test_a_page_that_is_cut_in_its_packing_is_not_half_a_page(server: Index) -> None:
    server.serve(PAGE, gzip.compress(html_page(anchor(name("1.0"), A)))[:-9])
    server.headers[PAGE] = {"Content-Encoding": "gzip"}

    assert problem(server) == "its answer ends before its packing does"


@pytest.mark.parametrize("status", [301, 401, 404, 503])
def test_what_comes_with_a_redirect_or_an_error_is_not_read(server: Index, status: int) -> None:
    server.serve(PAGE, b"short", kind="/elsewhere/" if status == 301 else HTML, status=status)
    server.claims[PAGE] = 1 << 40
    server.serve("/elsewhere/", html_page(anchor(name("1.0"), A)))
    if status == 301:
        assert versions(list_releases("megatron-core")) == ["1.0"]
    elif status == 404:
        with pytest.raises(IndexUnavailableError, match="answered without it"):
            list_releases("megatron-core")
    else:
        words = {401: "Unauthorized", 503: "Service Unavailable"}
        assert problem(server) == f"HTTP {status} {words[status]}"


def test_more_wheels_than_a_distribution_has_are_refused(server: Index) -> None:
    server.serve(PAGE, html_page(*(anchor(name(f"1.{minor}"), A) for minor in range(20_001))))

    assert problem(server) == "it names more than 20000 wheels of megatron-core"


@pytest.mark.parametrize(("kind", "mark", "what"), [(HTML, "<", "tags"), (JSON, "[", "lists and objects")])
def test_a_page_that_takes_long_to_read_is_refused_unread(server: Index, kind: str, mark: str, what: str) -> None:
    server.serve(PAGE, mark.encode() * 500_001, kind=kind)

    assert problem(server) == f"it has more than 500000 {what}"


@pytest.mark.parametrize("charset", ["utf-16", "punycode", "hex", "nonsense"])
def test_letters_are_read_as_utf_8_whatever_a_server_says(server: Index, charset: str) -> None:
    server.serve(PAGE, b"\xff" + html_page(anchor(name("1.0"), A)), kind=f"text/html; charset={charset}")

    assert versions(list_releases("megatron-core")) == ["1.0"]


@pytest.mark.parametrize("what", ["pipe", "device", "huge"])
def test_a_page_of_links_that_is_no_page_is_told_and_does_not_hide_the_wheels_beside_it(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_wheel(tmp_path / "links", "1.0")
    page = made.parent / "a.html"
    said = odd_page(page, what)
    monkeypatch.setenv("PIP_FIND_LINKS", str(made.parent))
    notes = Told()

    assert versions(list_releases("megatron-core", reporter=notes)) == ["1.0"]
    assert told(notes) == [f"left out of what {made.parent} has: {page} ({said})"]
    monkeypatch.setenv("PIP_FIND_LINKS", str(page))
    with pytest.raises(IndexUnavailableError) as caught:
        list_releases("megatron-core")
    assert caught.value.message == (
        f"no package index has megatron-core: no answer from {page}: {page} cannot be read: {said}"
    )


def odd_page(page: Path, what: str) -> str:
    """Make a page that cannot be one; return what is said of it."""
    if what == "pipe":
        os.mkfifo(page)
        return "it is no regular file but a named pipe"
    if what == "device":
        page.symlink_to("/dev/zero")
        return "it is no regular file but a device"
    page.touch()
    os.truncate(page, 65 * MIB)
    return "it is larger than 64 MiB"


def test_a_wheel_in_a_folder_of_links_that_is_a_pipe_is_told_and_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_wheel(tmp_path, "1.0")
    os.mkfifo(tmp_path / name("2.0"))
    (tmp_path / name("3.0")).touch()
    os.truncate(tmp_path / name("3.0"), 1025 * MIB)
    monkeypatch.setenv("PIP_FIND_LINKS", str(made.parent))
    notes = Told()
    listing = list_releases("megatron-core", reporter=notes)

    odd = f"{tmp_path}/{name('2.0')} (it is no regular file but a named pipe)"
    assert versions(listing) == ["1.0"]
    assert told(notes) == [
        f"left out of what {tmp_path} has: {odd}, {tmp_path}/{name('3.0')} (it is larger than 1024 MiB)"
    ]


SETTINGS: Mapping[tuple[str, str], str] = {
    ("index-url", "http://[bad"): "'http://[bad' cannot be asked: it is no URL",
    ("index-url", "http://me:secret@[bad"): "'http://***@[bad' cannot be asked: it is no URL",
    ("index-url", "http://me:se/cret@host:x/"): "'http://***@host:x/' cannot be asked: its port is none",
    ("extra-index-url", f"http://{'a' * 64}.b/"): (
        f"'http://{'a' * 64}.b/' cannot be asked: its host has a longer name than there can be"
    ),
    ("extra-index-url", "ftp://host/x?token=secret"): "'ftp://host/x' cannot be asked: it is neither http nor https",
    ("find-links", "file://host/x"): "'file://host/x' cannot be asked: it is a file of another machine, host",
    ("find-links", "file:///x%00y"): "'file:///x%00y' cannot be asked: it has a NUL",
    ("find-links", "~nosuchuser/wheels"): "'~nosuchuser/wheels' is no folder: Could not determine home directory.",
}


@pytest.mark.parametrize(("setting", "place"), SETTINGS)
def test_a_setting_that_cannot_be_asked_is_an_error_that_names_it_and_no_index_without_an_answer(
    server: Index, setting: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.serve(PAGE, json_page(json_file(name("1.0"), A)), kind=JSON)
    monkeypatch.setenv(f"PIP_{setting.upper().replace('-', '_')}", place)
    with pytest.raises(UsageError) as caught:
        list_releases("megatron-core")

    said = SETTINGS[setting, place]
    assert (caught.value.message, caught.value.hint) == (
        f"pip's {setting} {said}",
        "correct what `pip config list` says",
    )


@pytest.mark.parametrize("of_pip", [True, False])
def test_a_proxy_that_cannot_be_asked_is_an_error_that_says_whose_it_is(
    server: Index, of_pip: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = "ftp://me:secret@host" if of_pip else "ftp://host"
    settings = replace(quick_settings(), proxy=proxy if of_pip else None)
    monkeypatch.setattr("patchkit.trees.package_indexes.pip_settings", lambda **_: settings)
    if not of_pip:
        monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(UsageError) as caught:
        list_releases("megatron-core")

    environment = "a proxy of the environment (http_proxy, https_proxy, all_proxy) cannot be asked"
    assert caught.value.message == (
        "pip's proxy 'ftp://***@host' cannot be asked: it is neither http nor https"
        if of_pip
        else f"{environment}: Unknown scheme for proxy URL URL('ftp://host')"
    )


def test_a_fault_of_our_own_is_not_taken_for_an_index_that_gives_no_answer(
    server: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("a mistake")

    server.serve(PAGE, json_page(json_file(name("1.0"), A)), kind=JSON)
    monkeypatch.setattr(Clients, "of", fail)

    with pytest.raises(ValueError, match="a mistake"):
        list_releases("megatron-core")


def test_neither_a_password_nor_a_query_of_a_place_is_told_and_the_one_that_failed_is(
    server: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/links?token=secret")
    server.serve("/links?token=secret/megatron-core/", b"", kind="http://me:secret@127.0.0.1:1/x?secret", status=302)
    with pytest.raises(IndexUnavailableError) as caught:
        list_releases("megatron-core")

    assert caught.value.message == (
        f"no package index has megatron-core: no answer from {server.url}/links: http://***@127.0.0.1:1/x, where it "
        "leads to: [Errno 111] Connection refused"
    )


@pytest.mark.parametrize("status", [200, 401, 403])
def test_the_words_of_a_server_do_not_come_over_a_log(
    server: Index, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    server.serve(PAGE, b"", kind="x\x1b[31m", status=status)
    problem(server)

    assert [record for record in caplog.records if record.name.startswith("unearth")] == []
