"""What is wrong with a result that applies cleanly, and what changed around it."""
