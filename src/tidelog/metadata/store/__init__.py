"""The metadata log on disk: entries, term and vote, snapshots."""
