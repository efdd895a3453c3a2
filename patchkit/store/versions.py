"""upstream_versions.yaml."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from patchkit.core.upstream import Branch, PinnedCommit, Release, Target, VersionsDocument, targets
from patchkit.errors import StoreError
from patchkit.store.documents import load_document, parse_document, read_file

Entry = TypeVar("Entry", Release, Branch, PinnedCommit)


def load_versions(path: Path) -> VersionsDocument:
    """Read the file. Raises StoreError that names file, key and line."""
    document = load_document(VersionsDocument, path)
    names: set[str] = set()
    upstream = document.upstream
    for section, key, items in (
        ("releases", "version", [release.version for release in upstream.releases]),
        ("branches", "name", [branch.name for branch in upstream.branches]),
        ("commits", "name", [commit.name for commit in upstream.commits]),
    ):
        for position, name in enumerate(items):
            if name in names:
                raise StoreError(
                    str(path), f"{document.section}.{section}[{position}].{key}", f"{name!r} is there twice"
                )
            names.add(name)
    _refuse_one_file_for_two(path, document)
    return document


def _refuse_one_file_for_two(path: Path, document: VersionsDocument) -> None:
    """Refuse a target that is called like the tag of a release: both would have the same generated file."""
    files: dict[str, Target] = {}
    for target in targets(document.upstream):
        other = files.setdefault(target.generated_name, target)
        if other is not target:
            raise StoreError(
                str(path),
                document.section,
                f"{other.title} and {target.title} would both have generated/{target.generated_name}",
                hint=f"give {target.title} another name, here and in patch.yaml",
            )


def add_blobs(path: Path, blobs: Mapping[str, Mapping[str, str]]) -> bytes:
    """Return the text of the file with blob ids added: target name to path to id. Comments and order are kept.

    Ids that are recorded already are never changed: they say what a release *is*.
    """
    from patchkit.store.yaml_rewriting import add_entry, rewrite_yaml  # noqa: PLC0415 - only regenerate needs it

    def change(document: Any) -> None:
        upstream = section_of(document)
        for section, key in (("releases", "version"), ("branches", "name"), ("commits", "name")):
            for entry in upstream.get(section) or ():
                for file, blob in sorted(blobs.get(str(entry[key]), {}).items()):
                    add_entry(entry, "blobs", file, blob)

    return rewrite_yaml(read_file(path), str(path), change)


def only_adds(old: VersionsDocument, new: VersionsDocument) -> bool:
    """Tell whether ``new`` has all that ``old`` has, in its order, and differs by new targets and blob ids alone.

    No write of a series does more to the file.
    """
    known = old.upstream
    upstream = replace(
        new.upstream,
        releases=_known(new.upstream.releases, known.releases, lambda one: one.version),
        branches=_known(new.upstream.branches, known.branches, lambda one: one.name),
        commits=_known(new.upstream.commits, known.commits, lambda one: one.name),
    )
    rest = [(document.schema, document.section, document.torch_memory_saver) for document in (old, new)]
    return rest[0] == rest[1] and upstream == known


def _known(new: Iterable[Entry], old: Iterable[Entry], name: Callable[[Entry], str]) -> tuple[Entry, ...]:
    """Return the entries of ``new`` that ``old`` has by name, each with the blob ids that it has there."""
    had = {name(entry): entry.blobs for entry in old}
    return tuple(
        replace(entry, blobs={path: blob for path, blob in entry.blobs.items() if path in had[name(entry)]})
        for entry in new
        if name(entry) in had
    )


def add_releases(path: Path, releases: Iterable[Release], remarks: Mapping[str, Mapping[str, str]]) -> bytes:
    """Return the text of the file with ``releases`` added in the order of their version numbers. Comments are kept.

    ``remarks`` is comments by version and key. Releases that are there already are left alone. Raises StoreError when
    what comes out is no document that can be read.
    """
    from packaging.version import Version  # noqa: PLC0415 - slow, and needed here alone

    from patchkit.store.yaml_rewriting import insert_entry, rewrite_yaml  # noqa: PLC0415 - see add_blobs

    def change(document: Any) -> None:
        upstream = section_of(document)
        if not upstream.get("releases"):
            upstream["releases"] = []
        for release in releases:
            known = [Version(str(entry["version"])) for entry in upstream["releases"]]
            version = Version(release.version)
            if version not in known:
                at = sum(other < version for other in known)
                insert_entry(upstream, "releases", at, _entry(release, remarks.get(release.version, {})))

    text = rewrite_yaml(read_file(path), str(path), change)
    parse_document(VersionsDocument, text, str(path))
    return text


def section_of(document: Any) -> Any:
    """Return the section of the upstream, of the file as YAML has it."""
    return document["upstream" if "upstream" in document else "megatron"]


def _entry(release: Release, remarks: Mapping[str, str]) -> Any:
    """Return a release as people write it."""
    from datetime import date  # noqa: PLC0415 - needed here alone

    from patchkit.store.yaml_rewriting import flow, mapping, plain, quoted, remark  # noqa: PLC0415 - see add_blobs

    values: dict[str, Any] = {
        "version": plain(release.version),
        "tag": release.tag if release.tag is None else plain(release.tag),
        "commit": release.commit if release.commit is None else plain(release.commit),
        # Only as a date does ruamel print it without quotes.
        "date": date.fromisoformat(release.date),
        "python": quoted(release.python),
    }
    if release.yanked is not None:
        values["yanked"] = plain(release.yanked)
    values |= {
        "ships": flow(release.ships),
        "blobs": mapping({path: plain(blob) for path, blob in sorted(release.blobs.items())}),
        "files": mapping({name: plain(sha256) for name, sha256 in sorted(release.files.items())}),
    }
    entry = mapping(values)
    for key, text in remarks.items():
        remark(entry, key, text)
    return entry
