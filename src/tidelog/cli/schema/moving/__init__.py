"""Schemas on the move: read from a registry or a directory, written to a directory or to another registry."""
