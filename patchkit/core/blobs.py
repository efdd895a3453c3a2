"""Content identity as git has it."""

from __future__ import annotations

import hashlib


def blob_id(content: bytes) -> str:
    r"""Return the git blob id of ``content``: 40 hex digits.

    The rule is git's: SHA-1 over ``blob <length>\0`` and the bytes (gitglossary, "object identifier").
    """
    # SHA-1 is what names blobs in Megatron's repository; it is an identity here, not a signature.
    digest = hashlib.sha1(b"blob %d\0" % len(content), usedforsecurity=False)
    digest.update(content)
    return digest.hexdigest()


def blob_id_if_any(content: bytes | None) -> str | None:
    """Return the git blob id of ``content``, or None for a file that does not exist."""
    return None if content is None else blob_id(content)
