"""Access control lists and roles."""
