"""Made-up package indexes, on a server of this machine or in a folder."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from patchkit.trees.pip_settings import PipSettings

JSON = "application/vnd.pypi.simple.v1+json"
HTML = "text/html; charset=utf-8"


@dataclass
class Index:
    """A server, what it answers by path, and what it was asked."""

    url: str
    answers: dict[str, tuple[int, str, bytes]]
    """Status, content type and body; 404 for what is not here."""
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    """Path and Authorization of each request."""
    claims: dict[str, int] = field(default_factory=dict)
    """Content-Length by path, where it is not that of the body; none where it is below 0."""
    etags: dict[str, str] = field(default_factory=dict)
    """ETag by path; whoever has that state gets 304."""
    headers: dict[str, dict[str, str]] = field(default_factory=dict)
    """More headers by path."""
    sent: list[int] = field(default_factory=list)
    """Status of each answer."""
    troubles: dict[str, list[int]] = field(default_factory=dict)
    """What the first requests of a path get instead: a status, or 0 for half of the body and the end."""

    def serve(self, path: str, body: bytes, *, kind: str = HTML, status: int = 200) -> None:
        self.answers[path] = (status, kind, body)

    def serve_wheels(self, *wheels: Path, page: bytes | None = None) -> None:
        """Serve wheels of megatron-core and, in the JSON form, the page that names them by digest."""
        files = {wheel.name: wheel.read_bytes() for wheel in wheels}
        named = [json_file(name, hashlib.sha256(content).hexdigest()) for name, content in files.items()]
        self.serve("/simple/megatron-core/", json_page(*named) if page is None else page, kind=JSON)
        for name, content in files.items():
            self.serve(f"/files/{name}", content, kind="application/octet-stream")


@contextmanager
def only_index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """The one index that pip is set up for, as long as the context lasts."""
    monkeypatch.delenv("PIP_NO_INDEX")
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("patchkit.trees.index_client._PAUSE", 0)
    with index() as made:
        monkeypatch.setenv("PIP_INDEX_URL", f"{made.url}/simple")
        yield made


@contextmanager
def index() -> Iterator[Index]:
    """A server for as long as the context lasts."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            here.asked.append((self.path, self.headers.get("Authorization")))
            status, kind, body = here.answers.get(self.path, (404, HTML, b"no"))
            claimed = here.claims.get(self.path, len(body))
            trouble = here.troubles[self.path].pop(0) if here.troubles.get(self.path) else None
            if trouble:
                status, body, claimed = trouble, b"", 0
            elif trouble == 0:
                body = body[: len(body) // 2]
            etag = here.etags.get(self.path)
            if etag is not None and self.headers.get("If-None-Match") == etag:
                status, body, claimed = 304, b"", -1
            here.sent.append(status)
            self.send_response(status)
            if etag is not None:
                self.send_header("ETag", etag)
            self.send_header("Location" if 300 <= status < 400 else "Content-Type", kind)
            for header, value in here.headers.get(self.path, {}).items():
                self.send_header(header, value)
            if claimed >= 0:
                self.send_header("Content-Length", str(claimed))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    here = Index(f"http://127.0.0.1:{server.server_port}", {})
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield here
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def json_page(*files: dict[str, object], name: str = "megatron-core") -> bytes:
    """A page in the JSON form (PEP 691, PEP 700)."""
    return json.dumps({"meta": {"api-version": "1.1"}, "name": name, "files": files, "versions": []}).encode()


def json_file(name: str, sha256: str | None, **more: object) -> dict[str, object]:
    """One file of a JSON page; underscores in the names of ``more`` become hyphens."""
    hashes = {"sha256": sha256} if sha256 else {}
    return {"filename": name, "url": f"../../files/{name}", "hashes": hashes} | {
        key.replace("_", "-"): value for key, value in more.items()
    }


def html_page(*anchors: str) -> bytes:
    """A page in the HTML form (PEP 503)."""
    return f"<!DOCTYPE html><html><body>{''.join(anchors)}</body></html>".encode()


def anchor(name: str, sha256: str, attributes: str = "") -> str:
    """One file of an HTML page."""
    return f'<a href="../../files/{name}#sha256={sha256}" {attributes}>{name}</a>'


def lay_index(root: Path, page: bytes) -> str:
    """Make an index of megatron-core in a folder; return its URL."""
    folder = root / "megatron-core"
    folder.mkdir(parents=True)
    (folder / "index.html").write_bytes(page)
    return root.as_uri()


def quick_settings(**_meanwhile: object) -> PipSettings:
    """What pip would say of its environment, without the half second that it takes to say it."""
    told = {name: os.environ.get(f"PIP_{name}", "") for name in ("INDEX_URL", "EXTRA_INDEX_URL", "FIND_LINKS")}
    return PipSettings(
        index_url=told["INDEX_URL"] or None,
        extra_index_urls=tuple(told["EXTRA_INDEX_URL"].split()),
        find_links=tuple(told["FIND_LINKS"].split()),
        no_index="PIP_NO_INDEX" in os.environ,
    )
