"""The log dirs of this broker: which partition lives where, syncs, compaction, moves, reports."""
