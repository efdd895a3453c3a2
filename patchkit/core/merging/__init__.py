"""Bringing two changes of one text together: lines, statements, words."""
