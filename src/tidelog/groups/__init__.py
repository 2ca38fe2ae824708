"""Consumer groups and committed offsets: pure decisions on one partition of `__consumer_offsets`."""
