"""Raft without I/O: messages, ticks and proposals go in, one `Ready` comes out. Begin with `core.py`."""
