"""A made-up big patch of several features, and how it is cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.foreign.split import Proposal, ScopedHunk, hunk_ids, propose
from patchkit.core.model import Hunk, HunkLine, LineKind
from patchkit.core.scopes import MODULE

BASE: dict[str, bytes | None] = {
    "m/config.py": b"class Config:\n    size: int = 1\n",
    "m/model.py": b"def forward(x):\n    return x\n\n\ndef loss(x):\n    return x\n",
    "m/train.py": b"def train(config):\n    model(config)\n",
    "m/README.md": b"Words.\n",
}


def hunk(path: str, scope: str, *added: str, removed: tuple[str, ...] = ()) -> ScopedHunk:
    lines = [HunkLine(LineKind.REMOVED, f"{line}\n".encode()) for line in removed]
    lines += [HunkLine(LineKind.ADDED, f"{line}\n".encode()) for line in added]
    return ScopedHunk(path, scope, Hunk("", 1, 1, tuple(lines)))


def shape(*hunks: ScopedHunk) -> list[tuple[str, tuple[int, ...], tuple[str, ...]]]:
    return [(one.name, one.hunks, one.depends) for one in propose(hunks, BASE)]


FIELD = hunk("m/config.py", "Config", "    replay_routing: bool = False")
USE = hunk("m/model.py", "forward", "    if config.replay_routing: replay(x)")
OTHER = hunk("m/train.py", "train", "    gather_twice(config)")
OTHER_DEF = hunk("m/model.py", MODULE, "def gather_twice(config):", "    pass")


def test_hunks_that_share_a_new_name_are_one_feature_named_after_it() -> None:
    assert shape(FIELD, USE, OTHER, OTHER_DEF) == [("replay-routing", (0, 1), ()), ("gather-twice", (2, 3), ())]


def test_names_of_which_every_hunk_has_one_give_the_words_they_share() -> None:
    one = hunk("m/config.py", "Config", "    post_mlp_norm: bool = False", "    post_attention_norm: bool = False")
    two = hunk("m/model.py", "forward", "    post_mlp_norm(x)", "    post_attention_norm(x)")

    assert shape(one, two) == [("post-norm", (0, 1), ())]


def test_names_that_the_base_has_link_nothing() -> None:
    one = hunk("m/model.py", "forward", "    size = config.size")
    two = hunk("m/train.py", "train", "    size = config.size")

    assert shape(one, two) == [("forward", (0,), ()), ("train", (1,), ())]


def test_words_in_comments_and_texts_link_nothing() -> None:
    one = hunk("m/model.py", "forward", "    return x  # unheard of")
    two = hunk("m/train.py", "train", '    print("unheard of")')

    assert shape(one, two) == [("forward", (0,), ()), ("train", (1,), ())]


def test_a_hunk_without_new_names_joins_the_only_feature_of_its_function() -> None:
    plain = hunk("m/model.py", "forward", "    return x + 1")

    assert shape(FIELD, USE, plain) == [("replay-routing", (0, 1, 2), ())]


def test_what_is_left_of_a_file_is_one_patch() -> None:
    one = hunk("m/model.py", "forward", "    return x + 1")
    two = hunk("m/model.py", "loss", "    return x - 1")
    third = hunk("m/train.py", "train", "    model(config, 1)")

    assert shape(one, two, third) == [("model", (0, 1), ()), ("train", (2,), ())]


def test_one_change_at_three_places_in_two_files_is_a_feature() -> None:
    places = [("m/model.py", "forward"), ("m/model.py", "loss"), ("m/train.py", "train")]
    alike = [hunk(path, scope, "    ", removed=("    @size",)) for path, scope in places]
    other = hunk("m/train.py", "train", "    return", removed=("    @size",))

    (without, left) = propose((*alike, other), BASE)

    assert (without.name, without.hunks) == ("without-size", (0, 1, 2))
    assert without.reason == "the same change at 3 places: takes out @size"
    assert (left.name, left.hunks) == ("train", (3,))
    # Twice, or in one file, is no habit.
    assert shape(*alike[:2]) == [("model", (0, 1), ())]
    assert [one.hunks for one in propose((alike[0], alike[2]), BASE)] == [(0,), (1,)]


def test_a_hunk_that_holds_two_features_together_stays_with_one_and_the_other_depends_on_it() -> None:
    both = hunk("m/config.py", "Config", "    alpha_flag: bool = False", "    beta_flag: bool = False")
    alpha = [hunk("m/model.py", "forward", "    if config.alpha_flag: alpha_one(x)")]
    alpha += [hunk("m/train.py", "train", "    alpha_one(config.alpha_flag)")]
    beta = [hunk("m/model.py", "loss", "    if config.beta_flag: beta_one(x)")]
    beta += [hunk("m/README.md", MODULE, "About beta."), hunk("m/train.py", MODULE, "    beta_one(config.beta_flag)")]

    assert shape(both, *alpha, *beta) == [
        ("alpha-flag", (0, 1, 2), ()),
        ("beta-flag", (3, 5), ("alpha-flag",)),
        ("readme", (4,), ()),
    ]


def test_proposals_that_need_each_other_are_one() -> None:
    both = hunk("m/config.py", "Config", "    alpha_flag: bool = False", "    x = beta_one")
    alpha = [
        hunk("m/model.py", "forward", "    alpha_flag, alpha_two"),
        hunk("m/train.py", "f", "    alpha_flag, alpha_two"),
    ]
    beta = [
        hunk("m/model.py", MODULE, "def beta_one(): alpha_flag", "    beta_two"),
        hunk("m/train.py", "train", "    beta_two"),
    ]

    assert [one.hunks for one in propose([both, *alpha, *beta], BASE)] == [(0, 1, 2, 3, 4)]


def test_no_proposal_takes_a_name_that_is_used() -> None:
    assert [one.name for one in propose([FIELD, USE], BASE, ["replay-routing"])] == ["replay-routing-2"]


def test_ids_say_where_and_what_and_are_never_the_same() -> None:
    hunks = [FIELD, USE, USE, hunk("m/pkg/__init__.py", MODULE, "import os"), hunk("m/a.py", "A.__init__", "x = 1")]
    proposal = Proposal("p", (0, 1, 2, 3, 4), ("replay_routing",), "")

    assert list(hunk_ids(hunks, [proposal], ["config-replay-routing"]).values()) == [
        "config-replay-routing-2",
        "forward-replay-routing",
        "forward-replay-routing-2",
        "pkg",
        "a-init",
    ]


def test_numbers_go_on_behind_those_that_are_taken() -> None:
    hunks = [OTHER] * 4
    proposal = Proposal("p", (0, 1, 2, 3), (), "")

    found = hunk_ids(hunks, [proposal], ["train-config-3"])
    assert list(found.values()) == [f"train-config{number}" for number in ("", "-2", "-4", "-5")]


def test_of_proposals_that_need_no_other_the_one_with_the_first_hunk_stands_first() -> None:
    uses = hunk("m/config.py", "Config", "    first_new(1)", "    last_new(1)")
    last = hunk("m/train.py", MODULE, "def last_new(x):", "    first_new(x)")
    alone = hunk("m/train.py", "train", "    config.other_new = 1")

    assert shape(uses, alone, last) == [("first-new", (0, 2), ()), ("train", (1,), ())]


# The laws: every hunk is in exactly one proposal, what is depended on stands before, names differ.

_lines = st.lists(
    st.sampled_from(["a_new = b_new", "def c_new(): a_new", "d_new(e_new)", "size", "f_new: int", "# x"]),
    min_size=1,
    max_size=3,
)
_hunks = st.lists(
    st.builds(
        lambda path, scope, lines: hunk(path, scope, *lines),
        st.sampled_from(sorted(BASE)),
        st.sampled_from([MODULE, "forward", "Config"]),
        _lines,
    ),
    max_size=12,
)


@given(_hunks)
def test_proposals_are_a_partition_in_an_order_that_dependencies_allow(hunks: list[ScopedHunk]) -> None:
    proposals = propose(hunks, BASE)

    assert sorted(at for one in proposals for at in one.hunks) == list(range(len(hunks)))
    for position, one in enumerate(proposals):
        assert set(one.depends) <= {earlier.name for earlier in proposals[:position]}
    assert len({one.name for one in proposals}) == len(proposals)
    ids = hunk_ids(hunks, proposals)
    assert (sorted(ids), len(set(ids.values()))) == (list(range(len(hunks))), len(hunks))
    assert proposals == propose(hunks, BASE)
