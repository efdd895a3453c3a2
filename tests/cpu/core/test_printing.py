from __future__ import annotations

import os
import shlex
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit.core.printing import printable, shell_word

BASH = shutil.which("bash") or "bash"
ODD = st.text(
    st.one_of(
        st.sampled_from(["`", "'", '"', "\\", "$", "(", "\n", "\t", "\x1b", "\u202e", "\udcff", "a", "0", " ", "!"]),
        st.characters(exclude_characters="\0", codec="utf-8"),
    )
)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("/srv/megatron", "/srv/megatron"),
        ("/srv/my tree", "'/srv/my tree'"),
        ("`touch x`", r"$'\x60touch x\x60'"),
        ("a\nb", r"$'a\x0ab'"),
        ("it's\x1b[31m\\", r"$'it\'s\x1b[31m\\'"),
        ("\u202ecod", r"$'\xe2\x80\xaecod'"),
        ("\udcff0", r"$'\xff0'"),
        ("", "''"),
    ],
)
def test_a_word_for_a_shell_has_nothing_that_does_not_print_and_no_backtick(text: str, word: str) -> None:
    assert shell_word(text) == word
    assert printable(word) == word


@settings(max_examples=60, deadline=None)
@given(st.lists(ODD, min_size=1, max_size=20))
def test_bash_reads_the_text_back_and_runs_nothing_of_it(texts: list[str]) -> None:
    words = [shell_word(text) for text in texts]
    command = [BASH, "-c", f"printf '%s\\0' {' '.join(words)}"]
    ran = subprocess.run(command, capture_output=True, check=True, env={"PATH": ""})

    assert ran.stdout.split(b"\0")[:-1] == [os.fsencode(text) for text in texts]
    assert not any("`" in word or not word.isprintable() for word in words)
    plain = [text for text in texts if text.isprintable() and "`" not in text]
    assert [shell_word(text) for text in plain] == [shlex.quote(text) for text in plain]
