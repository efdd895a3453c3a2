"""What the findings mean that check-upstream gives to a code scanner, and what to do about them."""

from __future__ import annotations

from typing import Final, NamedTuple


class Rule(NamedTuple):
    """One kind of finding."""

    short: str
    help: str


_REBASE: Final = "Run patchkit rebase --onto TARGET"

RULES: Final[dict[str, Rule]] = {
    # What the carry engine says of a hunk (docs/carry.md).
    "hunk/exact": Rule(
        "The hunk's lines stand where they stood", "The lines fit. The other findings say why to look at them."
    ),
    "hunk/moved": Rule(
        "The hunk's lines stand elsewhere", "The lines fit at another place. The other findings say why to look."
    ),
    "hunk/merged": Rule(
        "Upstream changed lines near the hunk",
        "The hunk was merged with a change beside it. Read the result before it is written.",
    ),
    "hunk/restructured": Rule(
        "Upstream changed the lines that the hunk changes",
        "Statements or words could be told apart, and the hunk was merged. Read the result before it is written.",
    ),
    "hunk/upstreamed": Rule(
        "Upstream has made the same change",
        "Decide whether the hunk can go: patch.yaml says when, under drop-when. A group goes as a whole or not at all.",
    ),
    "hunk/superseded": Rule(
        "Upstream's version of the package is higher than the patch's",
        "Upstream's version stays. Decide whether the hunk can go, or which version the patched package has to have.",
    ),
    "hunk/obsolete": Rule(
        "Nothing of what the hunk changes is in the target",
        "Decide whether the hunk can go: patch.yaml says when, under drop-when. It may also have to move elsewhere.",
    ),
    "hunk/conflict": Rule(
        "The hunk and upstream's change could not be brought together",
        f"{_REBASE} and solve the conflict in the edit directory; patchkit remembers how.",
    ),
    # What a patch came to.
    "patch/review": Rule("A person has to look at the patch", f"{_REBASE} and read what it asks about."),
    "patch/conflict": Rule("The patch does not apply", f"{_REBASE} and solve what is in conflict."),
    "patch/differs": Rule(
        "A variant claims the target and does not fit it", "Correct the range of the variant in patch.yaml."
    ),
    "patch/failed": Rule(
        "A check of the patched text does not hold",
        "The patch applies, and what comes out is not what it is for. Correct the variant, or the check.",
    ),
    "patch/no-base": Rule(
        "There is no variant to carry", "No target before this one has the patch: name one with --from."
    ),
    # What the gates find in a result that applies cleanly (docs/carry.md).
    "gate/syntax": Rule("The result is no Python", "Solve it by hand: such a result is never written."),
    "gate/unbound": Rule(
        "A name is read that nothing binds", "Upstream has renamed or removed what the patch uses, or its import."
    ),
    "gate/possibly-unbound": Rule(
        "A name is read that some path does not bind", "See whether that path can be taken, and bind the name there."
    ),
    "gate/duplicate": Rule(
        "Something stands twice", "Upstream has added what the patch adds: one of the two has to go."
    ),
    "gate/misplaced": Rule(
        "A decorator, a clause or a field stands where neither side has it, is lost or is back",
        "Read both sides there: each decorator, else, except, case or field has to be there once, in its place.",
    ),
    "gate/unreachable": Rule(
        "A statement of one side stands behind a return, raise, break or continue of the other",
        "It is not run: say where it belongs, or whether it is needed.",
    ),
    "gate/upstreamed": Rule(
        "Statements that the patch adds stand twice", "The target has them already: drop them from the variant."
    ),
    "gate/stale-reference": Rule(
        "The patch uses something that the target has no more", "Find out what has taken its place upstream."
    ),
    "gate/removed-still-used": Rule(
        "The patch removes something that the target uses now", "Change the new use as well, or keep what it uses."
    ),
    "gate/foreign-base": Rule(
        "The patch's base and the target are not versions of one file",
        "Name the target that the patch was made for with --from, or see whether the path is another file there.",
    ),
    "gate/unchecked": Rule(
        "The result could not be checked", "Run patchkit on a Python that can read the target, or read the result."
    ),
    # How the code around a hunk changed although the hunk fits.
    "drift/signature": Rule(
        "The signature around the hunk changed", "See whether what the hunk relies on is still given."
    ),
    "drift/body": Rule("The function around the hunk changed", "Read it: the hunk fits, what it rests on is another."),
    "drift/calls": Rule(
        "The function around the hunk calls others", "See whether a new call needs what the hunk does, too."
    ),
    "drift/gone": Rule("The class or function around the hunk is gone", "Find out where its work is done now."),
    # The target, and upstream as a whole.
    "target/problem": Rule(
        "Something is wrong with a target", "Find out why before anything is done on this target: see the message."
    ),
    "target/look": Rule("A target has to be looked at", "See the message."),
    "target/broken": Rule("The series does not apply to a target", "See the message."),
    "target/unreachable": Rule(
        "A target could not be read", "Nothing is known about it: run again when the index or the repository answers."
    ),
    "upstream/problem": Rule(
        "Something is wrong with upstream", "A release vanished or a tag moved: find out why before trusting it."
    ),
    "upstream/found": Rule(
        "There is a release that is not listed", "Add it to upstream_versions.yaml and run patchkit rebase."
    ),
}
"""By id; a check of a patch has a rule of its own, ``check/PATCH/ID``, made of its intent."""
