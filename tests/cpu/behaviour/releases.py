"""Which Megatron targets are tested, and what each of them has that a rule can be about."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import product
from pathlib import Path

from patchkit.core.upstream import targets
from patchkit.store.location import default_patches, versions_file
from patchkit.store.versions import load_versions

# Trees made beforehand, as unpatched/NAME, patched/NAME and grads-only/NAME. With it, branches and
# commits, which are on no package index, and a series under work can be tested.
PREPARED = "PATCHKIT_BEHAVIOUR_TREES"

TARGETS = {target.name: target for target in targets(load_versions(versions_file(default_patches())).upstream)}

# NVIDIA's own version of the regions, with its fields and its import of the library, is on this branch.
HAS_OWN_REGIONS = "dev"

# The first release with each thing. The context of inference and training.py set the hook mode.
_SINCE = {
    "nccl_ub": "0.13.0",
    "mxfp8": "0.13.0",
    "use_megatron_fsdp": "0.14.0",
    "reload": "0.16.0",
    "context": "0.16.0",
    "extra_main_grads": "0.17.0",
    "training": "0.17.0",
}


def prepared_trees() -> Path | None:
    """The folder of prepared trees, if one is named."""
    folder = os.environ.get(PREPARED)
    return Path(folder) if folder else None


def tested() -> list[str]:
    """All releases, and of branches and commits those that are prepared."""
    prepared = prepared_trees()
    return [
        name
        for name, target in TARGETS.items()
        if target.release or (prepared is not None and (prepared / "patched" / name).is_dir())
    ]


def first_of_each_text(names: list[str]) -> list[str]:
    """Without those whose DDP files are byte for byte the ones of an earlier target."""
    texts = [{path: blob for path, blob in TARGETS[name].blobs.items() if "/distributed/" in path} for name in names]
    return [name for index, name in enumerate(names) if texts[index] not in texts[:index]]


def has(name: str, feature: str) -> bool:
    """Whether the target has what ``feature`` names."""
    return _order(TARGETS[name].as_of) >= _order(_SINCE[feature])


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def having(*features: str, without: tuple[str, ...] = ()) -> list[str]:
    """The tested targets that have all of the features."""
    return [name for name in tested() if name not in without and all(has(name, feature) for feature in features)]


def crossed(names: Iterable[str], scenarios: Iterable[str]) -> list[tuple[str, str]]:
    """Each target with each scenario."""
    return list(product(names, scenarios))
