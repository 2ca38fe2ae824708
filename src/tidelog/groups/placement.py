"""Which partition of `__consumer_offsets` holds a group: by the hash of its id, as Kafka's tools expect."""

from functools import lru_cache


@lru_cache(4096)
def offsets_partition(group_id: str, partitions: int) -> int:
    """Java's `String.hashCode`, made positive, modulo the number of partitions."""
    code = 0
    units = group_id.encode("utf-16-be")
    for at in range(0, len(units), 2):
        code = (31 * code + (units[at] << 8 | units[at + 1])) & 0xFFFF_FFFF
    if code == 0x8000_0000:  # the one number that has no positive twin
        return 0
    return min(code, 2**32 - code) % partitions
