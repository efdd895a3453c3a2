"""Text from elsewhere, without what does not print."""

from __future__ import annotations

import shlex


def printable(text: str, *, but: str = "") -> str:
    """Return text with everything that does not print as a Python escape: controls, direction marks, surrogates.

    The characters in ``but`` stay.
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in but else each.encode("unicode_escape").decode() for each in text
    )


def shell_word(text: str) -> str:
    r"""Return text as one word of a command for a shell, such as stands in a hint.

    Where a hint has the command between backticks, people copy them too, and what does not print is printed as
    something else: such text is quoted as bash, zsh and ksh read it (``$'a\nb'``), with neither in it.
    """
    if text.isprintable() and "`" not in text:
        return shlex.quote(text)
    return f"$'{''.join(map(_in_dollar_quotes, text))}'"


def _in_dollar_quotes(each: str) -> str:
    if each in "\\'":
        return f"\\{each}"
    if each.isprintable() and each != "`":
        return each
    # A name that is not UTF-8 has its bytes as surrogates (PEP 383).
    errors = "surrogateescape" if "\udc80" <= each <= "\udcff" else "surrogatepass"
    return "".join(f"\\x{byte:02x}" for byte in each.encode("utf-8", errors))
