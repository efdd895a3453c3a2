from __future__ import annotations

import json
import re
from xml.etree.ElementTree import fromstring
from xml.sax.saxutils import escape, quoteattr

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.cli.rendering.printable import inert_json, inert_markup, no_command, one_line, styled
from patchkit.core.printing import printable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain, naïve, 漢字, 🚀", "plain, naïve, 漢字, 🚀"),
        ("\x1b[31mred", "\\x1b[31mred"),
        # CSI as one character: terminals obey it too.
        ("\x9b2J", "\\x9b2J"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\udc80", "\\udc80"),
        ("\U000e0041", "\\U000e0041"),
        ("a\x00\x07\x7f", "a\\x00\\x07\\x7f"),
        ("a\nb", "a\\nb"),
    ],
)
def test_what_does_not_print_is_shown_as_an_escape(text: str, expected: str) -> None:
    assert printable(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\tb\nc", "a\tb\nc"),
        (
            f"{click.style('bad', fg='bright_red', bold=True)}: \x1b]0;title\x07",
            "\x1b[91m\x1b[1mbad\x1b[0m: \\x1b]0;title\\x07",
        ),
        (f"{click.style('dim', dim=True)}\r\x1b[2K", "\x1b[2mdim\x1b[0m\\r\\x1b[2K"),
        ("\x1b[8mhidden", "\\x1b[8mhidden"),
        ("\x1b[1;31mtwo", "\\x1b[1;31mtwo"),
        ("\u202egnp.exe \udc80", "\\u202egnp.exe \\udc80"),
    ],
)
def test_of_lines_only_breaks_and_our_own_colours_are_obeyed(text: str, expected: str) -> None:
    assert styled(text) == expected


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        (" a\n\n  b\r\n\tc \u2028", None, "a b c"),
        ("12345", 5, "12345"),
        ("123456", 5, "12345... (1 more characters)"),
        # The limit is one of what is printed, not of what was there.
        ("\x1b\x1b", 4, "\\x1b... (4 more characters)"),
    ],
)
def test_text_becomes_one_line_of_a_limited_length(text: str, limit: int | None, expected: str) -> None:
    assert one_line(text, limit) == expected


@given(st.text())
def test_a_line_is_printable_whatever_it_was(text: str) -> None:
    line = one_line(text)

    assert (line.isprintable(), one_line(line)) == (True, line)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("::error::x", ": :error::x"),
        ("a ::add-mask::x", "a : :add-mask::x"),
        ("see ##[group]", "see ## [group]"),
        # No command: a name of C++, and a colon too many.
        ("std::move", "std::move"),
        ("a :: b", "a :: b"),
    ],
)
def test_a_workflow_command_is_taken_apart(line: str, expected: str) -> None:
    assert no_command(line) == expected


RED = "\x1b[31m"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see ##[error]y", "see ## [error]y"),
        ("a\n::error::x\n \t::group::y", "a\n: :error::x\n \t: :group::y"),
        (f"{RED}::stop-commands::x", f"{RED}: :stop-commands::x"),
        (f" {RED}:{RED}:{RED}error::x", f" {RED}:{RED} :{RED}error::x"),
        (f"#{RED}#{RED}[error]", f"#{RED}# {RED}[error]"),
        ("####[x]", "#### [x]"),
        # No command: code, names of C++, what does not begin a line.
        ("x[::2], ::, std::move ::error::", "x[::2], ::, std::move ::error::"),
        ("# [a] ## b", "# [a] ## b"),
    ],
)
def test_no_line_that_is_printed_is_a_command_of_a_runner(text: str, expected: str) -> None:
    assert styled(text) == expected


pieces = st.lists(
    st.sampled_from(["::", ":", "error", "##[", "#", "[", " ", "\t", "\n", RED, "\x1b[0m", "\r", "a", "\u2028"])
)


def is_command(line: str) -> bool:
    """Tell what the runner of GitHub Actions does (ActionCommand), once colours are gone."""
    return "##[" in line or re.match(r"\s*::[\w-]", line) is not None


@given(pieces.map("".join))
def test_whatever_the_text_is_no_line_of_it_is_a_command(text: str) -> None:
    assert [line for line in click.unstyle(styled(text)).splitlines() if is_command(line)] == []


@given(pieces.map("".join))
def test_inert_markup_says_the_same_and_has_no_command(text: str) -> None:
    markup = inert_markup(f"<p a={quoteattr(printable(text))}>{escape(styled(text))}</p>")

    assert [line for line in markup.splitlines() if is_command(line)] == []
    raw = f"<p>{escape(''.join(each for each in text if each not in chr(27) + chr(13)))}</p>"
    assert fromstring(inert_markup(raw)).text == fromstring(raw).text  # noqa: S314 - made above


@given(st.text())
def test_inert_json_is_the_same_value_and_printable(text: str) -> None:
    inert = inert_json(json.dumps({text: [text]}, ensure_ascii=False))

    assert (json.loads(inert), inert.isprintable()) == ({text: [text]}, True)


@given(pieces.map("".join))
def test_inert_json_has_no_command(text: str) -> None:
    inert = inert_json(json.dumps({text: [text]}, indent=2))

    assert [line for line in inert.splitlines() if is_command(line)] == []
    assert json.loads(inert) == {text: [text]}
