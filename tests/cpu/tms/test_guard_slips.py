"""Slips of somebody new to the guard: each is an error where it is made, and not when the memory is gone."""

from __future__ import annotations

import types
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from patchkit.errors import GuardUseError, HeldError, OrderError, PlacementError
from patchkit.tms import tags
from patchkit.tms.guard import OffloadGuard
from patchkit.tms.placement import ddp_buffers

from .fake_saver import FakeSaver


def made(**options: Any) -> OffloadGuard:
    saver = FakeSaver()
    return OffloadGuard(saver, tracked=saver.counted, free_while_paused=True, **options)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"restore": 3}, "restore is called after each resume, and an object of int cannot be called"),
        ({"restore": [1]}, "restore is called after each resume, and an object of list cannot be called"),
        ({"buffers": [1]}, "buffers is called for the tensors of the tag, and an object of list cannot be called"),
        ({"backup": "no"}, "backup is True or False, not 'no'"),
    ],
)
def test_what_a_tag_is_declared_with_is_looked_at_then_and_not_at_the_resume(
    options: dict[str, Any], rule: str
) -> None:
    guard = made()
    with pytest.raises(OrderError) as caught:
        guard.add_tag("grad_buffer", **{"backup": False, **options})
    assert caught.value.rule == rule
    assert caught.value.tag == "grad_buffer"
    assert list(guard.states) == ["default"]


@pytest.mark.parametrize("pools", [False, True])
@pytest.mark.parametrize("found", [None, SimpleNamespace(zero_=lambda: None), {}, "text"])
def test_buffers_that_are_no_list_of_tensors_are_told(
    found: object,
    pools: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where torch says what is in use, before anything is paused; a tensor would be zeroed number by number."""
    guard = made()
    guard.add_tag("grad_buffer", backup=False, buffers=lambda: found)  # type: ignore[arg-type,return-value]
    if pools:
        monkeypatch.setattr(tags, "placements_of", lambda _saver: SimpleNamespace(requested_bytes=lambda _tag: 4))
    else:
        guard.pause()
    with pytest.raises(OrderError) as caught:
        (guard.pause if pools else guard.resume)()
    assert caught.value.rule == f"it returned an object of {type(found).__name__}, not a list of tensors"
    assert bool(guard.saver.calls) is not pools


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda guard: guard.take_hold("groups", tags="default"), "tags"),
        (lambda guard: guard.save(reads="default").__enter__(), "reads"),
        (lambda guard: guard.export(reads="default").__enter__(), "reads"),
        (lambda guard: list(guard.named_parameters(None, tags="default")), "tags"),
    ],
)
def test_one_name_where_a_list_belongs_is_not_taken_for_its_letters(
    call: Callable[[OffloadGuard], object], what: str
) -> None:
    with pytest.raises(OrderError) as caught:
        call(made())
    assert caught.value.rule == f"{what} is a list of tags, and this is one text"
    assert caught.value.hint == "['default']"


@pytest.mark.parametrize("section", ["save", "export", "update", "step"])
def test_contents_are_said_by_tag(section: str) -> None:
    with pytest.raises(OrderError) as caught, getattr(made(), section)(contents="actor"):
        pytest.fail("entered")
    assert caught.value.rule == "contents says by tag what has to be in there, such as {'param_buffer': 'actor'}"


@pytest.mark.parametrize("name", ["", 3, ["default"], "a\0b"])
@pytest.mark.parametrize("call", ["pause", "resume", "restore", "mark_restored", "epoch", "check_readable"])
def test_a_tag_that_no_tag_can_be_called_is_said_to_be_that(call: str, name: Any) -> None:
    with pytest.raises(OrderError) as caught:
        getattr(made(), call)(name)
    assert caught.value.rule == "the name of a tag is a text that is not empty and can be printed"
    assert caught.value.tag == repr(name)


def test_only_what_take_hold_returned_can_be_released() -> None:
    guard = made()
    held = guard.take_hold("process groups")
    for wrong in ("process groups", None, guard.hold("process groups")):
        with pytest.raises(GuardUseError, match="release") as caught:
            guard.release(wrong)  # type: ignore[arg-type]
        assert caught.value.hint == "pass what take_hold() returned; hold() is for a with statement, which releases"
    with pytest.raises(HeldError):
        guard.pause()
    guard.release(held)
    assert guard.pause() == ("default",)


@pytest.mark.parametrize("saver", [types.ModuleType("torch_memory_saver"), object(), "0.0.10"])
def test_a_saver_that_pauses_nothing_is_none(saver: object) -> None:
    with pytest.raises(GuardUseError) as caught:
        OffloadGuard(saver)
    assert caught.value.message.endswith(f"an object of {type(saver).__name__} has no pause, resume and region")
    assert caught.value.hint == "from torch_memory_saver import torch_memory_saver, or leave it out"


@pytest.mark.parametrize("name", ["tracked", "host_memory", "device_memory"])
def test_a_figure_is_asked_for_anew_each_time(name: str) -> None:
    made_with: Any = {name: 5}
    with pytest.raises(GuardUseError) as caught:
        OffloadGuard(FakeSaver(), **made_with)
    assert caught.value.message.endswith(f"{name} is called at each pause or resume, and an object of int cannot be")


@pytest.mark.parametrize(
    ("chunks", "words"),
    [
        ([], "there is no model chunk"),
        (SimpleNamespace(buffers=[]), "the model chunks are an object of SimpleNamespace, not a list"),
        ([SimpleNamespace()], "chunk 0 is a SimpleNamespace, which has no list of buffers"),
        ([SimpleNamespace(buffers=[].copy)], "chunk 0 is a SimpleNamespace, which has no list of buffers"),
    ],
)
def test_a_model_in_which_no_buffer_can_be_looked_for_is_not_a_model_without_any(chunks: Any, words: str) -> None:
    """A module of torch has a method `buffers`; with none found, nothing would be checked and nothing zeroed."""
    with pytest.raises(PlacementError) as caught:
        ddp_buffers(chunks)
    assert caught.value.message == words
    assert caught.value.hint == "pass the list of Megatron's DistributedDataParallel objects, without a wrapper"
