from __future__ import annotations

from pathlib import Path

import pytest

from patchkit.core.series import SeriesDocument
from patchkit.errors import StoreError
from patchkit.store.cache import ContentCache, default_cache
from patchkit.store.documents import parse_document

from .made_up import SERIES


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATCHKIT_CACHE", str(tmp_path / "here"))

    assert tmp_path / "here" == default_cache()


@pytest.mark.parametrize("named", [None, ""], ids=["not set", "empty"])
def test_without_a_word_the_cache_is_the_users(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: str | None
) -> None:
    monkeypatch.delenv("PATCHKIT_CACHE")
    if named is not None:
        monkeypatch.setenv("PATCHKIT_CACHE", named)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    assert default_cache().is_relative_to(tmp_path)
    assert default_cache().name == "patchkit"


@pytest.mark.parametrize("value", [{"a": [1, None, "é", 0.5, True], "b": {}}, [], "", 0, False, {1: "x"}], ids=repr)
def test_a_kept_value_is_given_back(tmp_path: Path, value: object) -> None:
    ContentCache(tmp_path / "new").put("yaml", "key", value)

    assert value == ContentCache(tmp_path / "new").get("yaml", "key")
    assert [tmp_path / "new" / "yaml" / "key"] == [path for path in tmp_path.rglob("*") if path.is_file()]


def test_what_was_not_kept_is_not_there(tmp_path: Path) -> None:
    cache = ContentCache(tmp_path)
    cache.put("yaml", "key", 1)
    cache.put("yaml", "other", 2)
    cache.put("checks", "key", 3)

    found = [
        cache.get(kind, key)
        for kind, key in (("yaml", "key"), ("yaml", "other"), ("checks", "key"), ("checks", "other"))
    ]
    assert found == [1, 2, 3, None]


def test_a_damaged_entry_is_not_there_and_can_be_kept_again(tmp_path: Path) -> None:
    cache = ContentCache(tmp_path)
    cache.put("yaml", "key", ["long enough to be cut"])
    entry = tmp_path / "yaml" / "key"
    entry.write_bytes(entry.read_bytes()[:-1])

    assert cache.get("yaml", "key") is None
    cache.put("yaml", "key", 1)
    assert cache.get("yaml", "key") == 1


def cyclic() -> list[object]:
    """A list that holds itself."""
    value: list[object] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value", [1 << 70, "\ud800", object(), cyclic()], ids=["large number", "no text", "no plain value", "cyclic"]
)
def test_a_value_that_cannot_be_kept_is_no_error(tmp_path: Path, value: object) -> None:
    ContentCache(tmp_path).put("yaml", "key", value)

    assert list(tmp_path.rglob("*")) == []


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = ContentCache(tmp_path / "file")
    cache.put("yaml", "key", 1)

    assert cache.get("yaml", "key") is None


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_self: Path, _content: bytes) -> int:
        raise OSError

    monkeypatch.setattr(Path, "write_bytes", full)
    ContentCache(tmp_path).put("yaml", "key", 1)

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_the_same_text_is_parsed_once_whatever_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    first = parse_document(SeriesDocument, SERIES.encode(), "a.yaml")
    monkeypatch.setattr("patchkit.store.yaml_text.parse_yaml", lambda text, file: pytest.fail(f"parsed {file} again"))

    assert first == parse_document(SeriesDocument, SERIES.encode(), "b.yaml")


def test_a_wrong_document_is_wrong_with_the_same_words_the_second_time() -> None:
    messages: list[str] = []
    for _ in range(2):
        with pytest.raises(StoreError) as caught:
            parse_document(SeriesDocument, SERIES.replace("package: m", "package: 1").encode(), "f.yaml")
        messages.append(caught.value.message)

    assert messages == ["f.yaml: package (line 2): Expected `str`, got `int`"] * 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"\ta", r"^f\.yaml: line 1, column 1: not valid YAML: "),
        (b"# nothing\n", r"^f\.yaml: there is nothing in it$"),
    ],
    ids=["malformed", "empty"],
)
def test_a_text_without_a_value_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes, problem: str
) -> None:
    monkeypatch.setenv("PATCHKIT_CACHE", str(tmp_path))
    for _ in range(2):
        with pytest.raises(StoreError, match=problem):
            parse_document(SeriesDocument, text, "f.yaml")

    assert list(tmp_path.rglob("*")) == []


def test_a_text_that_differs_at_its_end_is_another_text() -> None:
    found = [
        parse_document(SeriesDocument, SERIES.encode() + end, "f.yaml").patches[-1].name
        for end in (b"", b"\n  - name: five")
    ]

    assert found == ["four", "five"]
