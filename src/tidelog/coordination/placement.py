"""Which partition of a coordinator's topic holds a key: by the hash of the key, as Kafka's tools expect."""

from functools import lru_cache

from tidelog.base.string_hash import partition_of

CACHED_CHARS_MAX = 256
"""Clients choose names. Entries of longer ones would be as large as a client likes."""


def partition_of_key(key: str, partitions: int) -> int:
    find = _cached if len(key) <= CACHED_CHARS_MAX else partition_of
    return find(key, partitions)


_cached = lru_cache(8192)(partition_of)
