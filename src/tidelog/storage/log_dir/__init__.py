"""One log dir: its owner, its checkpoint files, its partition directories."""
