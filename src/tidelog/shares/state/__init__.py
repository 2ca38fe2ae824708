"""The share coordinator: what groups have done with partitions, as a shard on `__share_group_state`."""
