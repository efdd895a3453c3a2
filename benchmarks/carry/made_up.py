"""Made-up Python files of any length, and a change to carry between two of their versions."""

from __future__ import annotations

from benchmarks.carry.cases import Texts

_LINES_A_CLASS = 43


def large_case(lines: int, *, conflicting: bool) -> Texts:
    """Return a case whose files have about ``lines`` lines; its human's text is None.

    The change adds a parameter, an argument and a statement in every twentieth class. The target has statements of its
    own everywhere else; if ``conflicting``, also a parameter and an argument in the very lines that the change edits.
    """
    count = max(1, lines // _LINES_A_CLASS)
    touched = range(0, count, 20)
    base = [_class_text(number) for number in range(count)]
    changed = [_class_text(number, change=number in touched) for number in range(count)]
    target = [_class_text(number, own=number not in touched, beside=conflicting) for number in range(count)]
    return Texts(_file_of(base), _file_of(changed), _file_of(target), human=None)


def dense_case(lines: int, *, clean: bool) -> Texts:
    """Return a case of which both sides change every second statement; its human's text is None.

    They change other words of it if ``clean``, else the same.
    """
    first, second = ("first", "second") if clean else ("first", "first")
    sides = (("", ""), (first, "mine"), (second, "yours"))
    texts = ["".join(_dense_line(number, word, by) for number in range(lines)) for word, by in sides]
    return Texts(*(text.encode() for text in texts), human=None)


def _dense_line(number: int, word: str, by: str) -> str:
    if number % 100 == 0:
        return f"class Layer{number}:\n"
    if number % 10 == 1:
        return f"    def step_{number}(self, first, second, mine=None, yours=None):\n"
    text = f"        value_{number} = max(first[{number}], second[{number}])\n"
    return text.replace(word, by) if word and number % 2 == 0 else text


def _file_of(classes: list[str]) -> bytes:
    return ("import math\n\n\n" + "\n\n".join(classes)).encode()


def _class_text(number: int, *, change: bool = False, own: bool = False, beside: bool = False) -> str:
    """Return a class of ``_LINES_A_CLASS`` lines, blank ones around it included."""
    beside_parameter, beside_argument = (", window=None", ", window=window") if beside else ("", "")
    parameter, argument = (", scale=1.0", ", scale=scale") if change else ("", "")
    text = [
        f"class Layer{number}:",
        f'    """Layer {number} of the stack."""',
        "",
        f"    def __init__(self, size{beside_parameter}{parameter}):",
        f"        self.size = size + {number}",
        f"        self.inner = build_inner(size, depth={number}{beside_argument}{argument})",
    ]
    if change:
        text.append("        self.scale = scale")
    for step in range(5):
        text += [
            "",
            f"    def step_{step}(self, value):",
            f"        first = value * {number} + {step}",
            f"        second = math.sqrt(first) - self.size / {step + 1}",
        ]
        if own and step == number % 5:
            text.append(f"        second = max(second, {number})")
        text += ["        if second > first:", "            return first", "        return second"]
    return "\n".join(text) + "\n"
