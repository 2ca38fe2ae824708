"""Access control lists."""
