"""One segment: the `.log` file, its indexes, reading and searching it."""
