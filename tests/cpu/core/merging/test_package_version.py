from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.merging.package_version import Winner, holds, package_version, with_values

PARTS = b"MAJOR = 0\nMINOR = 17  # soon\nPATCH = 0\nPRE_RELEASE = 'rc0'\n\nVERSION = (MAJOR, MINOR)\n"


@pytest.mark.parametrize(
    ("path", "text", "version"),
    [
        ("a/__init__.py", b'import os\n__version__ = "2.3.0.dev"  # next\n', "2.3.0.dev"),
        ("a/__init__.py", b"__version__: str = '1.2'\r\n", "1.2"),
        ("a/__init__.py", b'__version__ = "1.2"\n__version__ = "1.3"\n', None),  # which one is read last, nobody asks
        ("a/__init__.py", b'    __version__ = "1.2"\n', None),  # in a block it may never be run
        ("a/__init__.py", b"__version__ = '.'.join(parts)\n", None),
        ("a/version.txt", b'__version__ = "1.2"\n', None),
        ("package_info.py", PARTS, "0.17.0rc0"),
        ("package_info.py", PARTS.replace(b"PRE_RELEASE = 'rc0'\n", b""), "0.17.0"),
        ("package_info.py", PARTS.replace(b"PATCH = 0\n", b""), None),
        ("package_info.py", PARTS + b"PRE_RELEASE = ''\n", None),
        ("setup.py", b'setup(\n    name="a",\n    version="1.2",\n)\n', "1.2"),
        ("setup.py", b'version = "1.2"\n', None),  # a variable, which setup() may be given or not
        ("setup.cfg", b"[metadata]\nname = a\nversion = 1.2\n[bumpversion]\nversion = 9\n", "1.2"),
        ("setup.cfg", b"[metadata]\nname = a\n[bumpversion]\nversion = 9\n", None),
        ("pyproject.toml", b'[project]\nname = "a"\nversion = "1.2"\n\n[tool.b]\nversion = "9"\n', "1.2"),
        ("pyproject.toml", b'[tool.poetry]\nversion = "1.2"\n', "1.2"),
        ("pyproject.toml", b'version = "1.2"\n', None),
    ],
)
def test_the_version_that_a_file_sets(path: str, text: bytes, version: str | None) -> None:
    found = package_version(path, text)

    assert (None if found is None else found.text) == version


def test_other_values_stand_where_the_version_stood() -> None:
    version = package_version("package_info.py", PARTS)
    assert version is not None

    other = b"MAJOR = 1\nMINOR = 2  # soon\nPATCH = 30\nPRE_RELEASE = ''\n\nVERSION = (MAJOR, MINOR)\n"
    assert with_values(PARTS, version, ["1", "2", "30", ""]) == other
    assert with_values(PARTS, version, version.texts) == PARTS


@pytest.mark.parametrize(
    ("old", "changed", "target", "answer"),
    [
        ("2.2.3", "2.2.4", "2.3.0.dev", Winner.TARGET),
        ("2.2.3", "2.3.0", "2.2.9", Winner.CHANGED),
        ("2.2.3", "2.2.10", "2.2.9", Winner.CHANGED),  # numbers, not letters
        ("2.2.3", "2.2.3.dev", "2.3.0.dev", Winner.TARGET),  # open again, and the release is the same
        ("2.2.3", "2.2.2", "2.3.0", "both sides set the version, and one of them goes back to an earlier release"),
        ("2.2.3", "2.3.0", "2.2.2", "both sides set the version, and one of them goes back to an earlier release"),
        ("2.2.3", "2.2.3+rl", "2.3.0", "both sides set the version, and one of them labels it"),
        ("2.2.3", "2.3", "2.3.0", "both sides set the version, to equal ones that are written differently"),
        ("2.2.3", "2.3", "next", "both sides set the version, and not all of what they say is a version (PEP 440)"),
        (
            "2.2.3",
            "2.3",
            "9" * 5000,
            "both sides set the version, and not all of what they say is a version (PEP 440)",
        ),
        ("next", "2.3", "2.4", "both sides set the version, and not all of what they say is a version (PEP 440)"),
    ],
)
def test_the_higher_version_holds(old: str, changed: str, target: str, answer: Winner | str) -> None:
    assert holds(old, changed, target) == answer


@given(
    st.tuples(
        *itertools.repeat(
            st.builds(
                "{}.{}{}".format,
                st.integers(0, 3),
                st.integers(0, 3),
                st.sampled_from(["", ".dev0", "rc1", ".post1", "+a", " x"]),
            ),
            3,
        )
    )
)
def test_whoever_is_the_patch_one_version_holds(versions: tuple[str, str, str]) -> None:
    old, one, two = versions

    answers = holds(old, one, two), holds(old, two, one)

    exchanged = {Winner.CHANGED: Winner.TARGET, Winner.TARGET: Winner.CHANGED}
    assert answers[1] == (exchanged[answers[0]] if isinstance(answers[0], Winner) else answers[0])
