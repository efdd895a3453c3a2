from __future__ import annotations

import pytest

from patchkit.core.merging.insertions import Member, members, within
from patchkit.core.merging.logical import logical_lines
from patchkit.core.merging.resolve import resolve
from patchkit.core.merging.resolved import Resolved

CUT = '''\
# of the first
first = 1
"""What first is."""
@decorated
# of second
def second(a):
    # inside
    return a
if a:
    third()
elif b:
    fourth()
else:
    fifth()
group.add_argument('--sixth',
                   type=int)
self.seventh: int = 7
import eighth
call(ninth)
# at the end
'''


def cut() -> list[Member]:
    """The members of the text above."""
    return members(logical_lines(CUT))


def test_a_member_holds_all_that_belongs_to_its_statement() -> None:
    assert ["".join(line.full for line in member.lines) for member in cut()] == [
        '# of the first\nfirst = 1\n"""What first is."""\n',
        "@decorated\n# of second\ndef second(a):\n    # inside\n    return a\n",
        "if a:\n    third()\nelif b:\n    fourth()\nelse:\n    fifth()\n",
        "group.add_argument('--sixth',\n                   type=int)\n",
        "self.seventh: int = 7\n",
        "import eighth\n",
        "call(ninth)\n",
        "# at the end\n",
    ]


def test_comments_do_not_tell_members_apart() -> None:
    with_comment, without = members(logical_lines("# why\nx = 1\n")), members(logical_lines("x  =  1\n"))

    assert [member.key for member in with_comment] == [member.key for member in without]


BEFORE, AFTER = "def f(x, a, b, model):\n    start(x)\n", "    stop(x)\n"


def inserted(ours: str, theirs: str, before: str = BEFORE, after: str = AFTER) -> str | None:
    """What comes out between the two texts when both sides insert there; None for a conflict."""
    base, changed, target = before + after, before + ours + after, before + theirs + after
    found: Resolved = resolve(base, changed, target)
    if not all(isinstance(part, str) for part in found.parts):
        return None
    return "".join(part for part in found.parts if isinstance(part, str))[len(before) : -len(after)]


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        # The target's first.
        ("    trace(1)\n", "    watch(2)\n", "    watch(2)\n    trace(1)\n"),
        ("    one = 1\n", "    two = 2\n", "    two = 2\n    one = 1\n"),
        # What both bring stands once, as the target has it.
        ("    trace(1)\n", "    trace( 1 )\n", "    trace( 1 )\n"),
        ("    trace(1)\n    watch(2)\n", "    watch(2)\n", "    trace(1)\n    watch(2)\n"),
        ("    watch(2)\n", "    trace(1)\n    watch(2)\n", "    trace(1)\n    watch(2)\n"),
        # One name, two values.
        ("    one = 1\n", "    one = 2\n", None),
        ("    self.one = 1\n", "    self.one = 2\n", None),
        ("    def one():\n        pass\n", "    def one():\n        return 1\n", None),
        ("    def one():\n        pass\n", "    one = 2\n", None),
        ("    group.add_argument('--one')\n", '    group.add_argument("--one", type=int)\n', None),
        # The one uses what the other binds.
        ("    one = 1\n", "    use(one)\n", None),
        ("    use(one)\n", "    one = 1\n", None),
        # However it binds it, and wherever in it.
        ("    a, c = one()\n", "    a, d = two()\n", None),
        ("    x += 1\n", "    x *= 2\n", None),
        ("    if a:\n        y = 1\n", "    if b:\n        y = 2\n", None),
        ("    for i in a:\n        s = i\n", "    use(s)\n", None),
        ("    with one() as h:\n        pass\n", "    use(h)\n", None),
        ("    import os\n", "    os.remove(x)\n", None),
        ("    from a import one\n", "    from b import one\n", None),
        ("    from a import one as c\n", "    from b import c\n", None),
        ("    del model\n", "    use(model)\n", None),
        ("    use(model)\n", "    del model\n", None),
        # What leaves the block cuts off what stands behind it.
        ("    trace(1)\n", "    return\n", None),
        ("    raise ValueError(x)\n", "    watch(1)\n", None),
        ("    trace(1)\n", "    if not x:\n        return None\n", None),
        ("    if not x:\n        return None\n", "    trace(1)\n", None),
        # Two calls on one object: the target's first all the same.
        ("    model.eval()\n", "    model.train()\n", "    model.train()\n    model.eval()\n"),
        # Comments.
        ("    # ours\n    one = 1\n", "    # theirs\n", "    # ours\n    one = 1\n    # theirs\n"),
        # Two versions of one block.
        (
            "    if a:\n        one(1)\n        two(2)\n        three(3)\n",
            "    if a:\n        one(1)\n        two(2)\n        three(4)\n",
            None,
        ),
    ],
)
def test_what_becomes_of_insertions_at_one_place(ours: str, theirs: str, expected: str | None) -> None:
    assert inserted(ours, theirs) == expected


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        # Each of these runs when the module is read: what it uses has to be there.
        ("class D:\n    pass\n", "class C(D):\n    pass\n"),
        ("def wrap(f):\n    return f\n", "@wrap\ndef f():\n    pass\n"),
        ("LIMIT = 2\n", "def f(a=LIMIT):\n    pass\n"),
        ("def f():\n    pass\n", "f()\n"),
    ],
)
def test_declarations_that_need_each_other_at_once_do_not_go_together(ours: str, theirs: str) -> None:
    assert inserted(ours, theirs, "a = 1\n", "b = 2\n") is None
    assert inserted(theirs, ours, "a = 1\n", "b = 2\n") is None


def test_functions_that_call_each_other_go_together() -> None:
    ours, theirs = "def one():\n    return two()\n", "def two():\n    return 2\n"

    assert inserted(ours, theirs, "a = 1\n", "b = 2\n") == theirs + ours


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("    except ValueError:\n        y(1)\n", "    except Exception:\n        z(2)\n"),
        ("    else:\n        y(1)\n", "    else:\n        z(2)\n"),
        ("    finally:\n        y(1)\n", "    except ValueError:\n        z(2)\n"),
    ],
)
def test_branches_of_one_statement_have_an_order(ours: str, theirs: str) -> None:
    before = "def f(x):\n    try:\n        go(x)\n    except TypeError:\n        pass\n"

    assert inserted(ours, theirs, before, AFTER) is None
    assert inserted(theirs, ours, before, AFTER) is None


HEADS = {
    "if x:\n": ["else:\n", "elif y:\n"],
    "for i in x:\n": ["else:\n"],
    "while x:\n": ["else:\n"],
    "try:\n        go(x)\n    except TypeError:\n": ["except E:\n", "else:\n", "finally:\n"],
}
"""Statements, and the branches that each may have."""
BESIDE = [
    "    if b:\n        w(1)\n",
    "    for k in b:\n        w(1)\n",
    "    while b:\n        w(1)\n",
    "    try:\n        w(1)\n    except F:\n        pass\n",
    "    v = 1\n    if b:\n        w(1)\n",
    "\n    if b:\n        w(1)\n",
    "    # About b.\n    if b:\n        w(1)\n",
]


@pytest.mark.parametrize(("head", "branch"), [(head, branch) for head, all_of in HEADS.items() for branch in all_of])
@pytest.mark.parametrize("other", BESIDE)
def test_a_branch_goes_right_behind_its_statement(head: str, branch: str, other: str) -> None:
    before = f"def f(x):\n    {head}        pass\n"
    branch = f"    {branch}        z(1)\n"

    assert inserted(branch, other, before, AFTER) == branch + other
    assert inserted(other, branch, before, AFTER) == branch + other


def test_what_would_fall_into_the_other_sides_block_is_refused() -> None:
    before = "def f(x):\n    if x:\n        go(x)\n"
    # Both go on with the block above, and both end it.
    ours, theirs = "        one(1)\n    else:\n        z(1)\n", "        two(2)\n    if b:\n        w(1)\n"

    assert inserted(ours, theirs, before, AFTER) is None
    assert inserted(theirs, ours, before, AFTER) is None


def test_what_belongs_to_the_block_above_goes_first() -> None:
    before, after = "def f(x):\n    if x:\n        go(x)\n", "    end(x)\n"
    inside, behind = "        more(x)\n", "    after(2)\n"

    assert inserted(inside, behind, before, after) == inside + behind
    assert inserted(behind, inside, before, after) == inside + behind


def test_within_keeps_the_order() -> None:
    assert within("ac", "abc")
    assert not within("ca", "abc")
    assert within("", "")
    assert not within("aa", "a")
