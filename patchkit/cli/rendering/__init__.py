"""The answer of check-upstream in the forms that people and programs read: each a function from the report to text.

Nothing here decides anything, and nothing but ``places.read_places`` touches a file. Whatever comes from upstream or
from a patch goes through ``printable`` before it reaches a terminal, a page or a log.
"""
