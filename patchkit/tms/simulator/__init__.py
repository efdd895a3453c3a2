"""A strict stand-in for the CUDA driver and runtime, with which the real torch_memory_saver runs without a GPU."""
