"""Up to where each kind of reader may read a partition."""

from enum import Enum, auto

READ_COMMITTED = 1
"""The isolation level of a consumer that reads only decided transactions."""


class ReadLimit(Enum):
    LOG_END = auto()
    """Followers, and a broker that repairs its damaged log: all that is written."""
    HIGH_WATERMARK = auto()
    """Consumers: what no change of leader takes back."""
    LAST_STABLE_OFFSET = auto()
    """Consumers with `isolation.level=read_committed`: what lies below every undecided transaction."""
    REPLICATED_END = auto()
    """Coordinators that load their state: all that the in-sync replicas have, even if they are too few for
    the high watermark to move."""


# Members of an enum are slow to look up, and every fetch does.
LOG_END = ReadLimit.LOG_END
HIGH_WATERMARK = ReadLimit.HIGH_WATERMARK
LAST_STABLE_OFFSET = ReadLimit.LAST_STABLE_OFFSET
REPLICATED_END = ReadLimit.REPLICATED_END


def limit_of_consumer(isolation_level: int) -> ReadLimit:
    return LAST_STABLE_OFFSET if isolation_level == READ_COMMITTED else HIGH_WATERMARK
