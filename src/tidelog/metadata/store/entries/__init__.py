"""Raft's entries on disk: their batches and data, the log that holds them, and its scan at the start."""
