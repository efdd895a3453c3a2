from __future__ import annotations

import pytest

from patchkit import carry_file
from patchkit.core.carry import Status
from patchkit.core.gating.gates import Alarm, Rule, alarms

# megatron/core/model_parallel_config.py in small.
HEAD = b"""\
import dataclasses
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import ClassVar, NamedTuple


"""
BODY = b"    hidden_size: int\n    num_layers: int\n"
DEFAULTS = b"    hidden_size: int = 0\n    num_layers: int = 0\n"
REST = b"    # The rest.\n"
METHOD = b"\n    def finalize(self):\n        return self\n"


def config(body: bytes, decorator: bytes = b"@dataclass\n", bases: bytes = b"") -> bytes:
    return HEAD + decorator + b"class ModelParallelConfig" + bases + b":\n" + body + METHOD


def misplaced(line: int, name: str) -> Alarm:
    message = f"{name} has no default and stands behind a field of ModelParallelConfig that has one"
    return Alarm(Rule.MISPLACED, line, name, message)


def told(added: bytes, decorator: bytes = b"@dataclass\n", bases: bytes = b"") -> tuple[Alarm, ...]:
    """What the gates say where one side gives the fields defaults and the other one adds something."""
    base, changed, target, result = (
        config(body, decorator, bases) for body in (BODY, DEFAULTS, BODY + added, DEFAULTS + added)
    )
    answer = alarms(base, changed, target, result)
    assert answer == alarms(base, target, changed, result)
    return answer


def is_refused(text: bytes) -> bool:
    """Tell whether Python refuses to make the class."""
    try:
        exec(compile(text, "x.py", "exec", dont_inherit=True), {"__name__": "builtins"})  # noqa: S102 - of this file
    except TypeError:
        return True
    return False


@pytest.mark.parametrize(
    ("added", "decorator"),
    [
        (b"    ffn_size: int\n", b"@dataclass\n"),
        (b"    ffn_size: int\n", b"@dataclasses.dataclass(frozen=True)\n"),
        (b"    ffn_size: list = field(repr=False)\n", b"@dataclass\n"),
        (b"    ffn_size: InitVar[int]\n", b"@dataclass(kw_only=False)\n"),
        (b"    kind: ClassVar[str] = ''\n    ffn_size: int\n", b"@dataclass\n"),
        (b"    ffn_size: int\n    _: KW_ONLY\n", b"@dataclass\n"),
    ],
)
def test_a_field_without_default_behind_one_that_the_other_side_gave_a_default(added: bytes, decorator: bytes) -> None:
    assert is_refused(config(DEFAULTS + added, decorator))

    assert told(added, decorator) == (misplaced(10 + added.startswith(b"    kind"), "ffn_size"),)


@pytest.mark.parametrize(
    ("added", "decorator"),
    [
        (b"    ffn_size: int = 0\n", b"@dataclass\n"),
        (b"    ffn_size: list = field(default_factory=list)\n", b"@dataclass\n"),
        (b"    ffn_size: list = dataclasses.field(default=1)\n", b"@dataclass\n"),
        (b"    ffn_size: int = field(init=False)\n", b"@dataclass\n"),
        (b"    ffn_size: int = field(kw_only=True)\n", b"@dataclass\n"),
        (b"    ffn_size: ClassVar[int]\n", b"@dataclass\n"),
        (b"    _: KW_ONLY\n    ffn_size: int\n", b"@dataclass\n"),
        (b"    ffn_size: int\n", b"@dataclass(kw_only=True)\n"),
        (b"    ffn_size: int\n", b"@dataclass(init=False)\n"),
        (b"    ffn_size: int\n", b""),
    ],
)
def test_fields_whose_order_python_takes(added: bytes, decorator: bytes) -> None:
    assert not is_refused(config(DEFAULTS + added, decorator))

    assert told(added, decorator) == ()


def test_a_named_tuple_has_an_order_as_well() -> None:
    assert told(b"    ffn_size: int\n", b"", b"(NamedTuple)") == (misplaced(9, "ffn_size"),)


def test_one_side_makes_it_a_dataclass() -> None:
    base, target = config(BODY, b""), config(DEFAULTS + b"    ffn_size: int\n", b"")
    changed, result = config(BODY), config(DEFAULTS + b"    ffn_size: int\n")

    assert alarms(base, changed, target, result) == (misplaced(10, "ffn_size"),)
    assert alarms(base, target, changed, result) == (misplaced(10, "ffn_size"),)


def test_a_class_that_a_side_has_wrong_is_nobodys_merge_error() -> None:
    wrong = DEFAULTS + b"    ffn_size: int\n"
    base, changed, target = config(BODY), config(wrong), config(BODY + b"    heads: int\n")

    assert alarms(base, changed, target, config(wrong + b"    heads: int\n")) == ()


def test_a_merge_of_fields_that_comes_to_this_is_refused() -> None:
    base, changed, target = config(BODY), config(DEFAULTS), config(BODY + b"    ffn_size: int\n")
    for ours, theirs in ((changed, target), (target, changed)):
        assert carry_file(base, ours, theirs, "model_parallel_config.py").status is Status.CONFLICT
    # With a line between them nothing meets, and a merge of lines is for review.
    base, changed, target = (
        config(body) for body in (BODY + REST, DEFAULTS + REST, BODY + REST + b"    ffn_size: int\n")
    )
    for ours, theirs in ((changed, target), (target, changed)):
        result = carry_file(base, ours, theirs, "model_parallel_config.py")
        expected = Status.REVIEW, config(DEFAULTS + REST + b"    ffn_size: int\n")
        assert (result.status, result.content) == expected
