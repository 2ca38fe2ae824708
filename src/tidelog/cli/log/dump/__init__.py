"""`tidelog log dump`: the content of segments, indexes, snapshots and the metadata log, as text."""
