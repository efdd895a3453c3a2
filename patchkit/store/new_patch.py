"""Sources of a series that patchkit writes: a new patch, its place in series.yaml, a new target.

Texts that only a person can write are marked, and ``patchkit lint`` names each one until somebody has written it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from patchkit.core.model import FilePatch, Patch
from patchkit.core.series import ROOMS, SCHEMA, HunkSpec, NotNeeded, PatchDocument, SeriesEntry, no_name
from patchkit.core.unified import print_patch
from patchkit.core.unwritten import TODO
from patchkit.core.upstream import Branch, PinnedCommit, Release, Target, VersionsDocument
from patchkit.errors import UsageError
from patchkit.store.versions import section_of

_PATCH_COMMENT = (
    "Made by `patchkit import`. Texts that begin with PROPOSED or TODO wait for a person; `patchkit lint` names them."
)
_SERIES_COMMENT = "Order, groups and dependencies of the patches in this folder."
_VERSIONS_COMMENT = "What the series in this folder is made for; `patchkit rebase` adds what it is carried to."


_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


def refuse_bad_name(name: str) -> None:
    """Raise UsageError for a name that no patch can have."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be the name of a patch", hint="lower case letters, digits and hyphens")
    if name in ROOMS:
        raise UsageError(no_name(name), hint="give it another name")


def not_carried(name: str, target: Target, others: Sequence[str]) -> tuple[NotNeeded, ...]:
    """Return the entry that leaves ``others`` out for now: the patch was made for ``target`` alone.

    Without it the series could not be used on them at all; marked as it is, nobody takes it for an answer.
    """
    if not others:
        return ()
    command = f"patchkit rebase {name} --onto TARGET"
    reason = f"{TODO}why these do not need it, if so; it is made for {target.title} alone, and `{command}` carries it"
    return (NotNeeded(reason, targets=tuple(others)),)


def variant_text(files: Sequence[FilePatch]) -> bytes:
    """Print file patches, their hunks with ids, as the text of a variant."""
    return print_patch(Patch(tuple(files)))


def patch_text(document: PatchDocument) -> bytes:
    """Print a new patch.yaml; what has its default value is left out."""
    items = msgspec.to_builtins(document).items()
    return _printed({key: _bare(item) for key, item in items if item not in ([], ())}, _PATCH_COMMENT)


def series_text(package: str, distribution: str, groups: Mapping[str, str], entries: Sequence[SeriesEntry]) -> bytes:
    """Print a new series.yaml."""
    value = {
        "schema": SCHEMA,
        "package": package,
        "distribution": distribution,
        "groups": dict(groups),
        "patches": [_bare(msgspec.to_builtins(entry)) for entry in entries],
    }
    return _printed(value, _SERIES_COMMENT)


def extended_series(text: bytes, file: str, groups: Mapping[str, str], entries: Sequence[SeriesEntry]) -> bytes:
    """Return series.yaml with groups and patches added behind those that are there; comments are kept."""
    from patchkit.store.yaml_rewriting import add_entry, rewrite_yaml  # noqa: PLC0415 - only writing needs it

    def change(document: Any) -> None:
        for name, purpose in groups.items():
            add_entry(document, "groups", name, purpose)
        for entry in entries:
            document["patches"].append(_bare(msgspec.to_builtins(entry)))

    return rewrite_yaml(text, file, change)


def versions_text(like: VersionsDocument, added: Sequence[Release | Branch | PinnedCommit]) -> bytes:
    """Print an upstream_versions.yaml for the upstream of ``like``, with other targets: ``added``, in their order."""
    upstream = like.upstream
    described: dict[str, Any] = {"distribution": upstream.distribution, "repository": upstream.repository}
    if like.section == "upstream":
        described = {
            "name": upstream.name,
            **described,
            "packages": list(upstream.packages),
            **({"source": upstream.source} if upstream.source else {}),
            "tag": upstream.tag,
            **({"version-file": upstream.version_file} if upstream.version_file else {}),
        }
    described["releases"] = [_bare_target(each) for each in added if isinstance(each, Release)]
    for key, kind in (("branches", Branch), ("commits", PinnedCommit)):
        entries = [_bare_target(each) for each in added if isinstance(each, kind)]
        if entries:
            described[key] = entries
    return _printed({"schema": SCHEMA, like.section: described}, _VERSIONS_COMMENT)


def extended_versions(text: bytes, file: str, added: Release | PinnedCommit) -> bytes:
    """Return upstream_versions.yaml with one target more, releases in the order of versions; comments are kept."""
    from patchkit.store.yaml_rewriting import insert_entry, rewrite_yaml  # noqa: PLC0415 - only writing needs it

    def change(document: Any) -> None:
        upstream = section_of(document)
        section = "releases" if isinstance(added, Release) else "commits"
        if not upstream.get(section):
            upstream[section] = []
        entries = upstream[section]
        place = len(entries)
        if isinstance(added, Release):
            from packaging.version import Version  # noqa: PLC0415 - only writing needs it

            # The order tells which release is the latest.
            version = Version(added.version)
            place = next((at for at, one in enumerate(entries) if Version(str(one["version"])) > version), place)
        insert_entry(upstream, section, place, _bare_target(added))

    return rewrite_yaml(text, file, change)


def extended_patch(
    text: bytes,
    file: str,
    hunks: Sequence[HunkSpec],
    *,
    dropped: Sequence[str],
    variants: Sequence[Mapping[str, Any]],
    limits: Mapping[str, Mapping[str, Any]] | None = None,
) -> bytes:
    """Return patch.yaml with hunks added and dropped and, unless empty, other ``variants``; comments are kept.

    ``limits`` says by hunk id for which targets a hunk that stays is now: ``releases``, ``not-on``, ``only-on``.
    """
    from patchkit.store.yaml_rewriting import rewrite_yaml  # noqa: PLC0415 - only writing needs it

    def change(document: Any) -> None:
        specs = document["hunks"]
        for position in reversed(range(len(specs))):
            if specs[position]["id"] in dropped:
                del specs[position]
        for spec in specs:
            for key, value in (limits or {}).get(spec["id"], {}).items():
                if value:
                    spec[key] = value
                elif key in spec:
                    del spec[key]
        for hunk in hunks:
            specs.append(_bare(msgspec.to_builtins(hunk)))
        if variants:
            _replace_variants(document["variants"], variants)

    return rewrite_yaml(text, file, change)


def _replace_variants(old: Any, new: Sequence[Mapping[str, Any]]) -> None:
    """Bring the list of variants to ``new``: entries of a known file are edited in place, so that comments stay."""
    known = {entry["file"]: entry for entry in old}
    for entry in new:
        if entry["file"] not in known:
            old.append(_bare(dict(entry)))
            continue
        mine = known[entry["file"]]
        for key in ("releases", "targets"):
            value = list(entry[key]) if key == "targets" else entry.get(key)
            if value:
                if mine.get(key) != value:
                    mine[key] = value
            elif key in mine:
                del mine[key]
    names = {entry["file"] for entry in new}
    for position in reversed(range(len(old))):
        if old[position]["file"] not in names:
            del old[position]


def _printed(value: Mapping[str, Any], comment: str) -> bytes:
    from patchkit.store.yaml_rewriting import print_rewritten  # noqa: PLC0415 - only writing needs it

    return print_rewritten(value, comment)


def _bare(value: Any) -> Any:
    """Leave out what is empty, as people do who write these files; keys of the header stay, empty or not."""
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in value.items() if item not in ("", [], (), {}, None)}
    if isinstance(value, (list, tuple)):
        return [_bare(item) for item in value]
    return value


def _bare_target(target: Release | Branch | PinnedCommit) -> dict[str, Any]:
    value: dict[str, Any] = msgspec.to_builtins(target)
    return {key: item for key, item in value.items() if not (key in ("yanked", "note") and not item)}
