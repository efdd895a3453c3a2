"""What rebase changes in patch.yaml; comments, quotes and order stay as people wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import msgspec

from patchkit.core.series import HunkSpec, LeftOut, NotNeeded, VariantSpec


class PatchEdit(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to one patch.yaml."""

    last_update: str
    """YYYY-MM-DD."""
    variant: VariantSpec | None = None
    """A new variant."""
    behind: str | None = None
    """File name of the variant in the list behind which the new one goes; None: at the end."""
    releases: Mapping[str, str] = {}
    """New version range by file name of a variant."""
    targets: Mapping[str, tuple[str, ...]] = {}
    """New targets by file name of a variant."""
    hunk_releases: Mapping[str, str] = {}
    """New version range by hunk id."""
    hunk_not_on: Mapping[str, tuple[str, ...]] = {}
    """New list of targets left out, by hunk id."""
    hunks: Mapping[str, HunkSpec] = {}
    """New hunks, by the id of the one behind which each goes."""
    not_needed: NotNeeded | None = None
    """A new entry."""
    needed_on: str | None = None
    """Target that entries of not-needed do not name any more."""
    left_out: tuple[LeftOut, ...] = ()
    """New entries of left-out."""
    decided_on: str | None = None
    """Target whose entries of left-out go; the new ones are all that holds."""


def edited_patch(text: bytes, file: str, edit: PatchEdit) -> bytes:
    """Return patch.yaml with ``edit`` made. Raises StoreError."""
    # ruamel is slow to import, and only writing needs it.
    from patchkit.store.yaml_rewriting import flow, insert_entry, quoted, rewrite_yaml  # noqa: PLC0415 - see above

    def change(document: Any) -> None:
        # A date as YAML has it is printed without quotes, as people write it.
        document["last-update"] = date.fromisoformat(edit.last_update)
        variants = {entry["file"]: entry for entry in document["variants"]}
        for name, releases in edit.releases.items():
            variants[name]["releases"] = quoted(releases)
        for name, targets in edit.targets.items():
            variants[name]["targets"] = flow(targets)
        if edit.variant is not None:
            names = [entry["file"] for entry in document["variants"]]
            at = names.index(edit.behind) + 1 if edit.behind in names else len(names)
            insert_entry(document, "variants", at, _plain(edit.variant))
        for name, hunk in edit.hunks.items():
            at = [entry["id"] for entry in document["hunks"]].index(name) + 1
            insert_entry(document, "hunks", at, _plain(hunk))
        specs = {entry["id"]: entry for entry in document["hunks"]}
        for name, releases in edit.hunk_releases.items():
            specs[name]["releases"] = quoted(releases)
        for name, targets in edit.hunk_not_on.items():
            specs[name]["not-on"] = flow(targets)
        _not_needed(document)
        _left_out(document)

    def _left_out(document: Any) -> None:
        entries = document.get("left-out")
        for position in reversed(range(len(entries or ()))):
            if entries[position]["target"] == edit.decided_on:
                del entries[position]
        if entries is None and edit.left_out:
            above = "not-needed" if "not-needed" in document else "variants"
            document.insert(list(document).index(above) + 1, "left-out", [])
        for entry in edit.left_out:
            document["left-out"].append(_plain(entry))
        if not document.get("left-out", True):
            del document["left-out"]

    def _not_needed(document: Any) -> None:
        entries = document.get("not-needed")
        for position in reversed(range(len(entries or ()))):
            entry = entries[position]
            if edit.needed_on in entry.get("targets", ()):
                entry["targets"].remove(edit.needed_on)
                if not entry["targets"]:
                    del entry["targets"]
                if not entry.get("targets") and not entry.get("releases"):
                    del entries[position]
        if entries is not None and not entries:
            del document["not-needed"]
        if edit.not_needed is not None:
            if "not-needed" not in document:
                document.insert(list(document).index("variants") + 1, "not-needed", [])
            document["not-needed"].append(_plain(edit.not_needed))

    return rewrite_yaml(text, file, change)


_FIRST = ("id", "group", "file", "scope", "intent", "needed-when", "drop-when")


def _plain(value: HunkSpec | LeftOut | NotNeeded | VariantSpec) -> Any:
    """Return an entry as people write it: what it is first, nothing that is empty, ranges in quotes."""
    from patchkit.store.yaml_rewriting import flow, literal, mapping, quoted  # noqa: PLC0415 - as above

    items: dict[str, Any] = msgspec.to_builtins(value)
    entry: dict[str, Any] = {}
    for key in (*(key for key in _FIRST if key in items), *(key for key in items if key not in _FIRST)):
        item = items[key]
        if item in ("", (), [], None):
            continue
        if isinstance(item, (list, tuple)):
            item = flow(item)
        elif key == "releases":
            item = quoted(item)
        elif "\n" in item:
            item = literal(item)
        entry[key] = item
    return mapping(entry)
