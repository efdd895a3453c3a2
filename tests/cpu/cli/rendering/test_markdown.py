from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace

from patchkit.cli.rendering.github_markdown import code, escaped, table
from patchkit.cli.rendering.markdown import LIMIT, render_markdown
from patchkit.cli.rendering.printable import no_command, one_line
from patchkit.core.report import Problem
from patchkit.core.upstream_report import State, UpstreamReport

from .golden import golden
from .reports import HOSTILE, UNBROKEN, everything, fine_target, many_hunks, report

# The Markdown of CommonMark with GitHub's tables, as the parser that rich brings along knows it.
MARKDOWN = MarkdownIt("commonmark").enable("table")

FINE: list[State] = ["fine"] * 9

OURS = {"details", "summary", "br"}
"""Elements that are HTML in the page; all others come from Markdown."""


class Elements(HTMLParser):
    """Names of the elements of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.words = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)

    def handle_data(self, data: str) -> None:
        self.words += data


def shown(markdown: str) -> str:
    """The text that a reader sees of some Markdown."""
    return Elements(MARKDOWN.render(markdown)).words.replace("\u200b", "").strip()


def row_lengths(markdown: str) -> list[tuple[int, int]]:
    """For each table the number of columns, and that of the cells of all rows together over the number of rows."""
    lengths = []
    rows: list[int] = []
    for token in MARKDOWN.parse(markdown):
        if token.type == "table_open":
            rows = []
        elif token.type == "tr_open":
            rows.append(0)
        elif token.type in ("th_open", "td_open"):
            rows[-1] += 1
        elif token.type == "table_close":
            lengths += [(rows[0], row) for row in rows[1:]]
    return lengths


def test_everything_as_markdown() -> None:
    assert render_markdown(everything()) == golden("markdown")


def test_nothing_to_say_is_no_page() -> None:
    assert render_markdown(report()) == ""


def test_a_problem_of_a_fine_target_is_told() -> None:
    moved = replace(fine_target(), problems=(Problem("the tag moved"),))

    told = "- **problem:** the tag moved\n"

    assert told in render_markdown(report(moved))
    # Where fine targets have no part, too.
    assert "Hunks that are fine are left out" in render_markdown(report(*[fine_target()] * 9, moved), limit=3_000)
    assert told in render_markdown(report(*[fine_target()] * 9, moved), limit=3_000)


@pytest.mark.parametrize(
    "text",
    [
        HOSTILE,
        "| a | b |",
        "a\\|b",
        "\\",
        "`code",
        "``` fence",
        "<details>",
        "&lt;b&gt;",
        "**bold** _em_ ~~gone~~",
        "[link](https://example.org) ![image](x)",
        "- item\n- item",
        "# title",
        "1. item",
        "---",
        "&#124;",
    ],
)
def test_text_shows_as_it_is(text: str) -> None:
    expected = shown_line(text)

    assert shown(f"x {escaped(text)}") == f"x {expected}"
    assert shown(table(["a"], [[escaped(text)]])) == shown(table(["a"], [["@"]])).replace("@", expected)


def shown_line(text: str) -> str:
    """What is to be read of text from elsewhere: a line, its workflow commands taken apart."""
    return no_command(one_line(text))


@pytest.mark.parametrize("text", ["a|b", "`", "``a`b", "a\\|b", "<script>", "**a**", HOSTILE])
def test_code_in_a_cell_shows_as_it_is(text: str) -> None:
    cell = table(["a"], [[code(text)]])

    assert row_lengths(cell) == [(1, 1)]
    assert [line for line in Elements(MARKDOWN.render(cell)).words.split("\n") if line] == ["a", shown_line(text)]


def test_what_github_would_make_a_mention_or_a_reference_of_is_none() -> None:
    assert escaped("thanks @someone, see #12 and GH-7; mail a @ b") == (
        "thanks @&#8203;someone, see #&#8203;12 and GH-&#8203;7; mail a @ b"
    )


@settings(max_examples=25, deadline=None)
@given(st.text())
def test_no_text_breaks_out_of_its_cell(text: str) -> None:
    page = render_markdown(everything(text))

    assert [lengths for lengths in row_lengths(page) if lengths[0] != lengths[1]] == []
    assert len(row_lengths(page)) == len(row_lengths(golden("markdown")))
    assert html_elements(page) <= OURS


def html_elements(page: str) -> set[str]:
    """Names of the elements that stand in the page as HTML."""
    tokens = MARKDOWN.parse(page)
    inline = [child for token in tokens for child in token.children or []]
    raw = "".join(token.content for token in [*tokens, *inline] if token.type in ("html_block", "html_inline"))
    return set(Elements(raw).names)


def test_each_target_is_folded_up_and_every_fold_is_closed() -> None:
    page = render_markdown(everything())

    assert re.findall(r"<summary>(.*?)</summary>", page) == [
        f"{target.title}: {target.state}" for target in everything().targets
    ]
    assert page.count("<details>") == page.count("</details>") == len(everything().targets)


@pytest.mark.parametrize(
    ("answer", "told", "absent"),
    [
        (many_hunks(["broken", "fine"], 10, "short"), [], ["left out", "more characters"]),
        (
            many_hunks(["broken", *FINE], 600, "reason " * 25),
            ["Hunks that are fine are left out, to stay below 1 MiB.", "`hunk-599`", "1 hunk fine"],
            ["`fine-one`", "more characters"],
        ),
        (
            many_hunks(["broken", "look"], 700, "reason " * 200),
            ["Hunks that are fine and the ends of long texts are left out", "more characters", "v1.1.0: look"],
            ["`fine-one`"],
        ),
        (
            many_hunks(["look", "look", "broken"], 800, "reason " * 200),
            ["More is left out", "v1.2.0: broken", "| `v1.1.0` | look |"],
            ["v1.1.0: look</summary>"],
        ),
        (
            replace(report(), problems=tuple(Problem(f"{n} {UNBROKEN[:400]}") for n in range(4_000))),
            ["More is left out"],
            ["**problem:**"],
        ),
    ],
    ids=["all", "no fine hunks", "short texts", "worst targets", "head"],
)
def test_a_page_fits_a_step_summary_and_says_what_it_leaves_out(
    answer: UpstreamReport, told: list[str], absent: list[str]
) -> None:
    page = render_markdown(answer)

    assert len(page.encode()) < LIMIT
    assert [text for text in told if text not in page] == []
    assert [text for text in absent if text in page] == []


def test_what_is_left_out_grows_as_room_shrinks() -> None:
    answer = everything()
    whole = len(render_markdown(answer).encode())
    sizes = [len(render_markdown(answer, limit=limit).encode()) for limit in range(whole, 1_000, -1_000)]

    assert all(size <= limit for size, limit in zip(sizes, range(whole, 1_000, -1_000), strict=True))
    assert all(later <= earlier for earlier, later in pairwise(sizes))
