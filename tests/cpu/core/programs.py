"""Made-up Python sources."""

from __future__ import annotations

from hypothesis import strategies as st

NAMES = ("a", "b", "config", "value")

_simple = st.sampled_from(
    [
        "a = 1",
        "b = a",
        "value = config",
        "print(value)",
        "import os",
        "from sys import path",
        "self.a = a",
        "a = self.b(config, value=1)",
        "b = {'a': 1, 'b': a}",
        "pass",
        "# comment",
        "del a",
        "'''text'''",
        "parser.add_argument('--a')",
        "a = [b for b in value if b]",
        "raise ValueError(a)",
    ]
)
_heads = st.sampled_from(
    [
        "def a(b):",
        "def b(self, a, config=None):",
        "def value(*, a=1):",
        "class config:",
        "class value(config):",
        "if a:",
        "for b in value:",
        "while a:",
        "with a as b:",
        "try:",
    ]
)


@st.composite
def _blocks(draw: st.DrawFn, depth: int = 0) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        if depth < 3 and draw(st.booleans()):
            head = draw(_heads)
            inner = [f"    {line}" for line in draw(_blocks(depth + 1))]
            lines += [head, *inner, "    pass"]
            if head == "try:":
                lines += ["except ValueError as error:", "    b = error"]
        else:
            lines.append(draw(_simple))
    return lines


@st.composite
def programs(draw: st.DrawFn) -> bytes:
    """A source that parses."""
    return "".join(f"{line}\n" for line in draw(_blocks())).encode()


@st.composite
def changed_programs(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Two sources that parse, with most of their text in common."""
    before, inserted, after = draw(programs()), draw(st.one_of(st.just(b""), programs())), draw(programs())
    taken = draw(st.one_of(st.just(b""), programs()))
    return before + taken + after, before + inserted + after


@st.composite
def edited_programs(draw: st.DrawFn, program: bytes) -> bytes:
    """``program`` with lines taken out, put in or repeated: most of it stays, and mostly it parses."""
    lines = program.splitlines(keepends=True)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(lines)))
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())] if at < len(lines) else b""
        lines[at : at + draw(st.integers(0, 1))] = [indent + draw(_simple).encode() + b"\n"]
    return b"".join(lines)
