"""Made-up texts and their changes."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

# Few words, so that lines repeat; each odd one has broken some tool: endings, bytes that are no UTF-8, marks of a diff.
WORDS = (
    b"",
    b"a",
    b"b",
    b"    c",
    b"\td ",
    b"crlf\r",
    b"lone\rreturn",
    b"form\x0cfeed",
    b"\xff\xfe",
    b"caf\xc3\xa9",
    b"\xe2\x80\xa8",
    b"\x85",
    b"-- minus",
    b"++ plus",
    b"@@ -1 +1 @@",
    b"--- a/x",
    b"\\ No newline at end of file",
    b" ",
    b"diff --git a/x b/x",
)

Change = tuple[bytes | None, bytes | None]
"""A text before and after; None: no such file."""

_lines = st.lists(st.sampled_from(WORDS), max_size=14)


def joined(lines: list[bytes], *, final_newline: bool) -> bytes:
    """Lines as a text."""
    text = b"".join(line + b"\n" for line in lines)
    return text if final_newline else text.removesuffix(b"\n")


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """A text, maybe empty, maybe without a final newline."""
    return joined(draw(_lines), final_newline=draw(st.booleans()))


@st.composite
def edited(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Two texts, the second an edit of the first: neighbours stay, as in real changes."""
    old = draw(_lines)
    new = list(old)
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(new)))
        new[start : start + draw(st.integers(0, 3))] = draw(st.lists(st.sampled_from(WORDS), max_size=3))
    return joined(old, final_newline=draw(st.booleans())), joined(new, final_newline=draw(st.booleans()))


def changes() -> st.SearchStrategy[Change]:
    """Edits, made and removed files."""
    made: st.SearchStrategy[Change] = st.tuples(st.none(), texts())
    removed: st.SearchStrategy[Change] = st.tuples(texts(), st.none())
    return st.one_of(edited(), made, removed)


def random_changes(count: int, seed: int) -> list[Change]:
    """As ``changes``, without shrinking: for a test that hands all of them to one process."""
    random = Random(seed)  # noqa: S311 - the same cases in each run
    made: list[Change] = []
    while len(made) < count:
        old = random.choices(WORDS, k=random.randrange(25))
        new = list(old)
        for _ in range(random.randrange(1, 5)):
            start = random.randrange(len(new) + 1)
            new[start : start + random.randrange(4)] = random.choices(WORDS, k=random.randrange(4))
        before: bytes | None = joined(old, final_newline=random.random() < 0.8)
        after: bytes | None = joined(new, final_newline=random.random() < 0.8)
        kind = random.random()
        if kind < 0.1:
            before = None
        elif kind < 0.2:
            after = None
        if before != after:
            made.append((before, after))
    return made
