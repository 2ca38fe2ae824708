"""The transaction coordinator: the transactions of a shard, their states, and the markers to write."""
