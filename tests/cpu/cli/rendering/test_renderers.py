from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import patchkit
from patchkit.cli.rendering.places import Places
from patchkit.cli.rendering.renderers import RENDERERS, render
from patchkit.core.upstream_report import UpstreamReport

from .reports import all_fine, everything, report


@pytest.mark.parametrize("style", RENDERERS)
@pytest.mark.parametrize("answer", [everything(), all_fine(2), report()], ids=["everything", "fine", "nothing"])
def test_a_form_is_empty_or_ends_its_last_line_once_and_is_always_the_same(style: str, answer: UpstreamReport) -> None:
    text = render(answer, style)

    assert (text[-1:], text.endswith("\n\n")) in {("\n", False), ("", False)}
    assert render(answer, style) == text


@settings(max_examples=30, deadline=None)
@given(st.text())
def test_nothing_that_a_terminal_obeys_is_in_any_form(text: str) -> None:
    answer = everything(text)
    obeyed = {
        style: line for style in RENDERERS for line in render(answer, style).split("\n") if not line.isprintable()
    }

    assert obeyed == {}


def test_places_reach_the_forms_that_name_files() -> None:
    places = Places("over/there")
    named = [style for style in RENDERERS if "over/there/series.yaml" in render(everything(), style, places=places)]

    assert named == ["sarif", "github"]


def test_width_and_colour_reach_the_text() -> None:
    wide = render(everything(), "text", width=150, colour=True)

    assert (max(map(len, wide.splitlines())) > 120, "\x1b[31m" in wide) == (True, True)


def test_a_form_that_there_is_not_is_an_error() -> None:
    with pytest.raises(KeyError):
        render(report(), "yaml")


def test_the_names_of_the_forms_are_had_without_what_draws_them() -> None:
    code = "import sys, patchkit.cli.rendering.renderers; print([m for m in ('rich', 'xml') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=Path(patchkit.__file__).parents[1],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "[]\n"
