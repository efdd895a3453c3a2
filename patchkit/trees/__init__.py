"""Adapters: where the source of a Megatron release lives, and where patched source goes.

Each module is imported only by who needs it, so that patching a folder loads neither git nor an archive reader.
"""
