"""The table and the picture of benchmarks/gpu_offload.py, from figures that were measured before."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.gpu_offload import SETTINGS, table  # noqa: E402 - the folder is not on the path of imports
from benchmarks.gpu_plot import draw  # noqa: E402 - as above

GIB = 1 << 30


def setting(pause: list[float], samples: list[list[float]] | None) -> dict[str, Any]:
    return {
        "parameters": 500_000_000,
        "kept": 6_000_000_000,
        "pause seconds": pause,
        "resume seconds": [1.0, 2.0, 4.0],
        "restore seconds": [0.0, 0.1, 0.1],
        "device freed": [GIB] * 3,
        "host at pause": [GIB, GIB, 2 * GIB],
        "host while training": [0, 0, GIB],
        "samples": samples,
    }


REPORT: dict[str, Any] = {
    "megatron": "0.19.2",
    "torch_memory_saver": "0.0.10",
    "machine": {"gpu": "NVIDIA H200", "driver": "580", "torch": "2.11.0"},
    "settings": {
        "unpatched": setting([9.0, 8.0, 7.0], [[0.0, 2 * GIB, 0], [4.0, 0, GIB], [8.0, 2 * GIB, 0]]),
        "both flags, <retained>": setting([4.0, 0.2, 0.2], [[0.0, 2 * GIB, GIB], [0.4, 2 * GIB, GIB]]),
        "both flags, mmap": setting([4.0, 0.5, 0.5], None),
    },
    "plain": {"bytes": GIB, "pin seconds": 4.0, "to host seconds": 0.15, "to device seconds": 0.16},
}


def test_the_table_tells_the_first_pause_from_the_later_ones() -> None:
    assert list(table(REPORT)) == [
        (
            "megatron-core 0.19.2, torch_memory_saver 0.0.10, 0.50 billion parameters;"
            " NVIDIA H200, driver 580, torch 2.11.0"
        ),
        "",
        "| setting | first pause s | later | resume s | restore s | device freed | host at pause | while training |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        "| unpatched | 9.00 | 7.50 | 3.00 | 0.10 | 1.00 GiB | 2.00 GiB | 1.00 GiB |",
        "| both flags, <retained> | 4.00 | 0.20 | 3.00 | 0.10 | 1.00 GiB | 2.00 GiB | 1.00 GiB |",
        "| both flags, mmap | 4.00 | 0.50 | 3.00 | 0.10 | 1.00 GiB | 2.00 GiB | 1.00 GiB |",
        "| plain copy of 1.00 GiB | 4.15 | 0.15 | 0.16 | | | 1.00 GiB | 1.00 GiB |",
    ]


def test_the_picture_has_a_line_for_each_sampled_setting_on_the_device_and_on_the_host() -> None:
    root = ET.fromstring(draw(REPORT))  # noqa: S314 - our own text
    lines = [each for each in root.iter() if each.tag.endswith("polyline")]
    points = [[tuple(map(float, point.split(","))) for point in line.attrib["points"].split()] for line in lines]

    assert [next(iter(line)).text for line in lines] == ["unpatched", "both flags, <retained>"] * 2
    # From full to empty and back, over the whole width; the other one ends after a twentieth of it.
    assert points[0] == [(60.0, 40.0), (380.0, 190.0), (700.0, 40.0)]
    assert points[1] == [(60.0, 40.0), (92.0, 40.0)]
    assert points[2] == [(60.0, 386.0), (380.0, 236.0), (700.0, 386.0)]


def test_three_settings_are_sampled() -> None:
    assert [name for name, fields in SETTINGS.items() if "sample" in fields] == [
        "unpatched",
        "both flags",
        "both flags, retained",
    ]
