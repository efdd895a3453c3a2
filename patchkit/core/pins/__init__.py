"""Pins of Megatron-LM and torch_memory_saver in install files: read, judged, and brought forward."""
