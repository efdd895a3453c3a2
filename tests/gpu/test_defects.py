"""An older torch_memory_saver shows the defects for which the series asks for 0.0.10, and triage recognises them."""

from __future__ import annotations

import io

import pytest

from patchkit.operations.sources import load_workspace
from patchkit.tms.cycle import matrix
from patchkit.tms.cycle.cases import Case
from patchkit.tms.triage import triage

from .conftest import Ask, over
from .test_cycle import each

pytestmark = pytest.mark.gpu


@over(each(matrix.double_releases))
def test_freeing_paused_memory_ends_the_process_and_triage_says_why(ask: Ask, cases: tuple[Case]) -> None:
    answered = ask(cases[0])
    found = triage(io.BytesIO(answered.said[0].encode()), load_workspace().versions.torch_memory_saver)

    assert (answered.codes, answered.answers) == ((1,), ({},)), answered.failure
    assert [finding.signature.id for finding in found.findings if finding.signature.severity == "fatal"] == [
        "double-release"
    ]


@over(each(matrix.nested_regions))
def test_a_flag_in_a_tracked_process_is_an_assertion(ask: Ask, cases: tuple[Case]) -> None:
    found = ask(cases[0]).answers[0]

    assert (found.get("raised"), found.get("where")) == ("AssertionError", "_with_region_config")
