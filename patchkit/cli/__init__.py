"""The command line: parses, prints and picks the exit code; decides nothing else."""
