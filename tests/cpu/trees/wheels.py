"""Made-up wheels."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

TIME = (2024, 2, 29, 12, 30, 58)
MEGATRON_CORE: tuple[str, tuple[str, ...]] = ("megatron-core", ("megatron/core",))
"""Distribution and packages of the trees that tests make."""
FILES = {"megatron/core/__init__.py": b"answer = 1\n", "megatron/core/tool.sh": b"#!/bin/sh\n"}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def record(files: dict[str, bytes], dist_info: str, ending: str = "\n") -> bytes:
    rows = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        rows.append(f"{path},sha256={digest},{len(content)}")
    return "".join(row + ending for row in [*rows, f"{dist_info}/RECORD,,"]).encode()


def metadata(version: str, requires: str = ">=3.0", name: str = "megatron-core") -> bytes:
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Python: {requires}\n"
    return f"{head}\nVersion: in the text\n".encode()


def wheel_files(
    version: str, tag: str, files: dict[str, bytes], requires: str = ">=3.0", name: str = "megatron-core"
) -> dict[str, bytes]:
    """What a wheel holds, RECORD last."""
    dist_info = f"{name.replace('-', '_')}-{version}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n".encode()
    members = {**files, f"{dist_info}/METADATA": metadata(version, requires, name), f"{dist_info}/WHEEL": wheel}
    return {**members, f"{dist_info}/RECORD": record(members, dist_info)}


def make_wheel(
    folder: Path,
    version: str = "1.2",
    tag: str = "py3-none-any",
    files: dict[str, bytes] | None = None,
    requires: str = ">=3.0",
    *,
    name: str = "megatron-core",
) -> Path:
    """Write a wheel as setuptools would, folders and odd modes (``*.sh``, RECORD) included."""
    path = folder / f"{name.replace('-', '_')}-{version}-{tag}.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        add(archive, "megatron/", b"", 0o40755 << 16, zipfile.ZIP_STORED)
        for member, content in wheel_files(version, tag, FILES if files is None else files, requires, name).items():
            mode = 0o100755 if member.endswith(".sh") else 0o100664 if member.endswith("/RECORD") else 0o100644
            add(archive, member, content, mode << 16)
    return path


def add(
    archive: zipfile.ZipFile, name: str, content: bytes, attributes: int = 0, compression: int = zipfile.ZIP_DEFLATED
) -> None:
    member = zipfile.ZipInfo(name, TIME)
    member.external_attr = attributes
    member.compress_type = compression
    archive.writestr(member, content)
