# Written by the build, from git's tags.
__version__ = "0.1.0.dev357+gf5274cfa5.d20261130"
