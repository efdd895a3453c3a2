"""Marks of texts that only a person can write; ``patchkit lint`` names each one until somebody has."""

PROPOSED = "PROPOSED: "
"""Begins a text that patchkit made up; whoever has read it and finds it right takes the word away."""
TODO = "TODO: "
"""Begins a text that says what is to be written there."""


def is_unwritten(text: str) -> bool:
    """Tell whether a text still waits for a person."""
    return text.lstrip().startswith((PROPOSED.strip(), TODO.strip()))
