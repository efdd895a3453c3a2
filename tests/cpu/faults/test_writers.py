"""Functions that change files are found by their text."""

from __future__ import annotations

from .trying import ROOT
from .writers import all_writers, writers


def test_a_function_that_changes_files_is_known_by_its_text() -> None:
    source = """
def reads(path):
    path.read_bytes(), open(path), path.open("rb"), os.open(path, os.O_RDONLY), "a".replace("b", "c")

@contextmanager
def makes(path):
    with path.open("wb") as file:
        file.write(b"")

class Place:
    def take(self, other):
        def later():
            os.unlink(other)
        self.path.replace(other)
        program.output("cat-file", "blob")

def commits(program):
    program.output("update-ref", "refs/heads/x")

def flags(path):
    return os.open(path, _NEW), os.replace(path, path)
"""

    assert list(writers(source)) == [
        (5, "makes"),
        (12, "Place.take.later"),
        (11, "Place.take"),
        (17, "commits"),
        (20, "flags"),
    ]


def test_the_package_is_where_it_is_looked_for() -> None:
    # Else nothing would be found, and nothing lack.
    assert (ROOT / "patchkit" / "unfinished.py").is_file()
    assert {"unfinished.py:unfinished", "trees/transaction.py:_place", "store/cache.py:ContentCache.put"} <= set(
        all_writers()
    )
