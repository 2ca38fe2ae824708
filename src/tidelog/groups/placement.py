"""Which partition of `__consumer_offsets` holds a group: by the hash of its id, as Kafka's tools expect."""

from functools import lru_cache

from tidelog.base.string_hash import partition_of


@lru_cache(4096)
def offsets_partition(group_id: str, partitions: int) -> int:
    return partition_of(group_id, partitions)
