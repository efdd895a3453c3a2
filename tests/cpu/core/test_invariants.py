from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit.core.invariants import CheckResult, Match, PythonText, run_check
from patchkit.core.series import CheckSpec

# Not in the order of their names, which is that of the matches.
FILES = {
    "other.py": b"torch.zeros(2)\n",
    "m/a.py": b"import torch\n\nbuffer = torch.zeros(4)\nwith region('grad'):\n    buffer = torch.zeros(8)\n",
    "m/n/b.py": b"def zeros(n):\n    return torch.zeros(n)\n",
    "m/n/c.py": b"# torch.zeros(1) in a comment, and bytes that are no text: \xff\nx = 'torch.zeros(1)'\n",
}

INSIDE = {"pattern": "torch.zeros($N)", "inside": {"kind": "with_statement", "stopBy": "end"}}


def check(rule: Mapping[str, Any], *, files: tuple[str, ...] = ("m/**/*.py",), **fields: Any) -> CheckSpec:
    """A check with what this test does not care about filled in."""
    return CheckSpec(**{"id": "zeros", "files": files, "count": 1, "intent": "why", "rule": dict(rule), **fields})


def outcome(spec: CheckSpec, files: Mapping[str, bytes] = FILES) -> CheckResult:
    """What the check finds."""
    return run_check("patch", spec, {path: PythonText(content) for path, content in files.items()})


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        (check({"pattern": "torch.zeros($N)"}), [("m/a.py", 3), ("m/a.py", 5), ("m/n/b.py", 2)]),
        (check({"pattern": "torch.zeros($N)"}, files=("m/*.py",)), [("m/a.py", 3), ("m/a.py", 5)]),
        (check({"pattern": "torch.zeros($N)"}, files=("other.py", "m/n/*.py")), [("m/n/b.py", 2), ("other.py", 1)]),
        (check({"pattern": "torch.zeros($N)"}, files=("m/n/b.py", "**/b.py")), [("m/n/b.py", 2)]),
        (check({"pattern": "torch.ones($N)"}), []),
        (check(INSIDE), [("m/a.py", 5)]),
        (check({"pattern": "torch.zeros($N)"}, constraints={"N": {"regex": "^4$"}}), [("m/a.py", 3)]),
        (check({"pattern": "torch.zeros($N)"}, mentions="region("), [("m/a.py", 3), ("m/a.py", 5)]),
        (check({"pattern": "torch.zeros($N)"}, mentions="nowhere"), []),
        (check({"kind": "comment"}), [("m/n/c.py", 1)]),
    ],
    ids=[
        "glob over folders",
        "glob over one folder",
        "path and glob",
        "a file that two patterns name counts once",
        "nothing",
        "relation",
        "constraint",
        "only files that mention a text",
        "no file mentions the text",
        "file that is no UTF-8",
    ],
)
def test_a_rule_counts_over_all_its_files_in_their_order(spec: CheckSpec, found: list[tuple[str, int]]) -> None:
    matches = tuple(Match(path, line) for path, line in found)

    assert CheckResult("patch", "zeros", 1, matches, "why") == outcome(spec)


@pytest.mark.parametrize(
    ("count", "missing", "ok"),
    [(3, (), True), (2, (), False), (4, (), False), (3, ("m/gone.py",), False)],
    ids=["as many as expected", "too many", "too few", "a file is missing"],
)
def test_an_invariant_holds_when_the_count_is_met_and_no_file_is_missing(
    count: int, missing: tuple[str, ...], ok: bool
) -> None:
    result = outcome(check({"pattern": "torch.zeros($N)"}, files=("m/**/*.py", *missing), count=count))

    assert (count, missing, ok) == (result.expected, result.missing, result.ok)


def test_a_count_of_zero_is_not_met_by_a_file_that_is_missing() -> None:
    result = outcome(check({"pattern": "x"}, files=("m/gone.py", "m/gone/*.py"), count=0))

    assert CheckResult("patch", "zeros", 0, (), "why", ("m/gone.py",)) == result
    assert not result.ok


@pytest.mark.parametrize(
    ("rule", "fields", "problem"),
    [
        ({}, {}, "Rule must have one positive matcher."),
        ({"kind": "nope"}, {}, "Kind `nope` is invalid."),
        ({"frobnicate": 1}, {}, "unknown field `frobnicate`"),
        ({"pattern": ""}, {}, "No AST root is detected."),
        ({"pattern": "a\nb"}, {}, "Multiple AST nodes are detected."),
        ({"pattern": 5}, {}, "did not match any variant"),
        ({"any": ["x"]}, {}, "not an instance of"),
        ({"regex": "("}, {}, "unclosed group"),
        ({"matches": "nope"}, {}, "nope"),
        ({"pattern": "f($A)"}, {"constraints": {"A": {"regex": "("}}}, "unclosed group"),
    ],
    ids=[
        "empty",
        "unknown kind",
        "unknown key",
        "empty pattern",
        "two statements",
        "pattern is a number",
        "rule is a text",
        "bad regex",
        "unknown utility",
        "bad constraint",
    ],
)
def test_a_rule_that_ast_grep_refuses_is_named_in_one_line_without_native_frames(
    monkeypatch: pytest.MonkeyPatch, rule: dict[str, Any], fields: dict[str, Any], problem: str
) -> None:
    monkeypatch.setenv("RUST_BACKTRACE", "1")

    with pytest.raises(ValueError, match=r"^ast-grep refuses the rule of check zeros: .") as caught:
        outcome(check(rule, **fields))

    message = str(caught.value)
    assert problem.lower() in message.lower()
    assert ("backtrace" in message, len(message.splitlines())) == (False, 1)


words = st.sampled_from(["alpha", "beta_two", "gamma", "alphabet"])
sources = st.lists(st.builds("{}({}, '{}')\n".format, words, words, words), max_size=3).map(
    lambda lines: "".join(lines).encode()
)


def call(word: str) -> dict[str, Any]:
    """A rule for calls of ``word``."""
    return {"pattern": f"{word}($$$A)"}


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["m/a.py", "m/b.py", "m/c.py"]), sources), words, st.data())
def test_mentioning_a_word_that_the_rule_needs_changes_no_outcome(
    files: dict[str, bytes], word: str, data: st.DataObject
) -> None:
    other = data.draw(words)
    rule = data.draw(
        st.sampled_from(
            [
                call(word),
                {"regex": f"^{word}$", "kind": "identifier"},
                {"all": [call(word), {"has": {"regex": other, "stopBy": "end"}}]},
                {"any": [call(word), {"pattern": f"{other}({word}, $S)"}]},
                {"pattern": "$F($$$A)", "has": {"pattern": word, "stopBy": "end"}},
                {"pattern": f"{word}($$$A)", "not": {"has": {"pattern": other, "stopBy": "end"}}},
            ]
        )
    )

    assert outcome(check(rule), files) == outcome(check(rule, mentions=word), files)


def test_a_text_that_no_check_looks_at_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def parse(text: str, language: str) -> None:
        parsed.append(f"{language}: {text}")

    monkeypatch.setattr("ast_grep_py.SgRoot", parse)
    run_check("patch", check(INSIDE, mentions="absent"), {"m/a.py": PythonText(b"x = 1\n")})

    assert parsed == []


def test_a_text_is_parsed_once_for_all_checks() -> None:
    text = PythonText(b"x = 1\n")

    assert text.root is text.root


def test_where_a_rule_matches_may_be_known_already() -> None:
    asked: list[tuple[str, bytes]] = []

    def find(spec: CheckSpec, text: PythonText) -> list[int]:
        asked.append((spec.id, text.content))
        return [7, 9]

    found = run_check("patch", check({"kind": "nope"}, files=("m/*.py",)), {"m/a.py": PythonText(b"x = 1\n")}, find)

    assert CheckResult("patch", "zeros", 1, (Match("m/a.py", 7), Match("m/a.py", 9)), "why") == found
    assert asked == [("zeros", b"x = 1\n")]


def test_a_text_is_known_by_the_sha_256_of_its_bytes() -> None:
    assert PythonText(b"").digest == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_a_file_that_is_far_too_large_is_not_read_and_meets_no_count() -> None:
    large = PythonText(b"# " + b"a" * (8 << 20))
    spec = check({"pattern": "absent"}, files=("m/**/*.py",), count=0)

    result = run_check("patch", spec, {"m/large.py": large, "m/small.py": PythonText(b"x = 1\n")})

    assert CheckResult("patch", "zeros", 0, (), "why", (), ("m/large.py",)) == result
    assert not result.ok
