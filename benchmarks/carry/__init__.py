"""How often a change of Megatron-LM's own history can be carried without a human, by patchkit and by other tools."""
