"""Taking the edits of a tree back into the patches of a series."""
