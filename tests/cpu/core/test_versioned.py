from __future__ import annotations

import pytest

from patchkit import carry_file
from patchkit.core.carried import CarriedHunk, Conflict, Place, Status, Verdict
from patchkit.core.carry import carry_patch
from patchkit.core.difference import difference

BASE = b"""\
from .app import App as App
from .wrappers import Response as Response

__version__ = "2.2.3"
__all__ = ["App", "Response"]
"""
PLACE = Place("<module>", 4, 4)


def with_version(version: bytes) -> bytes:
    return BASE.replace(b"2.2.3", version)


def test_the_targets_version_stays_where_it_is_higher() -> None:
    target = with_version(b"2.3.0.dev")

    carried = carry_file(BASE, with_version(b"2.2.4"), target, "flask/__init__.py")

    reason = "both sides set the version, and the target's 2.3.0.dev stays: it is higher than 2.2.4"
    assert (carried.status, carried.content) == (Status.CLEAN, target)
    assert carried.hunks == (CarriedHunk(0, Verdict.SUPERSEDED, PLACE, PLACE, reason),)


def test_the_patchs_version_goes_in_where_it_is_higher() -> None:
    changed = with_version(b"2.3.0.dev")

    carried = carry_file(BASE, changed, with_version(b"2.2.4"), "flask/__init__.py")

    reason = "both sides set the version, and the patch's 2.3.0.dev goes in: it is higher than 2.2.4"
    assert (carried.status, carried.content) == (Status.CLEAN, changed)
    assert carried.hunks == (CarriedHunk(0, Verdict.RESTRUCTURED, PLACE, PLACE, reason),)


def test_a_patch_without_its_base_is_told_the_same() -> None:
    target = with_version(b"2.3.0.dev")
    patch = difference(BASE, with_version(b"2.2.4"), "flask/__init__.py")
    assert patch is not None

    carried = carry_patch(patch, target)

    reason = "both sides set the version, and the target's 2.3.0.dev stays: it is higher than 2.2.4"
    assert (carried.status, carried.content) == (Status.CLEAN, target)
    assert [(hunk.verdict, hunk.reason) for hunk in carried.hunks] == [(Verdict.SUPERSEDED, reason)]


def test_what_stands_around_the_version_is_merged_as_ever() -> None:
    changed = with_version(b"2.2.4").replace(b"App as App\n", b"App as App\nfrom .app import Request as Request\n")
    target = with_version(b"2.3.0.dev").replace(b"__all__", b'__author__ = "me"\n__all__')

    carried = carry_file(BASE, changed, target, "flask/__init__.py")

    result = target.replace(b"App as App\n", b"App as App\nfrom .app import Request as Request\n")
    assert (carried.status, carried.content) == (Status.CLEAN, result)
    assert [hunk.verdict for hunk in carried.hunks] == [Verdict.MERGED, Verdict.SUPERSEDED]


def test_a_hunk_that_does_more_than_set_the_version_says_what_became_of_that() -> None:
    changed = with_version(b"2.2.4").replace(b'"\n__all__', b'"\n__author__ = "me"\n__all__')

    carried = carry_file(BASE, changed, with_version(b"2.3.0.dev"), "flask/__init__.py")

    version = "both sides set the version, and the target's 2.3.0.dev stays: it is higher than 2.2.4"
    assert (carried.status, carried.content) == (Status.CLEAN, changed.replace(b"2.2.4", b"2.3.0.dev"))
    assert [(hunk.verdict, hunk.reason) for hunk in carried.hunks] == [
        (Verdict.RESTRUCTURED, f"the target changed lines nearby; {version}")
    ]


def test_a_version_that_nobody_can_choose_is_a_conflict_with_the_reason() -> None:
    changed, target = with_version(b"2.2.1"), with_version(b"2.3.0.dev")

    carried = carry_file(BASE, changed, target, "flask/__init__.py")

    lines = [b'__version__ = "%b"\n' % version for version in (b"2.2.3", b"2.2.1", b"2.3.0.dev")]
    reason = "both sides set the version, and one of them goes back to an earlier release"
    assert (carried.status, carried.content) == (Status.CONFLICT, None)
    assert carried.hunks == (CarriedHunk(0, Verdict.CONFLICT, PLACE, PLACE, reason, conflict=Conflict(*lines)),)


def package_info(major: int, minor: int, patch: int, behind: str) -> bytes:
    """What Megatron-LM's megatron/core/package_info.py begins with."""
    return f"MAJOR = {major}\nMINOR = {minor}\nPATCH = {patch}\nPRE_RELEASE = '{behind}'\n\n".encode()


@pytest.mark.parametrize(
    ("old", "changed", "target", "result", "verdicts"),
    [
        # Both set PATCH: the higher version as a whole, whoever set what else.
        ((0, 13, 0, "rc0"), (0, 13, 1, ""), (0, 14, 2, "rc0"), (0, 14, 2, "rc0"), ["superseded"]),
        ((0, 13, 0, "rc0"), (0, 14, 2, "rc0"), (0, 13, 1, ""), (0, 14, 2, "rc0"), ["restructured"]),
        ((0, 13, 0, "rc0"), (1, 13, 1, "rc0"), (1, 13, 2, "rc0"), (1, 13, 2, "rc0"), ["superseded", "superseded"]),
        ((0, 13, 0, "rc0"), (0, 13, 0, "rc1"), (0, 14, 0, "rc4"), (0, 14, 0, "rc4"), ["superseded"]),
        ((0, 13, 0, "rc0"), (0, 13, 0, "rc4"), (0, 12, 0, "rc9"), None, ["conflict"]),
        # Megatron-LM's release branches, as people carried them: each side sets another part.
        ((0, 15, 0, ""), (0, 15, 1, ""), (0, 16, 0, ""), (0, 16, 1, ""), ["restructured"]),
        ((0, 14, 0, "rc7"), (0, 14, 0, "rc8"), (0, 15, 0, "rc7"), (0, 15, 0, "rc8"), ["merged"]),
    ],
)
def test_where_both_set_one_part_of_the_version_the_higher_one_holds_as_a_whole(
    old: tuple[int, int, int, str],
    changed: tuple[int, int, int, str],
    target: tuple[int, int, int, str],
    result: tuple[int, int, int, str] | None,
    verdicts: list[str],
) -> None:
    carried = carry_file(
        package_info(*old), package_info(*changed), package_info(*target), "megatron/core/package_info.py"
    )

    assert carried.content == (None if result is None else package_info(*result))
    assert [hunk.verdict.value for hunk in carried.hunks] == verdicts


def test_a_hunk_has_all_lines_that_the_patch_changes_also_those_of_which_the_target_has_the_old_value() -> None:
    target = package_info(0, 13, 2, "rc0")

    carried = carry_file(package_info(0, 13, 0, "rc0"), package_info(0, 13, 1, ""), target, "package_info.py")

    reason = "both sides set the version, and the target's 0.13.2rc0 stays: it is higher than 0.13.1"
    place = Place("<module>", 3, 4)
    assert carried.content == target
    assert carried.hunks == (CarriedHunk(0, Verdict.SUPERSEDED, place, place, reason),)


@pytest.mark.parametrize(
    ("path", "text"),
    [("pyproject.toml", b'[project]\nversion = "2.2.3"\n'), ("setup.cfg", b"[metadata]\nversion = 2.2.3\n")],
)
def test_the_rule_holds_for_other_text_too(path: str, text: bytes) -> None:
    changed, target = text.replace(b"2.2.3", b"2.2.4"), text.replace(b"2.2.3", b"2.3.0")

    for one, two, verdict in ((changed, target, Verdict.SUPERSEDED), (target, changed, Verdict.RESTRUCTURED)):
        carried = carry_file(text, one, two, path)

        assert (carried.status, carried.content) == (Status.CLEAN, target)
        assert [hunk.verdict for hunk in carried.hunks] == [verdict]
