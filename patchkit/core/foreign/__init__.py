"""Patches that others wrote: reading, repairing and splitting them."""
