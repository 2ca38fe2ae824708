"""Which partition of `__transaction_state` looks after a transactional id."""

from functools import lru_cache

from tidelog.base.string_hash import partition_of


@lru_cache(4096)
def state_partition(transactional_id: str, partitions: int) -> int:
    return partition_of(transactional_id, partitions)
