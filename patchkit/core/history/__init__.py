"""What became of hunks over the commits of a repository: the commits as a graph, spans, and which commit broke what."""
