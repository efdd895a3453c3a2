"""What the commands give as JSON is of the schemas that are shipped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

import patchkit as package
from patchkit import __version__

from .conftest import Wheel

Command = Callable[..., tuple[int, str, str]]
SCHEMAS = Path(package.__file__).parent / "schemas"
CRASH = "[torch_memory_saver.cpp] CUresult error: 1 (invalid argument)  file=csrc/core.cpp func=free line=81\n"


def told(command: Command, name: str, *words: str | Path) -> dict[str, object]:
    """The answer of a command, which has to be of its schema and to say what its exit code says."""
    code, out, err = command(*name.split(), *words, "--format", "json")
    answer: dict[str, object] = json.loads(out)
    schema = json.loads((SCHEMAS / f"{name.replace(' ', '_').replace('-', '_')}_report.schema.json").read_text())

    validator = jsonschema.Draft202012Validator(schema)
    assert ([f"{error.json_path}: {error.message}" for error in validator.iter_errors(answer)], err) == ([], "")
    # Nothing is told that the schema does not know.
    known = next(value for value in schema["$defs"].values() if value.get("title") == schema["$ref"].split("/")[-1])
    assert set(answer) == set(known["properties"])
    assert {key: answer[key] for key in ("schema", "tool", "command", "ok")} == {
        "schema": 1,
        "tool": __version__,
        "command": name,
        "ok": code == 0,
    }
    return answer


@pytest.mark.parametrize("version", ["0.0.8", "0.0.9.post1", "0.0.10"])
def test_identify(command: Command, version: str) -> None:
    answer = told(command, "tms identify", version)

    assert (answer["version"], answer["meets-minimum"]) == (version, version == "0.0.10")


def test_identify_python_files_alone(command: Command, wheel: Wheel, tmp_path: Path) -> None:
    (tmp_path / "torch_memory_saver").mkdir()
    (tmp_path / "torch_memory_saver" / "__init__.py").write_text("")

    assert told(command, "tms identify", tmp_path)["libraries"] == []


@pytest.mark.parametrize("version", ["0.0.8", "0.0.10"])
def test_probe(command: Command, version: str) -> None:
    assert told(command, "tms probe", version)["version"] == version


def test_triage(command: Command, tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.log", tmp_path / "good.log"
    bad.write_text(f"[rank3]: {CRASH}")
    good.write_text("hello\n")

    answer = told(command, "tms triage", bad, good)
    assert isinstance(answer["logs"], list)
    assert [(each["log"], each["fatal"]) for each in answer["logs"]] == [(str(bad), True), (str(good), False)]
    assert answer["logs"][0]["triage"]["findings"][0]["first-line"] == 1


@pytest.mark.parametrize("words", [("--cuda-major", "13"), ("--rocm",)])
def test_build_env(command: Command, words: tuple[str, ...]) -> None:
    told(command, "tms build-env", *words)


def test_an_error_names_the_command_in_its_group(command: Command) -> None:
    code, out, _ = command("tms", "identify", "/nowhere", "--format", "json")

    assert (code, json.loads(out)["command"], json.loads(out)["ok"]) == (4, "tms identify", False)
