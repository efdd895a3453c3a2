"""Who decided something in a rebase, and why so: asked for, and never made up."""

from __future__ import annotations

import msgspec

from patchkit.errors import UsageError


class Signed(msgspec.Struct, frozen=True):
    """Who decided, and why so."""

    author: str | None
    reason: str | None
    meant: tuple[str, ...] = ()
    """Ids of hunks whose lost lines are meant to be gone."""

    def why(self, question: str) -> str:
        """Return the reason. Raises UsageError, with the question that it would answer, when there is none."""
        reason = (self.reason or "").strip()
        if not reason:
            hint = "say it with --reason 'TEXT'; it is kept in the series, for those who meet the same again"
            raise UsageError(question, hint=hint)
        return reason

    def who(self) -> str:
        """Return the author. Raises UsageError when there is none."""
        author = (self.author or "").strip()
        if not author:
            raise UsageError(
                "who solved the conflict? git knows no user.name and user.email here",
                hint="say it with --author 'NAME <ADDRESS>', or tell git: git config user.name NAME",
            )
        return author
