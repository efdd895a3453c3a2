"""Patching at import: the files stay as they are, and Python gets the patched text (docs/live.md)."""
