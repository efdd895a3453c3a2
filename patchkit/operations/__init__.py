"""One verb a module: read all, call core, write once, return a report."""
