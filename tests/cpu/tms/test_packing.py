"""What torch reserves for the tensors of a rank, and the estimate against what GPUs have measured."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from patchkit.tms.cycle.cases import SIZES
from patchkit.tms.estimate import Setting, estimate
from patchkit.tms.packing import Kept, Reserved, reserved
from patchkit.tms.runs import Run, run_of
from patchkit.tms.segments import MIB, Segments
from patchkit.tms.shape import from_megatron
from patchkit.tms.tensors import Tensors

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))

from benchmarks.gpu_offload import SETTINGS  # noqa: E402 - the folder is not on the path of imports

# --- what is reserved

BF16 = Kept(parameter_bytes=2, gradient_bytes=4, main_bytes=4, moments=(4, 4), shares=(1, 1))
M = MIB // 4
"""Elements of fp32 in a MiB."""


def reserved_mib(dense: list[int], expert: list[int], **changes: Any) -> tuple[int, int, int]:
    """Return (parameters, gradients, rest) in MiB."""
    found = reserved(Tensors(run_of(dense), run_of(expert)), replace(BF16, **changes))
    assert {size % MIB for size in (found.parameters, found.gradients, found.rest)} == {0}
    return found.parameters // MIB, found.gradients // MIB, found.rest // MIB


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # Of 12 MiB in fp32: the main parameter lies in the 20 MiB that the model had, beside its copy; two moments.
        ({}, (20, 12, 20 + 2 * 12)),
        # The model stays where it was; a moment takes the place of the copy.
        ({"shares": None}, (0, 12, 20 + 2 * 12)),
        # In fp32 there are no main parameters, and a moment takes the model's own segment.
        ({"parameter_bytes": 4, "main_bytes": 0}, (12, 12, 2 * 12)),
        # Half of it is 6 MiB: two, and the copy of 3, leave no place for a third in the segment that the model had.
        ({"shares": (2, 1)}, (20, 12, 2 * 20)),
        # A pool that gives nothing back keeps what a step had for a while.
        ({"step_bytes": 4}, (20, 12, 20 + 2 * 12)),
        ({"step_bytes": 4, "gives_back": False}, (20, 12, 20 + 3 * 12)),
    ],
)
def test_segments_of_one_matrix(changes: dict[str, Any], expected: tuple[int, int, int]) -> None:
    assert reserved_mib([3 << 20], [], **changes) == expected


def test_experts_have_buffers_and_shares_of_their_own() -> None:
    # A main parameter of 16 MiB lies in 20 that the model had, everything else fits.
    assert reserved_mib([16 * M], [32 * M], shares=(1, 1)) == (20 + 16, 16 + 32, 20 + 2 * 16 + 3 * 32)
    assert reserved_mib([16 * M], [32 * M], shares=(1, 2)) == (20 + 16, 16 + 32, 20 + 2 * 16 + 3 * 16)


def test_a_share_is_the_end_of_the_model_and_cuts_a_parameter() -> None:
    sizes = [30 * M, 16 * M]

    # The main parameter of 16 MiB lies in 20, as above.
    assert reserved_mib(sizes, [])[2] == 20 + 2 * 16 + 3 * 30
    # Of the 46 MiB in fp32 the first of two ranks has those 16 and 7 of the 30. Two of the three sevens share what was
    # the model's segment of 16, one has a segment of 20.
    assert reserved_mib(sizes, [], shares=(2, 1))[2] == 20 + 2 * 16 + 16 + 20


def test_a_share_is_rounded_up() -> None:
    # Half of it is one element more than what is small.
    assert reserved_mib([2 * M + 1], [], shares=(2, 1)) == (20, 20, 20)


def test_no_parameters_reserve_nothing() -> None:
    assert reserved(Tensors((), ()), BF16) == Reserved(parameters=0, gradients=0, rest=0)


@pytest.mark.parametrize(
    ("changes", "near"),
    [
        ({}, 0),
        ({"shares": None}, 1e-4),
        ({"gives_back": False, "step_bytes": 4}, 1e-4),
        # Where a share begins differs by less than a layer, and so does what is left of the segments there.
        ({"shares": (8, 2)}, 0.005),
    ],
)
def test_a_model_of_many_layers_is_as_one_of_fewer_goes_on(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], near: float
) -> None:
    model = Tensors((Run((32 * M,)), Run((4096, 4096, 11 * M, 12 * M), 2112), Run((7 * M,))), (Run((3 * M,), 96),))
    kept, asked = replace(BF16, **changes), 0
    exact = reserved(model, kept)
    plain = Segments.allocate

    def allocate(pool: Segments, size: int) -> Any:
        nonlocal asked
        asked += 1
        return plain(pool, size)

    monkeypatch.setattr("patchkit.tms.packing._MOST", 2048)
    monkeypatch.setattr(Segments, "allocate", allocate)

    found = reserved(model, kept)
    assert replace(found, rest=exact.rest) == exact
    assert found.rest == pytest.approx(exact.rest, rel=near, abs=0)
    # Model, copy, main parameter, two moments and a step: of 2048 parameters, of half as many, and what is over.
    assert 0 < asked <= 6 * (2048 + 1024 + 2 * 64)


# --- against what was measured

NEAR = 0.03
SPARE = 32 * MIB
"""A tensor of the tests that is freed while paused, and not of the model."""
NO_BACKUP = {"off": (), "grads": ("gradient_backup",), "both": ("gradient_backup", "parameter_backup")}


@dataclass(frozen=True)
class Measured:
    """Bytes that a pause freed on the device and took of the host, of a model of cases.SIZES."""

    name: str
    size: dict[str, Any]
    hook: str
    flags: str
    device: float
    host: float


def arguments(size: dict[str, Any]) -> dict[str, Any]:
    """Return Megatron's arguments for a model of cases.SIZES."""
    return {
        "num_layers": size["layers"],
        "hidden_size": size["width"],
        "num_attention_heads": size["heads"],
        "padded_vocab_size": size["vocabulary"],
        "untie_embeddings_and_output_weights": True,
        "position_embedding_type": "learned_absolute",
        "max_position_embeddings": size["sequence"],
    }


def estimated(size: dict[str, Any], hook: str, flags: str) -> tuple[int, int]:
    """Return device bytes in training and host bytes asleep, as `patchkit tms estimate` says them."""
    # In these tests the first step is in the region, and its optimizer is torch's AdamW.
    setting = Setting(**dict.fromkeys(NO_BACKUP[flags], False), region_pool=hook == "torch", step_bytes=4)
    phases = {phase.name: phase for phase in estimate(*from_megatron(arguments(size)), setting).phases}
    return phases["train"].device_bytes, phases["sleep"].host_bytes


def of_reports() -> Iterator[Measured]:
    """Means over the two pauses of each case in docs/evidence that had the device alone."""
    for file in sorted((ROOT / "docs/evidence").glob("*.json")):
        for case in json.loads(file.read_text())["cases"]:
            figures, size = case["figures"], dict(SIZES[case["settings"]["size"]])
            if "device freed" not in figures or case["settings"]["size"] == "small":
                continue
            # The pool of a region has room for it in what the step left.
            spare = SPARE if case["hook"] == "preload" else 0
            device, host = (figures[name] - spare for name in ("device freed", "host taken"))
            yield Measured(f"{file.stem}: {case['id']}", size, case["hook"], case["flags"], device, host)


def of_figures() -> Iterator[Measured]:
    """The last pause of each setting in docs/figures."""
    for name, found in json.loads((ROOT / "docs/figures/offload-h200.json").read_text())["settings"].items():
        chosen = SETTINGS[name]
        flags = "both" if chosen.get("params") else "grads" if chosen.get("grads") else "off"
        device, host = (found[key][-1] - SPARE for key in ("device freed", "host at pause"))
        yield Measured(f"offload-h200: {name}", dict(SIZES["large"]), "preload", flags, device, host)


MEASURED = [*of_reports(), *of_figures()]


def test_the_figures_of_both_widths_and_hook_modes_are_there() -> None:
    kinds = {(each.size["width"], each.hook, each.flags) for each in MEASURED}

    assert kinds == {
        *((width, "preload", flags) for width in (1024, 2048) for flags in NO_BACKUP),
        *((1024, "torch", flags) for flags in NO_BACKUP),
    }
    assert len(MEASURED) == 53


@pytest.mark.parametrize("measured", MEASURED, ids=lambda each: each.name)
def test_the_estimate_is_within_three_percent_of_every_figure(measured: Measured) -> None:
    device, host = estimated(measured.size, measured.hook, measured.flags)

    assert [device, host] == pytest.approx([measured.device, measured.host], rel=NEAR)


MIDDLE_768 = {"layers": 6, "width": 768, "heads": 12, "vocabulary": 16384, "sequence": 128}
"""A model that was measured before the middle one of cases.SIZES was changed; its figures are in the table alone."""
BY_WIDTH = {768: MIDDLE_768, 1024: dict(SIZES["medium"]), 2048: dict(SIZES["large"])}
FLAGS = {"off": "off", "gradients": "grads", "both": "both"}


def rows() -> list[list[str]]:
    """The cells of the table in docs/evidence.md."""
    text = (ROOT / "docs/evidence.md").read_text(encoding="utf-8")
    table = text.split("| model | pauses | hook | flags |")[1].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


@pytest.mark.parametrize("row", rows(), ids=lambda row: ", ".join(row[:4]))
def test_the_table_has_what_the_estimate_says_and_nothing_is_three_percent_off(row: list[str]) -> None:
    model, _, hook, flags, *cells = row
    size = BY_WIDTH[int(model.split(",")[0])]
    device, host = estimated(size, hook, FLAGS[flags])
    numbers = [re.findall(r"[+-]?[\d.]+", cell) for cell in cells]
    (device_cell,), (device_found, device_off), (host_cell,), (host_found, host_off) = numbers

    assert (int(device_cell), int(host_cell)) == (round(device / MIB), round(host / MIB))
    for found, said, off in ((device_found, device, device_off), (host_found, host, host_off)):
        assert float(off) == pytest.approx((float(found) * MIB / said - 1) * 100, abs=0.051)
        assert abs(float(off)) < 100 * NEAR


@pytest.mark.parametrize(("width", "parameters"), [(1024, 84_072_448), (2048, 537_612_288)])
def test_the_parameters_of_the_models_are_those_that_ran(width: int, parameters: int) -> None:
    assert estimate(*from_megatron(arguments(BY_WIDTH[width])), Setting()).parameters == parameters
