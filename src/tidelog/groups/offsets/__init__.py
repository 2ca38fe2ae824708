"""Committed offsets: commit, fetch, delete, expire, also within transactions."""
