"""Nothing: torch_memory_saver imports numpy for reading host copies, which the simulator reads itself."""
