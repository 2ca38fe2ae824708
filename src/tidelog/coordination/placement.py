"""Which partition of a coordinator's topic holds a key: by the hash of the key, as Kafka's tools expect."""

from functools import lru_cache

from tidelog.base.string_hash import partition_of


@lru_cache(8192)
def partition_of_key(key: str, partitions: int) -> int:
    return partition_of(key, partitions)
