from __future__ import annotations

import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest

import patchkit
from patchkit.cli.rendering.as_json import render_json
from patchkit.core.upstream_report import UpstreamReport

from .reports import all_fine, everything, report

SCHEMA = json.loads((Path(patchkit.__file__).parent / "schemas" / "upstream_report.schema.json").read_text())


@pytest.mark.parametrize("answer", [everything(), all_fine(2), report()], ids=["everything", "fine", "nothing"])
def test_json_is_the_report_and_meets_the_shipped_schema(answer: UpstreamReport) -> None:
    text = render_json(answer)

    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(text))
    assert msgspec.json.decode(text, type=UpstreamReport) == answer


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("targets", 0, "state"), "perfect", "'perfect' is not one of"),
        (("targets", 0, "title"), None, "None is not of type 'string'"),
        (("found", 0, "where"), "index", "'index' is not of type 'array'"),
        (("verdict",), "error", "'error' is not one of"),
    ],
)
def test_the_schema_refuses_what_the_type_does(path: tuple[str | int, ...], value: object, message: str) -> None:
    changed = json.loads(render_json(everything()))
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    problems = [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(changed)]

    assert [problem.startswith(message) for problem in problems] == [True]
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(changed, UpstreamReport)


def test_json_has_no_character_that_a_terminal_obeys() -> None:
    assert [line for line in render_json(everything()).split("\n") if not line.isprintable()] == []
