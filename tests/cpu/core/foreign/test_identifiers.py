from __future__ import annotations

import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.foreign.identifiers import defined, names, slug, words


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"    total = first + second  # and third\n", {"total", "first", "second"}),
        (b'raise ValueError("some words here")\n', set()),
        (b'group.add_argument("--use-thing", type=int)\n', {"group", "add_argument", "use_thing"}),
        (b"getattr(config, 'flag', None)\n", {"config", "flag"}),
        (b'os.environ.get("MY_FLAG", "")\n', {"os", "environ", "get", "MY_FLAG"}),
        (b"for item in self.items: pass\n", {"item", "items"}),
        (b'x = f"{y}" + """z"""\n', {"x"}),
        (b"\xff\xfe name\n", {"name"}),
    ],
)
def test_names_are_identifiers_and_texts_of_one_word(line: bytes, expected: set[str]) -> None:
    assert names([line]) == expected


@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_long_text_takes_no_memory_for_each_of_its_characters(quote: str) -> None:
    line = f"x = {quote}{'word ' * 100_000}{quote} + y".encode()
    tracemalloc.start()
    try:
        found = names([line])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert found == {"x", "y"}
    assert peak < 10 * len(line)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"def thing(a, b):\n", {"thing"}),
        (b"    async def thing(self):\n", {"thing"}),
        (b"class Thing(Base):\n", {"Thing"}),
        (b"    field: bool = False\n", {"field"}),
        (b"    field: bool\n", {"field"}),
        (b"    self.thing = 1\n", {"thing"}),
        (b"    keyword=value,\n", {"keyword"}),
        (b"    parameter,\n", {"parameter"}),
        (b"from a import b as c\n", {"c"}),
        (b"import a\n", {"a"}),
        (b'    "--some-option", action="store_true"\n', {"some_option"}),
        (b"    if thing == other:\n", set()),
        (b"    call(thing)\n", set()),
    ],
)
def test_what_a_line_brings_in(line: bytes, expected: set[str]) -> None:
    assert defined([line]) == expected


def test_words_of_an_identifier() -> None:
    assert words("_FakeInt4Quantization_STE") == ["fake", "int4", "quantization", "ste"]
    assert words("use-thing") == words("useThing") == words("use_thing") == ["use", "thing"]


@pytest.mark.parametrize(
    ("parts", "limit", "expected"),
    [
        (("A.__init__", "flag"), 48, "a-init-flag"),
        (("one two three",), 8, "one-two"),
        (("abcdefghij",), 4, "abcd"),
        (("__",), 48, "change"),
        ((), 48, "change"),
    ],
)
def test_slugs(parts: tuple[str, ...], limit: int, expected: str) -> None:
    assert slug(*parts, limit=limit) == expected


@given(st.text(), st.integers(1, 30))
def test_a_slug_is_always_a_name_that_patch_yaml_takes(text: str, limit: int) -> None:
    made = slug(text, limit=max(limit, 6))

    assert re.fullmatch(r"[a-z0-9][a-z0-9-]*", made)
    assert len(made) <= max(limit, 6)
