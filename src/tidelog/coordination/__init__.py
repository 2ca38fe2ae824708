"""What every coordinator shares without I/O: a shard, its decisions, and where a key is placed."""
