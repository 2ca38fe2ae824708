"""The real broker in-process, pytest fixtures, and ports with faults."""
