"""The offload cycle on the CPU: real Megatron trains on memory of the real torch_memory_saver, pauses and goes on."""
