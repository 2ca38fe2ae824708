"""Java's hash of a string: it decides which partition of an internal topic looks after a name."""

from struct import unpack


def partition_of(name: str, partitions: int) -> int:
    """Java's `String.hashCode`, made positive, modulo the number of partitions, as Kafka's tools expect."""
    code = 0
    units = name.encode("utf-16-be")
    for unit in unpack(f">{len(units) // 2}H", units):
        code = (31 * code + unit) & 0xFFFF_FFFF
    if code == 0x8000_0000:  # the one number that has no positive twin
        return 0
    return min(code, 2**32 - code) % partitions
