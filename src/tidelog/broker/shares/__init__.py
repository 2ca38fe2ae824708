"""Share groups at work: partitions that this broker leads deliver records, and their state is saved."""
