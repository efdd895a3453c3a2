"""What `patchkit tms estimate` reads and prints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from patchkit.errors import TreeError, UsageError
from patchkit.reading import read_given
from patchkit.store.files import write_reports
from patchkit.tms.chart import as_png, as_svg, colour, in_words
from patchkit.tms.estimate import Estimate

_WIDTH = 48

_PYTHON = {"True": True, "False": False, "None": None}
"""As a namespace prints them; as text they would all count as true."""


_UNKNOWN = (
    "nccl_ub",
    "use_megatron_fsdp",
    "use_torch_fsdp2",
    "use_custom_fsdp",
    "use_layer_wise_distributed_optimizer",
    "use_precision_aware_optimizer",
    "optimizer_cpu_offload",
    "fp8_param_gather",
    "fp4_param_gather",
)
"""Arguments that change how many bytes a parameter takes, or where they lie, in a way that is not known here."""


class Arguments(dict[str, Any]):
    """Megatron's arguments by name, which remember who was asked for."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.assigned: list[str] = []
        """The names that were given one by one."""
        self._asked: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of ``name``."""
        self._asked.add(name)
        return super().get(name, default)

    @property
    def idle(self) -> tuple[str, ...]:
        """Names that were given one by one, and that nothing depended on."""
        return tuple(name for name in self.assigned if name not in self._asked)


def read_arguments(file: Path | None, assignments: Sequence[str]) -> Arguments:
    """Return Megatron's arguments by name: a JSON object, and NAME=VALUE over it.

    A value is JSON, Python's True, False or None, or else text. Raises TreeError for a file that cannot be read,
    UsageError for one that holds no JSON object.
    """
    found = Arguments({})
    if file is not None:
        try:
            values = json.loads(read_given(file).decode())
        except OSError as error:
            raise TreeError(f"cannot read {file}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{file}: a JSON object is expected: it is no text in UTF-8") from error
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{file}: a JSON object is expected: {error}") from error
        if not isinstance(values, dict):
            raise UsageError(f"{file}: a JSON object is expected")
        found = Arguments(values)
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise UsageError(f"--set {assignment}: NAME=VALUE is expected")
        name = name.strip().lstrip("-").replace("-", "_")
        found[name] = _value(text.strip())
        found.assigned.append(name)
    return found


def _value(text: str) -> Any:
    if text in _PYTHON:
        return _PYTHON[text]
    try:
        return json.loads(text)
    except ValueError:
        return text


def precision(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what Megatron's arguments say of precision and optimizer, by the names of `Setting`.

    Raises UsageError for what would make another number of bytes, or lie elsewhere.
    """
    for name in _UNKNOWN:
        if arguments.get(name):
            raise UsageError(f"{name} {arguments.get(name)!r} is not known here")
    if arguments.get("optimizer") not in (None, "adam"):
        raise UsageError(f"optimizer {arguments.get('optimizer')!r} is not known here: only adam")
    parameter_bytes = 2 if arguments.get("bf16") or arguments.get("fp16") else 4
    in_fp32 = arguments.get("accumulate_allreduce_grads_in_fp32") or arguments.get("grad_reduce_in_fp32")
    # Megatron turns it on by itself for bf16.
    in_fp32 = bool(arguments.get("bf16")) if in_fp32 is None else bool(in_fp32)
    return {
        "parameter_bytes": parameter_bytes,
        "gradient_bytes": 4 if in_fp32 else parameter_bytes,
        "distributed_optimizer": bool(arguments.get("use_distributed_optimizer")),
    }


def keeps_backups(version: str) -> bool:
    """Tell whether that release of torch_memory_saver keeps backups after a resume without being told to.

    Raises UsageError for one that has no backups.
    """
    try:
        release = Version(version)
    except InvalidVersion as error:
        raise UsageError(f"--tms {version}: a release is expected, such as 0.0.10") from error
    if release < Version("0.0.9"):
        raise UsageError(f"--tms {version}: it has no backups, so that a pause loses everything")
    return release < Version("0.0.10")


def write_pictures(files: Sequence[Path], estimate: Estimate) -> None:
    """Write the bars as PNG where a name ends so, else as SVG. Raises WriteFailedError, UsageError without Pillow."""
    title = "bytes of a rank by phase"
    texts = {
        file: as_png(estimate, title) if file.suffix == ".png" else as_svg(estimate, title).encode() for file in files
    }
    if texts:
        write_reports(texts)


def print_estimate(estimate: Estimate) -> None:
    """Print bars by phase, and what they are made of."""
    from rich.console import Console  # noqa: PLC0415 - for bars only
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    most = max(max(phase.device_bytes, phase.host_bytes) for phase in estimate.phases) or 1
    table = Table(box=None, show_header=False, pad_edge=False)
    for phase in estimate.phases:
        for side, parts in (("device", phase.device), ("host", phase.host)):
            bar = Text()
            end = drawn = 0
            for part, size in parts.items():
                end += size
                cells = round(end / most * _WIDTH)
                bar.append("█" * (cells - drawn), style=colour(part))
                drawn = cells
            words = ", ".join(f"{part} {in_words(size)}" for part, size in parts.items())
            table.add_row(f"{phase.name}, {side}", in_words(sum(parts.values())), bar)
            if words:
                table.add_row("", "", Text(words, style="dim"))
    console = Console(soft_wrap=True)
    console.print(f"a rank of pipeline stage {estimate.stage} has {estimate.parameters:,} parameters", highlight=False)
    console.print(table)
    kept = sum(size for part, size in estimate.phases[0].host.items() if part.startswith("backup of "))
    if kept:
        console.print(f"kept backups take {in_words(kept)} of the host while it trains", highlight=False)
