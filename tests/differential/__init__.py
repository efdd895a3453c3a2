"""patchkit against the authorities: git apply, GNU patch, git merge-file, git diff and diff -u, on generated cases.

``python -m tests.differential`` runs as many cases as it is told to; docs/reliability.md has its figures, and
docs/conformance.md every difference that is meant.
"""
