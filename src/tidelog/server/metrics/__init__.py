"""Collectors of what the sockets, the event loop and the process do."""
