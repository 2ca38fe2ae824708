"""Groups and transactions at work: each partition of an internal topic is a shard, served where it leads."""
