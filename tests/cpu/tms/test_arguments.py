"""What follows from offloading, and what cannot work together."""

from __future__ import annotations

import argparse
from argparse import Namespace
from dataclasses import InitVar, dataclass, field, replace
from typing import Any

import pytest

from patchkit.errors import ArgumentRuleError, CapabilityError
from patchkit.tms.arguments import (
    GRAD,
    OFFLOAD,
    PARAM,
    Change,
    package_symbols,
    reset_arg,
    resolve_offload_arguments,
)
from patchkit.tms.no_backup import enable_no_backup

from .conftest import Wheel

FIXED = {"tms_get_current_tag", "tms_set_retain_cpu_backup"}
MXFP8 = {"fp8_recipe": "mxfp8", "fp8_param_gather": True}


def resolved(arguments: dict[str, Any], **how: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The arguments afterwards and the warnings; in a distributed optimizer unless said otherwise."""
    given = Namespace(**{"use_distributed_optimizer": True, **arguments})
    found = resolve_offload_arguments(given, **{"environment": {}, **how})
    assert found.arguments is given
    return {name: getattr(given, name, None) for name in (OFFLOAD, GRAD, PARAM)}, found.warnings


def broken(arguments: dict[str, Any], **how: Any) -> tuple[str, ...]:
    """The rules that are broken; nothing may have changed."""
    given = Namespace(**{"use_distributed_optimizer": True, **arguments})
    before = dict(vars(given))
    with pytest.raises(ArgumentRuleError) as caught:
        resolve_offload_arguments(given, **{"environment": {}, **how})
    assert vars(given) == before
    return caught.value.violations


@pytest.mark.parametrize(
    ("arguments", "how", "expected"),
    [
        ({}, {}, (None, None, None)),
        ({OFFLOAD: False}, {}, (False, None, None)),
        ({OFFLOAD: True}, {}, (True, True, False)),
        ({OFFLOAD: True}, {"restores_parameters": True}, (True, True, True)),
        ({OFFLOAD: True}, {"restores_parameters": True, "role": "critic"}, (True, True, False)),
        ({OFFLOAD: True, "use_distributed_optimizer": False}, {"restores_parameters": True}, (True, True, False)),
        # The flag follows from what follows from PPO.
        ({OFFLOAD: False, "use_critic": True}, {}, (True, True, False)),
        ({OFFLOAD: False, "advantage_estimator": "ppo"}, {}, (True, True, False)),
        ({OFFLOAD: None, "colocate": True}, {}, (True, True, False)),
        ({OFFLOAD: False, "colocate": True}, {}, (False, None, None)),
        ({OFFLOAD: True, "use_critic": True}, {"explicit": [OFFLOAD]}, (True, True, False)),
        # What the user set stays.
        ({OFFLOAD: True, GRAD: False}, {"explicit": [GRAD]}, (True, False, False)),
        ({OFFLOAD: True, GRAD: False}, {}, (True, True, False)),
        ({OFFLOAD: True, **MXFP8}, {"restores_parameters": True}, (True, True, True)),
        # No other recipe shares a buffer, and no other optimizer gathers parameters in it.
        ({OFFLOAD: True, **MXFP8, "fp8_recipe": "delayed"}, {}, (True, True, False)),
        ({OFFLOAD: True, "optimizer": "sgd"}, {}, (True, True, False)),
        ({OFFLOAD: True, "optimizer": "muon", "use_distributed_optimizer": False}, {}, (True, True, False)),
        (
            {GRAD: False, PARAM: True, "optimizer": "muon"},
            {"explicit": [GRAD, PARAM], "restores_parameters": True},
            (None, False, True),
        ),
        # A fork that frees paused memory in its own way.
        ({OFFLOAD: True}, {"symbols": {"tms_get_current_tag", "tms_cuMemCreate"}}, (True, True, False)),
        # Only in the distributed optimizer do MXFP8 parameters and gradients share a buffer.
        ({OFFLOAD: True, **MXFP8, "use_distributed_optimizer": False}, {}, (True, True, False)),
    ],
)
def test_the_flags_follow_from_all_that_implies_offloading(
    arguments: dict[str, Any], how: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    assert resolved(arguments, **how) == (dict(zip((OFFLOAD, GRAD, PARAM), expected, strict=True)), ())


@pytest.mark.parametrize(
    ("arguments", "how", "expected", "warning"),
    [
        (MXFP8, {}, (True, False, False), "gradients keep their backup: MXFP8 parameters and gradients share a buffer"),
        (
            {"fp8_recipe": "mxfp8", "fp8_param": True},
            {},
            (True, False, False),
            "gradients keep their backup: MXFP8 parameters and gradients share a buffer",
        ),
        ({"nccl_ub": True}, {}, (True, False, False), "keep their backup: nccl_ub allocates them in a pool of NCCL"),
        *(
            ({name: True}, {}, (True, False, False), f"keep their backup: {name} keeps them outside")
            for name in ("use_megatron_fsdp", "use_torch_fsdp2", "use_custom_fsdp")
        ),
        ({"optimizer": "muon"}, {}, (True, True, False), "layer-wise optimizer: from megatron-core 0.18 on"),
        ({"use_layer_wise_distributed_optimizer": True}, {}, (True, True, False), "layer-wise optimizer: from"),
        ({"async_save": True}, {}, (True, True, False), "async_save: handles that its worker keeps are invalid"),
        ({}, {"symbols": {"tms_get_current_tag"}}, (True, True, False), "may release memory twice"),
        (
            {PARAM: True, "use_distributed_optimizer": False},
            {"explicit": [PARAM], "restores_parameters": True},
            (True, True, True),
            f"{PARAM} does nothing: without the distributed optimizer parameters have no buffer",
        ),
        (
            {},
            {
                "symbols": {*FIXED, "tms_cuMemCreate"},
                "environment": {"PYTORCH_ALLOC_CONF": "expandable_segments:True"},
            },
            (True, True, False),
            "expandable segments: this build tracks them, but a region has no pool",
        ),
    ],
)
def test_what_may_surprise_is_a_warning(
    arguments: dict[str, Any], how: dict[str, Any], expected: tuple[Any, ...], warning: str
) -> None:
    found, warnings = resolved({OFFLOAD: True, **arguments}, **how)

    assert found == dict(zip((OFFLOAD, GRAD, PARAM), expected, strict=True))
    assert len(warnings) == 1
    assert warning in warnings[0]


@pytest.mark.parametrize(
    ("arguments", "how", "violations"),
    [
        (
            {GRAD: True, "nccl_ub": True},
            {"explicit": [GRAD]},
            ("disable_grad_buffers_cpu_backup cannot work: nccl_ub allocates them in a pool of NCCL",),
        ),
        (
            {PARAM: True},
            {"explicit": [PARAM]},
            ("disable_param_buffers_cpu_backup without a restorer: the first pause would lose the parameters",),
        ),
        (
            {GRAD: True, PARAM: False, **MXFP8},
            {"explicit": [GRAD, PARAM], "restores_parameters": True},
            (f"{GRAD} and {PARAM} have to be equal: MXFP8 parameters and gradients share a buffer",),
        ),
        (
            {},
            {"environment": {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}, "symbols": FIXED},
            ("PYTORCH_ALLOC_CONF: with expandable segments torch maps memory itself, and a pause frees nothing",),
        ),
        ({}, {"symbols": set()}, ("offload_train needs torch_memory_saver, and there is no library of it",)),
        (
            {GRAD: True, "use_torch_fsdp2": True},
            {"explicit": [GRAD], "symbols": {"tms_pause"}},
            (
                f"{OFFLOAD}: this torch_memory_saver enters no region in a process that tracks everything; 0.0.10 does",
                "disable_grad_buffers_cpu_backup cannot work: use_torch_fsdp2 keeps them outside the buffers of DDP",
            ),
        ),
        (
            {OFFLOAD: False, "use_critic": True},
            {"explicit": [OFFLOAD]},
            ("offload_train is off, and with use_critic actor and critic take turns",),
        ),
        # A flag without offload_train needs torch_memory_saver as much.
        (
            {OFFLOAD: False, GRAD: True},
            {"symbols": set()},
            (f"{GRAD} needs torch_memory_saver, and there is no library of it",),
        ),
        (
            {OFFLOAD: False, PARAM: True},
            {"symbols": set(), "restores_parameters": True},
            (f"{PARAM} needs torch_memory_saver, and there is no library of it",),
        ),
        # Names as they are typed are those of the arguments.
        (
            {OFFLOAD: False, "use_critic": True},
            {"explicit": ["--offload-train"]},
            ("offload_train is off, and with use_critic actor and critic take turns",),
        ),
        # What would go unnoticed: a critic would lose its parameters, and a user what was set.
        ({}, {"role": "Critic"}, ("role 'Critic' is neither actor nor critic",)),
        # A text, as some configurations have it, counts as true.
        (
            {OFFLOAD: "False", "nccl_ub": "0"},
            {},
            ("offload_train is neither true nor false: 'False'", "nccl_ub is neither true nor false: '0'"),
        ),
        ({}, {"explicit": GRAD}, (f"explicit holds names; '{GRAD}' is one, and its letters are not meant",)),
        ({}, {"explicit": [1]}, ("explicit holds names; 1 is none",)),
        ({}, {"symbols": "tms_pause"}, ("symbols holds names: package_symbols(package), not an object of str",)),
        ({}, {"symbols": object()}, ("symbols holds names: package_symbols(package), not an object of object",)),
        ({}, {"restores_parameters": "no"}, ("restores_parameters is True or False, not 'no'",)),
    ],
)
def test_what_cannot_work_is_refused_with_every_rule(
    arguments: dict[str, Any], how: dict[str, Any], violations: tuple[str, ...]
) -> None:
    assert broken({OFFLOAD: True, **arguments}, **how) == violations


def test_every_change_has_its_reason() -> None:
    found = resolve_offload_arguments(Namespace(use_critic=True, offload_train=None), environment={})

    assert found.changes == (
        Change(OFFLOAD, None, True, "use_critic: actor and critic take turns on the same devices"),
        Change(GRAD, None, True, "offload_train: gradients are zeroed before they are used again"),
        Change(PARAM, None, False, "nobody restores the parameters"),
    )


def test_what_is_as_it_was_is_no_change() -> None:
    """The gradients' flag follows from offloading, and then goes back to what it was for the shared buffer."""
    given = Namespace(offload_train=True, use_distributed_optimizer=True, **{GRAD: False, PARAM: False}, **MXFP8)

    assert resolve_offload_arguments(given, environment={}).changes == ()


@dataclass
class Plain:
    offload_train: bool = True
    disable_grad_buffers_cpu_backup: bool = False


@dataclass(frozen=True)
class Frozen:
    offload_train: bool = True
    disable_grad_buffers_cpu_backup: bool = False


@dataclass
class Unpatched:
    offload_train: bool = True


def test_dataclasses_are_changed_or_copied() -> None:
    plain, frozen = Plain(), Frozen()

    assert resolve_offload_arguments(plain, environment={}).arguments is plain
    assert plain == Plain(disable_grad_buffers_cpu_backup=True)
    assert resolve_offload_arguments(frozen, environment={}).arguments == replace(
        frozen, disable_grad_buffers_cpu_backup=True
    )
    with pytest.raises(ArgumentRuleError, match="Unpatched has no disable_grad_buffers_cpu_backup: are the patches"):
        resolve_offload_arguments(Unpatched(), environment={})


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({OFFLOAD: True}, "dict"),
        (None, "NoneType"),
        (Plain, "the class Plain"),
        ((), "tuple"),
        ([], "list"),
        ("x", "str"),
    ],
)
def test_where_nothing_would_be_set_is_refused(arguments: object, kind: str) -> None:
    with pytest.raises(ArgumentRuleError, match=f"a namespace or an object of a dataclass is expected, not {kind}$"):
        resolve_offload_arguments(arguments, environment={})
    assert Plain.disable_grad_buffers_cpu_backup is False


class HalfSlots:
    """A place for the first flag, and none for the second."""

    __slots__ = ("disable_grad_buffers_cpu_backup", "offload_train", "use_critic", "use_distributed_optimizer")

    def __init__(self) -> None:
        self.use_critic, self.use_distributed_optimizer, self.offload_train = True, True, False


def test_where_one_value_cannot_be_set_none_is() -> None:
    given = HalfSlots()
    with pytest.raises(ArgumentRuleError, match="HalfSlots takes no disable_param_buffers_cpu_backup: "):
        resolve_offload_arguments(given, environment={}, restores_parameters=True)

    assert (given.offload_train, hasattr(given, GRAD)) == (False, False)


class Validated:
    """As a model of pydantic, which raises ValueError for what it does not have."""

    def __init__(self) -> None:
        object.__setattr__(self, "use_critic", True)
        object.__setattr__(self, "offload_train", False)

    def __setattr__(self, name: str, value: object) -> None:
        if name == PARAM:
            raise ValueError(f"object has no field {name}")
        object.__setattr__(self, name, value)


def test_a_class_that_validates_is_told_and_left_as_it_was() -> None:
    given = Validated()
    with pytest.raises(ArgumentRuleError, match="Validated takes no disable_param_buffers_cpu_backup: object has no"):
        resolve_offload_arguments(given, environment={})

    assert vars(given) == {"use_critic": True, "offload_train": False}


def test_where_nothing_changes_a_frozen_dataclass_need_not_be_copied() -> None:
    given = NeedsMore("x", offload_train=False)

    assert resolve_offload_arguments(given, environment={}).arguments is given


@dataclass(frozen=True)
class FixedField:
    offload_train: bool = True
    disable_grad_buffers_cpu_backup: bool = field(default=False, init=False)


@dataclass(frozen=True)
class NeedsMore:
    path: InitVar[str]
    offload_train: bool = True
    disable_grad_buffers_cpu_backup: bool = False


@pytest.mark.parametrize("given", [FixedField(), NeedsMore("x")], ids=lambda given: type(given).__name__)
def test_a_frozen_dataclass_that_cannot_be_copied_is_told(given: object) -> None:
    with pytest.raises(ArgumentRuleError, match=f"{type(given).__name__} cannot be copied with other values: "):
        resolve_offload_arguments(given, environment={})


@pytest.mark.network
def test_the_symbols_of_a_release_say_whether_it_will_do(wheel: Wheel) -> None:
    assert resolved({OFFLOAD: True}, symbols=package_symbols(wheel("0.0.10")))[1] == ()
    assert len(broken({OFFLOAD: True}, symbols=package_symbols(wheel("0.0.9.post1")))) == 1


# --- reset_arg


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    made.add_argument_group("profile").add_argument("--record-memory-history", action="store_true", default=True)
    return made


def test_an_option_that_is_there_gets_another_default() -> None:
    made = parser()
    reset_arg(made, "--record-memory-history", default=False, help="other")

    assert made.format_help().split()[-2:] == ["--record-memory-history", "other"]
    assert made.parse_args([]) == Namespace(record_memory_history=False)
    assert made.parse_args(["--record-memory-history"]) == Namespace(record_memory_history=True)


def test_an_option_that_is_there_can_become_another_kind() -> None:
    made = parser()
    reset_arg(made, "--record-memory-history", type=int, default=3)

    assert made.parse_args([]) == Namespace(record_memory_history=3)
    assert made.parse_args(["--record-memory-history", "5"]) == Namespace(record_memory_history=5)
    # Only this one option may take the place of another.
    with pytest.raises(argparse.ArgumentError):
        made._action_groups[-1].add_argument("--record-memory-history")


def test_an_option_keeps_its_destination() -> None:
    made = argparse.ArgumentParser()
    made.add_argument("--record-memory-history", "--history", dest="history", action="store_true")
    reset_arg(made, "--record-memory-history", type=int, default=3)

    assert made.parse_args([]).history == 3
    assert made.parse_args(["--record-memory-history", "5"]) == Namespace(history=5)


def test_an_option_that_is_replaced_still_excludes_others() -> None:
    made = argparse.ArgumentParser(exit_on_error=False)
    either = made.add_mutually_exclusive_group()
    either.add_argument("--record-memory-history", action="store_true")
    either.add_argument("--snapshots", action="store_true")
    reset_arg(made, "--record-memory-history", type=int, default=3)

    with pytest.raises(argparse.ArgumentError, match="not allowed with argument"):
        made.parse_args(["--snapshots", "--record-memory-history", "5"])


def test_an_option_that_is_not_there_is_added() -> None:
    made = argparse.ArgumentParser()
    reset_arg(made, "--record-memory-history", action="store_true")

    assert made.parse_args(["--record-memory-history"]) == Namespace(record_memory_history=True)


# --- enable_no_backup


@dataclass
class OldConfig:
    nccl_ub: bool = False


@dataclass
class NewConfig:
    nccl_ub: bool = False
    disable_grad_buffers_cpu_backup: bool = False
    disable_param_buffers_cpu_backup: bool = False


class KeywordDDP:
    def __init__(self, config: object, disable_grad_buffers_cpu_backup: bool = False) -> None:
        pass


class OtherDDP:
    def __init__(self, config: object, **kwargs: object) -> None:
        pass


def test_a_field_goes_before_a_keyword() -> None:
    config = NewConfig()

    assert enable_no_backup(config, ddp_class=KeywordDDP, param=True) == {}
    assert config == NewConfig(disable_grad_buffers_cpu_backup=True, disable_param_buffers_cpu_backup=True)


def test_a_config_need_not_be_a_dataclass() -> None:
    config = Namespace(**{GRAD: False})

    assert enable_no_backup(config) == {}
    assert config == Namespace(**{GRAD: True})


def test_without_a_field_it_is_a_keyword_that_the_constructor_names() -> None:
    keywords: dict[str, Any] = {"ddp_config": OldConfig()}

    assert enable_no_backup(OldConfig(), ddp_class=KeywordDDP) == {GRAD: True}
    assert enable_no_backup(keywords, ddp_class=KeywordDDP) == {GRAD: True}
    assert keywords == {"ddp_config": OldConfig(), GRAD: True}


def test_keywords_with_a_new_config_are_left_alone() -> None:
    keywords: dict[str, Any] = {"ddp_config": NewConfig()}

    assert enable_no_backup(keywords, ddp_class=OtherDDP) == {}
    assert keywords == {"ddp_config": NewConfig(disable_grad_buffers_cpu_backup=True)}


@pytest.mark.parametrize("ddp_class", [OtherDDP, None])
def test_a_megatron_without_the_patches_is_told(ddp_class: type | None) -> None:
    with pytest.raises(
        CapabilityError, match="this Megatron has no disable_grad_buffers_cpu_backup: looked at the con"
    ):
        enable_no_backup(OldConfig(), ddp_class=ddp_class)


def test_half_of_what_is_wanted_is_nothing() -> None:
    config = OldConfig()
    with pytest.raises(
        CapabilityError, match="no disable_param_buffers_cpu_backup: looked at the config and the const"
    ):
        enable_no_backup(config, ddp_class=KeywordDDP, param=True)

    assert config == OldConfig()


def test_what_is_no_config_of_this_model_is_refused() -> None:
    with pytest.raises(ArgumentRuleError, match="a config is expected, not the class NewConfig: all would have"):
        enable_no_backup(NewConfig)
    assert NewConfig.disable_grad_buffers_cpu_backup is False
    keywords: dict[str, Any] = {"ddp_config": Frozen()}
    with pytest.raises(CapabilityError, match="Frozen is frozen: disable_grad_buffers_cpu_backup cannot be set"):
        enable_no_backup(keywords)
    assert keywords == {"ddp_config": Frozen()}
    # What is on already needs nobody to set it.
    assert enable_no_backup(Frozen(disable_grad_buffers_cpu_backup=True)) == {}


def test_user_buffers_of_nccl_are_refused() -> None:
    with pytest.raises(ArgumentRuleError, match="nccl_ub allocates the buffers in a pool of NCCL"):
        enable_no_backup(NewConfig(nccl_ub=True))
    assert enable_no_backup(NewConfig(nccl_ub=True), grad=False) == {}


@pytest.mark.parametrize("given", [argparse.ArgumentParser(), 3, True])
def test_a_parser_that_nobody_asked_has_no_arguments(given: object) -> None:
    with pytest.raises(ArgumentRuleError) as caught:
        resolve_offload_arguments(given)
    kind = type(given).__name__
    assert caught.value.violations == (f"a namespace or an object of a dataclass is expected, not {kind}",)


@pytest.mark.parametrize(
    ("how", "because"),
    [
        ({}, "nobody restores the parameters"),
        ({"restores_parameters": True, "role": "critic"}, "nobody keeps another copy of a critic's parameters"),
    ],
)
def test_a_flag_that_was_on_is_not_taken_back_in_silence(how: dict[str, Any], because: str) -> None:
    found, warnings = resolved({OFFLOAD: True, PARAM: True}, **how)

    assert found == {OFFLOAD: True, GRAD: True, PARAM: False}
    assert warnings == (f"{PARAM} was on, and is off now: {because}",)


@pytest.mark.parametrize("name", ["record-memory-history", ""])
def test_what_is_no_option_is_not_added_as_an_argument_that_is_always_there(name: str) -> None:
    parser = argparse.ArgumentParser()
    with pytest.raises(ArgumentRuleError) as caught:
        reset_arg(parser, name, action="store_true")
    assert caught.value.violations == (f"an option is expected, such as --record-memory-history, not {name!r}",)
    assert vars(parser.parse_args([])) == {}


def test_ddp_is_a_class() -> None:
    with pytest.raises(ArgumentRuleError) as caught:
        enable_no_backup({}, ddp_class=Namespace())  # type: ignore[arg-type]
    assert caught.value.violations == ("ddp_class is a class, not an object of Namespace",)
