"""`df.write` and `df.writeStream`: at least once, or exactly once by a two-phase commit."""
