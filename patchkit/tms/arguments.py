"""Arguments of a training that offloads: what follows from what, and what cannot work together."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from patchkit.errors import ArgumentRuleError
from patchkit.tms.elf import read_library
from patchkit.tms.environment import expandable_segments_in
from patchkit.tms.package import Package, content_of

GRAD = "disable_grad_buffers_cpu_backup"
PARAM = "disable_param_buffers_cpu_backup"
OFFLOAD = "offload_train"

_SWITCHES = (
    OFFLOAD,
    GRAD,
    PARAM,
    "colocate",
    "use_critic",
    "use_distributed_optimizer",
    "use_layer_wise_distributed_optimizer",
    "nccl_ub",
    "fp8_param_gather",
    "fp8_param",
    "async_save",
    "use_megatron_fsdp",
    "use_torch_fsdp2",
    "use_custom_fsdp",
)
"""Arguments that are on or off: a text, such as the word false, would count as on."""

_NO_ARGUMENTS = (type, Mapping, tuple, list, str, int, float, argparse.ArgumentParser)
"""What has no arguments to set, such as the parser that has to be asked for them first."""

_FSDP = ("use_megatron_fsdp", "use_torch_fsdp2", "use_custom_fsdp")


@dataclass(frozen=True, slots=True)
class Change:
    """An argument that got another value."""

    name: str
    before: Any
    after: Any
    because: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """What came of resolving."""

    arguments: Any
    """What was given, changed in place; of a frozen dataclass a copy, where anything changed."""
    changes: tuple[Change, ...]
    warnings: tuple[str, ...]


def resolve_offload_arguments(
    arguments: Any,
    *,
    restores_parameters: bool = False,
    role: Literal["actor", "critic"] = "actor",
    explicit: Collection[str] = (),
    symbols: Collection[str] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Resolution:
    """Set what follows from offloading, all implications first, and refuse what cannot work.

    ``arguments`` is a namespace of argparse or a dataclass; a name that it does not have counts as not set, and the two
    flags are set all the same where it can take them. ``restores_parameters`` says that somebody writes the parameters
    again after a resume (a restorer); without it, and for a critic, they keep their backup. ``explicit`` are names that
    the user set (or their options, ``--offload-train``), which are not derived. ``symbols`` are what the library of
    torch_memory_saver exports (`package_symbols`); None leaves it unchecked. Raises ArgumentRuleError with every rule
    that is broken, for anything but a namespace or an object of a dataclass, for texts where it is on or off, and where
    a value cannot be set; then nothing is changed.
    """
    _check_call(arguments, role, explicit)
    _check_knowledge(symbols, restores_parameters=restores_parameters)
    draft = _Draft(arguments, explicit)
    _check_switches(draft)
    _imply(draft)
    if draft.get(OFFLOAD):
        _derive_flags(draft, restores_parameters=restores_parameters, role=role)
    if needs := next((name for name in (OFFLOAD, GRAD, PARAM) if draft.get(name)), None):
        _check_environment(draft, needs, symbols, environment)
    _check_flags(draft, restores_parameters=restores_parameters)
    if draft.violations:
        raise ArgumentRuleError(tuple(draft.violations))
    return draft.resolution()


def _check_call(arguments: Any, role: str, explicit: Collection[object]) -> None:
    """What would go unnoticed otherwise: nothing is set in a dict, and a role of another name counts as an actor."""
    if arguments is None or isinstance(arguments, _NO_ARGUMENTS):
        kind = f"the class {arguments.__name__}" if isinstance(arguments, type) else type(arguments).__name__
        raise ArgumentRuleError((f"a namespace or an object of a dataclass is expected, not {kind}",))
    if role not in ("actor", "critic"):
        raise ArgumentRuleError((f"role {role!r} is neither actor nor critic",))
    if isinstance(explicit, str):
        raise ArgumentRuleError((f"explicit holds names; {explicit!r} is one, and its letters are not meant",))
    if others := [name for name in explicit if not isinstance(name, str)]:
        raise ArgumentRuleError((f"explicit holds names; {others[0]!r} is none",))


def _check_knowledge(symbols: object, *, restores_parameters: object) -> None:
    """The same of what the caller says: in a text every part of a symbol would be found, and the word no is true."""
    if symbols is not None and (isinstance(symbols, str) or not isinstance(symbols, Collection)):
        kind = type(symbols).__name__
        raise ArgumentRuleError((f"symbols holds names: package_symbols(package), not an object of {kind}",))
    if isinstance(restores_parameters, (str, bytes)):
        raise ArgumentRuleError((f"restores_parameters is True or False, not {restores_parameters!r}",))


def _check_switches(draft: _Draft) -> None:
    texts = [name for name in _SWITCHES if isinstance(draft.get(name), (str, bytes))]
    if texts:
        raise ArgumentRuleError(tuple(f"{name} is neither true nor false: {draft.get(name)!r}" for name in texts))


class _Draft:
    """Values to be, before any of them is set."""

    def __init__(self, arguments: Any, explicit: Collection[str]) -> None:
        self._arguments = arguments
        self.explicit = frozenset(name.lstrip("-").replace("-", "_") for name in explicit)
        self._changes: dict[str, Change] = {}
        self.warnings: list[str] = []
        self.violations: list[str] = []

    def get(self, name: str) -> Any:
        if name in self._changes:
            return self._changes[name].after
        return getattr(self._arguments, name, None)

    def set(self, name: str, *, to: object, because: str) -> None:
        if self.get(name) != to:
            self._changes[name] = Change(name, getattr(self._arguments, name, None), to, because)

    def resolution(self) -> Resolution:
        changes = tuple(item for item in self._changes.values() if item.before != item.after)
        values = {item.name: item.after for item in changes}
        arguments = self._arguments
        if dataclasses.is_dataclass(arguments) and not isinstance(arguments, type):
            fields = {each.name for each in dataclasses.fields(arguments)}
            # A flag that is off needs no field.
            changes = tuple(item for item in changes if item.name in fields or item.after)
            values = {item.name: item.after for item in changes}
            if missing := sorted(set(values) - fields):
                kind = type(arguments).__name__
                raise ArgumentRuleError((f"{kind} has no {', '.join(missing)}: are the patches applied?",))
            if values and type(arguments).__dataclass_params__.frozen:  # type: ignore[attr-defined]
                return Resolution(_replaced(arguments, values), changes, tuple(self.warnings))
        _set(arguments, values)
        return Resolution(arguments, changes, tuple(self.warnings))


def _replaced(arguments: Any, values: Mapping[str, Any]) -> Any:
    try:
        return dataclasses.replace(arguments, **values)
    except (TypeError, ValueError) as error:
        # Fields that are not of the constructor, and arguments of it that are not fields.
        raise ArgumentRuleError((f"{type(arguments).__name__} cannot be copied with other values: {error}",)) from error


def _set(arguments: Any, values: Mapping[str, Any]) -> None:
    """Set all of ``values`` or, where one cannot be set (slots, properties), none."""
    before = {name: getattr(arguments, name) for name in values if hasattr(arguments, name)}
    done = []
    try:
        for name, value in values.items():
            setattr(arguments, name, value)
            done.append(name)
    except (AttributeError, TypeError, ValueError) as error:  # ValueError: classes that validate their values
        for set_ in done:
            if set_ in before:
                setattr(arguments, set_, before[set_])
            else:
                delattr(arguments, set_)
        raise ArgumentRuleError((f"{type(arguments).__name__} takes no {name}: {error}",)) from error


def _imply(draft: _Draft) -> None:
    if draft.get("advantage_estimator") == "ppo":
        draft.set("use_critic", to=True, because="PPO has a critic")
    if draft.get("colocate") and draft.get(OFFLOAD) is None:
        draft.set(OFFLOAD, to=True, because="colocate: training and inference take turns on the same devices")
    if draft.get("use_critic"):
        if OFFLOAD in draft.explicit and draft.get(OFFLOAD) is False:
            draft.violations.append(f"{OFFLOAD} is off, and with use_critic actor and critic take turns")
        draft.set(OFFLOAD, to=True, because="use_critic: actor and critic take turns on the same devices")


def _derive_flags(draft: _Draft, *, restores_parameters: bool, role: str) -> None:
    obstacle = _untracked(draft)
    if obstacle:
        draft.warnings.append(f"gradients and parameters keep their backup: {obstacle}")
    if GRAD not in draft.explicit:
        draft.set(
            GRAD, to=not obstacle, because=obstacle or f"{OFFLOAD}: gradients are zeroed before they are used again"
        )
    if PARAM not in draft.explicit:
        lost = _why_parameters_stay(draft, obstacle, restores_parameters=restores_parameters, role=role)
        if lost and not obstacle and draft.get(PARAM):
            draft.warnings.append(f"{PARAM} was on, and is off now: {lost}")
        draft.set(PARAM, to=not lost, because=lost or f"{OFFLOAD}: somebody restores the parameters")
    if _mxfp8_shares(draft) and GRAD not in draft.explicit and bool(draft.get(GRAD)) != bool(draft.get(PARAM)):
        because = "MXFP8 parameters and gradients share a buffer, and the parameters keep their backup"
        draft.set(GRAD, to=bool(draft.get(PARAM)), because=because)
        draft.warnings.append(f"gradients keep their backup: {because}")


def _why_parameters_stay(draft: _Draft, obstacle: str, *, restores_parameters: bool, role: str) -> str:
    if obstacle:
        return obstacle
    if role == "critic":
        return "nobody keeps another copy of a critic's parameters"
    if not restores_parameters:
        return "nobody restores the parameters"
    return "" if draft.get("use_distributed_optimizer") else "without the distributed optimizer they have no buffer"


def _untracked(draft: _Draft) -> str:
    """Return why the buffers of DDP are not memory that torch_memory_saver can drop; empty when they are."""
    if draft.get("nccl_ub"):
        return "nccl_ub allocates them in a pool of NCCL"
    found = [name for name in _FSDP if draft.get(name)]
    return f"{found[0]} keeps them outside the buffers of DDP" if found else ""


def _mxfp8_shares(draft: _Draft) -> bool:
    return (
        draft.get("fp8_recipe") == "mxfp8"
        and bool(draft.get("fp8_param_gather") or draft.get("fp8_param"))
        and bool(draft.get("use_distributed_optimizer"))
    )


def _check_flags(draft: _Draft, *, restores_parameters: bool) -> None:
    flags = [name for name in (GRAD, PARAM) if draft.get(name)]
    obstacle = _untracked(draft)
    draft.violations += [f"{name} cannot work: {obstacle}" for name in flags if obstacle]
    if len(flags) == 1 and _mxfp8_shares(draft):
        draft.violations.append(f"{GRAD} and {PARAM} have to be equal: MXFP8 parameters and gradients share a buffer")
    if PARAM in flags and not restores_parameters:
        draft.violations.append(f"{PARAM} without a restorer: the first pause would lose the parameters")
    if PARAM in flags and not draft.get("use_distributed_optimizer"):
        draft.warnings.append(f"{PARAM} does nothing: without the distributed optimizer parameters have no buffer")
    if flags:
        draft.warnings += _layer_wise(draft)


def _layer_wise(draft: _Draft) -> Iterator[str]:
    other = draft.get("optimizer") not in (None, "adam", "sgd") and draft.get("use_distributed_optimizer")
    if (draft.get("use_layer_wise_distributed_optimizer") or other) and draft.get(GRAD):
        yield (
            "layer-wise optimizer: from megatron-core 0.18 on, a parameter gather that is under way keeps parameters in"
            " the gradient buffer; hold it (guard.hold('parameter gather', tags=['grad_buffer'])) or do not pause then"
        )


def _check_environment(
    draft: _Draft, needs: str, symbols: Collection[str] | None, environment: Mapping[str, str]
) -> None:
    """Whether torch_memory_saver, which the argument ``needs`` it for, can do its part."""
    expandable = expandable_segments_in(environment)
    if expandable and (symbols is None or "tms_cuMemCreate" not in symbols):
        names = " and ".join(expandable)
        draft.violations.append(
            f"{names}: with expandable segments torch maps memory itself, and a pause frees nothing"
        )
    elif expandable:
        draft.warnings.append("expandable segments: this build tracks them, but a region has no pool of its own then")
    if draft.get("async_save"):
        draft.warnings.append("async_save: handles that its worker keeps are invalid after a pause; wait for it first")
    if symbols is None:
        return
    if not symbols:
        draft.violations.append(f"{needs} needs torch_memory_saver, and there is no library of it")
    elif "tms_get_current_tag" not in symbols:
        draft.violations.append(
            f"{needs}: this torch_memory_saver enters no region in a process that tracks everything; 0.0.10 does"
        )
    elif not {"tms_set_retain_cpu_backup", "tms_cuMemCreate"} & set(symbols):
        draft.warnings.append(
            "this torch_memory_saver may release memory twice that is freed while paused; 0.0.10 does not"
        )


def package_symbols(package: Package) -> frozenset[str]:
    """Return what the libraries of ``package`` export, without loading one. Raises TmsFileError."""
    return frozenset(
        symbol for path in package.libraries for symbol in read_library(content_of(path), str(path)).exports
    )


def reset_arg(parser: argparse.ArgumentParser, name: str, **options: Any) -> None:
    """Add the option ``name``, or let it be as ``options`` say when ``parser`` has it (``--record-memory-history``).

    With a default and nothing else that differs, the option stays as it is with the new default. Otherwise it is
    replaced and keeps its destination; its other names stay with the old one. Raises ArgumentRuleError for a name
    without dashes, of which argparse would make an argument that is always there.
    """
    if not name or name[0] not in parser.prefix_chars:
        raise ArgumentRuleError((f"an option is expected, such as --record-memory-history, not {name!r}",))
    known = parser._option_string_actions.get(name)  # noqa: SLF001 - argparse has no public way to look
    if known is None:
        parser.add_argument(name, **options)
    elif set(options) <= {"default", "help"}:
        known.help = options.get("help", known.help)
        known.default = options.get("default", known.default)
    else:
        # In the group where it was, so that it keeps its place in the help.
        group: Any = known.container  # type: ignore[attr-defined]
        before, group.conflict_handler = group.conflict_handler, "resolve"
        try:
            added = group.add_argument(name, **{"dest": known.dest, **options})
        finally:
            group.conflict_handler = before
        for exclusive in parser._mutually_exclusive_groups:  # noqa: SLF001 - as above
            if known in exclusive._group_actions:  # noqa: SLF001
                exclusive._group_actions.append(added)  # noqa: SLF001
        if added.dest == known.dest:
            known.default = added.default  # Of two options with one destination, the default of the first one holds.
