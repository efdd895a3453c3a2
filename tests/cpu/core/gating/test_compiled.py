from __future__ import annotations

import ast
from unittest.mock import patch

import pytest

from patchkit import carry_file
from patchkit.core.carry import Status
from patchkit.core.gating import compiled
from patchkit.core.gating.gates import Alarm, Rule, alarms

# The stream of megatron/core/inference/async_stream.py.
STREAM = b'''\
import asyncio


class AsyncStream:
    def __init__(self, cancel):
        self._cancel = cancel
        self._queue = asyncio.Queue()

    async def generator(self):
        """Creates an AsyncGenerator over the stream queue"""
        self.begun = True
        self.count += 1
        self.note()
        result = self._queue.get_nowait()
        return result

    def note(self):
        self._cancel()
'''


def syntax(line: int, message: str) -> Alarm:
    return Alarm(Rule.SYNTAX, line, message, f"the result is no Python: {message}")


IMPORT, RETURN = b"import asyncio\n", b"        return result\n"
FUTURE = b"from __future__ import annotations\n"
AWAIT = (b"self._queue.get_nowait()", b"await self._queue.get()")
NOT_ASYNC = (b"    async def", b"    def")
YIELD = (b"        self.begun = True\n", b"        self.begun = True\n        yield self.count\n")
RETURN_MORE = (RETURN, b"        return result or self.count\n")

Edit = tuple[bytes, bytes]


def made(*edits: Edit) -> bytes:
    text = STREAM
    for edit in edits:
        text = text.replace(*edit)
    return text


@pytest.mark.parametrize(
    ("ours", "theirs", "both", "line", "message"),
    [
        ([AWAIT], [NOT_ASYNC], [AWAIT, NOT_ASYNC], 14, "'await' outside async function"),
        (
            [YIELD, (RETURN, b"")],
            [RETURN_MORE],
            [YIELD, RETURN_MORE],
            16,
            "'return' with value in async generator",
        ),
        (
            [(IMPORT, FUTURE + IMPORT)],
            [(IMPORT, b"import abc\n" + IMPORT)],
            [(IMPORT, b"import abc\n" + FUTURE + IMPORT)],
            2,
            "from __future__ imports must occur at the beginning of the file",
        ),
    ],
)
def test_what_the_compiler_takes_from_both_sides_and_refuses_of_the_result(
    ours: list[Edit], theirs: list[Edit], both: list[Edit], line: int, message: str
) -> None:
    changed, target, result = made(*ours), made(*theirs), made(*both)
    for text in (changed, target):
        compile(text, "x.py", "exec", dont_inherit=True)
    ast.parse(result)

    assert alarms(STREAM, changed, target, result) == (syntax(line, message),)
    assert alarms(STREAM, target, changed, result) == (syntax(line, message),)


AWAITS, PLAIN, AWAITS_PLAINLY = made(AWAIT), made(NOT_ASYNC), made(AWAIT, NOT_ASYNC)


def test_await_in_a_function_that_is_not_async_any_more_is_for_review() -> None:
    for changed, target in ((AWAITS, PLAIN), (PLAIN, AWAITS)):
        result = carry_file(STREAM, changed, target, "megatron/core/inference/async_stream.py")

        assert (result.status, result.content) == (Status.REVIEW, AWAITS_PLAINLY)


def test_what_a_side_lives_with_is_nobodys_merge_error() -> None:
    wrong = b"\n\ndef broken():\n    await nothing()\n"

    assert alarms(STREAM, AWAITS + wrong, PLAIN, AWAITS_PLAINLY + wrong) == ()


def test_the_future_import_of_one_side_may_stand_where_it_does() -> None:
    changed = b"from __future__ import annotations\n\n" + STREAM
    target = STREAM.replace(b"import asyncio\n", b"import abc\nimport asyncio\n")

    assert alarms(STREAM, changed, target, b"from __future__ import annotations\n\n" + target) == ()


def test_nothing_is_compiled_where_no_word_of_the_edits_asks_for_it() -> None:
    changed = STREAM.replace(b"self.begun = True", b"self.begun = 1")
    target = STREAM.replace(b"self.note()", b"self.note(1)")
    with patch.object(compiled, "compile_error", side_effect=AssertionError):
        assert alarms(STREAM, changed, target, changed.replace(b"self.note()", b"self.note(1)")) == ()
