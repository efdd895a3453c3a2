from __future__ import annotations

import itertools

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit.errors import StoreError, UsageError
from patchkit.store import yaml_text
from patchkit.store.yaml_text import line_of, parse_yaml, print_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 2026-11-29\n", {"a": "2026-11-29"}),
        ("a: 2026-11-29T10:00:00Z\n", {"a": "2026-11-29T10:00:00Z"}),
        ("a: '1'\nb: 1\nc: 0.12\nd: 0.12.0\n", {"a": "1", "b": 1, "c": 0.12, "d": "0.12.0"}),
        ("a: ~\nb: null\nc:\nd: true\n", {"a": None, "b": None, "c": None, "d": True}),
        ("a: |\n  one\n  two\nb: >-\n  one\n  two\n", {"a": "one\ntwo\n", "b": "one two"}),
        ("- &x {k: 1}\n- {<<: *x, l: 2}\n- {<<: *x, k: 3}\n", [{"k": 1}, {"k": 1, "l": 2}, {"k": 3}]),
        ("b: 1\na: 2\n", {"b": 1, "a": 2}),
        ("", None),
    ],
    ids=["date", "time", "numbers", "null", "blocks", "merged", "order", "empty"],
)
def test_yaml_becomes_plain_values_and_a_date_stays_text(text: str, value: object) -> None:
    found = parse_yaml(text.encode(), "f.yaml")

    assert value == found
    assert not isinstance(value, dict) or list(value) == list(found)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("text", "where", "problem"),
    [
        (b"a: 1\nb: 2\na: 3\n", "line 3, column 1", "key 'a' is given twice"),
        (b"x:\n  - {a: 1, a: 2}\n", "line 2, column 12", "key 'a' is given twice"),
        (b"1: a\n'1': b\n", "line 2, column 1", "key '1' is given twice"),
        (b"a:\n  - x\n - y\n", "line 3, column 2", "did not find expected key"),
        (b"a:\n  b: 1\n   c: 2\n", "line 3, column 5", "mapping values are not allowed in this context"),
        (b"a:\n\tb: 1\n", "line 2, column 1", "found character that cannot start any token"),
        (b"a: [1\n", "line 2, column 1", "did not find expected ',' or ']'"),
        (
            b"a: !!python/object:os.system {}\n",
            "line 1, column 4",
            "could not determine a constructor for the tag 'tag:yaml.org,2002:python/object:os.system'",
        ),
        (b"a: 1\n---\nb: 2\n", "line 2, column 1", "but found another document"),
        (b"? [a]\n: 1\n", "line 1, column 3", "found unhashable key"),
        (b"a: !!int x\n", "line 1, column 4", "not a value of the tag 'tag:yaml.org,2002:int'"),
        (b"a: [!!float '']\n", "line 1, column 5", "not a value of the tag 'tag:yaml.org,2002:float'"),
        (b"a:\n  b: !!timestamp x\n", "line 2, column 6", "not a value of the tag 'tag:yaml.org,2002:timestamp'"),
        (b"a: !!bool x\n", "line 1, column 4", "not a value of the tag 'tag:yaml.org,2002:bool'"),
        (b"a: " + b"9" * 5000 + b"\n", "line 1, column 4", "not a value of the tag 'tag:yaml.org,2002:int'"),
    ],
    ids=[
        "key twice",
        "key twice further in",
        "key twice as number and text",
        "sequence indented less",
        "mapping indented more",
        "tab",
        "not closed",
        "object",
        "two documents",
        "list as a key",
        "no number",
        "no fraction",
        "no date",
        "no truth",
        "number of too many digits",
    ],
)
def test_malformed_yaml_is_refused_with_its_line(text: bytes, where: str, problem: str) -> None:
    with pytest.raises(StoreError) as caught:
        parse_yaml(text, "f.yaml")

    found = (caught.value.file, caught.value.key, caught.value.message)
    assert ("f.yaml", where, f"f.yaml: {where}: not valid YAML: {problem}") == found


@pytest.mark.parametrize("text", [b"a: \xff\n", b"a: \0\n"], ids=["no UTF-8", "control character"])
def test_bytes_that_are_no_yaml_text_are_refused_with_the_file(text: bytes) -> None:
    with pytest.raises(StoreError, match=r"^f\.yaml: not valid YAML: unacceptable character"):
        parse_yaml(text, "f.yaml")


NESTED = b"""\
# comment

schema: 1
hunks:
  - id: a
    file: x

  - id: b
    files: [p,
            q]
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ([], 3),
        (["schema"], 3),
        (["hunks"], 4),
        (["hunks", 0], 5),
        (["hunks", 0, "file"], 6),
        (["hunks", 1], 8),
        (["hunks", 1, "files", 1], 10),
        (["hunks", 1, "missing"], 8),
        (["hunks", 7, "id"], 4),
        (["missing", 0], 3),
        (["schema", "below"], 3),
    ],
    ids=str,
)
def test_the_line_of_a_key_is_its_own_or_that_of_the_nearest_parent(path: list[str | int], line: int) -> None:
    assert line == line_of(NESTED, path)


@pytest.mark.parametrize("text", [b"", b"a: ["], ids=["empty", "malformed"])
def test_a_text_without_a_document_has_no_lines(text: bytes) -> None:
    assert line_of(text, ["a"]) is None


plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.dates().map(str)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=12,
)


@settings(deadline=None)
@given(plain)
def test_printed_values_are_parsed_back(value: object) -> None:
    assert value == parse_yaml(print_yaml(value, "by hand"), "f.yaml")


def test_values_are_printed_in_block_style_in_their_order_below_the_comment() -> None:
    long = "word " * 30
    value = {"b": {"z": None, "a": ["1", 1]}, "a": long + "end", "date": "2026-11-29"}

    expected = f"# Made.\n# Do not edit.\nb:\n  z: null\n  a:\n  - '1'\n  - 1\na: {long}end\ndate: '2026-11-29'\n"
    assert expected.encode() == print_yaml(value, "Made.\nDo not edit.")


def bomb(levels: int) -> bytes:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, levels)]
    return "\n".join(lines).encode() + b"\n"


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("value", [{"a": ["b\udcff"]}, {"a\ud800": 1}, ["one\n\udcfftwo\n"]])
def test_a_text_that_nobody_could_read_again_is_not_printed(value: object, blocks: bool) -> None:
    with pytest.raises(UsageError, match=r"^'[^']*\\ud[^']*' is not UTF-8, as names and texts in YAML must be$"):
        print_yaml(value, "", blocks=blocks)


@pytest.mark.parametrize("value", [{"a": "Gr\u00fc\u00dfe\u2028 \U0001f600 \u202e"}, {"\ufeffa": "\x1b\x00"}])
def test_any_other_text_is(value: object) -> None:
    assert parse_yaml(print_yaml(value, ""), "x") == value


def test_aliases_that_make_far_more_of_a_text_than_it_has_are_refused() -> None:
    assert parse_yaml(bomb(5), "f.yaml")
    with pytest.raises(StoreError) as caught:
        parse_yaml(bomb(30), "f.yaml")
    assert caught.value.message == "f.yaml: line 6: aliases make 1111111 values of it"


def test_a_value_within_itself_is_refused() -> None:
    with pytest.raises(StoreError, match=r"^f\.yaml: line 1: aliases make 1000002 values of it"):
        parse_yaml(b"a: &a [*a]\n", "f.yaml")


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(StoreError, match="not valid YAML"):
        parse_yaml(b"[" * 100_000, "f.yaml")


@pytest.mark.parametrize("text", [b"a:\n  b: 1\nc: 2\n", b"- \n- \n- [{}, []]\n", b"{a,\nb,\nc: d}"])
def test_more_values_than_are_read_are_refused_with_the_line(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "_MOST_VALUES", 6)
    assert parse_yaml(text[: text.index(b"\n", 5)] + (b"}" if text[:1] == b"{" else b""), "f.yaml") is not None
    monkeypatch.setattr(yaml_text, "_MOST_VALUES", 5)
    with pytest.raises(StoreError) as caught:
        parse_yaml(text, "f.yaml")

    assert caught.value.message == "f.yaml: line 3: it has more than 5 values"


class _Slowly(yaml.SafeDumper):
    """PyYAML as it is, with texts of several lines as literal blocks."""


_Slowly.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)


@pytest.mark.parametrize("alphabet", ["\n a-", "\n #:x", "\na\t", "\na\xe9 ", "\n'\"a", "\na\r\x85"])
def test_a_block_of_many_lines_is_printed_as_pyyaml_prints_it(alphabet: str) -> None:
    texts = ["".join(letters) for length in range(1, 6) for letters in itertools.product(alphabet, repeat=length)]
    value = {"top": texts[0], "list": texts, "deep": {"deeper": [{"text": text} for text in texts[:400]]}}

    dumped = yaml.dump(value, Dumper=_Slowly, sort_keys=False, default_flow_style=False, width=1000)
    printed = print_yaml(value, "", blocks=True).decode()
    assert printed == dumped
    assert parse_yaml(printed.encode(), "f.yaml") == value
