"""What a rebase needs beyond carrying: names for runs of lines, conflicts as text, answers."""
