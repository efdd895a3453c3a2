"""What the rules find in one syntax tree."""

from __future__ import annotations

import ast
from functools import cached_property

from patchkit.core.gating.duplicates import Place, Twice, doubled
from patchkit.core.gating.flow import Unassigned, unassigned
from patchkit.core.gating.names import Finding, findings


class TreeFacts:
    """A tree and what the rules find in it, each looked for when first asked for."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What pyflakes says."""
        return findings(self.tree)

    @cached_property
    def names(self) -> frozenset[tuple[str, str]]:
        """Scope and name of each of the findings."""
        return frozenset((finding.scope, finding.name) for finding in self.findings)

    @cached_property
    def reads(self) -> dict[tuple[str, str], Unassigned]:
        """The doubtful reads of locals, by scope and name."""
        return {(read.scope, read.name): read for read in unassigned(self.tree)}

    @cached_property
    def doubled(self) -> dict[Place, Twice]:
        """What stands twice."""
        return doubled(self.tree)
