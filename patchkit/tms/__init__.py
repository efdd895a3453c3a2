"""torch_memory_saver: which library of it to load, what is really there, what its messages mean, and trying it out.

An island: nothing of the patch tool imports it but the command line, and of the package it imports the errors only.
Neither torch nor torch_memory_saver is imported anywhere in it.
"""
