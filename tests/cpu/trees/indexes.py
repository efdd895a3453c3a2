"""Made-up package indexes, on a server of this machine or in a folder."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

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

    def serve(self, path: str, body: bytes, *, kind: str = HTML, status: int = 200) -> None:
        self.answers[path] = (status, kind, body)


@contextmanager
def index() -> Iterator[Index]:
    """A server for as long as the context lasts."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            here.asked.append((self.path, self.headers.get("Authorization")))
            status, kind, body = here.answers.get(self.path, (404, HTML, b"no"))
            self.send_response(status)
            self.send_header("Location" if 300 <= status < 400 else "Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
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
