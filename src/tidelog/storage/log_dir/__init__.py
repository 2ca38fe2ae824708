"""One log dir: its owner, its checkpoint files, the folders of its partitions."""
