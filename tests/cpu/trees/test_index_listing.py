from __future__ import annotations

import base64
import sys
from pathlib import Path

import pytest

from patchkit.errors import IndexUnavailableError
from patchkit.trees.index_listing import ListedRelease, Listing, list_releases

from .indexes import HTML, JSON, Index, anchor, html_page, json_file, json_page, lay_index
from .wheels import make_wheel, sha256

A, B, C = "a" * 64, "b" * 64, "c" * 64
PAGE = "/simple/megatron-core/"


def wheel(version: str, tag: str = "py3-none-any") -> str:
    return f"megatron_core-{version}-{tag}.whl"


def release(version: str, *digests: str, **told: object) -> ListedRelease:
    files = dict(zip((wheel(version), wheel(version, "cp312-cp312-win_amd64")), digests, strict=False))
    return ListedRelease(version=version, files=files, **told)  # type: ignore[arg-type]


def test_a_json_index_tells_everything_of_each_release_in_the_order_of_versions(server: Index) -> None:
    late, early = "2026-01-02T23:30:00.500000-01:00", "2026-01-02T23:59:59Z"
    server.serve(
        PAGE,
        json_page(
            json_file(wheel("0.10.0"), A, upload_time=late, requires_python=">=3.10", yanked=False),
            json_file(wheel("0.9.0rc1"), B, yanked="wrong\n version"),
            json_file(wheel("0.9.0.dev3"), B, yanked=True),
            json_file(wheel("0.9.0"), A, upload_time=late),
            json_file(wheel("0.9.0", "cp312-cp312-win_amd64"), C, upload_time=early),
        ),
        kind=JSON,
    )

    assert list_releases("Megatron_Core") == Listing(
        (
            release("0.9.0.dev3", B, yanked="no reason given", pre_release=True, dev=True),
            release("0.9.0rc1", B, yanked="wrong version", pre_release=True),
            release("0.9.0", A, C, date="2026-01-02"),
            release("0.10.0", A, date="2026-01-03", python=">=3.10"),
        )
    )
    assert server.asked == [(PAGE, None)]


def test_an_html_index_tells_all_but_the_dates(server: Index) -> None:
    requires = 'data-requires-python="&gt;=3.12"'
    server.serve(
        PAGE,
        html_page(
            anchor(wheel("1.0"), A, requires), anchor(wheel("1.1"), B, 'data-yanked=""'), anchor(wheel("1.2"), C)
        ),
    )

    assert list_releases("megatron-core").releases == (
        release("1.0", A, python=">=3.12"),
        release("1.1", B, yanked="no reason given"),
        release("1.2", C),
    )


def test_what_is_no_wheel_of_an_upstream_release_is_left_out(server: Index) -> None:
    names = ("megatron_core-2.0.tar.gz", wheel("1.0+mine"), wheel("1!1.0"), "megatron_core_more-1.0-py3-none-any.whl")
    files = [json_file(name, A) for name in (*names, "megatron_core-x-py3-none-any.whl", wheel("1.0"))]
    server.serve(PAGE, json_page(*files), kind=JSON)

    assert list_releases("megatron-core").releases == (release("1.0", A),)


def test_a_release_is_yanked_when_all_of_its_wheels_are(server: Index) -> None:
    other = "cp312-cp312-win_amd64"
    server.serve(
        PAGE,
        json_page(
            json_file(wheel("1.0"), A, yanked="bad build"),
            json_file(wheel("1.0", other), B),
            json_file(wheel("1.1"), A, yanked="bad"),
            json_file(wheel("1.1", other), B, yanked="bad"),
        ),
        kind=JSON,
    )

    assert list_releases("megatron-core").releases == (release("1.0", A, B), release("1.1", A, B, yanked="bad"))


def test_a_wheel_without_a_digest_is_no_file_that_can_be_recorded(server: Index) -> None:
    server.serve(PAGE, json_page(json_file(wheel("1.0"), None)), kind=JSON)

    assert list_releases("megatron-core").releases == (release("1.0"),)


def test_extra_indexes_and_links_are_asked_too_and_say_nothing_of_yanking(
    server: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_wheel(tmp_path / "links", "1.0")
    digest = sha256(made.read_bytes())
    server.serve(PAGE, json_page(json_file(wheel("1.0"), digest, yanked="bad")), kind=JSON)
    extra = lay_index(tmp_path / "more index", html_page(anchor(wheel("1.1"), B)))
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{extra}/ {(tmp_path / 'empty').as_uri()}")
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))

    listing = list_releases("megatron-core")
    assert listing == Listing((release("1.0", digest, yanked="bad"), release("1.1", B)))


def test_an_index_in_a_folder_is_taken_by_its_path_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_index(tmp_path / "index", html_page(anchor(wheel("1.0"), A)))
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", str(tmp_path / "index"))

    assert list_releases("megatron-core") == Listing((release("1.0", A),))


def test_without_an_index_the_links_alone_are_asked(
    server: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_wheel(tmp_path, "1.0")
    monkeypatch.setenv("PIP_NO_INDEX", "yes")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))

    assert list_releases("megatron-core") == Listing((release("1.0", sha256(made.read_bytes())),), complete=False)
    assert server.asked == []


def test_settings_of_pips_files_count_those_of_download_before_those_of_all(
    server: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.serve(PAGE, json_page(json_file(wheel("1.0"), A)), kind=JSON)
    settings = tmp_path / "pip.conf"
    elsewhere = "[global]\nindex-url = http://127.0.0.1:1/\nquiet = 3\nverbose = 2\n[install]\nno-index = true\n"
    settings.write_text(f"{elsewhere}[download]\nindex-url = {server.url}/simple\n")
    monkeypatch.delenv("PIP_INDEX_URL")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))

    assert list_releases("megatron-core") == Listing((release("1.0", A),))


def test_the_password_of_a_setting_is_given_to_the_index_and_told_to_nobody(
    server: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_password = f"{server.url.replace('//', '//me:secret@')}/simple"
    server.serve(PAGE, b"", status=403)
    monkeypatch.setenv("PIP_INDEX_URL", with_password)

    with pytest.raises(IndexUnavailableError) as caught:
        list_releases("megatron-core")

    shown = f"{server.url.replace('//', '//***@')}/simple"
    assert caught.value.message == (f"no package index has megatron-core: no answer from {shown}: HTTP 403 Forbidden")
    assert server.asked == [(PAGE, f"Basic {base64.b64encode(b'me:secret').decode()}")]


def test_nobody_is_asked_for_a_password(server: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_KEYRING_PROVIDER", "disabled")
    server.serve(PAGE, b"", status=401)

    with pytest.raises(IndexUnavailableError) as caught:
        list_releases("megatron-core")
    assert caught.value.message.endswith("/simple: HTTP 401 Unauthorized")


def test_one_broken_index_does_not_hide_the_others_but_is_told(
    server: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.serve(PAGE, json_page(json_file(wheel("1.0"), A)), kind=JSON)
    server.serve("/broken/megatron-core/", b"", status=503)
    server.serve("/login/megatron-core/", b"{}", kind="application/json")
    server.serve("/torn/megatron-core/", b'{"files": [', kind=JSON)
    server.serve("/odd/megatron-core/", b"[1]", kind=JSON)
    names = ("broken", "login", "torn", "odd", "absent")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", " ".join([*(f"{server.url}/{name}" for name in names), "file:///no/1"]))
    monkeypatch.setenv("PIP_FIND_LINKS", f"{tmp_path}/none {server.url}/absent.html")
    unreadable, torn = "its answer cannot be read", "Expecting value: line 1 column 12 (char 11)"

    assert list_releases("megatron-core") == Listing(
        (release("1.0", A),),
        (
            f"no answer from {server.url}/broken: HTTP 503 Service Unavailable",
            f"no answer from {server.url}/login: it gives application/json, which is no page of an index",
            f"no answer from {server.url}/torn: {unreadable} (JSONDecodeError: {torn})",
            f"no answer from {server.url}/odd: {unreadable} (it has no list of files)",
            # One that has nothing of the name has answered.
            "no answer from file:///no/1: there is no such file or folder",
            f"no answer from {tmp_path}/none: there is no such file or folder",
            f"no answer from {server.url}/absent.html: HTTP 404 Not Found",
        ),
        complete=False,
    )
    assert [path for path, _ in server.asked].count("/broken/megatron-core/") == 3


def test_an_answer_that_is_nested_without_end_cannot_be_read(server: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    server.serve(PAGE, json_page(json_file(wheel("1.0"), A)), kind=JSON)
    server.serve("/deep/megatron-core/", b"[" * 100_000, kind=JSON)
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{server.url}/deep")
    found = list_releases("megatron-core")

    assert found.releases == (release("1.0", A),)
    assert found.problems[0].startswith(
        f"no answer from {server.url}/deep: its answer cannot be read (RecursionError: "
    )


def test_an_index_that_moved_is_followed(server: Index) -> None:
    server.serve(PAGE, b"", kind="/elsewhere/", status=301)
    server.serve("/elsewhere/", json_page(json_file(wheel("1.0"), A)), kind=JSON)

    assert list_releases("megatron-core") == Listing((release("1.0", A),))


def test_two_indexes_with_other_bytes_under_one_name_contradict_each_other_and_the_first_counts(
    server: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.serve(PAGE, json_page(json_file(wheel("1.0"), A)), kind=JSON)
    extra = lay_index(tmp_path, html_page(anchor(wheel("1.0"), B)))
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", extra)

    assert list_releases("megatron-core") == Listing(
        (release("1.0", A),), (), (f"{wheel('1.0')} has SHA-256 {B} at {extra}, and {A} at an index before it",)
    )


@pytest.mark.parametrize("kind", [HTML, JSON])
def test_no_index_that_has_it_is_an_error_and_no_empty_list(server: Index, kind: str) -> None:
    server.serve(PAGE, json_page() if kind == JSON else html_page(), kind=kind)

    with pytest.raises(IndexUnavailableError) as caught:
        list_releases("megatron-core")

    assert caught.value.message == f"no package index has megatron-core: {server.url}/simple answered without it"
    assert caught.value.hint == (
        "pip's index-url, extra-index-url and find-links say where to look; --git REPO needs no network"
    )


def test_no_network_is_an_error_that_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setattr("patchkit.trees.index_client._PAUSE", 0)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")

    with pytest.raises(IndexUnavailableError) as caught:
        list_releases("megatron-core")
    assert caught.value.message == (
        "no package index has megatron-core: no answer from http://127.0.0.1:1/simple: [Errno 111] Connection refused"
    )


def test_pips_proxy_is_asked_instead(server: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    server.serve(f"http://index.invalid{PAGE}", json_page(json_file(wheel("1.0"), A)), kind=JSON)
    monkeypatch.setenv("PIP_INDEX_URL", "http://index.invalid/simple")
    monkeypatch.setenv("PIP_PROXY", server.url.removeprefix("http://"))
    monkeypatch.setenv("PIP_TRUSTED_HOST", "index.invalid")

    assert list_releases("megatron-core") == Listing((release("1.0", A),))


def test_an_index_without_https_is_asked_only_if_pip_trusts_it(server: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://index.invalid/simple")
    monkeypatch.setenv("PIP_PROXY", server.url)

    with pytest.raises(IndexUnavailableError) as caught:
        list_releases("megatron-core")
    assert caught.value.message == (
        "no package index has megatron-core: no answer from http://index.invalid/simple: pip does not trust it "
        "(trusted-host), for it is no https"
    )
    assert server.asked == []


def test_certificates_that_are_not_there_are_a_reason(
    server: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.serve(PAGE, json_page(json_file(wheel("1.0"), A)), kind=JSON)
    monkeypatch.setenv("PIP_CERT", str(tmp_path / "none.pem"))

    with pytest.raises(IndexUnavailableError) as caught:
        list_releases("megatron-core")
    assert caught.value.message.endswith("/simple: [Errno 2] No such file or directory")


def test_a_pip_that_cannot_be_asked_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "python: No module named pip" >&2\nexit 1\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))

    with pytest.raises(IndexUnavailableError) as caught:
        list_releases("megatron-core")
    assert (caught.value.message, caught.value.hint) == (
        "pip cannot say which package index to look at: python: No module named pip",
        "install pip for the Python that runs patchkit",
    )


def test_no_place_to_look_at_is_an_error() -> None:
    with pytest.raises(IndexUnavailableError) as caught:
        list_releases("megatron-core")
    assert caught.value.message == "no package index has megatron-core: pip is set up to ask none"
