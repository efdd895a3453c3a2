from __future__ import annotations

import pytest

from patchkit.core.toml_text import parse_toml

LONG = ".".join(["a"] * 101)


@pytest.mark.parametrize(
    "line",
    [
        f"{LONG} = 1",
        f"[{LONG}]",
        f"[[ {LONG} ]]",
        f"x = {{ {LONG} = 1 }}",
        f"{' . '.join(['a'] * 101)} = 1",
        ".".join(['"b c"', "'d'", "e"] * 34) + " = 1",
    ],
)
def test_a_key_of_more_than_a_hundred_parts_is_refused_by_its_line(line: str) -> None:
    with pytest.raises(ValueError, match=r"^it has a key of more than 100 parts \(at line 2\)$"):
        parse_toml(f"first = 1\n{line}\n")


def test_dots_elsewhere_are_no_parts_of_a_key() -> None:
    key = ".".join(["a"] * 100)
    value: object = 1
    for part in key.split("."):
        value = {part: value}
    text = f"{key} = 1\nb = '{LONG}'\nc = \"{'.' * 500}\"\nd = [{'1.5, ' * 200}]\n"

    assert parse_toml(text) == {"a": value["a"], "b": LONG, "c": "." * 500, "d": [1.5] * 200}  # type: ignore[index]
