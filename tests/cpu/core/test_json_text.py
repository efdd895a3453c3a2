from __future__ import annotations

import msgspec

from patchkit.core.json_text import to_json
from patchkit.core.report import Problem


def test_json_has_bytes_of_a_name_that_are_no_text_as_escapes() -> None:
    value = {"a\udcff": [Problem("no \udc80", path="d\udcfe/\u2028")], "n": (1, None, True)}

    found = msgspec.json.decode(to_json(value))
    assert found["n"] == [1, None, True]
    (told,) = found["a\\udcff"]
    assert (told["message"], told["path"]) == ("no \\udc80", "d\\udcfe/\u2028")


def test_json_of_text_is_that_of_msgspec() -> None:
    value = [Problem("\x85 \U0001f600", path="é")]

    assert to_json(value) == msgspec.json.encode(value)
